"""`filters`: the dialects of the CloudEvents Subscriptions API. A list of filters is their conjunction."""

from __future__ import annotations

from ..document import Place, Sequence, described, items, members
from ..nodes import NOT, Call, Expr, conjuncts, disjunction
from ..rfc3339 import microseconds
from ..suggest import closest, did_you_mean
from .model import Findings, Translation, all_of
from .predicates import TIME, affix, attribute_name, attribute_text, exact, tested

DIALECTS = ("exact", "prefix", "suffix", "all", "any", "not", "cesql")
_ELSEWHERE = {
    "attributes": "under 'filters' write 'exact'",
    "sourceAndType": "under 'filters' write 'exact'",
    "expression": "an expression stands under 'filter', not under 'filters'",
}


def to_cel(place: Place) -> Translation:
    """A list of filter objects as their conjunction; an empty list is every event."""
    findings = Findings()
    expr = _filters(place, findings)
    return Translation(expr, place.source, tuple(findings.found), "filters")


def object_to_cel(place: Place) -> Translation:
    """One filter object: `{exact: {type: t}}`, `{any: [...]}`."""
    findings = Findings()
    expr = _filter(place, findings)
    return Translation(expr, place.source, tuple(findings.found), "filters")


def _filters(place: Place, findings: Findings) -> Expr | None:
    if not isinstance(place.value, Sequence):
        message = f"'{place.path}' must be a list, this is {described(place.value)}"
        findings.report(
            "TRI310", place, message, "write one filter for each item: '- exact: {...}'", at=place.value.span
        )
        return None
    terms = [_filter(item, findings) for item in items(place)]
    return _conjunction(terms, place, findings)


def _filter(place: Place, findings: Findings) -> Expr | None:
    if not findings.expect_mapping(place):
        return None
    entries = members(place)
    if not entries:
        help_ = "name a dialect (exact, prefix, suffix, all, any, not), or remove the filter to deliver every event"
        findings.report("TRI332", place, f"'{place.path or 'filter'}' is an empty filter", help_)
        return None
    for name, entry in entries:
        if name not in DIALECTS:
            help_ = _ELSEWHERE.get(name) or did_you_mean(closest(name, DIALECTS)) or f"one of {', '.join(DIALECTS)}"
            findings.report("TRI331", entry, f"'{entry.path}': there is no filter dialect '{name}'", help_)
    if len(entries) > 1:
        names = ", ".join(f"'{name}'" for name, _ in entries)
        message = f"'{place.path or 'filter'}' has several dialects: {names}"
        findings.report("TRI330", entries[1][1], message, "make each a filter of its own, under 'all' or 'any'")
    translated = [_dialect(name, entry, findings) for name, entry in entries if name in DIALECTS]
    return translated[0] if len(entries) == 1 and translated else None


def _dialect(name: str, place: Place, findings: Findings) -> Expr | None:
    match name:
        case "exact" | "prefix" | "suffix":
            return _attributes(name, place, findings)
        case "all":
            return _conjunction(_operands(place, findings), place, findings)
        case "any":
            terms = _operands(place, findings)
            kept = tuple(term for term in terms if term is not None)
            return disjunction(kept, place.value.span) if terms and len(kept) == len(terms) else None
        case "not":
            inner = _filter(place, findings)
            return None if inner is None else Call(NOT, (inner,), span=place.value.span)
        case _:
            message = f"'{place.path}': CloudEvents SQL is not supported yet"
            findings.report(
                "TRI343", place, message, "write the filter with exact, prefix, suffix, or as a CEL expression"
            )
            return None


def _operands(place: Place, findings: Findings) -> list[Expr | None]:
    if not isinstance(place.value, Sequence):
        message = f"'{place.path}' must be a list of filters, this is {described(place.value)}"
        findings.report("TRI310", place, message, at=place.value.span)
        return [None]
    if not place.value.items:
        findings.report("TRI332", place, f"'{place.path}' is an empty list", "give at least one filter, or remove it")
        return [None]
    return [_filter(item, findings) for item in items(place)]


def _attributes(kind: str, place: Place, findings: Findings) -> Expr | None:
    if not findings.expect_mapping(place):
        return None
    entries = members(place)
    if not entries:
        findings.report("TRI332", place, f"'{place.path}' names no attribute", f"write {kind}: {{type: ...}}")
        return None
    return _conjunction([_attribute(kind, key, entry, findings) for key, entry in entries], place, findings)


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


def _conjunction(terms: list[Expr | None], place: Place, findings: Findings) -> Expr | None:
    joined = all_of(terms, place.value.span)
    if joined is not None:
        _contradictions(joined, place, findings)
    return joined


def _contradictions(joined: Expr, place: Place, findings: Findings) -> None:
    """Reports an attribute that is asked to equal two values, or a value without the prefix or suffix asked for."""
    tests = [found for term in conjuncts(joined) if (found := tested(term)) is not None]
    wanted: dict[str, str] = {}
    for kind, name, value, _ in tests:
        if kind == "exact":
            wanted.setdefault(name, value)
    for kind, name, value, span in tests:
        known = wanted.get(name)
        if known is not None and not _agree(kind, name, known, value):
            verb = {"exact": "equal", "prefix": "begin with", "suffix": "end with"}[kind]
            message = f"attribute '{name}' cannot equal '{known[:60]}' and {verb} '{value[:60]}': no event is delivered"
            if not any(d.code == "TRI341" and d.span == span for d in findings.found):
                findings.report("TRI341", place, message, "to accept either, put the filters under 'any'", at=span)


def _agree(kind: str, name: str, known: str, value: str) -> bool:
    match kind:
        case "prefix":
            return known.startswith(value)
        case "suffix":
            return known.endswith(value)
        case _:
            return known == value or (name == TIME and microseconds(known) == microseconds(value))
