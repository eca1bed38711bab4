"""Fan-out on Spark: events are asked for keys, the keys find filters, and each candidate is evaluated by its shape."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from tricel.compiler import Environment

from ..arguments import frame, triggers_of
from ..compiled_filter import CompiledFilter
from ..dataframes import OnError, fitted_to, outcomes_of, passing
from ..failure import Warn, warn_user
from ..frames import expression, layouts_of
from ..sql import Sql, array, function, integer, literal, not_, null, quoted
from ..sql.layout import Layout
from ..sql.names import Names, names_beside
from .planning import levels
from .planning.choice import by_shape
from .planning.levels import Mask
from .planning.plan import Asked, Plan, Trigger, plan
from .programs import Programs
from .table import Row, hashed, keyed, table

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
    prepared: dict[str, Prepared] | None = None,
    warn: Warn = warn_user,
) -> DataFrame:
    """The pairs of event and trigger: a row for each event that a filter lets pass, with the trigger's id.

    They are the pairs that `where` gives for each filter alone. An event on which a filter errs is dropped, delivered,
    or fails the query: "drop", "deliver" or "fail", as a mapping says by trigger, or else the trigger itself (its
    `on_error`, which is that of its annotation), or else what is given for all.
    With `outcomes` the column `outcome` says "delivered" or "errored", and the errored pairs are there whatever is
    done with them, so that filtered = evaluated - delivered - errored. `prepared` keeps what is made of these triggers
    for a table's columns, so that the next table of the same columns needs no plan; it is for these arguments alone.
    An optional attribute that a filter reads and no event can have is told to `warn`, a TricelWarning by itself.

    Raises:
        CompileError: where a filter does not fit the columns' types, or neither Spark nor its engine can evaluate it.
        LayoutError: where the columns do not hold events, or lack what a filter reads.
        TypeError: where the arguments are not a DataFrame and triggers.
        ValueError: where two triggers have one id, `on_error` names a trigger that is not there, or the events have a
            column of the name of one that is added.
    """
    frame("fan_out", df)
    triggers_of("fan_out", triggers)
    added = (TRIGGER, OUTCOME) if outcomes else (TRIGGER,)
    clash = [c for c in df.columns if c.lower() in added]
    if clash:
        raise ValueError(f"the events have a column '{clash[0]}'")
    if len({t.id for t in triggers}) < len(triggers):
        raise ValueError("two triggers have one id")
    by_id = {} if isinstance(on_error, str) else on_error
    if unknown := sorted(by_id.keys() - {t.id for t in triggers}):
        raise ValueError(f"on_error names no trigger here: {', '.join(unknown)}")
    for_all = on_error if isinstance(on_error, str) else "drop"
    modes = {t.id: _mode(by_id.get(t.id) or getattr(t, "on_error", "") or for_all, outcomes) for t in triggers}
    known = {} if prepared is None else prepared
    key = df.schema.json() if prepared is not None else ""
    ready = known.get(key)
    if ready is None:
        ready = known[key] = _prepared(df, triggers, modes, warn)
    if ready.filters is None:
        fitted = [fitted_to(ready.layouts[t.compiled.checked.checked.environment], t.compiled) for t in triggers]
        return _conditions(df, triggers, fitted, modes, outcomes=outcomes)
    return _Fan(df, ready, ready.filters, outcomes).pairs()


def _conditions(
    df: DataFrame,
    triggers: Sequence[Trigger],
    fitted: Sequence[CompiledFilter],
    modes: Mapping[str, int],
    *,
    outcomes: bool,
) -> DataFrame:
    """The pairs of few filters: each evaluated on every event, all in one pass. `fitted` are their filters."""
    if len(triggers) == 1 and not outcomes:
        (trigger,) = triggers
        on_error: Mapping[int, OnError] = {_DROP: "drop", _KEEP: "deliver", _FAIL: "fail"}
        passed = passing(df, fitted[0], on_error[modes[trigger.id]])
        return passed.withColumn(TRIGGER, F.lit(trigger.id))
    names = names_beside(c.lower() for c in df.columns)
    values = {names.of(f"value{i}"): f for i, f in enumerate(fitted)}
    found = []
    for value_, trigger in zip(values, triggers, strict=True):
        value, mode = F.col(value_), modes[trigger.id]
        pair = F.struct(F.lit(trigger.id).alias(TRIGGER), F.coalesce(value, F.lit(False)).alias(OUTCOME))
        errs: Column = F.lit(mode == _KEEP)
        if mode == _FAIL:
            errs = F.raise_error(F.lit(_MESSAGE + trigger.id)).cast("boolean")
        found.append(F.when(F.coalesce(value, errs), pair))
    nothing = F.lit(None).cast(f"struct<{TRIGGER}: string, {OUTCOME}: boolean>")
    pair_, kept = names.of("pair"), [F.col(quoted(c)) for c in df.columns]
    each = F.explode(F.array_compact(F.array(*found, nothing))).alias(pair_)
    columns = [*kept, F.col(f"{pair_}.{TRIGGER}")]
    if outcomes:
        columns.append(F.when(F.col(f"{pair_}.{OUTCOME}"), DELIVERED).otherwise(ERRORED).alias(OUTCOME))
    return outcomes_of(df, values).select(*kept, each).select(*columns)


def _mode(wanted: str, outcomes: bool) -> int:
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
class Prepared:
    """Everything about filters that does not depend on the events, for one layout of columns.

    `filters` is the table of them; None where they are better plain conditions.
    """

    plan: Plan
    modes: Mapping[str, int]
    programs: Programs
    value: Sql
    filters: DataFrame | None
    layouts: Mapping[Environment, Layout]


def _prepared(df: DataFrame, triggers: Sequence[Trigger], modes: Mapping[str, int], warn: Warn) -> Prepared:
    layouts = layouts_of(df, [t.compiled.checked for t in triggers], warn)
    names = names_beside(c.lower() for c in df.columns)
    chosen = plan(triggers, layouts, names, errors=[i for i, mode in modes.items() if mode != _DROP])
    if chosen.conditions:
        return Prepared(chosen, modes, Programs(), literal(True), None, layouts)
    entries = chosen.entries
    shapes = {e.member.shape.number: e.member.shape for e in entries}
    strict = {e.member.shape.number for e in entries if modes[e.member.id] != _DROP}
    users = Counter(e.member.shape.number for e in entries)
    conditions = {n: s.sql if n in strict else s.truth for n, s in shapes.items()}
    value = by_shape(sorted(conditions.items(), key=lambda c: -users[c[0]]), names)
    programs = Programs()
    rows = [Row(e, e.member.shape.number, modes[e.member.id], *programs.numbers(e.member)) for e in entries]
    return Prepared(chosen, modes, programs, value, table(df.sparkSession, rows, names), layouts)


@dataclass(frozen=True)
class _Fan:
    df: DataFrame
    ready: Prepared
    filters: DataFrame
    outcomes: bool

    @property
    def plan(self) -> Plan:
        return self.ready.plan

    @property
    def modes(self) -> Mapping[str, int]:
        return self.ready.modes

    @property
    def names(self) -> Names:
        return self.plan.names

    def pairs(self) -> DataFrame:
        """All pairs, in one pass: the fallback is asked for the candidates of its own filters that are still open."""
        names, programs = self.names, self.ready.programs
        value = expression(self.ready.value, self.df.columns)
        modes = {self.modes[e.member.id] for e in self.plan.entries}
        judged = self._judged(self._candidates(), value, once=modes != {_DROP})
        if programs.found:
            open_ = self._narrow(judged.where(self._passing({_KEEP if mode == _FAIL else mode for mode in modes})))
            rest = programs.column(self.plan, self.df.columns)
            if modes != {_DROP}:  # a column of its own: Spark loses others when it takes it out of a generator
                open_ = open_.withColumn(names.of("rest"), rest)
                rest = F.col(names.of("value")) & F.col(names.of("rest"))
            judged = self._judged(open_, rest, once=modes != {_DROP})
        passed = judged.where(self._passing(modes))
        columns = [F.col(quoted(c)) for c in self.df.columns]
        columns.append(F.col(names.of("trigger")).alias(TRIGGER))
        if self.outcomes:
            columns.append(F.when(F.col(names.of("value")), DELIVERED).otherwise(ERRORED).alias(OUTCOME))
        return passed.select(*columns)

    def _judged(self, candidates: DataFrame, value: Column, *, once: bool) -> DataFrame:
        """Candidates with a value. `once`: from a generator, behind which Spark cannot copy it into each place of use,
        nor move it before a condition that came first; an Arrow pass would be made for each copy."""
        return candidates.withColumn(self.names.of("value"), F.explode_outer(F.array(value)) if once else value)

    def _narrow(self, candidates: DataFrame) -> DataFrame:
        """Candidates with the columns that are read from here on: Spark keeps whole rows for the time that Python takes."""
        names = self.names
        kept = [F.col(quoted(c)) for c in self.df.columns]
        own = ("trigger", "value", "errors", "program", "reads")
        return _fenced(candidates.select(*kept, *map(names.of, own), *self.plan.documents), names.of("reads"))

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

    def _candidates(self) -> DataFrame:
        """Events joined with the filters that they have a key of, each filter once."""
        names, plan_, entries = self.names, self.plan, self.plan.entries
        used = sorted({e.asked for e in entries})
        topics = {sql: number for number, sql in plan_.topics.items()}
        masks: dict[int, list[tuple[int, Mask]]] = defaultdict(list)
        keys: list[Sql] = []
        for i in used:
            question = plan_.asked[i]
            if question is None or question.mask is None:
                keys.append(_question(question, i))
            else:
                masks[topics[question.probe.sql]].append((i, question.mask))
        hashes: dict[str, Sql] = {}
        for number, asked in masks.items():
            hashes |= levels.hashes((mask for _, mask in asked), number, names)
            keys += levels.keys(asked, number, names, lambda made, i: keyed(made, integer(i)))
        keys = keys or [null("BIGINT")]
        parsed = self.df
        for wanted in (plan_.documents, levels.split(plan_.topics, names), hashes):
            if wanted:
                parsed = parsed.select("*", *(expression(sql, self.df.columns).alias(n) for n, sql in wanted.items()))
        asking = parsed.select("*", expression(array(keys), self.df.columns).alias(names.of("keys")))
        # `explode` would have Spark filter by the size of the array first, and so compute all keys twice.
        exploded = asking.select("*", F.explode_outer(names.of("keys")).alias(names.of("asked")))
        joined = exploded.join(F.broadcast(self.filters), F.col(names.of("asked")) == F.col(names.of("key")))
        if any(e.earlier for e in entries):
            seen = function("arrays_overlap", names.column("earlier"), names.column("keys"))
            joined = joined.where(expression(not_(function("coalesce", seen, False))))
        # Spark would make a condition on candidates a condition of the join, and pull each read of a VARIANT in it below
        # the join, where every event pays for it once for each of its keys.
        return _fenced(joined, names.of("shape"))


def _fenced(candidates: DataFrame, column: str) -> DataFrame:
    """The same rows, with a column from a generator: what depends on it is computed here or later, never before."""
    return candidates.withColumn(column, F.explode_outer(F.array(column)))


def _question(asked: Asked | None, position: int) -> Sql:
    return literal(0) if asked is None else hashed(asked.sql, integer(position))
