"""What Spark cannot evaluate: tricel's fallback against a plain UDF that calls the same engine.

The rival is a Python UDF as a person writes it: it takes the event's columns, reads the payload with `json.loads`,
and asks cel-expr-python, which it compiles once in each worker. Both give the same outcomes, which is checked.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from _events import compare, write_events
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table
from tricel.spark_backend import column, where
from tricel.spark_backend.columns import with_outcomes
from tricel.spark_backend.session import start_session

from tricel import compile_filter

SLASHES = 'ce.source.matches("^(?:/[a-z0-9]+)+/[0-9]+$")'
CUSTOMER = 'data.customer.id.matches("^(?:[a-z][0-9]+)+7$")'
FILTERS = (
    ("an attribute", SLASHES),
    ("the payload", CUSTOMER),
    ("a native condition first", f'ce.type == "t3" && {CUSTOMER}'),
    ("a native condition on the payload first", f'data.status == "paid" && {CUSTOMER}'),
)
SEVERAL = tuple(f'data.customer.id.matches("^(?:[a-z][0-9]+)+{i:02}$")' for i in range(20))
ATTRIBUTES = ("id", "source", "specversion", "type", "subject", "datacontenttype", "data")


def plain_udf(texts: Sequence[str]) -> Callable[..., Column]:
    """A UDF for the outcomes of CEL texts: the one that a person writes first."""
    programs: list[object] = []

    def evaluate(*values: str | None) -> list[bool | None]:
        from cel_expr_python import cel

        if not programs:
            environment = cel.NewEnv(variables={"ce": cel.Type.DYN, "data": cel.Type.DYN})
            programs.extend(environment.compile(text, disable_check=True) for text in texts)
        ce = {k: v for k, v in zip(ATTRIBUTES, values, strict=True) if v is not None}
        given = {"ce": ce, "data": json.loads(ce.pop("data"), parse_int=float)}
        found = [program.eval(data=given).value() for program in programs]  # type: ignore[attr-defined]
        return [value if isinstance(value, bool) else None for value in found]

    return F.udf(evaluate, "array<boolean>")  # type: ignore[return-value]


def rival(frame: DataFrame, texts: Sequence[str]) -> Column:
    """The rival's outcomes, an array."""
    return plain_udf(texts)(*(F.col(a) for a in ATTRIBUTES))


def main() -> None:
    """Runs every comparison and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tricel-bench-"))
    spark = start_session("local[2]")
    try:
        write_events(spark, folder, arguments.events)
        frame = spark.read.parquet(str(folder / "text"))
        table = Table("the fallback reads", "tricel events/s", "plain UDF events/s", "times as fast", "kept alike")
        for name, text in FILTERS:
            compiled = compile_filter(text)
            if not compiled.residual:
                raise SystemExit(f"Spark evaluates this by itself now, choose another: {text}")
            ours, theirs = compare(
                lambda c=compiled: where(frame, c), lambda t=text: frame.where(rival(frame, [t])[0]), arguments.rounds
            )
            wrong = frame.select(column(compiled, frame).alias("a"), rival(frame, [text])[0].alias("b"))
            alike = wrong.where("NOT a <=> b").count() == 0
            add(table, name, arguments.events, ours, theirs, alike)
        named = {f"f{i}": compile_filter(text) for i, text in enumerate(SEVERAL)}
        any_ours = lambda: with_outcomes(frame, named).where(F.array_contains(F.array(*named), True))  # noqa: E731
        any_theirs = lambda: frame.where(F.array_contains(rival(frame, SEVERAL), True))  # noqa: E731
        ours, theirs = compare(any_ours, any_theirs, arguments.rounds)
        add(table, "20 filters in one pass", arguments.events, ours, theirs, any_ours().count() == any_theirs().count())
        apart = lambda: frame.where(F.array_contains(F.array(*(rival(frame, [t])[0] for t in SEVERAL)), True))  # noqa: E731
        ours, theirs = compare(any_ours, apart, 1)
        add(table, "20 filters, a UDF for each", arguments.events, ours, theirs, any_ours().count() == apart().count())
        Console(width=110).print(table)
    finally:
        spark.stop()
        shutil.rmtree(folder)


def add(table: Table, name: str, events: int, ours: float, theirs: float, alike: bool) -> None:
    """One row of the table."""
    table.add_row(name, f"{events / ours:,.0f}", f"{events / theirs:,.0f}", f"{theirs / ours:.2f}", str(alike))


if __name__ == "__main__":
    main()
