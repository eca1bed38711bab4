"""Native SQL, the fallback and the engine by itself agree on every expression and every document.

The expressions are in `tests/cases/lowering/*.cel`, a family a file, and the documents in `documents.jsonl` beside
them. A disagreement is reported with the expression, the document and all three answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from spark_settings import set_to
from tricel.compiler import check_filter, errors
from tricel.compiler.interpreter import CelError, evaluator
from tricel.spark_backend import column
from tricel.spark_backend.frames import layout_of
from tricel.spark_backend.lowered import CompiledFilter, lower_filter

pytestmark = pytest.mark.spark

CASES = Path(__file__).parent.parent / "cases" / "lowering"
DOCUMENTS = [line for line in (CASES / "documents.jsonl").read_text().splitlines() if line]
FAMILIES = sorted(p.stem for p in CASES.glob("*.cel"))
EVALUATED = frozenset({"computed_times", "encoders", "extremes", "lists_ext", "sets_ext"})
"""Families of functions that the engine does not have, or answers otherwise: our own evaluator gives the answers."""
LAYOUTS = ("JSON text", "VARIANT")
PER_QUERY = 12
"""Filters in one query: with many more the JVM cannot compile what Spark generates."""
GAVE_UP = "gave up"


def expected_of(family: str, expression: str) -> tuple[bool | str | None, ...]:
    """The answers that an expression of a family must have, in the order of the documents."""
    return evaluated(expression) if family in EVALUATED else reference(expression)


@cache
def evaluated(expression: str) -> tuple[bool | None, ...]:
    """Our own evaluator's answers, as `reference` gives the engine's."""
    checked, _ = check_filter(expression)
    assert checked is not None
    program = evaluator(checked.checked.expr)

    def answer(document: str) -> bool | None:
        try:
            value = program({"ce": {}, "data": json.loads(document, parse_int=_number, parse_float=_number)})
        except CelError:
            return None
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


def _has_nul(expression: str, document: str) -> bool:
    """cel-expr-python cuts strings at NUL: its answers there are wrong, and have a test of their own."""
    return "\\u0000" in expression or "\\u0000" in document


@pytest.fixture(scope="module")
def frames(spark: SparkSession) -> Iterator[dict[str, DataFrame]]:
    """The documents in each dynamically typed layout."""
    text = spark.createDataFrame(list(enumerate(DOCUMENTS)), "row INT, data STRING").repartition(2).cache()
    variant = text.selectExpr("row", "parse_json(data) AS data").cache()
    yield {"JSON text": text, "VARIANT": variant}
    text.unpersist()
    variant.unpersist()


def compiled(expression: str, frame: DataFrame) -> CompiledFilter | None:
    """The expression lowered for the frame; None when the checker refuses it, which no document can then change."""
    checked, diagnostics = check_filter(expression)
    if checked is None:
        assert errors(diagnostics)
        return None
    return lower_filter(checked, layout_of(frame))


def as_fallback(whole: CompiledFilter) -> CompiledFilter:
    """The same filter with nothing native."""
    return replace(whole, conjuncts=tuple(replace(c, native=False, reason="asked for") for c in whole.conjuncts))


def answers(frame: DataFrame, filters: list[CompiledFilter]) -> list[tuple[bool | None, ...]]:
    """Each filter's answers in the order of the documents."""
    found = []
    for start in range(0, len(filters), PER_QUERY):
        chunk = filters[start : start + PER_QUERY]
        columns = [column(f, frame).alias(f"c{i}") for i, f in enumerate(chunk)]
        rows = sorted(frame.select("row", *columns).collect())
        found.extend(tuple(row[i + 1] for row in rows) for i in range(len(chunk)))
    return found


@pytest.mark.parametrize(
    ("layout", "ansi"),
    [
        ("JSON text", True),
        ("VARIANT", False),
        pytest.param("JSON text", False, marks=pytest.mark.slow),
        pytest.param("VARIANT", True, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("family", FAMILIES)
def test_native_and_engine_agree(
    spark: SparkSession, frames: dict[str, DataFrame], layout: str, ansi: bool, family: str
) -> None:
    frame = frames[layout]
    kept = [(e, f) for e in expressions(family) if (f := compiled(e, frame)) is not None and not f.residual]
    assert len(kept) > len(expressions(family)) / 2, "most of a family runs natively"
    with set_to(spark, {"spark.sql.ansi.enabled": str(ansi).lower()}):
        given = answers(frame, [f for _, f in kept])
    assert_agree(family, [e for e, _ in kept], given)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_shorter_condition_holds_for_the_same_events(
    frames: dict[str, DataFrame], layout: str, family: str
) -> None:
    frame = frames[layout]
    kept = [f for e in expressions(family) if (f := compiled(e, frame)) is not None and not f.residual]
    pairs = [
        F.expr(f"({f.native_truth}) IS TRUE AS a{i}") for i, f in enumerate(kept) if f.native_truth != f.native_sql
    ] + [F.expr(f"({f.native_sql}) IS TRUE AS b{i}") for i, f in enumerate(kept) if f.native_truth != f.native_sql]
    rows = frame.select("row", *pairs).collect()
    wrong = [
        (f.cel, DOCUMENTS[r["row"]][:80])
        for i, f in enumerate(kept)
        if f.native_truth != f.native_sql
        for r in rows
        if r[f"a{i}"] != r[f"b{i}"]
    ]
    assert wrong == []


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_fallback_and_engine_agree(frames: dict[str, DataFrame], layout: str, family: str) -> None:
    frame = frames[layout]
    kept = [(e, f) for e in expressions(family) if "\\u0000" not in e and (f := compiled(e, frame)) is not None]
    assert_agree(family, [e for e, _ in kept], answers(frame, [as_fallback(f) for _, f in kept]))


def assert_agree(family: str, expressions_: list[str], given: list[tuple[bool | None, ...]]) -> None:
    """Fails with every disagreement."""
    wrong = [
        f"{expression} on {document[:80]}: expected {expected}, not {actual}"
        for expression, outcomes in zip(expressions_, given, strict=True)
        for document, expected, actual in zip(DOCUMENTS, expected_of(family, expression), outcomes, strict=True)
        if expected not in (actual, GAVE_UP) and not _has_nul(expression, document)
    ]
    assert wrong == []


NUL = (
    ('data.x == "a\\u0000b"', '{"x": "a\\u0000b"}', True),
    ('data.x == "a\\u0000b"', '{"x": "a"}', False),
    ('data.x == "a"', '{"x": "a\\u0000b"}', False),
    ('data.x.contains("\\u0000")', '{"x": "a\\u0000b"}', True),
    ('data.x.startsWith("a\\u0000")', '{"x": "a"}', False),
    ("size(data.x) == 3", '{"x": "a\\u0000b"}', True),
    ('"a" in data', '{"a\\u0000b": 1}', False),
    ("has(data.a)", '{"a\\u0000b": 1}', False),
)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nul_is_a_character_like_any_other(spark: SparkSession, layout: str) -> None:
    wrong = []
    for expression, document, expected in NUL:
        text = spark.createDataFrame([(0, document)], "row INT, data STRING")
        frame = text if layout == "JSON text" else text.selectExpr("row", "parse_json(data) AS data")
        filter_ = compiled(expression, frame)
        assert filter_ is not None
        assert not filter_.residual, expression
        actual = answers(frame, [filter_])[0][0]
        if actual != expected:
            wrong.append((expression, document, actual))
    assert wrong == []
