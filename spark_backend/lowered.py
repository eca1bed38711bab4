"""A compiled filter on Spark: its conjuncts, each native SQL or left to the fallback with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tricel.compiler import (
    Checked,
    CheckedFilter,
    CompileError,
    Diagnostic,
    Environment,
    Expr,
    Requirements,
    check,
    conjuncts,
    errors,
    simplified,
    unparse,
)

from .engines import DEFAULT_ENGINE, ENGINES, Refusal, prepare
from .layout import DEFAULT, Layout
from .lower import Lowering
from .reasons import NotNative
from .sql import Sql


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One operand of a filter's top-level `&&`.

    `sql` is a Spark SQL condition of its own, NULL where the conjunct errs; empty when not native, and then `reason`
    says why Spark cannot evaluate it and `engine` what does.
    """

    expr: Expr
    native: bool
    reason: str = ""
    sql: str = ""
    engine: str = ""
    body: Sql | None = field(default=None, repr=False)
    documents: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def cel(self) -> str:
        """The conjunct's CEL text."""
        return unparse(self.expr)


@dataclass(frozen=True)
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
        return self.checked.diagnostics

    @cached_property
    def native_sql(self) -> str:
        """The native conjuncts as one condition; empty when there is none.

        Conjuncts that read the same JSON text share one parse of it.
        """
        return native_condition([c for c in self.conjuncts if c.native])

    @cached_property
    def native_truth(self) -> str:
        """A condition that is TRUE for the same events as `native_sql`, and does not tell an error from false.

        It is what `where` runs when errors are dropped.
        """
        return native_condition([_truthful(c) for c in self.conjuncts if c.native])

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


def lower_filter(
    checked: CheckedFilter, layout: Layout = DEFAULT, engine: str = DEFAULT_ENGINE, *, simplify: bool = True
) -> CompiledFilter:
    """Lowers a checked filter for a layout, simplified first unless told not to.

    Raises:
        CompileError: where neither Spark nor the engine can evaluate a conjunct, or the columns' types do not fit.
        ValueError: where there is no such engine.
    """
    if engine not in ENGINES:
        raise ValueError(f"no such engine: {engine!r}; there are {', '.join(ENGINES)}")
    environment = layout.environment(checked.checked.environment)
    if environment != checked.checked.environment:
        checked = _rechecked(checked, environment)
    simpler = simplified(checked.checked, checked.source) if simplify else checked.checked
    problems: list[Diagnostic] = []
    lowered = []
    for e in conjuncts(simpler.expr):
        conjunct = _lower(e, simpler, layout)
        lowered.append(conjunct if conjunct.native else _left(conjunct, checked, engine, problems))
    if problems:
        raise CompileError((*checked.diagnostics, *problems))
    return CompiledFilter(checked, simpler, layout, engine, tuple(lowered))


def native_condition(native: Sequence[Conjunct]) -> str:
    """Native conjuncts as one condition: those that read no JSON text bare, the others around one parse."""
    bare = [_term(c) for c in native if not c.documents]
    reading = [c for c in native if c.documents]
    if reading:
        documents = dict(pair for c in reading for pair in c.documents)
        bare.append(around("\n  AND ".join(map(_term, reading)), documents.items()))
    if len(bare) == 1 and not reading:
        return native[0].sql
    return "\nAND ".join(bare)


def _truthful(conjunct: Conjunct) -> Conjunct:
    body = conjunct.body
    if body is None or not body.truth:
        return conjunct
    shorter = replace(body, text=body.truth, joined_by="OR", truth="")
    return replace(conjunct, body=shorter, sql=around(shorter.text, conjunct.documents))


def _term(conjunct: Conjunct) -> str:
    """A native conjunct as an operand of AND, without its documents."""
    body = conjunct.body
    if body is None:
        raise ValueError("not a native conjunct")
    return f"({body.text})" if body.joined_by == "OR" else body.text


def _rechecked(checked: CheckedFilter, environment: Environment) -> CheckedFilter:
    again = check(checked.checked.expr, environment, checked.source)
    if errors(again.diagnostics):
        raise CompileError(again.diagnostics)
    return CheckedFilter(again, checked.source, checked.dialect, checked.said)


def _lower(e: Expr, checked: Checked, layout: Layout) -> Conjunct:
    walk = Lowering(checked, layout)
    try:
        body = walk.condition(e, {})
    except NotNative as refusal:
        return Conjunct(e, native=False, reason=refusal.reason)
    except RecursionError:
        return Conjunct(e, native=False, reason="nested deeper than it can be lowered")
    documents = tuple((key, sql.text) for key, sql in walk.documents.items())
    return Conjunct(e, native=True, sql=around(body.text, documents), body=body, documents=documents)


def around(condition: str, documents: Iterable[tuple[str, str]]) -> str:
    """The condition with each JSON text bound, parsed, to its variable."""
    for variable, text in documents:
        condition = f"get(transform(array({text}), {variable} ->\n  {condition}), 0)"
    return condition


def _left(conjunct: Conjunct, checked: CheckedFilter, engine: str, problems: list[Diagnostic]) -> Conjunct:
    """A conjunct that Spark cannot evaluate, with what can; a problem where nothing can."""
    program = prepare(conjunct.expr, engine, dict(checked.checked.environment.roots))
    if not isinstance(program, Refusal):
        return replace(conjunct, engine=program.engine)
    message = f"Spark cannot evaluate this ({conjunct.reason}), and {engine} refuses it: {program.reason}"
    help_ = "choose another engine, or write it otherwise"
    problems.append(Diagnostic("TRI401", message, checked.source, conjunct.expr.span, help_))
    return conjunct
