"""The tree of a pattern: what a search asks, with flags resolved, groups and greediness forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias

from . import charset
from .charset import NEWLINE, NONE, CharSet


class Place(StrEnum):
    """What a zero-width assertion asks of its position."""

    TEXT_START = "start of text"
    TEXT_END = "end of text"
    LINE_START = "start of line"
    LINE_END = "end of line"
    WORD_EDGE = "word boundary"
    NOT_WORD_EDGE = "no word boundary"


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of a set."""

    set: CharSet


@dataclass(frozen=True, slots=True)
class At:
    """No character; a demand on the position."""

    place: Place


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other; with no items, the empty string."""

    items: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Any of two or more branches."""

    branches: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`low` to `high` times the body; `high` None is no bound."""

    body: Regex
    low: int
    high: int | None


Regex: TypeAlias = Chars | At | Sequence | Either | Repeat

EMPTY = Sequence(())
NEVER = Chars(NONE)
UNBOUNDED = 1 << 40
"""A length or number of ways that has no bound, or one beyond interest."""


@lru_cache(maxsize=8192)
def lengths(r: Regex) -> tuple[int, int]:
    """The fewest and the most characters that a match takes; at most UNBOUNDED."""
    match r:
        case Chars():
            return 1, 1
        case At():
            return 0, 0
        case Sequence(items):
            each = [lengths(i) for i in items]
            return min(sum(a for a, _ in each), UNBOUNDED), min(sum(b for _, b in each), UNBOUNDED)
        case Either(branches):
            each = [lengths(b) for b in branches]
            return min(a for a, _ in each), max(b for _, b in each)
        case Repeat(body, low, high):
            least, most = lengths(body)
            bound = UNBOUNDED if most and high is None else most * (high or 0)
            return min(least * low, UNBOUNDED), min(bound, UNBOUNDED)


@lru_cache(maxsize=8192)
def skippable(r: Regex) -> bool:
    """Whether it matches the empty string at every position."""
    match r:
        case Chars() | At():
            return False
        case Sequence(items):
            return all(skippable(i) for i in items)
        case Either(branches):
            return any(skippable(b) for b in branches)
        case Repeat(body, low, _):
            return low == 0 or skippable(body)


@lru_cache(maxsize=8192)
def alphabet(r: Regex) -> CharSet:
    """Every character that a match may hold."""
    match r:
        case Chars(found):
            return found
        case At():
            return NONE
        case Sequence(parts) | Either(parts):
            return charset.union(*(alphabet(p) for p in parts))
        case Repeat(body, _, _):
            return alphabet(body)


@lru_cache(maxsize=8192)
def first(r: Regex, follow: CharSet) -> CharSet:
    """No fewer than the characters that can stand after a position where r, and then `follow`, matches."""
    match r:
        case Chars(found):
            return found
        case At(Place.TEXT_END):
            return NONE
        case At(Place.LINE_END):
            return NEWLINE if not charset.disjoint(NEWLINE, follow) else NONE
        case At():
            return follow
        case Sequence(items):
            for item in reversed(items):
                follow = first(item, follow)
            return follow
        case Either(branches):
            return charset.union(*(first(b, follow) for b in branches))
        case Repeat(body, low, _):
            found = first(body, follow if lengths(body)[0] == 0 else NONE)
            return charset.union(found, follow) if low == 0 else found


@lru_cache(maxsize=8192)
def ways(r: Regex) -> int:
    """No fewer than the number of ways in which it can match from one position; at most UNBOUNDED."""
    match r:
        case Chars() | At():
            return 1
        case Sequence(items):
            product = 1
            for item in items:
                product = min(product * ways(item), UNBOUNDED)
            return product
        case Either(branches):
            return min(sum(ways(b) for b in branches), UNBOUNDED)
        case Repeat(body, low, high):
            if high is None:
                return UNBOUNDED
            each, total = ways(body), 0
            if each == 1:
                return high - low + 1
            for count in range(low, high + 1):
                total += each ** min(count, 41)
                if total > UNBOUNDED:
                    return UNBOUNDED
            return total


@lru_cache(maxsize=8192)
def work(r: Regex) -> int:
    """No fewer than the characters looked at while every way of matching from one position is tried."""
    match r:
        case Chars() | At():
            return 1
        case Sequence(items):
            total, tried = 0, 1
            for item in items:
                total = min(total + tried * work(item), UNBOUNDED)
                tried = min(tried * ways(item), UNBOUNDED)
            return total
        case Either(branches):
            return min(sum(work(b) for b in branches), UNBOUNDED)
        case Repeat(body, _, high):
            if high is None:
                return UNBOUNDED
            return min(work(body) * (high if ways(body) == 1 else ways(r) * high), UNBOUNDED)


@lru_cache(maxsize=8192)
def size(r: Regex) -> int:
    """Number of nodes once counted groups are written out."""
    match r:
        case Chars() | At():
            return 1
        case Sequence(parts) | Either(parts):
            return 1 + sum(size(p) for p in parts)
        case Repeat(body, _, high):
            return 1 + size(body) * (1 if high is None or isinstance(body, Chars) else high)


@lru_cache(maxsize=8192)
def asks(r: Regex, place: Place) -> bool:
    """Whether the assertion occurs anywhere in it."""
    match r:
        case Chars():
            return False
        case At(found):
            return found is place
        case Sequence(parts) | Either(parts):
            return any(asks(p, place) for p in parts)
        case Repeat(body, _, _):
            return asks(body, place)


def unbounded(r: Regex) -> bool:
    """Whether there is no limit to the length of a match."""
    return lengths(r)[1] >= UNBOUNDED


def items_of(r: Regex) -> tuple[Regex, ...]:
    """What stands one after the other in it."""
    return r.items if isinstance(r, Sequence) else (r,)
