"""A label selector over a map in the payload means on Spark what it means to our own evaluator, and is never an error."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession
from tricel.compiler import check_filter
from tricel.compiler.interpreter import evaluator
from tricel.spark_backend import column

from tricel import compile_filter

pytestmark = pytest.mark.spark

SELECTORS = (
    "app.kubernetes.io/name=web",
    "a in (b,c), !x-y",
    "a!=b, c notin (d, e)",
    "a=, !c",
    "a notin ()",
    "a",
    "!a",
    "n > 5",
    "n < 9223372036854775807, n > 9223372036854775805",
    "in in (notin), data",
)
VALUES = ("b", "", None, 5.0, True, ["b"], {"a": "b"}, "9223372036854775806", "9223372036854775808", "-3", "007", "12")
LABELS = (
    *({"a": value, "n": value} for value in VALUES),
    {"app.kubernetes.io/name": "web", "x-y": "b"},
    {"app.kubernetes.io/name": "Web", "in": "notin", "data": "z"},
    {"c": "d"},
    {"A": "b", "N": "12"},
    {},
)
OTHERS = (None, True, 5.0, "a", "", [], ["a"], [{"a": "b"}])
PAYLOADS = (
    *({"metadata": {"labels": each}} for each in (*LABELS, *OTHERS)),
    *({"metadata": each} for each in OTHERS),
    *({"metadata": {"a": "b"}}, {"a": "b"}, {}),
    *OTHERS,
)


@pytest.mark.parametrize("layout", ["JSON text", "VARIANT"])
def test_selectors_of_a_map_in_data(spark: SparkSession, layout: str) -> None:
    rows = [(i, f"id-{i}", "s", "t", json.dumps(payload)) for i, payload in enumerate(PAYLOADS)]
    frame = spark.createDataFrame(rows, "row INT, id STRING, source STRING, type STRING, data STRING")
    if layout == "VARIANT":
        frame = frame.selectExpr("row", "id", "source", "type", "parse_json(data) AS data")
    asked = [{"path": "data.metadata.labels", "selector": text} for text in SELECTORS]
    filters = [compile_filter(one, dialect="labels") for one in asked]
    assert [] == [c.reason for f in filters for c in f.residual]
    columns = [column(frame, f).alias(f"c{i}") for i, f in enumerate(filters)]
    found = {row["row"]: row for row in frame.select("row", *columns).collect()}
    for i, one in enumerate(asked):
        checked, _ = check_filter(one, dialect="labels")
        assert checked is not None
        program = evaluator(checked.checked.expr)
        expected = [program({"ce": {}, "data": payload}) for payload in PAYLOADS]  # type: ignore[dict-item]
        assert {True, False} == set(expected), one
        assert expected == [found[n][f"c{i}"] for n in range(len(PAYLOADS))], one


def test_a_map_of_a_typed_column(spark: SparkSession) -> None:
    schema = "id STRING, source STRING, type STRING, data STRUCT<metadata: STRUCT<labels: MAP<STRING, STRING>>>"
    rows = [
        ("1", "s", "t", (({"app.io/name": "web", "n": "7"},),)),
        ("2", "s", "t", (({"app.io/name": "db"},),)),
        ("3", "s", "t", ((None,),)),
        ("4", "s", "t", (None,)),
    ]
    frame = spark.createDataFrame(rows, schema)
    for selector, ids in (("app.io/name=web", ["1"]), ("app.io/name!=web", ["2", "3", "4"]), ("n > 5", ["1"])):
        asked = compile_filter({"path": "data.metadata.labels", "selector": selector}, dialect="labels")
        kept = frame.where(column(frame, asked)).select("id").collect()
        assert ids == sorted(row["id"] for row in kept), selector
