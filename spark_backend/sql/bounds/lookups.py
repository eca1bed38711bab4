"""What a macro looks up by its own key: `data.m.all(k, data.m[k] > 1.0)` goes over keys and values together.

Looked up anew in each turn, the values would take the square of the object's size. With two variables the second is
that value. With one, a hidden variable is put in its place; `ranges` says what it is where the range is a list.
"""

from __future__ import annotations

from dataclasses import replace

from tricel.compiler.nodes import (
    INDEX,
    MAPPING,
    QUANTIFIERS,
    Call,
    Comprehension,
    Expr,
    Ident,
    children,
    variables,
    with_children,
)
from tricel.compiler.scopes import names, root_of

from .iterations import HIDDEN


def with_lookups(e: Comprehension) -> Comprehension:
    """`e`, with variables for what it and the macros within it look up in their ranges by their own keys."""
    found = _within(e, 0)
    return found if isinstance(found, Comprehension) else e


def _within(e: Expr, depth: int) -> Expr:
    """`e`; `depth` hidden variables are around it."""
    if isinstance(e, Comprehension):
        named = _named(e, depth)
        depth, e = depth + (named is not e), named
    old = children(e)
    new = tuple([_within(c, depth) for c in old])
    return with_children(e, new) if any(a is not b for a, b in zip(old, new, strict=True)) else e


def _named(e: Comprehension, depth: int) -> Comprehension:
    bound = names(e.range)
    if e.macro not in QUANTIFIERS | MAPPING or root_of(e.range) is None or variables(e) & bound:
        return e
    looked_up = Call(INDEX, (e.range, Ident(e.variable)))
    name = e.second or f"{HIDDEN}{depth}"
    parts = children(e)
    put = (parts[0], *(_put(c, looked_up, name, bound | variables(e)) for c in parts[1:]))
    if all(a is b for a, b in zip(parts, put, strict=True)):
        return e
    found = with_children(e, put)
    return replace(found, second=name) if isinstance(found, Comprehension) else e


def _put(e: Expr, looked_up: Call, name: str, read: frozenset[str]) -> Expr:
    """`e` with a variable in the places of what is looked up; not where one of the names that are read has changed."""
    if e == looked_up:
        return Ident(name, id=e.id, span=e.span)
    old = children(e)
    changed = bool(variables(e) & read)
    new = tuple([c if changed and i else _put(c, looked_up, name, read) for i, c in enumerate(old)])
    return with_children(e, new) if any(a is not b for a, b in zip(old, new, strict=True)) else e
