"""Did-you-mean."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def closest(name: str, known: Iterable[str]) -> str:
    """The known name most like `name`, or nothing."""
    by_lower = {k.lower(): k for k in known}
    near = get_close_matches(name.lower()[:100], by_lower, n=1, cutoff=0.7)
    return by_lower[near[0]] if near else ""


def did_you_mean(name: str) -> str:
    """The help text that suggests `name`; nothing for nothing."""
    return f"did you mean '{name}'?" if name else ""
