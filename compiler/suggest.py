"""Did-you-mean."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_LONG, _SIMILAR = 9, 0.88


def closest(name: str, known: Iterable[str]) -> str:
    """The known name most like `name`, or nothing."""
    by_lower = {k.lower(): k for k in known}
    near = get_close_matches(name.lower()[:100], by_lower, n=1, cutoff=0.7)
    return by_lower[near[0]] if near else ""


def one_slip(name: str, known: Iterable[str]) -> str:
    """The known name from which `name` is one slip away, or nothing; stricter than `closest`, for names that may be right.

    A slip is a letter too many, missing, or another, or two that changed places, after the first letter; in long names
    also what leaves most of the letters, but for an ending of its own.
    """
    at_first = [k for k in known if name[:1] == k[:1]]
    found = next((k for k in at_first if _one_edit(name, k)), "")
    if found or len(name) < _LONG:
        return found
    long = [k for k in at_first if len(k) >= _LONG and not name.startswith(k)]
    near = get_close_matches(name[:100], long, n=1, cutoff=_SIMILAR)
    return near[0] if near else ""


def _one_edit(a: str, b: str) -> bool:
    """Whether one letter was added, left out or changed, or two changed places."""
    if abs(len(a) - len(b)) > 1 or a == b:
        return False
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    a, b = a[start:], b[start:]
    while a and b and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    return max(len(a), len(b)) <= 1 or (len(a) == len(b) == 2 and a == b[::-1])


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name most like `name`, else the shortest that has it as a part, such as `eventType` for `type`."""
    names = list(known)
    return closest(name, names) or min((k for k in names if name.lower() in k.lower()), key=len, default="")


def did_you_mean(name: str) -> str:
    """The help text that suggests `name`; nothing for nothing."""
    return f"did you mean '{name}'?" if name else ""


def followed(advice: str, told: str) -> str:
    """Help of two parts, either of which may be empty: after a question `told` is a sentence of its own."""
    if not advice or not told:
        return advice or told
    return f"{advice} {told[0].upper()}{told[1:]}" if advice.endswith("?") else f"{advice}; {told}"
