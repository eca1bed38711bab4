"""Spark's own plan of a lowered filter: what it pushes into Parquet is what hand-written SQL would push."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from parquet_scans import SCHEMA, pushed
from pyspark.sql import DataFrame, SparkSession
from spark_settings import set_to
from syrupy.assertion import SnapshotAssertion
from tricel.spark_backend import where

from tricel import compile_filter

pytestmark = pytest.mark.spark

PAIRS = [
    ('ce.type == "a"', "type = 'a'"),
    (
        'ce.type == "a" && ce.source.startsWith("/s") && has(ce.subject)',
        "type = 'a' AND startswith(source, '/s') AND subject IS NOT NULL",
    ),
    ('ce.type in ["a", "b"]', "type IN ('a', 'b')"),
    ('ce.type == "it\'s"', "type = 'it\\'s'"),
    ('ce.source.matches("^/shops/") || ce.type == "a"', "startswith(source, '/shops/') OR type = 'a'"),
    ('ce.type == "a" && data.n > 1.0', "type = 'a'"),
    ('ce.type == "a" && data.x == data.y', "type = 'a'"),
]


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataFrame]:
    """An empty Parquet table of events, in a session that writes out plans whole."""
    path: Path = tmp_path_factory.mktemp("plans") / "events"
    with set_to(spark, {"spark.sql.maxMetadataStringLength": "10000"}):
        spark.createDataFrame([], SCHEMA).write.parquet(str(path))
        yield spark.read.parquet(str(path))


@pytest.mark.parametrize(("cel", "sql"), PAIRS, ids=[c for c, _ in PAIRS])
def test_the_same_filters_are_pushed(table: DataFrame, cel: str, sql: str) -> None:
    assert pushed(table.where(sql)) == pushed(where(table, compile_filter(cel)))


@pytest.mark.parametrize("cel", [c for c, _ in PAIRS if "data" not in c])
def test_optimised_plan(table: DataFrame, cel: str, snapshot: SnapshotAssertion) -> None:
    plan = where(table, compile_filter(cel)).select("id")._jdf.queryExecution().optimizedPlan().toString()
    assert re.sub(r"#\d+L?", "", plan) == snapshot
