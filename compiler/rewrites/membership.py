"""Comparisons of one value with several literals, as one `in`; and `in` a list of one, as a comparison.

Exact with errors: `==` and `in` a list of literals err where the value itself does, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..celtypes import CelType
from ..functions import Size, functions
from ..nodes import AND, EQUALS, IN, NOT, NOT_EQUALS, OR, Call, Expr, ListExpr, Lit, LitKind, transform
from ..source import Span

CHOOSING = functions(lambda row: row.size is Size.OPERAND and not row.strict and row.result.is_parameter)
"""Functions whose value is one of several operands."""
_LISTED = frozenset({LitKind.NULL, LitKind.BOOL, LitKind.INT, LitKind.DOUBLE, LitKind.STRING})
"""Literals that a list may hold and still be looked up natively."""


def membership(e: Expr, types: Mapping[int, CelType]) -> Expr:
    """`e` with as few comparisons as mean the same."""
    return transform(e, _change)


def chosen_membership(e: Expr, types: Mapping[int, CelType]) -> Expr:
    """`e` with as few comparisons as mean the same of what is chosen by a test, or held by an optional, or else given.

    Each of them would become several terms, in which no one value is compared any more.
    """
    return transform(e, _change_chosen)


def _change_chosen(e: Expr) -> Expr:
    if isinstance(e, Call) and e.function in (AND, OR):
        merged = _merged(e.args, unequal=e.function == AND, of=_is_chosen)
        if len(merged) != len(e.args):
            return merged[0] if len(merged) == 1 else replace(e, args=merged)
    return e


def _is_chosen(e: Expr) -> bool:
    return isinstance(e, Call) and e.function in CHOOSING


def _change(e: Expr) -> Expr:
    match e:
        case Call(function="@in", args=(item, ListExpr(items=(only,), optional=optional))) if not optional:
            return Call(EQUALS, (item, only), id=e.id, span=e.span)
        case Call(function=function, args=args) if function in (AND, OR):
            merged = _merged(args, unequal=function == AND)
            if len(merged) == len(args):
                return e
            return merged[0] if len(merged) == 1 else replace(e, args=merged)
        case _:
            return e


def _merged(args: tuple[Expr, ...], *, unequal: bool, of: Callable[[Expr], bool] = lambda _: True) -> tuple[Expr, ...]:
    """The terms, with one term for all that compare the same value, one of those in question, with literals."""
    groups: dict[Expr, list[tuple[Expr, tuple[Lit, ...]]]] = {}
    for term in args:
        found = _options(term, unequal=unequal)
        if found is not None and of(found[0]):
            groups.setdefault(found[0], []).append((term, found[1]))
    first = {id(group[0][0]): (subject, group) for subject, group in groups.items() if len(group) > 1}
    others = {id(term) for _, group in first.values() for term, _ in group[1:]}
    result: list[Expr] = []
    for term in args:
        if id(term) in first:
            subject, group = first[id(term)]
            span = Span(min(t.span.start for t, _ in group), max(t.span.end for t, _ in group))
            options = tuple(dict.fromkeys(option for _, listed in group for option in listed))
            id_ = group[0][0].id  # a bool too
            test: Expr = Call(IN, (subject, ListExpr(options, span=span)), id=id_, span=span)
            if len(options) == 1:
                test = Call(EQUALS, (subject, options[0]), id=id_, span=span)
            result.append(Call(NOT, (test,), span=span) if unequal else test)
        elif id(term) not in others:
            result.append(term)
    return tuple(result)


def _options(e: Expr, *, unequal: bool) -> tuple[Expr, tuple[Lit, ...]] | None:
    """The value that a term compares, and the literals that it compares it with."""
    if unequal and isinstance(e, Call) and e.function == NOT:
        return _options(e.args[0], unequal=False)
    match e:
        case Call(function=function, args=(subject, Lit(kind=kind) as option)) if kind in _LISTED:
            pass
        case Call(function=function, args=(Lit(kind=kind) as option, subject)) if kind in _LISTED:
            pass
        case Call(function="@in", args=(subject, ListExpr(items=items, optional=optional))) if items and not optional:
            listed = tuple(i for i in items if isinstance(i, Lit) and i.kind in _LISTED)
            return (subject, listed) if len(listed) == len(items) and not unequal else None
        case _:
            return None
    wanted = NOT_EQUALS if unequal else EQUALS
    return None if function != wanted or isinstance(subject, Lit) else (subject, (option,))
