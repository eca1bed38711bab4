"""Calls whose lowering looks at a literal argument: patterns and times."""

from __future__ import annotations

import re
from collections.abc import Callable

from tricel.compiler import celtypes as t
from tricel.compiler.nodes import Expr, Lit
from tricel.compiler.values import durations, rfc3339

from .. import (
    MAX_MADE,
    Scope,
    Typed,
    any_of,
    boolean,
    cast,
    constant_of,
    equal,
    error,
    function,
    integer,
    is_in,
    is_not_null,
    lambda_,
    regex,
    variant,
    when,
)
from ..context import Context
from ..functions import Handler, handles, times
from ..reasons import NotNative, Reason
from ..typed import SPAN, TIME
from . import timestamps


def _matches(context: Context, args: tuple[Expr, ...], scope: Scope) -> Typed:
    """An RE2 search, as plain string functions or as a Java pattern that means the same (see `regex`)."""
    pattern = args[1]
    if not (isinstance(pattern, Lit) and isinstance(pattern.value, str)):
        raise NotNative(Reason.COMPUTED_PATTERN)
    subject = context.lower(args[0], scope)
    if subject.type == t.JSON:
        subject = variant.read_as(subject, t.STRING) or subject
    if subject.type != t.STRING:
        raise NotNative(Reason.MATCHES_ON, subject.type)
    plan = regex.plan(pattern.value)
    match plan:
        case regex.Java(pattern=java):
            return boolean(function("rlike", subject, java))
        case regex.Equals(values=values):
            return boolean(equal(subject, values[0]) if len(values) == 1 else is_in(subject, values))
        case regex.StartsWith(values=values):
            return _any(context, "startswith", subject, values)
        case regex.EndsWith(values=values):
            return _any(context, "endswith", subject, values)
        case regex.Contains(values=values):
            return _any(context, "contains", subject, values)
        case regex.Always():
            return boolean(when(is_not_null(subject), True))
        case regex.Fallback(reason=reason):
            raise NotNative(Reason.PATTERN, reason)
        case regex.Refused(message=message):
            raise NotNative(Reason.REFUSED_PATTERN, message)


def _any(context: Context, name: str, subject: Typed, values: tuple[str, ...]) -> Typed:
    def test(text: Typed) -> Typed:
        return boolean(any_of([function(name, text, v) for v in values]))

    return test(subject) if len(values) == 1 else context.let(subject, test)


def _timestamp(context: Context, args: tuple[Expr, ...], scope: Scope) -> Typed:
    """A time written in the filter: of whole microseconds, as Spark's own are, or finer; or a text that is read.

    So is one written with more digits than nanoseconds have.
    """
    text = args[0]
    found = rfc3339.nanoseconds(text.value) if isinstance(text, Lit) and isinstance(text.value, str) else None
    if found is None:
        return _TIME(context, context.lower(text, scope))
    micros, finer = divmod(found, 1000)
    if finer:
        return timestamps.literal(found, TIME)
    return Typed(function("timestamp_micros", micros), t.TIMESTAMP)


def _duration(context: Context, args: tuple[Expr, ...], scope: Scope) -> Typed:
    """A duration written in the filter: BIGINT microseconds, or finer; or a text that is read."""
    text = args[0]
    if not (isinstance(text, Lit) and isinstance(text.value, str)):
        return _SPAN(context, context.lower(text, scope))
    found = durations.nanoseconds(text.value)
    if found is None:
        return error(t.DURATION, "BIGINT")
    micros, exact = durations.microseconds(text.value) or (0, False)
    if abs(micros) > times.LONGEST:
        raise NotNative(Reason.LONG_DURATION)
    if not exact:
        return timestamps.literal(found, SPAN)
    return constant_of(micros, t.DURATION)


def _read(into: Callable[[Context, Typed], Typed]) -> Callable[[Context, Typed], Typed]:
    def read(context: Context, value: Typed) -> Typed:
        return into(context, variant.read(value, t.STRING) if value.type == t.JSON else value)

    return read


_TIME, _SPAN = _read(timestamps.time), _read(timestamps.span)


_OFFSET = re.compile(r"([+-]?)([01]?[0-9]|2[0-3]):([0-5][0-9])")


def _in_zone(field: str) -> Handler:
    """A field of a time in a zone written in the filter: UTC or a fixed offset."""

    def lower(context: Context, args: tuple[Expr, ...], scope: Scope) -> Typed:
        zone = args[1]
        if not (isinstance(zone, Lit) and isinstance(zone.value, str)):
            raise NotNative(Reason.COMPUTED_ZONE)
        offset = _offset(zone.value)
        time = timestamps.coarser(context.lower(args[0], scope))
        if time.type != t.TIMESTAMP:
            raise NotNative(Reason.FIELDS_OF, time.type)

        def emit(x: Typed) -> Typed:
            return Typed(times.field(field, x, offset), t.INT)

        return context.let(time, emit) if field in times.DATES else emit(time)

    return lower


def _offset(zone: str) -> int:
    """Seconds east of UTC."""
    if zone in ("UTC", "GMT"):
        return 0
    found = _OFFSET.fullmatch(zone)
    if found is None:
        raise NotNative(Reason.NAMED_ZONE)
    seconds = int(found[2]) * 3600 + int(found[3]) * 60
    return -seconds if found[1] == "-" else seconds


def _join(context: Context, args: tuple[Expr, ...], scope: Scope) -> Typed:
    """The texts of a list in one; a list in the data must hold nothing but strings."""
    separator = context.lower(args[1], scope) if len(args) > 1 else constant_of("", t.STRING)
    if separator.type == t.JSON:
        separator = variant.read_as(separator, t.STRING) or separator
    items = context.lower(args[0], scope)
    if items.type == t.JSON:
        items = variant.read_as(items, t.JSON_LIST) or items
    if items.type not in (t.list_of(t.STRING), t.JSON_LIST) or separator.type != t.STRING:
        raise NotNative(Reason.JOINED, items.type)
    if separator.certain:  # so it is a constant of the filter, which is not long
        return context.let(items, lambda xs: _joined(context, xs, separator))

    def bounded(xs: Typed, between: Typed) -> Typed:
        found = _joined(context, xs, between)
        made = cast(function("array_size", xs), "DOUBLE") * function("octet_length", between)
        return found.like(when(made <= integer(MAX_MADE), found))

    return context.typed_lets([items, separator], lambda o: bounded(*o))


def _joined(context: Context, items: Typed, separator: Typed) -> Typed:
    if items.type != t.JSON_LIST:
        return Typed(function("array_join", items, separator), t.STRING)
    texts = function("transform", items, lambda_(lambda v: variant.string(context.element(items, v))))
    are_texts = function("forall", items, lambda_(lambda v: is_not_null(variant.string(context.element(items, v)))))
    return Typed(when(are_texts, function("array_join", texts, separator)), t.STRING)


handles("matches", "matches_string", condition="a literal pattern that Java runs alike and in linear time")(_matches)
handles("string_to_timestamp", parts=lambda context, values: _TIME(context, context.materialize(values[0])))(_timestamp)
handles(
    "string_to_duration",
    condition="one that is written in the filter is not over 292 years",
    parts=lambda context, values: _SPAN(context, context.materialize(values[0])),
)(_duration)
handles("list_join", "list_join_string")(_join)
for _field in times.FIELDS:
    handles(f"timestamp_to_{_field}_with_tz", condition="a literal zone: UTC or an offset")(_in_zone(_field))
