"""What a dialect can say of an expression, and which parts of it it cannot."""

from __future__ import annotations

from collections.abc import Iterable

from ..diagnostics import Diagnostic
from ..dialects.inverse import guard_of
from ..dialects.model import Dialect
from ..dialects.predicates import attribute, has_attribute, is_required
from ..nodes import AND, EQUALS, NOT, OR, Call, Expr, conjunction, conjuncts, string
from ..source import NOWHERE, Source, Span
from ..unparse import brief, unparse
from .forms import attributes_in, forms, guards_of

_LONGEST = 100
"""Characters of an expression that is suggested."""


def _is(value: str) -> Expr:
    return Call(EQUALS, (attribute("type", NOWHERE), string(value)))


_PROBES = {OR: Call(OR, (_is("a"), _is("b"))), NOT: Call(NOT, (_is("a"),))}
"""What a dialect that has alternatives, or denial, can say."""


def said(row: Dialect, expr: Expr) -> object | None:
    """The filter that says `expr` in a dialect, as text or JSON data; None where it cannot."""
    if row.from_cel is None:
        return None
    return next((value for form in forms(expr) if (value := row.from_cel(form)) is not None), None)


def refusals(row: Dialect, expr: Expr, source: Source, others: Iterable[Dialect]) -> tuple[Diagnostic, ...]:
    """TRI371 for each part of `expr` that a dialect cannot say; `others` are those that are asked in its place."""
    able = next((other.name for other in others if said(other, expr) is not None), "")
    found = []
    for part in _unsaid(row, expr, {}):
        help_ = _guarded(row, part) or (f"'{able}' can say all of the filter" if able else "write it otherwise")
        found.append(Diagnostic("TRI371", f"{row.name} cannot say '{brief(part)}'", source, part.span, help_))
    return tuple(found)


def _unsaid(row: Dialect, e: Expr, around: dict[str, Expr]) -> tuple[Expr, ...]:
    """The smallest parts that cannot be said, each beside the guards that stand around it; `e` where all together cannot."""
    match e:
        case Call(function=function, args=args) if function == AND:
            found = _terms(row, args, {**around, **guards_of(args)})
        case Call(function=function, args=args) if function in _PROBES and said(row, _PROBES[function]) is not None:
            found = [part for term in args if not _sayable(row, term, around) for part in _unsaid(row, term, around)]
        case _:
            found = []
    return tuple(found) or (e,)


def _terms(row: Dialect, terms: tuple[Expr, ...], guards: dict[str, Expr]) -> list[Expr]:
    needed = {name for term in terms if guard_of(term) is None for name in attributes_in(term)}
    found: list[Expr] = []
    for term in terms:
        if guard_of(term) not in needed and not _sayable(row, term, guards):
            found.extend(_unsaid(row, term, guards))
    return found


def _sayable(row: Dialect, term: Expr, guards: dict[str, Expr]) -> bool:
    around = [guards[name] for name in attributes_in(term) if name in guards]
    return said(row, conjunction((*around, term))) is not None


def _guarded(row: Dialect, part: Expr) -> str:
    """How to write a test of an attribute that may be absent, where the dialect can say it so; empty where not."""
    absent = [name for name in attributes_in(part) if not is_required(name)]
    asked = guards_of(conjuncts(part))
    missing = [name for name in absent if name not in asked]
    guarded = conjunction((*(has_attribute(name, Span(0, 0)) for name in missing), part))
    if not missing or said(row, guarded) is None or len(text := unparse(guarded)) > _LONGEST:
        return ""
    return f"on an event without '{missing[0]}' it is an error, and in {row.name} it is false: write {text}"
