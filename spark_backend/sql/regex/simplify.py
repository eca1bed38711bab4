"""Smaller trees that match the same strings: what makes a pattern literal, and most nested repetitions flat.

A search only asks whether there is a match, so greediness, groups and the order of branches do not count, and
what may be skipped at either end of the pattern is skipped.
"""

from __future__ import annotations

from collections.abc import Iterable

from . import charset
from .charset import NONE
from .tree import EMPTY, NEVER, At, Chars, Either, Place, Regex, Repeat, Sequence, items_of, lengths, skippable


def sequence(items: Iterable[Regex]) -> Regex:
    """The items one after the other."""
    flat: list[Regex] = []
    for item in items:
        for part in items_of(item):
            if part == NEVER:
                return NEVER
            flat = _joined(flat, part)
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def _joined(before: list[Regex], part: Regex) -> list[Regex]:
    """The items with one more; neighbours that repeat the same characters become one."""
    if before and isinstance(part, Repeat | Chars):
        last = before[-1]
        a, b = _counts(last), _counts(part)
        if a and b and (isinstance(last, Repeat) or isinstance(part, Repeat)):
            if a[0] == b[0]:
                high = None if a[2] is None or b[2] is None else a[2] + b[2]
                return [*before[:-1], Repeat(Chars(a[0]), a[1] + b[1], high)]
            if b[2] is None and charset.subset(a[0], b[0]) and a[1] != a[2]:
                fewer = sequence((*before[:-1], repeat(Chars(a[0]), a[1], a[1])))
                return _joined(list(items_of(fewer)), part)
            if a[2] is None and charset.subset(b[0], a[0]) and b[1] != b[2]:
                return _joined(before, repeat(Chars(b[0]), b[1], b[1])) if b[1] else before
    return [*before, part]


def _counts(r: Regex) -> tuple[charset.CharSet, int, int | None] | None:
    """(characters, fewest, most) of a repeated set of characters."""
    if isinstance(r, Chars):
        return r.set, 1, 1
    if isinstance(r, Repeat) and isinstance(r.body, Chars):
        return r.body.set, r.low, r.high
    return None


def either(branches: Iterable[Regex]) -> Regex:
    """Any of the branches; single characters become one set."""
    flat: list[Regex] = []
    for branch in branches:
        flat.extend(branch.branches if isinstance(branch, Either) else (branch,))
    empty = any(b == EMPTY for b in flat)
    single = charset.union(NONE, *(b.set for b in flat if isinstance(b, Chars)))
    rest = [b for b in dict.fromkeys(flat) if not isinstance(b, Chars) and b != EMPTY]
    kept: list[Regex] = [Chars(single)] if single else []
    kept += rest
    if not kept:
        return EMPTY if empty else NEVER
    found = kept[0] if len(kept) == 1 else Either(tuple(kept))
    return repeat(found, 0, 1) if empty else found


def repeat(body: Regex, low: int, high: int | None) -> Regex:
    """`low` to `high` times the body."""
    if body == NEVER:
        return EMPTY if low == 0 else NEVER
    if high == 0 or body == EMPTY:
        return EMPTY
    if skippable(body):
        low = 0
    if lengths(body)[1] == 0:
        return EMPTY if low == 0 else body
    if low == 0:
        body = _without_idle_branches(body)
    if high is None and low == 0:
        body = _without_idle_branches(_loop_body(body))
    if (low, high) == (1, 1):
        return body
    if isinstance(body, Repeat):
        merged = _nested(body, low, high)
        if merged is not None:
            return merged
    return Repeat(body, low, high)


def _without_idle_branches(body: Regex) -> Regex:
    """A body that may run no times: a turn that takes nothing is a turn not taken."""
    if not isinstance(body, Either):
        return body
    return either(b for b in body.branches if lengths(b)[1] > 0)


def _loop_body(body: Regex) -> Regex:
    """The body of `*`: (x*y?)* is (x|y)*, and (x+|y)* too."""
    if isinstance(body, Sequence) and skippable(body):
        body = Either(body.items)
    if isinstance(body, Either):
        return either(_loop_body(b) for b in body.branches)
    if isinstance(body, Repeat) and body.low <= 1:
        return _loop_body(body.body)
    return body


def _nested(body: Repeat, low: int, high: int | None) -> Regex | None:
    """A repetition of a repetition as one, where that is exact."""
    if body.low > 1 and not (body.high is None and low):
        return None
    return repeat(body.body, body.low * low, None if high is None or body.high is None else body.high * high)


def trimmed(r: Regex) -> Regex:
    """The pattern without what a search may skip at its two ends; EMPTY where every string matches."""
    found = _trim(_trim(r, 0), -1)
    return EMPTY if _holds_somewhere(found) else found


def _holds_somewhere(r: Regex) -> bool:
    """Whether some position of every string satisfies it: only the sure cases."""
    match r:
        case At(place):
            return place not in (Place.WORD_EDGE, Place.NOT_WORD_EDGE)
        case Either(branches):
            return any(_holds_somewhere(b) for b in branches)
        case _:
            return skippable(r)


def _trim(r: Regex, end: int) -> Regex:
    """Without what may be skipped at the start (end 0) or at the end (-1)."""
    if skippable(r):
        return EMPTY
    match r:
        case Sequence(items):
            while items:
                kept = _trim(items[end], end)
                rest = items[1:] if end == 0 else items[:-1]
                if kept != EMPTY:
                    return sequence((kept, *rest) if end == 0 else (*rest, kept))
                items = rest
            return EMPTY
        case Either(branches):
            return either(_trim(b, end) for b in branches)
        case Repeat(body, low, _):
            kept = _trim(body, end)
            if kept == body:
                return repeat(body, low, low)
            others = repeat(body, low - 1, low - 1)
            return sequence((kept, others) if end == 0 else (others, kept))
        case _:
            return r
