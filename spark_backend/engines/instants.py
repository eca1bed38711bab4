"""The event's time, which engines are given as text: read as a timestamp where an expression asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tricel.compiler.interpreter.values import Timestamp
from tricel.compiler.nodes import Call, Expr, Has, Ident, Lit, LitKind, Select, children, variables, with_children
from tricel.compiler.rfc3339 import cut_to_nanoseconds


def with_times(e: Expr, bound: frozenset[str] = frozenset()) -> Expr:
    """`e` with `timestamp(ce.time)` for `ce.time`, which is an error where that is no time; `bound` are variables."""
    if isinstance(e, Has) and isinstance(e.operand, Ident):
        return e
    if _is_time(e, bound):
        return Call("timestamp", (e,))
    inner = bound | variables(e)
    return with_children(e, tuple(with_times(c, inner if i else bound) for i, c in enumerate(children(e))))


def _is_time(e: Expr, bound: frozenset[str]) -> bool:
    match e:
        case (
            Select(operand=Ident(name="ce", absolute=absolute), field="time", optional=False)
            | Call(
                function="_[_]",
                args=(Ident(name="ce", absolute=absolute), Lit(kind=LitKind.STRING, value="time")),
            )
        ):
            return absolute or "ce" not in bound
        case _:
            return False


def with_instants(activation: Mapping[str, Any]) -> Mapping[str, Any]:
    """The activation with a timestamp for the text of the event's time."""
    ce = activation.get("ce")
    if not isinstance(ce, dict) or not isinstance(ce.get("time"), str):
        return activation
    nanos = cut_to_nanoseconds(ce["time"])
    return activation if nanos is None else {**activation, "ce": {**ce, "time": Timestamp(nanos)}}
