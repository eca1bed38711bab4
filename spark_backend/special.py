"""Calls whose lowering looks at a literal argument: patterns and times."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from tricel.compiler import celtypes as t
from tricel.compiler import durations, rfc3339
from tricel.compiler.functions import Overload
from tricel.compiler.nodes import Expr, Lit

from . import dynamic, lists, nanos, regex, sets
from .lowerings import times
from .reasons import NotNative
from .sql import MAX_MADE, Sql, boolean, deepest, literal, text_literal

if TYPE_CHECKING:
    from .lower import Lowering

Special: TypeAlias = "Callable[[Lowering, tuple[Expr, ...], dict[str, Sql]], Sql]"


def _matches(lowering: Lowering, args: tuple[Expr, ...], scope: dict[str, Sql]) -> Sql:
    """An RE2 search, as plain string functions or as a Java pattern that means the same (see `regex`)."""
    pattern = args[1]
    if not (isinstance(pattern, Lit) and isinstance(pattern.value, str)):
        raise NotNative("a pattern that is computed")
    subject = lowering.lower(args[0], scope)
    if subject.type == t.JSON:
        subject = dynamic.read_as(subject, t.STRING) or subject
    if subject.type != t.STRING:
        raise NotNative(f"matches on a value of type '{subject.type}'")
    plan = regex.plan(pattern.value)
    match plan:
        case regex.Java(pattern=java):
            return boolean(f"rlike({subject.text}, {text_literal(java)})", (subject,))
        case regex.Equals(values=values):
            listed = ", ".join(map(text_literal, values))
            one = f"{subject} = {listed}" if len(values) == 1 else f"{subject} IN ({listed})"
            return boolean(one, (subject,), infix=True)
        case regex.StartsWith(values=values):
            return _any(lowering, "startswith", subject, values)
        case regex.EndsWith(values=values):
            return _any(lowering, "endswith", subject, values)
        case regex.Contains(values=values):
            return _any(lowering, "contains", subject, values)
        case regex.Always():
            return boolean(f"CASE WHEN {subject} IS NOT NULL THEN TRUE END", (subject,))
        case regex.Fallback(reason=reason):
            raise NotNative(f"the pattern {reason}")
        case regex.Refused(message=message):
            raise NotNative(f"RE2 refuses the pattern: {message}")


def _any(lowering: Lowering, function: str, subject: Sql, values: tuple[str, ...]) -> Sql:
    if len(values) == 1:
        return boolean(f"{function}({subject.text}, {text_literal(values[0])})", (subject,))

    def tests(s: Sql) -> Sql:
        return boolean(" OR ".join(f"{function}({s.text}, {text_literal(v)})" for v in values), (s,), infix=True)

    return lowering.let(subject, tests)


def _timestamp(lowering: Lowering, args: tuple[Expr, ...], scope: dict[str, Sql]) -> Sql:
    """A time written in the filter: of whole microseconds, as Spark's own are, or finer; or a text that is read.

    So is one written with more digits than nanoseconds have.
    """
    text = args[0]
    found = rfc3339.nanoseconds(text.value) if isinstance(text, Lit) and isinstance(text.value, str) else None
    if found is None:
        return READ["timestamp"](lowering, lowering.lower(text, scope))
    micros, finer = divmod(found, 1000)
    if finer:
        return nanos.literal(found, nanos.TIME)
    return Sql(f"timestamp_micros({micros}L)", t.TIMESTAMP, cheap=True, literal=micros)


def _duration(lowering: Lowering, args: tuple[Expr, ...], scope: dict[str, Sql]) -> Sql:
    """A duration written in the filter: BIGINT microseconds, or finer; or a text that is read."""
    text = args[0]
    if not (isinstance(text, Lit) and isinstance(text.value, str)):
        return READ["duration"](lowering, lowering.lower(text, scope))
    found = durations.nanoseconds(text.value)
    if found is None:
        return Sql("CAST(NULL AS BIGINT)", t.DURATION, cheap=True)
    micros, exact = durations.microseconds(text.value) or (0, False)
    if abs(micros) > times.LONGEST:
        raise NotNative("a duration over 292 years, which CEL's engines cut short in arithmetic")
    if not exact:
        return nanos.literal(found, nanos.SPAN)
    return Sql(f"{micros}L", t.DURATION, cheap=True, literal=micros)


def _read(into: Callable[[Lowering, Sql], Sql]) -> Callable[[Lowering, Sql], Sql]:
    def read(lowering: Lowering, value: Sql) -> Sql:
        return into(lowering, dynamic.read(value, t.STRING) if value.type == t.JSON else value)

    return read


READ = {"timestamp": _read(nanos.time), "duration": _read(nanos.span)}
"""Conversions of a text, by function: of a value of JSON no other kind converts."""


_OFFSET = re.compile(r"([+-]?)([01]?[0-9]|2[0-3]):([0-5][0-9])")


def _in_zone(field: str) -> Special:
    """A field of a time in a zone written in the filter: UTC or a fixed offset."""

    def lower(lowering: Lowering, args: tuple[Expr, ...], scope: dict[str, Sql]) -> Sql:
        zone = args[1]
        if not (isinstance(zone, Lit) and isinstance(zone.value, str)):
            raise NotNative("a time zone that is computed")
        offset = _offset(zone.value)
        time = nanos.coarser(lowering.lower(args[0], scope))
        if time.type != t.TIMESTAMP:
            raise NotNative(f"the fields of a value of type '{time.type}'")

        def emit(x: Sql) -> Sql:
            text = times.field(field, x, offset)
            return Sql(text, t.INT, infix=field in times.INFIX, depth=x.depth + times.FIELD_DEPTH)

        return lowering.let(time, emit) if field in times.DATES else emit(time)

    return lower


def _offset(zone: str) -> int:
    """Seconds east of UTC."""
    if zone in ("UTC", "GMT"):
        return 0
    found = _OFFSET.fullmatch(zone)
    if found is None:
        raise NotNative("a time zone by its name: Java's table of zones and the engine's may differ")
    seconds = int(found[2]) * 3600 + int(found[3]) * 60
    return -seconds if found[1] == "-" else seconds


def _join(lowering: Lowering, args: tuple[Expr, ...], scope: dict[str, Sql]) -> Sql:
    """The texts of a list in one; a list in the data must hold nothing but strings."""
    separator = lowering.lower(args[1], scope) if len(args) > 1 else literal("", t.STRING)
    if separator.type == t.JSON:
        separator = dynamic.read_as(separator, t.STRING) or separator
    items = lowering.lower(args[0], scope)
    if items.type == t.JSON:
        items = dynamic.read_as(items, t.JSON_LIST) or items
    if items.type not in (t.list_of(t.STRING), t.JSON_LIST) or separator.type != t.STRING:
        raise NotNative(f"texts joined from a value of type '{items.type}'")
    if separator.literal is not None:
        return lowering.let(items, lambda xs: _joined(lowering, xs, separator))

    def bounded(xs: Sql, between: Sql) -> Sql:
        found = _joined(lowering, xs, between)
        made = f"CAST(array_size({xs.text}) AS DOUBLE) * octet_length({between.text})"
        return replace(found, text=f"CASE WHEN {made} <= {MAX_MADE} THEN {found.text} END", depth=found.depth + 2)

    return lowering.lets([items, separator], lambda o: bounded(*o))


def _joined(lowering: Lowering, items: Sql, separator: Sql) -> Sql:
    if items.type != t.JSON_LIST:
        text = f"array_join({items.text}, {separator.text})"
        return Sql(text, t.STRING, depth=deepest((items, separator)) + 1)
    name, each = lowering.element(items)
    text = dynamic.string(each)
    texts = f"array_join(transform({items.text}, {name} -> {text}), {separator.text})"
    whole = f"CASE WHEN forall({items.text}, {name} -> {text} IS NOT NULL) THEN {texts} END"
    return Sql(whole, t.STRING, depth=deepest((items, separator, each)) + 6)


SPECIAL: dict[str, Special] = {
    "matches": _matches,
    "matches_string": _matches,
    "string_to_timestamp": _timestamp,
    "string_to_duration": _duration,
    "list_join": _join,
    "list_join_string": _join,
    **lists.CALLS,
    **sets.CALLS,
    **{f"timestamp_to_{field}_with_tz": _in_zone(field) for field in times.FIELDS},
}
"""By overload id."""


def of(rows: Sequence[Overload]) -> Special | None:
    """What lowers a call of any of these overloads; None where that is no one thing."""
    found = {SPECIAL.get(row.id) for row in rows}
    return found.pop() if len(found) == 1 else None
