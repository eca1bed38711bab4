"""How large values can be, and what the functions of CEL do to that: the part of the cost estimate that is a table."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

from .functions.math_ext import MATH_EXT
from .functions.times import TIME
from .nodes import (
    ADD,
    DIVIDE,
    EQUALS,
    GREATER,
    GREATER_EQUALS,
    IN,
    LESS,
    LESS_EQUALS,
    MODULO,
    MULTIPLY,
    NEGATE,
    NOT,
    NOT_EQUALS,
    SUBTRACT,
    Expr,
    Lit,
)

CEILING = 10**18
"""Where counting stops: nothing is told apart above it."""
_READ = 10  # characters to a step
_PATTERN = 4  # characters of a pattern to a step
_NUMBER_TEXT = 400  # characters of the longest number, time or duration as text
SMALLEST_ELEMENT = 16  # characters that an element is taken to have at least, however many share the payload


@dataclass(frozen=True, slots=True)
class Extent:
    """How large a value can be.

    `low` is its least length. `text` is its most characters or bytes, were it text; `count` its most elements or
    entries, were it a list or a map; `weight` all characters and parts within it. `items` are the extents of elements
    or map values, and `keys` of keys, where more is known than their share of the weight. `fresh` are the characters
    and parts that the filter itself makes, so that they take memory besides the event's own.
    """

    low: int
    text: int
    count: int
    weight: int
    items: Extent | None = None
    keys: Extent | None = None
    fresh: int = 0


SCALAR = Extent(0, 0, 0, 1)


def capped(number: int) -> int:
    """The number, or the ceiling of counting."""
    return min(number, CEILING)


def _steps(characters: int, per_step: int = _READ) -> int:
    """The steps to read characters; at least one."""
    return max(1, -(-characters // per_step))


def text_of(low: int, high: int) -> Extent:
    """Text that is there already, in the event or the filter."""
    return Extent(low, high, 0, high)


def _made_text(low: int, high: int) -> Extent:
    """Text that the filter makes."""
    return replace(text_of(low, capped(high)), fresh=capped(high))


def made_list(low: int, count: int, items: Extent, keys: Extent | None = None) -> Extent:
    """A list or map that the filter makes."""
    weight = count * (1 + items.weight + (keys.weight if keys else 0))
    fresh = count * (1 + items.fresh + (keys.fresh if keys else 0))
    return Extent(low, 0, capped(count), capped(weight), items, keys, capped(fresh))


def wider(a: Extent, b: Extent) -> Extent:
    """An extent that holds values of both. One extent may be part of another in many places: each pair is met once."""
    return _wider(a, b, {})


_Met: TypeAlias = dict[tuple[int, int], "Extent"]
"""What was found for two extents, by their identities."""


def _wider(a: Extent, b: Extent, met: _Met) -> Extent:
    if a is b:
        return a
    found = met.get((id(a), id(b)))
    if found is None:
        found = met[id(a), id(b)] = Extent(
            min(a.low, b.low),
            max(a.text, b.text),
            max(a.count, b.count),
            max(a.weight, b.weight),
            _wider_part(a.items, b.items, (a, b), met),
            _wider_part(a.keys, b.keys, (a, b), met),
            max(a.fresh, b.fresh),
        )
    return found


def _wider_part(a: Extent | None, b: Extent | None, wholes: tuple[Extent, Extent], met: _Met) -> Extent | None:
    """The parts of two containers; of one that is no container at all, none."""
    if a is not None and b is not None:
        return _wider(a, b, met)
    if a is not None and wholes[1].count == 0:
        return a
    return b if wholes[0].count == 0 else None


def element_of(holder: Extent) -> Extent:
    """Any one element of a list, or value of a map."""
    return holder.items or share_of(holder)


def key_of(holder: Extent) -> Extent:
    """Any one key of a map."""
    share = share_of(holder)
    return holder.keys or text_of(0, share.text)


def share_of(holder: Extent) -> Extent:
    """One element, were the size of what holds it shared evenly."""
    weight = max(SMALLEST_ELEMENT, holder.weight // max(1, holder.count))
    return Extent(0, weight, min(holder.count, weight // 2), weight)


Given: TypeAlias = tuple[Extent, ...]
Rule: TypeAlias = Callable[[Given, tuple[Expr, ...]], tuple[int, Extent]]
"""The steps of a call beyond its arguments, and its result's extent; from the arguments, target first."""


