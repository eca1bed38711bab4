"""Filters that must all hold, and cannot."""

from __future__ import annotations

from ..documents.document import Place
from ..nodes import Expr, conjuncts
from ..values.rfc3339 import microseconds
from .model import Findings, all_of
from .predicates import TIME, tested


def conjoined(terms: list[Expr | None], place: Place, findings: Findings) -> Expr | None:
    """All of the terms, with a warning where no event can pass them; None where one was refused."""
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
        case "prefix" | "suffix" if name == TIME:
            return True  # whose one instant has many texts
        case "prefix":
            return known.startswith(value)
        case "suffix":
            return known.endswith(value)
        case _:
            return known == value or (name == TIME and microseconds(known) == microseconds(value))
