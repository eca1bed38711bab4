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
}

NAMES_AND_TYPES = {
    "TRI201": Code("error", "unknown name", "The name is none of the roots that a filter may use."),
}

DIALECT_AND_MANIFEST = {
    "TRI301": Code("error", "not YAML", "The file is neither YAML nor JSON."),
}

LOWERING = {
    "TRI401": Code("error", "cannot run", "Neither Spark nor the fallback engine can evaluate the expression."),
}

CODES: dict[str, Code] = {**SYNTAX, **NAMES_AND_TYPES, **DIALECT_AND_MANIFEST, **LOWERING}
