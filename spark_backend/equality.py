"""CEL equality: heterogeneous, numbers across types, NaN equal to nothing."""

from __future__ import annotations

import math
from dataclasses import replace

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType, Record

from . import dynamic
from .reasons import NotNative
from .sql import Sql, boolean, literal

_SCALARS = frozenset({t.NULL, t.BOOL, t.INT, t.UINT, t.DOUBLE, t.STRING, t.TIMESTAMP})
EXACT_DOUBLE = 2**53
"""Ints up to this size, either sign, are doubles exactly."""


def equals(a: Sql, b: Sql) -> Sql:
    """`a == b`; both must be cheap unless literal or of one scalar type.

    Raises:
        NotNative: where Spark has no exact form.
    """
    if a.type == t.JSON and b.type == t.JSON:
        raise NotNative("both sides are dynamic, and may be lists or maps")
    if t.DYN in (a.type, b.type):
        raise NotNative("a value of type dyn")
    if b.type == t.JSON:
        a, b = b, a
    if a.type == t.JSON:
        return _dynamic_equals(a, b)
    return _static_equals(a, b)


def _static_equals(a: Sql, b: Sql) -> Sql:
    if _is_container(a.type) and _is_container(b.type):
        raise NotNative("lists and maps are compared element by element")
    if {a.type, b.type} <= t.NUMBERS and a.type != b.type:
        a, b = as_one_number_type(a, b)
    if a.type == t.NULL and b.type == t.NULL:
        return literal(True, t.BOOL)
    if a.type == b.type and a.type in _SCALARS - {t.UINT}:
        guard = f" AND NOT (isnan({a}) AND isnan({b}))" if a.type == t.DOUBLE and a.nan and b.nan else ""
        return boolean(f"{a} = {b}{guard}", (a, b), infix=True)
    if a.type in _SCALARS | {t.BYTES} or b.type in _SCALARS | {t.BYTES}:
        present = [f"{x} IS NOT NULL" for x in (a, b) if x.literal is None and x.type != t.NULL]
        if not present:
            return literal(False, t.BOOL)
        return boolean(f"CASE WHEN {' AND '.join(present)} THEN FALSE END", (a, b))
    raise NotNative(f"equality of '{a.type}' and '{b.type}'")


def _dynamic_equals(v: Sql, other: Sql) -> Sql:
    if other.type == t.NULL:
        return boolean(dynamic.is_null(v), (v,))
    if _is_container(other.type):
        raise NotNative("lists and maps are compared element by element")
    if other.type in (t.INT, t.UINT):
        other = exact_double(other)
    read = dynamic.read_as(v, other.type)
    certain = [dynamic.exists(v)]
    if other.literal is None:
        certain.append(f"{other} IS NOT NULL")
    if read is None:
        return boolean(f"CASE WHEN {' AND '.join(certain)} THEN FALSE END", (v, other))
    same = _static_equals(read, other)
    found = boolean(f"CASE WHEN {same.text} THEN TRUE WHEN {' AND '.join(certain)} THEN FALSE END", (same, other))
    if other.type == t.DOUBLE and other.literal is not None:
        return replace(found, truth=dynamic.double_holds(v, f"= {other.text}"))
    return replace(found, truth=dynamic.string_holds(v, f"= {other}") if other.type == t.STRING else same.text)


def as_one_number_type(a: Sql, b: Sql) -> tuple[Sql, Sql]:
    """Two numbers of different types as two of one type, where that is exact: one must be a fitting literal.

    Raises:
        NotNative: where neither is.
    """
    if a.type == t.DOUBLE and a.literal is None:
        return a, exact_double(b)
    if b.type == t.DOUBLE and b.literal is None:
        return exact_double(a), b
    return exact_int(a), exact_int(b)


def exact_double(x: Sql) -> Sql:
    """An int literal as the double that is the same number."""
    if x.type == t.DOUBLE:
        return x
    if isinstance(x.literal, int) and abs(x.literal) <= EXACT_DOUBLE:
        return literal(float(x.literal), t.DOUBLE)
    raise NotNative("an int compared with a double, where Spark would round the int")


def exact_int(x: Sql) -> Sql:
    """A double literal as the int that is the same number; an int as it is."""
    if x.type == t.INT:
        return x
    if isinstance(x.literal, float) and x.literal.is_integer() and math.fabs(x.literal) <= EXACT_DOUBLE:
        return literal(int(x.literal), t.INT)
    if x.type == t.UINT and isinstance(x.literal, int) and x.literal < 2**63:
        return literal(x.literal, t.INT)
    raise NotNative("an int compared with a double or uint, where Spark would round")


def _is_container(type_: CelType) -> bool:
    return isinstance(type_, Record) or type_.name in ("list", "map")
