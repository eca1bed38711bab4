"""Comparisons of rule SQL: of one kind as CEL has them, of two kinds as EMQX coerces them, or not at all."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any as Anything

from ...nodes import (
    EQUALS,
    GREATER,
    GREATER_EQUALS,
    IN,
    LESS,
    LESS_EQUALS,
    NOT_EQUALS,
    Call,
    Expr,
    ListExpr,
    Lit,
    LitKind,
    string,
)
from .values import (
    FALSE,
    RANK,
    TRUE,
    Any,
    Kind,
    Truth,
    Value,
    chosen,
    conj,
    constant,
    disj,
    neg,
    number_of,
    sure,
)

OPERATORS = {"=": EQUALS, "!=": NOT_EQUALS, "<": LESS, "<=": LESS_EQUALS, ">": GREATER, ">=": GREATER_EQUALS}
MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_PYTHON: dict[str, Callable[[Anything, Anything], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_REFLEXIVE = ("=", "<=", ">=")
_SHORT, _WHOLE = r"^[-+]?0*[0-9]{1,18}$", r"^[-+]?[0-9]+$"
_DECIMAL = r"^[-+]?[0-9]+\.[0-9]+([eE][-+]?[0-9]+)?$"
LARGEST = 10**18
"""Numbers beyond are not compared with texts."""
_Test = tuple[tuple[Expr, ...], Expr, Expr]


def compared(op: str, left: Any, right: Any, *, coerce: bool) -> Truth:
    """A comparison. With `coerce`, of two kinds as EMQX does it; otherwise it raises for two kinds."""
    return chosen(left, lambda one: chosen(right, lambda other: _two(op, one, other, coerce)))


def _two(op: str, left: Value, right: Value, coerce: bool) -> Truth:
    if left.literal is not None and right.literal is None:
        return _two(MIRRORED[op], right, left, coerce)
    present = (*left.present, *right.present)
    tests = [test for a in left.kinds for b in right.kinds for test in _kinds(op, left, a, right, b, coerce)]
    tests.sort(key=lambda test: repr(test[0]))
    yes = [conj((*present, *guards, t)) for guards, t, _ in tests]
    no = [conj((*present, *guards, f)) for guards, _, f in tests]
    both = conj((left.undefined, right.undefined))
    (yes if op in _REFLEXIVE else no).append(both)
    no.append(conj((left.undefined, *right.present)))
    no.append(conj((right.undefined, *left.present)))
    total = sure(left) and sure(right) and len(left.kinds) == len(right.kinds) == 1 and bool(tests) and not tests[0][0]
    return Truth(disj(yes), disj(no), total)


def identical(left: Any, right: Any) -> Truth:
    """That two values are the same, of one kind: what IN and CASE ask. An undefined value is the same as another one."""
    return chosen(left, lambda one: chosen(right, lambda other: _same(one, other)))


def _same(left: Value, right: Value) -> Truth:
    present = (*left.present, *right.present)
    both = conj((left.undefined, right.undefined))
    one = disj((conj((left.undefined, *right.present)), conj((right.undefined, *left.present))))
    if not left.kinds & right.kinds:
        return Truth(both, disj((one, conj(present))), sure(left) and sure(right))
    if left.literal is not None and right.literal is not None:
        return constant(type(left.literal) is type(right.literal) and left.literal == right.literal)
    same = Call(EQUALS, (left.expr, right.expr))
    return Truth(
        disj((conj((*present, same)), both)), disj((conj((*present, neg(same))), one)), sure(left) and sure(right)
    )


def one_of(left: Value, literals: list[Value]) -> Truth:
    """That a value is one of those that are written."""
    alike = tuple(dict.fromkeys(item.expr for item in literals if item.kinds & left.kinds))
    if not alike:
        return Truth(FALSE, disj((conj(left.present), left.undefined)), sure(left))
    same = Call(IN, (left.expr, ListExpr(alike))) if len(alike) > 1 else Call(EQUALS, (left.expr, alike[0]))
    return Truth(conj((*left.present, same)), disj((conj((*left.present, neg(same))), left.undefined)), sure(left))


def _relation(op: str, left: Expr, right: Expr) -> tuple[Expr, Expr]:
    return Call(OPERATORS[op], (left, right)), Call(OPERATORS[_OPPOSITE[op]], (left, right))


def _known(op: str, left: object, right: object) -> tuple[Expr, Expr]:
    value = _PYTHON[op](left, right)
    return (TRUE, FALSE) if value else (FALSE, TRUE)


def _kinds(op: str, left: Value, a: Kind, right: Value, b: Kind, coerce: bool) -> Iterator[_Test]:
    guards = (*left.guards(a), *right.guards(b))
    if a == b and (coerce or a in (Kind.NUMBER, Kind.TEXT, Kind.BOOL) or op in ("=", "!=")):
        if a is Kind.NULL:
            yield guards, *_known(op, 0, 0)
        elif left.literal is not None and right.literal is not None:
            yield guards, *_known(op, left.literal, right.literal)
        elif a not in (Kind.LIST, Kind.MAP) or op in ("=", "!="):
            yield guards, *_relation(op, left.expr, right.expr)
    elif a != b and coerce:
        for more, yes, no in _coerced(op, left, a, right, b):
            yield (*guards, *more), yes, no


def _coerced(op: str, left: Value, a: Kind, right: Value, b: Kind) -> Iterator[_Test]:
    match a, b:
        case (Kind.TEXT, Kind.NUMBER):
            yield from _text_and_number(op, left, right)
        case (Kind.NUMBER, Kind.TEXT):
            yield from _text_and_number(MIRRORED[op], right, left)
        case (Kind.BOOL | Kind.NULL, Kind.TEXT):
            yield from _atom_and_text(op, left, a, right)
        case (Kind.TEXT, Kind.BOOL | Kind.NULL):
            yield from _atom_and_text(MIRRORED[op], right, b, left)
        case (Kind.BOOL, Kind.NULL):
            yield from _bool_and_null(op, left)
        case (Kind.NULL, Kind.BOOL):
            yield from _bool_and_null(MIRRORED[op], right)
        case _:
            yield (), *_known(op, RANK[a], RANK[b])


def _text_and_number(op: str, text: Value, number: Value) -> Iterator[_Test]:
    if isinstance(text.literal, str):
        value = number_of(text.literal)
        if value is not None and number.literal is not None:
            yield (), *_known(op, value, number.literal)
        elif value is not None:
            kind = LitKind.DOUBLE if isinstance(value, float) else LitKind.INT
            yield (), *_relation(op, Lit(kind, value), number.expr)
        return
    short, whole, decimal = (Call("matches", (string(p),), text.expr) for p in (_SHORT, _WHOLE, _DECIMAL))
    double = Call("double", (text.expr,))
    yield (short,), *_relation(op, Call("int", (text.expr,)), number.expr)
    yield (whole, neg(short)), *_relation(op, double, number.expr)
    finite = neg(Call("math.isInf", (double,)))
    yield (decimal, finite), *_relation(op, double, number.expr)


def _atom_and_text(op: str, atom: Value, kind: Kind, text: Value) -> Iterator[_Test]:
    names = (("null", TRUE),) if kind is Kind.NULL else (("true", atom.expr), ("false", neg(atom.expr)))
    for name, holds in names:
        if isinstance(text.literal, str):
            yield (holds,), *_known(op, name, text.literal)
        else:
            yield (holds,), *_relation(op, string(name), text.expr)


def _bool_and_null(op: str, truth: Value) -> Iterator[_Test]:
    for name, holds in (("true", truth.expr), ("false", neg(truth.expr))):
        yield (holds,), *_known(op, name, "null")
