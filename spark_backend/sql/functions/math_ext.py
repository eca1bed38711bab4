"""The math extension, for ints and doubles.

`rint` gives a whole double, with the sign of a zero, for every double: `ceil` and `floor` give a BIGINT, which ends at
2^63, and `round` goes through a decimal, which has no negative zero. A NaN is asked for by `=`, which in Spark holds
for two of them and is NULL for an error; `isnan` of NULL is false.
"""

from __future__ import annotations

import math

from .. import Operand, Sql, Typed, between, case, cast, equal, function, is_not_null, operator, try_cast
from .registry import lowers

_BITS = 64


def _floor(x: Operand) -> Sql:
    whole = function("rint", x)
    return case((whole > x, whole - 1.0), otherwise=whole)


@lowers("math_floor_double", twice=(0,))
def _floor_double(x: Typed) -> Sql:
    return _floor(x)


@lowers("math_ceil_double", twice=(0,))
def _ceil_double(x: Typed) -> Sql:
    """So that what is above -1.0 and below zero becomes -0.0."""
    return -_floor(-x)


@lowers("math_trunc_double", twice=(0,))
def _trunc_double(x: Typed) -> Sql:
    return function("signum", x) * _floor(function("abs", x))


@lowers("math_round_double", twice=(0,))
def _round_double(x: Typed) -> Sql:
    """`rint` goes to the even neighbour where there are two at one half."""
    whole = function("rint", x)
    at_one_half = equal(function("abs", x - whole), 0.5)
    return case((at_one_half, x + function("signum", x) * 0.5), otherwise=whole)


@lowers("math_abs_double")
def _abs_double(x: Typed) -> Sql:
    return function("abs", x)


@lowers("math_abs_int", twice=(0,))
def _abs_int(x: Typed) -> Sql:
    """The least int has no positive counterpart."""
    return case((x < 0, function("try_subtract", 0, x)), otherwise=x)


@lowers("math_sign_double")
def _sign_double(x: Typed) -> Sql:
    """The sum is for -0.0, whose sign is 0.0."""
    return function("signum", x) + 0.0


@lowers("math_sign_int")
def _sign_int(x: Typed) -> Sql:
    return cast(function("signum", cast(x, "DOUBLE")), "BIGINT")


@lowers("math_sqrt_double")
def _sqrt_double(x: Typed) -> Sql:
    return function("sqrt", x)


@lowers("math_sqrt_int")
def _sqrt_int(x: Typed) -> Sql:
    return function("sqrt", cast(x, "DOUBLE"))


@lowers("math_isNaN_double")
def _is_nan(x: Typed) -> Sql:
    return equal(x, math.nan)


@lowers("math_isInf_double")
def _is_infinite(x: Typed) -> Sql:
    return equal(function("abs", x), math.inf)


@lowers("math_isFinite_double")
def _is_finite(x: Typed) -> Sql:
    """NaN is above infinity in Spark."""
    return function("abs", x) < math.inf


@lowers("math_bitAnd_int_int")
def _bit_and(a: Typed, b: Typed) -> Sql:
    return operator("&", a, b)


@lowers("math_bitOr_int_int")
def _bit_or(a: Typed, b: Typed) -> Sql:
    return operator("|", a, b)


@lowers("math_bitXor_int_int")
def _bit_xor(a: Typed, b: Typed) -> Sql:
    return operator("^", a, b)


@lowers("math_bitNot_int_int")
def _bit_not(x: Typed) -> Sql:
    return operator("~", x)


@lowers("math_bitShiftLeft_int_int", twice=(0, 1))
def _left(x: Typed, places: Typed) -> Sql:
    return _shifted("shiftleft", x, places)


@lowers("math_bitShiftRight_int_int", twice=(0, 1))
def _right(x: Typed, places: Typed) -> Sql:
    """Zeros come in on the left, whatever the sign."""
    return _shifted("shiftrightunsigned", x, places)


def _shifted(shift: str, x: Typed, places: Typed) -> Sql:
    """Spark takes the number of places modulo 64."""
    moved = function(shift, x, try_cast(places, "INT"))
    return case((between(places, 0, _BITS - 1), moved), ((places >= _BITS) & is_not_null(x), 0))
