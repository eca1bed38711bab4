"""A stream whose driver is killed again and again, in bad company: every event is accounted for once.

The moments are random and seeded: TRICEL_KILLS says how many there are (3), TRICEL_SEED which (1).
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from filter_sets import trigger_yaml

pytest.importorskip("pyspark")

pytestmark = [pytest.mark.spark, pytest.mark.slow]

KILLS = int(os.environ.get("TRICEL_KILLS", "3"))
SEED = int(os.environ.get("TRICEL_SEED", "1"))
TOOL = Path(sys.executable).parent / "tricel"
TIMEOUT = 200
"""Seconds, far more than a stream takes on a machine that does nothing else."""
FILES, EACH = 30, 50
FILTERS = {
    "all": "true",
    "none": "false",
    "even": "int(data.n) % 2 == 0",
    "low": "data.n < 500 || data.m > 1",
    "fallback": "ce.type.matches('^(a|aa)+$')",
}


def expected(name: str, n: int, whole: bool) -> str:
    """What becomes of an event that has `n`, or has not."""
    match name:
        case "all":
            return "delivered"
        case "fallback":
            return "delivered" if n % 3 == 0 else "filtered"
        case "none":
            return "filtered"
        case "even":
            return "errored" if not whole else "delivered" if n % 2 == 0 else "filtered"
        case _:
            return "delivered" if whole and n < 500 else "errored"


@dataclass(frozen=True)
class Place:
    """Where a stream's events and triggers are, and what it makes of them."""

    root: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def out(self) -> Path:
        return self.root / "out"

    @property
    def triggers(self) -> Path:
        return self.root / "triggers"

    def fill(self) -> tuple[dict[int, bool], int]:
        """Writes events and triggers; the events' numbers, with whether each has its data, and the malformed texts."""
        (self.root / "in").mkdir(parents=True)
        self.triggers.mkdir()
        for name, text in FILTERS.items():
            (self.triggers / f"{name}.yaml").write_text(trigger_yaml(name, text))
        events: dict[int, bool] = {}
        malformed = 0
        for i in range(FILES):
            lines = []
            for n in range(i * EACH, (i + 1) * EACH):
                events[n] = n % 10 != 7
                data = {"n": n} if events[n] else {}
                type_ = "aaa" if n % 3 == 0 else "b"
                lines.append(
                    json.dumps({"specversion": "1.0", "id": str(n), "source": "s", "type": type_, "data": data})
                )
                if n % 20 == 3:
                    lines.append("\x00rubbish" if n % 40 == 3 else '{"specversion":"1.0","id":7}')
                    malformed += 1
            (self.root / "in" / f"{i:03}.jsonl").write_text("\n".join(lines) + "\n")
        # One file in the middle breaks off: the lines before the damage are events, and the damage is malformed.
        middle = self.root / "in" / f"{FILES // 2:03}.jsonl"
        whole = middle.read_bytes()
        middle.with_suffix(".jsonl.gz").write_bytes(gzip.compress(whole) + b"\x1f\x8b\x08 no more of it")
        middle.unlink()
        return events, malformed + 1

    def start(self, *more: str, out: Path | None = None) -> subprocess.Popen[str]:
        """The stream, in a process group of its own."""
        command = [TOOL, "run", "--stream", "--triggers", self.triggers, "--events", self.root / "in"]
        command += ["--out", out or self.out, "--max-files-per-batch", "2", "--interval", "0", *more]
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "COLUMNS": "100"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.started.append(subprocess.Popen(command, text=True, start_new_session=True, env=environment, **pipes))
        return self.started[-1]

    def batches(self, out: Path | None = None) -> int:
        """How many are committed."""
        return len(list(((out or self.out) / "batches").glob("*.json")))

    def wait_for(self, batches: int, process: subprocess.Popen[str], out: Path | None = None) -> bool:
        """Until so many batches are committed; False where the process ends before."""
        while self.batches(out) < batches:
            if process.poll() is not None:
                return False
            time.sleep(0.05)
        return True

    def check(self, events: dict[int, bool], malformed: int, out: Path | None = None) -> None:
        """Every event is in one place for every trigger, once."""
        out = out or self.out
        found = {name: pairs(out / name) for name in ("delivered", "errors")}
        for name in FILTERS:
            wanted = {n: expected(name, n, whole) for n, whole in events.items()}
            for folder, outcome in (("delivered", "delivered"), ("errors", "errored")):
                ids = Counter({n: c for (trigger, n), c in found[folder].items() if trigger == name})
                assert Counter(n for n, o in wanted.items() if o == outcome) == ids, (name, folder)
        report = json.loads((out / "report.json").read_text())
        assert (len(events) + malformed, malformed) == (report["read"], report["malformed"])
        for row in report["triggers"]:
            outcomes = Counter(expected(row["trigger"], n, whole) for n, whole in events.items())
            assert {o: outcomes[o] for o in ("delivered", "filtered", "errored")} == {
                o: row[o] for o in ("delivered", "filtered", "errored")
            }, row
        import pyarrow.parquet as pq

        quarantine = sum(pq.ParquetFile(f).metadata.num_rows for f in (out / "quarantine").rglob("*.parquet"))
        assert malformed == quarantine
        assert not (out / "staging").exists()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A place whose processes end with the test."""
    place = Place(tmp_path)
    yield place
    for process in place.started:
        if process.poll() is None:
            kill(process)


def pairs(folder: Path) -> Counter[tuple[str, int]]:
    """The pairs of trigger and event in Parquet files, each as often as it is there."""
    import pyarrow.parquet as pq

    found: Counter[tuple[str, int]] = Counter()
    for file in folder.rglob("*.parquet"):
        trigger = file.parent.name.removeprefix("trigger=")
        found.update((trigger, int(id_)) for id_ in pq.ParquetFile(file).read(["id"])["id"].to_pylist())
    return found


def kill(process: subprocess.Popen[str]) -> None:
    """kill -9 of the driver, Java and Python together."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_a_driver_that_is_killed_again_and_again(place: Place) -> None:
    moments = random.Random(SEED)
    events, malformed = place.fill()
    killed = []
    for _ in range(KILLS):
        process = place.start("--available-now")
        # Some are killed as they start; most while they write, some way into a batch.
        if place.wait_for(place.batches() + moments.randint(0, 2), process):
            time.sleep(moments.uniform(0, 4))
        kill(process)
        killed.append(place.batches())
    process = place.start("--available-now")
    said, complained = process.communicate(timeout=2 * TIMEOUT)
    assert 0 == process.returncode, complained
    assert f"{len(events) + malformed:,} events read = {malformed} malformed" in said, (said, complained)
    print(f"killed with {killed} of {place.batches()} batches committed")
    place.check(events, malformed)


