"""The session of a command line: what Java and Python are started with."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from tricel.spark_backend.run import session


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


SCRIPT = """
from pyspark.sql import SparkSession
from tricel import compile_filter
from tricel.spark_backend import where

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
frame = spark.sql("SELECT * FROM VALUES ('1', '{\\"t\\":[\\"a1\\"]}'), ('2', '{\\"t\\":[\\"b\\"], \\"p\\": \\"^a\\"}') AS e(id, data)")
compiled = compile_filter("data.t.exists(t, t.matches(dyn(has(data.p) ? data.p : '1$')))")
assert compiled.residual
print([row.id for row in where(frame, compiled).collect()], spark.sparkContext.pythonExec)
"""


@pytest.mark.parametrize("chosen", [False, True])
def test_workers_of_a_session_that_is_there_run_this_python(tmp_path: Path, chosen: bool) -> None:
    """A script that is run by the Python of an environment that is not activated; PATH has one that is of no use."""
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\necho of-no-use >&2; exit 3\n")
    other.chmod(0o755)
    environment = {n: v for n, v in os.environ.items() if not n.startswith("PYSPARK_")}
    environment["PATH"] = f"{tmp_path}{os.pathsep}{environment['PATH']}"
    if chosen:
        environment["PYSPARK_PYTHON"] = str(other)
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, cwd=tmp_path)
    if chosen:
        assert (True, True) == (done.returncode != 0, "of-no-use" in done.stderr), done.stderr
    else:
        assert (0, "['1'] python3\n") == (done.returncode, done.stdout), done.stderr
