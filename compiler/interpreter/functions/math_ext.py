"""The math extension (cel-go `ext.Math`)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce

from ...functions import ALL
from ...values.cel import UINT_MAX, CelError, Uint, Value, comparable, int_value
from ..registry import implements

_WHOLE = 2.0**52
"""From here on every double is whole."""
_BITS = 64
_NUMBERS = frozenset({int, Uint, float})


def _better(name: str, wins: Callable[[Value, Value], bool]) -> Callable[[Value, Value], Value]:
    """The choice of one of two numbers; of equal ones the first."""

    def choose(a: Value, b: Value) -> Value:
        if type(a) not in _NUMBERS or type(b) not in _NUMBERS:
            raise CelError(f"no such overload: {name}")
        if a != a or b != b:
            raise CelError("NaN values cannot be ordered")
        return b if wins(*comparable(b, a)) else a

    return choose


def _one_of(name: str, wins: Callable[[Value, Value], bool]) -> Callable[..., Value]:
    choose = _better(name, wins)

    def best(a: Value, b: Value = None) -> Value:
        if b is not None:
            return choose(a, b)
        if not isinstance(a, list):
            return a
        if not a:
            raise CelError(f"{name}(list) argument must not be empty")
        return reduce(choose, a[1:], a[0]) if len(a) > 1 else _number(name, a[0])

    return best


def _number(name: str, value: Value) -> Value:
    if type(value) in _NUMBERS:
        return value
    raise CelError(f"no such overload: {name}")


for _function, _wins in (("math.greatest", operator.gt), ("math.least", operator.lt)):
    implements(*(row.id for row in ALL if row.function == _function))(_one_of(_function, _wins))


def _rounded(to_whole: Callable[[float], float]) -> Callable[[float], float]:
    def rounded(value: float) -> float:
        if not abs(value) < _WHOLE:
            return value
        return math.copysign(to_whole(value), value)

    return rounded


def _half_away(value: float) -> float:
    whole = math.trunc(value)
    return whole + (1 if value > 0 else -1) if abs(value - whole) >= 0.5 else whole


implements("math_ceil_double")(_rounded(math.ceil))
implements("math_floor_double")(_rounded(math.floor))
implements("math_round_double")(_rounded(_half_away))
implements("math_trunc_double")(_rounded(math.trunc))
implements("math_isNaN_double")(math.isnan)
implements("math_isInf_double")(math.isinf)
implements("math_isFinite_double")(math.isfinite)
implements("math_abs_double")(abs)


@implements("math_abs_int")
def _abs_int(value: int) -> int:
    return int_value(abs(value))


@implements("math_abs_uint")
def _abs_uint(value: Uint) -> Uint:
    return value


@implements("math_sign_double")
def _sign_double(value: float) -> float:
    return math.copysign(1.0, value) if abs(value) > 0 else abs(value)


@implements("math_sign_int")
def _sign_int(value: int) -> int:
    return (value > 0) - (value < 0)


@implements("math_sign_uint")
def _sign_uint(value: int) -> Uint:
    return Uint(value > 0)


@implements("math_sqrt_double", "math_sqrt_int", "math_sqrt_uint")
def _sqrt(value: Value) -> float:
    return math.sqrt(value) if not value < 0 else math.nan


implements("math_bitAnd_int_int")(operator.and_)
implements("math_bitOr_int_int")(operator.or_)
implements("math_bitXor_int_int")(operator.xor)
implements("math_bitNot_int_int")(operator.invert)


@implements("math_bitAnd_uint_uint")
def _and_uint(a: int, b: int) -> Uint:
    return Uint(a & b)


@implements("math_bitOr_uint_uint")
def _or_uint(a: int, b: int) -> Uint:
    return Uint(a | b)


@implements("math_bitXor_uint_uint")
def _xor_uint(a: int, b: int) -> Uint:
    return Uint(a ^ b)


@implements("math_bitNot_uint_uint")
def _not_uint(value: int) -> Uint:
    return Uint(value ^ UINT_MAX)


def _left(value: int, bits: int) -> int:
    if bits < 0:
        raise CelError(f"math.bitShiftLeft() negative offset: {bits}")
    return (value << bits) & UINT_MAX if bits < _BITS else 0


def _right(value: int, bits: int) -> int:
    if bits < 0:
        raise CelError(f"math.bitShiftRight() negative offset: {bits}")
    return (value & UINT_MAX) >> bits if bits < _BITS else 0


def _signed(bits: int) -> int:
    """The int that has these 64 bits."""
    return bits - (1 << _BITS) if bits >> (_BITS - 1) else bits


@implements("math_bitShiftLeft_int_int")
def _left_int(value: int, bits: int) -> int:
    return _signed(_left(value, bits))


@implements("math_bitShiftLeft_uint_int")
def _left_uint(value: int, bits: int) -> Uint:
    return Uint(_left(value, bits))


@implements("math_bitShiftRight_int_int")
def _right_int(value: int, bits: int) -> int:
    # Zeros come in on the left, whatever the sign.
    return _signed(_right(value, bits))


@implements("math_bitShiftRight_uint_int")
def _right_uint(value: int, bits: int) -> Uint:
    return Uint(_right(value, bits))
