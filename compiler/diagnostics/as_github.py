"""Diagnostics as GitHub workflow commands, which annotate a pull request."""

from __future__ import annotations

from collections.abc import Iterable

from .as_json import as_object
from .as_text import visible
from .model import Diagnostic


def render(diagnostics: Iterable[Diagnostic]) -> str:
    """One `::error file=...` or `::warning file=...` a line."""
    return "\n".join(map(_one, diagnostics))


def _one(d: Diagnostic) -> str:
    o = as_object(d)
    place = f"file={_property(visible(str(o['file'])))},line={o['line']},col={o['column']},title={d.code}"
    text = f"{d.message}; {d.help}" if d.help else d.message
    return f"::{d.severity} {place}::{_data(visible(text))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
