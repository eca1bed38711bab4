"""The session of a command line: what Java and Python are started with."""

from __future__ import annotations

import os
import struct
import subprocess
import sys

import pytest

pytest.importorskip("pyspark")

from tricel.spark_backend import session


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Spark forks no workers here")
def test_workers_come_from_a_process_of_ours() -> None:
    """It tells its port as Spark's own does, and ends when Spark is gone."""
    command = [sys.executable, "-m", session._DAEMON, "pyspark.worker"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        (port,) = struct.unpack("!i", process.stdout.read(4))
        assert 0 < port < 65536
        process.stdin.close()
        process.wait(20)
