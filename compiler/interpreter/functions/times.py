"""Timestamps and durations: conversions and fields (CEL definition, "Date/Time Functions")."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from ...values import durations, rfc3339
from ...values.cel import CelError, Duration, Timestamp
from ..operators import timestamp
from ..registry import implements

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND, _MILLISECOND = 10**9, 10**6
_DAY, _CYCLE = 86_400, 146_097 * 86_400
_FIRST, _LAST = -62_135_596_800, 253_402_300_799
_OFFSET = re.compile(r"([+-]?)(\d{1,2}):(\d{1,2})", re.ASCII)
"""A fixed zone (CEL definition, "Timezones"), which names no limit: `+25:00` is one."""


@implements("string_to_timestamp")
def _read_timestamp(text: str) -> Timestamp:
    nanos = rfc3339.cut_to_nanoseconds(text)
    if nanos is None:
        raise CelError(f"not an RFC 3339 time: {text[:60]!r}")
    return timestamp(nanos)


@implements("int64_to_timestamp")
def _from_seconds(seconds: int) -> Timestamp:
    return timestamp(seconds * _SECOND)


@implements("timestamp_to_int64")
def _seconds(time: Timestamp) -> int:
    return time.nanos // _SECOND


@implements("timestamp_to_string")
def _timestamp_text(time: Timestamp) -> str:
    return rfc3339.text_of(time.nanos)


@implements("string_to_duration")
def _read_duration(text: str) -> Duration:
    nanos = durations.nanoseconds(text)
    if nanos is None:
        raise CelError(f"not a duration: {text[:60]!r}")
    return Duration(nanos)


@implements("duration_to_string")
def _duration_text(length: Duration) -> str:
    return durations.text_of(length.nanos)


def _local(time: Timestamp, zone: str) -> tuple[datetime, int]:
    """The time on the clock of a zone, to the second, and how many years to add to it.

    A clock may show the years 0 and 10000, which Python does not have: the calendar is the same 400 years away.
    """
    seconds = time.nanos // _SECOND
    seconds += _offset_at(seconds, _zone(zone)) if zone else 0
    cycles = 1 if seconds < _FIRST else -1 if seconds > _LAST else 0
    return _EPOCH + timedelta(seconds=seconds + cycles * _CYCLE), -400 * cycles


@lru_cache(maxsize=256)
def _zone(name: str) -> tzinfo | int:
    """A time zone by its IANA name, or the seconds of an offset, as in `+01:00`.

    Raises:
        CelError: for anything else.
    """
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        length = int(offset[2]) * 3600 + int(offset[3]) * 60
        return -length if offset[1] == "-" else length
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        raise CelError(f"invalid time zone: {name[:60]!r}") from None


def _offset_at(seconds: int, zone: tzinfo | int) -> int:
    """The zone's offset from UTC in seconds; at the ends of Python's years that of the day next to them."""
    if isinstance(zone, int):
        return zone
    within = min(max(seconds, _FIRST + 2 * _DAY), _LAST - 2 * _DAY)
    offset = (_EPOCH + timedelta(seconds=within)).astimezone(zone).utcoffset() or timedelta()
    return offset // timedelta(seconds=1)


_FIELDS: dict[str, Callable[[datetime], int]] = {
    "month": lambda d: d.month - 1,
    "day_of_month_1_based": lambda d: d.day,
    "day_of_month": lambda d: d.day - 1,
    "day_of_week": lambda d: d.isoweekday() % 7,
    "day_of_year": lambda d: d.timetuple().tm_yday - 1,
    "hours": lambda d: d.hour,
    "minutes": lambda d: d.minute,
    "seconds": lambda d: d.second,
}


def _field(read: Callable[[datetime], int]) -> Callable[..., int]:
    def field(time: Timestamp, zone: str = "") -> int:
        return read(_local(time, zone)[0])

    return field


@implements("timestamp_to_year", "timestamp_to_year_with_tz")
def _year(time: Timestamp, zone: str = "") -> int:
    shown, years = _local(time, zone)
    return shown.year + years


for _stem, _read in _FIELDS.items():
    implements(f"timestamp_to_{_stem}", f"timestamp_to_{_stem}_with_tz")(_field(_read))


@implements("timestamp_to_milliseconds", "timestamp_to_milliseconds_with_tz")
def _milliseconds(time: Timestamp, zone: str = "") -> int:
    _local(time, zone)
    return time.nanos // _MILLISECOND % 1000


def _whole(nanos: int, unit: int) -> int:
    """How many whole units there are, toward zero."""
    return nanos // unit if nanos >= 0 else -(-nanos // unit)


@implements("duration_to_hours")
def _hours(length: Duration) -> int:
    return _whole(length.nanos, 3600 * _SECOND)


@implements("duration_to_minutes")
def _minutes(length: Duration) -> int:
    return _whole(length.nanos, 60 * _SECOND)


@implements("duration_to_seconds")
def _duration_seconds(length: Duration) -> int:
    return _whole(length.nanos, _SECOND)


@implements("duration_to_milliseconds")
def _duration_milliseconds(length: Duration) -> int:
    rest = abs(length.nanos) % _SECOND // _MILLISECOND
    return rest if length.nanos >= 0 else -rest
