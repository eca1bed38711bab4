"""Times and durations. A timestamp is TIMESTAMP, a duration BIGINT: both microseconds, which is as fine as Spark is.

Fields are computed from seconds since 1970 and from dates, neither of which the session's time zone changes. A sum
out of CEL's range is NULL: times are of the years 1 to 9999, and a duration that arithmetic makes is at most as long
as int64 nanoseconds are, about 292 years.
"""

from __future__ import annotations

from ..sql import Sql
from .registry import lowers

FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The range of timestamps, in microseconds since 1970."""
LONGEST = 9_223_372_036_854_775
"""The longest duration that arithmetic takes or makes, in microseconds."""
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
_LONGEST_SECONDS = 9_223_372_036
_DAY, _HOUR = 86_400, 3_600
FIELD_DEPTH = 6
"""The levels of nesting of a field's text."""


def _instant(micros: str) -> str:
    return f"CASE WHEN {micros} BETWEEN {FIRST}L AND {LAST}L THEN timestamp_micros({micros}) END"


def _length(micros: str) -> str:
    return f"CASE WHEN {micros} BETWEEN -{LONGEST}L AND {LONGEST}L THEN {micros} END"


@lowers("add_timestamp_duration", twice=(0, 1), depth=4)
def _later(time: Sql, length: Sql) -> str:
    return _instant(f"try_add(unix_micros({time.text}), {length.text})")


@lowers("add_duration_timestamp", twice=(0, 1), depth=4)
def _later_too(length: Sql, time: Sql) -> str:
    return _later(time, length)


@lowers("subtract_timestamp_duration", twice=(0, 1), depth=4)
def _earlier(time: Sql, length: Sql) -> str:
    return _instant(f"try_subtract(unix_micros({time.text}), {length.text})")


@lowers("subtract_timestamp_timestamp", twice=(0, 1), depth=5)
def _between(a: Sql, b: Sql) -> str:
    """The seconds are bounded by themselves: CEL's engines multiply them out before they add the fraction."""
    seconds = f"try_subtract(unix_seconds({a.text}), unix_seconds({b.text}))"
    bounded = f"{seconds} BETWEEN -{_LONGEST_SECONDS}L AND {_LONGEST_SECONDS}L"
    return f"CASE WHEN {bounded} THEN {_length(f'try_subtract(unix_micros({a.text}), unix_micros({b.text}))')} END"


@lowers("add_duration_duration", twice=(0, 1), depth=3)
def _longer(a: Sql, b: Sql) -> str:
    return _length(f"try_add({a.text}, {b.text})")


@lowers("subtract_duration_duration", twice=(0, 1), depth=3)
def _shorter(a: Sql, b: Sql) -> str:
    return _length(f"try_subtract({a.text}, {b.text})")


@lowers("timestamp_to_timestamp", "duration_to_duration", infix=True)
def _identity(x: Sql) -> str:
    return str(x)


@lowers("timestamp_to_int64")
def _seconds_since(time: Sql) -> str:
    return f"unix_seconds({time.text})"


@lowers("int64_to_timestamp", twice=(0,), depth=3)
def _from_seconds(seconds: Sql) -> str:
    micros = f"try_multiply({seconds.text}, 1000000L)"
    return f"CASE WHEN {seconds} BETWEEN {_FIRST_SECOND}L AND {_LAST_SECOND}L THEN timestamp_micros({micros}) END"


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
DATES, INFIX = FIELDS[:6], ("hours", "minutes")
"""The fields that write the time twice, and those whose text needs parentheses as an operand."""


