"""The operators that are functions of their operands' values. `&&`, `||` and `?:`, which are not, are in `evaluate`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from ..functions import ALL
from ..values.cel import (
    INT_MAX,
    CelError,
    Duration,
    Timestamp,
    Uint,
    Value,
    as_key,
    comparable,
    equals,
    int_value,
    uint_value,
)
from .registry import implements

_SECOND = 10**9
MAX_SIZE = 10_000_000
"""Code points, bytes or elements of one value that is made by an evaluation."""

_ORDERINGS = {"_<_": operator.lt, "_<=_": operator.le, "_>_": operator.gt, "_>=_": operator.ge}


def _mixed(compare: Callable[[Value, Value], bool]) -> Callable[[Value, Value], bool]:
    return lambda a, b: compare(*comparable(a, b))


for _row in ALL:
    if _row.function in _ORDERINGS:
        _compare = _ORDERINGS[_row.function]
        implements(_row.id)(_compare if _row.params[0] == _row.params[1] else _mixed(_compare))

implements("equals")(equals)


@implements("not_equals")
def _not_equals(a: Value, b: Value) -> bool:
    return not equals(a, b)


@implements("logical_not")
def _not(a: bool) -> bool:
    return not a


@implements("negate_int64")
def _negate_int(a: int) -> int:
    return int_value(-a)


@implements("add_int64")
def _add_int(a: int, b: int) -> int:
    return int_value(a + b)


@implements("subtract_int64")
def _subtract_int(a: int, b: int) -> int:
    return int_value(a - b)


@implements("multiply_int64")
def _multiply_int(a: int, b: int) -> int:
    return int_value(a * b)


@implements("divide_int64")
def _divide_int(a: int, b: int) -> int:
    if b == 0:
        raise CelError("divide by zero")
    quotient = abs(a) // abs(b)
    return int_value(quotient if (a < 0) == (b < 0) else -quotient)


@implements("modulo_int64")
def _modulo_int(a: int, b: int) -> int:
    if b == 0:
        raise CelError("modulus by zero")
    if b == -1:
        int_value(-a)
    return int(math.copysign(1, a)) * (abs(a) % abs(b))


@implements("add_uint64")
def _add_uint(a: int, b: int) -> Uint:
    return uint_value(int(a) + int(b))


@implements("subtract_uint64")
def _subtract_uint(a: int, b: int) -> Uint:
    return uint_value(int(a) - int(b))


@implements("multiply_uint64")
def _multiply_uint(a: int, b: int) -> Uint:
    return uint_value(int(a) * int(b))


@implements("divide_uint64")
def _divide_uint(a: int, b: int) -> Uint:
    if b == 0:
        raise CelError("divide by zero")
    return Uint(int(a) // int(b))


@implements("modulo_uint64")
def _modulo_uint(a: int, b: int) -> Uint:
    if b == 0:
        raise CelError("modulus by zero")
    return Uint(int(a) % int(b))


implements("negate_double")(operator.neg)
implements("add_double")(operator.add)
implements("subtract_double")(operator.sub)
implements("multiply_double")(operator.mul)


@implements("divide_double")
def _divide_double(a: float, b: float) -> float:
    if b != 0.0:
        return a / b
    if a == 0.0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


@implements("add_string", "add_bytes", "add_list")
def _concatenate(a: Value, b: Value) -> Value:
    if len(a) + len(b) > MAX_SIZE:
        raise CelError(f"a value of more than {MAX_SIZE:,} parts")
    return a + b


def _sum(time: Timestamp, nanos: int) -> Timestamp:
    return timestamp(time.nanos + nanos)


@implements("add_timestamp_duration")
def _later(time: Timestamp, length: Duration) -> Timestamp:
    return _sum(time, length.nanos)


@implements("add_duration_timestamp")
def _later_too(length: Duration, time: Timestamp) -> Timestamp:
    return _sum(time, length.nanos)


@implements("subtract_timestamp_duration")
def _earlier(time: Timestamp, length: Duration) -> Timestamp:
    return _sum(time, -length.nanos)


@implements("subtract_timestamp_timestamp")
def _between(a: Timestamp, b: Timestamp) -> Duration:
    # The official engine subtracts the whole seconds by themselves first.
    if abs(a.nanos // _SECOND - b.nanos // _SECOND) > INT_MAX // _SECOND:
        raise CelError("integer overflow")
    return Duration(int_value(a.nanos - b.nanos))


@implements("add_duration_duration")
def _longer(a: Duration, b: Duration) -> Duration:
    return Duration(int_value(a.nanos + b.nanos))


@implements("subtract_duration_duration")
def _shorter(a: Duration, b: Duration) -> Duration:
    return Duration(int_value(a.nanos - b.nanos))


_FIRST, _LAST = -62_135_596_800 * 10**9, 253_402_300_800 * 10**9 - 1


def timestamp(nanos: int) -> Timestamp:
    """The instant so many nanoseconds after 1970.

    Raises:
        CelError: outside the years 0001 to 9999.
    """
    if _FIRST <= nanos <= _LAST:
        return Timestamp(nanos)
    raise CelError("timestamp overflow")


@implements("in_list")
def _in_list(a: Value, items: list[Value]) -> bool:
    return any(equals(a, item) for item in items)


@implements("in_map")
def _in_map(key: Value, entries: dict[Value, Value]) -> bool:
    return lookup_key(key) in entries


def lookup_key(key: Value) -> Value:
    """What to look for in a map; a double is looked for as the number that it is.

    Raises:
        CelError: for what cannot be a key.
    """
    return key if isinstance(key, float) else as_key(key)


def position(items: list[Value], index: Value) -> int:
    """The place in a list that `index` names; a double that is whole will do.

    Raises:
        CelError: when there is no such place.
    """
    if isinstance(index, bool) or not isinstance(index, int | float):
        raise CelError("an index must be an int")
    if isinstance(index, float) and not index.is_integer():
        raise CelError("an index must be whole")
    if not 0 <= index < len(items):
        raise CelError(f"index out of range: {int(index)}")
    return int(index)


@implements("size_string", "string_size", "size_bytes", "bytes_size", "size_list", "list_size", "size_map", "map_size")
def _size(a: Value) -> int:
    return len(a)
