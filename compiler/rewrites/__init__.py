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
from ..nodes import AND, CONDITIONAL, IN, NOT, OPTIONAL_INDEX, OR, Call, Expr, Select, renumber, walk
from ..source import Source
from .choices import choices
from .conditionals import conditionals
from .fold import fold
from .membership import CHOOSING, chosen_membership, membership
from .negations import negations
from .optionals import OF_OPTIONALS, optionals
from .terms import terms
from .topics import topics

Types: TypeAlias = Mapping[int, CelType]
"""The checker's types by node id. A node that a pass makes has the id 0, and no type."""
Pass: TypeAlias = Callable[[Expr, Types], Expr]

PIPELINE: tuple[tuple[str, Pass, frozenset[str]], ...] = (
    ("fold", fold, frozenset()),  # first: what is constant decides the rest
    ("chosen", chosen_membership, CHOOSING),  # while it is one value that is compared
    ("optionals", optionals, OF_OPTIONALS),  # makes conditionals
    ("choices", choices, frozenset({CONDITIONAL})),  # leaves fewer conditionals in calls, and more around them
    ("conditionals", conditionals, frozenset({CONDITIONAL})),  # makes negations and terms
    ("negations", negations, frozenset({NOT})),  # makes conjunctions into disjunctions, whose terms may then be flat
    ("terms", terms, frozenset({AND, OR})),
    ("membership", membership, frozenset({AND, OR, IN})),  # last: what is left is neither twice there nor absorbed
)
"""The passes in order, each with the functions of which it changes calls; none for a pass that looks at everything.

`x.?f` counts as a call of `x[?k]`.
"""
_ROUNDS = 8


def rewrite(checked: Checked) -> Expr:
    """The expression after all passes, again and again until nothing changes.

    Nodes that stay keep their ids and spans; new ones have the id 0. The types of some nodes may have become narrower,
    so the result is to be numbered and checked again before it is lowered: see `simplified`.
    """
    e = checked.expr
    for _ in range(_ROUNDS):
        before = e
        called = _called(e)
        for _, change, of in PIPELINE:
            if of and called.isdisjoint(of):
                continue
            changed = change(e, checked.types)
            if changed is not e:
                e, called = changed, _called(changed)
        if e is before or e == before:
            break
    return e


def _called(e: Expr) -> set[str]:
    found = set()
    for node in walk(e):
        if isinstance(node, Call):
            found.add(node.function)
        elif isinstance(node, Select) and node.optional:
            found.add(OPTIONAL_INDEX)
    return found


def simplified(checked: Checked, source: Source, *, spelled: bool = False) -> Checked:
    """The rewritten expression, checked; `checked` itself where nothing is gained.

    With `spelled` topic filters that are written out become comparisons and patterns first, which indexes know.

    The checker may refuse what is only now seen to err on every event (`(true ? dyn(1) : data.x) + 1.5`); then the
    expression stays as it was. Diagnostics are those of the original.
    """
    if spelled:
        checked = _checked(topics(checked.expr, checked.types), checked, source)
    found = _again(checked, source)
    if found is not checked and OPTIONAL_INDEX in _called(found.expr):
        return _again(found, source)  # what is selected from may only now be known to be no optional
    return found


def _again(checked: Checked, source: Source) -> Checked:
    return _checked(rewrite(checked), checked, source)


def _checked(e: Expr, checked: Checked, source: Source) -> Checked:
    if e is checked.expr or e == checked.expr:
        return checked
    again = check(renumber(e), checked.environment, source, version=checked.version)
    return checked if errors(again.diagnostics) else replace(again, diagnostics=checked.diagnostics)
