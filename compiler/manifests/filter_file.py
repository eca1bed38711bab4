"""A file that is one filter, in the dialect that its suffix or its reader names, as the Trigger of that filter."""

from __future__ import annotations

from pathlib import PurePath

from ..diagnostics import Diagnostic
from ..dialects import Dialect, Translation
from ..dialects.given import place_of
from ..faults import bounded, internal_error
from ..limits import DEFAULT, Limits, over_text
from ..source import Source, Span
from ..versions import CURRENT
from .trigger import Trigger


def read_filter_file(
    source: Source, dialect: Dialect, limits: Limits = DEFAULT
) -> tuple[tuple[Trigger, ...], tuple[Diagnostic, ...]]:
    """The text as one filter of the dialect, for the Trigger that is called as the file is, without its suffix.

    Of a dialect whose filters are data the text is YAML or JSON. The diagnostics are those of the text; those of the
    filter are in its `translation`.
    """

    def read() -> tuple[tuple[Trigger, ...], tuple[Diagnostic, ...]]:
        found = over_text(source, limits)
        if found:
            return (), found
        place, found = place_of(dialect, source.text, source.name)
        if place is None:
            return (), found
        return (_trigger(source, dialect.to_cel(place)),), found

    return bounded(read, lambda fault: ((), (internal_error(fault, source, Span(0, len(source.text))),)))


def _trigger(source: Source, translation: Translation) -> Trigger:
    first = Span(0, len(source.line(1)))
    name = PurePath(source.name).name.removeprefix("<").removesuffix(">")
    return Trigger(name.partition(".")[0] or name, "", "", "", {}, {}, translation, CURRENT, source, first)