def test_rubbish_a_signal_and_an_output_in_the_way(place: Place) -> None:
    events, malformed = place.fill()
    process = place.start()
    good = (place.triggers / "even.yaml").read_text()
    assert place.wait_for(1, process), process.communicate()
    (place.triggers / "even.yaml").write_text("]rubbish[ \x00")
    assert place.wait_for(place.batches() + 3, process), process.communicate()
    process.send_signal(signal.SIGTERM)
    said, complained = process.communicate(timeout=TIMEOUT)
    assert 0 == process.returncode, complained
    assert 1 == complained.count("the triggers have changed, and are refused")
    assert "error[TRI301]" in complained
    assert "Traceback" not in complained
    assert "events read" in said
    assert place.batches() == json.loads((place.out / "report.json").read_text())["batches"] < FILES // 2
    # Restarted, it refuses the rubbish before Spark starts.
    process = place.start("--available-now")
    assert "TRI301" in process.communicate(timeout=TIMEOUT)[1]
    assert 1 == process.returncode
    (place.triggers / "even.yaml").write_text(good)
    # A batch that cannot be moved to its place ends the stream, and the next one moves it there.
    number = place.batches()
    (place.out / "errors" / f"batch={number}").write_text("in the way")
    process = place.start("--available-now")
    _, complained = process.communicate(timeout=TIMEOUT)
    assert 2 == process.returncode, complained
    assert re.search(rf"cannot rename 'staging/\w+/pairs/outcome=errored' to 'errors/batch={number}'", complained)
    assert "Traceback" not in complained
    (place.out / "errors" / f"batch={number}").unlink()
    process = place.start("--available-now")
    _, complained = process.communicate(timeout=2 * TIMEOUT)
    assert 0 == process.returncode, complained
    place.check(events, malformed)


def test_java_that_is_killed(place: Place) -> None:
    events, malformed = place.fill()
    process = place.start()
    assert place.wait_for(1, process), process.communicate()
    for java in subprocess.run(["pgrep", "-g", str(process.pid), "-x", "java"], capture_output=True).stdout.split():
        os.kill(int(java), signal.SIGKILL)
    _, complained = process.communicate(timeout=TIMEOUT)
    assert 2 == process.returncode, complained
    # A thread of PySpark prints, between two lines, that Java is gone; what the bridge logs is not to be seen.
    own = complained.rpartition("-" * 40 + "\n")[2]
    assert own.startswith("error[TRI606]: the stream cannot go on: Spark's Java process has ended\n")
    assert "Traceback" not in own
    process = place.start("--available-now")
    _, complained = process.communicate(timeout=2 * TIMEOUT)
    assert 0 == process.returncode, complained
    place.check(events, malformed)


def test_two_processes_and_one_output(place: Place) -> None:
    events, malformed = place.fill()
    process = place.start("--available-now")
    assert place.wait_for(1, process), process.communicate()
    for more in ((), ("--overwrite",)):
        other = place.start("--available-now", *more)
        _, complained = other.communicate(timeout=TIMEOUT)
        assert 2 == other.returncode, complained
        assert "error[TRI602]: another process writes into the output directory" in complained
        assert "Traceback" not in complained
    _, complained = process.communicate(timeout=2 * TIMEOUT)
    assert 0 == process.returncode, complained
    place.check(events, malformed)


def test_a_full_disk(place: Place) -> None:
    disk = place.root / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=500k", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("this user cannot mount a small disk")
    try:
        events, malformed = place.fill()
        checkpoint = ("--available-now", "--checkpoint", str(place.root / "checkpoint"))
        process = place.start(*checkpoint, out=disk / "out")
        _, complained = process.communicate(timeout=TIMEOUT)
        assert 2 == process.returncode, complained
        assert "error[TRI606]" in complained
        assert "No space left on device" in complained
        assert "Traceback" not in complained
        assert 0 < place.batches(disk / "out") < FILES // 2
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        process = place.start(*checkpoint, out=disk / "out")
        _, complained = process.communicate(timeout=2 * TIMEOUT)
        assert 0 == process.returncode, complained
        place.check(events, malformed, disk / "out")
    finally:
        for started in place.started:
            kill(started)
        subprocess.run(["umount", disk], check=True)
