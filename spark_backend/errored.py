"""Why filters erred: the error's text and the subexpression that erred, for each event and trigger where one did.

Nothing is asked while events are judged; only the pairs that erred are evaluated again, here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from tricel.compiler import requirements

from .activation import Activation, Input, Job, Reader, as_seen
from .engines import OWN_ENGINE, Failure, Program, Refusal, prepare
from .fallback import inputs_of
from .fanout.join import OUTCOME, TRIGGER
from .layout import recognise
from .lowered import CompiledFilter
from .session import takes_unpaired_surrogates
from .sql import name as quoted
from .worker import worker_column

_SHAPE = "error STRING, subexpression STRING"
_UNREADABLE = Failure("the event holds a value that CEL does not have")
_UNKNOWN = Failure("the evaluation erred on Spark, and not when it was repeated")


def with_failures(pairs: DataFrame, filters: Mapping[str, CompiledFilter], errored: Column) -> DataFrame:
    """`pairs` of event and trigger with two columns more, NULL where `errored`, a BOOLEAN column, is not true.

    `error` STRING is the engine's text, `subexpression` STRING the innermost CEL that erred, empty where the engine
    cannot tell. `filters` are the filters by trigger, whose id is in the column `trigger`.
    """
    some = next(iter(filters.values())).checked.checked
    check_json = takes_unpaired_surrogates(pairs.sparkSession)
    layout = recognise(pairs.drop(TRIGGER, OUTCOME).schema, some.environment, check_json=check_json)
    needs = requirements([f.checked.checked.expr for f in filters.values()], some.environment)
    inputs = inputs_of(needs, layout)
    jobs = {id_: _job(f) for id_, f in filters.items()}
    columns = [F.when(errored, c) for c in (F.col(TRIGGER), *(F.expr(i.travels) for i in inputs))]
    found = worker_column(_explain, (jobs, tuple(replace(i, sql="") for i in inputs)), columns, _SHAPE)
    kept = [F.col(quoted(c)) for c in pairs.columns]
    return pairs.withColumn("__failure", found).select(*kept, "__failure.error", "__failure.subexpression")


def _job(compiled: CompiledFilter) -> Job:
    checked = compiled.checked.checked
    program = prepare(checked.expr, compiled.engine, dict(checked.environment.roots))
    if isinstance(program, Refusal):
        program = prepare(checked.expr, OWN_ENGINE, dict(checked.environment.roots))
    if not isinstance(program, Program):
        raise TypeError("our own evaluator refuses nothing")
    return Job((program,), checked.json_extensions)


def _explain(jobs: Mapping[str, Job], inputs: tuple[Input, ...]) -> Callable[..., Any]:
    read = Reader(inputs, attributes=True)

    def explain(*columns: pd.Series) -> pd.DataFrame:
        rows = zip(*(c.tolist() for c in columns), strict=True)
        found = [_failure(jobs[id_], read(row)[0]) if id_ is not None else None for id_, *row in rows]
        texts = {"error": [f and f.text for f in found], "subexpression": [f and f.subexpression for f in found]}
        return pd.DataFrame(texts, dtype=object)

    return explain


def _failure(job: Job, given: Activation | None) -> Failure:
    if given is None:
        return _UNREADABLE
    seen = as_seen(job, given)
    failures: Iterator[Failure | None] = (program.failure(seen) for program in job.programs)
    return next((f for f in failures if f is not None), _UNKNOWN)
