"""The text of every error, and the subexpression that erred: what they cost a run over events that do not err.

A hundred triggers judge every event, and the pairs are written and counted: with their outcomes alone, with each error
explained in the same query, and as a run does it, which explains in a query of their own those that erred. No event, one
in a hundred and one in ten errs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from _events import session_and_folder, write_events
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table
from tricel.spark_backend.compiled_filter import CompiledFilter
from tricel.spark_backend.events.readers import complete
from tricel.spark_backend.fanout.join import ERRORED, OUTCOME
from tricel.spark_backend.run.delivery import Delivery, EventTable
from tricel.spark_backend.run.evaluation import Judge
from tricel.spark_backend.run.explain_errors import ERROR, SUBEXPRESSION
from tricel.spark_backend.run.sink import PairFiles, left_out

from tricel import compile_filter

SHARES = (0, 1, 10)
"""Events in a hundred that lack what the filters compare."""


@dataclass(frozen=True)
class Compared:
    """A trigger as a run takes it."""

    id: str
    compiled: CompiledFilter
    on_error: str = "drop"
    destination: str = ""


JUDGE = Judge(
    tuple(
        Compared(f"{kind}-{n}", compile_filter(f'ce.type == "t{n}" && {condition}'))
        for n in range(50)
        for kind, condition in (("total", "data.total > 500.0"), ("country", 'data.customer.country != "DE"'))
    )
)


def alone(events: DataFrame, files: PairFiles) -> None:
    """The outcomes, and nothing of the errors."""
    nothing = F.lit(None).cast("string")
    pairs = JUDGE.pairs(events).withColumns({ERROR: nothing, SUBEXPRESSION: nothing})
    files.write_judged(pairs, left_out(events, with_event=False))
    files.counted()


def at_once(events: DataFrame, files: PairFiles) -> None:
    """The errors explained where they are found: all pairs pass Python."""
    files.write_judged(JUDGE.explained(JUDGE.pairs(events), F.col(OUTCOME) == ERRORED), ())
    files.counted()


def afterwards(events: DataFrame, files: PairFiles) -> None:
    """As a run does it."""
    delivery = Delivery(files.spark, str(Path(files.path).parent), files.format, partition=files.partition)
    delivery.stage(JUDGE, EventTable(events))


WAYS = (alone, at_once, afterwards)


def timed(way: Callable[[DataFrame, PairFiles], None], events: DataFrame, folder: Path) -> float:
    """The seconds that a way takes; what it has written is removed."""
    begin = time.perf_counter()
    way(events, PairFiles(events.sparkSession, str(folder / "pairs"), "parquet", "none"))
    taken = time.perf_counter() - begin
    rmtree(folder)
    return taken


def main() -> None:
    """Runs each share and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    table = Table("events that err", "pairs", "errors", "alone s", "at once s", "ratio", "afterwards s", "ratio")
    with session_and_folder() as (spark, folder):
        write_events(spark, folder, arguments.events)
        events = spark.read.parquet(str(folder / "text"))
        for share in SHARES:
            lacking = F.pmod(F.hash("id", F.lit(9)), F.lit(100)) < share
            frame = complete(events.withColumn("data", F.when(lacking, "{}").otherwise(F.col("data"))))
            rounds = [[timed(way, frame, folder / "out") for way in WAYS] for _ in range(1 + arguments.rounds)]
            least, *others = (statistics.median(times) for times in zip(*rounds[1:], strict=True))
            counts = dict(map(tuple, JUDGE.pairs(frame).groupBy(OUTCOME).count().collect()))
            row = [f"{share} %", f"{sum(counts.values()):,}", f"{counts.get(ERRORED, 0):,}", f"{least:.2f}"]
            row += [cell for taken in others for cell in (f"{taken:.2f}", f"{taken / least:.2f}")]
            print(*row, sep=" | ", file=sys.stderr, flush=True)
            table.add_row(*row)
        Console(width=120).print(table)


if __name__ == "__main__":
    main()
