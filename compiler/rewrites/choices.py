"""Calls of what a test of presence chooses, as a choice between calls, where one of the two is then known.

`op(has(m.f) ? a : b, d)` is `has(m.f) ? op(a, d) : op(b, d)`, since an error of the test is an error of both; where `b`
and `d` are constants, so is the second call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..celtypes import CelType
from ..functions import LAZY
from ..nodes import (
    CONDITIONAL,
    EQUALS,
    GREATER,
    GREATER_EQUALS,
    IN,
    LESS,
    LESS_EQUALS,
    NOT_EQUALS,
    Bind,
    Call,
    Comprehension,
    Expr,
    Has,
    Ident,
    ListExpr,
    Lit,
    LitKind,
    MacroKind,
    MapExpr,
    Select,
    conjuncts,
    transform,
)
from .fold import folded

_COMPARING = frozenset({EQUALS, NOT_EQUALS, LESS, LESS_EQUALS, GREATER, GREATER_EQUALS})
_OVER_NOTHING = {MacroKind.ALL: True, MacroKind.EXISTS: False, MacroKind.EXISTS_ONE: False}
_NUMBERS = frozenset({LitKind.INT, LitKind.UINT})
"""Literals that are no JSON values: where one may stand for a JSON value, the two have no type in common."""
_MOST_ELSE = 4
"""Choices in the last branch of one another that a call is made in each branch of."""
_MOST_NAMES = 4
"""Names in a selection that is written in both branches."""


def choices(e: Expr, types: Mapping[int, CelType]) -> Expr:
    """`e` with every choice by presence as far out as that makes a branch known."""
    return transform(e, lambda node: _chosen(node, types))


def _chosen(e: Expr, types: Mapping[int, CelType]) -> Expr:
    match e:
        case Call(function=function) if function not in LAZY:
            parts = e.args if e.target is None else (e.target, *e.args)
            at = [i for i, part in enumerate(parts) if _is_choice(part)]
            return _called(e, parts, at[0], types) or e if len(at) == 1 else e
        case Comprehension(macro=macro, range=Call() as range_) if macro in _OVER_NOTHING and _is_choice(range_):
            return _over(e, range_) or e
        case _:
            return e


def _called(e: Call, parts: tuple[Expr, ...], at: int, types: Mapping[int, CelType]) -> Expr | None:
    """The call `e` of `parts`, of which the one at `at` is a choice; None where no branch is known."""
    others = [part for i, part in enumerate(parts) if i != at]
    part = parts[at]
    if isinstance(part, Bind):
        inner = _called(e, (*parts[:at], part.body, *parts[at + 1 :]), at, types) if _are_constant(others) else None
        return None if inner is None else replace(part, body=inner, id=e.id, span=e.span)
    if not isinstance(part, Call):
        return None
    test, then, other = part.args
    if _are_constant(others):
        absent = (
            _called(e, (*parts[:at], other, *parts[at + 1 :]), at, types)
            if _is_choice(other)
            else folded(_with(e, parts, at, other), types)
        )
    else:
        absent = _with(e, parts, at, other) if _needs_own_type(e, at, other) and all(map(_is_name, others)) else None
    if absent is None:
        return None
    return Call(CONDITIONAL, (test, _with(e, parts, at, then), absent), id=e.id, span=e.span)


def _over(e: Comprehension, range_: Call) -> Expr | None:
    """The macro over a choice between what is there and nothing to go over."""
    test, then, other = range_.args
    if other not in (ListExpr(()), MapExpr(())):
        return None
    absent = Lit(LitKind.BOOL, _OVER_NOTHING[e.macro], span=e.span)
    return Call(CONDITIONAL, (test, replace(e, range=then), absent), id=e.id, span=e.span)


def _needs_own_type(e: Call, at: int, other: Expr) -> bool:
    """Whether `other` has no type in common with a JSON value, for which it would stand."""
    if isinstance(other, Lit):
        return e.function in _COMPARING and other.kind in _NUMBERS
    return e.function == IN and at == 1 and isinstance(other, ListExpr | MapExpr)


def _with(e: Call, parts: tuple[Expr, ...], at: int, part: Expr) -> Call:
    """The call with `part` at that place. It keeps the id, so that its type is known."""
    new = (*parts[:at], part, *parts[at + 1 :])
    return replace(e, args=new) if e.target is None else replace(e, target=new[0], args=new[1:])


def _is_choice(e: Expr, most: int = _MOST_ELSE) -> bool:
    """`has(m.f) ? x : constant`, or with another choice for the constant, or with something bound around it."""
    match e:
        case Call(function=function, args=(test, _, other)) if function == CONDITIONAL:
            known = _is_constant(other) or (most > 1 and not isinstance(other, Bind) and _is_choice(other, most - 1))
            return known and all(map(_asks_for_presence, conjuncts(test)))
        case Bind(body=body):
            return not isinstance(body, Bind) and _is_choice(body)
        case _:
            return False


def _asks_for_presence(e: Expr) -> bool:
    """Whether `e` is `has(m.f)`, or asks whether a list has a first or last element."""
    match e:
        case Call(function="hasValue", target=Call(function="first" | "last")):
            return True
        case _:
            return isinstance(e, Has)


def _are_constant(parts: list[Expr]) -> bool:
    return all(map(_is_constant, parts))


def _is_constant(e: Expr) -> bool:
    match e:
        case Lit():
            return True
        case ListExpr(items=items, optional=optional):
            return not optional and all(isinstance(i, Lit) for i in items)
        case MapExpr(entries=entries):
            return not entries
        case _:
            return False


def _is_name(e: Expr) -> bool:
    """A name, or a field of one: short enough to be written twice."""
    for _ in range(_MOST_NAMES):
        if isinstance(e, Ident):
            return True
        if not isinstance(e, Select) or e.optional:
            return False
        e = e.operand
    return False
