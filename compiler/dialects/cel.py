"""CEL itself, as text."""

from __future__ import annotations

from ..documents.document import Place, embedded
from ..parse import parse
from ..unparse import unparse
from .expression import expand_match
from .model import Dialect, Findings, Translation


def to_cel(place: Place) -> Translation:
    """The parsed text; `match` is the macro that `filter.expression` has."""
    findings = Findings()
    if findings.expect_string(place) is None:
        return Translation(None, place.source, tuple(findings.found), "cel")
    source = embedded(place)
    expr, found = parse(source)
    if expr is not None:
        expr, found = expand_match(expr, source)
    return Translation(expr, source, found, "cel")


ROW = Dialect(
    name="cel",
    to_cel=to_cel,
    from_cel=unparse,
    doc="A CEL expression; what a text is where no dialect is named.",
    example='ce.type.startsWith("com.") && has(data.id)',
    page="cel",
    any_environment=True,
    text=True,
    suffix=".cel",
    order=9,
    form="expression",
)
