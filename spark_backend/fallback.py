"""The fallback: a CEL engine over Arrow batches, for what Spark has no exact form of.

Only the columns that the expressions read travel. Payloads travel as the JSON text that Spark writes of what its own
parser made of them, so that the engine sees what the native path sees; a VARIANT column that may hold more than JSON
travels as it is, and a typed column as JSON text that is read back by its types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, TypeAlias, TypeVar

import pandas as pd
from pyspark.sql import Column
from pyspark.sql import functions as F
from tricel.compiler import Requirements, together
from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType

from .activation import Form, Input, Job, Reader, Runner, Task
from .jobs import Residual
from .layout import Held, Layout
from .lowered import around
from .reasons import NotNative
from .sparktypes import SINGLE, VARIANT, SparkType, cel_type
from .stored import body_text, column
from .worker import worker_column

T = TypeVar("T")
Columns: TypeAlias = Sequence[Sequence[Any]]

FALSE, TRUE, ERROR = 0, 1, 2
"""An outcome in two bits."""
MOST_JOBS = 31
"""Filters whose outcomes fit one BIGINT."""
_KEYS = (t.STRING, t.INT, t.BOOL)
_VARIANTS = SparkType("array", element=VARIANT)
_ROWS = 512
"""Rows that are judged together: with all of a batch Python's garbage collector goes over their values many times."""


def fallback_column(residual: Residual, layout: Layout) -> Column:
    """BOOLEAN: whether all programs of a filter hold, NULL where that is an evaluation error.

    Raises:
        NotNative: where a column that they read cannot travel.
    """
    columns, inputs = _travelling([residual], layout)
    return worker_column(_one, (residual.job, inputs, "ce" in residual.needs.roots), columns, "boolean")


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
    return Task(residual.job, tuple(inputs[n] for n in positions), positions, "ce" in residual.needs.roots)


def _travelling(residuals: Sequence[Residual], layout: Layout) -> tuple[list[Column], tuple[Input, ...]]:
    """The columns for some residuals, and what they hold: whole columns, and one struct of the values."""
    needs = together([r.needs for r in residuals])
    whole = inputs_of(needs, layout)
    columns = [F.expr(i.travels) for i in whole]
    values = tuple({i.field: i for r in residuals for i in r.values}.values())
    if values:
        documents = dict(d for r in residuals for d in r.documents)
        columns.append(F.expr(around(_values(values, layout), documents.items())))
    return columns or [F.lit("")], tuple(replace(i, sql="") for i in (*whole, *values))


def _values(values: Sequence[Input], layout: Layout) -> str:
    """The struct of the values. JSON text is written once, where it is also looked through for infinity."""
    texts: dict[str, str] = {}
    for i in values:
        if i.kind is Form.INFINITE:
            texts[i.key] = next(v for v in map("text_{}".format, count(len(texts))) if v not in layout.taken)
    fields = []
    for i in values:
        text = texts.get(i.key) if i.kind in (Form.JSON, Form.INFINITE) else None
        travels = i.travels if text is None else text if i.kind is Form.JSON else i.where_infinite(text)
        fields.append(f"'{i.field}', {travels}")
    found = f"named_struct({', '.join(fields)})"
    for i in values:
        if i.kind is Form.JSON and i.key in texts:
            found = f"get(transform(array({i.travels}), {texts[i.key]} -> {found}), 0)"
    return found


def inputs_of(needs: Requirements, layout: Layout, *, exact: bool = True) -> tuple[Input, ...]:
    """The columns that travel.

    `exact`: a column in whose values something would be lost on the way must not travel. Otherwise the values are near
    enough to say why an event erred, not to judge it.

    Raises:
        NotNative: for a column that cannot; only where `exact`.
    """
    found: list[Input] = []
    attributes = layout.attributes
    if attributes is not None:
        whole = "ce" in needs.whole
        wanted = sorted(needs.attributes | (set(attributes.columns) if whole else set()))
        found = [i for n in wanted if (i := _attribute(n, layout)) is not None]
        if whole and attributes.others is not None:
            present = f"map_filter({attributes.others.text}, (k, v) -> v IS NOT NULL)"
            valid = f"transform_values({present}, (k, v) -> try_validate_utf8(v))"
            found.append(Input(Form.EXTENSIONS, "", valid))
    for root in sorted({str(p[0]) for p in needs.paths}):
        found.extend(_payload(root, layout))
    for given in found if exact else ():
        why = lost(given.type) if given.kind is Form.TYPED else ""
        if why:
            raise NotNative(f"{why}, and '{given.key}' would have to travel whole")
    return tuple(found)


