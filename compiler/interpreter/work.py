"""How much work a call is, by the sizes of what it reads and makes, so that one step can not be a long one.

The unit is one character read. An element costs more, because it is an object; what is made costs more, because it
takes memory, and a macro may keep it.
"""

from __future__ import annotations

from ..nodes import EQUALS, IN, NOT_EQUALS
from .values import Value

ELEMENT = 100
MADE = 16
MATCH = 400
"""A match of a pattern that something is made of, which may be each character of a text."""
SMALL = 64
"""Characters of a text that is not worth the counting."""
_TEXTS = frozenset({str, bytes})
_CONTAINERS = frozenset({list, dict})
_SIZED = _TEXTS | _CONTAINERS
_AT_ONCE = frozenset({"size", "type", "dyn", "optional.of", "first", "last", "hasValue", "value"})
"""Functions that take the same time whatever the size of what they are given."""
_COMPARED = frozenset({EQUALS, NOT_EQUALS})
_DEEP = frozenset({IN, "distinct", "flatten", "format", "sets.contains", "sets.equivalent", "sets.intersects"})
"""Functions that go into the elements of what they are given."""


def counts(value: Value) -> bool:
    """Whether a value is large enough, or may be, for the work on it to be counted."""
    kind = type(value)
    return kind in _CONTAINERS or (kind in _TEXTS and len(value) > SMALL)


def reading(name: str, args: tuple[Value, ...], most: int) -> int:
    """The work of reading a function's arguments, which is not looked at beyond `most`."""
    if name in _AT_ONCE:
        return 0
    if name in _COMPARED:
        a, b = args
        return _deep(a, most) if type(a) is type(b) and type(a) in _SIZED and len(a) == len(b) else 0
    if name == "regex.replace":
        return sum(_shallow(arg) for arg in args) * MATCH
    if name in _DEEP and not (name == IN and type(args[0]) not in _CONTAINERS):
        return sum(_deep(arg, most) for arg in args)
    return sum(_shallow(arg) for arg in args)


def making(name: str, args: tuple[Value, ...], made: Value) -> int:
    """The work of making a function's result; none for one that was given."""
    kind = type(made)
    if kind not in _SIZED or any(made is arg for arg in args):
        return 0
    if name == "regex.extractAll":
        return len(made) * 2 * MATCH
    return len(made) * (ELEMENT if kind in _CONTAINERS else MADE)


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
