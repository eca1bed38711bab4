"""How large values can be, and what the functions of CEL do to that, by the sizes and steps of their rows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from typing import TypeAlias, assert_never

from ..functions import BY_NAME, Size, Steps
from ..nodes import Expr, Lit

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
_ANY = Extent(0, CEILING, CEILING, CEILING, fresh=CEILING)


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
"""The extents of the operands, target first."""
_PRECISION = re.compile(r"%\.(\d{1,6})")


@lru_cache(maxsize=1024)
def _facts(name: str) -> tuple[bool, tuple[Size, ...], tuple[tuple[Steps, ...], ...]]:
    """Whether there is a function of that name, the sizes of its values that are not short, and its kinds of steps."""
    rows = BY_NAME.get(name, ())
    sizes = dict.fromkeys(row.size for row in rows)
    return bool(rows), tuple(s for s in sizes if s is not Size.CONSTANT), tuple({tuple(row.steps): 0 for row in rows})


def called(name: str, given: Given, args: tuple[Expr, ...]) -> tuple[int, Extent]:
    """The steps of a call beyond its operands, and its result's extent: the most that any of the overloads has.

    What a dynamic value is, and so the overload, is known only at evaluation.
    """
    known, large, kinds = _facts(name)
    try:
        made = reduce(wider, [extent(size, given, args) for size in large], SCALAR) if large[1:] else None
        made = made or (extent(large[0], given, args) if large else SCALAR if known else _ANY)
        return max([steps(kind, given, made) for kind in kinds], default=CEILING), made
    except (IndexError, ValueError):  # called with fewer arguments than the overloads take
        weight = capped(sum(g.weight for g in given))
        text, count = capped(sum(g.text for g in given)), capped(sum(g.count for g in given))
        return _steps(weight), Extent(0, text, count, weight, fresh=text + count)


def steps(kinds: Iterable[Steps], given: Given, made: Extent) -> int:
    """The steps of a call of these kinds together; without bound where nothing is said."""
    return capped(sum([_one_kind(one, given, made) for one in kinds])) if kinds else CEILING


def _one_kind(kind: Steps, given: Given, made: Extent) -> int:
    match kind:
        case Steps.ONE:
            return 1
        case Steps.EACH:
            return max(1, sum(g.count for g in given if g.items is not None))
        case Steps.READ:
            return max(1, sum(_steps(g.text) for g in given if g.text))
        case Steps.AFFIX:
            return _steps(min(given[0].text, given[1].text))
        case Steps.ORDERED | Steps.COMPARED:
            return _steps(min(given[0].weight, given[1].weight))
        case Steps.MEMBER:
            item, holder = given
            return max(1, holder.count * _steps(min(item.weight, element_of(holder).weight)))
        case Steps.PAIRED:
            a, b = given[0], given[-1]
            return max(1, a.count * b.count * _steps(min(element_of(a).weight, element_of(b).weight)))
        case Steps.SORTED:
            return sorting(given[0])
        case Steps.SEARCHED:
            return _steps(given[0].text) * _steps(given[1].text)
        case Steps.MATCHED:
            return _steps(given[0].text + 1) * _steps(given[1].text, _PATTERN)
        case Steps.COPIED:
            return given[0].count + _steps(given[0].text)
        case Steps.ELEMENTS:
            return given[0].count
        case Steps.TEXT_MADE:
            return _steps(made.text)
        case Steps.PARTS_MADE:
            return made.count
        case _:
            return CEILING


def sorting(held: Extent) -> int:
    """The steps of comparing n elements n log n times."""
    return capped(max(1, held.count * held.count.bit_length() * _steps(element_of(held).weight)))


def extent(size: Size, given: Given, args: tuple[Expr, ...]) -> Extent:
    """The extent of what a call makes, from the operands, target first."""
    match size:
        case Size.UNKNOWN:
            return _ANY
        case Size.CONSTANT:
            return SCALAR
        case Size.OPERAND:
            return reduce(wider, given)
        case Size.ELEMENT:
            held = given[0]
            return held.items or Extent(0, held.weight, held.count, held.weight)
        case Size.SUBTEXT | Size.RECASED:
            return _made_text(0, given[0].text)
        case Size.CHARACTER:
            return _made_text(0, 1)
        case Size.WRITTEN:
            return _made_text(0, max(_NUMBER_TEXT, given[0].text))
        case Size.ENCODED:
            return _made_text(given[0].low, given[0].text * 4)
        case Size.PARTS:
            count = given[0].text + 1
            return Extent(0, 0, count, 2 * count, fresh=2 * count)
        case Size.SELECTED:
            return replace(given[0], low=0)
        case Size.REORDERED:
            return given[0]
        case Size.SUM:
            return _concatenation(*given)
        case Size.RANGE:
            bound = args[-1]
            most = max(0, bound.value) if isinstance(bound, Lit) and isinstance(bound.value, int) else 1_000_000
            return made_list(0, most, SCALAR)
        case Size.FLATTENED:
            return _flattened(given[0], args)
        case Size.REPLACED:
            subject, old, new = given[:3]
            places = subject.text + 1 if old.low == 0 else subject.text // old.low
            return _made_text(0, subject.text + places * new.text)
        case Size.PATTERN_REPLACED:
            # each match becomes the replacement, and a group (`\\1`, two characters) no more than what it matched
            subject, _, new = given[:3]
            return _made_text(0, subject.text + (subject.text + 1) * new.text + subject.text * (new.text // 2))
        case Size.FORMATTED:
            return _formatted(given[0], given[1], args[0])
        case Size.DOUBLED:
            return _made_text(0, given[0].text * 2 + 4)
        case Size.JOINED:
            separator = given[1].text if len(given) > 1 else 0
            return _made_text(0, given[0].count * (element_of(given[0]).text + separator))
        case _:
            assert_never(size)


def _concatenation(a: Extent, b: Extent) -> Extent:
    text, count = capped(a.text + b.text), capped(a.count + b.count)
    if not text and not count:
        return text_of(0, 0) if a.weight + b.weight == 0 else SCALAR
    fresh = capped(max(text, count) + (a.fresh if a.items else 0) + (b.fresh if b.items else 0))
    items = wider(element_of(a if a.count else b), element_of(b if b.count else a)) if count else None
    return Extent(a.low + b.low, text, count, capped(a.weight + b.weight), items, fresh=fresh)


def _formatted(pattern: Extent, values: Extent, written: Expr) -> Extent:
    precise = 0
    if isinstance(written, Lit) and isinstance(written.value, str):
        precise = sum(int(digits) for digits in _PRECISION.findall(written.value))
    largest = max(_NUMBER_TEXT, element_of(values).weight * 4)
    return _made_text(0, pattern.text + min(pattern.text // 2, values.count) * largest + precise)


def _flattened(held: Extent, args: tuple[Expr, ...]) -> Extent:
    levels = args[-1].value if len(args) > 1 and isinstance(args[-1], Lit) else 1
    count, items = held.count, element_of(held)
    for _ in range(levels if isinstance(levels, int) and 0 <= levels <= 100 else 100):
        if items.count == 0:
            break
        count, items = capped(max(count, count * items.count)), element_of(items)
    count = min(count, held.weight)
    return Extent(0, 0, count, held.weight, items, fresh=held.fresh + count)
