"""CEL values in Python.

    null None        bool bool         int int            uint Uint          double float
    string str       bytes bytes       list list          map dict           type TypeValue
    timestamp Timestamp                duration Duration  optional Optional

A dict's keys are int, Uint, str and, for true and false, `BoolKey`: in Python `True == 1`, in CEL a map may hold both.
Equal numbers of different types are equal keys in both. A JSON object read by Python is a CEL map as it is.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from ..nodes import Expr

Value: TypeAlias = Any
"""One of the classes above; Python has no closed union over its own int, float and list that would help here."""

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


class CelError(Exception):
    """An evaluation error. The text says what is wrong, as the official engines do: "divide by zero".

    `expr` is the innermost expression that erred, set by the evaluator.
    """

    expr: Expr | None = None


class Uint(int):
    """A uint; equal to an int of the same number, as CEL has it."""

    __slots__ = ()


class BoolKey(Enum):
    """A bool as the key of a dict."""

    FALSE = False
    TRUE = True


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """An instant: nanoseconds since 1970-01-01T00:00:00Z."""

    nanos: int


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time in nanoseconds."""

    nanos: int


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value, by the name that `type()` gives it."""

    name: str


class _Nothing(Enum):
    NOTHING = "nothing"


NOTHING = _Nothing.NOTHING


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be absent (`NOTHING`; null is a value)."""

    value: Value = NOTHING

    @property
    def present(self) -> bool:
        """Whether there is a value."""
        return self.value is not NOTHING


ABSENT = Optional()

_KINDS: dict[type, str] = {
    type(None): "null_type",
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    Timestamp: "timestamp",
    Duration: "duration",
    TypeValue: "type",
    Optional: "optional_type",
}


def kind(value: Value) -> str:
    """The name of a value's type, as signatures have it; parameters of lists and maps are not looked at."""
    return _KINDS[type(value)]


def as_key(value: Value) -> Value:
    """A value as the key of a dict.

    Raises:
        CelError: for what cannot be a key.
    """
    if isinstance(value, bool):
        return BoolKey.TRUE if value else BoolKey.FALSE
    if isinstance(value, int | str):
        return value
    raise CelError("unsupported key type")


def from_key(key: Value) -> Value:
    """The value that a dict's key is."""
    return key.value if isinstance(key, BoolKey) else key


def int_value(number: int) -> int:
    """The number as an int.

    Raises:
        CelError: out of the range of int64.
    """
    if INT_MIN <= number <= INT_MAX:
        return number
    raise CelError("integer overflow")


def uint_value(number: int) -> Uint:
    """The number as a uint.

    Raises:
        CelError: out of the range of uint64.
    """
    if 0 <= number <= UINT_MAX:
        return Uint(number)
    raise CelError("unsigned integer overflow")


def comparable(a: Value, b: Value) -> tuple[Value, Value]:
    """Two numbers as they are compared: beside a double, an int or uint counts as the nearest double.

    The official engines round so, too: `9223372036854775807 == 9223372036854775808.0`.
    """
    if isinstance(a, float) or isinstance(b, float):
        return float(a), float(b)
    return a, b


def equals(a: Value, b: Value) -> bool:
    """CEL's `==`: numbers across types, NaN equal to nothing, other kinds never equal, containers by element."""
    ka, kb = type(a), type(b)
    if ka is not kb:
        return ka in _NUMBERS and kb in _NUMBERS and bool(operator.eq(*comparable(a, b)))
    if ka is list:
        return len(a) == len(b) and all(map(equals, a, b))
    if ka is dict:
        return len(a) == len(b) and all(k in b and equals(v, b[k]) for k, v in a.items())
    if ka is Optional and a.present and b.present:
        return equals(a.value, b.value)
    return bool(a == b)


_NUMBERS = frozenset({int, Uint, float})


def same(a: Value, b: Value) -> bool:
    """Whether two values are one: equal and of one type, NaN being itself; lists and maps element by element."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return repr(a) == repr(b)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(k in b and same(v, b[k]) for k, v in a.items())
    if isinstance(a, Optional) and a.present and b.present:
        return same(a.value, b.value)
    return equals(a, b)
