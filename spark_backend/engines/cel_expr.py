"""cel-expr-python, the official C++ CEL.

Its faults are kept from the data: it cuts strings at NUL, and it refuses nesting over 32 levels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from tricel.compiler.nodes import Expr, Lit, walk

MAX_DATA_DEPTH = 500
"""Levels of lists and maps in a value that is given to the engine."""


def refuses(expr: Expr) -> str:
    """Why the engine would answer differently from CEL; empty when it would not."""
    for node in walk(expr):
        if isinstance(node, Lit) and isinstance(node.value, str | bytes) and b"\0" in _bytes(node.value):
            return "it cuts strings at NUL, and the expression holds one"
    return ""


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


@cache
def _environment(roots: frozenset[str]) -> Any:
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_bindings, ext_encoders, ext_math, ext_optional, ext_strings

    extensions = [
        ext_strings.ExtStrings(),
        ext_math.ExtMath(),
        ext_encoders.ExtEncoders(),
        ext_bindings.ExtBindings(),
        ext_optional.ExtOptional(),
    ]
    return cel.NewEnv(variables=dict.fromkeys(sorted(roots), cel.Type.DYN), extensions=extensions)


def compile_text(text: str, roots: frozenset[str]) -> Callable[[Mapping[str, Any]], bool | str]:
    """An evaluator of CEL text.

    Raises:
        ValueError: where the engine cannot compile it, with its reason.
    """
    try:
        expression = _environment(roots).compile(text, disable_check=True)
    except RuntimeError as e:
        reason = str(e).split("\n")[0].removeprefix("INVALID_ARGUMENT: ").removeprefix("CANCELLED: ")
        raise ValueError(reason.removeprefix("ERROR: <input>:-1:-1: ")) from e

    def evaluate(activation: Mapping[str, Any]) -> bool | str:
        problem = unfit(activation)
        if problem:
            return problem
        found = expression.eval(data=activation)
        kind = found.type().name()
        if kind == "BOOL":
            return bool(found.value())
        return str(found.value()) if kind == "ERROR" else f"the result is {kind.lower()}, not bool"

    return evaluate


def unfit(value: Any) -> str:
    """Why a value must not be given to the engine: NUL in a text, or nesting too deep; empty when it may."""
    level: list[Any] = [value]
    for _ in range(MAX_DATA_DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, str):
                if "\0" in item:
                    return "the data holds a NUL character, which the engine cannot compare"
            elif isinstance(item, Mapping):
                below.extend(item)
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        if not below:
            return ""
        level = below
    return f"the data is nested deeper than {MAX_DATA_DEPTH} levels"
