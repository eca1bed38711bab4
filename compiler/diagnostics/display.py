"""Where a diagnostic is to be shown, and text made safe to show: what every renderer needs."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from ..source import NOWHERE, Position, Source, Span
from .model import Diagnostic

_LONGEST_MESSAGE = 600
_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file. `field` is the path of the value that holds it, where one is known; `end` is exclusive."""

    file: str
    start: Position
    end: Position
    field: str


def locate(diagnostic: Diagnostic) -> Location:
    """The place in the file. For a text that has none of its own there, the scalar that holds the text."""
    source, span = diagnostic.source.resolve(diagnostic.span)
    field = diagnostic.source.field
    while source.parent is not None:
        field = field or source.field
        source, span = source.parent.resolve(source.at)
    if not source.text:
        span = NOWHERE
    last = len(source.text)
    start, end = min(span.start, last), min(span.end, last)
    return Location(source.name, source.position(start), source.position(max(start, end)), field)


def shown_in(diagnostic: Diagnostic) -> tuple[Source, Span]:
    """The text to quote, and the span in it: the file, or an expression that the file holds folded or escaped."""
    source, span = diagnostic.source.resolve(diagnostic.span)
    last = len(source.text)
    return source, Span(min(span.start, last), min(span.end, last))


def visible(character: str) -> str:
    """What to print for a character: controls, direction marks and the like by their number, a tab as four spaces."""
    if character == "\t":
        return "    "
    return f"<U+{ord(character):04X}>" if unicodedata.category(character) in _HIDDEN else character


def width(text: str) -> int:
    """Terminal cells that printed text takes."""
    return sum(_cells(c) for c in text)


def line_of(text: str, limit: int = _LONGEST_MESSAGE) -> str:
    """Text on one line, everything in it visible, cut where it is very long."""
    shown = "".join(" " if c in "\n\t" else visible(c) for c in text[: limit + 1])
    return shown if len(text) <= limit else f"{shown[:limit]}..."


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
