"""Streams: that the batches add up to what a batch run gives, whatever happens between and within them."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import threading
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from filter_sets import Trigger, trigger_yaml

pytest.importorskip("pyspark")

from tricel.compiler import CLOUD_EVENT, KAFKA_RECORD, CompileError, Diagnostic, Environment, cloud_event, schema_type
from tricel.compiler.celtypes import INT, JSON, STRING, map_of
from tricel.compiler.environments.known import from_description
from tricel.compiler.values.malformed import CORRUPT, DAMAGED_TABLE, NO_EVENTS
from tricel.spark_backend.events.readers import read_events
from tricel.spark_backend.failure import RunError, warn_nobody
from tricel.spark_backend.places.files import Files
from tricel.spark_backend.places.kinds import source_of
from tricel.spark_backend.places.model import EventSource
from tricel.spark_backend.places.options import PlaceOptions, Rate
from tricel.spark_backend.places.tables import Table
from tricel.spark_backend.run.delivery import Delivery
from tricel.spark_backend.run.pipeline import run
from tricel.spark_backend.run.reports import (
    ErrorCount,
    RunReport,
    StreamReport,
    TriggerCounts,
    added,
    empty_stream,
    run_report,
    stream_report,
)
from tricel.spark_backend.run.streaming.ledger import Ledger
from tricel.spark_backend.run.streaming.metrics import Metrics
from tricel.spark_backend.run.streaming.observers import BatchDone, several
from tricel.spark_backend.run.streaming.origins import Loaded
from tricel.spark_backend.run.streaming.sets import SetTrigger, TriggerSet, restored, set_of
from tricel.spark_backend.run.streaming.stream import Options, _Live, run_stream
from tricel.spark_backend.sql.layout import LayoutError
from tricel.spark_backend.storage.files import Directory

from tricel import Limits, compile_filter, load_triggers
from tricel.commands.stream import Followed
from tricel.origins import FileOrigin

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[2] / "examples"


TRIGGERS = [Trigger("even", "int(data.n) % 2 == 0"), Trigger("big/ones", "data.n >= 20"), Trigger("none", "false")]


def event(number: int, **more: object) -> str:
    return json.dumps(
        {"specversion": "1.0", "id": str(number), "source": "s", "type": "t", "data": {"n": number}} | more
    )


def put(folder: Path, files: int, each: int = 10) -> Path:
    """Files of events: the last but one of each file has no `n`, the last line is none."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(files):
        lines = [event(i * each + k) for k in range(each - 2)]
        lines += [event(i * each + each - 2, data={}), "{" + str(i)]
        path = folder / f"{i}.jsonl"
        path.write_text("\n".join(lines) + "\n")
        os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))
    return folder


@dataclass
class Given:
    """An origin whose triggers never change."""

    triggers: Sequence[Trigger] = ()

    def poll(self) -> Loaded | None:
        return None


