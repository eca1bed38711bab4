"""The fallback: the same outcomes as CEL where Spark has no form, and refusals said at compile time."""

from __future__ import annotations

import datetime

import pytest
from pyspark.sql import SparkSession
from tricel.spark_backend import column, where
from tricel.spark_backend.engines import ENGINES, Program, Refusal, prepare

from tricel import CompileError, compile_filter

TIME = datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
ROWS = [
    ("1", "/s", "aaaa", TIME, {"tier": "gold"}, '{"a": [1, 2], "b": [1.0, 2.0], "n": 3}'),
    ("2", "/s", "ab", None, {}, '{"a": 1, "b": {"x": 1}}'),
    ("3", "/s", "aaa", TIME, None, "not JSON"),
    ("4", "/s", "aa\0", TIME, {"tier": "a"}, "null"),
]
SCHEMA = "id STRING, source STRING, type STRING, time TIMESTAMP, extensions MAP<STRING, STRING>, data STRING"

CASES: list[tuple[str, list[bool | None]]] = [
    ('ce.type.matches("^(a|aa)+$")', [True, False, True, None]),
    ("data.a == data.b", [True, False, None, None]),
    ("data.a == [1, 2]", [True, False, None, None]),
    ("ce.time.getHours() == 3", [True, None, True, True]),
    ('ce.time + duration("1h") > timestamp("2024-01-02T04:00:00Z")', [True, None, True, True]),
    ('ce.type == "aaaa" && data.a == data.b', [True, False, False, False]),
    ("type(data.n) == double", [True, None, None, None]),
    ("size(ce) == 5", [True, False, False, None]),
    ('double(string(data.n)) == 3.0 || ce.type == "ab"', [True, True, None, None]),
]


@pytest.mark.spark
def test_outcomes(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, SCHEMA).repartition(3)
    filters = [compile_filter(text) for text, _ in CASES]
    assert all(f.residual for f in filters)
    found = sorted(frame.select("id", *(column(f, frame).alias(f"c{i}") for i, f in enumerate(filters))).collect())
    wrong = [
        (text, e, [r[i + 1] for r in found]) for i, (text, e) in enumerate(CASES) if [r[i + 1] for r in found] != e
    ]
    assert wrong == []


@pytest.mark.spark
@pytest.mark.parametrize(("on_error", "ids"), [("drop", ["1"]), ("deliver", ["1", "3", "4"])])
def test_on_error(spark: SparkSession, on_error: str, ids: list[str]) -> None:
    frame = spark.createDataFrame(ROWS, SCHEMA)
    kept = where(frame, compile_filter("data.a == data.b"), on_error=on_error)  # type: ignore[arg-type]
    assert ids == sorted(r["id"] for r in kept.collect())


@pytest.mark.spark
def test_on_error_fail_ends_the_query(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, SCHEMA)
    with pytest.raises(Exception, match="cannot be evaluated"):
        where(frame, compile_filter("data.a == data.b"), on_error="fail").collect()


@pytest.mark.spark
def test_native_conjuncts_run_below_the_fallback(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, SCHEMA)
    plan = where(frame, compile_filter('ce.type == "aaaa" && data.a == data.b'))._jdf.queryExecution().optimizedPlan()
    text = plan.toString()
    assert text.index("ArrowEvalPython") < text.index("(type#") if "ArrowEvalPython" in text else "aaaa" in text


@pytest.mark.spark
def test_cel_python_gives_the_same_outcomes_where_it_may(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, SCHEMA)
    text = 'ce.type.matches("^(a|aa)+$") && has(ce.tier)'
    by_engine = [
        [r[0] for r in frame.select(column(compile_filter(text, engine=engine), frame)).collect()] for engine in ENGINES
    ]
    assert [True, False, False, None] == by_engine[0]
    assert by_engine[0][:3] == by_engine[1][:3]


@pytest.mark.parametrize(
    "text", ["data.a == data.b", "size(ce) == 5", "ce.time.getHours() == 3", "type(data.x) == int"]
)
def test_cel_python_refuses_what_it_answers_differently(text: str) -> None:
    with pytest.raises(CompileError, match="TRI401"):
        compile_filter(text, engine="cel-python")


def test_a_string_with_nul_is_not_given_to_an_engine_that_cuts_it() -> None:
    compiled = compile_filter('ce.type == "admin"')
    checked = compiled.checked.checked
    program = prepare(checked.expr, "cel-expr-python", dict(checked.environment.roots))
    assert isinstance(program, Program)
    assert program({"ce": {"type": "admin"}}) is True
    assert program({"ce": {"type": "admin\0evil"}}) is None
    assert "NUL" in program.error({"ce": {"type": "admin\0evil"}})


def test_deep_data_is_an_error_of_that_event() -> None:
    checked = compile_filter("data.x == data.y").checked.checked
    program = prepare(checked.expr, "cel-expr-python", dict(checked.environment.roots))
    assert not isinstance(program, Refusal)
    deep: object = 1.0
    for _ in range(5_000):
        deep = [deep]
    assert program({"data": {"x": deep, "y": 1.0}}) is None
