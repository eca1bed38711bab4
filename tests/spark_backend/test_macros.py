"""Macros that cel-expr-python does not have: SQL and our own evaluator agree on every expression and document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from spark_settings import set_to
from tricel.compiler import check_filter
from tricel.compiler.interpreter import CelError, evaluator
from tricel.spark_backend import column
from tricel.spark_backend.compiled_filter import CompiledFilter, lower_filter
from tricel.spark_backend.frames import layout_of

pytestmark = pytest.mark.spark

CASES = Path(__file__).parent.parent / "cases"
EXPRESSIONS = [line for p in sorted((CASES / "macros").glob("*.cel")) for line in p.read_text().splitlines() if line]
DOCUMENTS = [line for line in (CASES / "lowering" / "documents.jsonl").read_text().splitlines() if line]
PER_QUERY = 8


def _number(text: str) -> float:
    return float(text) + 0.0


EVENTS = [{"ce": {}, "data": json.loads(line, parse_int=_number, parse_float=_number)} for line in DOCUMENTS]


@pytest.fixture(scope="module")
def frames(spark: SparkSession) -> Iterator[dict[str, DataFrame]]:
    """The documents in each dynamically typed layout."""
    text = spark.createDataFrame(list(enumerate(DOCUMENTS)), "row INT, data STRING").coalesce(2).cache()
    variant = text.selectExpr("row", "parse_json(data) AS data").cache()
    yield {"JSON text": text, "VARIANT": variant}
    text.unpersist()
    variant.unpersist()


def compiled(text: str, frame: DataFrame) -> CompiledFilter:
    """The filter lowered for the frame."""
    checked, diagnostics = check_filter(text)
    assert checked is not None, (text, diagnostics)
    return lower_filter(checked, layout_of(frame))


def expected(filter_: CompiledFilter) -> list[bool | None]:
    """What our own evaluator says of each document; None for an error."""
    program = evaluator(filter_.checked.checked.expr)
    found: list[bool | None] = []
    for event in EVENTS:
        try:
            value = program(event)
        except CelError:
            value = None
        found.append(value if isinstance(value, bool) else None)
    return found


@pytest.mark.parametrize(("layout", "ansi", "codegen"), [("JSON text", "true", "true"), ("VARIANT", "false", "false")])
def test_macros_mean_on_spark_what_they_mean_to_the_evaluator(
    spark: SparkSession, frames: dict[str, DataFrame], layout: str, ansi: str, codegen: str
) -> None:
    frame = frames[layout]
    filters = [compiled(text, frame) for text in EXPRESSIONS]
    assert [f.cel for f in filters if f.residual] == []
    given: list[tuple[bool | None, ...]] = []
    with set_to(spark, {"spark.sql.ansi.enabled": ansi, "spark.sql.codegen.wholeStage": codegen}):
        for start in range(0, len(filters), PER_QUERY):
            columns = [column(frame, f) for f in filters[start : start + PER_QUERY]]
            rows = sorted(frame.select("row", *columns).collect(), key=lambda r: r[0])
            given += list(zip(*(tuple(row)[1:] for row in rows), strict=True))
    wrong = [
        f"{f.cel} on {document[:80]}: expected {e}, not {a}"
        for f, actual in zip(filters, given, strict=True)
        for document, e, a in zip(DOCUMENTS, expected(f), actual, strict=True)
        if e is not a
    ]
    assert not wrong, "\n".join(wrong)
