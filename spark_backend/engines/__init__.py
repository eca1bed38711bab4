"""The CEL engines that evaluate what Spark cannot, chosen by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from tricel.compiler.celtypes import CelType
from tricel.compiler.nodes import Call, Expr, Has, Ident, Lit, LitKind, Select, children, walk, with_children
from tricel.compiler.unparse import unparse

from . import cel_expr, cel_python

__all__ = ["DEFAULT_ENGINE", "ENGINES", "Program", "Refusal", "prepare"]

Activation: TypeAlias = Mapping[str, Any]
Evaluate: TypeAlias = Callable[[Activation], "bool | str"]


@dataclass(frozen=True, slots=True)
class Engine:
    """`compile` makes an evaluator that gives the outcome, or an error's text; it raises ValueError with a refusal.

    `refuses` says why an expression would be answered differently from CEL; empty when it would not.
    """

    compile: Callable[[str, frozenset[str]], Evaluate]
    refuses: Callable[[Expr], str]


DEFAULT_ENGINE = "cel-expr-python"
ENGINES: Mapping[str, Engine] = {
    DEFAULT_ENGINE: Engine(cel_expr.compile_text, cel_expr.refuses),
    "cel-python": Engine(cel_python.compile_text, cel_python.refuses),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An engine cannot evaluate an expression, or not as CEL does."""

    reason: str


@dataclass(frozen=True, slots=True)
class Program:
    """An expression for an engine: plain data, compiled once in each process that evaluates it."""

    engine: str
    text: str
    roots: frozenset[str]

    def __call__(self, activation: Activation) -> bool | None:
        """The outcome; None for an evaluation error, which every exception and every result but a bool is."""
        found = self._outcome(activation)
        return found if isinstance(found, bool) else None

    def error(self, activation: Activation) -> str:
        """The text of the evaluation error; empty where there is none."""
        found = self._outcome(activation)
        return found if isinstance(found, str) else ""

    def _outcome(self, activation: Activation) -> bool | str:
        try:
            return _compiled(self)(activation)
        except (Exception, RecursionError) as e:  # an engine's own fault is an error of this event alone
            return f"{type(e).__name__}: {e}"


def prepare(expr: Expr, engine: str, roots: Mapping[str, CelType]) -> Program | Refusal:
    """The expression as a program of the engine, or why it cannot be one.

    `ce.time` is given to engines as its RFC 3339 text, which the program reads with `timestamp()`.
    """
    chosen = ENGINES[engine]
    reason = chosen.refuses(expr)
    if reason:
        return Refusal(reason)
    program = Program(engine, unparse(_with_times(expr, frozenset())), frozenset(roots))
    try:
        _compiled(program)
    except ValueError as e:
        return Refusal(str(e))
    return program


@lru_cache(maxsize=1024)
def _compiled(program: Program) -> Evaluate:
    return ENGINES[program.engine].compile(program.text, program.roots)


def _with_times(e: Expr, bound: frozenset[str]) -> Expr:
    if isinstance(e, Has) and isinstance(e.operand, Ident):
        return e
    if _is_time(e) and "ce" not in bound:
        return Call("timestamp", (e,))
    inner = bound | {e.variable} if hasattr(e, "variable") else bound
    return with_children(e, tuple(_with_times(c, inner) for c in children(e)))


def _is_time(e: Expr) -> bool:
    match e:
        case Select(operand=Ident(name="ce"), field="time"):
            return True
        case Call(function="_[_]", args=(Ident(name="ce"), Lit(kind=LitKind.STRING, value="time"))):
            return True
        case _:
            return False


def uses(expr: Expr, functions: frozenset[str]) -> str:
    """The first of the functions that the expression calls; empty for none."""
    return next((n.function for n in walk(expr) if isinstance(n, Call) and n.function in functions), "")