def field(name: str, time: Sql, offset: int = 0) -> str:
    """A field of a timestamp, `offset` seconds east of UTC; as BIGINT. The time is written once, or twice for a date."""
    seconds = f"unix_seconds({time.text})" + (f" {'+' if offset > 0 else '-'} {abs(offset)}L" if offset else "")
    match name:
        case "milliseconds":
            return f"pmod(unix_millis({time.text}), 1000L)"
        case "seconds":
            return f"pmod({seconds}, 60L)"
        case "minutes":
            return f"pmod({seconds}, {_HOUR}L) div 60L"
        case "hours":
            return f"pmod({seconds}, {_DAY}L) div {_HOUR}L"
    day = f"date_from_unix_date(CAST(({seconds} - pmod({seconds}, {_DAY}L)) div {_DAY}L AS INT))"
    function, first = {
        "year": ("year", 0),
        "month": ("month", 1),
        "day_of_month_1_based": ("day", 0),
        "day_of_month": ("day", 1),
        "day_of_week": ("dayofweek", 1),
        "day_of_year": ("dayofyear", 1),
    }[name]
    return f"CAST({function}({day}){' - 1' if first else ''} AS BIGINT)"


def _of(name: str) -> None:
    @lowers(f"timestamp_to_{name}", twice=(0,) if name in DATES else (), infix=name in INFIX, depth=FIELD_DEPTH)
    def template(time: Sql) -> str:
        return field(name, time)


for _name in FIELDS:
    _of(_name)


@lowers("timestamp_to_string", twice=(0,), depth=12)
def _timestamp_text(time: Sql) -> str:
    return timestamp_text(time, _fraction(f"pmod(unix_micros({time.text}), 1000000L)"))


def timestamp_text(time: Sql, fraction: str) -> str:
    """RFC 3339, put together from numbers: Spark's own text has the session's time zone and a pattern of its era.

    `fraction` is the SQL of what follows the whole second.
    """
    month = f"{field('month', time)} + 1L"
    date = (_padded(field("year", time), 4), _padded(month), _padded(field("day_of_month_1_based", time)))
    clock = (_padded(field(n, time)) for n in ("hours", "minutes", "seconds"))
    text = f"""concat({", '-', ".join(date)}, 'T', {", ':', ".join(clock)}, {fraction}, 'Z')"""
    return f"CASE WHEN unix_seconds({time.text}) BETWEEN {_FIRST_SECOND}L AND {_LAST_SECOND}L THEN {text} END"


@lowers("duration_to_string", twice=(0,), depth=6)
def _duration_text(length: Sql) -> str:
    sign = f"CASE WHEN {length} < 0L THEN '-' ELSE '' END"
    seconds = f"CAST(abs({length.text}) div 1000000L AS STRING)"
    return f"concat({sign}, {seconds}, {_fraction(f'abs({length.text}) % 1000000L')}, 's')"


def _padded(number: str, width: int = 2) -> str:
    return f"lpad(CAST({number} AS STRING), {width}, '0')"


def _fraction(micros: str) -> str:
    """The fraction of a second with its dot, in three or six digits; empty for none."""
    short = f"WHEN ({micros}) % 1000L = 0L THEN concat('.', {_padded(f'({micros}) div 1000L', 3)})"
    return f"CASE WHEN {micros} = 0L THEN '' {short} ELSE concat('.', {_padded(micros, 6)}) END"


def nano_fraction(nanos: str) -> str:
    """The fraction of a second with its dot, in three, six or nine digits; empty for none. `nanos` is written often."""
    milli = f"WHEN {nanos} % 1000000L = 0L THEN concat('.', {_padded(f'{nanos} div 1000000L', 3)})"
    micro = f"WHEN {nanos} % 1000L = 0L THEN concat('.', {_padded(f'{nanos} div 1000L', 6)})"
    return f"CASE WHEN {nanos} = 0L THEN '' {milli} {micro} ELSE concat('.', {_padded(nanos, 9)}) END"


@lowers("duration_to_hours", infix=True)
def _hours(length: Sql) -> str:
    return f"{length} div 3600000000L"


@lowers("duration_to_minutes", infix=True)
def _minutes(length: Sql) -> str:
    return f"{length} div 60000000L"


@lowers("duration_to_seconds", infix=True)
def _whole_seconds(length: Sql) -> str:
    return f"{length} div 1000000L"


@lowers("duration_to_milliseconds", infix=True, depth=2)
def _milliseconds(length: Sql) -> str:
    return f"({length} % 1000000L) div 1000L"
