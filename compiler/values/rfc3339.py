"""RFC 3339 times, as CloudEvents and CEL write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_FORM = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
_FINER = re.compile(r"(?<=\.\d{9})\d+", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)


def nanoseconds(text: str) -> int | None:
    """Nanoseconds since 1970 in UTC; None if not a time.

    Years are 0001 to 9999; a leap second (`:60`) and `24:00` are not times here.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = map(int, found.group(1, 2, 3, 4, 5, 6))
    fraction = (found[7] or "").ljust(9, "0")
    try:
        utc = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - _offset(found)
    except (ValueError, OverflowError):
        return None
    return (utc - _EPOCH) // _SECOND * 10**9 + int(fraction)


def cut_to_nanoseconds(text: str) -> int | None:
    """As `nanoseconds`, of a fraction with any number of digits (RFC 3339, section 5.6): what is finer is cut."""
    return nanoseconds(_FINER.sub("", text))


def microseconds(text: str) -> tuple[int, bool] | None:
    """Microseconds since 1970 in UTC, and whether that is exact (a finer fraction is cut); None if not a time."""
    nanos = nanoseconds(text)
    return None if nanos is None else (nanos // 1000, nanos % 1000 == 0)


def text_of(nanos: int) -> str:
    """The time so many nanoseconds after 1970, in UTC, with a fraction of 3, 6 or 9 digits where there is one."""
    seconds, rest = divmod(nanos, 10**9)
    whole = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    return whole + fraction_text(rest) + "Z"


def fraction_text(nanos: int) -> str:
    """The fraction of a second with its dot, in 3, 6 or 9 digits; empty for none."""
    digits = f"{nanos:09d}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f".{digits}" if digits else ""


def _offset(found: re.Match[str]) -> timedelta:
    if found[8] is None:
        return timedelta()
    hours, minutes = int(found[9]), int(found[10])
    if hours > 23 or minutes > 59:
        raise ValueError("offset out of range")
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if found[8] == "-" else offset