@dataclass
class Seen:
    """What an observer is told, and what it does when a batch is done."""

    then: Callable[[BatchDone], None] = lambda done: None
    batches: list[BatchDone] = field(default_factory=list)
    sets: list[int] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def began(self, total: StreamReport) -> None:
        self.sets.clear()

    def batch_done(self, done: BatchDone) -> None:
        self.batches.append(done)
        self.then(done)

    def set_taken(self, set_: str, triggers: int) -> None:
        self.sets.append(triggers)

    def set_refused(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        self.refused += [d.code for d in diagnostics]

    def warned(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        self.warnings += [d.code for d in diagnostics]


@dataclass
class Place:
    """A source folder, an output, and a way to run a stream from one into the other."""

    spark: SparkSession
    root: Path

    @property
    def events(self) -> Path:
        return self.root / "in"

    @property
    def out(self) -> Path:
        return self.root / "out"

    def stream(
        self,
        triggers: Sequence[Trigger] | FileOrigin = TRIGGERS,
        *,
        files: int = 1,
        source: EventSource | None = None,
        seen: Seen | None = None,
        stop: threading.Event | None = None,
        **options: Any,
    ) -> StreamReport:
        origin: Any = triggers if isinstance(triggers, FileOrigin) else Given()
        loaded = triggers.poll() if isinstance(triggers, FileOrigin) else Loaded(triggers)
        assert loaded is not None
        return run_stream(
            self.spark,
            source or Files(str(self.events), Rate(files)),
            origin,
            loaded,
            str(self.out),
            Options(**{"available_now": True, "interval": 0.1, **options}),
            seen or Seen(),
            stop or threading.Event(),
        )

    def pairs(self, name: str = "delivered") -> list[tuple[str, str]]:
        """The pairs of trigger and event in the output, sorted."""
        if not (self.out / name).exists():
            return []
        table = self.spark.read.option("inferSchema", "false").parquet(str(self.out / name))
        return sorted((r["trigger"], r["id"]) for r in table.select("trigger", "id").collect())


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path) -> Place:
    return Place(spark, tmp_path)


def counts(report: RunReport | StreamReport) -> list[tuple[str, int, int, int, int]]:
    """Each trigger's evaluated, delivered, filtered and errored."""
    return sorted((t.trigger, t.evaluated, t.delivered, t.filtered, t.errored) for t in report.triggers)


def check_like_a_batch_run(
    place: Place, report: StreamReport, triggers: Sequence[Trigger] = TRIGGERS, **options: Any
) -> None:
    """The stream's account and pairs are those of one run over everything."""
    once = Place(place.spark, place.root / "once")
    events = read_events(place.spark, place.events, warn=warn_nobody)  # the stream has told
    other = run(place.spark, triggers, events, str(once.out), overwrite=True, warn=warn_nobody, **options)
    assert counts(other) == counts(report)
    for name in ("read", "malformed", "evaluated", "written", "reasons"):
        assert getattr(other, name) == getattr(report, name), name
    assert sorted(map(str, other.errors)) == sorted(map(str, report.errors))
    assert [once.pairs(), once.pairs("errors")] == [place.pairs(), place.pairs("errors")]
    bad = place.spark.read.parquet(str(place.out / "quarantine")) if report.malformed else None
    assert report.malformed == (bad.count() if bad is not None else 0)
    assert stream_report(json.loads((place.out / "report.json").read_text())) == report
    assert not (place.out / "staging").exists()


@pytest.mark.spark
@pytest.mark.parametrize("on_error", ["drop", "deliver"])
def test_batches_add_up(place: Place, on_error: str) -> None:
    put(place.events, 3)
    seen = Seen()
    report = place.stream(files=2, seen=seen, on_error=on_error)
    assert (2, 1, 30, 3) == (report.batches, report.last, report.read, report.malformed)
    assert [20, 10] == [done.report.read for done in seen.batches]
    check_like_a_batch_run(place, report, on_error=on_error)
    assert ["batch=0", "batch=1"] == sorted(p.name for p in (place.out / "delivered").iterdir())
    again = place.stream(files=2, on_error=on_error)
    assert report == again
    (place.events / "new.json").write_text(f"[{event(100)}, {event(101)}]")
    # A file that comes late with an old date is not passed over.
    os.utime(place.events / "new.json", (1_000_000_000, 1_000_000_000))
    report = place.stream(files=2, on_error=on_error)
    assert (3, 32) == (report.batches, report.read)
    check_like_a_batch_run(place, report, on_error=on_error)


@pytest.mark.spark
def test_everything_that_a_batch_run_reads(place: Place) -> None:
    put(place.events, 1)
    (place.events / "deep").mkdir()
    (place.events / "deep" / "b [1] %20.ndjson.gz").write_bytes(gzip.compress(event(50).encode()))
    packed = gzip.compress("\n".join(event(n) for n in range(60, 2060)).encode())
    (place.events / "cut.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    (place.events / "pretty.json").write_text(json.dumps(json.loads(event(70)), indent=2))
    (place.events / "notes.md").write_text("no events")
    seen = Seen()
    report = place.stream(seen=seen)
    assert (5, ["TRI605"]) == (report.batches, seen.warnings)
    assert ("the file is damaged: what follows the lines read from it is lost", 1) in report.reasons
    (place.events / "notes.md").unlink()
    check_like_a_batch_run(place, report)


def damage_table(path: Path, first: int, kind: str) -> None:
    """A Parquet file of many events, and something wrong with it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = 5_000
    columns = {"source": ["s"] * rows, "type": [f"t{n}" for n in range(rows)], "data": ["{}"] * rows}
    if kind != "no events":
        columns["id"] = [str(n) for n in range(first, first + rows)]
    if kind == "other column":
        columns["note"] = ["x"] * rows
    pq.write_table(pa.table(columns if kind != "other type" else columns | {"note": list(range(rows))}), path)
    content = path.read_bytes()
    match kind:
        case "cut":
            path.write_bytes(content[: len(content) // 2])
        case "spoiled":
            middle = len(content) // 3
            path.write_bytes(content[:middle] + bytes(2_000) + content[middle + 2_000 :])


@pytest.mark.spark
def test_one_batch_of_everything_at_once(place: Place) -> None:
    """Kinds that a batch run refuses together are judged apart, and what cannot be read is told: the stream goes on."""
    put(place.events, 2)
    kinds = ("sound", "cut", "other column", "no events", "spoiled", "other type")
    for i, kind in enumerate(kinds):
        damage_table(place.events / f"{kind}.parquet", 10_000 * (i + 1), kind)
    (place.events / "empty.parquet").touch()
    packed = gzip.compress("\n".join(event(n) for n in range(60, 2060)).encode())
    (place.events / "cut.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    triggers = [Trigger("all", "true"), Trigger("t3", "ce.type == 't3'"), Trigger("x", "ce.note == 'x'")]
    seen = Seen()
    report = place.stream(triggers, files=100, seen=seen)
    assert (1, ["TRI609"]) == (report.batches, seen.warnings)  # of the kinds that have no `note`
    reasons = dict(report.reasons)
    assert {DAMAGED_TABLE: 2, NO_EVENTS: 1, CORRUPT: 1, "not readable as JSON": 2} == reasons
    whole = report.evaluated - 3 * 5_000
    assert 18 < whole < 2_018
    assert [
        ("all", report.evaluated, 0, 0),
        ("t3", 3, report.evaluated - 3, 0),
        ("x", 5_000, 5_000, whole + 5_000),
    ] == [row[:1] + row[2:] for row in counts(report)]
    bad = place.spark.read.parquet(str(place.out / "quarantine")).where("text IS NULL").collect()
    named = {Path(row["file"]).name.replace("%20", " "): row["reason"] for row in bad}
    assert {
        "cut.parquet": DAMAGED_TABLE,
        "spoiled.parquet": DAMAGED_TABLE,
        "no events.parquet": NO_EVENTS,
        "cut.jsonl.gz": CORRUPT,
    } == named
    put(place.events, 3)
    assert (2, report.read + 10) == ((again := place.stream(triggers)).batches, again.read)


@pytest.mark.spark
def test_a_batch_with_damage_is_done_again_as_it_was(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.events.mkdir()
    for i, kind in enumerate(("sound", "spoiled")):
        damage_table(place.events / f"{kind}.parquet", 10_000 * i, kind)
    with monkeypatch.context() as patched:
        crash(patched, "move", lambda name, to: to == "quarantine/batch=0")
        with pytest.raises(CrashError):
            place.stream(files=2)
    report = place.stream(files=2)
    assert (5_001, 1, ((DAMAGED_TABLE, 1),)) == (report.read, report.malformed, report.reasons)
    assert not (place.out / "staging").exists()


@pytest.mark.spark
def test_a_name_that_hadoop_cannot_open(place: Place) -> None:
    put(place.events, 1)
    late = place.events / "10:00.jsonl"
    late.write_text(event(50))
    seen = Seen()
    assert (10, ["TRI605"]) == (place.stream(files=2, seen=seen).read, seen.warnings)
    late.rename(place.events / "10.jsonl")
    check_like_a_batch_run(place, place.stream())


@pytest.mark.spark
def test_a_link_to_a_folder_that_it_is_in(place: Place) -> None:
    put(place.events, 2)
    (place.events / "loop").symlink_to(place.events)
    seen = Seen()
    check_like_a_batch_run(place, place.stream(files=7, seen=seen))
    assert {"TRI610"} == set(seen.warnings)


@pytest.mark.spark
def test_json_lines(place: Place) -> None:
    put(place.events, 2)
    place.stream(format="jsonl")
    again = read_events(place.spark, place.out / "delivered")
    lines = sorted(row["event"] for row in again.collect())
    numbers = [n for n in (*range(8), *range(10, 18)) if n % 2 == 0]
    assert sorted(event(n) for n in numbers) == lines


@pytest.mark.spark
@pytest.mark.parametrize("count", [0, 30, 100])
def test_no_triggers_and_many(place: Place, count: int) -> None:
    put(place.events, 2)
    triggers = [Trigger(f"t{i:03}", f"data.n == {i}.0 || ce.type == 'x{i}'") for i in range(count)]
    report = place.stream(triggers)
    assert (2, 20, 18, count) == (report.batches, report.read, report.evaluated, len(report.triggers))
    check_like_a_batch_run(place, report, triggers)


class CrashError(BaseException):
    """The process ends here."""


def crash(monkeypatch: pytest.MonkeyPatch, method: str, when: Callable[..., bool]) -> None:
    """The process ends before the directory's method is called in this way; it clears nothing up."""
    real = getattr(Directory, method)

    def broken(self: Directory, *arguments: str) -> Any:
        if when(*arguments):
            raise CrashError
        return real(self, *arguments)

    monkeypatch.setattr(Directory, method, broken)
    monkeypatch.setattr(Ledger, "abandon", lambda self: None)


CRASHES: dict[str, tuple[str, Callable[..., bool]]] = {
    "the intent": ("write", lambda name, *_: name == "intents/1.json"),
    "the errors' texts": ("delete", lambda name: name == "outcome=evident"),
    "staged": ("write", lambda name, *_: name == "staging/ready.json"),
    "the deliveries": ("move", lambda name, to: to == "delivered/batch=1"),
    "the errors": ("move", lambda name, to: to == "errors/batch=1"),
    "the quarantine": ("move", lambda name, to: to == "quarantine/batch=1"),
    "the marker": ("move", lambda name, to: to == "batches/1.json"),
    "the report": ("write", lambda name, text: name == "report.json" and '"last": 1' in text),
    "the end": ("delete", lambda name: name == "intents/1.json"),
}


@pytest.mark.spark
@pytest.mark.parametrize("step", CRASHES)
def test_a_batch_that_is_done_again_is_done_once(place: Place, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    put(place.events, 2, each=5)
    with monkeypatch.context() as patched:
        crash(patched, *CRASHES[step])
        with pytest.raises(CrashError):
            place.stream()
    report = place.stream()
    assert (2, 10) == (report.batches, report.read)
    check_like_a_batch_run(place, report)
    assert [] == list((place.out / "_checkpoint" / "intents").iterdir())


@pytest.mark.spark
def test_a_batch_that_spark_does_again_is_not_written_again(place: Place) -> None:
    put(place.events, 2)
    report = place.stream()
    commits = place.out / "_checkpoint" / "query" / "commits"
    for name in ("1", ".1.crc"):
        (commits / name).unlink(missing_ok=True)
    seen = Seen()
    assert report == place.stream(seen=seen)
    assert [] == seen.batches
    (place.out / "report.json").unlink()
    assert report == place.stream()
    check_like_a_batch_run(place, report)


@pytest.mark.spark
def test_a_batch_is_judged_again_by_the_set_it_was_begun_with(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    put(place.events, 2)
    before, after = (
        [Trigger("a", "data.n < 4"), Trigger("b", "true")],
        [Trigger("a", "data.n >= 4"), Trigger("c", "true")],
    )
    with monkeypatch.context() as patched:
        crash(patched, *CRASHES["staged"])
        with pytest.raises(CrashError):
            place.stream(before)
    seen = Seen()
    report = place.stream(after, seen=seen)
    assert 2 == report.batches
    expected = [("a", "0"), ("a", "1"), ("a", "2"), ("a", "3")]
    expected += [("a", str(n)) for n in range(10, 18)]
    expected += [("b", str(n)) for n in range(9)] + [("c", str(n)) for n in range(10, 19)]
    assert sorted(expected) == place.pairs()
    assert [("a", 18, 12, 4, 2), ("b", 9, 9, 0, 0), ("c", 9, 9, 0, 0)] == counts(report)
    sets = {json.loads((place.out / "batches" / f"{n}.json").read_text())["set"] for n in (0, 1)}
    stored = {
        p.stem: p.read_text() for p in (place.out / "_checkpoint" / "sets").iterdir() if not p.name.startswith(".")
    }
    assert sets == set(stored)
    assert {set_of(before, "drop").hash, set_of(after, "drop").hash} == sets
    assert set_of(before, "drop").text == stored[set_of(before, "drop").hash]


def manifest(path: Path, name: str, text: str) -> None:
    path.write_text(trigger_yaml(name, text))


@pytest.mark.spark
def test_triggers_that_change_judge_the_next_batch(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    # Only a batch's beginning looks at the files, so that no look falls between two of the changes below.
    monkeypatch.setattr("tricel.spark_backend.run.streaming.stream._POLL", 1e9)
    put(place.events, 6)
    folder = place.root / "triggers"
    folder.mkdir()
    manifest(folder / "a.yaml", "a", "data.n >= 0")

    def then(done: BatchDone) -> None:
        match done.number:
            case 0:
                manifest(folder / "b.yaml", "b", "true")
            case 1:
                (folder / "a.yaml").write_text("]rubbish[")
            case 2:
                manifest(folder / "a.yaml", "b", "true")
            case 3:
                manifest(folder / "a.yaml", "b", "true" + " " * 5)
                (folder / "b.yaml").rename(folder / "c.yaml")
                (folder / "c.yaml").write_text("]rubbish[")
            case 4:
                manifest(folder / "c.yaml", "c", "data.nosuch")

    seen = Seen(then)
    report = place.stream(FileOrigin([str(folder)]), seen=seen)
    # Of batches 0 to 5: a in all but the last, b from 1 on (from a.yaml in the end), c in the last.
    assert [("a", 45, 40, 0, 5), ("b", 45, 45, 0, 0), ("c", 9, 0, 0, 9)] == counts(report)
    assert [1, 2, 2] == seen.sets
    assert ["TRI301", "TRI316", "TRI301"] == seen.refused
    assert 6 == report.batches


@pytest.mark.spark
def test_triggers_that_are_gone_are_no_change(place: Place) -> None:
    put(place.events, 2)
    folder = place.root / "triggers"
    folder.mkdir()
    manifest(folder / "a.yaml", "a", "true")
    seen = Seen(lambda done: (folder.rename(place.root / "away"), None)[1] if done.number == 0 else None)
    origin = FileOrigin([str(folder / "a.yaml")])
    assert [("a", 18, 18, 0, 0)] == counts(place.stream(origin, seen=seen))
    assert ["TRI606"] == seen.refused


@pytest.mark.spark
def test_an_error_may_stop_the_stream(place: Place) -> None:
    put(place.events, 1)
    good = (place.events / "0.jsonl").read_text()
    (place.events / "0.jsonl").write_text(event(1))
    os.utime(place.events / "0.jsonl", (1, 1))
    (place.events / "1.jsonl").write_text(good)
    with pytest.raises(RunError) as e:
        place.stream(TRIGGERS[:1], on_error="fail")
    assert ("TRI603", "even") == (e.value.diagnostic.code, e.value.diagnostic.source.name)
    assert ["0.json"] == [p.name for p in (place.out / "batches").glob("*.json")]
    assert not (place.out / "staging").exists()
    assert 1 == json.loads((place.out / "report.json").read_text())["read"]
    # Nothing of that batch was written, so triggers that were mended may judge it.
    mended = [Trigger("even", "has(data.n) && int(data.n) % 2 == 0")]
    assert [("even", 10, 4, 6, 0)] == counts(place.stream(mended, on_error="fail"))


@pytest.mark.spark
def test_what_is_in_use_is_refused(place: Place, tmp_path: Path) -> None:
    put(place.events, 1, each=3)
    place.stream(checkpoint=str(tmp_path / "cp"))
    other = Place(place.spark, tmp_path / "other")
    put(other.events, 1, each=3)
    used = tmp_path / "used"
    run(place.spark, [], read_events(place.spark, place.events), str(used / "out"))
    (tmp_path / "mine" / "x").mkdir(parents=True)
    cases: list[tuple[str, Place, dict[str, Any]]] = [
        ("belongs to another stream", other, {"checkpoint": str(tmp_path / "cp")}),
        ("belongs to another stream", other, {"checkpoint": str(tmp_path / "cp"), "overwrite": True}),
        ("the checkpoint is in use", other, {"checkpoint": str(tmp_path / "mine")}),
        ("is not that of the stream", place, {}),
        ("another format", place, {"checkpoint": str(tmp_path / "cp"), "format": "jsonl"}),
        ("another source", place, {"checkpoint": str(tmp_path / "cp"), "source": Files(str(other.events))}),
        ("holds an earlier run", Place(place.spark, used), {"source": Files(str(place.events))}),
    ]
    for message, where, options in cases:
        with pytest.raises(RunError, match=message) as e:
            where.stream(**options)
        assert "TRI602" == e.value.diagnostic.code
    with pytest.raises(RunError, match="in use"):
        run(place.spark, [], read_events(place.spark, place.events), str(place.out), overwrite=True)
    assert (place.out / "batches" / "0.json").exists()
    report = place.stream(TRIGGERS[:1], checkpoint=str(tmp_path / "cp"), overwrite=True)
    assert (1, 3, 1) == (report.batches, report.read, len(report.triggers))
    (place.out / "mine.txt").write_text("keep")
    assert report == place.stream(TRIGGERS[:1], checkpoint=str(tmp_path / "cp"))
    with pytest.raises(RunError, match="in use"):
        place.stream(checkpoint=str(tmp_path / "cp"), overwrite=True)


@pytest.mark.spark
def test_rates(place: Place) -> None:
    put(place.events, 5)
    size = max(f.stat().st_size for f in place.events.iterdir())
    assert 3 == place.stream(files=2).batches
    bytes_ = Place(place.spark, place.root / "bytes")
    assert 3 == bytes_.stream(source=Files(str(place.events), Rate(bytes=2 * size))).batches


@pytest.mark.spark
def test_a_table_of_records(place: Place) -> None:
    """Kafka records as Spark's source has them, without ids: the filters alone say which columns there must be."""
    spark = place.spark
    schema = "key BINARY, value BINARY, topic STRING, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
    rows = [(b"1", b'{"n": 7}', "t", [("x", b"0"), ("x", b"1")]), (b"2", None, "t", None), (b"3", b"no", "t", None)]
    texts = {"big": "value.n > 5.0", "gone": "value == null", "last": 'headers["x"] == "1"'}
    triggers: Any = [SetTrigger(id_, compile_filter(text, KAFKA_RECORD), "drop") for id_, text in texts.items()]
    spark.sql("DROP TABLE IF EXISTS streamed_records")
    spark.sql(f"CREATE TABLE streamed_records ({schema}) USING parquet LOCATION '{place.root / 'table'}'")
    try:
        frame, source = spark.createDataFrame(rows, schema), Table("streamed_records", PlaceOptions(KAFKA_RECORD))
        frame.write.insertInto("streamed_records")
        first = place.stream(triggers, source=source)
        expected = [("big", 3, 1, 0, 2), ("gone", 3, 1, 1, 1), ("last", 3, 1, 0, 2)]
        assert (3, 0, expected) == (first.read, first.malformed, counts(first))
        frame.limit(1).write.insertInto("streamed_records")
        again = place.stream(triggers, source=source)
        assert (4, 2) == (again.read, {t.trigger: t.delivered for t in again.triggers}["big"])
        lacking: Any = [SetTrigger("a", compile_filter('policy == "x"', KAFKA_RECORD), "drop")]
        with pytest.raises(LayoutError, match="the records have no column 'policy'"):
            Place(spark, place.root / "no").stream(lacking, source=source)
    finally:
        spark.sql("DROP TABLE streamed_records")


@pytest.mark.spark
def test_tables(place: Place) -> None:
    spark = place.spark
    rows = [("1", "s", "a", 5), ("2", "s", "b", 6), ("3", "s", "a", None)]
    triggers = [Trigger("a", "ce.type == 'a'"), Trigger("n", "int(ce.n) > 5")]
    schema = "id STRING, source STRING, type STRING, n INT"
    frame = spark.createDataFrame(rows, schema)
    frame.write.parquet(str(place.events), mode="overwrite")
    expected = [("a", "1"), ("a", "3"), ("n", "2")]
    report = place.stream(triggers)
    assert (3, [("a", 3, 2, 1, 0), ("n", 3, 1, 1, 1)]) == (report.read, counts(report))
    assert expected == place.pairs()
    spark.sql("DROP TABLE IF EXISTS streamed_events")
    spark.sql(f"CREATE TABLE streamed_events ({schema}) USING parquet LOCATION '{place.root / 'table'}'")
    try:
        frame.write.insertInto("streamed_events")
        table = Place(spark, place.root / "of-table")
        assert counts(report) == counts(table.stream(triggers, source=Table("streamed_events")))
        frame.limit(1).write.insertInto("streamed_events")
        grown = table.stream(triggers, source=Table("streamed_events"))
        assert (4, sorted([*expected, ("a", "1")])) == (grown.read, table.pairs())
    finally:
        spark.sql("DROP TABLE streamed_events")
    nowhere = Files(str(place.root / "nowhere")), Files("nosuch://x"), Table("nowhere"), Table("a b"), Table("")
    for source in nowhere:
        with pytest.raises(RunError) as e:
            Place(spark, place.root / "no").stream(triggers, source=source)
        assert ("TRI601", True) == (e.value.diagnostic.code, bool(e.value.diagnostic.help))


@pytest.mark.spark
def test_a_stream_goes_on_until_it_is_stopped(place: Place) -> None:
    put(place.events, 2)
    stop = threading.Event()

    def then(done: BatchDone) -> None:
        if done.number == 1:
            put(place.root / "more", 1)
            (place.root / "more" / "0.jsonl").rename(place.events / "later.jsonl")
        if done.number == 2:
            stop.set()

    report = place.stream(seen=Seen(then), stop=stop, available_now=False)
    assert (3, 30) == (report.batches, report.read)
    put(place.events, 4)
    assert 5 == place.stream().batches


@pytest.mark.spark
def test_metrics(place: Place) -> None:
    put(place.events, 2)
    folder = place.root / "triggers"
    folder.mkdir()
    manifest(folder / "a.yaml", "a", "data.n < 5")
    metrics = Metrics()
    port = metrics.serve("127.0.0.1", 0)
    seen = Seen(lambda done: (folder / "b.yaml").write_text("[") and None)
    origin = FileOrigin([str(folder)])
    loaded = origin.poll()
    assert loaded is not None
    options = Options(available_now=True)
    source = Files(str(place.events), Rate(1))
    run_stream(
        place.spark, source, origin, loaded, str(place.out), options, several([seen, metrics]), threading.Event()
    )
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        text = answer.read().decode()
    set_ = set_of(loaded.triggers, "drop").hash
    for line in (
        "tricel_stream_events_total 20.0",
        "tricel_stream_malformed_total 2.0",
        "tricel_stream_deliveries_total 5.0",
        "tricel_stream_errors_total 2.0",
        'tricel_stream_trigger_outcomes_total{outcome="filtered",trigger="a"} 11.0',
        "tricel_stream_batches_total 2.0",
        'tricel_stream_trigger_set_reloads_total{result="refused"} 1.0',
        'tricel_stream_trigger_set_reloads_total{result="accepted"} 0.0',
        "tricel_stream_batch_seconds_count 2.0",
        f'tricel_stream_trigger_set_info{{hash="{set_}"}} 1.0',
    ):
        assert f"{line}\n" in text, line
    with pytest.raises(RunError, match="cannot be served"):
        Metrics().serve("127.0.0.1", port)


@pytest.mark.spark
def test_one_output_has_one_writer(place: Place) -> None:
    put(place.events, 2)
    refused = []

    def then(done: BatchDone) -> None:
        for overwrite in (False, True):
            with pytest.raises(RunError, match="another process") as e:
                place.stream(overwrite=overwrite)
            refused.append(e.value.diagnostic.code)

    check_like_a_batch_run(place, place.stream(seen=Seen(then)))
    assert ["TRI602"] * 4 == refused
    other = Place(place.spark, place.root / "other")
    with Directory(place.spark, str(other.out)).held(), pytest.raises(RunError, match="another process"):
        run(place.spark, TRIGGERS, read_events(place.spark, place.events), str(other.out))
    assert [] == list(other.out.iterdir())
    run(place.spark, TRIGGERS, read_events(place.spark, place.events), str(other.out))


@pytest.mark.spark
def test_what_a_killed_process_still_writes_is_in_no_batch(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    put(place.events, 2)
    with monkeypatch.context() as patched:
        crash(patched, *CRASHES["staged"])
        with pytest.raises(CrashError):
            place.stream()
    late = place.root / "late"
    (place.out / "staging").rename(late)
    commit = Ledger.commit

    def then_it_ends(self: Ledger, *arguments: Any) -> None:
        shutil.copytree(late, place.out / "staging", dirs_exist_ok=True)
        commit(self, *arguments)

    monkeypatch.setattr(Ledger, "commit", then_it_ends)
    check_like_a_batch_run(place, place.stream())


@pytest.mark.spark
@pytest.mark.parametrize("lost", [["_checkpoint/query"], ["batches/1.json", "report.json"]])
def test_an_output_and_a_checkpoint_of_different_times(place: Place, lost: list[str]) -> None:
    put(place.events, 2)
    place.stream()
    for name in lost:
        path = place.out / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    put(place.events, 3)
    with pytest.raises(RunError, match="and the checkpoint does not") as e:
        place.stream(files=3)
    assert "TRI602" == e.value.diagnostic.code
    assert 30 == place.stream(overwrite=True).read


@pytest.mark.spark
def test_files_of_a_stream_that_are_damaged(place: Place) -> None:
    """As they may be after a machine went down: a stream's own are told of, and the account is made again."""
    put(place.events, 2)
    report = place.stream()
    for damage in ("", "{", "{}", "\xff"):
        (place.out / "report.json").write_text(damage, encoding="latin-1")
        assert report == place.stream()
    for name in ("stream.json", "_checkpoint/stream.json", "batches/1.json"):
        path = place.out / name
        whole = path.read_text()
        if name.startswith("batches"):
            (place.out / "report.json").unlink()
        for damage in ("", "[]"):
            path.write_text(damage)
            with pytest.raises(RunError, match="is damaged") as e:
                place.stream()
            assert ("TRI606", True) == (e.value.diagnostic.code, bool(e.value.diagnostic.help))
        path.write_text(whole)
    (set_,) = (place.out / "_checkpoint" / "sets").iterdir()
    set_.write_text(set_.read_text().replace("false", "true"))
    with pytest.raises(RunError, match=r"the set of triggers \w+ is damaged"):
        place.stream()


@pytest.mark.spark
@pytest.mark.parametrize("on_error", ["drop", "deliver"])
@pytest.mark.parametrize("with_event", [False, True])
def test_columns_of_what_is_delivered(place: Place, with_event: bool, on_error: str) -> None:
    """Errored files alone tell the error and the event as text, unless deliveries are asked to."""
    import pyarrow.parquet as pq

    put(place.events, 2)
    report = place.stream(with_event=with_event, on_error=on_error)
    check_like_a_batch_run(place, report, on_error=on_error)
    told = {"event", "error", "subexpression"}
    for name, expected in (("delivered", told if with_event else set()), ("errors", told)):
        files = [*(place.out / name).rglob("*.parquet")]
        assert [expected] * len(files) == [told & set(pq.read_schema(f).names) for f in files]
        assert {"batch=0", "batch=1"} == {f.relative_to(place.out / name).parts[0] for f in files}


@pytest.mark.spark
def test_one_output_has_one_set_of_columns(place: Place) -> None:
    """A stream of an earlier release, whose deliveries have the event, goes on with it, or is refused: no folder has both."""
    put(place.events, 1)
    place.stream(with_event=True)
    for folder in (place.out, place.out / "_checkpoint"):
        path = folder / "stream.json"
        identity = json.loads(path.read_text())
        assert identity.pop("with_event") is True
        path.write_text(json.dumps(identity))
    put(place.events, 2)
    with pytest.raises(RunError, match="other columns") as e:
        place.stream()
    assert ("TRI602", "go on with --with-event, or choose another output") == (
        e.value.diagnostic.code,
        e.value.diagnostic.help,
    )
    report = place.stream(with_event=True)
    assert (2, 20) == (report.batches, report.read)
    check_like_a_batch_run(place, report)
    assert 20 == place.stream(overwrite=True).read
    with pytest.raises(RunError, match="other columns") as e:
        place.stream(with_event=True)
    assert e.value.diagnostic.help.startswith("go on without --with-event")


@pytest.mark.spark
def test_a_checkpoint_is_not_taken_from_a_stream_without_batches(place: Place) -> None:
    place.events.mkdir()
    checkpoint = str(place.root / "checkpoint")
    place.stream(checkpoint=checkpoint)
    other = Place(place.spark, place.root / "other")
    put(other.events, 1)
    with pytest.raises(RunError, match="belongs to another stream"):
        other.stream(checkpoint=checkpoint)
    put(place.events, 1)
    assert 10 == place.stream(checkpoint=checkpoint).read


@pytest.mark.spark
def test_a_file_that_changes_while_it_is_read(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    put(place.events, 1)
    counted = Delivery._judged

    def then_changed(self: Delivery, judge: Any, events: Any) -> dict[str, int]:
        read = counted(self, judge, events)
        (place.events / "0.jsonl").write_text("x\n" * 60)
        return read

    with monkeypatch.context() as patched:
        patched.setattr(Delivery, "_judged", then_changed)
        with pytest.raises(RunError, match="do not add up") as e:
            place.stream()
    assert "TRI606" == e.value.diagnostic.code
    check_like_a_batch_run(place, place.stream())


@pytest.mark.spark
def test_tables_whose_columns_change(place: Place) -> None:
    schema = "id STRING, source STRING, type STRING, n "
    place.spark.createDataFrame([("1", "s", "t", "5")], f"{schema} STRING").write.parquet(f"{place.events}/a")
    triggers = [Trigger("a", "ce.n.startsWith('5')")]
    assert [("a", 1, 1, 0, 0)] == counts(place.stream(triggers))
    place.spark.createDataFrame([("2", "s", "t", 5)], f"{schema} INT").write.parquet(f"{place.events}/b")
    for _ in range(2):
        with pytest.raises(CompileError):
            place.stream(triggers)
    # The triggers were at fault, and nothing is written: others may judge the batch.
    assert [("a", 2, 2, 0, 0)] == counts(place.stream([Trigger("a", "ce.id == '2'")]))


@pytest.mark.spark
def test_triggers_that_read_what_tables_lack(place: Place) -> None:
    place.spark.createDataFrame([("1", "s", "t")], "id STRING, source STRING, type STRING").write.parquet(
        f"{place.events}/a"
    )
    for _ in range(2):
        with pytest.raises(LayoutError, match="TRI608"):
            place.stream([Trigger("a", "ce.id == '1' && data.n > 1")])
    seen = Seen()
    assert [("a", 1, 1, 0, 0)] == counts(place.stream([Trigger("a", "ce.id == '1' && !has(ce.zone)")], seen=seen))
    assert ["TRI609"] == seen.warnings


def test_the_triggers_in_force_are_those_that_were_taken_up(tmp_path: Path) -> None:
    """Whatever became of those that came after them; nothing is kept of sets that are over."""

    def load(name: str) -> Loaded:
        manifest(tmp_path / "a.yaml", name, "true")
        return Loaded(load_triggers(tmp_path / "a.yaml"))

    def done(loaded: Loaded) -> BatchDone:
        report = RunReport(0, 0, 0, (), (), (), 0, (), "parquet")
        total = added(empty_stream("parquet"), 0, report, (), hash_of(loaded))
        return BatchDone(0, report, total, 0.0)

    def hash_of(loaded: Loaded) -> str:
        return set_of(loaded.triggers, "drop").hash

    given = [load(name) for name in "abcda"]
    origin: Any = SimpleNamespace(poll=iter(given[1:]).__next__)
    followed = Followed(origin, given[0], "drop")
    for n, loaded in enumerate(given[1:4], 1):
        assert loaded is followed.poll()
        followed.set_taken(hash_of(loaded), 1)
        assert [loaded.triggers[0].id] == [t.id for t in followed.triggers]
        if n == 1:
            followed.batch_done(done(loaded))
    followed.set_taken(hash_of(given[1]), 1)
    assert ["b"] == [t.id for t in followed.triggers]
    assert [hash_of(given[1])] == [*followed._known]
    followed.poll()
    assert ["b"] == [t.id for t in followed.triggers]
    followed.set_taken(hash_of(given[4]), 1)
    assert given[4] is followed.loaded


@pytest.mark.spark
def test_a_stream_goes_on_with_the_triggers_before_those_that_read_what_tables_lack(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are told of once, and taken up when they are mended."""
    monkeypatch.setattr("tricel.spark_backend.run.streaming.stream._POLL", 1e9)
    for n in range(5):
        rows = place.spark.createDataFrame([(str(n), "s", "t")], "id STRING, source STRING, type STRING")
        rows.coalesce(1).write.parquet(f"{place.events}/{n}")
    folder = place.root / "triggers"
    folder.mkdir()
    manifest(folder / "a.yaml", "a", "ce.type == 't'")
    changes = {0: "data.n > 1", 2: "ce.type == 't' && ce.id != '4'", 3: "ce.time > timestamp('2024-01-01T00:00:00Z')"}

    def then(done: BatchDone) -> None:
        if done.number in changes:
            manifest(folder / "b.yaml", "b", changes[done.number])

    seen = Seen(then)
    report = place.stream(FileOrigin([str(folder)]), seen=seen)
    assert [("a", 5, 5, 0, 0), ("b", 2, 1, 0, 1)] == counts(report)
    assert [1, 2, 1, 2] == seen.sets[:4]
    assert ["TRI608"] == seen.refused
    assert ["TRI609"] == seen.warnings
    assert [f"{n}" for n in range(5)] == [event for trigger, event in place.pairs() if trigger == "a"]


def test_triggers_that_come_while_others_are_found_unfit() -> None:
    sets = [set_of([Trigger("a", text)], "drop") for text in ("true", "1 == 1", "2 == 2")]
    why = CompileError(())
    seen = Seen()
    live = _Live(Given(), Options(), seen, sets[1], before=sets[0])
    live.current = sets[2]
    assert sets[2] is live.unfit(sets[1], why)
    assert sets[0] is live.unfit(sets[2], why)
    assert live.unfit(sets[0], why) is None


def test_there_is_no_going_back_behind_a_set_that_fits() -> None:
    sets = [set_of([Trigger("a", text)], "drop") for text in ("true", "1 == 1", "2 == 2")]
    for again, expected in ((False, sets[1]), (True, sets[0])):
        live = _Live(Given(), Options(), Seen(), sets[1], before=sets[0])
        live.current = sets[2]  # it came while the second one judged a batch
        live.fits(sets[1], (), again=again)
        assert expected is live.unfit(sets[2], CompileError(()))
    live.fits(live.current, ())
    assert live.unfit(live.current, CompileError(())) is None


def test_a_stream_does_not_read_what_it_writes(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(folder)
    cases = {
        (str(folder), str(folder)): True,
        (str(folder), f"{folder}/out"): True,
        (str(folder), f"file:{folder}/out"): True,
        (str(folder), f"{tmp_path}/link/out"): True,
        (f"{tmp_path}/i*", f"{folder}/deep/out"): True,
        (str(folder), f"{folder}/_out/x"): False,
        (str(folder), f"{tmp_path}/in2"): False,
        (f"{folder}/*.jsonl", f"{folder}/out"): False,
        ("s3://a/in", "s3://a/in/out"): True,
        ("s3://a/in", "s3://a/in2"): False,
    }
    for (events, out), held in cases.items():
        assert held == Files(events).holds(out), (events, out)
    for name in ("_out/0.json", "_other/0.json"):
        (folder / name).parent.mkdir()
        (folder / name).write_text("{}")
    assert [str(folder / "_other" / "0.json")] == Files(str(folder)).hidden((f"{tmp_path}/link/_out", "s3://a/out"))
    for more in ({"out": f"{folder}/out"}, {"out": str(tmp_path / "out"), "checkpoint": f"{folder}/cp"}):
        given: Any = SimpleNamespace(_jsparkSession=None)
        options = Options(checkpoint=more.get("checkpoint"))
        with pytest.raises(RunError, match="would read what it writes"):
            run_stream(given, Files(str(folder)), Given(), Loaded(()), more["out"], options, Seen(), threading.Event())


@pytest.mark.spark
def test_the_names_of_folders_outlast_a_set(place: Place) -> None:
    put(place.events, 1)
    long = [f"{i}{'x' * 300}" for i in range(2)]
    place.stream([Trigger(long[0], "true"), Trigger("plain", "true")])
    put(place.events / "more", 1)
    place.stream([Trigger(long[1], "true")])
    names = json.loads((place.out / "names.json").read_text())["trigger"]
    assert sorted(long) == sorted(names.values())
    found = {p.name.removeprefix("trigger=") for p in (place.out / "delivered").glob("batch=*/trigger=*")}
    assert {*long, "plain"} == {names.get(name, name) for name in found}


def test_spark_connect_is_refused(tmp_path: Path) -> None:
    connect: Any = SimpleNamespace()
    with pytest.raises(RunError, match="Spark Connect") as e:
        run_stream(connect, Files("x"), Given(), Loaded(()), str(tmp_path), Options(), Seen(), threading.Event())
    assert "TRI606" == e.value.diagnostic.code


def test_files_are_compiled_when_their_content_changes(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    manifest(file, "a", "true")
    origin = FileOrigin([str(tmp_path)])
    assert origin.poll() is not None
    assert origin.poll() is None
    os.utime(file, (5, 5))
    assert origin.poll() is None
    manifest(file, "a", "false")
    os.utime(file, (5, 5))
    changed = origin.poll()
    assert changed is not None
    assert ["false"] == [t.compiled.cel for t in changed.triggers]
    assert () == changed.diagnostics
    file.write_text("[")
    broken = origin.poll()
    assert broken is not None
    assert not broken.sound
    assert origin.poll() is None
    file.unlink()
    gone = origin.poll()
    assert gone is not None
    assert [] == list(gone.triggers)
    with pytest.raises(FileNotFoundError):
        FileOrigin([str(file)]).poll()
    nothing = FileOrigin([str(tmp_path)]).poll()
    assert nothing is not None
    assert [] == list(nothing.triggers)
    for empty in (gone, nothing):
        assert empty.sound
        assert ["TRI607"] == [d.code for d in empty.diagnostics]


def test_a_mounted_config_map_has_each_file_once(tmp_path: Path) -> None:
    for turn, text in ((1, "true"), (2, "false")):
        new = tmp_path / f"..{turn}"
        new.mkdir()
        manifest(new / "a.yaml", "a", text)
        (tmp_path / "..data_tmp").symlink_to(new.name)
        (tmp_path / "..data_tmp").rename(tmp_path / "..data")
        if turn == 1:
            (tmp_path / "a.yaml").symlink_to("..data/a.yaml")
            origin = FileOrigin([str(tmp_path)])
        loaded = origin.poll()
        assert loaded is not None
        assert [text] == [t.compiled.cel for t in loaded.triggers]
        assert loaded.sound


def test_a_set_is_the_same_after_it_was_stored() -> None:
    triggers = [
        *load_triggers(EXAMPLES / "triggers"),
        Trigger("p", "ce.type.matches('^(a|b)+$')", "fail"),
        Trigger("é\n", "true"),
    ]
    set_ = set_of(triggers, "deliver")
    again = restored(set_.text)
    assert set_.text == again.text
    assert set_.hash == again.hash == set_of(triggers[::-1], "deliver").hash != set_of(triggers, "drop").hash
    assert [t.compiled.sql for t in set_.triggers] == [t.compiled.sql for t in again.triggers]
    assert {"deliver", "fail"} == {t.on_error for t in again.triggers}
    with pytest.raises(ValueError, match="version 2"):
        restored('{"version": 2, "triggers": []}')


@pytest.mark.parametrize(
    ("environment", "text"),
    [
        (CLOUD_EVENT, 'ce.type == "t"'),
        (KAFKA_RECORD, 'topic == "t" && value.n > 1.0'),
        (
            cloud_event(schema_type({"order": {"id": "string", "lines": [{"qty": "int"}]}})),
            "data.order.lines[0].qty > 1",
        ),
        (Environment("order", (("shop.key", map_of(STRING, INT)), ("data", JSON)), "shop"), 'key["a"] == 1'),
    ],
    ids=["CloudEvent", "Kafka", "typed", "container"],
)
def test_a_set_has_its_filters_in_their_environments_after_it_was_stored(environment: Environment, text: str) -> None:
    filter_ = compile_filter(text, environment)
    set_ = TriggerSet((SetTrigger("a", filter_, "drop"), SetTrigger("b", compile_filter("true"), "drop")))
    again = restored(set_.text)
    assert set_.hash == again.hash
    assert [t.compiled.checked.checked.environment for t in set_.triggers] == [
        t.compiled.checked.checked.environment for t in again.triggers
    ]
    assert [t.compiled.sql for t in set_.triggers] == [t.compiled.sql for t in again.triggers]
    # What an earlier release has stored has the same name.
    assert (environment == CLOUD_EVENT) == ("environment" not in set_.text)


@pytest.mark.parametrize(
    "value", ["nothing", 5, None, {"name": "x"}, {"name": "x", "container": "", "roots": {"a": 5}}]
)
def test_what_is_no_environment(value: object) -> None:
    with pytest.raises(ValueError, match="not the description of an environment"):
        from_description(value)


def test_what_was_allowed_once_is_allowed_again(tmp_path: Path) -> None:
    text = "data.a.all(x, data.b.all(y, data.c.all(z, x == y && y == z)))"
    manifest = tmp_path / "costly.yaml"
    manifest.write_text(trigger_yaml("costly", text))
    with pytest.raises(CompileError, match="TRI210"):
        load_triggers(manifest)
    set_ = set_of(load_triggers(manifest, limits=Limits(cost=10**12)), "drop")
    assert set_.hash == restored(set_.text).hash


def test_what_is_longer_as_cel_is_read_again(tmp_path: Path) -> None:
    name = "averylongattribute20"
    several = ",".join(f"{{prefix: {{{name}: v{i}}}}}" for i in range(1_800))
    lines = ["apiVersion: eventing.knative.dev/v1", "kind: Trigger", "metadata: {name: long, namespace: ns}"]
    lines += ["spec:", "  broker: default", f"  filters: [any: [{several}]]", "  subscriber: {uri: 'http://x'}"]
    (tmp_path / "long.yaml").write_text("\n".join(lines))
    set_ = set_of(load_triggers(tmp_path / "long.yaml"), "drop")
    assert len(set_.triggers[0].compiled.cel) > 100_000
    assert set_.hash == restored(set_.text).hash


def test_accounts_add_up() -> None:
    first = RunReport(
        5, 1, 4, (("x", 1),), (TriggerCounts("a", 4, 1, 2, 1),), (ErrorCount("a", "e", "s", 1),), 2, ("a",), "jsonl"
    )
    second = RunReport(3, 2, 1, (("x", 1), ("y", 1)), (), (), 0, (), "jsonl")
    total = added(added(empty_stream("jsonl"), 0, first, ["a", "b"], "h"), 1, second, ["b", "c"], "i")
    assert [("a", 4, 1, 2, 1), ("b", 5, 0, 5, 0), ("c", 1, 0, 1, 0)] == counts(total)
    assert (2, 1, 8, 3, 5, 2, "i") == (
        total.batches,
        total.last,
        total.read,
        total.malformed,
        total.evaluated,
        total.written,
        total.set,
    )
    assert (("x", 2), ("y", 1)) == total.reasons
    assert total == stream_report(json.loads(total.to_json()))
    assert first == run_report(json.loads(first.to_json()))


def test_sources_by_name() -> None:
    options = PlaceOptions(rate=Rate(3))
    assert Table("a.b", options) == source_of(["table:a.b"], options)
    assert Files("a/b", Rate(3), (), options) == source_of(["a/b"], options)
    assert ("table:a.b", "s3://x/y") == (Table("a.b").name, Files("s3://x/y").name)
