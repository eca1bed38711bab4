"""One poisoned filter among a hundred: what it costs the other ninety-nine.

The poison goes over a list of the event in a macro within a macro: until a limit ends it with an error, or up to just
under one. The rival is the same pass without the filter; beside it stands the poison alone, which is its own share of
the time: what the hundred take more than the ninety-nine and that share is what one poison costs the others.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Mapping

from _events import seconds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table
from tricel.spark_backend.compiled_filter import CompiledFilter
from tricel.spark_backend.dataframes import with_outcomes
from tricel.spark_backend.run.session import start_session

from tricel import compile_filter

POISONS = (
    ("in the fallback, over its steps", "data.l.all(a, data.l.all(b, math.ceil(a + b) != -1.0))"),
    ("in Spark, 360,000 turns", "data.l.all(a, data.l.all(b, a + b >= 0.0))"),
    ("in Spark, over its turns", "data.l.all(a, data.long.all(b, a + b >= 0.0))"),
)
FALLBACK = tuple(f'data.s.matches("^(?:a|b|ab)*(?:{n}|b)$")' for n in range(30))
NATIVE = tuple(f'data.k == "v" && ce.id != "{n + 10}"' for n in range(69))
ELEMENTS = 600


def judged(frame: DataFrame, filters: Mapping[str, CompiledFilter]) -> Callable[[], DataFrame]:
    """A query that needs the outcome of every filter on every event."""
    return lambda: with_outcomes(frame, filters).where(F.hash(*filters) != 0)


def truths(frame: DataFrame, filters: Mapping[str, CompiledFilter]) -> dict[str, tuple[int, int]]:
    """How many events each filter lets pass, and on how many it errs, when all are judged."""
    counts = [F.struct(F.count_if(F.col(c)), F.count_if(F.col(c).isNull())).alias(c) for c in filters]
    row = with_outcomes(frame, filters).agg(*counts).collect()[0]
    return {c: (row[c][0], row[c][1]) for c in filters}


def events(spark: SparkSession, count: int, poisoned: int) -> DataFrame:
    """Events, of which the first ones hold the long lists."""
    numbers = "array_repeat(1, CASE WHEN n < {} THEN {} ELSE 3 END)".format
    lists = f"'l', {numbers(poisoned, ELEMENTS)}, 'long', {numbers(poisoned, 4 * ELEMENTS)}"
    data = f"to_json(named_struct('k', 'v', 's', concat(repeat('ab', 50), n, 'b'), {lists}))"
    rows = spark.range(count).withColumnRenamed("id", "n").repartition(4, "n")
    return rows.selectExpr("CAST(n AS STRING) AS id", f"{data} AS data")


def main() -> None:
    """Runs each poison and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=2_000)
    parser.add_argument("--poisoned", type=int, default=2, help="events with the long list")
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    spark = start_session("local[2]")
    try:
        frame, calm = (events(spark, arguments.events, poisoned).cache() for poisoned in (arguments.poisoned, 0))
        others = {f"c{i}": compile_filter(text) for i, text in enumerate((*FALLBACK, *NATIVE))}
        table = Table("the hundredth filter", "99 s", "100 s", "alone s", "more than both", "99 alike", "its errors")
        expected = truths(frame, others)
        seconds(judged(calm, others))
        for name, text in POISONS:
            poison = {"poison": compile_filter(text)}
            hundred = {**others, **poison}
            found = truths(frame, hundred)
            _, errors = found.pop("poison")
            for filters in (hundred, poison):  # compiles what there is to compile, where nothing is poisoned
                seconds(judged(calm, filters))
            rounds = [[seconds(judged(frame, f)) for f in (others, hundred, poison)] for _ in range(arguments.rounds)]
            without, with_it, alone = (statistics.median(times) for times in zip(*rounds, strict=True))
            more = f"{100 * (with_it / (without + alone) - 1):+.0f} %"
            times = (f"{without:.1f}", f"{with_it:.1f}", f"{alone:.1f}", more)
            row = (name, *times, str(found == expected), f"{errors} of {arguments.events:,}")
            print(*row, sep=" | ", file=sys.stderr, flush=True)
            table.add_row(*row)
        Console(width=130).print(table)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
