"""Batch runs: where each event goes, and that the account is exact."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
from filter_sets import Trigger

pytest.importorskip("pyspark")

from tricel.compiler.values.malformed import CORRUPT, DAMAGED_TABLE, NO_EVENTS, UNFIT_TABLE
from tricel.spark_backend.events.readers import find_events, read_events
from tricel.spark_backend.failure import RunError, TricelWarning
from tricel.spark_backend.run import delivery
from tricel.spark_backend.run.pipeline import ErrorCount, RunReport, TriggerCounts, dry_run, refuse_errors, run
from tricel.spark_backend.run.session import java_version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from tricel.spark_backend.run.progress import Progress

CORE = '"specversion":"1.0","source":"s"'
EVENTS = [
    f'{{{CORE},"id":"1","type":"a","data":{{"n":1.50}}}}',
    f'{{{CORE},"id":"2","type":"b","subject":"x","data_base64":"AAE="}}',
    f'{{{CORE},"id":"3","type":"a","subject":"y","data":"text","region":"eu"}}',
    "no event",
    f'{{{CORE},"id":"5"}}',
]


TRIGGERS = [
    Trigger("shop/a's", "ce.type == 'a'"),
    Trigger("none", "false"),
    Trigger("x: 100% {é}", "ce.subject == 'x'"),
]
OUTCOMES = [("shop/a's", 2, 1, 0), ("none", 0, 3, 0), ("x: 100% {é}", 1, 1, 1)]


@pytest.fixture
def events(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """EVENTS as they are read from a file."""
    path = tmp_path / "in" / "events.jsonl"
    path.parent.mkdir()
    path.write_text("\n".join(EVENTS))
    return read_events(spark, path)


def counts(report: RunReport) -> list[tuple[str, int, int, int]]:
    """Each trigger's delivered, filtered and errored."""
    return [(t.trigger, t.delivered, t.filtered, t.errored) for t in report.triggers]


def delivered(spark: SparkSession, out: Path) -> dict[str, list[str]]:
    """The ids of the events that went to each trigger, from Parquet."""
    table = spark.read.option("inferSchema", "false").parquet(str(out / "delivered"))
    found: dict[str, list[str]] = {}
    for row in table.orderBy("id").collect():
        found.setdefault(row["trigger"], []).append(row["id"])
    return found


@pytest.mark.spark
@pytest.mark.parametrize(
    ("on_error", "last", "written"), [("drop", ["2"], 3), ("deliver", ["1", "2"], 4)], ids=["drop", "deliver"]
)
def test_outcomes(
    spark: SparkSession, events: DataFrame, tmp_path: Path, on_error: str, last: list[str], written: int
) -> None:
    out = tmp_path / "out"
    report = run(spark, TRIGGERS, events, str(out), on_error=on_error)
    assert (5, 2, 3, written) == (report.read, report.malformed, report.evaluated, report.written)
    assert (("'type' is missing", 1), ("not readable as JSON", 1)) == report.reasons
    assert OUTCOMES == counts(report)
    assert {"shop/a's": ["1", "3"], "x: 100% {é}": last} == delivered(spark, out)
    bad = spark.read.parquet(str(out / "quarantine")).orderBy("reason").collect()
    assert [EVENTS[4], EVENTS[3]] == [row["text"] for row in bad]
    assert all(row["file"].endswith("/in/events.jsonl") for row in bad)
    assert json.loads((out / "report.json").read_text()) == json.loads(report.to_json())
    (erred,) = spark.read.option("inferSchema", "false").parquet(str(out / "errors")).collect()
    why = ("no such key: 'subject'", "ce.subject")
    assert ("x: 100% {é}", "1", *why) == (erred["trigger"], erred["id"], erred["error"], erred["subexpression"])
    assert (ErrorCount("x: 100% {é}", *why, 1),) == report.errors
    assert not (out / "staging").exists()


@pytest.mark.spark
@pytest.mark.parametrize("on_error", ["drop", "deliver"])
def test_a_dry_run_counts_as_a_run_does(spark: SparkSession, events: DataFrame, tmp_path: Path, on_error: str) -> None:
    wet, dry = (
        run(spark, TRIGGERS, events, str(tmp_path / "out"), on_error=on_error),
        dry_run(spark, TRIGGERS, events, on_error=on_error),
    )
    assert wet == replace(dry, errors=wet.errors, format=wet.format)


