"""Every diagnostic code: severity, title and explanation. Codes are never renumbered or reused.

1xx syntax, 2xx names and types, 3xx dialect and manifest, 4xx Spark lowering, 5xx admission, 6xx events.
"""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """What a code means, for `tricel rule` and the reference."""

    severity: str
    title: str
    explanation: str


SYNTAX = {
    "TRI101": Code("error", "syntax error", "The text is not a CEL expression."),
    "TRI102": Code("error", "expression too large", "The text, its nesting or its number of parts is over a limit."),
    "TRI103": Code("error", "not a literal", "A number is out of range, or a string holds an escape that CEL lacks."),
    "TRI104": Code("error", "macro used wrongly", "has() takes a field selection; all() and its like a variable first."),
}

NAMES_AND_TYPES = {
    "TRI201": Code("error", "unknown name", "The name is none of the roots that a filter may use."),
    "TRI202": Code("error", "unknown field", "The value has no such field, or no fields at all."),
    "TRI203": Code("error", "unknown function", "CEL has no function of this name, or it is called in another way."),
    "TRI204": Code(
        "error",
        "no matching overload",
        "The function or operator does not take arguments of these types. CEL converts nothing by itself: int, uint "
        "and double are three types, and the numbers of a JSON payload are double.",
    ),
    "TRI205": Code("error", "message construction", "A filter compares values; it makes no protobuf messages."),
    "TRI206": Code("error", "optional value", "Optional syntax (`a.?b`, `a[?b]`, `[?a]`) is read but not supported."),
    "TRI207": Code("error", "not a bool", "A filter delivers or not, so its result must be a bool."),
    "TRI208": Code("error", "not a pattern", "The pattern of `matches` is not one that RE2 accepts."),
    "TRI209": Code(
        "error",
        "extension used in two ways",
        "An extension attribute is text, or, when selected into, the JSON object in its text. One filter uses it as one.",
    ),
    "TRI250": Code(
        "warning",
        "comparison that never holds",
        "Values of these types are never equal in CEL, so the comparison has the same outcome for every event.",
    ),
}

DIALECT_AND_MANIFEST = {
    "TRI301": Code("error", "not YAML", "The file is neither YAML nor JSON."),
}

LOWERING = {
    "TRI401": Code("error", "cannot run", "Neither Spark nor the fallback engine can evaluate the expression."),
}

EVENTS = {
    "TRI601": Code(
        "error",
        "no events to read",
        "A path does not exist, holds no file of a known format, or holds a table that is not one of events.",
    ),
    "TRI602": Code(
        "error",
        "output in use",
        "The output directory holds something already, or cannot hold one directory for each trigger.",
    ),
    "TRI603": Code("error", "evaluation error", "A filter cannot be evaluated on an event, and errors end this run."),
    "TRI604": Code("error", "no usable Java", "Spark 4 needs Java 17 or later, which was not found."),
}

CODES: dict[str, Code] = {**SYNTAX, **NAMES_AND_TYPES, **DIALECT_AND_MANIFEST, **LOWERING, **EVENTS}
