"""RFC 3339 times, as CloudEvents and CEL write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_FORM = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(text: str) -> tuple[int, bool] | None:
    """Microseconds since 1970 in UTC, and whether that is exact (a finer fraction is cut); None if not a time.

    Years are 0001 to 9999; a leap second (`:60`) and `24:00` are not times here, as they are not in CEL.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = map(int, found.group(1, 2, 3, 4, 5, 6))
    fraction = (found[7] or "").ljust(9, "0")
    try:
        local = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        utc = local - _offset(found)
    except (ValueError, OverflowError):
        return None
    return (utc - _EPOCH) // _MICROSECOND + int(fraction[:6]), fraction[6:] == "000"


def _offset(found: re.Match[str]) -> timedelta:
    if found[8] is None:
        return timedelta()
    hours, minutes = int(found[9]), int(found[10])
    if hours > 23 or minutes > 59:
        raise ValueError("offset out of range")
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if found[8] == "-" else offset
