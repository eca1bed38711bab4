"""Diagnostics for people: the message, the line with a caret under the place, and how to mend it."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TypeAlias

from ..source import Position, Source, Span
from .model import Diagnostic

_WIDTH = 100
"""Columns of a source line that are shown around the caret."""


class Part(StrEnum):
    """What may be set off from the rest of the text, by a colour on a terminal."""

    ERROR = "error"
    WARNING = "warning"
    MESSAGE = "message"
    FRAME = "frame"
    HELP = "help"


Paint: TypeAlias = Callable[[str, Part], str]
"""Sets a piece of text off; it adds nothing that takes a column."""


def _plainly(text: str, part: Part) -> str:
    return text


def render(diagnostics: Iterable[Diagnostic], paint: Paint = _plainly) -> str:
    """All diagnostics, a blank line between two."""
    return "\n\n".join(_one(d, paint) for d in diagnostics)


def _one(d: Diagnostic, paint: Paint) -> str:
    source, span = d.source.resolve(d.span)
    at = source.position(span.start)
    severity = Part(d.severity)
    head = paint(f"{d.severity}[{d.code}]", severity) + paint(f": {visible(d.message)}", Part.MESSAGE)
    if not source.text:
        return "\n".join([head, f" {paint('-->', Part.FRAME)} {visible(source.name)}", *_help(d, "", paint)])
    number = str(at.line)
    pad = " " * len(number)
    line, before, marked = window(source.line(at.line), at.column - 1, span)
    bar = paint(f"{pad} |", Part.FRAME)
    return "\n".join(
        [
            head,
            f"{pad}{paint('-->', Part.FRAME)} {_place(source, at)}",
            bar,
            f"{paint(f'{number} |', Part.FRAME)} {line}",
            f"{bar} {' ' * cells(before)}{paint('^' * max(1, cells(marked)), severity)}",
            *_help(d, pad, paint),
        ]
    )


def _help(d: Diagnostic, pad: str, paint: Paint) -> list[str]:
    return [f"{pad} {paint('= help:', Part.HELP)} {visible(d.help)}"] if d.help else []


def _place(source: Source, at: Position) -> str:
    """`file:line:column`; a text that is not the file's own is headed by the line of its scalar and its field."""
    if source.parent is None:
        return f"{visible(source.name)}:{at.line}:{at.column}"
    outer, span = source.parent.resolve(source.at)
    return f"{visible(outer.name)}:{outer.position(span.start).line} {visible(source.field)}"


def window(line: str, column: int, span: Span) -> tuple[str, str, str]:
    """The part of a line that is shown, the part of it before the place, and the place itself; all made visible."""
    start = max(0, column - _WIDTH // 2) if len(line) > _WIDTH else 0
    end = min(len(line), start + _WIDTH)
    prefix, suffix = "..." if start else "", "..." if end < len(line) else ""
    before = prefix + visible(line[start:column])
    marked = visible(line[column : min(column + span.end - span.start, end)])
    return prefix + visible(line[start:end]) + suffix, before, marked


def visible(text: str) -> str:
    """The text with tabs as blanks and every control, bidirectional or other invisible character by its number."""
    return "".join(c if _shows(c) else " " if c == "\t" else f"<U+{ord(c):04X}>" for c in text)


def _shows(c: str) -> bool:
    return c == " " or unicodedata.category(c)[0] not in "CZ"


def cells(text: str) -> int:
    """Terminal columns that a text takes."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