@pytest.mark.spark
def test_a_dry_run_tells_what_would_end_a_run(spark: SparkSession, events: DataFrame) -> None:
    many = [
        *(Trigger(f"t{i:02}", "ce.subject == 'a'") for i in range(12)),
        Trigger("own", "ce.no == 'a'", on_error="drop"),
    ]
    report = dry_run(spark, many, events, on_error="fail")
    with pytest.raises(RunError) as e:
        refuse_errors(many, report, "fail")
    first = ", ".join(f"'t{i:02}' (1)" for i in range(10))
    message = f"evaluation errors would end a run, by trigger: {first}, and 2 more"
    assert ("TRI603", message) == (e.value.diagnostic.code, e.value.diagnostic.message)
    for on_error in ("drop", "deliver"):
        refuse_errors(many, report, on_error)
    refuse_errors(many[-1:], report, "fail")


@pytest.mark.spark
def test_parquet_holds_data_as_text(spark: SparkSession, events: DataFrame, tmp_path: Path) -> None:
    run(spark, [Trigger("all", "true")], events, str(tmp_path / "out"))
    rows = spark.read.parquet(str(tmp_path / "out" / "delivered")).orderBy("id").collect()
    assert [('{"n":1.5}', None), (None, "AAE="), ('"text"', None)] == [(r["data"], r["data_base64"]) for r in rows]
    assert [{}, {}, {"region": "eu"}] == [r["extensions"] for r in rows]


EVENT_COLUMNS = [
    *("id", "source", "specversion", "type", "subject", "datacontenttype", "dataschema", "time", "extensions"),
    *("data", "data_base64", "file"),
]
TOLD = ["event", "error", "subexpression"]


@pytest.mark.spark
@pytest.mark.parametrize("on_error", ["drop", "deliver"])
@pytest.mark.parametrize("partition", ["trigger", "none"])
@pytest.mark.parametrize("with_event", [False, True])
def test_errored_files_alone_tell_the_error_and_the_text(
    spark: SparkSession, events: DataFrame, tmp_path: Path, with_event: bool, partition: str, on_error: str
) -> None:
    """Unless it is asked for, and then deliveries of events that erred tell why, too."""
    out = tmp_path / "out"
    report = run(spark, TRIGGERS, events, str(out), on_error=on_error, partition=partition, with_event=with_event)
    assert OUTCOMES == counts(report)
    assert (ErrorCount("x: 100% {é}", "no such key: 'subject'", "ce.subject", 1),) == report.errors
    import pyarrow.parquet as pq

    for name, more in (("delivered", TOLD if with_event else []), ("errors", TOLD)):
        for file in (out / name).rglob("part-*.parquet"):
            expected = {*EVENT_COLUMNS, *more, *(["trigger"] if partition == "none" else [])}
            assert expected == set(pq.read_schema(file).names)
    (erred,) = spark.read.parquet(str(out / "errors")).collect()
    told = (EVENTS[0], "no such key: 'subject'", "ce.subject")
    assert told == tuple(erred[name] for name in TOLD)
    again = spark.read.parquet(str(out / "delivered")).where("id = '1' AND trigger LIKE 'x%'").collect()
    assert (on_error == "deliver") == bool(again)
    for row in again:
        assert [erred[name] for name in EVENT_COLUMNS] == [row[name] for name in EVENT_COLUMNS]
        assert erred["file"].endswith("/in/events.jsonl")
        assert not with_event or told == tuple(row[name] for name in TOLD)


@pytest.mark.spark
def test_a_column_of_the_events_is_delivered_whatever_its_name(spark: SparkSession, tmp_path: Path) -> None:
    """`event` is left out where it is a copy, and `file` keeps the bytes that it has, in errored files, too."""
    head, both = (
        "SELECT '1' AS id, 's' AS source, 'a' AS type",
        [Trigger("a", "ce.type == 'a'"), Trigger("x", "ce.subject == 'x'")],
    )
    own = f"{head}, CAST(NULL AS STRING) AS subject, 'own' AS event, CAST(X'FF41' AS STRING) AS file"
    for name, sql, event in (
        ("own", own, "own"),
        ("capital", f"{head}, CAST(NULL AS STRING) AS subject, 'own' AS Event", None),
    ):
        out = str(tmp_path / name)
        report = run(spark, both, spark.sql(sql), out)
        assert [("a", 1, 0, 0), ("x", 0, 0, 1)] == counts(report)
        for folder in ("delivered", "errors"):
            (row,) = spark.read.parquet(f"{out}/{folder}").selectExpr("event", "hex(file)").collect()
            if event:
                assert (event, "FF41") == tuple(row)
            else:
                assert "own" == json.loads(row[0])["Event"]
    read_events(spark, _lines(tmp_path / "lines.jsonl")).write.parquet(str(tmp_path / "saved"))
    run(spark, both, spark.read.parquet(str(tmp_path / "saved")), str(tmp_path / "again"))
    assert "event" not in spark.read.parquet(str(tmp_path / "again" / "delivered")).columns


