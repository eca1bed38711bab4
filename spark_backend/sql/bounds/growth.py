"""How much larger than what it is made of a value may be that a filter makes. Nothing in Spark bounds it: over 2 GB of
text, or all memory, the query ends. The evaluators of the fallback count what they make.

An overload's row says how large its value may be. Where it does not, the value may be of any size: it does not run natively.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType
from tricel.compiler.check import Checked
from tricel.compiler.functions import BY_CALL, Overload, Size
from tricel.compiler.nodes import (
    KEEPING,
    OPTIONAL_INDEX,
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
    walk,
)

from ..reasons import NotNative, Reason

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
    if any(_makes(node, checked.types) for node in walk(e)):
        _Walk(checked.types, checked.overloads).size(e, {}, looped=False)


def _makes(e: Expr, types: Mapping[int, CelType]) -> bool:
    """Whether the value of a node may be larger than what the nodes in it are."""
    return isinstance(e, (ListExpr, MapExpr)) or (isinstance(e, Call) and types.get(e.id) not in t.SHORT)


def grows(e: Expr) -> bool:
    """Whether `e` may make too much, for long texts; what it adds may be texts where it is not known to be none."""
    try:
        _Walk({}, {}).size(e, {}, looped=False)
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
    def __init__(self, types: Mapping[int, CelType], overloads: Mapping[int, Sequence[Overload]]) -> None:
        self._types = types
        self._overloads = overloads

    def size(self, e: Expr, scope: Mapping[str, _Size], *, looped: bool) -> _Size:
        """The size of the value of `e`; `looped`: `e` is in a macro."""
        found = self._size(e, scope, looped)
        if self._types.get(e.id) in t.SHORT:
            return _SMALL
        if max(found.whole, found.made) > MOST_COPIES:
            raise NotNative(Reason.GROWTH, MOST_COPIES)
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
            case Call():
                return self._called(e, given, scope, looped)
            case ListExpr() | MapExpr():
                return _Size(max(most, made), made)
            case _:
                return _Size(most, max((g.made for g in given), default=0))

    def _called(self, e: Call, given: Sequence[_Size], scope: Mapping[str, _Size], looped: bool) -> _Size:
        """The largest that any of the overloads that it may be makes."""
        found = [self._sized(size, e, given, scope, looped) for size in self._sizes(e)]
        return max(found, key=lambda size: (size.whole, size.made))

    def _sized(self, size: Size, e: Call, given: Sequence[_Size], scope: Mapping[str, _Size], looped: bool) -> _Size:
        operands = e.args if e.target is None else (e.target, *e.args)
        most = max((g.whole for g in given), default=0)
        match size:
            case Size.CONSTANT | Size.OPERAND | Size.ELEMENT | Size.SUBTEXT | Size.CHARACTER | Size.RECASED:
                return _part(given)
            case Size.WRITTEN | Size.ENCODED | Size.PARTS:
                return _part(given)
            case Size.SUM:
                return _made(sum(g.whole for g in given))
            case Size.SELECTED | Size.REORDERED:
                return _made(most)
            case Size.DOUBLED:
                return _made(most * 2)
            case Size.RANGE if operands:
                parts = [self.size(c, scope, looped=looped).whole for c in children(operands[0])]
                return _made(_INTS * max(parts, default=0))
            case Size.FLATTENED if operands:
                return _made(self._side_by_side(operands[0], scope, looped))
            case Size.REPLACED | Size.PATTERN_REPLACED if len(operands) > 2:
                _, old, new, *_ = operands
                return _made(_replaced(most, old, new, looped, pattern=size is Size.PATTERN_REPLACED))
            case Size.FORMATTED if operands:
                format_ = operands[0].value if isinstance(operands[0], Lit) else None
                clauses = format_.count("%") if isinstance(format_, str) else _BOUNDED
                return _made(most * max(1, clauses))
            case Size.JOINED if len(operands) == 1:
                return _part(given)
            case Size.JOINED if len(operands) > 1:
                separator = operands[1].value if isinstance(operands[1], Lit) else None
                if isinstance(separator, str):
                    return _made(most * max(1.0, len(separator.encode()) / 2))
                return _made(max(_BOUNDED, most))
            case _:
                raise NotNative(Reason.UNBOUNDED, e.function)

    def _sizes(self, e: Call) -> frozenset[Size]:
        """The sizes of the overloads that the call may be, with that of a part, which any may be."""
        parts = frozenset({Size.OPERAND})
        if e.function == OPTIONAL_INDEX or self._types.get(e.id) in t.SHORT:
            return parts
        rows = self._overloads.get(e.id) or BY_CALL.get((e.function, e.target is not None))
        return parts | ({Size.UNKNOWN} if rows is None else {row.size for row in rows})

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


def _part(given: Sequence[_Size]) -> _Size:
    """A value no larger than the largest operand."""
    return _Size(max((g.whole for g in given), default=0), max((g.made for g in given), default=0))


def _made(size: float) -> _Size:
    return _Size(size, size)


def _replaced(size: float, old: Expr, new: Expr, looped: bool, *, pattern: bool = False) -> float:
    """A text of a size with parts replaced; what a pattern finds may be empty."""
    match old, new:
        case Lit(value=str() as before), Lit(value=str() as after) if not pattern:
            most = len(after.encode()) / len(before.encode()) if before else len(after.encode()) + 1
            return size * max(1.0, most)
        case _, Lit(value=str() as after):
            return size * (len(after.encode()) + 1)
        case _ if looped:
            raise NotNative(Reason.COMPUTED_REPLACEMENT)
        case _:
            return max(_BOUNDED, size)
