"""`filters`, and the dialects that hold filters: `all`, `any` and `not`, of Knative and of the Subscriptions API.

Which dialects a filter may have is asked of the registry when a filter is read, since these are among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from ..documents.document import Place, Sequence, described, items, members
from ..nodes import NOT, Call, Expr, disjunction
from ..suggest import closest, did_you_mean
from .contradictions import conjoined
from .inverse import any_of, denied_of, filters_of, inverse
from .model import Dialect, Findings, Rows, Schema, Translation, Under, within

ELSEWHERE = {
    "attributes": "under 'filters' write 'exact'",
    "sourceAndType": "under 'filters' write 'exact'",
    "expression": "an expression stands under 'filter', not under 'filters'",
    "cel": "an expression stands under 'filter': write filter.expression: ...",
    "and": "write 'all'",
    "or": "write 'any'",
    "sql": "Knative calls it 'cesql'",
    "matchTypes": "write prefix: {type: ...}, suffix or exact",
    "matchSource": "write prefix: {source: ...}, suffix or exact",
}
"""What to write for a name that is no filter of Knative's."""


@dataclass(frozen=True)
class Known:
    """The dialects that one filter may have, and what to write for names that are none of them."""

    rows: Callable[[], Rows]
    elsewhere: Mapping[str, str] = field(default_factory=lambda: ELSEWHERE)


def filter_list(known: Known, place: Place) -> Translation:
    """A list of filter objects as their conjunction; an empty list is every event."""
    findings = Findings()
    return _translation(_filters(place, known, findings), place, findings, "filters")


def filter_object(known: Known, place: Place) -> Translation:
    """One filter object: `{exact: {type: t}}`, `{any: [...]}`."""
    findings = Findings()
    return _translation(_filter(place, known, findings), place, findings, "filters")


def all_to_cel(known: Known, place: Place) -> Translation:
    """Filters that must all pass."""
    findings = Findings()
    terms = _operands(place, known, findings)
    return _translation(conjoined(terms, place, findings), place, findings, "all")


def any_to_cel(known: Known, place: Place) -> Translation:
    """Filters of which one must pass."""
    findings = Findings()
    terms = _operands(place, known, findings)
    kept = tuple(term for term in terms if term is not None)
    expr = disjunction(kept, place.value.span) if terms and len(kept) == len(terms) else None
    return _translation(expr, place, findings, "any")


def not_to_cel(known: Known, place: Place) -> Translation:
    """A filter that must not pass."""
    findings = Findings()
    inner = _filter(place, known, findings)
    expr = None if inner is None else Call(NOT, (inner,), span=place.value.span)
    return _translation(expr, place, findings, "not")


def _translation(expr: Expr | None, place: Place, findings: Findings, dialect: str) -> Translation:
    return Translation(expr, place.source, tuple(findings.found), dialect)


def _filters(place: Place, known: Known, findings: Findings) -> Expr | None:
    if not isinstance(place.value, Sequence):
        message = f"'{place.path}' must be a list, this is {described(place.value)}"
        findings.report(
            "TRI310", place, message, "write one filter for each item: '- exact: {...}'", at=place.value.span
        )
        return None
    return conjoined([_filter(item, known, findings) for item in items(place)], place, findings)


def _filter(place: Place, known: Known, findings: Findings) -> Expr | None:
    if not findings.expect_mapping(place):
        return None
    entries = members(place)
    if not entries:
        help_ = "name a dialect (exact, prefix, suffix, all, any, not), or remove the filter to deliver every event"
        findings.report("TRI332", place, f"'{place.path or 'filter'}' is an empty filter", help_)
        return None
    rows = known.rows()
    for name, entry in entries:
        if name not in rows:
            help_ = known.elsewhere.get(name) or did_you_mean(closest(name, rows)) or f"one of {', '.join(rows)}"
            findings.report("TRI331", entry, f"'{entry.path}': there is no filter dialect '{name}'", help_)
    if len(entries) > 1:
        names = ", ".join(f"'{name}'" for name, _ in entries)
        message = f"'{place.path or 'filter'}' has several dialects: {names}"
        findings.report("TRI330", entries[1][1], message, "make each a filter of its own, under 'all' or 'any'")
    translated = [_dialect(rows[name], entry, findings) for name, entry in entries if name in rows]
    return translated[0] if len(entries) == 1 and translated else None


def _dialect(row: Dialect, place: Place, findings: Findings) -> Expr | None:
    translation = row.to_cel(place)
    findings.found.extend(translation.diagnostics)
    return within(translation, place.source, place.value.span)


def _operands(place: Place, known: Known, findings: Findings) -> list[Expr | None]:
    if not isinstance(place.value, Sequence):
        message = f"'{place.path}' must be a list of filters, this is {described(place.value)}"
        findings.report("TRI310", place, message, at=place.value.span)
        return [None]
    if not place.value.items:
        findings.report("TRI332", place, f"'{place.path}' is an empty list", "give at least one filter, or remove it")
        return [None]
    return [_filter(item, known, findings) for item in items(place)]


def _listed(inner: Schema) -> Schema:
    return {"type": "array", "minItems": 1, "items": inner}


def _all(inner: Schema) -> Schema:
    return {"type": "array", "maxItems": 1000, "items": inner}


def _itself(inner: Schema) -> Schema:
    return inner


def combinators(known: Known) -> tuple[Dialect, ...]:
    """The rows of `all`, `any` and `not` over the dialects that there are."""
    return tuple(
        Dialect(
            name=name,
            to_cel=read,
            from_cel=inverse(read, guess),
            doc=doc,
            example=example,
            page="knative",
            order=7,
            under=Under.FILTERS,
            knative=True,
            schema=schema,
            holds_filters=True,
        )
        for name, read, guess, doc, example, schema in (
            ("all", partial(all_to_cel, known), filters_of, "Filters that must all pass.", _BOTH, _listed),
            ("any", partial(any_to_cel, known), any_of, "Filters of which one must pass.", _BOTH, _listed),
            ("not", partial(not_to_cel, known), denied_of, "A filter that must not pass.", _BOTH[0], _itself),
        )
    )


def filters(known: Known) -> Dialect:
    """The row of `filters`."""
    read = partial(filter_list, known)
    return Dialect(
        name="filters",
        to_cel=read,
        from_cel=inverse(read, filters_of),
        doc="A list of filters, of which an event must pass every one.",
        example=_BOTH,
        page="knative",
        order=6,
        under=Under.SPEC,
        knative=True,
        schema=_all,
        holds_filters=True,
    )


_BOTH = [{"exact": {"type": "order.created"}}, {"prefix": {"source": "/shop"}}]
