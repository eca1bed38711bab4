"""What the macros of a filter may do on Spark for one event. Sizes are looked at before the first turn is taken.

A turn that reads its own element reads, with all others, no more than the data. A turn that reads something else of the
event reads it again: as often as there are turns. That is an error over a bound, as it is where an engine evaluates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from tricel.compiler import celtypes as t
from tricel.compiler.nodes import (
    EQUALS,
    IN,
    NOT_EQUALS,
    Bind,
    Call,
    Comprehension,
    Expr,
    Has,
    Ident,
    ListExpr,
    Lit,
    MacroKind,
    Select,
    children,
    variables,
    walk,
)

from . import dynamic
from .reasons import NotNative
from .sql import Sql

MAX_TURNS = 1_000_000
"""Turns that macros in one another may take over the lists of one event, as many as our own evaluator takes steps.

A turn over values of JSON takes Spark up to some twenty microseconds, so this is some twenty seconds at most.
"""
MAX_READ = 200_000_000
"""Characters that all turns may read again, besides their own elements: some seconds at most."""
_SHORT = frozenset({t.NULL, t.BOOL, t.INT, t.UINT, t.DOUBLE, t.TIMESTAMP, t.DURATION, t.TYPE})


class Use(StrEnum):
    """What a turn does with a value, which is how much reading it costs: a whole list is walked to be compared."""

    READ = "read"
    TESTED = "compared with a constant"
    COMPARED = "compared"
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class Again:
    """A value that is read in each turn over all of `ranges`, once for every combination of their elements.

    `nested` are those of the ranges whose elements are gone over too, so that there are as many turns as parts in them.
    """

    value: Expr
    use: Use
    ranges: tuple[Expr, ...]
    nested: frozenset[int] = frozenset()


def read_again(e: Comprehension) -> Iterator[Again]:
    """What each turn of `e`, and of the macros within it, reads besides the turn's own element.

    Raises:
        NotNative: where a turn chooses it anew, so that nothing bounds it.
    """
    yield from _Walk(e.macro is MacroKind.MAP).entered(e, {}, ())


def ranged_again(e: Comprehension) -> Iterator[Expr]:
    """What each turn of `e` ranges over, or looks through with `in`, that is no part of the turn's element.

    Raises:
        NotNative: where each turn chooses it anew, so that nothing bounds it.
    """
    bound = frozenset(n for c in walk(e) for n in variables(c))
    for part in (*walk(e.body), *(walk(e.condition) if e.condition is not None else ())):
        match part:
            case Comprehension(range=again) | Call(function="@in", args=(_, again)):
                names = _names(again)
                if names and not names & bound and not isinstance(again, ListExpr):
                    yield again
                elif names & bound and names - bound:
                    raise NotNative("each turn of a macro chooses what another goes over, which nothing bounds")


_Chains: TypeAlias = frozenset[int]
"""Ranges by number. An element, and whatever is selected from it, is a part of its range."""


@dataclass
class _Walk:
    """One walk over a macro. `ranges` are those that are no part of one another, in the order in which they are met."""

    keeps: bool
    ranges: list[Expr] = field(default_factory=list)

    def entered(self, e: Comprehension, inner: Mapping[str, _Chains], loops: tuple[int, ...]) -> Iterator[Again]:
        """What is read within `e`; `inner` are the variables of the macros around it, `loops` their ranges."""
        chains = self._range(e.range, inner)
        own = {**inner, **dict.fromkeys(variables(e), chains)}
        for part in (e.body,) if e.condition is None else (e.condition, e.body):
            yield from self.found(part, own, (*loops, *chains))

    def found(
        self, e: Expr, inner: Mapping[str, _Chains], loops: tuple[int, ...], use: Use = Use.READ
    ) -> Iterator[Again]:
        """What `e` reads again in the turns over `loops`."""
        match e:
            case Lit() | Has():
                return
            case Ident() | Select() | Call(function="_[_]", args=(_, Lit())) if (root := _root(e)) is not None:
                yield from self._read(e, root, inner, loops, Use.KEPT if self.keeps else use)
            case Comprehension(range=range_):
                yield from self.found(range_, inner, loops)
                yield from self.entered(e, inner, loops)
            case Bind(variable=variable, value=value, body=body):
                names = _names(value)
                if not names <= inner.keys():
                    raise NotNative("a macro gives a name to what is no part of its element")
                yield from self.found(value, inner, loops)
                chains = frozenset(c for n in names for c in inner[n])
                yield from self.found(body, {**inner, variable: chains}, loops, use)
            case Call(function=function, args=(element, holder)) if function == IN:
                yield from self.found(holder, inner, loops)
                yield from self.found(element, inner, (*loops, *self._range(holder, inner)), Use.COMPARED)
            case Call(function=function, args=args) if function in (EQUALS, NOT_EQUALS):
                compared = Use.TESTED if any(isinstance(a, Lit) for a in args) else Use.COMPARED
                for arg in args:
                    yield from self.found(arg, inner, loops, compared)
            case _:
                for part in children(e):
                    yield from self.found(part, inner, loops)

    def _range(self, e: Expr, inner: Mapping[str, _Chains]) -> _Chains:
        names = _names(e)
        if isinstance(e, ListExpr) and not names:
            return frozenset()
        if names and names <= inner.keys():
            return frozenset(c for n in names for c in inner[n])
        if names & inner.keys():
            raise NotNative("each turn of a macro chooses what another goes over, which nothing bounds")
        self.ranges.append(e)
        return frozenset({len(self.ranges) - 1})

    def _read(
        self, e: Expr, root: str, inner: Mapping[str, _Chains], loops: tuple[int, ...], use: Use
    ) -> Iterator[Again]:
        """`e` is selected from `root`, or is it."""
        own = inner.get(root, frozenset())
        others = tuple(dict.fromkeys(n for n in loops if n not in own))
        if root not in inner:
            values = [e]
        elif others:
            values, use = [self.ranges[n] for n in own], Use.KEPT if use is Use.KEPT else Use.READ
        else:
            return
        nested = frozenset(i for i, n in enumerate(others) if loops.count(n) > 1)
        for value in values:
            yield Again(value, use, tuple(self.ranges[n] for n in others), nested)


def _root(e: Expr) -> str | None:
    """The name that a value is selected from by constant keys; None where it is made otherwise."""
    while True:
        match e:
            case Ident(name=name):
                return name
            case Select(operand=holder, optional=False) | Call(function="_[_]", args=(holder, Lit())):
                e = holder
            case _:
                return None


def _names(e: Expr) -> frozenset[str]:
    """The names that `e` reads; those that it binds itself are among them."""
    return frozenset(n.name for n in walk(e) if isinstance(n, Ident))


def weight(v: Sql, use: Use) -> str:
    """How many characters a turn reads of a value, as SQL; empty for a value that is short whatever it is."""
    if v.type in _SHORT:
        return ""
    text = v.type in (t.STRING, t.BYTES)
    if text and use is Use.TESTED:
        return ""
    size = f"octet_length({v.text})" if text else f"octet_length(to_json({v.text}))"
    match use:
        case Use.COMPARED if text:
            return f"coalesce({size}, 0)"
        case Use.COMPARED if v.type == t.JSON:
            return f"coalesce({size} * CASE WHEN {dynamic.is_container(v)} THEN 10D ELSE 1D END, 0D)"
        case Use.COMPARED | Use.KEPT:
            return f"coalesce({size} * 10D, 0D)"
        case _:
            return f"coalesce({size}, 0)"
