"""`subscriptions`: the filters of the CNCF CloudEvents Subscriptions API, or a whole subscription.

The dialects have Knative's names, and differ from Knative's in what they take: sections 3.2.1 and 3.2.4 of
`subscriptions/spec.md` in the repository `cloudevents/spec`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ..documents.document import Mapping, Place, Sequence, described, items, members
from ..environments.attribute_names import RECORD
from ..nodes import EQUALS, IN, Call, Expr, Ident, ListExpr, Select, string
from ..suggest import closest, did_you_mean
from .attribute_filters import OF_CLOUD_EVENTS
from .cesql import CESQL, SQL
from .combinators import ELSEWHERE, Known, combinators, filter_list, filter_object
from .contradictions import conjoined
from .inverse import filters_of, inverse
from .model import Dialect, Findings, Rows, Translation, Under, within

_NAME = "subscriptions"
_UNREAD = ("id", "config", "sink", "sinkCredential", "sinkcredential", "protocol", "protocolsettings")
"""Fields of a subscription that say nothing of which events it wants."""
_FIELDS = ("source", "types", "filters", *_UNREAD)
_ELSEWHERE = {
    **{name: help_ for name, help_ in ELSEWHERE.items() if name != SQL.name},
    "attributes": "write 'exact'",
    "sourceAndType": "write 'exact'",
    "expression": "the Subscriptions API has no CEL: give the filter with --dialect cel",
    "cel": "the Subscriptions API has no CEL: give the filter with --dialect cel",
    CESQL.name: f"the Subscriptions API calls it '{SQL.name}'",
}


def to_cel(known: Known, place: Place) -> Translation:
    """A list of filters, of which an event must pass all; one filter; or a subscription. An empty list is every event."""
    findings = Findings()
    if isinstance(place.value, Sequence):
        found = filter_list(known, place)
    elif not isinstance(place.value, Mapping):
        message = (
            f"'{place.path}' must be a list of filters, a filter or a subscription, this is {described(place.value)}"
        )
        findings.report("TRI310", place, message, at=place.value.span)
        found = Translation(None, place.source, tuple(findings.found), _NAME)
    elif any(name in _FIELDS for name, _ in members(place)):
        expr = _subscription(known, place, findings)
        found = Translation(expr, place.source, tuple(findings.found), _NAME)
    else:
        found = filter_object(known, place)
    return replace(found, dialect=_NAME)


def _subscription(known: Known, place: Place, findings: Findings) -> Expr | None:
    """Its `source`, `types` and `filters`, which must all hold."""
    terms: list[Expr | None] = []
    for name, entry in members(place):
        match name:
            case "source":
                terms.append(_source(entry, findings))
            case "types":
                terms.append(_types(entry, findings))
            case "filters":
                translation = filter_list(known, entry)
                findings.found.extend(translation.diagnostics)
                terms.append(within(translation, entry.source, entry.value.span))
            case _ if name not in _FIELDS:
                terms.append(None)
                named = f"it stands under 'filters': filters: [{{{name}: ...}}]" if name in known.rows() else ""
                help_ = named or did_you_mean(closest(name, _FIELDS)) or f"known fields: {', '.join(_FIELDS)}"
                findings.report("TRI308", entry, f"'{entry.path}' is not a field of a subscription", help_)
    return conjoined(terms, place, findings)


def _source(place: Place, findings: Findings) -> Expr | None:
    text = _not_empty(place, "remove it, to take events of every source", findings)
    if text is None:
        return None
    at = place.value.span
    return Call(EQUALS, (Select(Ident(RECORD, span=at), "source", span=at), string(text, at)), span=at)


def _types(place: Place, findings: Findings) -> Expr | None:
    at = place.value.span
    help_ = "remove it, to take events of every type"
    if not isinstance(place.value, Sequence):
        message = f"'{place.path}' must be a list of types, this is {described(place.value)}"
        findings.report("TRI310", place, message, help_, at=at)
        return None
    if not place.value.items:
        findings.report("TRI332", place, f"'{place.path}' is an empty list", help_)
        return None
    texts = [(_not_empty(item, "name a type, or remove it", findings), item.value.span) for item in items(place)]
    values = tuple(string(text, span) for text, span in texts if text is not None)
    if len(values) < len(texts):
        return None
    subject = Select(Ident(RECORD, span=at), "type", span=at)
    if len(values) == 1:
        return Call(EQUALS, (subject, values[0]), span=at)
    return Call(IN, (subject, ListExpr(values, span=at)), span=at)


def _not_empty(place: Place, help_: str, findings: Findings) -> str | None:
    text = findings.expect_string(place)
    if text == "":
        findings.report("TRI332", place, f"'{place.path}' is empty", help_, at=place.value.span)
    return text or None


def _filters() -> Rows:
    return FILTERS


_KNOWN = Known(_filters, _ELSEWHERE)
FILTERS: Rows = {
    row.name: row
    for row in (
        *OF_CLOUD_EVENTS,
        *(replace(row, under=Under.NOWHERE, schema=None) for row in combinators(_KNOWN)),
        SQL,
    )
}
"""The filters of the Subscriptions API, by the names of their dialects."""
_READ = partial(to_cel, _KNOWN)
ROW = Dialect(
    name=_NAME,
    to_cel=_READ,
    from_cel=inverse(_READ, filters_of),
    doc="Filters of the CNCF CloudEvents Subscriptions API: a list of them, one of them, or a whole subscription.",
    example=[{"exact": {"type": "order.created"}}, {"prefix": {"source": "/shop"}}],
    page=_NAME,
)
