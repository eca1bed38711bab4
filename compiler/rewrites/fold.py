"""Constant subexpressions become the literals that they evaluate to; one that errs stays, for events to err on it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from operator import is_not

from ..analysis.cost import cost_of
from ..celtypes import DYN, CelType, list_of, map_of
from ..interpreter import CelError, Value, evaluate
from ..nodes import Entry, Expr, Ident, ListExpr, Lit, LitKind, MapExpr, children, variables, with_children
from ..source import Span
from ..unify import join
from ..values.cel import Uint, from_key

MAX_STEPS = 10_000
"""Steps that one constant may take to fold, estimated and counted."""
MAX_TEXT = 10_000
"""Characters or bytes of a folded literal."""
MAX_ITEMS = 100
"""Literals in a folded list or map."""
_NO_NAMES = frozenset[str]()


def fold(e: Expr, types: Mapping[int, CelType]) -> Expr:
    """`e` with every constant folded whose value can be written, and has the type that the checker knows."""
    return _fold(e, types)[0]


def _fold(e: Expr, types: Mapping[int, CelType]) -> tuple[Expr, frozenset[str]]:
    """`e` folded, and the names in it that it does not bind."""
    match e:
        case Lit():
            return e, _NO_NAMES
        case Ident(name=name):
            return e, frozenset((name,))
    old = children(e)
    bound = variables(e)
    new: list[Expr] = []
    free = _NO_NAMES
    for c in old:
        part, names = _fold(c, types)
        if bound and new:  # all but the first part, which is the range or the value
            names -= bound
        free = free | names if free else names
        new.append(part)
    if any(map(is_not, old, new)):
        e = with_children(e, tuple(new))
    if free or isinstance(e, Lit | ListExpr | MapExpr):
        return e, free
    return folded(e, types) or e, free


def folded(e: Expr, types: Mapping[int, CelType]) -> Expr | None:
    """The literal that a constant comes to; None for one that errs, or has no literal of its type."""
    type_ = types.get(e.id)
    if type_ is None or cost_of(e).max > MAX_STEPS:
        return None
    try:
        value = evaluate(e, {}, MAX_STEPS)
    except CelError:
        return None
    literal = _literal(value, e.span, [MAX_ITEMS])
    return replace(literal, id=e.id) if literal is not None and _type(literal) == type_ else None


def _literal(value: Value, span: Span, left: list[int]) -> Expr | None:
    """The value as it would be written; None for what has no literal. `left` counts down the parts."""
    left[0] -= 1
    if left[0] < 0:
        return None
    match value:
        case None:
            return Lit(LitKind.NULL, None, span=span)
        case bool():
            return Lit(LitKind.BOOL, value, span=span)
        case Uint():
            return Lit(LitKind.UINT, int(value), span=span)
        case int():
            return Lit(LitKind.INT, value, span=span)
        case float() if math.isfinite(value):
            return Lit(LitKind.DOUBLE, value, span=span)
        case str() if len(value) <= MAX_TEXT:
            return Lit(LitKind.STRING, value, span=span)
        case bytes() if len(value) <= MAX_TEXT:
            return Lit(LitKind.BYTES, value, span=span)
        case list():
            items = [_literal(item, span, left) for item in value]
            return None if None in items else ListExpr(tuple(i for i in items if i is not None), span=span)
        case dict():
            pairs = [(_literal(from_key(k), span, left), _literal(v, span, left)) for k, v in value.items()]
            entries = tuple(Entry(k, v, span=span) for k, v in pairs if k is not None and v is not None)
            return MapExpr(entries, span=span) if len(entries) == len(pairs) else None
        case _:
            return None


def _type(e: Expr) -> CelType:
    """The checker's type of a literal."""
    match e:
        case Lit(kind=kind):
            return CelType(kind.value)
        case ListExpr(items=items):
            return list_of(_joined(items))
        case MapExpr(entries=entries):
            return map_of(_joined(tuple(x.key for x in entries)), _joined(tuple(x.value for x in entries)))
        case _:
            return DYN


def _joined(items: tuple[Expr, ...]) -> CelType:
    return join([_type(item) for item in items]) if items else DYN
