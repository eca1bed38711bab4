"""Diagnostics a line each, for editors and logs."""

from __future__ import annotations

from collections.abc import Iterable

from .as_text import visible
from .model import Diagnostic


def render(diagnostics: Iterable[Diagnostic]) -> str:
    """`file:line:column: severity[code]: message`."""
    return "\n".join(map(_one, diagnostics))


def _one(d: Diagnostic) -> str:
    source, span = d.source.resolve(d.span)
    if source.parent is not None:
        source, span = source.parent.resolve(source.at)
    at = source.position(span.start)
    return f"{visible(source.name)}:{at.line}:{at.column}: {d.severity}[{d.code}]: {visible(d.message)}"
