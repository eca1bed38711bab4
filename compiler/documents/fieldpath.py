"""Which field of a manifest a diagnostic is about."""

from __future__ import annotations

from ..diagnostics import Diagnostic
from .document import Place, items, members, read_documents, root


def field_of(d: Diagnostic) -> str:
    """The path of the field (`spec.filters[0].exact[type]`); empty where the whole text is meant."""
    if d.field or d.source.field:
        return d.field or d.source.field
    documents, _ = read_documents(d.source)
    around = [document for document in documents if document.value.span.start <= d.span.start]
    return _deepest(root(around[-1]), d.span.start) if around else ""


def _deepest(place: Place, offset: int) -> str:
    while True:
        inner = [p for p in (*(p for _, p in members(place)), *items(place)) if _begins(p) <= offset]
        if not inner or offset >= inner[-1].value.span.end:
            return place.path
        place = inner[-1]


def _begins(place: Place) -> int:
    return min(place.at.start, place.value.span.start)
