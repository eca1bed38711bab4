"""Diagnostics as JSON, for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable

from .model import Diagnostic


def render(diagnostics: Iterable[Diagnostic]) -> str:
    """A list of objects with code, severity, message, help, file, line, column and the field's path."""
    return json.dumps([as_object(d) for d in diagnostics], indent=2)


def as_object(d: Diagnostic) -> dict[str, object]:
    """One diagnostic as plain data. Lines and columns count from 1; the end is exclusive."""
    source, span = d.source.resolve(d.span)
    field = d.field or source.field or d.source.field
    if source.parent is not None:
        source, span = source.parent.resolve(source.at)
    start, end = source.position(span.start), source.position(span.end)
    return {
        "code": d.code,
        "severity": str(d.severity),
        "message": d.message,
        "help": d.help,
        "file": source.name,
        "line": start.line,
        "column": start.column,
        "endLine": end.line,
        "endColumn": end.column,
        "field": field,
    }
