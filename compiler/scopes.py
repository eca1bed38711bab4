"""The names in an expression: which ones it reads, and values put in their places."""

from __future__ import annotations

from collections.abc import Mapping

from .nodes import Call, Expr, Ident, Lit, Select, children, variables, with_children


def names(e: Expr) -> frozenset[str]:
    """The names that `e` reads and does not bind itself; one of the root scope, `.a`, with its dot."""
    match e:
        case Ident(name=name, absolute=absolute):
            return frozenset({f".{name}" if absolute else name})
        case _:
            first, *others = (names(c) for c in children(e)) if children(e) else (frozenset[str](),)
            return first.union(*(other - variables(e) for other in others))


def root_of(e: Expr) -> str | None:
    """The name that a value is selected from by constant keys; None where it is made otherwise."""
    while True:
        match e:
            case Ident():
                (name,) = names(e)
                return name
            case Select(operand=holder, optional=False) | Call(function="_[_]", args=(holder, Lit())):
                e = holder
            case _:
                return None


def put(values: Mapping[str, Expr], e: Expr) -> Expr | None:
    """`e` with values in the places of names; None where a macro binds a name that one of the values reads."""
    if not values:
        return e
    if isinstance(e, Ident):
        return e if e.absolute else values.get(e.name, e)
    old = children(e)
    bound = variables(e)
    inner = {name: value for name, value in values.items() if name not in bound}
    if bound and any(names(inner[n]) & bound for c in old[1:] for n in names(c) & inner.keys()):
        return None
    new: list[Expr] = []
    for i, part in enumerate(old):
        changed = put(inner if i else values, part)
        if changed is None:
            return None
        new.append(changed)
    return with_children(e, tuple(new)) if any(a is not b for a, b in zip(old, new, strict=True)) else e
