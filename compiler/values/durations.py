"""Durations as CEL writes them: `1h30m`, `-1.5s`, `0`; and `5400s` back."""

from __future__ import annotations

import re

from .rfc3339 import fraction_text

_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_PART = re.compile(rf"({_NUMBER})(ns|us|ms|s|m|h)")
_WHOLE = re.compile(rf"([+-]?)(0|(?:{_NUMBER}(?:ns|us|ms|s|m|h))+)")
_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_LONGEST_WHOLE, _LONGEST_FRACTION = 22, 24
MAX_NANOSECONDS = 315_576_000_000 * 10**9 + 999_999_999
"""The longest duration, of either sign: about 10,000 years (google.protobuf.Duration)."""


def nanoseconds(text: str) -> int | None:
    """Nanoseconds, what is finer cut toward zero; None where the text is no duration, or out of range."""
    found = _read(text)
    return None if found is None else found[0]


def microseconds(text: str) -> tuple[int, bool] | None:
    """Microseconds, and whether that is exact; None where the text is no duration, or out of range."""
    found = _read(text)
    if found is None:
        return None
    nanos, exact = found
    micros = abs(nanos) // 1000
    return (-micros if nanos < 0 else micros), exact and nanos % 1000 == 0


def text_of(nanos: int) -> str:
    """A duration's text: seconds with no fraction or one of 3, 6 or 9 digits (google.protobuf.Duration in JSON)."""
    seconds, fraction = divmod(abs(nanos), 10**9)
    return f"{'-' if nanos < 0 else ''}{seconds}{fraction_text(fraction)}s"


def _read(text: str) -> tuple[int, bool] | None:
    found = _WHOLE.fullmatch(text)
    if found is None:
        return None
    total, exact = 0, True
    for number, unit in _PART.findall(found[2]):
        whole, _, fraction = number.partition(".")
        whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
        if len(whole) > _LONGEST_WHOLE:
            return None
        kept = fraction[:_LONGEST_FRACTION]
        part, finer = divmod(int(kept or "0") * _UNITS[unit], 10 ** len(kept))
        total += int(whole or "0") * _UNITS[unit] + part
        exact = exact and finer == 0 and kept == fraction
    if total > MAX_NANOSECONDS:
        return None
    return (-total if found[1] == "-" else total), exact
