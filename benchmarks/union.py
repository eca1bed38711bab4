"""The union of many triggers' filters: its size against that of their disjunction, and the seconds that it takes.

`--prefilter` measures what it saves on Spark, too: triggers run over stored events, with and without the rows cut that
none of them wants, by turns in one session.
"""

from __future__ import annotations

import argparse
import time

from _trigger_mix import filters
from rich.console import Console
from rich.table import Table
from tricel.compiler import CheckedFilter, check_filter, union

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


def main() -> None:
    """Prints the tables."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    Console().print(sizes())


if __name__ == "__main__":
    main()
