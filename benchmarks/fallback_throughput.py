"""What Spark cannot evaluate: tricel's fallback against a plain UDF that calls the same engine.

The rival is a Python UDF as a person writes it: it takes the event's columns, reads the payload with `json.loads`,
and asks cel-expr-python, which it compiles once in each worker. Both give the same outcomes, which is checked: over
these events, where no payload is odd, as the rival has none of the guards.
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

CUSTOMER = 'data.customer.id.matches("^(?:[a-z][0-9]+)+7$")'
DISCOUNT = "data.?discount.orValue(0.0) >= 5.0 || data.total > 990.0"
FILTERS = (
    ("an attribute of 1,000 values", 'ce.source.matches("^(?:/[a-z0-9]+)+/[0-9]+$")', "text"),
    ("an attribute of which all differ", 'ce.id.matches("^(?:[a-z][0-9]+)+7$")', "text"),
    ("a field of JSON text", CUSTOMER, "text"),
    ("a field of a VARIANT", CUSTOMER, "variant"),
    ("all of JSON text", DISCOUNT, "text"),
    ("all of a VARIANT", DISCOUNT, "variant"),
    ("an attribute condition first", f'ce.type == "t3" && {CUSTOMER}', "text"),
    ("a payload condition first", f'data.status == "paid" && {CUSTOMER}', "text"),
)
SEVERAL = tuple(f'data.customer.id.matches("^(?:[a-z][0-9]+)+{i:02}$")' for i in range(20))
ATTRIBUTES = ("id", "source", "specversion", "type", "subject", "datacontenttype", "data")
APART = 20
"""How many times fewer events the last row has, in which each filter has a UDF of its own."""


def plain_udf(texts: Sequence[str]) -> Callable[..., Column]:
    """A UDF for the outcomes of CEL texts: the one that a person writes first."""
    programs: list[object] = []

    def evaluate(*values: str | None) -> list[bool | None]:
        from cel_expr_python import cel
        from cel_expr_python.ext import ext_optional

        if not programs:
            variables = {"ce": cel.Type.DYN, "data": cel.Type.DYN}
            environment = cel.NewEnv(variables=variables, extensions=[ext_optional.ExtOptional()])
            programs.extend(environment.compile(text, disable_check=True) for text in texts)
        ce = {k: v for k, v in zip(ATTRIBUTES, values, strict=True) if v is not None}
        given = {"ce": ce, "data": json.loads(ce.pop("data"), parse_int=float)}
        found = [program.eval(data=given).value() for program in programs]  # type: ignore[attr-defined]
        return [value if isinstance(value, bool) else None for value in found]

    return F.udf(evaluate, "array<boolean>")  # type: ignore[return-value]


def rival(frame: DataFrame, texts: Sequence[str]) -> Column:
    """The rival's outcomes, an array. A VARIANT is given to it as JSON text, which it reads soonest."""
    data = F.to_json("data") if frame.schema["data"].dataType.typeName() == "variant" else F.col("data")
    return plain_udf(texts)(*(F.col(a) for a in ATTRIBUTES[:-1]), data)


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
        frames = {layout: spark.read.parquet(str(folder / layout)) for layout in ("text", "variant")}
        table = Table("the fallback reads", "tricel events/s", "plain UDF events/s", "times as fast", "kept alike")
        for name, text, layout in FILTERS:
            one(table, frames[layout], arguments, name, text)
        for layout, name in (
            ("text", "20 filters in one pass, JSON text"),
            ("variant", "20 filters in one pass, VARIANT"),
        ):
            together(table, frames[layout], arguments, name)
        apart(table, frames["text"].limit(arguments.events // APART), arguments.events // APART)
        Console(width=110).print(table)
    finally:
        spark.stop()
        shutil.rmtree(folder)


def one(table: Table, frame: DataFrame, arguments: argparse.Namespace, name: str, text: str) -> None:
    """A row for one filter."""
    compiled = compile_filter(text)
    kept = lambda: where(frame, compiled)  # noqa: E731
    if "ArrowEvalPython" not in kept()._jdf.queryExecution().optimizedPlan().toString():
        raise SystemExit(f"Spark evaluates this by itself now, choose another: {text}")
    ours, theirs = compare(kept, lambda: frame.where(rival(frame, [text])[0]), arguments.rounds)
    both = frame.select(column(compiled, frame).alias("a"), rival(frame, [text])[0].alias("b"))
    add(table, name, arguments.events, ours, theirs, both.where("NOT a <=> b").count() == 0)


def together(table: Table, frame: DataFrame, arguments: argparse.Namespace, name: str) -> None:
    """A row for all of `SEVERAL`, against one UDF for all."""
    ours_ = lambda: any_of(frame)  # noqa: E731
    theirs_ = lambda: frame.where(F.array_contains(rival(frame, SEVERAL), True))  # noqa: E731
    ours, theirs = compare(ours_, theirs_, 1)
    add(table, name, arguments.events, ours, theirs, ours_().count() == theirs_().count())


def apart(table: Table, frame: DataFrame, events: int) -> None:
    """A row for all of `SEVERAL`, against a UDF for each; few events, for the rival reads each payload 20 times."""
    frame = frame.cache()
    theirs_ = lambda: frame.where(F.array_contains(F.array(*(rival(frame, [t])[0] for t in SEVERAL)), True))  # noqa: E731
    ours, theirs = compare(lambda: any_of(frame), theirs_, 1)
    add(
        table,
        f"20 filters, a UDF for each, {events:,} events",
        events,
        ours,
        theirs,
        any_of(frame).count() == theirs_().count(),
    )


def any_of(frame: DataFrame) -> DataFrame:
    """The events that one of `SEVERAL` lets pass, by tricel."""
    named = {f"f{i}": compile_filter(text) for i, text in enumerate(SEVERAL)}
    return with_outcomes(frame, named).where(F.array_contains(F.array(*named), True))


def add(table: Table, name: str, events: int, ours: float, theirs: float, alike: bool) -> None:
    """One row of the table."""
    table.add_row(name, f"{events / ours:,.0f}", f"{events / theirs:,.0f}", f"{theirs / ours:.2f}", str(alike))


if __name__ == "__main__":
    main()
