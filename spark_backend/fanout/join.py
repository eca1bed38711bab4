"""Fan-out on Spark: events are asked for keys, the keys find filters, and each candidate is evaluated by its shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from tricel.compiler import CompileError, Diagnostic, Environment, Requirements, requirements

from ..activation import Input, Job, Reader, Runner
from ..columns import OnError, column, where
from ..fallback import inputs_of
from ..layout import Layout, recognise
from ..reasons import NotNative
from ..sql import name
from ..worker import worker_column
from .choice import by_shape
from .names import Names, names_beside
from .plan import Asked, Entry, Plan, Trigger, plan
from .shapes import Residual
from .table import Row, hashed, table

TRIGGER, OUTCOME = "trigger", "outcome"
DELIVERED, ERRORED = "delivered", "errored"
_DROP, _KEEP, _FAIL = 0, 1, 2
_MESSAGE = "the filter cannot be evaluated on an event, of trigger "


def fan_out(
    df: DataFrame,
    triggers: Sequence[Trigger],
    *,
    on_error: str | Mapping[str, str] = "drop",
    outcomes: bool = False,
) -> DataFrame:
    """The pairs of event and trigger: a row for each event that a filter lets pass, with the trigger's id.

    They are the pairs that `where` gives for each filter alone. An event on which a filter errs is dropped, delivered,
    or fails the query: "drop", "deliver" or "fail", for all triggers or by trigger ("drop" for those not named).
    With `outcomes` the column `outcome` says "delivered" or "errored", and the errored pairs are there whatever is
    done with them, so that filtered = evaluated - delivered - errored.

    Raises:
        CompileError: where a filter does not fit the columns' types, or neither Spark nor its engine can evaluate it.
        LayoutError: where the columns do not hold events.
        ValueError: where two triggers have one id, or the events have a column of the name of one that is added.
    """
    added = (TRIGGER, OUTCOME) if outcomes else (TRIGGER,)
    clash = [c for c in df.columns if c.lower() in added]
    if clash:
        raise ValueError(f"the events have a column '{clash[0]}'")
    if len({t.id for t in triggers}) < len(triggers):
        raise ValueError("two triggers have one id")
    modes = {t.id: _mode(t.id, on_error, outcomes) for t in triggers}
    environments = {t.compiled.checked.checked.environment for t in triggers}
    layouts: dict[Environment, Layout] = {e: recognise(df.schema, e) for e in environments}
    names = names_beside(c.lower() for c in df.columns)
    chosen = plan(triggers, layouts, names, errors=[i for i, mode in modes.items() if mode != _DROP])
    if chosen.conditions:
        return _conditions(df, triggers, modes, outcomes=outcomes)
    return _Fan(df, chosen, modes, outcomes).pairs()


def _conditions(df: DataFrame, triggers: Sequence[Trigger], modes: Mapping[str, int], *, outcomes: bool) -> DataFrame:
    """The pairs of few filters: each evaluated on every event, all in one pass."""
    if len(triggers) == 1 and not outcomes:
        (trigger,) = triggers
        on_error: Mapping[int, OnError] = {_DROP: "drop", _KEEP: "deliver", _FAIL: "fail"}
        passed = where(df, trigger.compiled, on_error[modes[trigger.id]])
        return passed.withColumn(TRIGGER, F.lit(trigger.id))
    names = names_beside(c.lower() for c in df.columns)
    found = []
    for trigger in triggers:
        value, mode = column(trigger.compiled, df), modes[trigger.id]
        pair = F.struct(F.lit(trigger.id).alias(TRIGGER), F.coalesce(value, F.lit(False)).alias(OUTCOME))
        errs: Column = F.lit(mode == _KEEP)
        if mode == _FAIL:
            errs = F.raise_error(F.lit(_MESSAGE + trigger.id)).cast("boolean")
        found.append(F.when(F.coalesce(value, errs), pair))
    pair_ = names.of("pair")
    exploded = df.select("*", F.explode(F.array_compact(F.array(*found))).alias(pair_)) if found else df.limit(0)
    columns = [F.col(name(c)) for c in df.columns]
    columns.append(F.col(f"{pair_}.{TRIGGER}") if found else F.lit("").alias(TRIGGER))
    if outcomes:
        delivered: Column = F.col(f"{pair_}.{OUTCOME}") if found else F.lit(True)
        columns.append(F.when(delivered, DELIVERED).otherwise(ERRORED).alias(OUTCOME))
    return exploded.select(*columns)


def _mode(id_: str, on_error: str | Mapping[str, str], outcomes: bool) -> int:
    wanted = on_error if isinstance(on_error, str) else on_error.get(id_, "drop")
    match wanted:
        case "drop":
            return _KEEP if outcomes else _DROP
        case "deliver":
            return _KEEP
        case "fail":
            return _FAIL
        case _:
            raise ValueError(f"no such on_error: {wanted!r}")


@dataclass(frozen=True)
class _Fan:
    df: DataFrame
    plan: Plan
    modes: Mapping[str, int]
    outcomes: bool

    @property
    def names(self) -> Names:
        return self.plan.names

    def pairs(self) -> DataFrame:
        """All pairs: those of native filters, and in a pass of their own those that need the fallback."""
        native = [e for e in self.plan.entries if e.member.residual is None]
        rest = [e for e in self.plan.entries if e.member.residual is not None]
        found = [self._branch(native)] if native or not rest else []
        if rest:
            found.append(self._branch(rest))
        return found[0] if len(found) == 1 else found[0].unionAll(found[1])

    def _branch(self, entries: Sequence[Entry]) -> DataFrame:
        names = self.names
        candidates = self._candidates(entries)
        shapes = {e.member.shape.number: e.member.shape for e in entries}
        strict = {e.member.shape.number for e in entries if self.modes[e.member.id] != _DROP}
        users = Counter(e.member.shape.number for e in entries)
        conditions = {n: (s.sql if n in strict else s.truth) or "TRUE" for n, s in shapes.items()}
        value = F.expr(by_shape(sorted(conditions.items(), key=lambda c: -users[c[0]]), names))
        modes = {self.modes[e.member.id] for e in entries}
        judged = candidates.withColumn(names.of("value"), value)
        residual = [e for e in entries if e.member.residual is not None]
        if residual:
            judged = judged.where(self._passing(modes | {_DROP}) if modes == {_DROP} else _not_false(names))
            rest = _fallback(_programs(entries), self.plan, names)
            judged = judged.withColumn(names.of("value"), F.col(names.of("value")) & rest)
        passed = judged.where(self._passing(modes))
        columns = [F.col(name(c)) for c in self.df.columns]
        columns.append(F.col(names.of("trigger")).alias(TRIGGER))
        if self.outcomes:
            columns.append(F.when(F.col(names.of("value")), DELIVERED).otherwise(ERRORED).alias(OUTCOME))
        return passed.select(*columns)

    def _passing(self, modes: set[int]) -> Column:
        """Which candidates are pairs."""
        value, mode = F.col(self.names.of("value")), F.col(self.names.of("errors"))
        if modes <= {_DROP}:
            return value
        errs: Column = F.lit(True) if modes == {_KEEP} else mode != _DROP
        if _FAIL in modes:
            trigger = F.col(self.names.of("trigger"))
            message = F.concat(F.lit(_MESSAGE), trigger)
            errs = F.when(mode == _FAIL, F.raise_error(message).cast("boolean")).otherwise(errs)
        return F.coalesce(value, errs)

    def _candidates(self, entries: Sequence[Entry]) -> DataFrame:
        """Events joined with the filters that they have a key of, each filter once."""
        names, plan_ = self.names, self.plan
        used = sorted({e.asked for e in entries})
        keys = [_question(plan_.asked[i], i) for i in used] or ["CAST(NULL AS BIGINT)"]
        parsed = self.df
        wanted = plan_.documents
        if wanted:
            parsed = parsed.select("*", *(F.expr(f"{sql} AS {n}") for n, sql in wanted.items()))
        keyed = parsed.select("*", F.expr(f"array({', '.join(keys)}) AS {names.of('keys')}"))
        # `explode` would have Spark filter by the size of the array first, and so compute all keys twice.
        exploded = keyed.select("*", F.explode_outer(names.of("keys")).alias(names.of("asked")))
        rows: list[Row] = []
        ids: dict[int, int] = {}
        for e in entries:
            program = ids.setdefault(id(e.member.residual), len(ids)) if e.member.residual is not None else None
            rows.append(Row(e, e.member.shape.number, self.modes[e.member.id], program))
        filters = table(self.df.sparkSession, rows, names)
        joined = exploded.join(F.broadcast(filters), F.col(names.of("asked")) == F.col(names.of("key")))
        if any(e.earlier for e in entries):
            seen = f"arrays_overlap({names.of('earlier')}, {names.of('keys')})"
            joined = joined.where(f"NOT coalesce({seen}, FALSE)")
        return _fenced(joined, names)


def _fenced(candidates: DataFrame, names: Names) -> DataFrame:
    """The same rows, with the shape from a generator, so that what depends on the shape is computed after the join.

    Spark would make a condition on candidates a condition of the join, and pull each read of a VARIANT in it below the
    join, where every event pays for it once for each of its keys.
    """
    return candidates.withColumn(names.of("shape"), F.explode_outer(F.array(names.of("shape"))))


def _not_false(names: Names) -> Column:
    return F.coalesce(F.col(names.of("value")), F.lit(True))


def _question(asked: Asked | None, position: int) -> str:
    return "0L" if asked is None else hashed(asked.sql, position)


@dataclass(frozen=True, slots=True)
class _Task:
    """One filter's programs, with the positions of what they read among the columns that travel."""

    job: Job
    inputs: tuple[Input, ...]
    positions: tuple[int, ...]
    attributes: bool


