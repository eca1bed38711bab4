"""What Spark cannot evaluate: tricel's fallback against a plain UDF that calls the same engine.

The rival is a Python UDF as a person writes it: it takes the event's columns, reads the payload with `json.loads`,
and asks cel-expr-python, which it compiles once in each worker. Both give the same outcomes, which is checked: over
these events, where no payload is odd, as the rival has none of the guards.

The two run by turns, and a row holds their medians.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias

from _events import compare, session_and_folder, write_events
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table
from tricel.spark_backend import column, where
from tricel.spark_backend.compiled_filter import CompiledFilter
from tricel.spark_backend.dataframes import with_outcomes

from tricel import compile_filter

CUSTOMER = 'data.customer.id.matches("^(?:[a-z][0-9]+)+7$")'
TOTAL = 'string(data.total).endsWith(".5")'
KEYS = 'data.exists(k, k.matches("^(?:[a-z]+_?)+l$"))'
QUOTED = r'data.exists(k, strings.quote(k) == "\"total\"")'
WHOLE = r'data.exists(k, strings.quote(k) == "\"total\"" && data[k] == 7.5)'
FILTERS = (
    ("an attribute that has 1,000 values", 'ce.source.matches("^(?:/[a-z0-9]+)+/[0-9]+$")', "text"),
    ("an attribute of which all differ", 'ce.id.matches("^(?:[a-z][0-9]+)+7$")', "text"),
    ("a field of JSON text", CUSTOMER, "text"),
    ("a field of a VARIANT", CUSTOMER, "variant"),
    ("a number of JSON text", TOTAL, "text"),
    ("a number of a VARIANT", TOTAL, "variant"),
    ("a pattern on each key of JSON text", KEYS, "text"),
    ("a pattern on each key of a VARIANT", KEYS, "variant"),
    ("each key of JSON text, quoted", QUOTED, "text"),
    ("each key of a VARIANT, quoted", QUOTED, "variant"),
    ("a JSON text, whole", WHOLE, "text"),
    ("a VARIANT, whole", WHOLE, "variant"),
    ("an attribute condition first", f'ce.type == "t3" && {CUSTOMER}', "text"),
    ("a payload condition first", f'data.status == "paid" && {CUSTOMER}', "text"),
)
SEVERAL = tuple(f'data.customer.id.matches("^(?:[a-z][0-9]+)+{i:02}$")' for i in range(20))
ATTRIBUTES = ("id", "source", "specversion", "type", "subject", "datacontenttype", "data")
FEWER, APART = 20, 60
"""How many times fewer events the rows of 20 filters have, and the one in which each filter has a UDF of its own."""
FEW = 4_000
"""Events whose outcomes are compared."""


Query: TypeAlias = Callable[[DataFrame], DataFrame]


def plain_udf(texts: Sequence[str]) -> Callable[..., Column]:
    """A UDF for the outcomes of CEL texts: the one that a person writes first."""
    programs: list[object] = []

    def evaluate(*values: str | None) -> list[bool | None]:
        from cel_expr_python import cel
        from cel_expr_python.ext import ext_optional, ext_strings

        if not programs:
            variables = {"ce": cel.Type.DYN, "data": cel.Type.DYN}
            environment = cel.NewEnv(
                variables=variables, extensions=[ext_optional.ExtOptional(), ext_strings.ExtStrings()]
            )
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
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3, help="turns that are timed, after one that is not")
    parser.add_argument("--rows", default="", help="only the filters whose row has this in its name")
    arguments = parser.parse_args()
    table = Table(
        "the fallback reads", "events", "tricel events/s", "plain UDF events/s", "times as fast", "kept alike"
    )
    with session_and_folder() as (spark, folder):
        try:
            for part, count in enumerate((arguments.events, arguments.events // FEWER, arguments.events // APART, FEW)):
                write_events(spark, folder / str(part), count)
            frames = [
                {layout: spark.read.parquet(str(folder / str(part) / layout)) for layout in ("text", "variant")}
                for part in range(4)
            ]
            for name, text, layout in FILTERS:
                if arguments.rows in name:
                    one(table, name, frames[0][layout], frames[3][layout], arguments, text)
            if arguments.rows:
                return
            for layout, name in (
                ("text", "20 patterns on a field of JSON text"),
                ("variant", "20 patterns on a field of a VARIANT"),
            ):
                several(table, name, frames[1][layout], frames[3][layout], arguments, together)
            name = "the same, against 20 UDFs"
            several(table, name, frames[2]["text"], frames[3]["text"].limit(100), arguments, apart)
        finally:
            Console(width=120).print(table)


def one(table: Table, name: str, frame: DataFrame, few: DataFrame, asked: argparse.Namespace, text: str) -> None:
    """A row for one filter."""
    compiled = compile_filter(text)
    if "ArrowEvalPython" not in where(frame, compiled)._jdf.queryExecution().optimizedPlan().toString():
        raise SystemExit(f"Spark evaluates this by itself now, choose another: {text}")
    ours: Query = lambda df: where(df, compiled)  # noqa: E731
    theirs: Query = lambda df: df.where(rival(df, [text])[0])  # noqa: E731
    both = few.select(column(few, compiled).alias("a"), rival(few, [text])[0].alias("b"))
    took = compare(lambda: ours(frame), lambda: theirs(frame), asked.rounds)
    add(table, name, asked.events, took, both.where("NOT a <=> b").count() == 0)


def several(
    table: Table, name: str, frame: DataFrame, few: DataFrame, asked: argparse.Namespace, theirs: Query
) -> None:
    """A row for all of `SEVERAL`: the events that one of them lets pass."""
    alike = any_of(few).count() == theirs(few).count()
    took = compare(lambda: any_of(frame), lambda: theirs(frame), asked.rounds)
    add(table, name, frame.count(), took, alike)


def any_of(frame: DataFrame) -> DataFrame:
    """The events that one of `SEVERAL` lets pass, by tricel."""
    named = several_filters()
    return with_outcomes(frame, named).where(F.array_contains(F.array(*named), True))


@cache
def several_filters() -> dict[str, CompiledFilter]:
    """The filters of `SEVERAL`, compiled once as a pipeline does."""
    return {f"f{i}": compile_filter(text) for i, text in enumerate(SEVERAL)}


def together(frame: DataFrame) -> DataFrame:
    """The same events, by one UDF for all."""
    return frame.where(F.array_contains(rival(frame, SEVERAL), True))


def apart(frame: DataFrame) -> DataFrame:
    """The same events, by a UDF for each, which reads each payload 20 times."""
    return frame.where(F.array_contains(F.array(*(rival(frame, [t])[0] for t in SEVERAL)), True))


def add(table: Table, name: str, events: int, took: tuple[float, float], alike: bool) -> None:
    """One row of the table."""
    ours, theirs = took
    row = (name, f"{events:,}", f"{events / ours:,.0f}", f"{events / theirs:,.0f}", f"{theirs / ours:.2f}", str(alike))
    print(*row, sep=" | ", file=sys.stderr, flush=True)
    table.add_row(*row)


if __name__ == "__main__":
    main()
