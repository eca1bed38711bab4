"""Sets of code points as sorted ranges, materialised by asking RE2, so that the Unicode tables are RE2's own."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable
from functools import lru_cache

from tricel.compiler.patterns import compile_re2

CharSet = tuple[tuple[int, int], ...]
"""Sorted, disjoint, inclusive ranges of code points; never a surrogate, which no UTF-8 text holds."""

NONE: CharSet = ()
_UTF_32 = f"utf-32-{sys.byteorder[0]}e"
ALL: CharSet = ((0, 0xD7FF), (0xE000, 0x10FFFF))
NEWLINE: CharSet = ((10, 10),)
WORD: CharSet = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))

_SURROGATES = (0xD800, 0xDFFF)
_FOLDS_BEYOND_ASCII = {"k": 0x212A, "s": 0x17F}


def of(ranges: Iterable[tuple[int, int]]) -> CharSet:
    """The set that holds the given ranges, which may overlap and come in any order."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)


def union(*sets: CharSet) -> CharSet:
    """What is in any of the sets."""
    return of(r for s in sets for r in s)


def complement(s: CharSet, surrogates: bool = False) -> CharSet:
    """What is not in the set; with `surrogates`, these too."""
    found, start = [], 0
    for low, high in of((*s, *(() if surrogates else (_SURROGATES,)))):
        if start < low:
            found.append((start, low - 1))
        start = high + 1
    if start <= 0x10FFFF:
        found.append((start, 0x10FFFF))
    return tuple(found)


@lru_cache(maxsize=4096)
def subset(a: CharSet, b: CharSet) -> bool:
    """Whether b holds all of a."""
    return union(a, b) == b


@lru_cache(maxsize=4096)
def disjoint(a: CharSet, b: CharSet) -> bool:
    """Whether no code point is in both."""
    return sum(h - w + 1 for w, h in union(a, b)) == sum(h - w + 1 for w, h in (*a, *b))


def members(s: CharSet, limit: int) -> tuple[str, ...] | None:
    """The characters of a set, or None where there are more than `limit`."""
    if sum(high - low + 1 for low, high in s) > limit:
        return None
    return tuple(chr(c) for low, high in s for c in range(low, high + 1))


@lru_cache(maxsize=1)
def _every_character() -> str:
    # Through bytes: a million strings of one character each would take 80 MB, and a review has not as many.
    return "".join(array("I", range(low, high + 1)).tobytes().decode(_UTF_32) for low, high in ALL)


@lru_cache(maxsize=512)
def ask(token: str, fold: bool) -> CharSet:
    """The characters that RE2 gives to one class or escape, such as `[^a-c]` or `\\pL`."""
    text = _every_character()
    runs = compile_re2(f"(?{'i' if fold else 's'}){token}+").finditer(text)
    found = []
    for run in runs:
        low, high = ord(text[run.start()]), ord(text[run.end() - 1])
        crosses = low < _SURROGATES[0] and high > _SURROGATES[1]
        found += [(low, _SURROGATES[0] - 1), (_SURROGATES[1] + 1, high)] if crosses else [(low, high)]
    return tuple(found)


def literal(c: str, fold: bool) -> CharSet:
    """One character, or with `fold` everything that RE2 takes for it when case does not matter."""
    if not fold:
        return ((ord(c), ord(c)),)
    if not c.isascii():
        return ask(f"\\x{{{ord(c):X}}}", True)
    found = {ord(c.lower()), ord(c.upper()), _FOLDS_BEYOND_ASCII.get(c.lower(), ord(c))}
    return of((x, x) for x in found)
