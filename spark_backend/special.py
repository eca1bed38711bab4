"""Calls whose lowering looks at a literal argument: patterns and times."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from tricel.compiler import celtypes as t
from tricel.compiler.nodes import Expr, Lit
from tricel.compiler.rfc3339 import microseconds

from . import dynamic, regex
from .reasons import NotNative
from .sql import Sql, boolean, text_literal

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
    """A time written in the filter."""
    text = args[0]
    if not (isinstance(text, Lit) and isinstance(text.value, str)):
        raise NotNative("a timestamp read from a value")
    micros, exact = microseconds(text.value) or (0, False)
    if not exact:
        raise NotNative("a timestamp finer than a microsecond")
    return Sql(f"timestamp_micros({micros}L)", t.TIMESTAMP, cheap=True, literal=micros)


SPECIAL: dict[str, Special] = {"matches": _matches, "matches_string": _matches, "string_to_timestamp": _timestamp}
"""By overload id."""
