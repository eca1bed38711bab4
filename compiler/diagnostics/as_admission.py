"""Diagnostics as an API server hands them to whoever applied a manifest: by field, since there is no file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .as_text import cells, visible, window
from .model import Diagnostic

MOST = 20
"""How many diagnostics one answer shows."""
WARNING_LENGTH = 256
"""Code points of one warning; an API server cuts longer ones (Kubernetes, admission webhooks, `warnings`)."""
WARNINGS_LENGTH = 4096
"""Code points of all warnings of an answer together; an API server drops what is over."""


def message(diagnostics: Sequence[Diagnostic], field_of: Callable[[Diagnostic], str]) -> str:
    """Every error with its field, and the line and column in the text of an expression, with a caret."""
    shown = [_one(d, field_of(d)) for d in diagnostics[:MOST]]
    if len(diagnostics) > MOST:
        shown.append(f"and {len(diagnostics) - MOST} more")
    count = "1 error" if len(diagnostics) == 1 else f"{len(diagnostics)} errors"
    return "\n".join([f"{count} in the Trigger", *shown])


def summary(d: Diagnostic, field: str) -> str:
    """One diagnostic on one line."""
    text = f"{d.code} {visible(d.message)}"
    return _cut(text if not field or f"'{field}'" in d.message else f"{visible(field)}: {text}", 1000)


def warnings(diagnostics: Sequence[Diagnostic], field_of: Callable[[Diagnostic], str]) -> list[str]:
    """One line for each diagnostic, no longer and no more than an API server passes on."""
    texts = [summary(d, field_of(d)) + (f"; {visible(d.help)}" if d.help else "") for d in diagnostics[: MOST * 2]]
    texts = [_cut(text, WARNING_LENGTH) for text in texts]
    kept: list[str] = []
    room = WARNINGS_LENGTH - 40
    for text in texts:
        room -= len(text)
        if room < 0:
            break
        kept.append(text)
    if len(kept) < len(diagnostics):
        kept.append(f"and {len(diagnostics) - len(kept)} more warnings")
    return kept


def _one(d: Diagnostic, field: str) -> str:
    lines = []
    place = visible(field)
    if d.source.parent is not None:
        at = d.source.position(d.span.start)
        line, before, marked = window(d.source.line(at.line), at.column - 1, d.span)
        place = f"{place}:{at.line}:{at.column}"
        lines = [f"    {line}", f"    {' ' * cells(before)}{'^' * max(1, cells(marked))}"]
    head = f"{d.severity}[{d.code}]: {_cut(visible(d.message), 1000)}"
    help_ = [f"  help: {_cut(visible(d.help), 1000)}"] if d.help else []
    return "\n".join([f"{place}: {head}" if place else head, *lines, *help_])


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."