def lost(type_: CelType) -> str:
    """What JSON text does not tell of the values of a typed column; empty where it tells all."""
    if type_ == t.JSON:
        return "JSON text does not tell a VARIANT in a typed column from NULL, text and other numbers"
    if type_.name == "map" and type_.params[0] not in _KEYS:
        return f"a map's keys of type '{type_.params[0]}' are no keys in CEL"
    return next((why for part in t.parts(type_) if (why := lost(part))), "")


def _payload(root: str, layout: Layout) -> list[Input]:
    where = layout.roots.get(root)
    if where is None:
        return []
    if where.held is Held.JSON_TEXT:
        body = body_text(where, checked=layout.quirks.takes_unpaired_surrogates)
        return [Input(Form.JSON, root, body), Input(Form.INFINITE, root, body)]
    column_ = where.column
    if column_.type == _VARIANTS:
        whole = f"CASE WHEN forall({column_.text}, x -> x IS NOT NULL) THEN CAST({column_.text} AS VARIANT) END"
        return [Input(Form.VARIANT, root, whole)]
    if column_.type.name != "variant":
        return [Input(Form.TYPED, root, column_.text, cel_type(column_.type, single=SINGLE))]
    return [Input(Form.VARIANT, root, where.column.text)]


def _attribute(attribute: str, layout: Layout) -> Input | None:
    where = layout.attributes.find(attribute) if layout.attributes is not None else None
    if where is None:
        return None
    if where.type.name == "timestamp" and attribute == "time":
        # as text: pandas makes doubles of integers among NULLs
        return Input(Form.TIME, attribute, f"CAST(unix_micros({where.text}) AS STRING)", attribute=True)
    if where.type.name == "string":
        # engines take more than RFC 3339 for a time
        kind = Form.TIME_TEXT if attribute == "time" else Form.TEXT
        return Input(kind, attribute, f"try_validate_utf8({where.text})", attribute=True)
    typed = column(where.text, where.type)
    return Input(Form.TYPED, attribute, typed.text, typed.type, attribute=True)


def _columns(given: Sequence[Any]) -> list[list[Any]]:
    """Arrow columns as lists, a struct's fields as columns of their own."""
    lists: list[list[Any]] = []
    for column_ in given:
        parts = [column_[name] for name in column_.columns] if isinstance(column_, pd.DataFrame) else [column_]
        lists.extend(part.tolist() for part in parts)
    return lists


def _one(job: Job, inputs: tuple[Input, ...], attributes: bool) -> Callable[..., Any]:
    run, read = Runner(job), Reader(inputs, attributes=attributes)

    def outcomes(columns: Columns, count: int) -> list[bool | None]:
        return run.each(*read.each(columns, count))

    return lambda *columns: _judged(_columns(columns), outcomes, read, object)


def _many(tasks: tuple[Task, ...], inputs: tuple[Input, ...]) -> Callable[..., Any]:
    runners = [Runner(task.job) for task in tasks]
    read = Reader(inputs, attributes=any(task.attributes for task in tasks))
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

    return lambda *columns: _judged(_columns(columns), outcomes, read, "int64", before=1)


def _judged(
    columns: Columns, judge: Callable[[Columns, int], list[T]], read: Reader, dtype: Any, before: int = 0
) -> Any:
    """The Series of what `judge` says of each row; `before` columns are not the reader's, and are numbers."""
    return pd.Series(each_row(columns, judge, once=read.comparable(columns[before:])), dtype=dtype)


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