def _lines(path: Path) -> Path:
    path.write_text("\n".join(EVENTS))
    return path


@pytest.mark.spark
def test_json_lines_of_deliveries_tell_no_error(spark: SparkSession, events: DataFrame, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(spark, TRIGGERS, events, str(out), on_error="deliver", partition="none", format="jsonl")
    for name, more in (("delivered", set()), ("errors", {"error", "subexpression"})):
        lines = [json.loads(line) for f in (out / name).glob("part-*") for line in f.read_text().splitlines()]
        assert [{"trigger", "id", "source", "type", "event"} | more] * len(lines) == [set(line) for line in lines]
    with pytest.raises(ValueError, match="JSON Lines hold the event as it came"):
        run(spark, TRIGGERS, events, str(out), format="jsonl", with_event=True)


@pytest.mark.spark
def test_deliveries_are_events_and_those_with_errors_are_refused(
    spark: SparkSession, events: DataFrame, tmp_path: Path
) -> None:
    """Files of both layouts in one folder are not read as the one or the other."""
    yes, both = [Trigger("yes", "true")], tmp_path / "both"
    both.mkdir()
    for name, with_event in (("new", False), ("old", True)):
        run(spark, yes, events, str(tmp_path / name), with_event=with_event)
        for file in (tmp_path / name / "delivered").rglob("part-*.parquet"):
            file.rename(both / f"{name}-{file.name}")
    with pytest.raises(RunError, match="the events have a column 'error'"):
        run(spark, yes, find_events(spark, both), str(tmp_path / "out"))
    apart = run(spark, yes, replace(find_events(spark, both), apart=True), str(tmp_path / "out"))
    old = len(list(both.glob("old-*")))
    assert (3, old, ((UNFIT_TABLE, old),)) == (apart.evaluated, apart.malformed, apart.reasons)
    assert 3 == run(spark, yes, find_events(spark, str(both / "new-*")), str(tmp_path / "again")).evaluated


@pytest.mark.spark
def test_json_lines_are_the_events_as_they_came(spark: SparkSession, events: DataFrame, tmp_path: Path) -> None:
    pretty = tmp_path / "pretty.json"
    pretty.write_text(json.dumps(json.loads(EVENTS[0]), indent=2))
    both = events.unionByName(read_events(spark, pretty))
    out = tmp_path / "out"
    run(spark, TRIGGERS, both, str(out), format="jsonl")
    lines = [line for f in (out / "delivered" / "trigger=shop%2Fa%27s").glob("*.txt") for line in f.open()]
    assert 3 == len(lines)
    assert {EVENTS[0] + "\n", EVENTS[2] + "\n"} < set(lines)
    again = read_events(spark, out / "delivered")
    assert (4, 0) == (again.count(), again.where("malformed IS NOT NULL").count())


SHARED = [
    replace(t, destination=d) for t, d in zip(TRIGGERS, ["http://a/", "http://a/", "Service/shop/é"], strict=True)
]
FOLDERS = {
    "trigger": ["trigger=shop%2Fa%27s", "trigger=x%3A 100%25 %7Bé}"],
    "subscriber": ["subscriber=Service%2Fshop%2Fé", "subscriber=http%3A%2F%2Fa%2F"],
    "none": [],
}


@pytest.mark.spark
@pytest.mark.parametrize("partition", ["trigger", "subscriber", "none"])
@pytest.mark.parametrize("format_", ["parquet", "jsonl"])
def test_what_has_a_folder(
    spark: SparkSession, events: DataFrame, tmp_path: Path, partition: str, format_: str
) -> None:
    """The account and the pairs are the same; only where they are is another."""
    out = tmp_path / "out"
    report = run(spark, SHARED, events, str(out), partition=partition, format=format_, on_error="deliver")
    assert OUTCOMES == counts(report)
    folders = sorted(f.name for f in (out / "delivered").iterdir() if f.is_dir())
    assert FOLDERS[partition] == [f for f in folders if not f.startswith("_")]
    expected = {"shop/a's": ["1", "3"], "x: 100% {é}": ["1", "2"]}
    if format_ == "parquet":
        assert expected == delivered(spark, out)
    elif partition == "none":
        lines = [json.loads(line) for f in (out / "delivered").glob("part-*") for line in f.read_text().splitlines()]
        pairs = {t: sorted(v["id"] for v in lines if v["trigger"] == t) for t in {v["trigger"] for v in lines}}
        assert expected == pairs
        assert all(json.loads(v["event"])["id"] == v["id"] for v in lines)


@pytest.mark.spark
@pytest.mark.parametrize("column", ["subscriber", "Subscriber"])
def test_a_directory_does_not_take_a_column_of_the_events(spark: SparkSession, tmp_path: Path, column: str) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    table(folder / "a.parquet", 0, **{column: "mine"})
    trigger = Trigger("all", f"ce.{column} == 'mine'", destination="http://a/")
    found = find_events(spark, folder)
    assert 10 == run(spark, [trigger], found, str(out)).written
    for events in (found, spark.read.parquet(str(folder))):
        with pytest.raises(RunError, match=f"a column '{column}'") as e:
            run(spark, [trigger], events, str(out), partition="subscriber", overwrite=True)
        assert "TRI601" == e.value.diagnostic.code
    kept = spark.read.parquet(str(out / "delivered")).select(column).distinct().collect()
    assert ["mine"] == [row[0] for row in kept]
    table(folder / "b.parquet", 10)
    apart = replace(find_events(spark, folder), apart=True)
    with pytest.warns(TricelWarning, match=f"no column '{column}'"):  # the table that is left has none
        report = run(spark, [trigger], apart, str(tmp_path / "apart"), partition="subscriber")
    assert (11, 1, ((UNFIT_TABLE, 1),)) == (report.read, report.malformed, report.reasons)
    # A line is the event as it came, whatever the directory is called.
    lines = run(
        spark, [trigger], replace(found, apart=False), str(out), partition="subscriber", format="jsonl", overwrite=True
    )
    (place,) = (out / "delivered").iterdir()
    written = [json.loads(line) for f in place.rglob("*.txt") for line in f.read_text().splitlines()]
    assert ({"mine"}, 10) == ({event[column] for event in written}, lines.written)


@pytest.mark.spark
def test_one_table_of_many_triggers_is_in_few_files(spark: SparkSession, events: DataFrame, tmp_path: Path) -> None:
    many = [Trigger(f"t{i}", f"ce.id != '{i}'") for i in range(70)]
    run(spark, many, events, str(tmp_path / "out"), partition="none")
    assert len(list((tmp_path / "out" / "delivered").rglob("part-*"))) <= spark.sparkContext.defaultParallelism
    assert {t.id for t in many} == set(delivered(spark, tmp_path / "out"))


LONG = f"{'n' * 60}/{'t' * 190}"
ODD_IDS = [LONG + "1", LONG + "2", "é" * 60, "", "__HIVE_DEFAULT_PARTITION__", "a._COPYING_", "plain", f"a~{'0' * 32}"]


@pytest.mark.spark
@pytest.mark.parametrize("format_", ["parquet", "jsonl"])
@pytest.mark.parametrize("partition", ["trigger", "subscriber"])
def test_names_that_no_directory_can_have(
    spark: SparkSession, events: DataFrame, tmp_path: Path, format_: str, partition: str
) -> None:
    triggers = [Trigger(id_, "ce.subject == 'x'", destination=f"http://s/{i}" * 40) for i, id_ in enumerate(ODD_IDS)]
    report = run(spark, triggers, events, str(tmp_path / "o"), format=format_, partition=partition, on_error="deliver")
    assert [(id_, 1, 1, 1) for id_ in ODD_IDS] == counts(report)
    assert set(ODD_IDS) == {e.trigger for e in report.errors}
    names = json.loads((tmp_path / "o" / "names.json").read_text())
    for kind in ("delivered", "errors"):
        found = []
        for folder in (tmp_path / "o" / kind).rglob("trigger=*"):
            name = unquote(folder.name.removeprefix("trigger="))
            id_ = names["trigger"].get(name, name)
            found.append(id_)
            if partition == "subscriber":
                subscriber = unquote(folder.parent.name.removeprefix("subscriber="))
                wanted = triggers[ODD_IDS.index(id_)].destination
                assert wanted == names["subscriber"][subscriber]
        assert sorted(ODD_IDS) == sorted(found)
    assert {"plain"} == set(ODD_IDS) - set(names["trigger"].values())


@pytest.mark.spark
def test_on_error_fail_ends_the_run_and_leaves_nothing(spark: SparkSession, events: DataFrame, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(RunError) as e:
        run(spark, TRIGGERS, events, str(out), on_error="fail")
    assert "TRI603" == e.value.diagnostic.code
    message = (
        "the filter of trigger 'x: 100% {é}' cannot be evaluated on event '1': no such key: 'subject' in ce.subject"
    )
    assert message == e.value.diagnostic.message
    assert [] == list(out.iterdir())
    assert OUTCOMES[:2] == counts(run(spark, TRIGGERS[:2], events, str(out), on_error="fail"))


IDS = {
    "quotes": 'é"\n]:tricel-on-error-fail:["x","y","z",""]:tricel-on-error-fail',
    "nothing": None,
    "no UTF-8": b"\xffA",
}


@pytest.mark.spark
@pytest.mark.parametrize("name", IDS)
def test_an_id_may_be_anything_where_an_error_ends_the_run(spark: SparkSession, tmp_path: Path, name: str) -> None:
    id_ = IDS[name]
    given = spark.createDataFrame([(id_.encode() if isinstance(id_, str) else id_,)], "id BINARY")
    frame = given.selectExpr("CAST(id AS STRING) AS id", "'s' AS source", "'a' AS type")
    with pytest.warns(TricelWarning, match="no column 'subject'"), pytest.raises(RunError) as e:
        run(spark, TRIGGERS[2:], frame, str(tmp_path / "out"), on_error="fail")
    shown = id_.decode(errors="replace") if isinstance(id_, bytes) else id_
    assert f"cannot be evaluated on event '{shown}': no such key: 'subject' in" in e.value.diagnostic.message


@pytest.mark.spark
def test_an_output_in_use_is_refused(spark: SparkSession, events: DataFrame, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(spark, TRIGGERS, events, str(out))
    with pytest.raises(RunError, match="earlier run"):
        run(spark, TRIGGERS, events, str(out))
    assert 1 == len(run(spark, TRIGGERS[:1], events, str(out), overwrite=True).triggers)
    assert {"shop/a's": ["1", "3"]} == delivered(spark, out)
    (out / "mine.txt").write_text("keep")
    with pytest.raises(RunError, match="in use"):
        run(spark, TRIGGERS, events, str(out), overwrite=True)
    with pytest.raises(RunError, match="not a directory"):
        run(spark, TRIGGERS, events, str(out / "mine.txt"))
    assert (out / "report.json").exists()


@pytest.mark.spark
def test_two_triggers_of_one_name(spark: SparkSession, events: DataFrame, tmp_path: Path) -> None:
    with pytest.raises(RunError) as e:
        run(spark, [Trigger("a", "true"), Trigger("a", "false")], events, str(tmp_path / "out"))
    assert "TRI602" == e.value.diagnostic.code


@pytest.mark.spark
def test_nothing_to_do(spark: SparkSession, events: DataFrame, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n")
    none = read_events(spark, empty)
    cases: list[tuple[list[Trigger], DataFrame, tuple[int, int]]] = [
        ([], events, (5, 3)),
        ([Trigger("no", "false")], events, (5, 3)),
        ([Trigger("yes", "true")], none, (0, 0)),
        ([], none, (0, 0)),
        ([Trigger("yes", "true")], spark.createDataFrame([], "id STRING, type STRING"), (0, 0)),
    ]
    for i, (triggers, source, expected) in enumerate(cases):
        report = run(spark, triggers, source, str(tmp_path / str(i)))
        assert report.read == dry_run(spark, triggers, source).read
        assert (*expected, 0) == (report.read, report.evaluated, report.written)
        assert (tmp_path / str(i) / "report.json").exists()


@pytest.mark.spark
@pytest.mark.parametrize("count", [20, 100], ids=["columns", "fan-out"])
def test_many_triggers_of_a_plain_table(spark: SparkSession, tmp_path: Path, count: int) -> None:
    table = spark.range(1000).selectExpr(
        "CAST(id AS STRING) AS id", "'s' AS source", "concat('t', id % 9) AS type", "IF(id % 7 = 0, NULL, id) AS n"
    )
    triggers = [Trigger(f"t{i}", f"ce.type == 't{i % 9}' || int(ce.n) % {i + 1} == 0") for i in range(count)]
    told: list[Progress] = []
    report = run(spark, triggers, table, str(tmp_path / "out"), format="jsonl", progress=told.append)
    expected = []
    for i in range(count):
        good = sum(n % 9 == i % 9 or (n % 7 != 0 and n % (i + 1) == 0) for n in range(1000))
        bad = sum(n % 9 != i % 9 and n % 7 == 0 for n in range(1000))
        expected.append((f"t{i}", good, 1000 - good - bad, bad))
    assert expected == counts(report)
    assert told[-1].done == told[-1].total > 0
    first = next((tmp_path / "out" / "delivered" / "trigger=t0").glob("*.txt")).open().readline()
    assert {"source": "s"}.items() < json.loads(first).items()
    erred = next((tmp_path / "out" / "errors" / "trigger=t0").glob("*.txt")).open().readline()
    assert {"trigger": "t0", "error": "no such key: 'n'", "subexpression": "ce.n"}.items() < json.loads(erred).items()


@pytest.mark.spark
def test_a_trigger_may_ask_for_its_own_way_with_errors(spark: SparkSession, events: DataFrame, tmp_path: Path) -> None:
    triggers = [Trigger("keep", "ce.subject == 'x'", "deliver"), Trigger("drop", "ce.subject == 'x'")]
    out = tmp_path / "out"
    report = run(spark, triggers, events, str(out))
    assert [("keep", 1, 1, 1), ("drop", 1, 1, 1)] == counts(report)
    assert {"keep": ["1", "2"], "drop": ["2"]} == delivered(spark, out)
    assert (3, ("keep",)) == (report.written, report.deliver)
    with pytest.raises(RunError, match="'stop' cannot be evaluated on event '1'"):
        run(spark, [Trigger("stop", "ce.subject == 'x'", "fail")], events, str(tmp_path / "other"))


@pytest.mark.spark
def test_the_leavings_of_a_killed_run_are_begun_anew(spark: SparkSession, events: DataFrame, tmp_path: Path) -> None:
    out = tmp_path / "out"
    half = out / "staging" / "outcome=delivered" / "trigger=shop%2Fa%27s"
    half.mkdir(parents=True)
    (half / "part-0.txt").write_text("half a line")
    (out / "delivered").mkdir()
    mine = tmp_path / "mine"
    (mine / "errors").mkdir(parents=True)
    with pytest.raises(RunError, match="earlier run"):
        run(spark, TRIGGERS, events, str(mine))
    assert (mine / "errors").exists()
    assert OUTCOMES == counts(run(spark, TRIGGERS, events, str(out)))
    assert {"shop/a's": ["1", "3"], "x: 100% {é}": ["2"]} == delivered(spark, out)


def table(path: Path, first: int, rows: int = 10, **more: object) -> None:
    """A Parquet file of events without a `type` of note."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    ids = [str(n) for n in range(first, first + rows)]
    columns = {"id": ids, "source": ["s"] * rows, "type": [f"t{i}" for i in ids]}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns | {name: [value] * rows for name, value in more.items()}), path)


def cut(path: Path) -> None:
    """Loses the second half of a file."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def spoil(path: Path) -> None:
    """Damages a Parquet file's columns, not its footer."""
    content = bytearray(path.read_bytes())
    middle = len(content) // 3
    for i in range(middle, middle + 2_000):
        content[i] ^= 0x5A
    path.write_bytes(bytes(content))


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "b. 100%": cut,
    "rubbish": lambda path: path.write_bytes(b"no table at all"),
    "spoiled": spoil,
    "with%20sign": spoil,
}


@pytest.mark.spark
def test_tables_that_are_damaged_are_told_and_the_others_are_read(spark: SparkSession, tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    for i, name in enumerate(("a 1", "b", *DAMAGES)):
        table(folder / f"{name}.parquet", 10_000 * i, 10_000)
    (folder / "empty.parquet").touch()
    for name, damage in DAMAGES.items():
        damage(folder / f"{name}.parquet")
    events = find_events(spark, folder)
    triggers = [Trigger("odd", "ce.id.endsWith('1')"), Trigger("all", "true")]
    report = run(spark, triggers, events, str(out))
    assert (20_004, 4, ((DAMAGED_TABLE, 4),)) == (report.read, report.malformed, report.reasons)
    assert [("odd", 2_000, 18_000, 0), ("all", 20_000, 0, 0)] == counts(report)
    assert 22_000 == spark.read.parquet(str(out / "delivered")).count()
    bad = spark.read.parquet(str(out / "quarantine")).collect()
    assert {(Path(f).stem, DAMAGED_TABLE) for f in events.found.tables if Path(f).stem in DAMAGES} == {
        (Path(row["file"]).stem, row["reason"]) for row in bad
    }
    assert {None} == {row["text"] for row in bad}
    assert report == replace(dry_run(spark, triggers, events), format=report.format)
    with pytest.raises(RunError, match="cannot be read as Parquet") as e:
        read_events(spark, folder)
    assert Path(e.value.diagnostic.source.name).stem.startswith("b. 100")
    for name in DAMAGES:
        (folder / f"{name}.parquet").write_bytes(b"")
    assert 20_000 == read_events(spark, folder).count()


@pytest.mark.spark
def test_tables_without_a_sound_one_among_them(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("a", "b"):
        table(tmp_path / f"{name}.parquet", 0)
        cut(tmp_path / f"{name}.parquet")
    report = run(spark, [Trigger("all", "true")], find_events(spark, tmp_path), str(tmp_path / "out"))
    assert (2, 2, 0) == (report.read, report.malformed, report.evaluated)


@pytest.mark.spark
def test_tables_have_the_columns_of_all(spark: SparkSession, tmp_path: Path) -> None:
    """Whichever file comes first, an attribute that only some have is seen."""
    table(tmp_path / "in" / "a.parquet", 0)
    table(tmp_path / "in" / "b.parquet", 10, subject="x")
    table(tmp_path / "in" / "c.parquet", 20)
    trigger = Trigger("x", "has(ce.subject) && ce.subject == 'x'")
    report = run(spark, [trigger], find_events(spark, tmp_path / "in"), str(tmp_path / "out"))
    assert [("x", 10, 20, 0)] == counts(report)


@pytest.mark.spark
def test_files_that_do_not_go_together(spark: SparkSession, tmp_path: Path) -> None:
    table(tmp_path / "types" / "a.parquet", 0, n=1)
    table(tmp_path / "types" / "b.parquet", 10, n="1")
    table(tmp_path / "kinds" / "a.parquet", 0)
    (tmp_path / "kinds" / "b.jsonl").write_text(EVENTS[0])
    used = tmp_path / "out"
    run(spark, [], find_events(spark, tmp_path / "types" / "a.parquet"), str(used))
    for folder, message, file in (
        ("types", "another type than in those before it", "b.parquet"),
        ("kinds", "cannot be read together", "a.parquet"),
    ):
        with pytest.raises(RunError, match=message) as e:
            run(spark, [], find_events(spark, tmp_path / folder), str(used), overwrite=True)
        assert "TRI601" == e.value.diagnostic.code
        assert e.value.diagnostic.source.name.endswith(file)
        assert "apart" in e.value.diagnostic.help
    # What was there is kept where the events cannot be read.
    assert (used / "report.json").exists()


@pytest.mark.spark
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"trigger": "x"}, "a column 'trigger'"),
        ({"Error": "x"}, "a column 'Error'"),
        ({"malformed": True}, "a column 'malformed'"),
        ({"color": "x", "Color": "y"}, "two columns"),
    ],
    ids=["written", "capital", "type", "twice"],
)
def test_columns_that_a_run_cannot_take(
    spark: SparkSession, tmp_path: Path, columns: dict[str, Any], message: str
) -> None:
    folder = tmp_path / "in"
    table(folder / "a.parquet", 0, **columns)
    with pytest.raises(RunError, match=message) as e:
        run(spark, [Trigger("all", "true")], find_events(spark, folder), str(tmp_path / "out"))
    assert "TRI601" == e.value.diagnostic.code
    table(folder / "b.parquet", 10)
    apart = replace(find_events(spark, folder), apart=True)
    report = run(spark, [Trigger("all", "true")], apart, str(tmp_path / "out"))
    assert (11, 1, ((UNFIT_TABLE, 1),)) == (report.read, report.malformed, report.reasons)


@pytest.mark.spark
def test_a_table_whose_columns_have_capitals_takes_none_with_it(spark: SparkSession, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table(tmp_path / "in" / "b.parquet", 0)
    pq.write_table(pa.table({"ID": ["1"], "source": ["s"], "type": ["t"]}), tmp_path / "in" / "a.parquet")
    apart = replace(find_events(spark, tmp_path / "in"), apart=True)
    report = run(spark, [Trigger("all", "true")], apart, str(tmp_path / "out"))
    assert (11, 1, ((NO_EVENTS, 1),)) == (report.read, report.malformed, report.reasons)


@pytest.mark.spark
def test_names_with_signs_of_encoding(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("a%20b.json", "a b.json", "c%2fd.json"):
        (tmp_path / name).write_text(f"{EVENTS[0]}\n{EVENTS[0]}\n")
    assert 6 == read_events(spark, tmp_path).where("malformed IS NULL").count()


OUT_OF_REACH = "java.io.IOException: Input/output error"


@pytest.mark.spark
def test_a_file_that_is_out_of_reach_is_not_taken_for_a_damaged_one(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.jsonl.gz", "b.parquet"):
        folder = tmp_path / name[0]
        folder.mkdir()
        (folder / name).write_bytes(b"rubbish")
        events = find_events(spark, folder)
        report = dry_run(spark, [], events)
        assert 1 == report.malformed
        with monkeypatch.context() as patched:
            patched.setattr("tricel.spark_backend.events.readers.behind", lambda e, tell: [OUT_OF_REACH])
            with pytest.raises(Exception, match="FAILED_READ_FILE"):
                dry_run(spark, [], events)
    assert CORRUPT == report.reasons[0][0] or DAMAGED_TABLE == report.reasons[0][0]


class Twice(delivery.Observation):
    """An observation that counts everything once more, as after a task that was done again."""

    @property
    def get(self) -> dict[str, Any]:
        return {name: 2 * n for name, n in super().get.items()}


@pytest.mark.spark
def test_a_release_that_observes_twice_is_not_asked(
    spark: SparkSession, events: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a plan has a shuffle, which the pairs of many triggers and a dry run have."""
    monkeypatch.setattr(delivery, "Observation", Twice)
    monkeypatch.setattr(delivery, "release", lambda session: (4, 3))
    monkeypatch.setattr(delivery, "_MANY", 2)
    with pytest.raises(ArithmeticError):
        run(spark, TRIGGERS, events, str(tmp_path / "twice"))
    monkeypatch.setattr(delivery, "release", lambda session: (4, 2))
    assert OUTCOMES == counts(run(spark, TRIGGERS, events, str(tmp_path / "out")))
    assert OUTCOMES == counts(dry_run(spark, TRIGGERS, events))
    # Without one no task is done again whose work is kept, and nothing is read for the numbers alone.
    with pytest.raises(ArithmeticError):
        run(spark, TRIGGERS[:2], events, str(tmp_path / "few"))


def test_counts_must_add_up() -> None:
    with pytest.raises(ArithmeticError):
        TriggerCounts("t", 3, 1, 1, 0)
    good = TriggerCounts("t", 3, 1, 1, 1)
    for read, reasons, written in ((5, (("x", 1),), 1), (4, (), 1), (4, (("x", 1),), 2)):
        with pytest.raises(ArithmeticError):
            RunReport(read, 1, 3, reasons, (good,), (), written, (), "parquet")
    assert 2 == RunReport(4, 1, 3, (("x", 1),), (good,), (), 2, ("t",), "parquet").written


def java(directory: Path, says: str, status: int = 0) -> dict[str, str]:
    """An environment whose JAVA_HOME holds a Java that says this."""
    program = directory / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit {status}\n")
    program.chmod(0o755)
    return {"JAVA_HOME": str(directory), "PATH": "/usr/bin:/bin"}


@pytest.mark.skipif(sys.platform == "win32", reason="the Java of these tests is a shell script")
def test_java_is_looked_at_before_it_is_used(tmp_path: Path) -> None:
    assert 17 == java_version(java(tmp_path / "17", 'openjdk version "17.0.15" 2025-04-15'))
    assert 21 == java_version(java(tmp_path / "21", 'java version "21" 2023-09-19 LTS'))
    for environment in (
        java(tmp_path / "8", 'openjdk version "1.8.0_392"'),
        java(tmp_path / "11", 'openjdk version "11.0.2" 2019-01-15'),
        java(tmp_path / "mute", "hello"),
        java(tmp_path / "broken", 'openjdk version "17"', status=1),
        {"JAVA_HOME": str(tmp_path / "nowhere")},
        {"PATH": str(tmp_path)},
    ):
        with pytest.raises(RunError) as e:
            java_version(environment)
        assert "TRI604" == e.value.diagnostic.code
        assert "17 or later" in e.value.diagnostic.help


def test_the_session_module_loads_no_pyspark() -> None:
    program = "import sys, tricel.spark_backend.run.session; sys.exit('pyspark' in sys.modules)"
    assert 0 == subprocess.run([sys.executable, "-c", program], check=False).returncode
