"""A compiled filter on Spark: its conjuncts, each native SQL or left to the fallback with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape

from tricel.compiler import (
    Checked,
    CheckedFilter,
    CompileError,
    Diagnostic,
    Environment,
    Expr,
    Requirements,
    Source,
    check,
    conjuncts,
    errors,
    simplified,
    unparse,
)
from tricel.compiler.diagnostics.as_text import visible
from tricel.compiler.faults import REPORT, bounded, internal_error, kind_and_place

from .engines import DEFAULT_ENGINE, ENGINES, Refusal, prepare
from .sql import Sql, Typed, all_of, render
from .sql.columns import Documents, around
from .sql.context import MAX_NESTING
from .sql.layout import Layout, LayoutError, default_layout
from .sql.lower import Lowering
from .sql.reasons import NotNative

_LINE = 80
"""Most characters of an expression in a line that stands for it."""
_DEEP = MAX_NESTING // 2
"""Nesting from which on the text is written once when it is lowered, for writing it takes deep recursion."""


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One operand of a filter's top-level `&&`.

    `sql` is a Spark SQL condition of its own, NULL where the conjunct errs; empty when not native, and then `reason`
    says why Spark cannot evaluate it and `engine` what does. `body` is that condition over the parsed `documents`.
    `warning` tells of a lowering that failed.
    """

    expr: Expr
    native: bool
    reason: str = ""
    engine: str = ""
    body: Typed | None = field(default=None, repr=False)
    documents: Documents = field(default=(), repr=False)
    taken: frozenset[str] = field(default=frozenset(), repr=False)
    warning: Diagnostic | None = field(default=None, repr=False)

    @property
    def sql(self) -> str:
        """The condition's text."""
        return render(around(self.condition, self.documents), self.taken, lines=True) if self.native else ""

    @property
    def condition(self) -> Typed:
        """The condition over its documents.

        Raises:
            ValueError: for a conjunct that is not native.
        """
        if self.body is None or not self.native:
            raise ValueError("not a native conjunct")
        return self.body

    @property
    def cel(self) -> str:
        """The conjunct's CEL text."""
        return unparse(self.expr)


@dataclass(frozen=True, repr=False)
class CompiledFilter:
    """A filter, checked and lowered for a layout.

    `lowered` is the expression as it was simplified. `conjuncts` hold together what it means; those that are native
    run first, as one condition `native_sql`.
    """

    checked: CheckedFilter
    lowered: Checked
    layout: Layout
    engine: str
    conjuncts: tuple[Conjunct, ...]

    def __repr__(self) -> str:
        left = (
            f", {len(self.residual)} of {len(self.conjuncts)} conjuncts left to {self.engine}" if self.residual else ""
        )
        return f"<{type(self).__name__} {in_a_line(self.cel)}{left}>"

    def _repr_html_(self) -> str:
        """The CEL and the SQL, for notebooks."""
        parts = (("CEL", self.cel), ("Spark SQL", self.sql))
        return "".join(f"<div><b>{title}</b><pre>{escape(text)}</pre></div>" for title, text in parts)

    @property
    def cel(self) -> str:
        """The canonical CEL text."""
        return self.checked.cel

    @property
    def requirements(self) -> Requirements:
        """What the filter reads from an event."""
        return self.checked.requirements

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The warnings there were."""
        return self.checked.diagnostics + tuple(c.warning for c in self.conjuncts if c.warning is not None)

    @cached_property
    def native(self) -> Sql | None:
        """The native conjuncts as one condition; None when there is none.

        Conjuncts that read the same JSON text share one parse of it.
        """
        return self._together([(c.condition.sql, c.documents) for c in self.conjuncts if c.native])

    @cached_property
    def native_sql(self) -> str:
        """The text of `native`; empty when there is none."""
        return "" if self.native is None else self.text(self.native)

    @cached_property
    def native_truth(self) -> str:
        """A condition that is TRUE for the same events as `native_sql`, and does not tell an error from false.

        It is what `where` runs when errors are dropped.
        """
        bodies = [(c.condition, c.documents) for c in self.conjuncts if c.native]
        if all(body.when_true is None for body, _ in bodies):
            return self.native_sql
        found = self._together([(body.truth, read) for body, read in bodies])
        return "" if found is None else self.text(found)

    def text(self, node: Sql) -> str:
        """The text of an SQL expression over the events' columns."""
        return render(node, self.layout.taken, lines=True)

    @staticmethod
    def _together(native: Sequence[tuple[Sql, Documents]]) -> Sql | None:
        """Conditions as one: those that read no JSON text bare, the others around one parse of each text."""
        bare = [condition for condition, documents in native if not documents]
        reading = [condition for condition, documents in native if documents]
        if reading:
            bare.append(around(all_of(reading), dict(d for _, documents in native for d in documents).items()))
        return all_of(bare) if bare else None

    @property
    def residual(self) -> tuple[Conjunct, ...]:
        """The conjuncts that the fallback evaluates."""
        return tuple(c for c in self.conjuncts if not c.native)

    @cached_property
    def sql(self) -> str:
        """The filter as Spark SQL for reading: the condition that runs natively, and the rest as comments."""
        lines = [self.native_sql] if self.native_sql else []
        for conjunct in self.residual:
            lines.append(f"-- AND evaluated by {conjunct.engine}: {conjunct.cel}")
            lines.append(f"--     because of {conjunct.reason}")
        return "\n".join(lines)


