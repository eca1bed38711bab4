"""From a filter, or some conjuncts of it, to the job that the fallback evaluates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tricel.compiler import Expr, requirements
from tricel.compiler.celtypes import DYN

from .activation import Job
from .engines import Program, Refusal, prepare
from .lowered import CompiledFilter


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
