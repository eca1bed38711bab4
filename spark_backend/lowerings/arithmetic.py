"""Arithmetic. Only total functions are used: what CEL calls an error is NULL, with ANSI mode on or off.

Spark takes sums of sums for one sum of which the order does not matter, products likewise, and evaluates one of those
that it finds alike in a query: with doubles, and with ints where a part overflows, it does matter. So an operand that may be a
sum or product itself has zero subtracted, behind which Spark does not look.
"""

from __future__ import annotations

from tricel.compiler import celtypes as t

from ..sql import Sql
from .registry import lowers

_MIN = "-9223372036854775808L"


def _apart(x: Sql) -> str:
    if x.type == t.DOUBLE:
        return f"({x} - 0D)" if x.infix else x.text
    return f"try_subtract({x.text}, 0L)" if x.text.startswith(("try_add(", "try_multiply(")) else str(x)


@lowers("add_int64", depth=2)
def _add_int(a: Sql, b: Sql) -> str:
    return f"try_add({_apart(a)}, {_apart(b)})"


@lowers("subtract_int64")
def _subtract_int(a: Sql, b: Sql) -> str:
    return f"try_subtract({a.text}, {b.text})"


@lowers("multiply_int64", depth=2)
def _multiply_int(a: Sql, b: Sql) -> str:
    return f"try_multiply({_apart(a)}, {_apart(b)})"


@lowers("divide_int64", twice=(0, 1))
def _divide_int(a: Sql, b: Sql) -> str:
    return f"CASE WHEN {b} <> 0L AND NOT ({a} = {_MIN} AND {b} = -1L) THEN {a} div {b} END"


@lowers("modulo_int64", twice=(0, 1))
def _modulo_int(a: Sql, b: Sql) -> str:
    return f"CASE WHEN {b} <> 0L AND NOT ({a} = {_MIN} AND {b} = -1L) THEN {a} % {b} END"


@lowers("negate_int64")
def _negate_int(a: Sql) -> str:
    return f"try_subtract(0L, {a.text})"


@lowers("add_double", infix=True, depth=2)
def _add_double(a: Sql, b: Sql) -> str:
    return f"{_apart(a)} + {_apart(b)}"


@lowers("subtract_double", infix=True)
def _subtract_double(a: Sql, b: Sql) -> str:
    return f"{a} - {b}"


@lowers("multiply_double", infix=True, depth=2)
def _multiply_double(a: Sql, b: Sql) -> str:
    return f"{_apart(a)} * {_apart(b)}"


@lowers("negate_double", infix=True)
def _negate_double(a: Sql) -> str:
    return f"- {a}"


@lowers("divide_double", twice=(0, 1))
def _divide_double(a: Sql, b: Sql) -> str:
    if isinstance(b.literal, float) and b.literal != 0.0:
        return f"try_divide({a.text}, {b.text})"
    quotient = f"CASE WHEN {b} <> 0D THEN try_divide({a}, {b})"
    nan = f"WHEN isnan({a}) OR {a} = 0D THEN CAST('NaN' AS DOUBLE)"
    sign = f"signum({a}) * CASE WHEN CAST({b} AS STRING) = '-0.0' THEN -1D ELSE 1D END"
    infinite = f"WHEN {a} IS NOT NULL AND {b} IS NOT NULL THEN CAST('Infinity' AS DOUBLE) * {sign}"
    return f"CASE WHEN {b} IS NOT NULL THEN {quotient} {nan} {infinite} END END"


@lowers("add_string")
def _add_string(a: Sql, b: Sql) -> str:
    return f"concat({a.text}, {b.text})"


@lowers("add_bytes", depth=2)
def _add_bytes(a: Sql, b: Sql) -> str:
    """The cast is for a setting of the session that makes `concat` of bytes a string."""
    return f"CAST(concat({a.text}, {b.text}) AS BINARY)"
