"""The fallback: a CEL engine over Arrow batches, for what Spark has no exact form of.

Only the values and columns that the expressions read travel (see `hoist` and `inputs`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from tricel.compiler import together

from ..frames import expression
from ..sql import Sql, Variable, function, literal, named, variable
from ..sql.columns import around
from ..sql.layout import Layout
from .activation import Form, Input, Job, Reader, Runner, Task
from .batches import Evaluate, lists
from .inputs import inputs_of
from .jobs import Residual
from .worker import worker_column

T = TypeVar("T")
Columns: TypeAlias = Sequence[Sequence[Any]]

FALSE, TRUE, ERROR = 0, 1, 2
"""An outcome in two bits."""
MOST_JOBS = 31
"""Filters whose outcomes fit one BIGINT."""
_ROWS = 512
"""Rows that are judged together: with all of a batch Python's garbage collector goes over their values many times."""


def fallback_column(residual: Residual, layout: Layout) -> Column:
    """BOOLEAN: whether all programs of a filter hold, NULL where that is an evaluation error.

    Raises:
        NotNative: where a column that they read cannot travel.
    """
    columns, inputs = _travelling([residual], layout)
    return worker_column(_one, (residual.job, inputs, residual.needs.record), columns, "boolean")


def fallback_outcomes(residuals: Sequence[Residual], native: Column, layout: Layout) -> Column:
    """BIGINT: the outcomes of up to `MOST_JOBS` filters in one pass, two bits for each, the first in the lowest.

    `native` holds the outcomes of their native parts in the same way: where one is false, its programs do not run, and
    where all are, nothing travels.

    Raises:
        NotNative: where a column that they read cannot travel.
    """
    columns, inputs = _travelling(residuals, layout)
    given = (tuple(_task(r, inputs, layout) for r in residuals), inputs)
    return worker_column(_many, given, [native, *(F.when(native != FALSE, c) for c in columns)], "bigint")


def _task(residual: Residual, inputs: Sequence[Input], layout: Layout) -> Task:
    """The job over rows of all `inputs`, which travel for several residuals."""
    own = {(i.kind, i.attribute, i.field) for i in (*inputs_of(residual.needs, layout), *residual.values)}
    positions = tuple(n for n, i in enumerate(inputs) if (i.kind, i.attribute, i.field) in own)
    return Task(residual.job, tuple(inputs[n] for n in positions), positions, residual.needs.record)


def _travelling(residuals: Sequence[Residual], layout: Layout) -> tuple[list[Column], tuple[Input, ...]]:
    """The columns for some residuals, and what they hold: whole columns, and one struct of the values."""
    needs = together([r.needs for r in residuals])
    whole = inputs_of(needs, layout)
    columns = [expression(i.travels, layout.taken) for i in whole]
    values = tuple({i.field: i for r in residuals for i in r.values}.values())
    if values:
        documents = dict(d for r in residuals for d in r.documents)
        columns.append(expression(around(_values(values), documents.items()), layout.taken))
    return columns or [F.lit("")], tuple(i.bare for i in (*whole, *values))


def _values(values: Sequence[Input]) -> Sql:
    """The struct of the values. JSON text is written once, where it is also looked through for infinity."""
    texts: dict[str, Variable] = {i.key: variable() for i in values if i.kind is Form.INFINITE}
    fields: list[Sql] = []
    for i in values:
        text = texts.get(i.key)
        travels = i.travels
        if text is not None and i.kind in (Form.JSON, Form.INFINITE):
            travels = text if i.kind is Form.JSON else i.where_infinite(text)
        fields += (literal(i.field), travels)
    found: Sql = function("named_struct", *fields)
    for i in values:
        if i.kind is Form.JSON and i.key in texts:
            found = named(i.travels, texts[i.key], found)
    return found


def _one(job: Job, inputs: tuple[Input, ...], record: str) -> Evaluate:
    run, read = Runner(job), Reader(inputs, record=record)

    def outcomes(columns: Columns, count: int) -> list[bool | None]:
        return run.each(*read.each(columns, count))

    return lambda *columns: pa.array(each_row(lists(columns), outcomes, once=True), pa.bool_())


def _many(tasks: tuple[Task, ...], inputs: tuple[Input, ...]) -> Evaluate:
    runners = [Runner(task.job) for task in tasks]
    read = Reader(inputs, record=next((task.record for task in tasks if task.record), ""))
    apart = [task.reader() for task in tasks]

    def outcomes(columns: Columns, count: int) -> list[int]:
        asked, *values = columns
        given, fit = read.each(values, count)
        lost = [i for i, g in enumerate(given) if g is None]
        packed = [0] * count
        for number, (run, own) in enumerate(zip(runners, apart, strict=True)):
            if lost:  # a value that cannot be read is an error of the filters that read it, and of no other
                again = own([[column_[i] for i in lost] for column_ in values], len(lost))
                for i, given_, fit_ in zip(lost, *again, strict=True):
                    given[i], fit[i] = given_, fit_
            native = [outcome >> 2 * number & 3 for outcome in asked]
            rows = [i for i, outcome in enumerate(native) if outcome != FALSE]
            found = run.each([given[i] for i in rows], [fit[i] for i in rows])
            for i, holds in zip(rows, found, strict=True):
                if holds is not False:
                    packed[i] |= (TRUE if holds and native[i] == TRUE else ERROR) << 2 * number
        return packed

    return lambda *columns: pa.array(each_row(lists(columns), outcomes, once=True), pa.int64())


def each_row(columns: Columns, judge: Callable[[Columns, int], list[T]], *, once: bool) -> list[T]:
    """What `judge` says of each row of a batch, given columns and the number of rows, some hundreds at a time.

    `once`: rows that are the same are judged once, where that pays: some of the first rows must be alike.
    """
    if once:
        first = list(zip(*(c[:_ROWS] for c in columns), strict=True))
        if first and len(set(first)) * 8 <= len(first) * 7:
            rows = list(zip(*columns, strict=True))
            different = list(dict.fromkeys(rows))
            found = dict(zip(different, each_row(list(zip(*different, strict=True)), judge, once=False), strict=True))
            return [found[row] for row in rows]
    outcomes: list[T] = []
    for start in range(0, len(columns[0]), _ROWS):
        part = [c[start : start + _ROWS] for c in columns]
        outcomes += judge(part, len(part[0]))
    return outcomes
