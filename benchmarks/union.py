"""The union of many triggers' filters: its size against that of their disjunction, and the seconds that it takes.

And what it saves on Spark: a fan-out over stored events, with and without the rows cut that no filter wants, by turns in
one session; of events in the order that they came in, and sorted by type, so that whole row groups need not be read.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from functools import partial

from _events import compare, session_and_folder, write_events
from _trigger_mix import filters
from rich.console import Console
from rich.table import Table
from tricel.compiler import CheckedFilter, check_filter, union
from tricel.spark_backend import fan_out, prefilter
from tricel.spark_backend.compiled_filter import CompiledFilter

from tricel import compile_filter

SIZES = (10, 100, 1_000, 10_000)
MOST = 100
"""Nodes of the bounded union."""


def checked(count: int) -> list[CheckedFilter]:
    """The filters of the mix."""
    found = [check_filter(f)[0] for f in filters(count)]
    return [f for f in found if f is not None]


def sizes() -> Table:
    """The table of sizes."""
    table = Table("triggers", "nodes of all", "of the union", "ratio", "seconds", f"at most {MOST}", "seconds")
    for count in SIZES:
        given = checked(count)
        begin = time.perf_counter()
        whole = union(given)
        between = time.perf_counter()
        bounded = union(given, MOST)
        end = time.perf_counter()
        table.add_row(
            f"{count:,}",
            f"{whole.before:,}",
            f"{whole.after:,}",
            f"{whole.after / whole.before:.3f}",
            f"{between - begin:.2f}",
            f"{bounded.after:,}",
            f"{end - between:.2f}",
        )
    return table


@dataclass(frozen=True)
class Trigger:
    """A filter with a name."""

    id: str
    compiled: CompiledFilter


def saved(events: int, rounds: int) -> Table:
    """The table of what is saved."""
    texts = [f'ce.type == "t{i % 3}" && data.total > {i}.0' for i in range(30)]
    triggers = [Trigger(f"t{i}", compile_filter(text)) for i, text in enumerate(texts)]
    table = Table("events", "of them wanted", "whole s", "prefiltered s", "times as fast")
    with session_and_folder() as (spark, folder):
        write_events(spark, folder, events)
        text = spark.read.parquet(str(folder / "text"))
        text.repartitionByRange(8, "type").sortWithinPartitions("type").write.parquet(str(folder / "sorted"))
        for name, kept in (("as they came", "text"), ("sorted by type", "sorted")):
            df = spark.read.parquet(str(folder / kept))
            cut = prefilter(df, [t.compiled for t in triggers])
            assert fan_out(df, triggers).count() == fan_out(cut, triggers).count()
            whole, less = compare(partial(fan_out, df, triggers), partial(fan_out, cut, triggers), rounds)
            table.add_row(name, f"{cut.count() / events:.0%}", f"{whole:.2f}", f"{less:.2f}", f"{whole / less:.1f}")
    return table


def main() -> None:
    """Prints the tables."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--events", type=int, default=1_000_000)
    arguments.add_argument("--rounds", type=int, default=5)
    given = arguments.parse_args()
    Console().print(sizes())
    Console().print(saved(given.events, given.rounds))


if __name__ == "__main__":
    main()
