"""Why filters erred: the error's text and the subexpression that erred, for each event and trigger where one did.

Nothing is asked while events are judged; only the pairs that erred are evaluated again, here. A query whose pairs are
explained sends all of them past Python. A run keeps what it needs of those that erred instead (`ErrorContext`), and explains
them alone, in a query of their own.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from tricel.compiler import Environment, Expr, Requirements, requirements

from ..compiled_filter import CompiledFilter
from ..engines import Failure
from ..fallback.activation import Activation, Form, Input, Job, Reader
from ..fallback.batches import Evaluate, those_with
from ..fallback.inputs import inputs_of
from ..fallback.jobs import explaining_job, failure_of
from ..fallback.worker import worker_column
from ..fanout.join import OUTCOME, TRIGGER
from ..frames import expression, layout_of
from ..sql import Operand, Sql, any_of, function, integer, is_not_null, lambda_, not_, operator, quoted, when
from ..sql.columns import is_bytes
from ..sql.names import names_beside

ERROR, SUBEXPRESSION = "error", "subexpression"
ANY_JSON = {
    "maxStringLen": str(2**31 - 1),
    "maxNestingDepth": str(2**31 - 1),
    "columnNameOfCorruptRecord": "not_json",
}
"""Options for reading what Spark itself has written as JSON, however long or deep, and whatever the session sets."""
_LONGEST_NAME = 50_000
"""Most characters of a member's name that Spark's JSON parser takes."""
_TYPES = {Form.BINARY: "BINARY", Form.EXTENSIONS: "MAP<STRING, STRING>"}
"""The types of evidence that is no text."""
_SHAPE = f"{ERROR} STRING, {SUBEXPRESSION} STRING"


def with_failures(pairs: DataFrame, filters: Mapping[str, CompiledFilter], errored: Column) -> DataFrame:
    """`pairs` of event and trigger with two columns, NULL where `errored`, a BOOLEAN column, is not true.

    They replace columns of those names. `error` STRING is the text, `subexpression` STRING the innermost CEL that
    erred, empty where that is not known. `filters` are the filters by trigger, whose id is in the column `trigger`.
    """
    return Explainer(filters).explained(pairs, errored)


@dataclass(frozen=True)
class Reading:
    """What the filters of one environment read of an event."""

    inputs: tuple[Input, ...]
    record: str

    @property
    def bare(self) -> Reading:
        """The same without SQL, for workers."""
        return replace(self, inputs=tuple(i.bare for i in self.inputs))


@dataclass(frozen=True)
class ErrorContext:
    """What filters read of an event, as a text that outlasts the query which judged the event."""

    readings: tuple[Reading, ...]
    untold: tuple[Sql, ...]

    @property
    def inputs(self) -> tuple[Input, ...]:
        """What the text tells, in its order."""
        return tuple(i for r in self.readings for i in r.inputs)

    @property
    def text(self) -> Column:
        """The text of it, a STRING."""
        return F.to_json(F.struct(*(expression(i.travels).alias(f"input{n}") for n, i in enumerate(self.inputs))))

    @property
    def lacks(self) -> Column:
        """Whether the event holds what the text does not tell; BOOLEAN.

        Of a VARIANT it tells what JSON does. Dates and the like are found, but not beside other types in one array.
        """
        return expression(any_of(self.untold))

    def read(self, text: Column) -> list[Column]:
        """What travels to the workers."""
        fields = [f"input{n} {_TYPES.get(i.kind, 'STRING')}" for n, i in enumerate(self.inputs)]
        found = F.from_json(text, f"STRUCT<{', '.join(fields)}>", ANY_JSON)
        return [found[f"input{n}"] for n in range(len(fields))]


@dataclass(frozen=True)
class Explainer:
    """What explains the errors of some filters, by trigger. For any number of tables it is made once."""

    filters: Mapping[str, CompiledFilter]

    def explained(self, pairs: DataFrame, errored: Column) -> DataFrame:
        """See `with_failures`."""
        readings = self._readings(pairs)
        inputs = [expression(i.travels, pairs.columns) for r in readings for i in r.inputs]
        return self._explained(pairs, readings, [F.when(errored, c) for c in (F.col(TRIGGER), *inputs)])

    def evidence(self, pairs: DataFrame) -> ErrorContext:
        """What the filters read of the pairs' events."""
        given = self._readings(pairs)
        told = (replace(r, inputs=tuple(part for i in r.inputs for part in _as_text(i))) for r in given)
        return ErrorContext(tuple(told), tuple(test for r in given for i in r.inputs for test in _untold(i)))

    def explained_by(self, pairs: DataFrame, evidence: ErrorContext, text: Column) -> DataFrame:
        """`pairs`, all of which erred, as in `with_failures`; `text` holds what there is of their events."""
        return self._explained(pairs, evidence.readings, [F.col(TRIGGER), *evidence.read(text)])

    def _readings(self, pairs: DataFrame) -> tuple[Reading, ...]:
        """What the filters of each environment read."""
        events, found = pairs.drop(TRIGGER, OUTCOME), []
        for environment, needs in self._needs.items():
            # Spark has judged; what is lost may cost the text alone
            inputs = inputs_of(needs, layout_of(events, environment), exact=False)
            found.append(Reading(inputs, environment.record))
        return tuple(found)

    def _explained(self, pairs: DataFrame, readings: Sequence[Reading], columns: Sequence[Column]) -> DataFrame:
        given = (self._jobs, tuple(r.bare for r in readings))
        found = worker_column(_explain, given, columns, _SHAPE)
        kept = [F.col(quoted(c)) for c in pairs.columns if c not in (ERROR, SUBEXPRESSION)]
        failure = names_beside(c.lower() for c in pairs.columns).of("failure")
        return pairs.withColumn(failure, found).select(*kept, f"{failure}.{ERROR}", f"{failure}.{SUBEXPRESSION}")

    @cached_property
    def _jobs(self) -> dict[str, tuple[int, bytes]]:
        """The programs by trigger, with the number of what they read. Each is pickled by itself: a worker unpickles
        those of the filters that erred there."""
        numbers = {environment: n for n, environment in enumerate(self._needs)}
        return {id_: (numbers[_environment(f)], pickle.dumps(explaining_job(f))) for id_, f in self.filters.items()}

    @cached_property
    def _needs(self) -> dict[Environment, Requirements]:
        """What the filters of each environment read."""
        exprs: dict[Environment, list[Expr]] = {}
        for f in self.filters.values():
            exprs.setdefault(_environment(f), []).append(f.checked.checked.expr)
        return {environment: requirements(given, environment) for environment, given in exprs.items()}


