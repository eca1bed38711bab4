"""How many typical filters one process compiles in a second: parsed, checked and lowered to SQL, without Spark.

The rival, in the same run, is cel-python, which parses a filter and makes a program of it. Filters of other dialects are
turned into CEL first.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import celpy
from rich.console import Console
from rich.table import Table

from tricel import compile_filter

FILTERS = (
    'ce.type == "com.example.order.created"',
    'ce.type == "com.github.push" && ce.source.startsWith("https://github.com/")',
    'data.total > 500.0 && data.customer.tier == "gold"',
    'ce.type in ["a", "b", "c"] && has(ce.subject)',
    'ce.source.matches("^/shops/[a-z]+$") || data.items.exists(i, i.qty > 3.0)',
)
DIALECTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "cesql": (
        "({}) AND id != '{}'",
        (
            "type = 'com.example.order.created'",
            "type LIKE 'com.github.%' AND source LIKE 'https://github.com/%'",
            "type IN ('a', 'b', 'c') AND EXISTS subject",
            "priority > 5 AND region = 'eu'",
            "subject LIKE '%.png' OR source = '/shop'",
        ),
    ),
    "labels": (
        "{},id!=n{}",
        ("env=prod", "env in (prod, test), tier != web", "!canary,region=eu", "priority>5", "type=order.created"),
    ),
}
"""Filters of further dialects, and what makes each text another one."""
SECONDS = 3.0


def rate(
    compile_: Callable[[str], object], filters: tuple[str, ...] = FILTERS, changed: str = '{} && ce.id != "{}"'
) -> float:
    """Filters compiled in a second; every text is another one, so that nothing is remembered."""
    for text in filters:
        compile_(text)  # what is made once, such as the parser and the tables of characters
    done, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < SECONDS:
        for text in filters:
            compile_(changed.format(text, done))
            done += 1
    return done / (time.perf_counter() - begin)


def cel_python(text: str) -> object:
    """The rival: cel-python's compilation."""
    environment = celpy.Environment()
    return environment.program(environment.compile(text))


def main() -> None:
    """Measures all and prints the table."""
    ours, theirs = rate(lambda text: compile_filter(text).native_sql), rate(cel_python)
    table = Table("compiler", "filters a second", "ratio")
    table.add_row("tricel: parse, check, lower", f"{ours:,.0f}", f"{ours / theirs:.1f}")
    for dialect, (changed, filters) in DIALECTS.items():
        found = rate(lambda text, name=dialect: compile_filter(text, dialect=name).native_sql, filters, changed)
        table.add_row(f"tricel, dialect {dialect}: read, check, lower", f"{found:,.0f}", f"{found / theirs:.1f}")
    table.add_row("cel-python: parse, program", f"{theirs:,.0f}", "1.0")
    Console().print(table)


if __name__ == "__main__":
    main()
