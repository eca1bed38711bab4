"""Times and durations to the nanosecond, which is finer than Spark's own: whole nanoseconds, as DECIMAL.

That is what a text read as a time or a duration becomes. It has a type of its own, which no overload takes: whatever
does not know it has no native form. What is no finer than a microsecond stays TIMESTAMP or BIGINT, and becomes this
where it meets one. All arithmetic here is of so few digits that no setting of the session rounds any, and what is compared is
of one type: each type that Spark must find for itself takes it a round of its analysis, of which it has a hundred.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tricel.compiler import celtypes as t
from tricel.compiler import durations
from tricel.compiler.celtypes import CelType
from tricel.compiler.functions import ALL
from tricel.compiler.nodes import ADD, SUBTRACT

from .lowerings import times
from .reasons import NotNative
from .sql import Sql, boolean, deepest, text_literal

if TYPE_CHECKING:
    from .lower import Lowering

TIME, SPAN = CelType("timestamp to the nanosecond"), CelType("duration to the nanosecond")
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


def literal(nanos: int, type_: CelType) -> Sql:
    """A time or a duration written in the filter."""
    return Sql(_number(nanos), type_, cheap=True, literal=nanos)


def _number(nanos: int) -> str:
    return f"CAST({nanos}BD AS {_DECIMAL})"


def finer(x: Sql) -> Sql:
    """A time or duration of whole microseconds, in nanoseconds; one in nanoseconds as it is."""
    if x.type not in _FINER:
        return x
    if isinstance(x.literal, int):
        return literal(x.literal * 1000, _FINER[x.type])
    micros = f"unix_micros({x.text})" if x.type == t.TIMESTAMP else x.text
    text = f"CAST(CAST({micros} AS DECIMAL(20,0)) * 1000BD AS {_DECIMAL})"
    return Sql(text, _FINER[x.type], cheap=x.cheap, depth=x.depth + 4)


def coarser(x: Sql) -> Sql:
    """The whole microseconds: of a time those that have passed, of a duration toward zero. Anything else as it is."""
    if x.type == TIME:
        text = f"timestamp_micros(CAST(floor({x} * 0.001BD) AS BIGINT))"
        return Sql(text, t.TIMESTAMP, depth=x.depth + 4)
    if x.type == SPAN:
        return Sql(f"{x} div 1000BD", t.DURATION, infix=True, depth=x.depth + 1)
    return x


def alike(a: Sql, b: Sql) -> tuple[Sql, Sql]:
    """Two times or two durations, both in nanoseconds where one is; anything else as it is."""
    if {a.type, b.type} & {TIME, SPAN} and _FINER.get(a.type, a.type) == _FINER.get(b.type, b.type):
        return finer(a), finer(b)
    return a, b


def compared(sign: str, a: Sql, b: Sql) -> Sql | None:
    """The comparison of two times or two durations in nanoseconds; None where they are not."""
    a, b = alike(a, b)
    if a.type != b.type or a.type not in (TIME, SPAN):
        return None
    return boolean(f"{a} {sign} {b}", (a, b), infix=True)


def of(lowering: Lowering, function: str, operands: Sequence[Sql]) -> Sql | Sequence[Sql]:
    """A call whose operands may be in nanoseconds: its value, or the operands that its overloads take.

    Raises:
        NotNative: where it takes no such operand.
    """
    if not any(o.type in (TIME, SPAN) for o in operands):
        return operands
    if function in (ADD, SUBTRACT):
        return lowering.lets([finer(o) for o in operands], lambda bound: _moved(function, *bound))
    if function in _READ_BY:
        return [coarser(o) for o in operands]
    if (function, operands[0].type) in (("timestamp", TIME), ("duration", SPAN)):
        return operands[0]
    if function == "string":
        return lowering.let(operands[0], lambda x: _text(lowering, x))
    raise NotNative(f"'{function}' of a time or duration read from a text, and of a value of another type")


def _text(lowering: Lowering, x: Sql) -> Sql:
    """The text of a time or duration: seconds, and 3, 6 or 9 digits where there is a fraction."""
    counted = f"abs({x.text})" if x.type == SPAN else x.text
    rest = times.nano_fraction(f"CAST(pmod({counted}, {_SECOND}BD) AS BIGINT)")
    if x.type == TIME:
        return lowering.let(
            coarser(x), lambda time: Sql(times.timestamp_text(time, rest), t.STRING, depth=time.depth + 12)
        )
    sign = f"CASE WHEN {x} < {_number(0)} THEN '-' ELSE '' END"
    text = f"concat({sign}, CAST(abs({x.text}) div {_SECOND}BD AS STRING), {rest}, 's')"
    return Sql(text, t.STRING, depth=x.depth + 8)


def _moved(function: str, a: Sql, b: Sql) -> Sql:
    """A sum or difference within the bounds that CEL has for it."""
    match (function, a.type, b.type):
        case ("_+_", x, y) if {x, y} == {TIME, SPAN}:
            return _within(f"{a} + {b}", _FIRST, _LAST, TIME, (a, b))
        case ("_-_", x, y) if (x, y) == (TIME, SPAN):
            return _within(f"{a} - {b}", _FIRST, _LAST, TIME, (a, b))
        case ("_+_", x, y) if x == y == SPAN:
            return _within(f"{a} + {b}", -_MOST_INT - 1, _MOST_INT, SPAN, (a, b))
        case ("_-_", x, y) if x == y == SPAN:
            return _within(f"{a} - {b}", -_MOST_INT - 1, _MOST_INT, SPAN, (a, b))
        case ("_-_", x, y) if x == y == TIME:
            found = _within(f"{a} - {b}", -_MOST_INT - 1, _MOST_INT, SPAN, (a, b))
            seconds = f"CAST(floor({a} * 0.000000001BD) - floor({b} * 0.000000001BD) AS BIGINT)"
            text = f"CASE WHEN {seconds} BETWEEN -{_MOST_SECONDS}L AND {_MOST_SECONDS}L THEN {found.text} END"
            return replace(found, text=text, depth=found.depth + 3)
        case _:
            raise NotNative("a time or duration and something else")


def _within(sum_: str, least: int, most: int, type_: CelType, operands: Sequence[Sql]) -> Sql:
    sum_ = f"CAST({sum_} AS {_DECIMAL})"
    text = f"CASE WHEN {sum_} BETWEEN {_number(least)} AND {_number(most)} THEN {sum_} END"
    return Sql(text, type_, depth=deepest(operands) + 3)


_HOUR = "(?:[01][0-9]|2[0-3])"
_RFC3339 = text_literal(
    r"\A(?!0000)[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    rf"[Tt]{_HOUR}:[0-5][0-9]:[0-5][0-9](?:\.[0-9]++)?+(?:[Zz]|[+-]{_HOUR}:[0-5][0-9])\z"
)
"""All of a time but how many days its month has. No part of the pattern is repeated but one character."""
_FRACTION = text_literal(r"\.([0-9]{1,9})")


def time(lowering: Lowering, text: Sql) -> Sql:
    """A text as a time (RFC 3339, as `compiler/rfc3339.py` reads it); what is finer than a nanosecond is cut."""
    return lowering.let(_named(text), _time)


def _time(x: Sql) -> Sql:
    """Spark reads the date and the clock; the zone is arithmetic, for Java's offsets end at 18 hours.

    What TIMESTAMP stands for is a setting of the session.
    """
    clock = f"concat(substring({x}, 1, 10), 'T', substring({x}, 12, 8), 'Z')"
    minutes = f"60L * try_cast(substring({x}, -5, 2) AS BIGINT) + try_cast(substring({x}, -2, 2) AS BIGINT)"
    east = f"CASE substring({x}, -6, 1) WHEN '-' THEN -60L ELSE 60L END * ({minutes})"
    zone = f"CASE WHEN substring({x}, -1, 1) IN ('Z', 'z') THEN 0L ELSE {east} END"
    seconds = f"unix_seconds(try_cast({clock} AS TIMESTAMP_LTZ)) - {zone}"
    bounds = f"BETWEEN {times.FIRST // 10**6}L AND {times.LAST // 10**6}L"
    inside = f"(substring({x}, 1, 4) NOT IN ('0001', '9999') OR {seconds} {bounds})"
    digits = f"try_cast(rpad(regexp_extract({x}, {_FRACTION}, 1), 9, '0') AS DECIMAL(9,0))"
    rest = f"CASE WHEN substring({x}, 20, 1) = '.' THEN {digits} ELSE CAST(0BD AS DECIMAL(9,0)) END"
    nanos = f"CAST(CAST({seconds} AS DECIMAL(20,0)) * {_SECOND}BD + {rest} AS {_DECIMAL})"
    found = f"CASE WHEN rlike({x}, {_RFC3339}) AND {inside} THEN {nanos} END"
    return Sql(found, TIME, depth=x.depth + 12)


_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9}
_LARGEST = 3600 * 10**9
_PART = r"\G(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:ns|us|ms|s|m|h)"
_MOST_DIGITS = 21
"""Digits of a whole number of units, without zeros before them, that is not too many of any unit."""
_HALF = 12
"""Digits in each half of the digits of a fraction that count."""


def span(lowering: Lowering, text: Sql) -> Sql:
    """A text as a duration, as `compiler/durations.py` reads it; what is finer than a nanosecond is cut.

    The parts are found one after the other, each where the last one ends: of a pattern that repeats them Java would run
    in a recursion, and one that may begin anywhere it would look for in the square of the text's length.
    """
    return lowering.let(_named(text), lambda x: _span(lowering, x))


def _span(lowering: Lowering, x: Sql) -> Sql:
    part, total = lowering.variable(), lowering.variable()
    pattern = text_literal(_PART)
    unsigned = f"substring({x}, CASE WHEN substring({x}, 1, 1) IN ('+', '-') THEN 2 ELSE 1 END)"
    parts = f"regexp_extract_all({unsigned}, {pattern}, 0)"
    zero = "CAST(0BD AS DECIMAL(34,0))"
    sum_ = f"aggregate({parts}, {zero}, ({total}, {part}) -> try_cast({total} + {_part(part)} AS DECIMAL(34,0)))"
    sign = f"CASE substring({x}, 1, 1) WHEN '-' THEN -1BD ELSE 1BD END"
    most = durations.MAX_NANOSECONDS
    whole = f"{unsigned} = '0' OR ({unsigned} <> '' AND regexp_replace({unsigned}, {pattern}, '') = '')"
    bounded = f"CASE WHEN {whole} THEN {sum_} END"

    def signed(nanos: Sql) -> Sql:
        text = f"CASE WHEN {nanos} <= CAST({most}BD AS DECIMAL(34,0)) THEN CAST({nanos} * {sign} AS {_DECIMAL}) END"
        return Sql(text, SPAN, depth=x.depth + 4)

    return lowering.let(Sql(bounded, SPAN, depth=x.depth + 16), signed)


def _part(part: str) -> str:
    """One number and its unit, in nanoseconds; NULL where it alone is too long."""
    units = " ".join(f"WHEN endswith({part}, '{unit}') THEN {nanos}L" for unit, nanos in _UNITS.items())
    unit = f"CAST(CASE {units} ELSE {_LARGEST}L END AS DECIMAL(13,0))"
    number = f"translate({part}, 'nsumh', '')"
    digits = f"trim(LEADING '0' FROM substring_index({number}, '.', 1))"
    whole = f"try_cast(concat('0', {digits}) AS DECIMAL({_MOST_DIGITS + 1},0)) * {unit}"
    fraction = f"rpad(substring_index({number}, '.', -1), {2 * _HALF}, '0')"
    high, low = (f"try_cast(substring({fraction}, {at}, {_HALF}) AS DECIMAL({_HALF},0))" for at in (1, 1 + _HALF))
    lower = f"CAST(({low} * {unit}) div {10**_HALF}BD AS DECIMAL(20,0))"
    higher = f"CAST(({high} * {unit} + {lower}) div {10**_HALF}BD AS DECIMAL(20,0))"
    rest = f"CASE WHEN contains({part}, '.') THEN {higher} ELSE CAST(0BD AS DECIMAL(20,0)) END"
    return f"CASE WHEN char_length({digits}) <= {_MOST_DIGITS} THEN {whole} + {rest} END"


def _named(text: Sql) -> Sql:
    return replace(text, cheap=text.cheap and len(text.text) <= _SHORT)
