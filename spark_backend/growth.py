"""How much larger than what it is made of a value may be that a filter makes. Nothing in Spark bounds it: over 2 GB of
text, or all memory, the query ends. The evaluators of the fallback count what they make.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType
from tricel.compiler.check import Checked
from tricel.compiler.nodes import (
    ADD,
    KEEPING,
    QUANTIFIERS,
    Bind,
    Call,
    Comprehension,
    Expr,
    Has,
    Ident,
    ListExpr,
    Lit,
    MapExpr,
    children,
    variables,
)

from .reasons import NotNative

MOST_COPIES = 50
"""Times that a value may be as large as the data that it is made of: fifty megabytes, for a payload of one."""
_INTS = 8
"""Bytes of an int, of which a text or a list may make one for each byte that it has itself."""
_BOUNDED = 20
"""The same for a text that is looked at before it is made; with a payload of ten megabytes, its bound."""


def refuse_growth(checked: Checked, e: Expr) -> None:
    """Looks at all that `e` makes.

    Raises:
        NotNative: where it may be too much, for long texts.
    """
    _Walk(checked.types).size(e, {}, looped=False)


def grows(e: Expr) -> bool:
    """Whether `e` may make too much, for long texts; what it adds may be texts where it is not known to be none."""
    try:
        _Walk({}).size(e, {}, looped=False)
    except NotNative:
        return True
    return False


@dataclass(frozen=True, slots=True)
class _Size:
    """A value, in sizes of the data: how large it is at most, and how much of that is not the data itself but made."""

    whole: float
    made: float = 0


_SMALL = _Size(0)


class _Walk:
    def __init__(self, types: Mapping[int, CelType]) -> None:
        self._types = types

    def size(self, e: Expr, scope: Mapping[str, _Size], *, looped: bool) -> _Size:
        """The size of the value of `e`; `looped`: `e` is in a macro."""
        found = self._size(e, scope, looped)
        if self._types.get(e.id) in t.SHORT:
            return _SMALL
        if max(found.whole, found.made) > MOST_COPIES:
            raise NotNative(f"what it makes may be more than {MOST_COPIES} times as large as the data")
        return found

    def _size(self, e: Expr, scope: Mapping[str, _Size], looped: bool) -> _Size:
        match e:
            case Lit():
                return _SMALL
            case Ident(name=name, absolute=absolute):
                return _Size(1) if absolute else scope.get(name, _Size(1))
            case Bind(variable=variable, value=value, body=body):
                named = self.size(value, scope, looped=looped)
                return self.size(body, {**scope, variable: replace(named, made=0)}, looped=looped)
            case Comprehension():
                return self._macro(e, scope, looped)
            case Has(operand=operand):
                self.size(operand, scope, looped=looped)
                return _SMALL
            case _:
                given = [self.size(c, scope, looped=looped) for c in children(e)]
        most, made = max((g.whole for g in given), default=0), sum(g.made for g in given)
        match e:
            case Call(function=function) if function == ADD:
                return _made(sum(g.whole for g in given))
            case Call(function="lists.range", args=(length,)):
                return _made(
                    _INTS * max((self.size(c, scope, looped=looped).whole for c in children(length)), default=0)
                )
            case Call(function="flatten", target=target) if target is not None:
                return _made(self._side_by_side(target, scope, looped))
            case Call(function="reverse" | "sort" | "distinct" | "slice"):
                return _made(most)
            case ListExpr() | MapExpr():
                return _Size(max(most, made), made)
            case Call(function="replace", args=(old, new, *_)):
                return _made(_replaced(most, old, new, looped))
            case Call(function="base64.encode" | "strings.quote"):
                return _made(most * 2)
            case Call(function="join", args=(Lit(value=str() as separator),)):
                return _made(most * max(1.0, len(separator.encode()) / 2))
            case Call(function="join", args=(_,)):
                return _made(max(_BOUNDED, most))
            case _:
                return _Size(most, max((g.made for g in given), default=0))

    def _side_by_side(self, e: Expr, scope: Mapping[str, _Size], looped: bool) -> float:
        """The size of all elements of lists within lists: of lists that are written in the filter, one after another."""
        if isinstance(e, ListExpr):
            return sum(self._side_by_side(item, scope, looped) for item in e.items)
        return self.size(e, scope, looped=looped).whole

    def _macro(self, e: Comprehension, scope: Mapping[str, _Size], looped: bool) -> _Size:
        held = self.size(e.range, scope, looped=looped)
        inner = {**scope, **dict.fromkeys(variables(e), replace(held, made=0))}
        if e.condition is not None:
            self.size(e.condition, inner, looped=True)
        made = self.size(e.body, inner, looped=True)
        return _SMALL if e.macro in QUANTIFIERS else held if e.macro in KEEPING else made


def _made(size: float) -> _Size:
    return _Size(size, size)


def _replaced(size: float, old: Expr, new: Expr, looped: bool) -> float:
    """A text of a size with parts replaced."""
    match old, new:
        case Lit(value=str() as before), Lit(value=str() as after):
            most = len(after.encode()) / len(before.encode()) if before else len(after.encode()) + 1
            return size * max(1.0, most)
        case _, Lit(value=str() as after):
            return size * (len(after.encode()) + 1)
        case _ if looped:
            raise NotNative("in a macro, a text with parts replaced by what is computed")
        case _:
            return max(_BOUNDED, size)
