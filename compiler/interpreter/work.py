"""How much work a call is, by the sizes of what it reads and makes, so that one step can not be a long one.

The unit is one character read. An element costs more, because it is an object; what is made costs more, because it
takes memory, and a macro may keep it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from ..functions import BY_NAME, Reads, Size
from ..values.cel import Value

ELEMENT = 100
MADE = 16
MATCH = 400
"""A match of a pattern that something is made of, which may be each character of a text."""
SMALL = 64
"""Characters of a text that is not worth the counting."""
_TEXTS = frozenset({str, bytes})
_CONTAINERS = frozenset({list, dict})
_SIZED = _TEXTS | _CONTAINERS


def counts(value: Value) -> bool:
    """Whether a value is large enough, or may be, for the work on it to be counted."""
    kind = type(value)
    return kind in _CONTAINERS or (kind in _TEXTS and len(value) > SMALL)


def making(element: int, args: tuple[Value, ...], made: Value) -> int:
    """The work of making a function's result, of so much for each element of a list; none for one that was given."""
    kind = type(made)
    if kind not in _SIZED or any(made is arg for arg in args):
        return 0
    return len(made) * (element if kind in _CONTAINERS else MADE)


def _shallow(value: Value) -> int:
    kind = type(value)
    if kind not in _SIZED:
        return 0
    return len(value) * (ELEMENT if kind in _CONTAINERS else 1)


def _deep(value: Value, most: int) -> int:
    """A value with all that is in it; counting ends beyond `most`."""
    total, left = 0, [value]
    while left and total <= most:
        item = left.pop()
        total += _shallow(item)
        if type(item) is list:
            left.extend(inner for inner in item if type(inner) in _SIZED)
        elif type(item) is dict:
            left.extend(inner for inner in item.values() if type(inner) in _SIZED)
    return total


def _deeply(args: tuple[Value, ...], most: int) -> int:
    return sum(_deep(arg, most) for arg in args)


def _shallowly(args: tuple[Value, ...], most: int) -> int:
    return sum(_shallow(arg) for arg in args)


def _compared(args: tuple[Value, ...], most: int) -> int:
    a, b = args
    return _deep(a, most) if type(a) is type(b) and type(a) in _SIZED and len(a) == len(b) else 0


def _looked_for(args: tuple[Value, ...], most: int) -> int:
    return _deeply(args, most) if type(args[0]) in _CONTAINERS else _shallowly(args, most)


Reading: TypeAlias = Callable[[tuple[Value, ...], int], int]
"""The work of reading arguments, which is not looked at beyond so much."""
_READINGS: Mapping[Reads, Reading] = {
    Reads.NOTHING: lambda args, most: 0,
    Reads.SHALLOW: _shallowly,
    Reads.COMPARED: _compared,
    Reads.MEMBER: _looked_for,
    Reads.DEEP: _deeply,
    Reads.REMADE: lambda args, most: _shallowly(args, most) * MATCH,
}


def reading(function: str) -> Reading:
    """What reading the arguments of a function takes, of whose overloads the most counts."""
    return _READINGS[max((row.reads for row in BY_NAME.get(function, ())), default=Reads.DEEP)]


def per_element(function: str) -> int:
    """The work of making one element of the list that a function gives."""
    found = any(row.pattern is not None and row.size is Size.PARTS for row in BY_NAME.get(function, ()))
    return 2 * MATCH if found else ELEMENT
