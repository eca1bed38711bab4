"""The fallback: a CEL engine over Arrow batches, for what Spark has no exact form of.

Only the columns that the expressions read travel. Payloads travel as the JSON text that Spark writes of what its own
parser made of them, so that the engine sees what the native path sees; a VARIANT column that may hold more than JSON
travels as it is, and a typed column as JSON text that is read back by its types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from pyspark.sql import Column
from pyspark.sql import functions as F
from tricel.compiler import Requirements, together

from .activation import Activation, Form, Input, Job, Reader, Runner
from .layout import Held, Layout
from .lower import body_text, column
from .lowered import around
from .sparktypes import cel_type
from .worker import worker_column

FALSE, TRUE, ERROR = 0, 1, 2
"""An outcome in two bits."""
MOST_JOBS = 31
"""Filters whose outcomes fit one BIGINT."""


@dataclass(frozen=True, slots=True)
class Residual:
    """What the fallback evaluates of one filter, and what travels for it: columns, or values that Spark computes first."""

    job: Job
    needs: Requirements
    values: tuple[Input, ...] = ()
    documents: tuple[tuple[str, str], ...] = ()


def fallback_column(residual: Residual, layout: Layout) -> Column:
    """BOOLEAN: whether all programs of a filter hold, NULL where that is an evaluation error.

    Raises:
        NotNative: where a column that they read cannot travel.
    """
    columns, inputs = _travelling([residual], layout)
    return worker_column(_one, (residual.job, inputs, "ce" in residual.needs.roots), columns, "boolean")


def fallback_outcomes(residuals: Sequence[Residual], native: Column, layout: Layout) -> Column:
    """BIGINT: the outcomes of up to `MOST_JOBS` filters in one pass, two bits for each, the first in the lowest.

    `native` holds the outcomes of their native parts in the same way: where one is false, its programs do not run.

    Raises:
        NotNative: where a column that they read cannot travel.
    """
    columns, inputs = _travelling(residuals, layout)
    attributes = any("ce" in r.needs.roots for r in residuals)
    given = (tuple(r.job for r in residuals), inputs, attributes)
    return worker_column(_many, given, [native, *columns], "bigint")


def _travelling(residuals: Sequence[Residual], layout: Layout) -> tuple[list[Column], tuple[Input, ...]]:
    """The columns for some residuals, and what they hold: whole columns, and one struct of the values."""
    needs = together([r.needs for r in residuals])
    whole = inputs_of(needs, layout)
    columns = [F.expr(i.travels) for i in whole]
    values = tuple({i.field: i for r in residuals for i in r.values}.values())
    if values:
        fields = ", ".join(f"'{i.field}', {i.travels}" for i in values)
        documents = dict(d for r in residuals for d in r.documents)
        columns.append(F.expr(around(f"named_struct({fields})", documents.items())))
    return columns or [F.lit("")], tuple(replace(i, sql="") for i in (*whole, *values))


def inputs_of(needs: Requirements, layout: Layout) -> tuple[Input, ...]:
    """The columns that travel.

    Raises:
        NotNative: for a column that cannot.
    """
    found = []
    attributes = layout.attributes
    if attributes is not None:
        whole = "ce" in needs.whole
        wanted = sorted(needs.attributes | (set(attributes.columns) if whole else set()))
        found = [i for n in wanted if (i := _attribute(n, layout)) is not None]
        if whole and attributes.others is not None:
            valid = f"transform_values({attributes.others.text}, (k, v) -> try_validate_utf8(v))"
            found.append(Input(Form.EXTENSIONS, "", valid))
    for root in sorted({str(p[0]) for p in needs.paths}):
        found.extend(_payload(root, layout))
    return tuple(found)


def _payload(root: str, layout: Layout) -> list[Input]:
    where = layout.roots.get(root)
    if where is None:
        return []
    if where.held is Held.JSON_TEXT:
        body = body_text(where, checked=layout.check_json)
        return [Input(Form.JSON, root, body), Input(Form.INFINITE, root, body)]
    if where.column.type.name != "variant":
        return [Input(Form.TYPED, root, where.column.text, cel_type(where.column.type))]
    return [Input(Form.VARIANT, root, where.column.text)]


def _attribute(attribute: str, layout: Layout) -> Input | None:
    where = layout.attributes.find(attribute) if layout.attributes is not None else None
    if where is None:
        return None
    if where.type.name == "timestamp" and attribute == "time":
        # as text: pandas makes doubles of integers among NULLs
        return Input(Form.TIME, attribute, f"CAST(unix_micros({where.text}) AS STRING)", attribute=True)
    if where.type.name == "string":
        return Input(Form.TEXT, attribute, f"try_validate_utf8({where.text})", attribute=True)
    typed = column(where.text, where.type)
    return Input(Form.TYPED, attribute, typed.text, typed.type, attribute=True)


def _rows(columns: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """The rows of Arrow columns, a struct's fields as columns of their own."""
    lists: list[list[Any]] = []
    for column_ in columns:
        parts = [column_[name] for name in column_.columns] if isinstance(column_, pd.DataFrame) else [column_]
        lists.extend(part.tolist() for part in parts)
    return zip(*lists, strict=True)


def _one(job: Job, inputs: tuple[Input, ...], attributes: bool) -> Callable[..., Any]:
    run, read = Runner(job), Reader(inputs, attributes=attributes)

    def evaluate(*columns: Any) -> pd.Series:
        outcomes = []
        for row in _rows(columns):
            given, fit = read(row)
            outcomes.append(run(given, fit=fit))
        return pd.Series(outcomes, dtype=object)

    return evaluate


def _many(jobs: tuple[Job, ...], inputs: tuple[Input, ...], attributes: bool) -> Callable[..., Any]:
    runners, read = [Runner(job) for job in jobs], Reader(inputs, attributes=attributes)

    def evaluate(native: pd.Series, *columns: Any) -> pd.Series:
        packed = []
        for asked, *row in _rows([native, *columns]):
            packed.append(_packed(runners, asked, *read(row)) if asked else 0)
        return pd.Series(packed, dtype="int64")

    return evaluate


def _packed(runners: Sequence[Runner], asked: int, given: Activation | None, fit: bool) -> int:
    found = 0
    for i, run in enumerate(runners):
        native = asked >> 2 * i & 3
        holds = run(given, fit=fit) if native != FALSE else False
        if holds is not False:
            found |= (TRUE if holds and native == TRUE else ERROR) << 2 * i
    return found
