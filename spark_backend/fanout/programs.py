"""What the fallback evaluates of candidates: one Arrow pass over all of them, in which most rows ask for nothing.

All candidates go through it, so a row that asks for nothing must cost next to nothing: all that travels as text is one
text, which is NULL in such a row. A row that asks sends what its own filter's programs read, no more: a value that
cannot be read is then an error of the filters that use it.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from ..compiled_filter import CompiledFilter
from ..fallback.activation import Form, Input, Runner, Task
from ..fallback.batches import Evaluate, those_with
from ..fallback.evaluation import Columns, each_row
from ..fallback.inputs import inputs_of
from ..fallback.jobs import Residual, refused, residual_of
from ..fallback.worker import worker_column
from ..frames import expression
from ..sql import Sql, array, cast, column, function
from ..sql.columns import Documents, around
from ..sql.names import Names
from ..sql.reasons import NotNative
from .planning.choice import bisected, chosen
from .planning.plan import Plan
from .planning.shapes import Member

_TYPES: Mapping[Form, str] = {
    Form.EXTENSIONS: "MAP<STRING, STRING>",
    Form.BINARY: "BINARY",
    Form.VARIANT: "VARIANT",
    Form.INFINITE: "VARIANT",
}
"""The types of what cannot travel as text."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """What some programs read, and the JSON texts that are parsed for it."""

    inputs: tuple[Input, ...]
    documents: Documents

    @property
    def texts(self) -> list[Sql]:
        """What travels as text; a truth value as one that Python, too, takes for true or false."""
        travels = ((i, i.travels) for i in self.inputs if i.kind not in _TYPES)
        return [
            function("replace", cast(sql, "STRING"), "false", "") if i.kind is Form.BOOL else sql for i, sql in travels
        ]

    def others(self, type_: str) -> list[Input]:
        """What travels in columns of a type."""
        return [i for i in self.inputs if _TYPES.get(i.kind) == type_]


@dataclass
class Programs:
    """The programs of a set of filters, by number. Filters with the same programs have one number."""

    found: list[tuple[Residual, _Reading]] = field(default_factory=list)
    _numbers: dict[tuple[Residual, int], int] = field(default_factory=dict)
    _members: dict[Member, int] = field(default_factory=dict)
    _readings: dict[_Reading, int] = field(default_factory=dict)
    _unnested: bool = False

    def numbers(self, member: Member) -> tuple[int | None, int | None]:
        """The number of a filter's programs, and that of what they read; None where Spark evaluates all of it.

        Raises:
            CompileError: where the engine cannot evaluate the filter, or a column that it reads cannot travel.
        """
        if member.residual is None:
            return None, None
        if member not in self._members:
            self._members[member] = self._number(member.residual)
        number = self._members[member]
        return number, self._readings[self.found[number][1]]

    def _number(self, part: CompiledFilter) -> int:
        residual = residual_of(part, [c.expr for c in part.conjuncts])
        number = self._numbers.setdefault((residual, id(part.layout)), len(self.found))
        if number == len(self.found):
            reading = _reading(part, residual)
            self.found.append((residual, reading))
            self._readings.setdefault(reading, len(self._readings))
            self._unnested = part.layout.quirks.loses_nested_lambdas
        return number

    def column(self, plan: Plan, taken: Sequence[str]) -> Column:
        """BOOLEAN: whether the programs of the row's filter hold, NULL where one errs; TRUE where it has none."""
        parsed = {sql: column(name) for name, sql in plan.documents.items()}
        users = Counter(reading for _, reading in self.found)
        readings = [(self._readings[r], _over(r, parsed)) for r, _ in users.most_common()]
        widths = {type_: max(len(r.others(type_)) for _, r in readings) for type_ in dict.fromkeys(_TYPES.values())}
        columns = [self._texts(readings, plan.names)]
        for type_, width in widths.items():
            columns += [self._others(readings, type_, i, plan.names) for i in range(width)]
        tasks = {number: _positions(reading, widths) for number, reading in readings}
        given = tuple(
            Task(residual.job, *tasks[self._readings[reading]], residual.needs.record)
            for residual, reading in self.found
        )
        asks = F.col(plan.names.of("reads")).isNotNull()
        return worker_column(_evaluator, (given,), [F.when(asks, expression(c, taken)) for c in columns], "boolean")

    def _texts(self, readings: Sequence[tuple[int, _Reading]], names: Names) -> Sql:
        """The number of the row's programs and all that they read as text, as one text."""
        program = cast(names.column("program"), "STRING")
        arrays = [(number, r, array([program, *r.texts])) for number, r in readings]
        return function("to_json", self._chosen(arrays, "ARRAY<STRING>", names))

    def _others(self, readings: Sequence[tuple[int, _Reading]], type_: str, position: int, names: Names) -> Sql:
        """The values of one type at one position among those of the row's programs."""
        having = [(number, r, r.others(type_)) for number, r in readings]
        values = [(number, r, others[position].travels) for number, r, others in having if len(others) > position]
        return self._chosen(values, type_, names)

    def _chosen(self, values: Sequence[tuple[int, _Reading, Sql]], type_: str, names: Names) -> Sql:
        """The value of the row's reading, with the JSON texts parsed that it is over."""
        alike: dict[Documents, list[tuple[int, Sql]]] = defaultdict(list)
        for number, reading, sql in values:
            alike[reading.documents].append((number, sql))
        found = []
        reads = names.column("reads")
        for documents, group in sorted(alike.items(), key=lambda a: len(a[0])):
            in_order = sorted(group, key=lambda value: value[0])
            found.append(
                around(bisected(in_order, reads) if self._unnested else chosen(group, reads, type_), documents)
            )
        return found[0] if len(found) == 1 else function("coalesce", *found)


