"""The text of every error, and the subexpression that erred: what they cost the pairs of event and trigger without one.

A hundred triggers judge every event, once with the outcome of each pair alone and once with the text of each error,
while no event, one in a hundred and one in ten errs. Whole pairs are written, payload included, to Spark's sink that
keeps nothing.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from _events import write_events
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table
from tricel.spark_backend.lowered import CompiledFilter
from tricel.spark_backend.outcomes import Judge
from tricel.spark_backend.session import start_session

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


def written(query: Callable[[], DataFrame]) -> float:
    """The time to make all rows of a query, in seconds."""
    begin = time.perf_counter()
    query().write.format("noop").mode("overwrite").save()
    return time.perf_counter() - begin


def main() -> None:
    """Runs each share and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tricel-bench-"))
    spark = start_session("local[2]")
    table = Table("events that err", "pairs", "of them errors", "outcomes s", "with texts s", "ratio")
    judge = Judge(TRIGGERS)
    try:
        write_events(spark, folder, arguments.events)
        events = spark.read.parquet(str(folder / "text"))
        for share in SHARES:
            lacking = F.pmod(F.hash("id", F.lit(9)), F.lit(100)) < share
            frame = events.withColumn("data", F.when(lacking, "{}").otherwise(F.col("data")))
            errored = F.col("outcome") == "errored"
            alone = lambda frame=frame: judge.pairs(frame)  # noqa: E731
            told = lambda frame=frame, errored=errored: judge.explained(judge.pairs(frame), errored)  # noqa: E731
            written(alone), written(told)
            rounds = [(written(alone), written(told)) for _ in range(arguments.rounds)]
            without, with_ = (statistics.median(times) for times in zip(*rounds, strict=True))
            counts = dict(map(tuple, judge.pairs(frame).groupBy("outcome").count().collect()))
            row = (f"{share} %", f"{sum(counts.values()):,}", f"{counts.get('errored', 0):,}")
            row = (*row, f"{without:.2f}", f"{with_:.2f}", f"{with_ / without:.2f}")
            print(*row, sep=" | ", file=sys.stderr, flush=True)
            table.add_row(*row)
        Console(width=120).print(table)
    finally:
        spark.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
