"""The price of exactness: tricel's guarded SQL against the SQL that a person writes first, on the same events.

One event in ten carries a payload that producers do send and nobody expects: a number as text, a bool, null, an object
where a text was, nothing. The naive SQL coerces there; the last columns count the events that it keeps wrongly, and
those that it loses, measured by what CEL says.
"""

from __future__ import annotations

import argparse

from _events import compare, session_and_folder, write_events
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table
from tricel.spark_backend import column, where

from tricel import compile_filter

ODD = (
    '{"total": "950", "status": "paid"}',
    '{"total": true, "status": null}',
    '{"total": null, "status": {"code": "paid"}}',
    '{"status": ["paid"], "customer": "c1"}',
    '{"total": 1e400, "status": "PAID", "customer": {"country": 5}}',
    '{"total": 950.0, "status": "true", "customer": {}}',
    "not JSON",
)
TOTAL, STATUS = "get_json_object(data, '$.total')", "get_json_object(data, '$.status')"
PAIRS = (
    ("data.total > 900.0", f"{TOTAL} > 900"),
    ('data.status == "paid"', f"{STATUS} = 'paid'"),
    ('data.status != "paid"', f"{STATUS} <> 'paid'"),
    ('data.total <= 900.0 || data.status == "void"', f"{TOTAL} <= 900 OR {STATUS} = 'void'"),
    ("data.total == 950", f"{TOTAL} = 950"),
    ('data.customer.country in ["DE", "FR", "5"]', "get_json_object(data, '$.customer.country') IN ('DE', 'FR', '5')"),
    ("has(data.customer.country)", "get_json_object(data, '$.customer.country') IS NOT NULL"),
)


def main() -> None:
    """Runs every comparison and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with session_and_folder() as (spark, folder):
        spark.conf.set("spark.sql.ansi.enabled", "false")  # under ANSI the naive SQL fails on the first odd payload
        write_events(spark, folder, arguments.events)
        odd = F.element_at(F.array(*map(F.lit, ODD)), 1 + F.pmod(F.hash("id", F.lit(9)), F.lit(len(ODD))))
        tenth = F.pmod(F.hash("id", F.lit(8)), F.lit(10)) == 0
        text = spark.read.parquet(str(folder / "text"))
        text.withColumn("data", F.when(tenth, odd).otherwise(F.col("data"))).write.parquet(str(folder / "odd"))
        frame = spark.read.parquet(str(folder / "odd"))
        table = Table("filter", "tricel s", "naive s", "ratio", "events", "kept wrongly", "lost")
        for text_, sql in PAIRS:
            compiled = compile_filter(text_)
            ours, theirs = compare(lambda c=compiled: where(frame, c), lambda s=sql: frame.where(s), arguments.rounds)
            right = F.coalesce(column(frame, compiled), F.lit(False))
            naive = F.coalesce(F.expr(sql), F.lit(False))
            wrong = frame.select(
                F.count_if(naive & ~right).alias("kept"), F.count_if(right & ~naive).alias("lost")
            ).collect()[0]
            times = (f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.2f}")
            table.add_row(text_, *times, f"{arguments.events:,}", f"{wrong['kept']:,}", f"{wrong['lost']:,}")
        Console(width=130).print(table)


if __name__ == "__main__":
    main()