def _reading(part: CompiledFilter, residual: Residual) -> _Reading:
    try:
        return _Reading((*inputs_of(residual.needs, part.layout), *residual.values), residual.documents)
    except NotNative as e:
        raise refused(part, e.reason) from e


def _over(reading: _Reading, parsed: Mapping[Sql, Sql]) -> _Reading:
    """The same over columns that hold a JSON text parsed already."""
    inputs = tuple(replace(i, sql=None if i.sql is None else parsed.get(i.sql, i.sql)) for i in reading.inputs)
    return _Reading(inputs, tuple((key, parsed.get(sql, sql)) for key, sql in reading.documents))


def _positions(reading: _Reading, widths: Mapping[str, int]) -> tuple[tuple[Input, ...], tuple[int, ...]]:
    """What programs read, without SQL, and where in a row it is: among the texts, or the columns after them."""
    begins: dict[str, int] = {}
    end = len(reading.texts)
    for type_, width in widths.items():
        begins[type_] = end
        end += width
    inputs = [i for i in reading.inputs if i.kind not in _TYPES]
    positions = list(range(len(inputs)))
    for type_, begin in begins.items():
        others = reading.others(type_)
        inputs += others
        positions += range(begin, begin + len(others))
    return tuple(i.bare for i in inputs), tuple(positions)


def _evaluator(tasks: tuple[Task, ...]) -> Evaluate:
    made: dict[int, Callable[[Columns, int], list[bool | None]]] = {}

    def evaluate(texts: pa.Array, *others: pa.Array) -> pa.Array:
        holds = texts.is_null().to_numpy(zero_copy_only=False)
        errs = ~holds
        rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        asked, values = those_with(texts, *others)
        for i, text, *rest in zip(asked, *values, strict=True):
            program, *row = json.loads(text)
            rows[program].append((i, *row, *rest))
        for program, having in rows.items():
            number = int(program)
            if number not in made:
                made[number] = _judge(tasks[number])
            places, *columns = map(list, zip(*having, strict=True))
            outcomes = each_row(columns or [places], made[number], once=False)
            for i, outcome in zip(places, outcomes, strict=True):
                holds[i], errs[i] = outcome is True, outcome is None
        return pa.array(holds, mask=errs)

    return evaluate


def _judge(task: Task) -> Callable[[Columns, int], list[bool | None]]:
    read, run = task.reader(), Runner(task.job)
    return lambda columns, count: run.each(*read(columns, count))