def _reads_all(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    return sum(_steps(g.text) for g in given), SCALAR


def _searches(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    return _steps(given[0].text) * _steps(given[1].text), SCALAR


def _affix(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    return _steps(min(given[0].text, given[1].text)), SCALAR


def _matches(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    return _steps(given[0].text + 1) * _steps(given[1].text, _PATTERN), SCALAR


def _equality(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    return _steps(min(given[0].weight, given[1].weight)), SCALAR


def _membership(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    item, holder = given
    each = _steps(min(item.weight, element_of(holder).weight))
    return max(1, holder.count * each), SCALAR


def _concatenation(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    a, b = given
    text, count = capped(a.text + b.text), capped(a.count + b.count)
    if not text and not count:
        return 1, text_of(0, 0) if a.weight + b.weight == 0 else SCALAR
    fresh = capped(max(text, count) + (a.fresh if a.items else 0) + (b.fresh if b.items else 0))
    items = wider(element_of(a if a.count else b), element_of(b if b.count else a)) if count else None
    made = Extent(a.low + b.low, text, count, capped(a.weight + b.weight), items, fresh=fresh)
    return _steps(text) + count, made


def _same_text(factor: int = 1, more: int = 0) -> Rule:
    def rule(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
        made = _made_text(0, given[0].text * factor + more)
        return _steps(made.text), made

    return rule


def _join(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    separator = given[1].text if len(given) > 1 else 0
    made = _made_text(0, given[0].count * (element_of(given[0]).text + separator))
    return _steps(made.text) + given[0].count, made


def _replaced(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    subject, old, new = given[:3]
    places = subject.text + 1 if old.low == 0 else subject.text // old.low
    made = _made_text(0, subject.text + places * new.text)
    return _steps(subject.text) * _steps(old.text) + _steps(made.text), made


def _pattern_replaced(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    """Each match becomes the replacement, and a group (`\\1`, two characters) no more than what it matched."""
    subject, _, new = given[:3]
    made = _made_text(0, subject.text + (subject.text + 1) * new.text + subject.text * (new.text // 2))
    return _matches(given, args)[0] + _steps(made.text), made


def _split(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    subject = given[0]
    count = subject.text + 1
    made = Extent(0, 0, count, 2 * count, fresh=2 * count)
    return _steps(subject.text) * _steps(given[1].text) + made.count, made


_PRECISION = re.compile(r"%\.(\d{1,6})")


def _format(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    pattern, values = given[0], given[1]
    precise = 0
    if isinstance(args[0], Lit) and isinstance(args[0].value, str):
        precise = sum(int(digits) for digits in _PRECISION.findall(args[0].value))
    uses = pattern.text // 2
    largest = max(_NUMBER_TEXT, element_of(values).weight * 4)
    made = _made_text(0, pattern.text + min(uses, values.count) * largest + precise)
    return _steps(made.text), made


def _conversion_to_text(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    made = _made_text(0, max(_NUMBER_TEXT, given[0].text))
    return _steps(given[0].text), made


def _to_bytes(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    made = _made_text(given[0].low, given[0].text * 4)
    return _steps(made.text), made


def _itself(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    return 1, given[0]


def _size(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    return _steps(given[0].text), SCALAR


def _range(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    bound = args[-1]
    count = max(0, bound.value) if isinstance(bound, Lit) and isinstance(bound.value, int) else 1_000_000
    return count, made_list(0, count, SCALAR)


def _same_list(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    return max(1, given[0].count + _steps(given[0].text)), replace(given[0], low=0)


def sorting(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    """Comparing n elements n log n times."""
    n = given[0].count
    return capped(max(1, n * n.bit_length() * _steps(element_of(given[0]).weight))), given[0]


def _pairwise(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    a, b = given[0], given[-1]
    each = _steps(min(element_of(a).weight, element_of(b).weight))
    return capped(max(1, a.count * b.count * each)), SCALAR


def _distinct(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    return _pairwise((given[0], given[0]), args)[0], replace(given[0], low=0)


def _flatten(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    held = given[0]
    levels = args[-1].value if len(args) > 1 and isinstance(args[-1], Lit) else 1
    count, items = held.count, element_of(held)
    for _ in range(levels if isinstance(levels, int) and 0 <= levels <= 100 else 100):
        if items.count == 0:
            break
        count, items = capped(max(count, count * items.count)), element_of(items)
    count = min(count, held.weight)
    return max(1, count), Extent(0, 0, count, held.weight, items, fresh=held.fresh + count)


def _number(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    """Arithmetic: a step for each number, those of a list among them."""
    return max(1, sum(g.count for g in given if g.items is not None)), SCALAR


def _held(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    """An optional, or what it holds."""
    return 1, reduce(wider, given)


def _one_of(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    """One element, which may be all that the list holds."""
    held = given[0]
    return 1, held.items or Extent(0, held.weight, held.count, held.weight)


def unknown(given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    """A call of which nothing is known: it reads everything, and hands back no more than it was given."""
    weight = capped(sum(g.weight for g in given))
    text, count = capped(sum(g.text for g in given)), capped(sum(g.count for g in given))
    return _steps(weight), Extent(0, text, count, weight, fresh=text + count)


RULES: dict[str, Rule] = {
    **dict.fromkeys((EQUALS, NOT_EQUALS, LESS, LESS_EQUALS, GREATER, GREATER_EQUALS), _equality),
    ADD: _concatenation,
    IN: _membership,
    **dict.fromkeys((NOT, NEGATE, SUBTRACT, MULTIPLY, DIVIDE, MODULO), _number),
    **dict.fromkeys((row.function for row in (*MATH_EXT, *TIME)), _number),
    "optional.none": lambda given, args: (1, SCALAR),
    **dict.fromkeys(("optional.of", "optional.ofNonZeroValue", "hasValue", "value", "or", "orValue"), _held),
    **dict.fromkeys(("optional.unwrap", "unwrapOpt"), _same_list),
    "size": _size,
    "matches": _matches,
    "contains": _searches,
    **dict.fromkeys(("startsWith", "endsWith"), _affix),
    **dict.fromkeys(("indexOf", "lastIndexOf"), _searches),
    **dict.fromkeys(("lowerAscii", "upperAscii", "trim", "substring"), _same_text()),
    "charAt": lambda given, args: (_steps(given[0].text), _made_text(0, 1)),
    "reverse": lambda given, args: (max(1, given[0].count + _steps(given[0].text)), given[0]),
    "join": _join,
    "split": _split,
    "replace": _replaced,
    "format": _format,
    "strings.quote": _same_text(2, 2),
    "base64.encode": _same_text(2, 4),
    "base64.decode": _same_text(),
    "string": _conversion_to_text,
    "bytes": _to_bytes,
    "dyn": _itself,
    "type": lambda given, args: (1, SCALAR),
    **dict.fromkeys(("int", "uint", "double", "bool", "timestamp", "duration"), _reads_all),
    "regex.replace": _pattern_replaced,
    "regex.extract": lambda given, args: (_matches(given, args)[0], _made_text(0, given[0].text)),
    "regex.extractAll": lambda given, args: (_matches(given, args)[0], _split(given, args)[1]),
    "lists.range": _range,
    "slice": _same_list,
    "sort": sorting,
    "distinct": _distinct,
    "flatten": _flatten,
    **dict.fromkeys(("first", "last"), _one_of),
    **dict.fromkeys(("sets.contains", "sets.intersects", "sets.equivalent"), _pairwise),
}
"""By function and not by overload: what a dynamic value is, and so the overload, is known only at evaluation."""
