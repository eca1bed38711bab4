"""Lists and maps that hold one value more than once.

What goes over them, and over their elements, takes more turns than the data has parts: lists of ten copies, four in one
another, ten thousand times as many. Nothing in Spark bounds that; the evaluators of the fallback count their steps.
The same goes for lists of elements that are added to themselves; of those of the event itself the size is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count, pairwise
from typing import TypeAlias

from tricel.compiler import celtypes as t
from tricel.compiler.check import Checked
from tricel.compiler.functions import calls_that_give
from tricel.compiler.nodes import (
    ADD,
    MAPPING,
    QUANTIFIERS,
    Bind,
    Call,
    Comprehension,
    Expr,
    Has,
    Ident,
    ListExpr,
    Lit,
    MacroKind,
    MapExpr,
    Select,
    children,
    walk,
)

from ..reasons import NotNative, Reason

_Path: TypeAlias = tuple[str, ...]
_Held: TypeAlias = frozenset[_Path]
"""Values of the event, and elements, by the names and keys that lead there."""
_SCALAR_CALLS = calls_that_give(t.SCALARS)
_NOTHING: _Held = frozenset()


def refuse_copies(checked: Checked, e: Expr) -> None:
    """Looks at whatever a macro in `e` goes over, or a name stands for.

    Raises:
        NotNative: where a list or map there holds one value more than once.
    """
    if any(isinstance(node, (Comprehension, Bind)) for node in walk(e)):
        _Walk(checked).held(e, {}, ranged=False)


class _Walk:
    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._fresh = count()

    def held(self, e: Expr, scope: Mapping[str, _Held], *, ranged: bool) -> _Held:
        """What of the event the value of `e` may hold; `ranged`: it is gone over, or has a name."""
        match e:
            case Lit():
                return _NOTHING
            case Ident(name=name, absolute=absolute):
                return scope.get(name, frozenset({(name,)})) if not absolute else frozenset({(name,)})
            case Has(operand=operand):
                self.held(operand, scope, ranged=False)
                return _NOTHING
            case Select(operand=operand, field=key) | Call(function="_[_]", args=(operand, Lit(value=key))):
                return self._part(self.held(operand, scope, ranged=ranged), operand, scope, str(key))
            case ListExpr() | MapExpr():
                parts = [self.held(c, scope, ranged=ranged) for c in children(e)]
                if ranged and _overlap(sorted(path for held in parts for path in held)):
                    raise NotNative(Reason.COPIES)
                return self._unless_scalar(e, _NOTHING.union(*parts))
            case Call(function=function, args=(a, b)) if function == ADD:
                first, second = (self.held(x, scope, ranged=ranged) for x in (a, b))
                if ranged and any(map(_of_element, first | second)) and _overlap(sorted([*first, *second])):
                    raise NotNative(Reason.ADDED_TO_ITSELF)
                return self._unless_scalar(e, first | second)
            case Bind(variable=variable, value=value, body=body):
                return self.held(body, {**scope, variable: self.held(value, scope, ranged=True)}, ranged=ranged)
            case Comprehension():
                return self._macro(e, scope, ranged=ranged)
            case _:
                found = _NOTHING.union(*(self.held(c, scope, ranged=ranged) for c in children(e)))
                return self._unless_scalar(e, found)

    def _macro(self, e: Comprehension, scope: Mapping[str, _Held], *, ranged: bool) -> _Held:
        held = self.held(e.range, scope, ranged=True)
        taken = [frozenset({(f"{v}#{next(self._fresh)}",)}) if held else _NOTHING for v in (e.variable, e.second) if v]
        inner = {**scope, **dict(zip((e.variable, e.second), taken, strict=False))}
        if e.condition is not None:
            self.held(e.condition, inner, ranged=False)
        body = self.held(e.body, inner, ranged=ranged and e.macro in MAPPING)
        if e.macro is MacroKind.FILTER:
            return held
        if e.macro not in MAPPING:
            return self._unless_scalar(e, held | body)
        return body.difference(*taken) | held if body else _NOTHING

    def _part(self, held: _Held, holder: Expr, scope: Mapping[str, _Held], key: str) -> _Held:
        """What is selected: further on where it leads from one value; any of what was put together else."""
        while isinstance(holder, Select | Call) and (operands := children(holder)):
            holder = operands[0]
        if len(held) == 1 and isinstance(holder, Ident):
            return frozenset((*path, key) for path in held)
        return held

    def _unless_scalar(self, e: Expr, held: _Held) -> _Held:
        if isinstance(e, Comprehension):
            return _NOTHING if e.macro in QUANTIFIERS else held
        if self._checked.types.get(e.id) in t.SCALARS:
            return _NOTHING
        scalar = isinstance(e, Call) and (e.function, e.target is not None) in _SCALAR_CALLS
        return _NOTHING if scalar else held


def _of_element(path: _Path) -> bool:
    return "#" in path[0]


def _overlap(paths: list[_Path]) -> bool:
    """Whether one of the sorted paths leads to another, or to the same value."""
    return any(longer[: len(path)] == path for path, longer in pairwise(paths))
