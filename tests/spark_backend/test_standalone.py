"""A run on a standalone master with two workers, one of which loses its executor in the middle."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest
from conftest import JAVA_OPTIONS

pytest.importorskip("pyspark")

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FILES, LINES = 24, 2_500
WAIT = 120.0
HOME = Path(str(metadata.distribution("pyspark").locate_file("pyspark")))


def environment() -> dict[str, str]:
    """This process's environment, with Spark at home on the loopback interface."""
    mine = {n: v for n, v in os.environ.items() if not n.startswith(("PYSPARK", "SPARK"))}
    java = dict.fromkeys(("SPARK_SUBMIT_OPTS", "SPARK_DAEMON_JAVA_OPTS"), JAVA_OPTIONS)
    return mine | java | {"SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}


class Daemon:
    """A process of Spark's, and what it logs."""

    def __init__(self, folder: Path, name: str, *arguments: str) -> None:
        self.log = folder / f"{name}.log"
        command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name.split('-')[0]}", *arguments]
        with self.log.open("w") as log:
            spills = environment() | {"SPARK_LOCAL_DIRS": str(folder / "spills")}
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=spills, start_new_session=True
            )

    def said(self, pattern: str) -> str:
        """The first group of the first line that matches; waits for it."""
        end = time.monotonic() + WAIT
        while time.monotonic() < end and self.process.poll() is None:
            if found := re.search(pattern, self.log.read_text()):
                return found[1]
            time.sleep(0.2)
        raise AssertionError(self.log.read_text()[-4_000:])

    def stop(self) -> None:
        """Ends the process and all that it started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(30)


@dataclass(frozen=True)
class Master:
    """A master's URL, and where its executors keep what they shuffle."""

    url: str
    spills: Path


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Master]:
    """A master that has two workers of one core each."""
    folder = tmp_path_factory.mktemp("standalone")
    daemons = [Daemon(folder, "master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")]
    try:
        url = daemons[0].said(r"Starting Spark master at (spark://\S+)")
        options = ("--cores", "1", "--memory", "1200m", "--host", "127.0.0.1", "--webui-port", "0")
        for i in (1, 2):
            daemons.append(Daemon(folder, f"worker.Worker-{i}", *options, "--work-dir", str(folder / f"work-{i}"), url))
            daemons[-1].said(r"(Successfully registered with master)")
        yield Master(url, folder / "spills")
    finally:
        for daemon in reversed(daemons):
            daemon.stop()


def executors() -> list[int]:
    """The processes that run tasks."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:  # gone meanwhile
            continue
        if b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words:
            found.append(int(place.parent.name))
    return sorted(found)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Triggers, more than fit beside each other as columns, some with errors and some for the fallback; and events."""
    folder = tmp_path_factory.mktemp("stored")
    manifests, events = folder / "triggers", folder / "events"
    manifests.mkdir()
    events.mkdir()
    filters = [f"ce.type == 't{i}' && data.n > {i}.0" for i in range(80)]
    filters += ["data.missing.deep > 1.0", "data.text.matches('^(a|aa)+$')", "true", "ce.subject.startsWith('s')"]
    documents = [
        {
            "apiVersion": "tricel.dev/v1alpha1",
            "kind": "Trigger",
            "metadata": {"name": f"trigger-{i}"},
            "spec": {
                "broker": "default",
                "subscriber": {"uri": "http://orders.example/"},
                "filter": {"expression": text},
            },
        }
        for i, text in enumerate(filters)
    ]
    (manifests / "all.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))
    for file in range(FILES):
        lines = []
        for i in range(LINES):
            n = file * LINES + i
            data = {"n": n % 97, "text": "a" * (n % 5)} | ({"missing": {"deep": 2}} if n % 3 else {})
            event = {"specversion": "1.0", "id": str(n), "source": "/s", "type": f"t{n % 100}", "data": data}
            lines.append(json.dumps(event) if n % 1_000 else '{"id": "no event"}')
        (events / f"{file:02}.jsonl").write_text("\n".join(lines) + "\n")
    return manifests, events


def command(stored: tuple[Path, Path], master: str, out: Path) -> list[str]:
    tool = [str(Path(sys.executable).parent / "tricel"), "run", "--master", master, "--out", str(out)]
    return [*tool, "--triggers", str(stored[0]), "--events", str(stored[1])]


@pytest.fixture(scope="module")
def local(stored: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What the same run reports on one machine."""
    out = tmp_path_factory.mktemp("local") / "out"
    subprocess.run(command(stored, "local[2]", out), check=True, capture_output=True, env=environment())
    found = counts(out)
    assert found["read"] == FILES * LINES
    assert found["malformed"] == FILES * LINES // 1_000
    return found


def counts(out: Path) -> dict[str, object]:
    """What a run reports, without what every run has of its own."""
    found = json.loads((out / "report.json").read_text())
    return {name: value for name, value in found.items() if name not in ("start", "duration")}


def shuffled(master: Master, out: Path) -> bool:
    """Whether some tasks have left what others will fetch."""
    return len(list(master.spills.rglob("shuffle_*.data"))) > 3


def written(master: Master, out: Path) -> bool:
    """Whether a task has begun to write pairs."""
    return any(out.glob("staging/**/_temporary/**/part-*"))


@pytest.mark.parametrize("moment", [shuffled, written])
def test_a_lost_executor_changes_no_count(
    master: Master,
    stored: tuple[Path, Path],
    local: dict[str, object],
    tmp_path: Path,
    moment: Callable[[Master, Path], bool],
) -> None:
    """What it did is lost, and done again by another."""
    out, log = tmp_path / "out", tmp_path / "log"
    killed = 0
    with log.open("w") as file:
        run = subprocess.Popen(command(stored, master.url, out), stdout=file, stderr=file, env=environment())
        end = time.monotonic() + 2 * WAIT
        while run.poll() is None and time.monotonic() < end:
            if not killed and len(found := executors()) == 2 and moment(master, out):
                os.kill(found[0], signal.SIGKILL)
                killed = found[0]
            time.sleep(0.05)
    assert run.wait(1) == 0, log.read_text()[-4_000:]
    assert killed, "the run was over before an executor could be killed"
    assert counts(out) == local
