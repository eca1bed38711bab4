"""`exact`, `prefix` and `suffix` of the CloudEvents Subscriptions API: a test of every attribute that is named."""

from __future__ import annotations

from functools import partial

from ..documents.document import Place, members
from ..nodes import Expr
from .contradictions import conjoined
from .inverse import inverse, values_of
from .model import TEXT, Dialect, Findings, Schema, Translation, Under
from .predicates import affix, attribute_name, attribute_text, exact


def to_cel(kind: str, place: Place) -> Translation:
    """`{type: t}` as the test of this kind."""
    findings = Findings()
    expr = _attributes(kind, place, findings)
    return Translation(expr, place.source, tuple(findings.found), kind)


def _attributes(kind: str, place: Place, findings: Findings) -> Expr | None:
    if not findings.expect_mapping(place):
        return None
    entries = members(place)
    if not entries:
        findings.report("TRI332", place, f"'{place.path}' names no attribute", f"write {kind}: {{type: ...}}")
        return None
    return conjoined([_attribute(kind, key, entry, findings) for key, entry in entries], place, findings)


def _attribute(kind: str, key: str, entry: Place, findings: Findings) -> Expr | None:
    name = attribute_name(entry, key, findings)
    value = attribute_text(entry, findings)
    if value == "":
        help_ = 'give a value; to ask only for presence use filter.attributes with "", or has() in an expression'
        findings.report("TRI332", entry, f"'{entry.path}' has an empty value", help_, at=entry.value.span)
    if name is None or not value:
        return None
    if kind == "exact":
        return exact(name, value, entry, findings)
    return affix(kind, name, value, entry, findings)


def _schema(inner: Schema) -> Schema:
    return {"type": "object", "minProperties": 1, "additionalProperties": {**TEXT, "minLength": 1}}


def _row(kind: str, doc: str, example: dict[str, str], order: int) -> Dialect:
    read = partial(to_cel, kind)
    return Dialect(
        name=kind,
        to_cel=read,
        from_cel=inverse(read, values_of(kind)),
        doc=doc,
        example=example,
        page="knative",
        order=order,
        under=Under.FILTERS,
        knative=True,
        schema=_schema,
    )


EXACT = _row("exact", "Attributes and what they must equal.", {"type": "order.created"}, 2)
PREFIX = _row("prefix", "Attributes and what they must begin with.", {"type": "order."}, 3)
SUFFIX = _row("suffix", "Attributes and what they must end with.", {"subject": ".png"}, 4)