def _programs(entries: Sequence[Entry]) -> list[tuple[Residual, Layout]]:
    """The residuals by program number, as `_candidates` numbers them."""
    found: dict[int, tuple[Residual, Layout]] = {}
    for e in entries:
        residual = e.member.residual
        if residual is not None:
            found.setdefault(id(residual), (residual, e.member.shape.layout))
    return list(found.values())


def _fallback(residuals: Sequence[tuple[Residual, Layout]], plan_: Plan, names: Names) -> Column:
    """BOOLEAN: whether the programs of the row's filter hold, NULL where one errs; in one pass over Arrow batches."""
    parsed = {sql: document for document, sql in plan_.documents.items()}
    travelling: dict[Input, int] = {}
    tasks = []
    for residual, layout in residuals:
        needs: Requirements = requirements(residual.exprs, residual.environment)
        try:
            given = inputs_of(needs, layout)
        except NotNative as e:
            raise _refused(residual, e) from e
        inputs = [replace(i, sql=parsed.get(i.sql, i.sql)) for i in given]
        positions = tuple(travelling.setdefault(i, len(travelling)) for i in inputs)
        job = Job(residual.programs, residual.json_extensions)
        tasks.append(_Task(job, tuple(replace(i, sql="") for i in inputs), positions, "ce" in needs.roots))
    columns = [F.col(names.of("program")), *(F.expr(i.travels) for i in travelling)]
    return worker_column(_evaluator, (tuple(tasks),), columns, "boolean")


def _refused(residual: Residual, why: NotNative) -> CompileError:
    message = f"neither Spark nor the fallback can evaluate this: {why.reason}"
    return CompileError((Diagnostic("TRI401", message, residual.source, residual.exprs[0].span),))


def _evaluator(tasks: tuple[_Task, ...]) -> Callable[..., Any]:
    runners = [Runner(task.job) for task in tasks]
    readers = [Reader(task.inputs, attributes=task.attributes) for task in tasks]

    def evaluate(*columns: pd.Series) -> pd.Series:
        outcomes: list[bool | None] = []
        for number, *row in zip(*(c.tolist() for c in columns), strict=True):
            given, fit = readers[number]([row[i] for i in tasks[number].positions])
            outcomes.append(runners[number](given, fit=fit))
        return pd.Series(outcomes, dtype=object)

    return evaluate
