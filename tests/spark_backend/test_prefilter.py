"""What is cut before filters run is what none of them wants, and Spark's Parquet reader does the cutting."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from random import Random

import pytest
from attribute_filters import attribute_filter
from parquet_scans import SCHEMA, pushed
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from random_cel import DYNAMIC, TYPED, random_filter
from random_events import dynamic_layouts, typed_layout
from spark_settings import set_to
from tricel.spark_backend import column, prefilter
from tricel.spark_backend.compiled_filter import CompiledFilter

from tricel import CompileError, LayoutError, compile_filter

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::tricel.TricelWarning")]

SETS = 16


def compiled(text: str) -> CompiledFilter | None:
    try:
        return compile_filter(text)
    except CompileError:
        return None


def assert_nothing_is_lost(df: DataFrame, filters: list[CompiledFilter], kept: DataFrame) -> None:
    wanted = reduce(lambda a, b: a | b, [F.coalesce(column(df, f), F.lit(True)) for f in filters])
    lost = df.where(wanted).select("row").subtract(kept.select("row")).collect()
    assert [] == lost, [f.cel for f in filters]
    assert kept.count() == kept.select("row").distinct().count()


def test_nothing_is_lost_of_random_filters(spark: SparkSession) -> None:
    random = Random(5)
    cut = 0
    layouts = [*((layout, DYNAMIC) for layout in dynamic_layouts(spark)), (typed_layout(spark), TYPED)]
    for layout, catalogue in layouts:
        df, made = layout.frame, 0
        while made < 2:
            texts = [random_filter(random, catalogue, 3) for _ in range(3)]
            filters = [f for t in texts if (f := compiled(f'({t}) && ce.source.startsWith("a")')) is not None]
            try:
                kept = prefilter(df, filters) if filters else None
                if kept is not None:
                    assert_nothing_is_lost(df, filters, kept)
                    made, cut = made + 1, cut + df.count() - kept.count()
            except (CompileError, LayoutError):
                continue  # what the columns' types do not fit
    assert cut > 0


def test_nothing_is_lost_of_filters_on_attributes(spark: SparkSession, tmp_path: Path) -> None:
    """Over Parquet, with rows that lack what an event must have."""
    values = ("", "a", "ab", "abc", "b", "ba", "A", None)
    rows = [(i, str(i), values[i % 8], values[i // 8 % 8], values[i // 64], values[i * 3 % 8]) for i in range(512)]
    frame = spark.createDataFrame(rows, "row INT, id STRING, type STRING, source STRING, x STRING, y STRING")
    frame.withColumns(
        {"data": F.lit('{"n": 2.0, "s": "a"}'), "time": F.timestamp_seconds(F.col("row") * 4_000_000)}
    ).write.parquet(str(tmp_path / "events"))
    df = spark.read.parquet(str(tmp_path / "events"))
    random, cut = Random(9), 0
    for _ in range(SETS):
        texts = [f'{attribute_filter(random, 2)} && ce.type.startsWith("{random.choice("abA")}")' for _ in range(2)]
        filters = [f for t in texts if (f := compiled(t)) is not None]
        if not filters:
            continue
        kept = prefilter(df, filters)
        assert_nothing_is_lost(df, filters, kept)
        cut += kept.count() < df.count()
    assert cut > SETS // 4


PUSHED = [
    (['ce.type == "a"'], "[Or(IsNull(type),EqualTo(type,a))]"),
    (['ce.type == "a"', 'ce.type == "b" && data.n > 1.0'], "[Or(IsNull(type),In(type, [a,b]))]"),
    (
        ['ce.type == "a" && ce.source.startsWith("/s")'],
        "[Or(IsNull(type),EqualTo(type,a)), Or(IsNull(source),StringStartsWith(source,/s))]",
    ),
    (['has(ce.subject) && ce.subject == "x"'], "[IsNotNull(subject), EqualTo(subject,x)]"),
    (['ce.type == "a" && has(ce.tenant) && ce.tenant == "t"'], "[Or(IsNull(type),EqualTo(type,a))]"),
    (['ce.type.matches("^com\\\\.(a|b)$")'], "[Or(IsNull(type),StringStartsWith(type,com.))]"),
    (['ce.type == "a" && ce.time > timestamp("2024-01-01T00:00:00Z")'], "[Or(IsNull(type),EqualTo(type,a))]"),
    (
        ['ce.type == "a" && ce.source == "s"', 'has(ce.subject) && ce.subject in ["x", "y"]'],
        "[Or(And(Or(IsNull(type),EqualTo(type,a)),Or(IsNull(source),EqualTo(source,s))),And(IsNotNull(subject),In(subject, [x,y])))]",
    ),
    (["data.n > 1.0"], "[]"),
    (['ce.type == "a"', "data.n > 1.0"], "[]"),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "expected"), PUSHED, ids=[" | ".join(t) for t, _ in PUSHED])
def test_all_of_it_is_pushed(spark: SparkSession, tmp_path: Path, texts: list[str], expected: str) -> None:
    path = str(tmp_path / "events")
    with set_to(spark, {"spark.sql.maxMetadataStringLength": "10000"}):
        spark.createDataFrame([], SCHEMA).write.parquet(path)
        kept = prefilter(spark.read.parquet(path), [compile_filter(t) for t in texts])
        assert expected == pushed(kept)


def test_a_large_union_is_bounded(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "events")
    filters = [compile_filter(f'ce.type == "com.example.{i}"') for i in range(200)]
    with set_to(spark, {"spark.sql.maxMetadataStringLength": "100000"}):
        spark.createDataFrame([], SCHEMA).write.parquet(path)
        df = spark.read.parquet(path)
        assert "[Or(IsNull(type),StringStartsWith(type,com.example.))]" == pushed(prefilter(df, filters, max_nodes=20))
        assert "com.example.199" in pushed(prefilter(df, filters))


def test_no_filter_wants_no_row(spark: SparkSession) -> None:
    df = spark.createDataFrame([("1", "s", "t")], "id STRING, source STRING, type STRING")
    assert 0 == prefilter(df, []).count()
    assert df is prefilter(df, [compile_filter("true")])
    with pytest.raises(LayoutError):
        prefilter(df, [compile_filter("data.n > 1.0")])


@pytest.mark.parametrize("given", ["true", None, ["true"]])
def test_wrong_arguments(spark: SparkSession, given: object) -> None:
    df = spark.range(1)
    with pytest.raises(TypeError, match=r"prefilter\(\) takes"):
        prefilter(df, given)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes a DataFrame first"):
        prefilter([compile_filter("true")], df)  # type: ignore[arg-type]
