"""cel-python, the pure-Python CEL, within the part of the language that it answers as CEL does.

Kept out, because its answers differ: comparing numbers of different types, equality of different kinds, arithmetic
on dynamic values, comprehensions (variables do not shadow), ternaries, conversions, and negative indexes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tricel.compiler.nodes import (
    Bind,
    Call,
    Comprehension,
    Expr,
    Has,
    Ident,
    ListExpr,
    Lit,
    LitKind,
    MapExpr,
    Select,
    walk,
)

from .model import Failure

_OPERATORS = frozenset({"_&&_", "_||_", "!_", "_==_", "_!=_"})
_METHODS = frozenset({"startsWith", "endsWith", "contains", "matches"})


def refuses(expr: Expr) -> str:
    """Why the engine would answer differently from CEL; empty when it would not."""
    for node in walk(expr):
        match node:
            case Comprehension():
                return "its comprehension variables do not shadow"
            case Bind():
                return "it lacks 'cel.bind'"
            case Has(operand=operand) if not isinstance(operand, Ident) or operand.name != "ce":
                return "its has() is false where the object is missing or is none"
            case Select(optional=True):
                return "it lacks optional values"
            case ListExpr() | MapExpr():
                return "it keeps errors in lists and maps as values"
            case Lit(kind=kind) if kind not in (LitKind.STRING, LitKind.BOOL):
                return f"it compares values of type {kind} differently"
            case Call(function="_==_" | "_!=_" as function, args=args) if not all(map(_is_text, args)):
                return f"its '{function[1:3]}' errs on values of different kinds"
            case Call(function="_[_]", args=(Ident(name="ce"), Lit(kind=LitKind.STRING))):
                continue
            case Call(function=function, args=args, target=target) if function in _METHODS and not all(
                map(_is_text, (*args, *(() if target is None else (target,))))
            ):
                return f"its '{function}' takes values that are no text"
            case Call(function=function) if function not in _OPERATORS | _METHODS:
                return f"it does not evaluate '{function}' as CEL does"
            case _:
                continue
    return ""


def _is_text(e: Expr) -> bool:
    """Whether the value is text for certain: a literal, or an attribute other than the time."""
    match e:
        case Lit(kind=kind):
            return kind is LitKind.STRING
        case (
            Select(operand=Ident(name="ce"), field=name)
            | Call(function="_[_]", args=(Ident(name="ce"), Lit(kind=LitKind.STRING, value=name)))
        ):
            return name != "time"
        case _:
            return False


def compile_text(text: str, roots: frozenset[str]) -> Callable[[Mapping[str, Any]], bool | Failure]:
    """An evaluator of CEL text.

    Raises:
        ValueError: where the engine cannot compile it, with its reason.
    """
    import celpy
    import celpy.celtypes
    from celpy.adapter import json_to_cel
    from celpy.celparser import CELParseError

    environment = celpy.Environment(runner_class=celpy.InterpretedRunner)
    try:
        program = environment.program(environment.compile(text))
    except CELParseError as e:
        raise ValueError(f"its parser refuses it: {e.args[0]}") from e

    def evaluate(activation: Mapping[str, Any]) -> bool | Failure:
        given = {root: json_to_cel(activation[root]) for root in roots if root in activation}
        found = program.evaluate(given)
        if isinstance(found, bool | celpy.celtypes.BoolType):
            return bool(found)
        return Failure(f"the result is {type(found).__name__}, not bool")

    return evaluate
