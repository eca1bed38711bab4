"""From a filter, or some conjuncts of it, to the job that the fallback evaluates, and what travels for it; why a job erred."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tricel.compiler import CompileError, Diagnostic, Expr, Requirements, conjunction, requirements
from tricel.compiler.celtypes import DYN
from tricel.compiler.environments.attributes import NO_RECORD
from tricel.compiler.faults import bounded

from ..compiled_filter import CompiledFilter
from ..engines import ENGINES, OWN_ENGINE, Failure, Program, Refusal, prepare
from ..sql.columns import Documents
from ..sql.layout import LayoutError
from .activation import Activation, Input, Job, as_seen
from .hoist import Hoisted, hoist

UNKNOWN = Failure("the evaluation erred on Spark, and not when it was repeated")
_UNREADABLE = Failure("the event holds a value that CEL does not have")


@dataclass(frozen=True, slots=True)
class Residual:
    """What the fallback evaluates of one filter, and what travels for it: columns, or values that Spark computes first."""

    job: Job
    needs: Requirements
    values: tuple[Input, ...] = ()
    documents: Documents = ()


def residual_of(compiled: CompiledFilter, exprs: Sequence[Expr]) -> Residual:
    """Parts of a filter that the fallback evaluates, over values that Spark computes, where those are all that they read.

    `exprs` are conjuncts of `compiled`, as it was lowered for the columns that they are evaluated on.

    Raises:
        CompileError: where the engine cannot evaluate them.
    """
    hoisted = None
    if ENGINES[compiled.engine].named_values:
        whole = conjunction(tuple(exprs))
        hoisted = bounded(lambda: hoist(whole, compiled.lowered, compiled.layout), _all_travels, LayoutError)
    if hoisted is not None and not (hoisted.nests_lambdas and compiled.layout.quirks.loses_nested_lambdas):
        job = _job(compiled, (hoisted.expr,), [i.key for i in hoisted.inputs])
        return Residual(job, Requirements(), hoisted.inputs, hoisted.documents)
    return Residual(_job(compiled, exprs), requirements(exprs, compiled.checked.checked.environment))


def _all_travels(_: Exception) -> Hoisted | None:
    """What a fault of hoisting leaves: the engine reads the columns, with the same result."""
    return None


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
    record = compiled.checked.checked.record if values is None else NO_RECORD
    programs: list[Program] = []
    for e in exprs:
        program = prepare(e, engine, roots, record)
        if isinstance(program, Refusal):
            return program
        programs.append(program)
    if values is not None:
        return Job(tuple(programs))
    read = requirements(exprs, environment)
    return Job(tuple(programs), compiled.checked.checked.json_extensions & read.attributes, read.record)


def explaining_job(compiled: CompiledFilter) -> Job:
    """The whole filter as a job that can say why it erred: on the filter's engine, else on our own evaluator."""
    for engine in (compiled.engine, OWN_ENGINE):
        found = job_of(compiled, (compiled.checked.checked.expr,), engine)
        if isinstance(found, Job):
            return found
    raise TypeError("our own evaluator refuses nothing")


def failure_of(job: Job, given: Activation | None) -> Failure:
    """Why a job erred on an event; None as the activation is an event that holds what CEL has no value for."""
    if given is None:
        return _UNREADABLE
    seen = as_seen(job, given)
    failures: Iterator[Failure | None] = (program.failure(seen) for program in job.programs)
    return next((f for f in failures if f is not None), UNKNOWN)


def _job(compiled: CompiledFilter, exprs: Sequence[Expr], values: Sequence[str] | None = None) -> Job:
    found = job_of(compiled, exprs, compiled.engine, values)
    if isinstance(found, Refusal):
        raise refused(compiled, found.reason)
    return found
