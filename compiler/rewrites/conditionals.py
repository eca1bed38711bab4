"""Conditionals whose test or branches are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..analysis.certainty import errs_with, is_bool, never_errs
from ..celtypes import CelType
from ..nodes import (
    CONDITIONAL,
    NOT,
    Call,
    Expr,
    Has,
    Lit,
    LitKind,
    Select,
    conjunction,
    conjuncts,
    disjunction,
    transform,
)

_TRUE, _FALSE = Lit(LitKind.BOOL, True), Lit(LitKind.BOOL, False)


def conditionals(e: Expr, types: Mapping[int, CelType]) -> Expr:
    """`e` with every conditional as the test, the branch or the logic that it comes to."""
    return transform(e, lambda node: _conditional(node, types))


def _conditional(e: Expr, types: Mapping[int, CelType]) -> Expr:
    if not isinstance(e, Call) or e.function != CONDITIONAL:
        return e
    test, then, other = e.args
    if isinstance(test, Call) and test.function == NOT:
        return _conditional(replace(e, args=(test.args[0], other, then)), types)
    match test, then, other:
        case Lit(kind=LitKind.BOOL, value=chosen), _, _:
            return then if chosen else other
        case _ if (then, other) == (_TRUE, _FALSE) and is_bool(test):
            return test
        case _ if (then, other) == (_FALSE, _TRUE):
            return Call(NOT, (test,), span=e.span)
    if not never_errs(test, types) and not _errs_with_presence(then, test):
        return e  # an error in the test is the result, which neither && nor || would have it be
    if then == other:
        return then
    if other == _FALSE and is_bool(then):
        return conjunction((test, then), e.span)
    if then == _TRUE and is_bool(other):
        return disjunction((test, other), e.span)
    if other == _TRUE and is_bool(then):
        return disjunction((Call(NOT, (test,), span=test.span), then), e.span)
    return e


def _errs_with_presence(e: Expr, test: Expr) -> bool:
    """Whether the test is of the presence of fields, all on the way to one that `e` needs, as it does its holder."""
    tests = conjuncts(test)
    fields = [Select(t.operand, t.field) for t in tests if isinstance(t, Has)]
    return (
        len(fields) == len(tests)
        and errs_with(e, fields[-1])
        and all(errs_with(fields[-1], holder) for holder in fields)
    )
