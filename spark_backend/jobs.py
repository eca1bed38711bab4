"""From a filter, or some conjuncts of it, to the job that the fallback evaluates, and what travels for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tricel.compiler import CompileError, Diagnostic, Expr, Requirements, conjunction, requirements
from tricel.compiler.celtypes import DYN

from .activation import Input, Job
from .engines import ENGINES, Program, Refusal, prepare
from .hoist import hoist
from .lowered import CompiledFilter


@dataclass(frozen=True, slots=True)
class Residual:
    """What the fallback evaluates of one filter, and what travels for it: columns, or values that Spark computes first."""

    job: Job
    needs: Requirements
    values: tuple[Input, ...] = ()
    documents: tuple[tuple[str, str], ...] = ()


def residual_of(compiled: CompiledFilter, exprs: Sequence[Expr]) -> Residual:
    """Parts of a filter that the fallback evaluates, over values that Spark computes, where those are all that they read.

    `exprs` are conjuncts of `compiled`, as it was lowered for the columns that they are evaluated on.

    Raises:
        CompileError: where the engine cannot evaluate them.
    """
    hoisted = None
    if ENGINES[compiled.engine].named_values:
        hoisted = hoist(conjunction(tuple(exprs)), compiled.lowered, compiled.layout)
    if hoisted is not None and not (hoisted.nests_lambdas and compiled.layout.quirks.loses_nested_lambdas):
        job = _job(compiled, (hoisted.expr,), [i.key for i in hoisted.inputs])
        return Residual(job, Requirements(), hoisted.inputs, hoisted.documents)
    return Residual(_job(compiled, exprs), requirements(exprs, compiled.checked.checked.environment))


def refused(compiled: CompiledFilter, reason: str) -> CompileError:
    """What a filter is refused with that nothing can evaluate."""
    expr, source = compiled.checked.checked.expr, compiled.checked.source
    return CompileError(
        (Diagnostic("TRI401", f"neither Spark nor {compiled.engine} can evaluate this: {reason}", source, expr.span),)
    )


def job_of(
    compiled: CompiledFilter, exprs: Sequence[Expr], engine: str, values: Iterable[str] | None = None
) -> Job | Refusal:
    """The job of expressions that must all hold, each a part of the filter, or why the engine cannot do it.

    `values`: the names that the expressions read, where Spark computes values for them; None: they read the event.
    """
    environment = compiled.checked.checked.environment
    roots = dict(environment.roots) if values is None else dict.fromkeys(values, DYN)
    programs: list[Program] = []
    for e in exprs:
        program = prepare(e, engine, roots)
        if isinstance(program, Refusal):
            return program
        programs.append(program)
    if values is not None:
        return Job(tuple(programs))
    read = requirements(exprs, environment).attributes
    return Job(tuple(programs), compiled.checked.checked.json_extensions & read)


def _job(compiled: CompiledFilter, exprs: Sequence[Expr], values: Sequence[str] | None = None) -> Job:
    found = job_of(compiled, exprs, compiled.engine, values)
    if isinstance(found, Refusal):
        raise refused(compiled, found.reason)
    return found
