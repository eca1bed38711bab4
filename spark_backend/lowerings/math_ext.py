"""The math extension, for ints and doubles.

`rint` gives a whole double, with the sign of a zero, for every double: `ceil` and `floor` give a BIGINT, which ends at
2^63, and `round` goes through a decimal, which has no negative zero. A NaN is asked for by `=`, which in Spark holds
for two of them and is NULL for an error; `isnan` of NULL is false.
"""

from __future__ import annotations

from ..sql import Sql
from .registry import lowers

_NAN, _INFINITY = "CAST('NaN' AS DOUBLE)", "CAST('Infinity' AS DOUBLE)"
_BITS = 64


def _floor(x: str) -> str:
    return f"CASE WHEN rint({x}) > {x} THEN rint({x}) - 1D ELSE rint({x}) END"


@lowers("math_floor_double", twice=(0,), depth=3)
def _floor_double(x: Sql) -> str:
    return _floor(str(x))


@lowers("math_ceil_double", twice=(0,), infix=True, depth=4)
def _ceil_double(x: Sql) -> str:
    """So that what is above -1.0 and below zero becomes -0.0."""
    return f"- {_floor(f'(- {x})')}"


@lowers("math_trunc_double", twice=(0,), infix=True, depth=5)
def _trunc_double(x: Sql) -> str:
    return f"signum({x.text}) * {_floor(f'abs({x.text})')}"


@lowers("math_round_double", twice=(0,), depth=4)
def _round_double(x: Sql) -> str:
    """`rint` goes to the even neighbour where there are two at one half."""
    return f"CASE WHEN abs({x} - rint({x.text})) = 0.5D THEN {x} + signum({x.text}) * 0.5D ELSE rint({x.text}) END"


@lowers("math_abs_double")
def _abs_double(x: Sql) -> str:
    return f"abs({x.text})"


@lowers("math_abs_int", twice=(0,), depth=2)
def _abs_int(x: Sql) -> str:
    """The least int has no positive counterpart."""
    return f"CASE WHEN {x} < 0L THEN try_subtract(0L, {x.text}) ELSE {x.text} END"


@lowers("math_sign_double", infix=True, depth=2)
def _sign_double(x: Sql) -> str:
    """The sum is for -0.0, whose sign is 0.0."""
    return f"signum({x.text}) + 0D"


@lowers("math_sign_int", depth=2)
def _sign_int(x: Sql) -> str:
    return f"CAST(signum(CAST({x.text} AS DOUBLE)) AS BIGINT)"


@lowers("math_sqrt_double")
def _sqrt_double(x: Sql) -> str:
    return f"sqrt({x.text})"


@lowers("math_sqrt_int", depth=2)
def _sqrt_int(x: Sql) -> str:
    return f"sqrt(CAST({x.text} AS DOUBLE))"


@lowers("math_isNaN_double", infix=True)
def _is_nan(x: Sql) -> str:
    return f"{x} = {_NAN}"


@lowers("math_isInf_double", infix=True, depth=2)
def _is_infinite(x: Sql) -> str:
    return f"abs({x.text}) = {_INFINITY}"


@lowers("math_isFinite_double", infix=True, depth=2)
def _is_finite(x: Sql) -> str:
    """NaN is above infinity in Spark."""
    return f"abs({x.text}) < {_INFINITY}"


@lowers("math_bitAnd_int_int", infix=True)
def _bit_and(a: Sql, b: Sql) -> str:
    return f"{a} & {b}"


@lowers("math_bitOr_int_int", infix=True)
def _bit_or(a: Sql, b: Sql) -> str:
    return f"{a} | {b}"


@lowers("math_bitXor_int_int", infix=True)
def _bit_xor(a: Sql, b: Sql) -> str:
    return f"{a} ^ {b}"


@lowers("math_bitNot_int_int", infix=True)
def _bit_not(x: Sql) -> str:
    return f"~ {x}"


@lowers("math_bitShiftLeft_int_int", twice=(0, 1), depth=3)
def _left(x: Sql, places: Sql) -> str:
    return _shifted("shiftleft", x, places)


@lowers("math_bitShiftRight_int_int", twice=(0, 1), depth=3)
def _right(x: Sql, places: Sql) -> str:
    """Zeros come in on the left, whatever the sign."""
    return _shifted("shiftrightunsigned", x, places)


def _shifted(function: str, x: Sql, places: Sql) -> str:
    """Spark takes the number of places modulo 64."""
    moved = f"WHEN {places} BETWEEN 0L AND {_BITS - 1}L THEN {function}({x.text}, try_cast({places} AS INT))"
    return f"CASE {moved} WHEN {places} >= {_BITS}L AND {x} IS NOT NULL THEN 0L END"
