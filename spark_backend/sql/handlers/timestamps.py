"""Times and durations to the nanosecond, which is finer than Spark's own: whole nanoseconds, as DECIMAL.

That is what a text read as a time or a duration becomes. It has a type of its own, which no overload takes: whatever
does not know it has no native form. What is no finer than a microsecond stays TIMESTAMP or BIGINT, and becomes this
where it meets one. All arithmetic here is of so few digits that no setting of the session rounds any, and what is compared is
of one type: each type that Spark must find for itself takes it a round of its analysis, of which it has a hundred.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType
from tricel.compiler.functions import ALL, BY_NAME
from tricel.compiler.nodes import ADD, SUBTRACT
from tricel.compiler.values import durations

from .. import (
    Operand,
    Sql,
    Typed,
    between,
    boolean,
    case,
    cast,
    decimal,
    equal,
    function,
    integer,
    is_in,
    lambda2,
    operator,
    try_cast,
    unequal,
    when,
)
from ..context import Context
from ..functions import LOWERINGS, takes_finer, times
from ..reasons import NotNative, Reason
from ..typed import SPAN, TIME

_FINER = {t.TIMESTAMP: TIME, t.DURATION: SPAN}
_DECIMAL = "DECIMAL(24,0)"
_SECOND = 10**9
_LAST = times.LAST * 1000 + 999
_FIRST = times.FIRST * 1000
_MOST_INT = 2**63 - 1
_MOST_SECONDS = _MOST_INT // _SECOND
_SHORT = 40
"""Characters of a text that is written many times rather than given a name."""
_READ_BY = frozenset(
    row.function for row in ALL if row.params[:1] in ((t.TIMESTAMP,), (t.DURATION,)) and row.result == t.INT
)
"""Functions of a time or duration that look at nothing finer than a millisecond."""


def literal(nanos: int, type_: CelType) -> Typed:
    """A time or a duration written in the filter."""
    return Typed(_number(nanos), type_)


def _number(nanos: int) -> Sql:
    return cast(decimal(nanos), _DECIMAL)


def finer(x: Typed) -> Typed:
    """A time or duration of whole microseconds, in nanoseconds; one in nanoseconds as it is."""
    if x.type not in _FINER:
        return x
    if isinstance(x.literal, int):
        return literal(x.literal * 1000, _FINER[x.type])
    micros = function("unix_micros", x) if x.type == t.TIMESTAMP else x
    return Typed(cast(cast(micros, "DECIMAL(20,0)") * decimal(1000), _DECIMAL), _FINER[x.type])


def coarser(x: Typed) -> Typed:
    """The whole microseconds: of a time those that have passed, of a duration toward zero. Anything else as it is."""
    if x.type == TIME:
        micros = cast(function("floor", x * decimal("0.001")), "BIGINT")
        return Typed(function("timestamp_micros", micros), t.TIMESTAMP)
    if x.type == SPAN:
        return Typed(x // decimal(1000), t.DURATION)
    return x


def alike(a: Typed, b: Typed) -> tuple[Typed, Typed]:
    """Two times or two durations, both in nanoseconds where one is; anything else as it is."""
    if (a.type in (TIME, SPAN) or b.type in (TIME, SPAN)) and _FINER.get(a.type, a.type) == _FINER.get(b.type, b.type):
        return finer(a), finer(b)
    return a, b


def compared(sign: str, a: Typed, b: Typed) -> Typed | None:
    """The comparison of two times or two durations in nanoseconds; None where they are not."""
    a, b = alike(a, b)
    if a.type != b.type or a.type not in (TIME, SPAN):
        return None
    return boolean(operator(sign, a, b))


def of(context: Context, name: str, operands: Sequence[Typed]) -> Typed | Sequence[Typed]:
    """A call of a function whose operands may be in nanoseconds: its value, or the operands that its overloads take.

    Raises:
        NotNative: where it takes no such operand.
    """
    if not any(o.type in (TIME, SPAN) for o in operands):
        return operands
    if name in (ADD, SUBTRACT):
        return context.typed_lets([finer(o) for o in operands], lambda bound: _moved(name, *bound))
    if name in _READ_BY:
        return [coarser(o) for o in operands]
    for row in BY_NAME.get(name, ()):
        lowering = LOWERINGS.get(row.id)
        if lowering is not None and lowering.finer is not None and _FINER.get(row.params[0]) == operands[0].type:
            return lowering.finer(context, operands[0])
    raise NotNative(Reason.FINER_TIME, name)


@takes_finer("timestamp_to_timestamp", "duration_to_duration")
def _itself(context: Context, x: Typed) -> Typed:
    return x


@takes_finer("timestamp_to_string", "duration_to_string")
def _as_text(context: Context, x: Typed) -> Typed:
    return context.let(x, lambda value: _text(context, value))


def _text(context: Context, x: Typed) -> Typed:
    """The text of a time or duration: seconds, and 3, 6 or 9 digits where there is a fraction."""
    counted = function("abs", x) if x.type == SPAN else x
    rest = times.nano_fraction(cast(function("pmod", counted, decimal(_SECOND)), "BIGINT"))
    if x.type == TIME:
        return context.let(coarser(x), lambda time: Typed(times.timestamp_text(time, rest), t.STRING))
    sign = case((x < _number(0), "-"), otherwise="")
    seconds = cast(function("abs", x) // decimal(_SECOND), "STRING")
    return Typed(function("concat", sign, seconds, rest, "s"), t.STRING)


def _moved(name: str, a: Typed, b: Typed) -> Typed:
    """A sum or difference within the bounds that CEL has for it."""
    match (name, a.type, b.type):
        case ("_+_", x, y) if {x, y} == {TIME, SPAN}:
            return _within(a + b, _FIRST, _LAST, TIME)
        case ("_-_", x, y) if (x, y) == (TIME, SPAN):
            return _within(a - b, _FIRST, _LAST, TIME)
        case ("_+_", x, y) if x == y == SPAN:
            return _within(a + b, -_MOST_INT - 1, _MOST_INT, SPAN)
        case ("_-_", x, y) if x == y == SPAN:
            return _within(a - b, -_MOST_INT - 1, _MOST_INT, SPAN)
        case ("_-_", x, y) if x == y == TIME:
            found = _within(a - b, -_MOST_INT - 1, _MOST_INT, SPAN)
            seconds = cast(_whole_seconds(a) - _whole_seconds(b), "BIGINT")
            return found.like(when(between(seconds, -_MOST_SECONDS, _MOST_SECONDS), found))
        case _:
            raise NotNative(Reason.TIME_AND_OTHER)


def _whole_seconds(time: Typed) -> Sql:
    return function("floor", time * decimal("0.000000001"))


def _within(sum_: Sql, least: int, most: int, type_: CelType) -> Typed:
    sum_ = cast(sum_, _DECIMAL)
    return Typed(when(between(sum_, _number(least), _number(most)), sum_), type_)


_HOUR = "(?:[01][0-9]|2[0-3])"
_RFC3339 = (
    r"\A(?!0000)[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    rf"[Tt]{_HOUR}:[0-5][0-9]:[0-5][0-9](?:\.[0-9]++)?+(?:[Zz]|[+-]{_HOUR}:[0-5][0-9])\z"
)
"""All of a time but how many days its month has. No part of the pattern is repeated but one character."""
_FRACTION = r"\.([0-9]{1,9})"


def time(context: Context, text: Typed) -> Typed:
    """A text as a time (RFC 3339, as `compiler/values/rfc3339.py` reads it); what is finer than a nanosecond is cut."""
    return _named(context, text, _time)


def _time(x: Typed) -> Typed:
    """Spark reads the date and the clock; the zone is arithmetic, for Java's offsets end at 18 hours.

    What TIMESTAMP stands for is a setting of the session.
    """
    clock = function("concat", _cut(x, 1, 10), "T", _cut(x, 12, 8), "Z")
    minutes = operator("*", 60, try_cast(_cut(x, -5, 2), "BIGINT")) + try_cast(_cut(x, -2, 2), "BIGINT")
    east = case(("-", -60), otherwise=60, subject=_cut(x, -6, 1)) * minutes
    zone = case((is_in(_cut(x, -1, 1), ("Z", "z")), 0), otherwise=east)
    seconds = function("unix_seconds", try_cast(clock, "TIMESTAMP_LTZ")) - zone
    within = between(seconds, times.FIRST // 10**6, times.LAST // 10**6)
    inside = operator("NOT IN", _cut(x, 1, 4), "0001", "9999") | within
    fraction = function("rpad", function("regexp_extract", x, _FRACTION, integer(1)), integer(9), "0")
    none = cast(decimal(0), "DECIMAL(9,0)")
    rest = case((equal(_cut(x, 20, 1), "."), try_cast(fraction, "DECIMAL(9,0)")), otherwise=none)
    nanos = cast(cast(seconds, "DECIMAL(20,0)") * decimal(_SECOND) + rest, _DECIMAL)
    return Typed(when(function("rlike", x, _RFC3339) & inside, nanos), TIME)


def _cut(text: Operand, at: int, length: int) -> Sql:
    return function("substring", text, integer(at), integer(length))


_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9}
_LARGEST = 3600 * 10**9
_PART = r"\G(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:ns|us|ms|s|m|h)"
_MOST_DIGITS = 21
"""Digits of a whole number of units, without zeros before them, that is not too many of any unit."""
_HALF = 12
"""Digits in each half of the digits of a fraction that count."""
_SUM = "DECIMAL(34,0)"


def span(context: Context, text: Typed) -> Typed:
    """A text as a duration, as `compiler/values/durations.py` reads it; what is finer than a nanosecond is cut.

    The parts are found one after the other, each where the last one ends: of a pattern that repeats them Java would run
    in a recursion, and one that may begin anywhere it would look for in the square of the text's length.
    """
    return _named(context, text, lambda x: _span(context, x))


def _span(context: Context, x: Typed) -> Typed:
    first = _cut(x, 1, 1)
    unsigned = function("substring", x, case((is_in(first, ("+", "-")), integer(2)), otherwise=integer(1)))
    parts = function("regexp_extract_all", unsigned, _PART, integer(0))
    added = lambda2(lambda total, part: try_cast(total + _part(part), _SUM))
    sum_ = function("aggregate", parts, cast(decimal(0), _SUM), added)
    nothing_else = equal(function("regexp_replace", unsigned, _PART, ""), "")
    whole = equal(unsigned, "0") | (unequal(unsigned, "") & nothing_else)

    def signed(nanos: Typed) -> Typed:
        sign = case(("-", decimal(-1)), otherwise=decimal(1), subject=first)
        most = cast(decimal(durations.MAX_NANOSECONDS), _SUM)
        return Typed(when(nanos <= most, cast(nanos * sign, _DECIMAL)), SPAN)

    return context.let(Typed(when(whole, sum_), SPAN), signed)


def _part(part: Operand) -> Sql:
    """One number and its unit, in nanoseconds; NULL where it alone is too long."""
    units = [(function("endswith", part, unit), nanos) for unit, nanos in _UNITS.items()]
    unit = cast(case(*units, otherwise=_LARGEST), "DECIMAL(13,0)")
    number = function("translate", part, "nsumh", "")
    digits = function("ltrim", "0", function("substring_index", number, ".", integer(1)))
    whole = try_cast(function("concat", "0", digits), f"DECIMAL({_MOST_DIGITS + 1},0)") * unit
    after = function("substring_index", number, ".", integer(-1))
    fraction = function("rpad", after, integer(2 * _HALF), "0")
    high, low = (try_cast(_cut(fraction, at, _HALF), f"DECIMAL({_HALF},0)") for at in (1, 1 + _HALF))
    lower = cast((low * unit) // decimal(10**_HALF), "DECIMAL(20,0)")
    higher = cast((high * unit + lower) // decimal(10**_HALF), "DECIMAL(20,0)")
    rest = case((function("contains", part, "."), higher), otherwise=cast(decimal(0), "DECIMAL(20,0)"))
    return when(function("char_length", digits) <= integer(_MOST_DIGITS), whole + rest)


def _named(context: Context, text: Typed, body: Callable[[Typed], Typed]) -> Typed:
    """`body` of a text, which has a name where it is not short."""
    return context.let(text, body) if text.sql.extent.length <= _SHORT else context.bind(text, body)
