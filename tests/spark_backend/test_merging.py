"""Expressions that Spark takes for one another keep their own outcomes, in one filter and beside one another."""

from __future__ import annotations

from itertools import pairwise, permutations

import pytest
from pyspark.sql import SparkSession
from tricel.compiler.interpreter import CelError, evaluator
from tricel.spark_backend import column

from tricel import compile_filter

pytestmark = pytest.mark.spark

ROWS = (
    {"a": 0.1, "b": 0.2, "c": 0.3, "n": 2**63 - 1, "m": 1, "k": -1, "z": -0.0},
    {"a": 1e308, "b": 1e308, "c": -1e308, "n": 2**62, "m": 2, "k": 0, "z": 0.0},
    {"a": -0.0, "b": 0.0, "c": 3.0, "n": -(2**63), "m": -1, "k": 1, "z": float("nan")},
)
SCHEMA = "row INT, data STRUCT<a: DOUBLE, b: DOUBLE, c: DOUBLE, n: BIGINT, m: BIGINT, k: BIGINT, z: DOUBLE>"
DOUBLES = [f"data.{x}" for x in "abc"]
INTS = [f"data.{x}" for x in "nmk"]


def orders(names: list[str], sign: str) -> list[str]:
    """Sums, or products, of three values in every order and both ways."""
    return [
        text
        for x, y, z in permutations(names)
        for text in (f"{x} {sign} {y} {sign} {z}", f"{x} {sign} ({y} {sign} {z})")
    ]


def values() -> dict[str, list[str]]:
    """Expressions that differ in the order of what they are made of, by what they are compared with."""
    return {
        "0.6": orders(DOUBLES, "+"),
        "0.006": orders(DOUBLES, "*"),
        "1e308": orders(DOUBLES, "+"),
        "0": orders(INTS, "*"),
        "9223372036854775807": orders(INTS, "+"),
        "-9223372036854775808": [*orders(INTS, "+"), *orders(INTS, "*")],
        "-1.0 / 0.0": [f"1.0 / math.{f}({x})" for f in ("greatest", "least") for x in ("data.z, 0.0", "0.0, data.z")],
    }


def outcome(text: str, row: dict[str, object]) -> bool | None:
    """What CEL says."""
    try:
        found = evaluator(compile_filter(text).checked.checked.expr)({"data": row})
    except CelError:
        return None
    return bool(found)


@pytest.mark.parametrize("compared", values())
@pytest.mark.parametrize("together", [False, True])
def test_orders_are_told_apart(spark: SparkSession, compared: str, together: bool) -> None:
    texts = [f"{value} == {compared}" for value in values()[compared]]
    if together:
        texts = [f"{a} || {b}" for a, b in pairwise(texts)]
    frame = spark.createDataFrame([(i, row) for i, row in enumerate(ROWS)], SCHEMA).coalesce(1)
    columns = [column(frame, compile_filter(text)).alias(f"c{i}") for i, text in enumerate(texts)]
    found = sorted(frame.select("row", *columns).collect())
    wrong = [
        (text, row, r[i + 1])
        for r, row in zip(found, ROWS, strict=True)
        for i, text in enumerate(texts)
        if r[i + 1] is not outcome(text, row)
    ]
    assert wrong == []
