"""What a first program with the library meets: tables without the columns that filters read, and wrong arguments."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from filter_sets import Named, Trigger
from pyspark.sql import DataFrame, SparkSession
from tricel.compiler import KAFKA_RECORD, Diagnostic
from tricel.spark_backend import column, fan_out, where
from tricel.spark_backend.dataframes import with_outcomes
from tricel.spark_backend.run.pipeline import dry_run, run
from tricel.spark_backend.sql.layout import LayoutError

from tricel import CompiledFilter, TricelWarning, compile_filter

pytestmark = pytest.mark.spark

KAFKA = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT"
FLAT = "id STRING, source STRING, type STRING"
Call = Callable[[DataFrame, CompiledFilter], object]
CALLS: dict[str, Call] = {
    "where": where,
    "column": column,
    "with_outcomes": lambda df, f: with_outcomes(df, {"c": f}),
    "fan_out": lambda df, f: fan_out(df, [Named("a", f)]),
    "fan_out of many": lambda df, f: fan_out(df, [Named(str(i), f) for i in range(40)], outcomes=True),
}

# the table's columns, the filter, what is missing, the help
MISSING = [
    (
        "id STRING, source STRING, eventType STRING",
        'ce.type == "t"',
        "column 'type'",
        "did you mean 'eventType'? The columns are 'id', 'source', 'eventType'",
    ),
    ("id STRING, source STRING, Type STRING", 'ce["type"] == "t"', "column 'type'", "did you mean 'Type'?"),
    ("id STRING, event_source STRING, type STRING", "has(ce.source)", "column 'source'", "'event_source'"),
    (FLAT, "data.total > 1.0", "column 'data'", "the columns are 'id', 'source', 'type'"),
    (f"{FLAT}, payload STRING", "has(data.total)", "column 'data'", "'payload'"),
    (f"{FLAT}, event_data STRING", "data.x == 1.0", "column 'data'", "did you mean 'event_data'?"),
    ("eventType STRING, extensions MAP<STRING, STRING>", 'ce.type == "t"', "column 'type'", "'eventType'"),
    ("ce STRUCT<id: STRING, eventType: STRING>", 'ce.type == "t"', "column 'ce' has no field 'type'", "'eventType'"),
    (
        "ce STRUCT<id: STRING, eventType: STRING>",
        'ce.type == "t"',
        "no field 'type'",
        "'eventType'? Its fields are 'eventType', 'id'",
    ),
    (KAFKA, 'ce.type == "t" && data.x == 1.0', "column 'type'", "Spark's Kafka source"),
    ("n INT", '!(ce.type == "t")', "column 'type'", "the columns are 'n'"),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("schema", "text", "lacks", "help_"), MISSING)
def test_a_column_that_is_missing_is_told(
    spark: SparkSession, call: str, schema: str, text: str, lacks: str, help_: str
) -> None:
    with pytest.raises(LayoutError) as e:
        CALLS[call](spark.createDataFrame([], schema), compile_filter(text))
    first = e.value.diagnostics[0]
    assert ("TRI608", True, True) == (first.code, lacks in first.message, help_ in first.help)
    assert "<filter>:1:" in str(e.value)
    assert 2 - (schema != KAFKA) == len(e.value.diagnostics)


def test_all_that_is_missing_is_told_at_once_with_who_reads_it(spark: SparkSession) -> None:
    frame = spark.createDataFrame([], "id STRING, eventType STRING")
    filters = ['ce.id == "1"', 'ce.id == "2" && ce.type == "t"', 'data.x == 1.0 || ce.type == "u"']
    with pytest.raises(LayoutError) as e:
        fan_out(frame, [Named(str(i), compile_filter(f)) for i, f in enumerate(filters)])
    found = [(d.message, d.source.text[d.span.start : d.span.end]) for d in e.value.diagnostics]
    assert [
        ("the events have no column 'type', which 2 filters read", "ce.type"),
        ("the events have no column 'data', which the filter reads", "data"),
    ] == found


def test_another_environment_has_its_own_columns(spark: SparkSession) -> None:
    frame = spark.createDataFrame(
        [(b"k", b"{}", "t", 0, 5)], "key BINARY, value BINARY, topic STRING, partition INT, place INT"
    )
    assert 1 == where(frame, compile_filter('topic == "t"', KAFKA_RECORD)).count()
    with pytest.raises(LayoutError, match="no column 'offset'"):
        where(frame, compile_filter("offset == 5", KAFKA_RECORD))


def test_columns_that_no_filter_reads_may_be_missing(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("t",)], "type STRING")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 1 == where(frame, compile_filter('ce.type == "t"')).count()
        for schema in ("ce MAP<STRING, STRING>", "attributes MAP<STRING, STRING>"):
            rows = spark.createDataFrame([({"type": "t"},)], schema)
            assert 1 == where(rows, compile_filter('ce.type == "t" && !has(ce.region)')).count()
        extended = spark.createDataFrame([("t", {"region": "eu"})], "type STRING, extensions MAP<STRING, STRING>")
        assert 1 == where(extended, compile_filter('ce.region == "eu" && !has(ce.zone)')).count()


@pytest.mark.parametrize("call", CALLS)
def test_an_attribute_that_no_event_has_is_a_warning(spark: SparkSession, call: str) -> None:
    frame = spark.createDataFrame([("1", "eu")], "id STRING, regoin STRING")
    with pytest.warns(
        TricelWarning, match=r"no column 'region'.*\(TRI609\): did you mean 'regoin'\? The columns are 'id'"
    ) as told:
        CALLS[call](frame, compile_filter('ce.region == "eu" || has(ce.region)'))
    assert [Path(__file__).name] == [Path(w.filename).name for w in told]
    with pytest.warns(TricelWarning, match="no column 'subject'"):
        CALLS[call](frame, compile_filter("has(ce.subject)"))


@pytest.mark.parametrize("dry", [True, False])
def test_a_run_over_a_table_tells_the_same(spark: SparkSession, tmp_path: Path, dry: bool) -> None:
    told: list[Diagnostic] = []
    frame = spark.createDataFrame([("1", "/s", "t")], FLAT)
    out = str(tmp_path / "out")

    def of(text: str) -> int:
        triggers = [Trigger("a", text)]
        if dry:
            return dry_run(spark, triggers, frame, warn=told.append).written
        return run(spark, triggers, frame, out, warn=told.append).written

    with pytest.raises(LayoutError, match="TRI608"):
        of('data.x == 1.0 && ce.type == "t"')
    assert 1 == of('ce.type == "t" && !has(ce.region)')
    assert ["TRI609"] == [d.code for d in told]


WRONG = [
    (lambda f, t, d: where(d, "ce.id == 'x'"), r"where\(\) takes a CompiledFilter.*str: compile it"),
    (lambda f, t, d: where(f, d), r"where\(df, compiled\)"),
    (lambda f, t, d: where(d, t), r"give its \.compiled"),
    (lambda f, t, d: where(None, f), r"takes a DataFrame first, not NoneType"),
    (lambda f, t, d: column(d, None), r"column\(\) takes a CompiledFilter, .*, not NoneType"),
    (lambda f, t, d: column("x", d), r"takes a DataFrame first, not str"),
    (lambda f, t, d: fan_out(d, [f]), r"item 0 is CompiledFilter: where\(df, compiled\)"),
    (lambda f, t, d: fan_out(d, [t, "x"]), r"item 1 is str"),
    (lambda f, t, d: fan_out(d, f), r"takes a list of triggers, not CompiledFilter"),
    (lambda f, t, d: fan_out(d, t), r"put it in a list"),
    (lambda f, t, d: fan_out([t], d), r"takes a DataFrame first"),
]


@pytest.mark.parametrize(("call", "says"), WRONG, ids=range(len(WRONG)))
def test_wrong_arguments_are_told(spark: SparkSession, call: Callable[..., object], says: str) -> None:
    compiled = compile_filter('ce.id == "1"')
    with pytest.raises(TypeError, match=says):
        call(compiled, Named("a", compiled), spark.createDataFrame([("1",)], "id STRING"))


def test_the_arguments_of_column_in_the_old_order(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("1",), ("2",)], "id STRING").orderBy("id")
    compiled = compile_filter('ce.id == "1"')
    with pytest.warns(DeprecationWarning, match=re.escape("write column(df, compiled)")):
        old = column(compiled, frame)
    assert [(True, True), (False, False)] == [tuple(r) for r in frame.select(old, column(frame, compiled)).collect()]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dialect": 1}, "takes dialect as str, not int"),
        ({"dialect": ["labels"]}, "takes dialect as str, not list"),
        ({"language": []}, "takes language as str, not list"),
        ({"limits": None}, "takes limits as Limits, not NoneType"),
    ],
)
def test_arguments_of_another_type_are_told(given: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        compile_filter("true", **given)


def test_a_class_derived_from_str_is_a_text() -> None:
    class Types(StrEnum):
        ONE = "{type: a}"

    assert 'ce.type == "a"' == compile_filter(Types.ONE, dialect="attributes").cel
