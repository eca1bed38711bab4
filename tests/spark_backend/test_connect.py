"""Filters on Spark Connect: the same answers as on classic Spark, in every layout, native and in the fallback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from filter_sets import Trigger
from samples import sample
from tricel.spark_backend import column, fan_out, where
from tricel.spark_backend.events.readers import read_events
from tricel.spark_backend.failure import RunError
from tricel.spark_backend.run.pipeline import dry_run, run

from tricel import compile_filter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

# An event's id, its type, the text of an extension, and its payload: the last is read as a number where one is wanted.
ROWS = [
    ("1", "aaaa", '{"tier": "gold"}', '{"a": 1.0, "b": 1.0, "s": "x", "l": [1.0, 2.0]}'),
    ("2", "ab", None, '{"a": 1.0, "b": 2.0, "s": "xy", "l": []}'),
    ("3", "aaa", "no JSON", "null"),
    ("4", "aaaa", "{}", '{"a": 3.0, "l": [2.0]}'),
    ("5", "b", None, None),
]
SCHEMA = "id STRING, type STRING, extensions MAP<STRING, STRING>, data STRING"
LAYOUTS = {
    "JSON text": "data",
    "VARIANT": "parse_json(data) AS data",
    "struct": "from_json(data, 'a DOUBLE, b DOUBLE, s STRING, l ARRAY<DOUBLE>') AS data",
}
CHOSEN = sample([*LAYOUTS], 3)
NATIVE = [
    'ce.type == "aaaa"',
    "data.a > 1.0",
    'data.s.startsWith("x") || ce.type == "b"',
    "data.l.exists(x, x == 2.0) && data.a == 1.0",
    'ce.ext.tier == "gold"',
]
FALLBACK = [
    'ce.type.matches("^(a|aa)+$")',
    'ce.type != "b" && string(data.b) == "1"',
    'string(data.a) == "1" && ce.type.matches("^(a|aa)+$")',
    'ce.ext.tier.matches("^(g|go|old)+$")',
]
OUTCOMES = ("drop", "deliver", "fail")
HERE = (str(Path(__file__).parent), str(Path(__file__).parent.parent))


def frames(spark: SparkSession) -> dict[str, DataFrame]:
    """The events in every layout."""
    rows = [(i, type_, None if ext is None else {"ext": ext}, data) for i, type_, ext, data in ROWS]
    text = spark.createDataFrame(rows, SCHEMA).coalesce(1)
    return {layout: text.selectExpr("id", "type", "extensions", LAYOUTS[layout]) for layout in CHOSEN}


def answers(spark: SparkSession) -> dict[str, Any]:
    """What `column` and `where` give, in every layout; for "fail" the rows or the message."""
    found: dict[str, Any] = {}
    for layout, frame in frames(spark).items():
        filters = [compile_filter(text) for text in NATIVE + FALLBACK]
        columns = [column(frame, f).alias(f"c{i}") for i, f in enumerate(filters)]
        found[f"{layout}: columns"] = sorted(map(list, frame.select("id", *columns).collect()))
        for text in (NATIVE[1], FALLBACK[1]):
            for outcome in OUTCOMES:
                kept = where(frame, compile_filter(text), on_error=outcome)  # type: ignore[arg-type]
                found[f"{layout}: {text}: {outcome}"] = rows_or_message(kept)
        for count in (1, 2, len(filters) + 30):
            pairs = fan_out(frame, triggers(count), outcomes=True).select("id", "trigger", "outcome")
            found[f"{layout}: fan-out of {count}"] = sorted(map(list, pairs.collect()))
    return found | spellings(spark) | counted(spark)


def triggers(count: int) -> list[Trigger]:
    """So many filters, of which some err and some need the fallback; more than a few are found by keys."""
    texts = [*FALLBACK, *NATIVE, *(f'ce.type == "t{i}" && data.a > {i}.0' for i in range(count))]
    return [Trigger(f"t{i}", text) for i, text in enumerate(texts[:count])]


def counted(spark: SparkSession) -> dict[str, Any]:
    """What a dry run counts."""
    with tempfile.TemporaryDirectory() as folder:
        lines = [json.dumps({"specversion": "1.0", "id": str(i), "source": "s", "type": f"t{i}"}) for i in range(3)]
        Path(folder, "events.jsonl").write_text("\n".join([*lines, "no event"]))
        report = dry_run(spark, triggers(12), read_events(spark, folder), progress=lambda p: None)
        return {"dry run": [report.read, report.malformed, *([t.delivered, t.errored] for t in report.triggers)]}


def refused(spark: SparkSession) -> str:
    """What is said of a run that writes."""
    try:
        run(spark, triggers(1), frames(spark)["JSON text"], "nowhere")
    except RunError as e:
        return f"{e.diagnostic.code} {e}"
    return ""


def spellings(spark: SparkSession) -> dict[str, Any]:
    """What is read of Parquet files that spell a column in two ways: both, and either."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for file, column_ in (("a", "region"), ("b", "Region")):
            table = pa.table({"id": [file], "source": ["s"], "type": ["t"], column_: ["eu"]})
            pq.write_table(table, f"{folder}/{file}.parquet")
            rows = read_events(spark, f"{folder}/{file}.parquet").select("id", column_).collect()
            found[f"spelled {column_}"] = list(map(list, rows))
        try:
            read_events(spark, folder)
        except RunError as e:
            found["spelled in two"] = e.diagnostic.message
    return found


def rows_or_message(frame: DataFrame) -> list[str] | str:
    """The ids, or the part of the error that is ours."""
    from pyspark.errors import PySparkException

    try:
        return sorted(row["id"] for row in frame.collect())
    except PySparkException as e:
        ours = re.search(r"the filter cannot be evaluated on an event: .*?(?= SQLSTATE|\n|$)", str(e))
        return ours[0] if ours else str(e)[:2_000]


@pytest.fixture(scope="module")
def remote() -> dict[str, Any]:
    """The answers from a server of its own, in a process of its own: one process has one kind of session."""
    environment = {n: v for n, v in os.environ.items() if n != "SPARK_REMOTE"}
    environment |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(HERE)}
    done = subprocess.run(
        [sys.executable, __file__],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    answers = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(answers, dict)
    return answers


def test_the_filters_are_what_they_are_here_for() -> None:
    assert [] == [text for text in NATIVE if compile_filter(text).residual]
    assert [] == [text for text in FALLBACK if not compile_filter(text).residual]


@pytest.mark.sampled
def test_connect_answers_as_classic_spark_does(spark: SparkSession, remote: dict[str, Any]) -> None:
    assert remote.pop("session") == "pyspark.sql.connect.session"
    assert remote.pop("run").startswith("TRI606 a run that writes does not run on Spark Connect")
    classic = answers(spark)
    assert classic == remote
    for layout in CHOSEN:
        assert {True, False, None} == {value for row in classic[f"{layout}: columns"] for value in row[1:]}
        found = {(pair[1], pair[2]) for pair in classic[f"{layout}: fan-out of 39"]}
        assert {("t0", "delivered"), ("t3", "delivered"), ("t3", "errored"), ("t4", "delivered")} <= found
    assert "'Region' in this table is 'region' in another" == classic["spelled in two"]
    failed = [text for key, text in classic.items() if key.endswith(": fail")]
    assert 2 * len(CHOSEN) == len(failed)
    assert all("cannot be evaluated on an event" in text for text in failed)


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote("local[1]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.session.timeZone", "Asia/Kathmandu").getOrCreate()
    result = {"session": type(session).__module__, "run": refused(session), **answers(session)}
    session.stop()
    print(json.dumps(result))
