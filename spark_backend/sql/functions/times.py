"""Times and durations. A timestamp is TIMESTAMP, a duration BIGINT: both microseconds, which is as fine as Spark is.

Fields are computed from seconds since 1970 and from dates, neither of which the session's time zone changes. A sum
out of CEL's range is NULL: times are of the years 1 to 9999, and a duration that arithmetic makes is at most as long
as int64 nanoseconds are, about 292 years.
"""

from __future__ import annotations

from .. import Operand, Sql, Typed, between, case, cast, equal, function, integer, when
from .registry import lowers

FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The range of timestamps, in microseconds since 1970."""
LONGEST = 9_223_372_036_854_775
"""The longest duration that arithmetic takes or makes, in microseconds."""
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
_LONGEST_SECONDS = 9_223_372_036
_DAY, _HOUR = 86_400, 3_600


def _instant(micros: Sql) -> Sql:
    return when(between(micros, FIRST, LAST), function("timestamp_micros", micros))


def _length(micros: Sql) -> Sql:
    return when(between(micros, -LONGEST, LONGEST), micros)


def _micros(time: Operand) -> Sql:
    return function("unix_micros", time)


def _seconds(time: Operand) -> Sql:
    return function("unix_seconds", time)


@lowers("add_timestamp_duration", twice=(0, 1))
def _later(time: Typed, length: Typed) -> Sql:
    return _instant(function("try_add", _micros(time), length))


@lowers("add_duration_timestamp", twice=(0, 1))
def _later_too(length: Typed, time: Typed) -> Sql:
    return _later(time, length).sql


@lowers("subtract_timestamp_duration", twice=(0, 1))
def _earlier(time: Typed, length: Typed) -> Sql:
    return _instant(function("try_subtract", _micros(time), length))


@lowers("subtract_timestamp_timestamp", twice=(0, 1))
def _between(a: Typed, b: Typed) -> Sql:
    """The seconds are bounded by themselves: CEL's engines multiply them out before they add the fraction."""
    seconds = function("try_subtract", _seconds(a), _seconds(b))
    length = _length(function("try_subtract", _micros(a), _micros(b)))
    return when(between(seconds, -_LONGEST_SECONDS, _LONGEST_SECONDS), length)


@lowers("add_duration_duration", twice=(0, 1))
def _longer(a: Typed, b: Typed) -> Sql:
    return _length(function("try_add", a, b))


@lowers("subtract_duration_duration", twice=(0, 1))
def _shorter(a: Typed, b: Typed) -> Sql:
    return _length(function("try_subtract", a, b))


@lowers("timestamp_to_timestamp", "duration_to_duration")
def _identity(x: Typed) -> Typed:
    return x


@lowers("timestamp_to_int64")
def _seconds_since(time: Typed) -> Sql:
    return _seconds(time)


@lowers("int64_to_timestamp", twice=(0,))
def _from_seconds(seconds: Typed) -> Sql:
    micros = function("try_multiply", seconds, 1_000_000)
    return when(between(seconds, _FIRST_SECOND, _LAST_SECOND), function("timestamp_micros", micros))


FIELDS = (
    "year",
    "month",
    "day_of_month_1_based",
    "day_of_month",
    "day_of_week",
    "day_of_year",
    "hours",
    "minutes",
    "seconds",
    "milliseconds",
)
"""The fields of a timestamp, as overload ids name them."""
DATES = FIELDS[:6]
"""The fields that write the time twice."""
_OF_A_DATE = {
    "year": ("year", 0),
    "month": ("month", 1),
    "day_of_month_1_based": ("day", 0),
    "day_of_month": ("day", 1),
    "day_of_week": ("dayofweek", 1),
    "day_of_year": ("dayofyear", 1),
}
"""For each of these fields Spark's own function, and what that gives for the first of them."""


def field(name: str, time: Operand, offset: int = 0) -> Sql:
    """A field of a timestamp, `offset` seconds east of UTC; as BIGINT. The time is written once, or twice for a date."""
    seconds = _seconds(time)
    if offset:
        seconds = seconds + offset if offset > 0 else seconds - abs(offset)
    match name:
        case "milliseconds":
            return function("pmod", function("unix_millis", time), 1_000)
        case "seconds":
            return function("pmod", seconds, 60)
        case "minutes":
            return function("pmod", seconds, _HOUR) // 60
        case "hours":
            return function("pmod", seconds, _DAY) // _HOUR
    days = (seconds - function("pmod", seconds, _DAY)) // _DAY
    of, first = _OF_A_DATE[name]
    found: Sql = function(of, function("date_from_unix_date", cast(days, "INT")))
    return cast(found - integer(first) if first else found, "BIGINT")


def _of(name: str) -> None:
    @lowers(f"timestamp_to_{name}", twice=(0,) if name in DATES else ())
    def template(time: Typed) -> Sql:
        return field(name, time)


for _name in FIELDS:
    _of(_name)


@lowers("timestamp_to_string", twice=(0,))
def _timestamp_text(time: Typed) -> Sql:
    return timestamp_text(time, _fraction(function("pmod", _micros(time), 1_000_000)))


def timestamp_text(time: Operand, fraction: Sql) -> Sql:
    """RFC 3339, put together from numbers: Spark's own text has the session's time zone and a pattern of its era.

    `fraction` is what follows the whole second.
    """
    year, month, day = _padded(field("year", time), 4), field("month", time) + 1, field("day_of_month_1_based", time)
    hours, minutes, seconds = (_padded(field(n, time)) for n in ("hours", "minutes", "seconds"))
    date = (year, "-", _padded(month), "-", _padded(day))
    text = function("concat", *date, "T", hours, ":", minutes, ":", seconds, fraction, "Z")
    return when(between(_seconds(time), _FIRST_SECOND, _LAST_SECOND), text)


@lowers("duration_to_string", twice=(0,))
def _duration_text(length: Typed) -> Sql:
    sign = case((length < 0, "-"), otherwise="")
    size = function("abs", length)
    return function("concat", sign, cast(size // 1_000_000, "STRING"), _fraction(size % 1_000_000), "s")


def _padded(number: Sql, width: int = 2) -> Sql:
    return function("lpad", cast(number, "STRING"), integer(width), "0")


def _fraction(micros: Sql) -> Sql:
    """The fraction of a second with its dot, in three or six digits; empty for none."""
    return case(
        (equal(micros, 0), ""),
        (equal(micros % 1_000, 0), function("concat", ".", _padded(micros // 1_000, 3))),
        otherwise=function("concat", ".", _padded(micros, 6)),
    )


def nano_fraction(nanos: Sql) -> Sql:
    """The fraction of a second with its dot, in three, six or nine digits; empty for none. `nanos` is written often."""
    return case(
        (equal(nanos, 0), ""),
        (equal(nanos % 1_000_000, 0), function("concat", ".", _padded(nanos // 1_000_000, 3))),
        (equal(nanos % 1_000, 0), function("concat", ".", _padded(nanos // 1_000, 6))),
        otherwise=function("concat", ".", _padded(nanos, 9)),
    )


@lowers("duration_to_hours")
def _hours(length: Typed) -> Sql:
    return length // 3_600_000_000


@lowers("duration_to_minutes")
def _minutes(length: Typed) -> Sql:
    return length // 60_000_000


@lowers("duration_to_seconds")
def _whole_seconds(length: Typed) -> Sql:
    return length // 1_000_000


@lowers("duration_to_milliseconds")
def _milliseconds(length: Typed) -> Sql:
    return length % 1_000_000 // 1_000
