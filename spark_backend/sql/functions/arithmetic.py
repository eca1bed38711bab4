"""Arithmetic. Only total functions are used: what CEL calls an error is NULL, with ANSI mode on or off.

Spark takes sums of sums for one sum of which the order does not matter, products likewise, and evaluates one of those
that it finds alike in a query: with doubles, and with ints where a part overflows, it does matter. So an operand that may be a
sum or product itself has zero subtracted, behind which Spark does not look.
"""

from __future__ import annotations

import math

from tricel.compiler import celtypes as t

from .. import Function, Operand, Operator, Sql, Typed, case, cast, equal, function, is_not_null, literal, unequal, when
from .registry import lowers

_MIN = -(2**63)


def _apart(x: Typed) -> Operand:
    match x.sql:
        case Operator() if x.type == t.DOUBLE:
            return x - 0.0
        case Function(name="try_add" | "try_multiply") if x.type != t.DOUBLE:
            return function("try_subtract", x, 0)
        case _:
            return x


@lowers("add_int64")
def _add_int(a: Typed, b: Typed) -> Sql:
    return function("try_add", _apart(a), _apart(b))


@lowers("subtract_int64")
def _subtract_int(a: Typed, b: Typed) -> Sql:
    return function("try_subtract", a, b)


@lowers("multiply_int64")
def _multiply_int(a: Typed, b: Typed) -> Sql:
    return function("try_multiply", _apart(a), _apart(b))


@lowers("divide_int64", twice=(0, 1))
def _divide_int(a: Typed, b: Typed) -> Sql:
    return when(_has_quotient(a, b), a // b)


@lowers("modulo_int64", twice=(0, 1))
def _modulo_int(a: Typed, b: Typed) -> Sql:
    return when(_has_quotient(a, b), a % b)


def _has_quotient(a: Typed, b: Typed) -> Sql:
    return unequal(b, 0) & ~(equal(a, _MIN) & equal(b, -1))


@lowers("negate_int64")
def _negate_int(a: Typed) -> Sql:
    return function("try_subtract", 0, a)


@lowers("add_double")
def _add_double(a: Typed, b: Typed) -> Sql:
    return _apart(a).sql + _apart(b)


@lowers("subtract_double")
def _subtract_double(a: Typed, b: Typed) -> Sql:
    return a - b


@lowers("multiply_double")
def _multiply_double(a: Typed, b: Typed) -> Sql:
    return _apart(a).sql * _apart(b)


@lowers("negate_double")
def _negate_double(a: Typed) -> Sql:
    return -a


@lowers("divide_double", twice=(0, 1))
def _divide_double(a: Typed, b: Typed) -> Sql:
    quotient = function("try_divide", a, b)
    if isinstance(b.literal, float) and b.literal != 0.0:
        return quotient
    sign = case((equal(cast(b, "STRING"), "-0.0"), -1.0), otherwise=1.0)
    found = case(
        (unequal(b, 0.0), quotient),
        (function("isnan", a) | equal(a, 0.0), math.nan),
        (is_not_null(a) & is_not_null(b), literal(math.inf) * function("signum", a) * sign),
    )
    return when(is_not_null(b), found)


@lowers("add_string")
def _add_string(a: Typed, b: Typed) -> Sql:
    return function("concat", a, b)


@lowers("add_bytes")
def _add_bytes(a: Typed, b: Typed) -> Sql:
    """The cast is for a setting of the session that makes `concat` of bytes a string."""
    return cast(function("concat", a, b), "BINARY")
