"""CloudEvents SQL on Spark: SQL and the fallback pass the events that a direct evaluator of the language passes."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from cesql_evaluator import KNATIVE, SPECIFIED, Parser, Tree, passes
from cesql_filters import Filters, event
from lowering_cases import as_fallback
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from samples import sample
from spark_settings import set_to
from tricel.compiler import check_filter
from tricel.spark_backend import column
from tricel.spark_backend.compiled_filter import CompiledFilter, lower_filter
from tricel.spark_backend.frames import layout_of

pytestmark = pytest.mark.spark
EVENTS = 60
SCHEMA = (
    "row INT, id STRING, type STRING, source STRING, specversion STRING, subject STRING, extensions MAP<STRING, STRING>"
)
COLUMNS = ("id", "type", "source", "specversion", "subject")
MEANINGS = {"cesql": KNATIVE, "sql": SPECIFIED}
TOGETHER = 25
"""Filters of one query."""


def events() -> list[dict[str, str]]:
    """Events without a NUL, which one of the engines of the fallback cannot hold."""
    chosen = Random(1)
    found = (event(chosen) for _ in range(10 * EVENTS))
    return [each for each in found if "\x00" not in "".join(each.values())][:EVENTS]


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    rows = [
        (i, *(each.get(name) for name in COLUMNS), {n: v for n, v in each.items() if n not in COLUMNS})
        for i, each in enumerate(events())
    ]
    return spark.createDataFrame(rows, SCHEMA).repartition(1).localCheckpoint()


def lowered(numbers: Sequence[int], dialect: str, frame: DataFrame) -> list[tuple[str, Tree, CompiledFilter]]:
    """Random filters, each the same in every run."""
    found = []
    for number in numbers:
        chosen = Random(1_000_000 + number)
        text = Filters(chosen).boolean(chosen.randint(1, 4))
        checked, _ = check_filter(text, dialect=dialect)
        if checked is not None and "EXISTS data" not in text:
            found.append((text, Parser(text).whole(), lower_filter(checked, layout_of(frame))))
    return found


def answers(frame: DataFrame, filters: Sequence[CompiledFilter]) -> list[list[bool | None]]:
    """Each filter's answers in the order of the events."""
    columns = F.array(*(column(frame, each) for each in filters))
    rows = sorted(frame.select("row", columns.alias("answers")).collect(), key=lambda row: row["row"])
    return [[row["answers"][i] for row in rows] for i in range(len(filters))]


@pytest.mark.sampled
@pytest.mark.parametrize("dialect", MEANINGS)
@pytest.mark.parametrize("way", ["SQL", "fallback"])
def test_spark_passes_what_the_language_passes(spark: SparkSession, frame: DataFrame, dialect: str, way: str) -> None:
    filters = lowered(sample(range(2_000), 20), dialect, frame)
    native = sum(not each.residual for _, _, each in filters)
    assert native > len(filters) * 0.8, "most of the language is native"
    wrong = []
    for start in range(0, len(filters), TOGETHER):
        some = filters[start : start + TOGETHER]
        asked = [each if way == "SQL" else as_fallback(each) for _, _, each in some]
        with set_to(spark, {"spark.sql.ansi.enabled": str(start // TOGETHER % 2 == 0).lower()}):
            given = answers(frame, asked)
        for (text, tree, each), found in zip(some, given, strict=True):
            expected = [passes(tree, attributes, MEANINGS[dialect]) for attributes in events()]
            wrong += [
                (text, attributes, each.cel, e, a)
                for attributes, e, a in zip(events(), expected, found, strict=True)
                if e is not a
            ]
    assert [] == wrong[:3]


def test_the_same_sql_as_exact_prefix_and_suffix(frame: DataFrame) -> None:
    where = layout_of(frame)
    for text, same in (
        ("myext = 'x'", {"exact": {"myext": "x"}}),
        ("type LIKE 'com.%'", {"prefix": {"type": "com."}}),
        ("subject LIKE '%.png'", {"suffix": {"subject": ".png"}}),
    ):
        ours, theirs = check_filter(text, dialect="cesql")[0], check_filter(same)[0]
        assert ours is not None
        assert theirs is not None
        assert ours.cel == theirs.cel
        assert lower_filter(ours, where).native_sql == lower_filter(theirs, where).native_sql
