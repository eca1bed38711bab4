"""Attributes that are times, which engines are given as text: read as timestamps where an expression asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tricel.compiler.environments.attributes import AttributeRecord
from tricel.compiler.nodes import Call, Expr, Has, Ident, Select, children, variables, with_children
from tricel.compiler.values.cel import Timestamp
from tricel.compiler.values.rfc3339 import cut_to_nanoseconds


def with_times(e: Expr, record: AttributeRecord, bound: frozenset[str] = frozenset()) -> Expr:
    """`e` with `timestamp(ce.time)` for `ce.time`, which is an error where that is no time; `bound` are variables."""
    if not record.times or (isinstance(e, Has) and isinstance(e.operand, Ident)):
        return e
    if record.attribute(e, bound) in record.times and not (isinstance(e, Select) and e.optional):
        return Call("timestamp", (e,))
    inner = bound | variables(e)
    return with_children(e, tuple(with_times(c, record, inner if i else bound) for i, c in enumerate(children(e))))


def with_instants(activation: Mapping[str, Any], record: AttributeRecord) -> Mapping[str, Any]:
    """The activation with a timestamp for the text of each attribute that is a time."""
    given = activation.get(record.name)
    if not isinstance(given, dict):
        return activation
    read = {n: cut_to_nanoseconds(given[n]) for n in record.times if isinstance(given.get(n), str)}
    times = {n: Timestamp(nanos) for n, nanos in read.items() if nanos is not None}
    return {**activation, record.name: {**given, **times}} if times else activation
