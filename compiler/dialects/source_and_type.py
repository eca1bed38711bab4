"""`filter.sourceAndType`: the form before `filter.attributes`, deprecated since the founding proposal."""

from __future__ import annotations

from ..documents.document import Place, Scalar, members
from ..nodes import Expr
from .attributes import attribute
from .model import TEXT, Dialect, Findings, Schema, Translation, Under, all_of

FIELDS = ("source", "type")


def to_cel(place: Place) -> Translation:
    """`{type: t, source: s}` as `filter.attributes` reads it, with a warning that names the new form."""
    findings = Findings()
    expr = None
    if findings.expect_mapping(place):
        help_ = f"rename 'sourceAndType' to 'attributes': {_attributes_form(place)}"
        findings.report("TRI339", place, "'sourceAndType' is deprecated", help_)
        expr = all_of([_field(name, entry, findings) for name, entry in members(place)], place.value.span)
    return Translation(expr, place.source, tuple(findings.found), "sourceAndType")


def _field(name: str, entry: Place, findings: Findings) -> Expr | None:
    if name in FIELDS:
        return attribute(name, entry, findings, dotted=False)
    message = f"'{entry.path}': 'sourceAndType' has only 'source' and 'type'"
    findings.report("TRI331", entry, message, "use 'attributes' for other attributes")
    return None


def _attributes_form(place: Place) -> str:
    """The same filter as `attributes`, on one line."""
    pairs = [f'{k}: "{entry.value.text[:40]}"' for k, entry in members(place) if isinstance(entry.value, Scalar)]
    return f"attributes: {{{', '.join(pairs)}}}"


def _schema(inner: Schema) -> Schema:
    return {"type": "object", "properties": dict.fromkeys(FIELDS, TEXT)}


ROW = Dialect(
    name="sourceAndType",
    to_cel=to_cel,
    doc="Deprecated: the same entries under `attributes`.",
    example={"source": "/shop", "type": "order.created"},
    page="knative",
    under=Under.FILTER,
    instead="rename it to 'attributes'",
    successor="attributes",
    schema=_schema,
)
