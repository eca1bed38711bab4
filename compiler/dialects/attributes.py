"""`filter.attributes`: every named attribute has the given value; an empty value asks only that it is there."""

from __future__ import annotations

from ..documents.document import Place, members
from ..nodes import Expr
from .inverse import attributes_of, inverse
from .model import TEXT, Dialect, Findings, Schema, Translation, Under, all_of
from .predicates import attribute_name, attribute_text, exact, present


def to_cel(place: Place) -> Translation:
    """`{type: t, ext: ""}` as `ce.type == "t" && has(ce.ext) && ce.ext != ""`; no attribute at all is every event."""
    findings = Findings()
    expr = None
    if findings.expect_mapping(place):
        expr = all_of([attribute(k, entry, findings, dotted=True) for k, entry in members(place)], place.value.span)
    return Translation(expr, place.source, tuple(findings.found), "attributes")


def attribute(key: str, entry: Place, findings: Findings, *, dotted: bool) -> Expr | None:
    """The test of one entry; None when it was refused."""
    name = attribute_name(entry, key, findings, dotted=dotted)
    value = attribute_text(entry, findings)
    if name is None or value is None:
        return None
    return present(name, entry) if value == "" else exact(name, value, entry, findings)


def _schema(inner: Schema) -> Schema:
    return {"type": "object", "additionalProperties": TEXT}


ROW = Dialect(
    name="attributes",
    to_cel=to_cel,
    from_cel=inverse(to_cel, attributes_of),
    doc="Attributes and the values that they must have; an empty value asks only that the attribute is there.",
    example={"type": "order.created", "subject": ""},
    page="knative",
    order=1,
    under=Under.FILTER,
    knative=True,
    schema=_schema,
)
