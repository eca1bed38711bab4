"""A running stream follows the Triggers of a real API server, also through the server's death.

Nothing is timed: after a change in the cluster the test waits until the stream's metrics tell of another set, and then
gives the stream events, which must be delivered as that set says.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from admission_vectors import KNATIVE, trigger
from api_server import ApiServer, eventually, refusal

pytest.importorskip("pyspark")

pytestmark = [pytest.mark.cluster, pytest.mark.spark]

NAMESPACE = "shop"
TYPES = ("a", "b", "c")
SECONDS = 90
"""How long anything may take; all of it together takes far less."""


def cel(name: str, text: str, **options: Any) -> dict[str, Any]:
    return trigger({"filter": {"expression": text}}, name=name, **options)


@dataclass
class Stream:
    """`tricel run --stream --triggers cluster`, a process of its own, and the folders that it reads and writes."""

    root: Path
    kubeconfig: Path
    said: list[str] = field(default_factory=list)
    batches: int = 0

    def __post_init__(self) -> None:
        self.events.mkdir()
        command = [sys.executable, "-m", "tricel", "run", "--stream", "--triggers", "cluster", "-n", NAMESPACE]
        command += ["--kubeconfig", str(self.kubeconfig), "--events", str(self.events), "--out", str(self.out)]
        command += ["--master", "local[2]", "--interval", "0.2", "--metrics-host", "127.0.0.1", "--metrics-port", "0"]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "200"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, text=True, start_new_session=True, env=environment, **pipes)  # type: ignore[call-overload]
        threading.Thread(target=lambda: self.said.extend(self.process.stderr), daemon=True).start()  # type: ignore[arg-type]
        self.metrics_url = self.until(lambda: re.search(r"served on (http://\S+)", self.all_said()))[1]

    @property
    def events(self) -> Path:
        return self.root / "in"

    @property
    def out(self) -> Path:
        return self.root / "out"

    def all_said(self) -> str:
        return "".join(self.said)

    def until(self, condition: Any) -> Any:
        """Waits for a condition, and no longer than the process lives."""

        def met() -> Any:
            assert self.process.poll() is None, self.all_said()
            return condition()

        return eventually(met, SECONDS)

    def metric(self, name: str) -> str:
        """The line of a metric; empty where there is none yet."""
        with urllib.request.urlopen(self.metrics_url, timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        return next((line for line in lines if line.startswith(f"tricel_stream_{name}")), "")

    def set(self) -> str:
        """The triggers that judge the next batch."""
        return self.metric("trigger_set_info{")

    def another_set(self, before: str) -> str:
        """The set that has taken the place of one."""
        self.until(lambda: self.set() not in ("", before))
        return self.set()

    def delivers(self) -> dict[str, list[str]]:
        """Gives the stream one event of each type: which of them its next batch delivers, by trigger."""
        number = self.batches
        lines = [{"specversion": "1.0", "id": f"{number}{t}", "source": "s", "type": t} for t in TYPES]
        hidden = self.events / f".{number}.tmp"
        hidden.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        hidden.rename(self.events / f"{number}.jsonl")
        committed = self.out / "batches" / f"{number}.json"
        self.until(committed.is_file)
        self.batches += 1
        assert len(TYPES) == json.loads(committed.read_text())["read"]
        return delivered(self.out / "delivered" / f"batch={number}", number)

    def stop(self) -> dict[str, Any]:
        """Ends the stream; its account."""
        self.process.send_signal(signal.SIGTERM)
        assert 0 == self.process.wait(SECONDS), self.all_said()
        assert "Traceback" not in self.all_said()
        return dict(json.loads((self.out / "report.json").read_text()))

    def kill(self) -> None:
        """Ends it and its Java, whatever they do."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def delivered(folder: Path, number: int) -> dict[str, list[str]]:
    """The types that a batch delivered to each trigger, in order."""
    import pyarrow.parquet as pq

    found: dict[str, list[str]] = {}
    for file in sorted(folder.rglob("*.parquet")):
        ids = pq.ParquetFile(file).read(["id"])["id"].to_pylist()
        assert all(id_.startswith(str(number)) for id_ in ids)
        name = file.parent.name.removeprefix("trigger=").removeprefix(f"{NAMESPACE}%2F")
        found.setdefault(name, []).extend(id_.removeprefix(str(number)) for id_ in ids)
    return {name: sorted(types) for name, types in found.items()}


@pytest.fixture
def started() -> Iterator[list[Stream]]:
    """Streams that end with the test."""
    streams: list[Stream] = []
    yield streams
    for stream in streams:
        stream.kill()


def test_a_running_stream_follows_the_cluster(server: ApiServer, tmp_path: Path, started: list[Stream]) -> None:
    one, two, three = cel("one", "ce.type == 'a'"), cel("two", "ce.type == 'b'", version=KNATIVE), cel("three", "true")
    server.create(one)
    try:
        stream = Stream(tmp_path, server.kubeconfig)
        started.append(stream)
        set_ = stream.another_set("")
        assert {"one": ["a"]} == stream.delivers()

        server.create(two)
        set_ = stream.another_set(set_)
        assert {"one": ["a"], "two": ["b"]} == stream.delivers()

        server.replace(cel("one", "ce.type != 'b'"))
        set_ = stream.another_set(set_)
        assert {"one": ["a", "c"], "two": ["b"]} == stream.delivers()

        # One that no longer compiles goes on as it was, and holds up no other.
        server.replace(cel("two", "ce.type ==", version=KNATIVE))
        stream.until(lambda: "TRI" in stream.all_said())
        assert {"one": ["a", "c"], "two": ["b"]} == stream.delivers()
        assert set_ == stream.set()

        # While the server is dead, those that were known go on.
        command = server.kill()
        stream.until(lambda: "the cluster cannot be followed" in stream.all_said())
        assert {"one": ["a", "c"], "two": ["b"]} == stream.delivers()
        assert set_ == stream.set()

        server.run_again(command)
        server.delete(one)
        set_ = stream.another_set(set_)
        assert {"two": ["b"]} == stream.delivers()

        server.create(three)
        set_ = stream.another_set(set_)
        server.replace(cel("two", "ce.type == 'c'", version=KNATIVE))
        stream.another_set(set_)
        assert {"two": ["c"], "three": ["a", "b", "c"]} == stream.delivers()

        report = stream.stop()
        # Each trigger was asked of the events that came while it was there.
        evaluated = {row["trigger"].rpartition("/")[2]: row["evaluated"] for row in report["triggers"]}
        assert {"one": 5 * len(TYPES), "two": 6 * len(TYPES), "three": len(TYPES)} == evaluated
        assert (stream.batches, stream.batches * len(TYPES)) == (report["batches"], report["read"])
    finally:
        for value in (one, two, three):
            refusal(server.delete, value)
