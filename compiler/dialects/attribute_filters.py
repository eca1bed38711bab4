"""`exact`, `prefix` and `suffix`, of Knative and of the CloudEvents Subscriptions API: a test of every named attribute."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ..documents.document import Place, members
from ..nodes import Expr
from .contradictions import conjoined
from .inverse import inverse, values_of
from .model import TEXT, Dialect, Findings, Schema, Translation, Under
from .predicates import CLOUD_EVENTS, KNATIVE, Rules, affix, attribute_name, attribute_text, exact


def to_cel(kind: str, rules: Rules, place: Place) -> Translation:
    """`{type: t}` as the test of this kind."""
    findings = Findings()
    expr = _attributes(kind, rules, place, findings)
    return Translation(expr, place.source, tuple(findings.found), kind)


def _attributes(kind: str, rules: Rules, place: Place, findings: Findings) -> Expr | None:
    if not findings.expect_mapping(place):
        return None
    entries = members(place)
    if not entries:
        findings.report("TRI332", place, f"'{place.path}' names no attribute", f"write {kind}: {{type: ...}}")
        return None
    return conjoined([_attribute(kind, rules, key, entry, findings) for key, entry in entries], place, findings)


def _attribute(kind: str, rules: Rules, key: str, entry: Place, findings: Findings) -> Expr | None:
    name = attribute_name(entry, key, findings, rules=rules)
    value = attribute_text(entry, findings)
    if value == "":
        help_ = "give a value"
        if rules is KNATIVE:
            help_ += '; to ask only for presence use filter.attributes with "", or has() in an expression'
        findings.report("TRI332", entry, f"'{entry.path}' has an empty value", help_, at=entry.value.span)
    if name is None or not value:
        return None
    if kind == "exact":
        return exact(name, value, entry, findings, rules)
    return affix(kind, name, value, entry, findings, rules)


def _schema(inner: Schema) -> Schema:
    return {"type": "object", "minProperties": 1, "additionalProperties": {**TEXT, "minLength": 1}}


def _row(kind: str, doc: str, example: dict[str, str], order: int) -> Dialect:
    read = partial(to_cel, kind, KNATIVE)
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


ROWS = (
    _row("exact", "Attributes and what they must equal.", {"type": "order.created"}, 2),
    _row("prefix", "Attributes and what they must begin with.", {"type": "order."}, 3),
    _row("suffix", "Attributes and what they must end with.", {"subject": ".png"}, 4),
)
"""As Knative has them."""
OF_CLOUD_EVENTS = tuple(
    replace(row, to_cel=partial(to_cel, row.name, CLOUD_EVENTS), from_cel=None, under=Under.NOWHERE, schema=None)
    for row in ROWS
)
"""As the Subscriptions API has them, where they stand in no Trigger."""
