"""Negations: none twice, none of a comparison that has an opposite, and inside logic where that is shorter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..analysis.certainty import is_bool
from ..celtypes import TOTALLY_ORDERED, CelType
from ..nodes import (
    AND,
    EQUALS,
    GREATER,
    GREATER_EQUALS,
    LESS,
    LESS_EQUALS,
    NOT,
    NOT_EQUALS,
    OR,
    Call,
    Expr,
    Lit,
    LitKind,
    conjunction,
    disjunction,
    transform,
)

_OPPOSITES = {EQUALS: NOT_EQUALS, NOT_EQUALS: EQUALS}
_ORDER_OPPOSITES = {LESS: GREATER_EQUALS, LESS_EQUALS: GREATER, GREATER: LESS_EQUALS, GREATER_EQUALS: LESS}


def negations(e: Expr, types: Mapping[int, CelType]) -> Expr:
    """`e` with the fewest negations."""
    return transform(e, lambda node: _negation(node, types))


def _negation(e: Expr, types: Mapping[int, CelType]) -> Expr:
    if not isinstance(e, Call) or e.function != NOT:
        return e
    inner = e.args[0]
    direct = _direct(inner, types)
    if direct is not None:
        return replace(direct, span=e.span)
    if isinstance(inner, Call) and inner.function in (AND, OR):
        shorter = sum(_direct(a, types) is not None for a in inner.args)
        if shorter * 2 > len(inner.args):
            join = disjunction if inner.function == AND else conjunction
            terms = (_direct(a, types) or Call(NOT, (a,), span=a.span) for a in inner.args)
            return join(tuple(terms), e.span)
    return e


def _direct(e: Expr, types: Mapping[int, CelType]) -> Expr | None:
    """The opposite of `e` without a negation around it; None where there is none."""
    match e:
        case Lit(kind=LitKind.BOOL, value=bool(value)):
            return replace(e, value=not value)
        case Call(function=function, args=(inner,)) if function == NOT:
            return inner if is_bool(inner) else None
        case Call(function=function) if function in _OPPOSITES:
            return replace(e, function=_OPPOSITES[function])
        case Call(function=function, args=args) if function in _ORDER_OPPOSITES:
            ordered = all(types.get(a.id) in TOTALLY_ORDERED for a in args)
            return replace(e, function=_ORDER_OPPOSITES[function]) if ordered else None
        case _:
            return None
