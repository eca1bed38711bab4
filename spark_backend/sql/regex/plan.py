"""One pattern -> how Spark answers `matches`: a comparison of text, a Java pattern, or RE2 itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TypeAlias

from tricel.compiler.patterns import Refused, refusal

from .charset import members
from .parse import NotTranslated, parse
from .safe import java
from .simplify import trimmed
from .tree import EMPTY, At, Chars, Either, Place, Regex, Repeat, Sequence, items_of

MAX_EQUALS = 64
MAX_PARTS = 8
MAX_REPEATED = 64


@dataclass(frozen=True, slots=True)
class Equals:
    """The text is one of the values."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StartsWith:
    """The text starts with one of the values."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EndsWith:
    """The text ends with one of the values."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contains:
    """One of the values occurs in the text."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Always:
    """Every text matches."""


@dataclass(frozen=True, slots=True)
class Java:
    """`find` of this java.util.regex pattern gives RE2's answer, in linear time and bounded stack."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Fallback:
    """Only RE2 gives the answer; `reason` says why, for a person."""

    reason: str


Plan: TypeAlias = Refused | Equals | StartsWith | EndsWith | Contains | Always | Java | Fallback


@lru_cache(maxsize=1024)
def plan(pattern: str) -> Plan:
    """How to search for an RE2 pattern, as CEL's `matches` does: anywhere in the text, with RE2's default options."""
    refused = refusal(pattern)
    if refused is not None:
        return refused
    try:
        tree = trimmed(parse(pattern))
        if tree == EMPTY:
            return Always()
        return _comparison(tree) or Java(java(tree))
    except NotTranslated as reason:
        return Fallback(str(reason))


def _comparison(r: Regex) -> Plan | None:
    """The comparison of literal text that the pattern amounts to, if it does."""
    items = list(items_of(r))
    start = bool(items) and items[0] == At(Place.TEXT_START)
    items = items[1:] if start else items
    end = bool(items) and items[-1] == At(Place.TEXT_END)
    items = items[:-1] if end else items
    values = _texts(Sequence(tuple(items)), MAX_EQUALS if start and end else MAX_PARTS)
    if not values:
        return None
    match start, end:
        case True, True:
            return Equals(values)
        case True, False:
            return StartsWith(values)
        case False, True:
            return EndsWith(values)
        case _:
            return Contains(values)


def _texts(r: Regex, limit: int) -> tuple[str, ...] | None:
    """Every string that it matches, in order; None where there are more than `limit` or a position matters."""
    found: tuple[str, ...] | None
    match r:
        case Chars(chars):
            found = members(chars, limit)
        case At():
            return None
        case Sequence(items):
            found = ("",)
            for item in items:
                more = _texts(item, limit)
                if more is None or len(found) * len(more) > limit:
                    return None
                found = tuple(a + b for a, b in product(found, more))
        case Either(branches):
            each = [_texts(b, limit) for b in branches]
            found = () if None not in each else None
            for part in each:
                found = None if found is None or part is None else found + part
        case Repeat(body, low, high):
            if high is None or high > MAX_REPEATED:
                return None
            each = [_texts(Sequence((body,) * n), limit) for n in range(low, high + 1)]
            found = None if None in each else tuple(t for part in each if part is not None for t in part)
    return None if found is None or len(found) > limit else tuple(dict.fromkeys(found))