def in_a_line(cel: str) -> str:
    """An expression, or its beginning, without what a terminal would not show as a character of a line."""
    text = visible(cel[: _LINE + 1])
    return text if len(text) <= _LINE else f"{text[: _LINE - 3]}..."


def lower_filter(
    checked: CheckedFilter, layout: Layout | None = None, engine: str = DEFAULT_ENGINE, *, simplify: bool = True
) -> CompiledFilter:
    """Lowers a checked filter for a layout, simplified first unless told not to.

    Without a layout it is that of a table which nobody has described.

    Raises:
        CompileError: where neither Spark nor the engine can evaluate a conjunct, or the columns' types do not fit.
        ValueError: where there is no such engine.
    """
    if engine not in ENGINES:
        raise ValueError(f"no such engine: {engine!r}; there are {', '.join(ENGINES)}")

    def refused(fault: Exception) -> CompiledFilter:
        raise CompileError((internal_error(fault, checked.source, checked.checked.expr.span),)) from fault

    chosen = default_layout(checked.checked.environment) if layout is None else layout
    return bounded(lambda: _lower_filter(checked, chosen, engine, simplify), refused, CompileError, LayoutError)


def _lower_filter(checked: CheckedFilter, layout: Layout, engine: str, simplify: bool) -> CompiledFilter:
    environment = layout.environment(checked.checked.environment)
    if environment != checked.checked.environment:
        checked = _rechecked(checked, environment)
    simpler = simplified(checked.checked, checked.source) if simplify else checked.checked
    problems: list[Diagnostic] = []
    lowered = []
    for e in conjuncts(simpler.expr):
        conjunct = _lower(e, simpler, layout, checked.source)
        lowered.append(conjunct if conjunct.native else _left(conjunct, checked, engine, problems))
    if problems:
        raise CompileError((*checked.diagnostics, *problems))
    return CompiledFilter(checked, simpler, layout, engine, tuple(lowered))


def _rechecked(checked: CheckedFilter, environment: Environment) -> CheckedFilter:
    again = check(checked.checked.expr, environment, checked.source, version=checked.checked.version)
    if errors(again.diagnostics):
        raise CompileError(again.diagnostics)
    return CheckedFilter(again, checked.source, checked.dialect, checked.warnings)


def _lower(e: Expr, checked: Checked, layout: Layout, source: Source) -> Conjunct:
    try:
        return bounded(
            lambda: _native(e, checked, layout), lambda fault: _failed(fault, e, source), NotNative, LayoutError
        )
    except NotNative as refusal:
        return Conjunct(e, native=False, reason=refusal.reason)


def _failed(fault: Exception, e: Expr, source: Source) -> Conjunct:
    what = kind_and_place(fault)
    message = f"the lowering of '{unparse(e)}' failed with {what}: it is left to the fallback"
    warning = Diagnostic("TRI402", message, source, e.span, REPORT)
    return Conjunct(e, native=False, reason=f"a fault of tricel: {what}", warning=warning)


def _native(e: Expr, checked: Checked, layout: Layout) -> Conjunct:
    walk = Lowering(checked, layout)
    body = walk.condition(e, {})
    found = Conjunct(e, native=True, body=body, documents=tuple(walk.documents.items()), taken=layout.taken)
    if body.sql.extent.depth > _DEEP:
        render(body.sql)
    return found


def _left(conjunct: Conjunct, checked: CheckedFilter, engine: str, problems: list[Diagnostic]) -> Conjunct:
    """A conjunct that Spark cannot evaluate, with what can; a problem where nothing can."""
    program = prepare(conjunct.expr, engine, dict(checked.checked.environment.roots), checked.checked.record)
    if not isinstance(program, Refusal):
        return replace(conjunct, engine=program.engine)
    message = f"Spark cannot evaluate this ({conjunct.reason}), and {engine} refuses it: {program.reason}"
    help_ = "choose another engine, or write it otherwise"
    problems.append(Diagnostic("TRI401", message, checked.source, conjunct.expr.span, help_))
    return conjunct
