"""One poisoned filter among a hundred: what it costs the other ninety-nine.

The poison goes over a list of the event in a macro within a macro until the limit of steps ends it with an error. The
rival is the same pass without the filter; beside it stands the poison alone, which is its own share of the time.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterable, Mapping

from _events import seconds
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table
from tricel.spark_backend.columns import with_outcomes
from tricel.spark_backend.lowered import CompiledFilter
from tricel.spark_backend.session import start_session

from tricel import compile_filter

POISONS = (
    ("bounded by its steps, in the fallback", "lists.range(2000).all(a, data.l.all(b, a + int(b) != -1))"),
    ("bounded by its turns, in Spark", "data.l.all(a, data.l.all(b, a + b >= 0.0))"),
)
FALLBACK = tuple(f'data.s.matches("^(?:a|b|ab)*(?:{n}|b)$")' for n in range(30))
NATIVE = tuple(f'data.k == "v" && ce.id != "{n + 10}"' for n in range(69))
ELEMENTS = 4_000


def judged(frame: DataFrame, filters: Mapping[str, CompiledFilter]) -> Callable[[], DataFrame]:
    """A query that needs the outcome of every filter on every event."""
    return lambda: with_outcomes(frame, filters).where(F.hash(*filters) != 0)


def truths(frame: DataFrame, filters: Mapping[str, CompiledFilter], asked: Iterable[str]) -> Row:
    """How many events each of the filters that are asked about lets pass, when all are judged."""
    return with_outcomes(frame, filters).agg(*(F.count_if(F.col(c)).alias(c) for c in asked)).collect()[0]


def main() -> None:
    """Runs each poison and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=5_000)
    parser.add_argument("--poisoned", type=int, default=4, help="events with the long list")
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    spark = start_session("local[2]")
    try:
        data = (
            "to_json(named_struct('k', 'v', 's', concat(repeat('ab', 50), n, 'b'), "
            f"'l', array_repeat(1, CASE WHEN n < {arguments.poisoned} THEN {ELEMENTS} ELSE 3 END)))"
        )
        events = spark.range(arguments.events).withColumnRenamed("id", "n").repartition(4, "n")
        frame = events.selectExpr("CAST(n AS STRING) AS id", f"{data} AS data").cache()
        others = {f"c{i}": compile_filter(text) for i, text in enumerate((*FALLBACK, *NATIVE))}
        table = Table("the hundredth filter", "99 s", "100 s", "ratio", "alone s", "99 alike", "its errors")
        expected = truths(frame, others, others)
        for name, text in POISONS:
            poison = {"poison": compile_filter(text)}
            hundred = {**others, **poison}
            found = truths(frame, hundred, others)
            rounds = [[seconds(judged(frame, f)) for f in (others, hundred, poison)] for _ in range(arguments.rounds)]
            without, with_it, alone = (statistics.median(times) for times in zip(*rounds, strict=True))
            errors = with_outcomes(frame, poison).where("poison IS NULL").count()
            times = (f"{without:.1f}", f"{with_it:.1f}", f"{with_it / without:.2f}", f"{alone:.1f}")
            table.add_row(name, *times, str(found == expected), f"{errors} of {arguments.events:,}")
        Console(width=130).print(table)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
