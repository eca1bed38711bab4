"""Why filters erred: the error's text and the subexpression that erred, for each event and trigger where one did.

Nothing is asked while events are judged; only the pairs that erred are evaluated again, here. A query whose pairs are
explained sends all of them past Python. A run keeps what it needs of those that erred instead (`Evidence`), and explains
them alone, in a query of their own.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from tricel.compiler import Requirements, requirements

from .activation import Activation, Form, Input, Job, Reader, as_seen
from .batches import Evaluate, those_with
from .engines import OWN_ENGINE, Failure
from .fanout.join import OUTCOME, TRIGGER
from .fanout.names import names_beside
from .frames import layout_of
from .inputs import inputs_of
from .jobs import job_of
from .lowered import CompiledFilter
from .sql import name as quoted
from .stored import is_bytes
from .worker import worker_column

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
_UNREADABLE = Failure("the event holds a value that CEL does not have")
UNKNOWN = Failure("the evaluation erred on Spark, and not when it was repeated")


def with_failures(pairs: DataFrame, filters: Mapping[str, CompiledFilter], errored: Column) -> DataFrame:
    """`pairs` of event and trigger with two columns, NULL where `errored`, a BOOLEAN column, is not true.

    They replace columns of those names. `error` STRING is the text, `subexpression` STRING the innermost CEL that
    erred, empty where that is not known. `filters` are the filters by trigger, whose id is in the column `trigger`.
    """
    return Explainer(filters).explained(pairs, errored)


@dataclass(frozen=True)
class Evidence:
    """What filters read of an event, as a text that outlasts the query which judged the event."""

    inputs: tuple[Input, ...]
    untold: tuple[str, ...]

    @property
    def text(self) -> Column:
        """The text of it, a STRING."""
        return F.to_json(F.struct(*(F.expr(i.travels).alias(f"input{n}") for n, i in enumerate(self.inputs))))

    @property
    def lacks(self) -> Column:
        """Whether the event holds what the text does not tell; BOOLEAN.

        Of a VARIANT it tells what JSON does. Dates and the like are found, but not beside other types in one array.
        """
        return F.expr(" OR ".join(["FALSE", *self.untold]))

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
        inputs = self._inputs(pairs)
        columns = [F.when(errored, c) for c in (F.col(TRIGGER), *(F.expr(i.travels) for i in inputs))]
        return self._explained(pairs, inputs, columns)

    def evidence(self, pairs: DataFrame) -> Evidence:
        """What the filters read of the pairs' events."""
        given = self._inputs(pairs)
        return Evidence(
            tuple(part for i in given for part in _as_text(i)), tuple(text for i in given for text in _untold(i))
        )

    def explained_by(self, pairs: DataFrame, evidence: Evidence, text: Column) -> DataFrame:
        """`pairs`, all of which erred, as in `with_failures`; `text` holds what there is of their events."""
        return self._explained(pairs, evidence.inputs, [F.col(TRIGGER), *evidence.read(text)])

    def _inputs(self, pairs: DataFrame) -> tuple[Input, ...]:
        environment = next(iter(self.filters.values())).checked.checked.environment
        layout = layout_of(pairs.drop(TRIGGER, OUTCOME), environment)
        return inputs_of(self._needs, layout, exact=False)  # Spark has judged; what is lost may cost the text alone

    def _explained(self, pairs: DataFrame, inputs: Sequence[Input], columns: Sequence[Column]) -> DataFrame:
        found = worker_column(_explain, (self._jobs, tuple(i.bare for i in inputs)), columns, _SHAPE)
        kept = [F.col(quoted(c)) for c in pairs.columns if c not in (ERROR, SUBEXPRESSION)]
        failure = names_beside(c.lower() for c in pairs.columns).of("failure")
        return pairs.withColumn(failure, found).select(*kept, f"{failure}.{ERROR}", f"{failure}.{SUBEXPRESSION}")

    @cached_property
    def _jobs(self) -> dict[str, bytes]:
        """The programs, each pickled by itself: a worker unpickles those of the filters that erred there."""
        return {id_: pickle.dumps(_job(f)) for id_, f in self.filters.items()}

    @cached_property
    def _needs(self) -> Requirements:
        environment = next(iter(self.filters.values())).checked.checked.environment
        return requirements([f.checked.checked.expr for f in self.filters.values()], environment)


def _untold(i: Input) -> tuple[str, ...]:
    """The SQL of what says that JSON does not tell `i`."""
    match i.kind:
        case Form.VARIANT:
            text = f"to_json({i.sql})"
            other = f"NOT ({_kinds(i.sql)} <=> {_kinds(f'try_parse_json({text})')} OR {is_bytes(i.sql)})"
            return other, f"({i.where_infinite(text)}) IS NOT NULL"
        case Form.INFINITE:
            return (f"({i.travels}) IS NOT NULL",)
        case Form.EXTENSIONS:
            return (f"COALESCE(exists(map_keys({i.sql}), name -> length(name) > {_LONGEST_NAME}), FALSE)",)
        case _:
            return ()


def _kinds(variant: str) -> str:
    """The SQL of a VARIANT's types, in which all numbers that JSON tells are one."""
    return f"regexp_replace(schema_of_variant({variant}), 'DECIMAL[(][0-9]+,[0-9]+[)]|BIGINT|DOUBLE', 'NUMBER')"


def _as_text(i: Input) -> tuple[Input, ...]:
    """The inputs that tell in JSON what `i` tells."""
    match i.kind:
        case Form.VARIANT:
            binary = f"CASE WHEN {is_bytes(i.sql)} THEN variant_get({i.sql}, '$', 'binary') END"
            return replace(i, kind=Form.JSON), replace(i, kind=Form.BINARY, sql=binary)
        case Form.INFINITE:
            return ()
        case _:
            return (i,)


def _job(compiled: CompiledFilter) -> Job:
    for engine in (compiled.engine, OWN_ENGINE):
        found = job_of(compiled, (compiled.checked.checked.expr,), engine)
        if isinstance(found, Job):
            return found
    raise TypeError("our own evaluator refuses nothing")


def _explain(jobs: Mapping[str, bytes], inputs: tuple[Input, ...]) -> Evaluate:
    read = Reader(inputs, attributes=True, whole=True)
    made: dict[str, Job] = {}

    def failure(id_: str, given: Activation | None) -> Failure:
        if id_ not in made:
            made[id_] = pickle.loads(jobs[id_])
        return _failure(made[id_], given)

    def explain(*columns: pa.Array) -> pa.Array:
        texts: list[str | None] = [None] * len(columns[0])
        subexpressions = texts.copy()
        erred, (ids, *values) = those_with(*columns)
        given, _ = read.each(values, len(ids))
        for i, id_, event in zip(erred, ids, given, strict=True):
            found = failure(id_, event)
            texts[i], subexpressions[i] = found.text, found.subexpression
        fields = [pa.array(part, pa.string()) for part in (texts, subexpressions)]
        return pa.StructArray.from_arrays(fields, [ERROR, SUBEXPRESSION])

    return explain


def _failure(job: Job, given: Activation | None) -> Failure:
    if given is None:
        return _UNREADABLE
    seen = as_seen(job, given)
    failures: Iterator[Failure | None] = (program.failure(seen) for program in job.programs)
    return next((f for f in failures if f is not None), UNKNOWN)
