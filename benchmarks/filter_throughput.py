"""One filter over three million events: tricel against hand-written Spark SQL, and against a Python UDF.

Each row is measured in turn with its rival in the same session, several rounds, and the medians are compared.
`exact` rivals are written by hand to mean what CEL means; `coercing` ones are what a person would write first. The
last column says whether both keep equally many events.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from _events import compare, session_and_folder, write_events
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table
from tricel.spark_backend import where

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


def main() -> None:
    """Runs every comparison and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=3_000_000)
    parser.add_argument("--udf-events", type=int, default=30_000, help="cel-python is slow: events for its row")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    with session_and_folder() as (spark, folder):
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
