"""What the fallback evaluates of candidates: one Arrow pass over all of them, in which most rows ask for nothing.

All candidates go through it, so a row that asks for nothing must cost next to nothing: all that travels as text is one
text, which is NULL in such a row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
from pyspark.sql import Column
from pyspark.sql import functions as F
from tricel.compiler import CompileError, Diagnostic, Requirements, requirements

from ..activation import Form, Input, Job, Reader, Runner
from ..fallback import inputs_of
from ..layout import Layout
from ..reasons import NotNative
from ..worker import worker_column
from .plan import Plan
from .shapes import Member, Residual

_TEXTS = frozenset({Form.TEXT, Form.INT, Form.DOUBLE, Form.TIME, Form.JSON, Form.TYPED})


@dataclass(frozen=True, slots=True)
class _Task:
    """The programs of some filters, with the positions of what they read among the texts and then the columns that travel."""

    job: Job
    inputs: tuple[Input, ...]
    positions: tuple[int, ...]
    attributes: bool


@dataclass
class Programs:
    """The programs of a set of filters, by number. Filters with the same programs have one number."""

    found: list[tuple[Job, Residual, Layout]] = field(default_factory=list)
    _numbers: dict[tuple[Job, int], int] = field(default_factory=dict)

    def number(self, member: Member) -> int | None:
        """The number of a filter's programs; None where Spark evaluates all of it."""
        residual, layout = member.residual, member.shape.layout
        if residual is None:
            return None
        job = Job(residual.programs, residual.json_extensions)
        number = self._numbers.setdefault((job, id(layout)), len(self.found))
        if number == len(self.found):
            self.found.append((job, residual, layout))
        return number

    def column(self, plan: Plan) -> Column:
        """BOOLEAN: whether the programs of the row's filter hold, NULL where one errs; TRUE where it has none.

        Raises:
            CompileError: where a column that they read cannot travel.
        """
        parsed = {sql: document for document, sql in plan.documents.items()}
        texts: dict[Input, int] = {}
        others: dict[Input, int] = {}
        found = []
        for job, residual, layout in self.found:
            needs: Requirements = requirements(residual.exprs, residual.environment)
            try:
                given = inputs_of(needs, layout)
            except NotNative as e:
                raise _refused(residual, e) from e
            inputs = tuple(replace(i, sql=parsed.get(i.sql, i.sql)) for i in given)
            for i in inputs:
                kind = texts if i.kind in _TEXTS else others
                kind.setdefault(i, len(kind))
            found.append((job, inputs, "ce" in needs.roots))
        positions = texts | {i: len(texts) + n for i, n in others.items()}
        tasks = tuple(
            _Task(job, tuple(replace(i, sql="") for i in inputs), tuple(positions[i] for i in inputs), attributes)
            for job, inputs, attributes in found
        )
        # The shape comes from a generator: what depends on it stays above the conditions on candidates.
        program, shape = F.col(plan.names.of("program")), F.col(plan.names.of("shape"))
        asks = program.isNotNull() & shape.isNotNull()
        row = F.to_json(F.array(program.cast("string"), *(F.expr(i.travels) for i in texts)))
        columns = [F.when(asks, c) for c in (row, *(F.expr(i.travels) for i in others))]
        return worker_column(_evaluator, (tasks,), columns, "boolean")


def _refused(residual: Residual, why: NotNative) -> CompileError:
    message = f"neither Spark nor the fallback can evaluate this: {why.reason}"
    return CompileError((Diagnostic("TRI401", message, residual.source, residual.exprs[0].span),))


def _evaluator(tasks: tuple[_Task, ...]) -> Callable[..., Any]:
    made: dict[int, Callable[[Sequence[Any]], bool | None]] = {}

    def evaluate(texts: pd.Series, *others: pd.Series) -> pd.Series:
        asked = texts.notna().to_numpy().nonzero()[0]
        if not len(asked):
            return pd.Series(True, index=texts.index)
        outcomes: list[bool | None] = []
        for text, *rest in zip(*(c.iloc[asked].tolist() for c in (texts, *others)), strict=True):
            program, *row = json.loads(text)
            number = int(program)
            if number not in made:
                made[number] = _judge(tasks[number])
            outcomes.append(made[number]((*row, *rest)))
        found = pd.Series(True, index=texts.index, dtype="boolean")
        found.iloc[asked] = pd.array(outcomes, dtype="boolean")
        return found

    return evaluate


def _judge(task: _Task) -> Callable[[Sequence[Any]], bool | None]:
    read, run = Reader(task.inputs, attributes=task.attributes), Runner(task.job)

    def judge(row: Sequence[Any]) -> bool | None:
        given, fit = read([row[i] for i in task.positions])
        return run(given, fit=fit)

    return judge
