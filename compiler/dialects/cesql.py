"""`filters[].cesql`: CloudEvents SQL. It is not read yet, and is refused."""

from __future__ import annotations

from ..documents.document import Place
from ..limits import MAX_TEXT
from .model import Dialect, Findings, Schema, Translation, Under


def to_cel(place: Place) -> Translation:
    """Nothing is approximated: every filter is refused."""
    findings = Findings()
    message = f"'{place.path}': CloudEvents SQL is not supported yet"
    findings.report("TRI343", place, message, "write the filter with exact, prefix, suffix, or as a CEL expression")
    return Translation(None, place.source, tuple(findings.found), "cesql")


def _schema(inner: Schema) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}


ROW = Dialect(
    name="cesql",
    to_cel=to_cel,
    doc="A CloudEvents SQL expression.",
    example="type LIKE 'com.%'",
    page="knative",
    text=True,
    under=Under.FILTERS,
    knative=True,
    schema=_schema,
)
