"""cel-python, the pure-Python CEL, within the part of the language that it answers as CEL does.

Kept out, because its answers differ: comparing numbers of different types, equality of different kinds, arithmetic
on dynamic values, comprehensions (variables do not shadow), ternaries, conversions, and negative indexes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tricel.compiler.environments.attributes import AttributeRecord
from tricel.compiler.functions import TEXT_TESTS, functions
from tricel.compiler.nodes import Bind, Call, Comprehension, Expr, Has, ListExpr, Lit, LitKind, MapExpr, Select, walk

from .model import Failure

_ANSWERED = functions(lambda row: row.cel_python)
"""Functions that the engine answers as CEL does; tests of texts, where they are given texts."""


def refuses(expr: Expr, record: AttributeRecord) -> str:
    """Why the engine would answer differently from CEL; empty when it would not."""
    for node in walk(expr):
        match node:
            case Comprehension():
                return "its comprehension variables do not shadow"
            case Bind():
                return "it lacks 'cel.bind'"
            case Has(operand=operand) if not record.is_it(operand):
                return "its has() is false where the object is missing or is none"
            case Select(optional=True):
                return "it lacks optional values"
            case ListExpr() | MapExpr():
                return "it keeps errors in lists and maps as values"
            case Lit(kind=kind) if kind not in (LitKind.STRING, LitKind.BOOL):
                return f"it compares values of type {kind} differently"
            case Call(function="_==_" | "_!=_" as function, args=args) if not all(_is_text(a, record) for a in args):
                return f"its '{function[1:3]}' errs on values of different kinds"
            case Call(function="_[_]") if record.attribute(node) is not None:
                continue
            case Call(function=function, args=args, target=target) if function in TEXT_TESTS and not all(
                _is_text(a, record) for a in (*args, *(() if target is None else (target,)))
            ):
                return f"its '{function}' takes values that are no text"
            case Call(function=function) if function not in _ANSWERED:
                return f"it does not evaluate '{function}' as CEL does"
            case _:
                continue
    return ""


def _is_text(e: Expr, record: AttributeRecord) -> bool:
    """Whether the value is text for certain: a literal, or an attribute that is no time."""
    match e:
        case Lit(kind=kind):
            return kind is LitKind.STRING
        case _:
            name = record.attribute(e)
            return name is not None and name not in record.times


def compile_text(
    text: str, roots: frozenset[str], record: AttributeRecord
) -> Callable[[Mapping[str, Any]], bool | Failure]:
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
