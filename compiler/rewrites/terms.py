"""The terms of `&&` and `||`: flat, without the neutral, the repeated and the absorbed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..analysis.certainty import is_bool, never_errs
from ..celtypes import CelType
from ..nodes import AND, NOT, OR, Call, Expr, Lit, LitKind, transform

_PAIRWISE = 64
"""Up to so many terms, each is held against each; of more, those that one other term absorbs are found."""


def terms(e: Expr, types: Mapping[int, CelType]) -> Expr:
    """`e` with every `&&` and `||` in as few terms as mean the same."""
    return transform(e, lambda node: _logic(node, types))


def _logic(e: Expr, types: Mapping[int, CelType]) -> Expr:
    if not isinstance(e, Call) or e.function not in (AND, OR):
        return e
    neutral = Lit(LitKind.BOOL, e.function == AND, span=e.span)
    absorbing = Lit(LitKind.BOOL, e.function == OR, span=e.span)
    flat = [t for a in e.args for t in (a.args if isinstance(a, Call) and a.function == e.function else (a,))]
    if absorbing in flat:
        return absorbing
    kept = tuple(_unabsorbed([t for t in dict.fromkeys(flat) if t != neutral], OR if e.function == AND else AND))
    negated = {t.args[0] for t in kept if isinstance(t, Call) and t.function == NOT}
    if negated and any(t in negated and never_errs(t, types) for t in kept):
        return absorbing
    if not kept:
        return neutral
    if len(kept) == 1:
        if is_bool(kept[0]):
            return kept[0]
        kept = (kept[0], neutral)  # what is no bool is an error here
    return e if kept == e.args else replace(e, args=kept)


def _unabsorbed(found: list[Expr], dual: str) -> list[Expr]:
    """The terms without those that hold all the parts of another: `a || (a && b)` is `a`, and `a && (a || b)` too."""
    if not any(isinstance(t, Call) and t.function == dual for t in found):
        return found  # none has parts
    parts = {t: frozenset(t.args) if isinstance(t, Call) and t.function == dual else frozenset({t}) for t in found}
    singles = set(found)
    small = len(found) <= _PAIRWISE

    def absorbed(term: Expr) -> bool:
        mine = parts[term]
        if len(mine) > 1 and mine & singles:
            return True
        return small and any(other < mine for t, other in parts.items() if t is not term)

    return [t for t in found if not absorbed(t)]
