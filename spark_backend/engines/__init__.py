"""The CEL engines that evaluate what Spark cannot, chosen by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, TypeAlias

from tricel.compiler.celtypes import CelType
from tricel.compiler.environments.attributes import NO_RECORD, AttributeRecord, record_of
from tricel.compiler.environments.model import Environment
from tricel.compiler.nodes import Expr
from tricel.compiler.unparse import unparse

from . import cel_expr, cel_python, own
from .batching import Lot, Lots
from .instants import with_times
from .model import Failure, GaveUpError

__all__ = ["DEFAULT_ENGINE", "ENGINES", "OWN_ENGINE", "Failure", "Program", "Refusal", "is_installed", "prepare"]

Activation: TypeAlias = Mapping[str, Any]
Evaluate: TypeAlias = Callable[[Activation], "bool | Failure"]


@dataclass(frozen=True, slots=True)
class Engine:
    """`compile` makes an evaluator that gives the outcome or a failure; it raises ValueError with a refusal.

    `refuses` says why an expression would be answered differently from CEL; empty when it would not.
    `unfit` says why the values of one event must not be given to it; empty when they may.
    `compile_lot` makes a program for many events at once, None where there is none.
    `substituted`: our own evaluator takes what the engine refuses, expression or event. `named_values`: it may be
    given variables for parts of an expression; an engine that is refused by what a variable may hold may not.
    `package` is what it is imported from, if it is not ours.
    """

    compile: Callable[[str, frozenset[str], AttributeRecord], Evaluate]
    refuses: Callable[[Expr, AttributeRecord], str]
    unfit: Callable[[Activation], str] = lambda _: ""
    compile_lot: Callable[[str, frozenset[str]], Lot | None] = lambda text, roots: None
    substituted: bool = False
    named_values: bool = True
    package: str = ""


DEFAULT_ENGINE, OWN_ENGINE = "cel-expr-python", "tricel"
ENGINES: Mapping[str, Engine] = {
    DEFAULT_ENGINE: Engine(
        cel_expr.compile_text,
        cel_expr.refuses,
        cel_expr.unfit,
        cel_expr.compile_lot,
        substituted=True,
        package="cel_expr_python",
    ),
    "cel-python": Engine(cel_python.compile_text, cel_python.refuses, named_values=False, package="celpy"),
    OWN_ENGINE: Engine(own.compile_text, own.refuses),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An engine cannot evaluate an expression, or not as CEL does."""

    reason: str


@dataclass(frozen=True, slots=True)
class Program:
    """An expression for an engine: plain data, compiled once in each process that evaluates it.

    `cel` is the expression; `text` is what the engine is given: in it the official engine and cel-python read
    `ce.time`, which travels as RFC 3339 text, with `timestamp()`. `record` is the record of attributes.
    """

    engine: str
    cel: str
    text: str
    roots: frozenset[str]
    record: AttributeRecord = NO_RECORD

    def __call__(self, activation: Activation) -> bool | None:
        """The outcome; None for an evaluation error, which every exception and every result but a bool is."""
        found = self.compiled()(activation, None)
        return found if isinstance(found, bool) else None

    def compiled(self) -> Callable[[Activation, bool | None], bool | Failure]:
        """The evaluator: an activation, and whether the engine may be given its values (None: to be found out)."""
        engine = ENGINES[self.engine]
        evaluate = _compiled(self)

        def outcome(activation: Activation, fit: bool | None) -> bool | Failure:
            try:
                unfit = "" if fit else engine.unfit(activation)
                if not unfit:
                    try:
                        return evaluate(activation)
                    except GaveUpError as e:
                        unfit = str(e)
                if not engine.substituted:
                    return Failure(unfit)
                return own.compile_text(self.cel, self.roots, self.record)(activation)
            except (Exception, RecursionError) as e:  # an engine's own fault is an error of this event alone
                return Failure(f"{type(e).__name__}: {e}")

        return outcome

    def lots(self) -> Lots:
        """What evaluates many events."""
        return Lots(self.compiled(), lambda: ENGINES[self.engine].compile_lot(self.text, self.roots))

    def failure(self, activation: Activation) -> Failure | None:
        """Why the evaluation is an error, and where in the expression; None where it is none.

        Our own evaluator says both. The engine is asked where that finds no error, and knows no subexpression.
        """
        found = own.compile_text(self.cel, self.roots, self.record)(activation)
        if not isinstance(found, Failure):
            found = self.compiled()(activation, None)
        return found if isinstance(found, Failure) else None


@lru_cache(maxsize=16)
def is_installed(engine: str) -> bool:
    """Whether what the engine is imported from can be imported here; it is not loaded."""
    package = ENGINES[engine].package
    return not package or find_spec(package) is not None


def prepare(
    expr: Expr, engine: str, roots: Mapping[str, CelType], record: AttributeRecord | None = None
) -> Program | Refusal:
    """The expression as a program of the engine, or of our own evaluator where it substitutes; or why it is none.

    `record` is the record of attributes; where it is not given, the types of the roots tell which it is.
    Where the engine is not installed it is not asked: whoever evaluates the program needs it, and asks it then.
    """
    chosen = ENGINES[engine]
    record = record_of(Environment("", tuple(roots.items()))) if record is None else record
    own_program = Program(OWN_ENGINE, unparse(expr), unparse(expr), frozenset(roots), record)
    if engine == OWN_ENGINE:
        return own_program
    reason = chosen.refuses(expr, record)
    if not reason:
        program = replace(own_program, engine=engine, text=unparse(with_times(expr, record)))
        if not is_installed(engine):
            return program
        try:
            _compiled(program)
        except ValueError as e:
            reason = str(e)
        else:
            return program
    return own_program if chosen.substituted else Refusal(reason)


@lru_cache(maxsize=4096)
def _compiled(program: Program) -> Evaluate:
    return ENGINES[program.engine].compile(program.text, program.roots, program.record)
