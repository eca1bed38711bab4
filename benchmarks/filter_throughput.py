"""One filter over three million events: tricel against hand-written Spark SQL, and against a Python UDF.

Each row is measured in turn with its rival in the same session, several rounds, and the medians are compared.
`exact` rivals are written by hand to mean what CEL means; `coercing` ones are what a person would write first. The
last column says whether both keep equally many events.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table
from tricel.spark_backend import where
from tricel.spark_backend.session import start_session

from tricel import compile_filter

ROUNDS = 5


@dataclass(frozen=True)
class Row:
    """One comparison: what is filtered, the filter in CEL, and the rival's condition."""

    name: str
    table: str
    cel: str
    rival: str
    rival_sql: str


_BODY = (
    "get(transform(array(CASE WHEN datacontenttype IS NULL OR datacontenttype = 'application/json' "
    "THEN try_parse_json(data) END), d -> {}), 0)"
)
_TOTAL = (
    "CASE WHEN schema_of_variant(try_variant_get({d}, '$.total', 'variant')) NOT IN ('STRING', 'BOOLEAN') "
    "THEN try_variant_get({d}, '$.total', 'double') END > 900.0D"
)
_STATUS = "CAST(try_variant_get({d}, '$.status', 'binary') AS STRING) = 'paid'"
_EXACT = f"{_TOTAL} AND {_STATUS}"
_COERCING = "try_variant_get({d}, '$.total', 'double') > 900.0D AND try_variant_get({d}, '$.status', 'string') = 'paid'"

ROWS = (
    Row("attribute equality", "text", 'ce.type == "t3"', "hand-written", "type = 't3'"),
    Row(
        "attribute equality and prefix",
        "text",
        'ce.type == "t3" && ce.source.startsWith("/orders/1")',
        "hand-written",
        "type = 't3' AND startswith(source, '/orders/1')",
    ),
    Row(
        "data as JSON text",
        "text",
        'data.total > 900.0 && data.status == "paid"',
        "exact",
        _BODY.format(_EXACT.format(d="d")),
    ),
    Row(
        "data as JSON text",
        "text",
        'data.total > 900.0 && data.status == "paid"',
        "coercing",
        _BODY.format(_COERCING.format(d="d")),
    ),
    Row("data as VARIANT", "variant", 'data.total > 900.0 && data.status == "paid"', "exact", _EXACT.format(d="data")),
    Row(
        "data as VARIANT",
        "variant",
        'data.total > 900.0 && data.status == "paid"',
        "coercing",
        _COERCING.format(d="data"),
    ),
    Row(
        "data as struct",
        "struct",
        'data.total > 900.0 && data.status == "paid"',
        "hand-written",
        "data.total > 900.0D AND data.status = 'paid'",
    ),
)


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


def main() -> None:
    """Runs every comparison and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=3_000_000)
    parser.add_argument("--udf-events", type=int, default=30_000, help="cel-python is slow: events for its row")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tricel-bench-"))
    spark = start_session("local[2]")
    try:
        write_events(spark, folder, arguments.events)
        table = Table("filter", "against", "tricel s", "rival s", "ratio", "kept alike")
        for row in ROWS:
            frame = spark.read.parquet(str(folder / row.table))
            compiled = compile_filter(row.cel)
            a, b = (lambda f=frame, c=compiled: where(f, c)), (lambda f=frame, r=row: f.where(r.rival_sql))
            ours, theirs = compare(a, b, arguments.rounds)
            alike = a().count() == b().count()
            table.add_row(row.name, row.rival, f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.2f}", str(alike))
        frame = spark.read.parquet(str(folder / "text")).limit(arguments.udf_events).cache()
        frame.count()
        compiled = compile_filter('data.total > 900.0 && data.status == "paid"')
        ours, theirs = compare(lambda: where(frame, compiled), lambda: frame.where(plain_udf()("data")), 3)
        table.add_row(
            f"JSON text, {arguments.udf_events:,} events",
            "cel-python UDF",
            f"{ours:.2f}",
            f"{theirs:.2f}",
            f"{ours / theirs:.4f}",
            "",
        )
        Console(width=110).print(table)
    finally:
        spark.stop()
        shutil.rmtree(folder)


def plain_udf() -> Callable[[str], object]:
    """What a person writes first: a Python UDF that evaluates the filter with cel-python, compiled once a worker."""
    programs: list[object] = []

    def evaluate(text: str) -> bool:
        import json

        import celpy

        if not programs:
            environment = celpy.Environment()
            tree = environment.compile('data.total > 900.0 && data.status == "paid"')
            programs.append(environment.program(tree))
        data = celpy.json_to_cel(json.loads(text, parse_int=float))
        return bool(programs[0].evaluate({"data": data}))  # type: ignore[attr-defined]

    return F.udf(evaluate, "boolean")


if __name__ == "__main__":
    main()
