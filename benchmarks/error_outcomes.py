"""The text of every error, and the subexpression that erred: what they cost the pairs of event and trigger without one.

A hundred triggers judge every event, once with the outcome of each pair alone and once with the text of each error,
while no event, one in a hundred and one in ten errs. Whole pairs are written, payload included, to Spark's sink that
keeps nothing.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from _events import compare, session_and_folder, write_events, written
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table
from tricel.spark_backend.lowered import CompiledFilter
from tricel.spark_backend.outcomes import Judge

from tricel import compile_filter

SHARES = (0, 1, 10)
"""Events in a hundred that lack what the filters compare."""


@dataclass(frozen=True)
class Compared:
    """A trigger as `Judge` takes it."""

    id: str
    compiled: CompiledFilter


TRIGGERS = tuple(
    Compared(f"{kind}-{n}", compile_filter(f'ce.type == "t{n}" && {condition}'))
    for n in range(50)
    for kind, condition in (("total", "data.total > 500.0"), ("country", 'data.customer.country != "DE"'))
)


def main() -> None:
    """Runs each share and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    table = Table("events that err", "pairs", "of them errors", "outcomes s", "with texts s", "ratio")
    judge = Judge(TRIGGERS)
    with session_and_folder() as (spark, folder):
        write_events(spark, folder, arguments.events)
        events = spark.read.parquet(str(folder / "text"))
        for share in SHARES:
            lacking = F.pmod(F.hash("id", F.lit(9)), F.lit(100)) < share
            frame = events.withColumn("data", F.when(lacking, "{}").otherwise(F.col("data")))
            errored = F.col("outcome") == "errored"
            alone = lambda frame=frame: judge.pairs(frame)  # noqa: E731
            told = lambda frame=frame, errored=errored: judge.explained(judge.pairs(frame), errored)  # noqa: E731
            without, with_ = compare(alone, told, arguments.rounds, written)
            counts = dict(map(tuple, judge.pairs(frame).groupBy("outcome").count().collect()))
            row = (f"{share} %", f"{sum(counts.values()):,}", f"{counts.get('errored', 0):,}")
            row = (*row, f"{without:.2f}", f"{with_:.2f}", f"{with_ / without:.2f}")
            print(*row, sep=" | ", file=sys.stderr, flush=True)
            table.add_row(*row)
        Console(width=120).print(table)


if __name__ == "__main__":
    main()