def _environment(compiled: CompiledFilter) -> Environment:
    return compiled.checked.checked.environment


def _untold(i: Input) -> tuple[Sql, ...]:
    """What says that JSON does not tell `i`."""
    match i.kind:
        case Form.VARIANT:
            text = function("to_json", i.travels)
            known = operator("<=>", _kinds(i.travels), _kinds(function("try_parse_json", text)))
            return not_(known | is_bytes(i.travels)), is_not_null(i.where_infinite(text))
        case Form.INFINITE:
            return (is_not_null(i.travels),)
        case Form.EXTENSIONS:
            names = function("map_keys", i.travels)
            long = function("exists", names, lambda_(lambda name: function("length", name) > integer(_LONGEST_NAME)))
            return (function("coalesce", long, False),)
        case _:
            return ()


def _kinds(v: Operand) -> Sql:
    """A VARIANT's types, in which all numbers that JSON tells are one."""
    numbers = "DECIMAL[(][0-9]+,[0-9]+[)]|BIGINT|DOUBLE"
    return function("regexp_replace", function("schema_of_variant", v), numbers, "NUMBER")


def _as_text(i: Input) -> tuple[Input, ...]:
    """The inputs that tell in JSON what `i` tells."""
    match i.kind:
        case Form.VARIANT:
            binary = when(is_bytes(i.travels), function("variant_get", i.travels, "$", "binary"))
            return replace(i, kind=Form.JSON), replace(i, kind=Form.BINARY, sql=binary)
        case Form.INFINITE:
            return ()
        case _:
            return (i,)


def _explain(jobs: Mapping[str, tuple[int, bytes]], readings: tuple[Reading, ...]) -> Evaluate:
    readers = [Reader(r.inputs, record=r.record, whole=True) for r in readings]
    made: dict[str, Job] = {}

    def failure(id_: str, given: Activation | None) -> Failure:
        if id_ not in made:
            made[id_] = pickle.loads(jobs[id_][1])
        return failure_of(made[id_], given)

    def explain(*columns: pa.Array) -> pa.Array:
        texts: list[str | None] = [None] * len(columns[0])
        subexpressions = texts.copy()
        erred, (ids, *values) = those_with(*columns)
        begin = 0
        for number, (reading, reader) in enumerate(zip(readings, readers, strict=True)):
            rows = [row for row, id_ in enumerate(ids) if jobs[id_][0] == number]
            own = values[begin : begin + len(reading.inputs)]
            begin += len(reading.inputs)
            given, _ = reader.each([[column[row] for row in rows] for column in own], len(rows))
            for row, event in zip(rows, given, strict=True):
                found = failure(ids[row], event)
                texts[erred[row]], subexpressions[erred[row]] = found.text, found.subexpression
        fields = [pa.array(part, pa.string()) for part in (texts, subexpressions)]
        return pa.StructArray.from_arrays(fields, [ERROR, SUBEXPRESSION])

    return explain
