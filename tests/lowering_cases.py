"""The expressions of `tests/cases/lowering`, the documents beside them, and what answers each: engines and Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings
from pyspark.sql import DataFrame, SparkSession
from tricel.compiler import check_filter, errors
from tricel.compiler.interpreter import CelError, evaluator
from tricel.compiler.versions import NEXT
from tricel.spark_backend import column
from tricel.spark_backend.compiled_filter import CompiledFilter, lower_filter
from tricel.spark_backend.frames import layout_of

CASES = Path(__file__).parent / "cases" / "lowering"
DOCUMENTS = [line for line in (CASES / "documents.jsonl").read_text().splitlines() if line]
FAMILIES = sorted(p.stem for p in CASES.glob("*.cel"))
EVALUATED = frozenset({"computed_times", "encoders", "extremes", "lists_ext", "mqtt_ext", "sets_ext"})
"""Families of functions that the engine does not have, or answers otherwise: our own evaluator gives the answers."""
LAYOUTS = ("JSON text", "VARIANT")
PER_QUERY = 12
"""Filters in one query: with many more the JVM cannot compile what Spark generates."""
GAVE_UP = "gave up"


def expected_of(family: str, expression: str) -> tuple[bool | str | None, ...]:
    """The answers that an expression of a family must have, in the order of the documents."""
    return evaluated(expression) if family in EVALUATED else reference(expression)


@cache
def evaluated(expression: str) -> tuple[bool | str | None, ...]:
    """Our own evaluator's answers, as `reference` gives the engine's: it has a bound of its own, too."""
    checked, _ = check_filter(expression, version=NEXT)
    assert checked is not None
    program = evaluator(checked.checked.expr)

    def answer(document: str) -> bool | str | None:
        try:
            value = program({"ce": {}, "data": json.loads(document, parse_int=_number, parse_float=_number)})
        except CelError as e:
            return GAVE_UP if "too many steps" in str(e) else None
        return value if isinstance(value, bool) else None

    return tuple(map(answer, DOCUMENTS))


def expressions(family: str) -> list[str]:
    """The expressions of a family."""
    return [line for line in (CASES / f"{family}.cel").read_text().splitlines() if line]


@cache
def reference(expression: str) -> tuple[bool | str | None, ...]:
    """The engine's own answers: numbers as doubles, -0.0 as 0.0 (VARIANT has no other zero), error as None.

    Where it gave up at its own bound on iterations there is no answer to compare with.
    """
    variables = {"ce": cel.Type.Map(cel.Type.STRING, cel.Type.DYN), "data": cel.Type.DYN}
    extensions = [
        *(ext_strings.ExtStrings(), ext_optional.ExtOptional(), ext_bindings.ExtBindings(), ext_math.ExtMath())
    ]
    program = cel.NewEnv(variables=variables, extensions=extensions).compile(expression, disable_check=True)
    return tuple(_answer(program, document) for document in DOCUMENTS)


def _answer(program: cel.Expression, document: str) -> bool | str | None:
    data = json.loads(document, parse_int=_number, parse_float=_number)
    try:
        value = program.eval(data={"ce": {}, "data": data})
    except RuntimeError as e:
        return GAVE_UP if "teration" in str(e) else None
    return value.value() if value.type().name() == "BOOL" else None


def _number(text: str) -> float:
    return float(text) + 0.0


def has_nul(expression: str, document: str) -> bool:
    """cel-expr-python cuts strings at NUL: its answers there are wrong, and have a test of their own."""
    return "\\u0000" in expression or "\\u0000" in document


def frames_of(spark: SparkSession) -> dict[str, DataFrame]:
    """The documents in each dynamically typed layout, cached."""
    text = spark.createDataFrame(list(enumerate(DOCUMENTS)), "row INT, data STRING").repartition(2).cache()
    return {"JSON text": text, "VARIANT": text.selectExpr("row", "parse_json(data) AS data").cache()}


def compiled(expression: str, frame: DataFrame) -> CompiledFilter | None:
    """The expression lowered for the frame; None when the checker refuses it, which no document can then change."""
    checked, diagnostics = check_filter(expression, version=NEXT)
    if checked is None:
        assert errors(diagnostics)
        return None
    return lower_filter(checked, layout_of(frame))


def as_fallback(whole: CompiledFilter) -> CompiledFilter:
    """The same filter with nothing native."""
    return replace(whole, conjuncts=tuple(replace(c, native=False, reason="asked for") for c in whole.conjuncts))


def answers(frame: DataFrame, filters: Sequence[CompiledFilter]) -> list[tuple[bool | None, ...]]:
    """Each filter's answers in the order of the documents."""
    found = []
    for start in range(0, len(filters), PER_QUERY):
        chunk = filters[start : start + PER_QUERY]
        columns = [column(frame, f).alias(f"c{i}") for i, f in enumerate(chunk)]
        rows = sorted(frame.select("row", *columns).collect())
        found.extend(tuple(row[i + 1] for row in rows) for i in range(len(chunk)))
    return found
