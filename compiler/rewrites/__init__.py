"""Meaning-preserving passes: the same value for every event, the same events that err, in fewer or better terms.

Logic in CEL has three outcomes, false < error < true, with `&&` the least and `||` the greatest of their operands and
`!` the mirror image; so absorption, De Morgan and double negation hold with errors, and the excluded middle does not.
An operand that is no bool is an error within logic and itself outside of it, so a term stands alone only if it is bool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from ..celtypes import CelType
from ..check import Checked, check
from ..diagnostics import errors
from ..nodes import Expr, renumber
from ..source import Source
from .conditionals import conditionals
from .fold import fold
from .membership import membership
from .negations import negations
from .terms import terms

Types: TypeAlias = Mapping[int, CelType]
"""The checker's types by node id. A node that a pass makes has the id 0, and no type."""
Pass: TypeAlias = Callable[[Expr, Types], Expr]

PIPELINE: tuple[tuple[str, Pass], ...] = (
    ("fold", fold),  # first: what is constant decides the rest
    ("conditionals", conditionals),  # makes negations and terms
    ("negations", negations),  # makes conjunctions into disjunctions, whose terms may then be flat
    ("terms", terms),
    ("membership", membership),  # last: what is left to be merged is neither twice there nor absorbed
)
_ROUNDS = 8


def rewrite(checked: Checked) -> Expr:
    """The expression after all passes, again and again until nothing changes.

    Nodes that stay keep their ids and spans; new ones have the id 0. The types of some nodes may have become narrower,
    so the result is to be numbered and checked again before it is lowered: see `simplified`.
    """
    e = checked.expr
    for _ in range(_ROUNDS):
        before = e
        for _, change in PIPELINE:
            e = change(e, checked.types)
        if e is before or e == before:
            break
    return e


def simplified(checked: Checked, source: Source) -> Checked:
    """The rewritten expression, checked; `checked` itself where nothing is gained.

    The checker may refuse what is only now seen to err on every event (`(true ? dyn(1) : data.x) + 1.5`); then the
    expression stays as it was. Diagnostics are those of the original.
    """
    e = rewrite(checked)
    if e is checked.expr or e == checked.expr:
        return checked
    again = check(renumber(e), checked.environment, source)
    return checked if errors(again.diagnostics) else replace(again, diagnostics=checked.diagnostics)
