"""A session, generated events in three layouts, and the comparison of two queries: what the benchmarks share."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tricel.spark_backend.run.session import start_session


@contextmanager
def session_and_folder() -> Iterator[tuple[SparkSession, Path]]:
    """A session on two cores and a folder, both gone at the end."""
    with tempfile.TemporaryDirectory(prefix="tricel-bench-") as name:
        spark = start_session("local[2]")
        try:
            yield spark, Path(name)
        finally:
            spark.stop()


def write_events(spark: SparkSession, folder: Path, count: int) -> None:
    """The same generated events in three layouts."""
    body = (
        "to_json(named_struct('total', round(pmod(hash(id, 1), 100000) / 100.0D, 2), 'status', "
        "element_at(array('paid', 'open', 'void'), 1 + pmod(hash(id, 2), 3)), 'customer', named_struct('id', "
        "concat('c', pmod(hash(id, 3), 5000)), 'country', element_at(array('DE', 'FR', 'US'), 1 + pmod(hash(id, 4), 3)))))"
    )
    events = spark.range(0, count, 1, 8).selectExpr(
        "concat('e', id) AS id",
        "concat('/orders/', pmod(hash(id, 5), 1000)) AS source",
        "'1.0' AS specversion",
        "concat('t', pmod(hash(id, 6), 50)) AS type",
        "CASE WHEN id % 3 = 0 THEN concat('s', id) END AS subject",
        "'application/json' AS datacontenttype",
        "timestamp_seconds(1700000000 + id) AS time",
        "map('tenant', concat('n', pmod(hash(id, 7), 100))) AS extensions",
        f"{body} AS data",
    )
    schema = "total DOUBLE, status STRING, customer STRUCT<id: STRING, country: STRING>"
    events.write.parquet(str(folder / "text"))
    text = spark.read.parquet(str(folder / "text"))
    text.withColumn("data", F.expr("parse_json(data)")).write.parquet(str(folder / "variant"))
    text.withColumn("data", F.from_json("data", schema)).write.parquet(str(folder / "struct"))


def seconds(query: Callable[[], DataFrame]) -> float:
    """The time to count what a query keeps."""
    begin = time.perf_counter()
    query().agg(F.count(F.lit(1))).collect()
    return time.perf_counter() - begin


def compare(a: Callable[[], DataFrame], b: Callable[[], DataFrame], rounds: int) -> tuple[float, float]:
    """The medians of two queries run in turn."""
    seconds(a), seconds(b)
    pairs = [(seconds(a), seconds(b)) if i % 2 else tuple(reversed((seconds(b), seconds(a)))) for i in range(rounds)]
    return statistics.median(x for x, _ in pairs), statistics.median(y for _, y in pairs)
