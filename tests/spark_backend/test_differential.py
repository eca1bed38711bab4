"""Native SQL, the fallback and the engine by itself agree on every expression and every document.

The expressions are in `tests/cases/lowering/*.cel`, a family a file, and the documents in `documents.jsonl` beside
them. A disagreement is reported with the expression, the document and all three answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from lowering_cases import (
    DOCUMENTS,
    FAMILIES,
    GAVE_UP,
    LAYOUTS,
    answers,
    as_fallback,
    compiled,
    expected_of,
    expressions,
    frames_of,
    has_nul,
)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from samples import sample
from spark_settings import set_to

pytestmark = pytest.mark.spark


def in_turn(ways: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Each family in one of the ways, another for the next family; in a whole run each family in each way."""
    found = []
    for i, family in enumerate(FAMILIES):
        first = i % len(ways)
        found += [(family, *way) for way in sample(ways[first:] + ways[:first], len(ways))]
    return found


@pytest.fixture(scope="module")
def frames(spark: SparkSession) -> Iterator[dict[str, DataFrame]]:
    """The documents in each dynamically typed layout."""
    found = frames_of(spark)
    yield found
    for frame in found.values():
        frame.unpersist()


@pytest.mark.sampled
@pytest.mark.parametrize(("family", "layout", "ansi", "half"), in_turn([*product(LAYOUTS, (True, False), (0, 1))]))
def test_native_and_engine_agree(
    spark: SparkSession, frames: dict[str, DataFrame], family: str, layout: str, ansi: bool, half: int
) -> None:
    frame = frames[layout]
    kept = [(e, f) for e in expressions(family) if (f := compiled(e, frame)) is not None and not f.residual]
    assert len(kept) > len(expressions(family)) / 2, "most of a family runs natively"
    kept = kept[half::2]
    with set_to(spark, {"spark.sql.ansi.enabled": str(ansi).lower()}):
        given = answers(frame, [f for _, f in kept])
    assert_agree(family, [e for e, _ in kept], given)


@pytest.mark.sampled
@pytest.mark.parametrize(("family", "layout"), in_turn([(layout,) for layout in LAYOUTS]))
def test_the_shorter_condition_holds_for_the_same_events(
    frames: dict[str, DataFrame], family: str, layout: str
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


@pytest.mark.sampled
@pytest.mark.parametrize(("family", "layout", "quarter"), in_turn([*product(LAYOUTS, range(4))]))
def test_fallback_and_engine_agree(frames: dict[str, DataFrame], family: str, layout: str, quarter: int) -> None:
    frame = frames[layout]
    kept = [
        (e, f) for e in expressions(family)[quarter::4] if "\\u0000" not in e and (f := compiled(e, frame)) is not None
    ]
    assert_agree(family, [e for e, _ in kept], answers(frame, [as_fallback(f) for _, f in kept]))


def assert_agree(family: str, expressions_: list[str], given: list[tuple[bool | None, ...]]) -> None:
    """Fails with every disagreement."""
    wrong = [
        f"{expression} on {document[:80]}: expected {expected}, not {actual}"
        for expression, outcomes in zip(expressions_, given, strict=True)
        for document, expected, actual in zip(DOCUMENTS, expected_of(family, expression), outcomes, strict=True)
        if expected not in (actual, GAVE_UP) and not has_nul(expression, document)
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
