"""`tricel run --stream` for a long time: what it remembers, and what it holds in memory.

Files of events are put into a folder at a steady rate, triggers are replaced meanwhile, now and then by rubbish, and
some files are damaged. The numbers that a leak would show in are read all along: the memory of each kind of process,
Java's live heap after a collection, open files, and the files that wait. In the end everything is accounted for.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from _memory import Peak, below, open_files, program
from _plot import log_log
from fan_out import Report

TOOL = Path(sys.executable).parent / "tricel"
ROWS, POINTS = 12, 200
"""Rows of the table, and points of each curve."""
FIXED = {
    "all": "true",
    "none": "false",
    "errs": "data.k > 1.0",
    "fallback": "ce.type.matches('^(a|aa)+$')",
}
CHANGING = ("data.n < 100.0", "int(data.n) % 2 == 0", "ce.type == 'aaa'", "has(data.n) && data.n > 50.0", "]rubbish[")
MANIFEST = """apiVersion: tricel.dev/v1alpha1
kind: Trigger
metadata: {name: NAME}
spec:
  broker: default
  filter: {expression: "TEXT"}
  subscriber: {uri: http://sink.example}
"""


def payload(n: int) -> dict[str, object]:
    """The data of an event; one of twenty lacks what a filter asks for."""
    return {"n": n % 200} if n % 20 == 7 else {"n": n % 200, "k": 1}


@dataclass
class Feed:
    """Puts files into a folder, and knows what is in them."""

    folder: Path
    each: int
    files: int = 0
    events: int = 0
    malformed: int = 0

    def put(self) -> None:
        """The next file: of fifty one is no table, one is a damaged archive, five are sound tables."""
        number, first = self.files, self.events
        self.files += 1
        ids = range(first, first + self.each)
        match number % 50:
            case 13:
                self.malformed += 1
                self._appear(f"{number:07}.parquet", b"no table at all")
            case 33:
                # What follows the archive is no archive: its lines are events, and the rest is one malformed text.
                self.malformed += 1
                self._appear(f"{number:07}.jsonl.gz", gzip.compress(self._lines(ids)) + b"\x1f\x8b\x08 no more of it")
            case n if n % 10 == 5:
                self._table(f"{number:07}.parquet", ids)
            case _:
                self._appear(f"{number:07}.jsonl", self._lines(ids))

    def _lines(self, ids: range) -> bytes:
        self.events += len(ids)
        lines = []
        for n in ids:
            type_ = "aaa" if n % 3 == 0 else "b"
            data = payload(n) | {"note": "x" * 50}
            lines.append(json.dumps({"specversion": "1.0", "id": str(n), "source": "s", "type": type_, "data": data}))
        lines.append("\x00rubbish")
        self.malformed += 1
        return ("\n".join(lines) + "\n").encode()

    def _table(self, name: str, ids: range) -> None:
        self.events += len(ids)
        columns = {
            "id": [str(n) for n in ids],
            "source": ["s"] * len(ids),
            "type": ["aaa" if n % 3 == 0 else "b" for n in ids],
            "data": [json.dumps(payload(n)) for n in ids],
        }
        pq.write_table(pa.table(columns), self.folder / f".{name}")
        (self.folder / f".{name}").rename(self.folder / name)

    def _appear(self, name: str, content: bytes) -> None:
        (self.folder / f".{name}").write_bytes(content)
        (self.folder / f".{name}").rename(self.folder / name)


@dataclass
class Watch:
    """What the processes of a stream hold, looked at all along, by the minute since the beginning."""

    root: int
    began: float
    lines: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def look(self) -> dict[str, float]:
        """MiB by the kind of process, now."""
        now = Peak()
        now.look(self.root)
        minute = (time.monotonic() - self.began) / 60
        for name, size in now.by_name.items():
            self.lines.setdefault(name, []).append((max(minute, 0.01), max(size, 1.0)))
        return now.by_name

    def heap(self) -> float | None:
        """MiB that Java's objects take after a collection; None where there is no jcmd."""
        javas = [pid for pid in below(self.root) if program(pid) == "java"]
        if not javas or not shutil.which("jcmd"):
            return None
        subprocess.run(["jcmd", str(javas[0]), "GC.run"], capture_output=True)
        time.sleep(0.2)
        said = subprocess.run(["jcmd", str(javas[0]), "GC.class_histogram"], capture_output=True, text=True).stdout
        total = [line.split() for line in said.splitlines() if line.startswith("Total")]
        return int(total[0][2]) / 2**20 if total else None

    def open_files(self) -> int:
        """Of all processes."""
        return sum(map(open_files, (self.root, *below(self.root))))


def start(place: Path, *more: str) -> subprocess.Popen[bytes]:
    """The stream, whose words go to a file."""
    given = ["--triggers", place / "triggers", "--events", place / "in", "--out", place / "out", *more]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    with (place / "log").open("ab") as log:
        return subprocess.Popen([TOOL, "run", "--stream", *given], stdout=log, stderr=log, env=environment)


def write_trigger(folder: Path, name: str, text: str) -> None:
    """Puts a manifest in its place by one step."""
    (folder / f".{name}.new").write_text(MANIFEST.replace("NAME", name).replace("TEXT", text))
    (folder / f".{name}.new").rename(folder / f"{name}.yaml")


def account(out: Path) -> dict[str, int]:
    """The stream's account of events, by name; zeros before the first batch."""
    try:
        value = json.loads((out / "report.json").read_text())
    except FileNotFoundError:
        return dict.fromkeys(("batches", "read", "malformed", "evaluated"), 0)
    return {name: value[name] for name in ("batches", "read", "malformed", "evaluated")}


def check(place: Path, feed: Feed) -> str:
    """That each event is where it belongs, once; what was counted, in words."""
    out = place / "out"
    report = json.loads((out / "report.json").read_text())
    wanted = {"read": feed.events + feed.malformed, "malformed": feed.malformed, "evaluated": feed.events}
    found = {name: report[name] for name in wanted}
    if wanted != found:
        sys.exit(f"{wanted} was given, and {found} is told")
    thirds, twentieths = (feed.events + 2) // 3, (feed.events + 12) // 20
    shares = {"all": (feed.events, 0), "none": (0, 0), "errs": (0, twentieths), "fallback": (thirds, 0)}
    for row in report["triggers"]:
        share = (row["delivered"], row["errored"])
        if row["trigger"] in shares and shares[row["trigger"]] != share:
            sys.exit(f"{row['trigger']}: {shares[row['trigger']]} was expected, and {share} is told")
        files = (out / "delivered").glob(f"batch=*/trigger={row['trigger']}/*.parquet")
        ids = Counter[str]()
        for file in files:
            ids.update(pq.ParquetFile(file).read(["id"])["id"].to_pylist())
        if len(ids) != row["delivered"] or set(ids.values()) > {1}:
            sys.exit(f"{row['trigger']}: {row['delivered']} deliveries are told, and {len(ids)} events are there")
    lost = sum(pq.ParquetFile(f).metadata.num_rows for f in (out / "quarantine").rglob("*.parquet"))
    if lost != feed.malformed:
        sys.exit(f"{feed.malformed} malformed texts were given, and {lost} are there")
    return f"{feed.events:,} events and {feed.malformed:,} malformed texts in {feed.files:,} files: each is there once"


def soak(place: Path, asked: argparse.Namespace) -> tuple[Report, Watch]:
    """Runs the stream, and looks at it; leaves what it makes in `place`."""
    for name in ("in", "triggers"):
        (place / name).mkdir()
    for name, text in {**FIXED, "changing": CHANGING[0]}.items():
        write_trigger(place / "triggers", name, text)
    feed = Feed(place / "in", asked.events)
    process = start(place, "--max-files-per-batch", "50")
    began = time.monotonic()
    watch = Watch(process.pid, began)
    shown = Report(
        "minute",
        "batches",
        "events",
        "waiting",
        "JVM MiB",
        "Java's live heap MiB",
        "Python driver MiB",
        "Python workers MiB",
        "open files",
    )
    changes = row = 0
    length = 60 * asked.minutes
    while (passed := time.monotonic() - began) < length:
        if process.poll() is not None:
            sys.exit("the stream has ended: " + (place / "log").read_text()[-2000:])
        while feed.files < passed / asked.every:
            feed.put()
        if changes < passed / asked.change:
            changes += 1
            write_trigger(place / "triggers", "changing", CHANGING[changes % len(CHANGING)])
        sizes = watch.look()
        if row < ROWS * passed / length - 0.5:
            row += 1
            heap = watch.heap()
            done = account(place / "out")
            shown.add(
                f"{passed / 60:.1f}",
                f"{done['batches']:,}",
                f"{done['evaluated']:,}",
                f"{feed.events + feed.malformed - done['read']:,}",
                f"{sizes.get('JVM', 0):,.0f}",
                "" if heap is None else f"{heap:,.0f}",
                f"{sizes.get('driver', 0):,.0f}",
                f"{sizes.get('workers', 0):,.0f}",
                f"{watch.open_files():,}",
            )
        time.sleep(0.25)
    process.send_signal(signal.SIGTERM)
    if process.wait(120):
        sys.exit("the stream did not end well: " + (place / "log").read_text()[-2000:])
    # What is left when it is told to end is done by the next one, with sound triggers.
    write_trigger(place / "triggers", "changing", CHANGING[0])
    if start(place, "--available-now").wait():
        sys.exit("the stream did not end well: " + (place / "log").read_text()[-2000:])
    print(check(place, feed))
    return shown, watch


def main() -> None:
    """Runs and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--every", type=float, default=0.5, help="seconds from file to file")
    parser.add_argument("--events", type=int, default=200, help="events in a file")
    parser.add_argument("--change", type=float, default=10.0, help="seconds from one state of the triggers to the next")
    parser.add_argument("--svg", type=Path, help="a file for the curve of memory")
    parser.add_argument("--keep", type=Path, help="a new folder to leave everything in")
    asked = parser.parse_args()
    if asked.keep:
        asked.keep.mkdir(parents=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        shown, watch = soak(asked.keep or Path(name), asked)
    print(shown)
    for name, points in sorted(watch.lines.items()):
        half = [size for minute, size in points if minute > points[-1][0] / 2]
        print(f"{name}: {half[-1]:,.0f} MiB at the end, {min(half):,.0f} to {max(half):,.0f} in the second half")
    if asked.svg:
        title = f"memory of a stream over {asked.minutes:g} minutes"
        few = {name: points[:: max(1, len(points) // POINTS)] for name, points in watch.lines.items()}
        asked.svg.write_text(log_log(title, "minutes", "MiB", few), encoding="utf-8")


if __name__ == "__main__":
    main()
