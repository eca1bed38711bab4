"""What is certain about an expression before it is evaluated."""

from __future__ import annotations

from collections.abc import Mapping

from ..celtypes import BOOL, CelType
from ..environments.model import is_open
from ..functions import calls_that_give
from ..nodes import (
    AND,
    CONDITIONAL,
    NOT,
    OR,
    QUANTIFIERS,
    Bind,
    Call,
    Comprehension,
    Expr,
    Has,
    Ident,
    ListExpr,
    Lit,
    LitKind,
    MapExpr,
    Select,
    children,
)

_PREDICATES = calls_that_give({BOOL})


def is_bool(e: Expr) -> bool:
    """Whether `e` is a bool or an error on every event, whatever type an attribute or a field turns out to have."""
    match e:
        case Lit(kind=kind):
            return kind is LitKind.BOOL
        case Has():
            return True
        case Call(function=function, args=(_, then, other)) if function == CONDITIONAL:
            return is_bool(then) and is_bool(other)
        case Call(function=function, target=target):
            return (function, target is not None) in _PREDICATES
        case Comprehension(macro=macro):
            return macro in QUANTIFIERS
        case Bind(body=body):
            return is_bool(body)
        case _:
            return False


def never_errs(e: Expr, types: Mapping[int, CelType]) -> bool:
    """Whether `e` is a bool on every event: it asks for the presence of attributes, and for nothing else.

    Required attributes do not count: an event may come from a table that lacks them.
    """
    match e:
        case Lit(kind=LitKind.BOOL):
            return True
        case Has(operand=Ident() as holder):
            type_ = types.get(holder.id)
            return type_ is not None and is_open(type_)
        case Call(function=function, args=args) if function in (AND, OR, NOT):
            return all(never_errs(a, types) for a in args)
        case _:
            return False


def errs_with(e: Expr, part: Expr) -> bool:
    """Whether `e` is an error on every event on which `part` is one: it needs the value, and needs it where it stands.

    What is in the scope of a variable does not count, nor what may stay unevaluated.
    """
    stack = [e]
    while stack:
        node = stack.pop()
        if node == part:
            return True
        match node:
            case Call(function=function) if function in (AND, OR):
                continue
            case Call(function=function, args=args) if function == CONDITIONAL:
                stack.append(args[0])
            case Call(function="or" | "orValue", target=target) if target is not None:
                stack.append(target)
            case Call() | ListExpr() | MapExpr() | Has() | Select():
                stack.extend(children(node))
            case Comprehension(range=range_):
                stack.append(range_)
            case _:
                continue
    return False
