"""What the macros of a filter may do on Spark for one event. Sizes are looked at before the first turn is taken.

A turn that reads its own element reads, with all others, no more than the data. A turn that reads something else of the
event reads it again: as often as there are turns. That is an error over a bound, as it is where an engine evaluates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import reduce
from itertools import islice
from math import prod
from typing import TypeAlias

from tricel.compiler import celtypes as t
from tricel.compiler.functions import calls_that_give
from tricel.compiler.names import TYPE_NAMES
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
    MapExpr,
    Select,
    children,
    variables,
    walk,
    with_children,
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
MAX_WRITTEN = 10_000
"""Turns over lists written in the filter that may read anything: as many as one may be long, as if written out."""
PART = 20
"""Characters of JSON in a part that macros go over within an element; where they are fewer, there are more turns."""
_SHORT = frozenset({t.NULL, t.BOOL, t.INT, t.UINT, t.DOUBLE, t.TIMESTAMP, t.DURATION, t.TYPE})


class Use(StrEnum):
    """What a turn does with a value, which is how much reading it costs: a whole list is walked to be compared."""

    READ = "read"
    FOUND = "asked for"
    TESTED = "compared with a constant"
    COMPARED = "compared"
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class Again:
    """A value that is read in each turn over all of `ranges`, once for every combination of their elements.

    `nested` are those of the ranges whose elements are gone over too, so that there are as many turns as parts in them;
    `written` is how often that is, by lists that the filter writes out.
    """

    value: Expr
    use: Use
    ranges: tuple[Expr, ...]
    nested: frozenset[int] = frozenset()
    written: int = 1


@dataclass(frozen=True, slots=True)
class Loops:
    """Macros, or `in`, in one another: a turn for every combination of elements of `ranges`, `written` times.

    `written` is the product for lists that the filter writes out; `nested` are as in `Again`.
    """

    ranges: tuple[Expr, ...]
    nested: frozenset[int]
    written: int

    @property
    def multiply(self) -> bool:
        """Whether there may be more turns than parts of the data."""
        return len(self.ranges) + (self.written > 1) > 1


@dataclass(frozen=True, slots=True)
class Turns:
    """What a macro does besides reading its elements once.

    `loops` are it and those within it that take more turns than the data has parts; `read` is what all their turns
    read again.
    """

    loops: tuple[Loops, ...]
    read: tuple[Again, ...]


def turns(e: Comprehension, types: frozenset[str] = TYPE_NAMES) -> Turns:
    """What each turn of `e` does; `types` are the names that are types.

    Raises:
        NotNative: where a turn chooses it anew, so that nothing bounds it, or the filter itself makes it too many.
    """
    run = _Walk(e.macro is MacroKind.MAP, types)
    read = tuple(dict.fromkeys(run.entered(e, _Scope(), ())))
    loops = tuple(dict.fromkeys(run.loops(path) for path in run.paths))
    if any(found.written > MAX_TURNS for found in loops):
        raise NotNative(f"macros over lists written in the filter take more than {MAX_TURNS:,} turns")
    return Turns(tuple(found for found in loops if found.multiply), read)


def names(e: Expr) -> frozenset[str]:
    """The names that `e` reads and does not bind itself; one of the root scope, `.a`, with its dot."""
    match e:
        case Ident(name=name, absolute=absolute):
            return frozenset({f".{name}" if absolute else name})
        case _:
            first, *others = (names(c) for c in children(e)) if children(e) else (frozenset[str](),)
            return first.union(*(other - variables(e) for other in others))


_Chains: TypeAlias = frozenset[int]
"""Ranges by number. An element, and whatever is selected from it, is a part of its range."""


_MOST_NAMED = 200
"""Nodes of a value with all that is named within it."""
_SMALL = calls_that_give(_SHORT)
"""Calls, by name and whether they are methods, whose value is short whatever they are given."""


@dataclass(frozen=True, slots=True)
class _Scope:
    """The variables around an expression: `parts` are of elements, `named` the event's own by what they stand for."""

    parts: Mapping[str, _Chains] = field(default_factory=dict)
    named: Mapping[str, Expr] = field(default_factory=dict)

    def with_parts(self, variables_: frozenset[str], chains: _Chains) -> _Scope:
        """The scope with these variables, which may hide others."""
        named = {k: v for k, v in self.named.items() if k not in variables_}
        return _Scope({**self.parts, **dict.fromkeys(variables_, chains)}, named)

    def with_named(self, variable: str, value: Expr) -> _Scope:
        """The scope with a variable for what is in no element."""
        parts = {k: v for k, v in self.parts.items() if k != variable}
        return _Scope(parts, {**self.named, variable: value})

    def closed(self, e: Expr) -> Expr:
        """`e` with the values of the names that it reads.

        Raises:
            NotNative: where a name means one thing there and another in one of the values, or there are too many.
        """
        read = sorted(names(e) & self.named.keys())
        if not read:
            return e
        if (selected := self._selected(e)) is not None:
            return selected
        if any(names(self.named[name]) & set(read) for name in read if len(read) > 1):
            raise NotNative("a macro gives one name to several values")
        found: Expr = reduce(lambda body, name: Bind(name, self.named[name], body), read, e)
        if sum(1 for _ in islice(walk(found), _MOST_NAMED + 1)) > _MOST_NAMED:
            raise NotNative("a macro names values that are made of one another")
        return found

    def _selected(self, e: Expr) -> Expr | None:
        """What is selected from a name, from its value where that is selected itself; None for anything else."""
        match e:
            case Ident(name=name, absolute=False) if name in self.named:
                return self.named[name]
            case Select(operand=holder, optional=False) | Call(function="_[_]", args=(holder, Lit())):
                found = self._selected(holder)
                return None if found is None or _root(found) is None else with_children(e, (found, *children(e)[1:]))
            case _:
                return None


@dataclass
class _Walk:
    """One walk over a macro. `ranges` are those that are no part of one another, in the order in which they are met.

    `paths` are the ranges of macros in one another, outermost first, by number; `of_elements` are lists that the
    filter writes out of elements.
    """

    keeps: bool
    types: frozenset[str]
    ranges: list[Expr] = field(default_factory=list)
    paths: dict[tuple[int, ...], None] = field(default_factory=dict)
    of_elements: set[int] = field(default_factory=set)

    def loops(self, path: Iterable[int]) -> Loops:
        """What the turns over these ranges come to."""
        times = Counter(path)
        over = [n for n in times if self._factor(n, times[n]) is None]
        nested = frozenset(i for i, n in enumerate(over) if times[n] > 1)
        written = prod(self._factor(n, times[n]) or 1 for n in times)
        return Loops(tuple(self.ranges[n] for n in over), nested, written)

    def _factor(self, n: int, times: int) -> int | None:
        """How many turns macros take over a range that the filter writes out, and over its elements; None where the
        event says that."""
        range_ = self.ranges[n]
        if not isinstance(range_, ListExpr | MapExpr):
            return None
        items = len(children(range_))
        if times == 1 or n in self.of_elements:  # what is in those elements is counted as theirs
            return items
        return None if names(range_) else items * sum(1 for _ in walk(range_)) ** (times - 1)

    def entered(self, e: Comprehension, scope: _Scope, loops: tuple[int, ...]) -> Iterator[Again]:
        """What is read within `e`; `loops` are the ranges of the macros around it."""
        over, chains = self._range(e.range, scope)
        inner = scope.with_parts(variables(e), chains)
        self.paths[*loops, *over] = None
        for part in (e.body,) if e.condition is None else (e.condition, e.body):
            yield from self.found(part, inner, (*loops, *over))

    def found(self, e: Expr, scope: _Scope, loops: tuple[int, ...], use: Use = Use.READ) -> Iterator[Again]:
        """What `e` reads again in the turns over `loops`."""
        match e:
            case Lit():
                return
            case Has(operand=operand, field=key) if (root := _root(operand)) is not None:
                yield from self._read(Select(operand, key), root, scope, loops, Use.FOUND)
            case Ident() | Select() | Call(function="_[_]", args=(_, Lit())) if (root := _root(e)) is not None:
                yield from self._read(e, root, scope, loops, Use.KEPT if self.keeps else use)
            case Comprehension(range=range_):
                yield from self.found(range_, scope, loops)
                yield from self.entered(e, scope, loops)
            case Bind(variable=variable, value=value, body=body):
                if _root(value) is None:  # what is only selected is read where it is used
                    yield from self.found(value, scope, loops)
                yield from self.found(body, self._named(variable, value, scope), loops, use)
            case Call(function=function, args=(element, holder)) if function == IN:
                yield from self.found(holder, scope, loops)
                inner = loops if isinstance(holder, ListExpr | MapExpr) else (*loops, *self._range(holder, scope)[0])
                self.paths[inner] = None
                yield from self.found(element, scope, inner, Use.COMPARED)
            case Call(function=function, args=args) if function in (EQUALS, NOT_EQUALS):
                compared = Use.TESTED if any(isinstance(a, Lit) for a in args) else Use.COMPARED
                for arg in args:
                    yield from self.found(arg, scope, loops, compared)
            case _:
                for part in children(e):
                    yield from self.found(part, scope, loops)

    def _names(self, e: Expr, scope: _Scope) -> frozenset[str]:
        """The names that `e` reads, but those of types."""
        return names(e) - (self.types - scope.parts.keys() - scope.named.keys())

    def _named(self, variable: str, value: Expr, scope: _Scope) -> _Scope:
        """The scope in which a variable stands for a value: a part of elements, or one of the event's own, or short."""
        read = self._names(value, scope)
        of_elements = read & scope.parts.keys()
        if read and not of_elements:
            return scope.with_named(variable, scope.closed(value))
        if isinstance(value, ListExpr | MapExpr):
            return scope.with_parts(frozenset({variable}), self._range(value, scope)[1])
        if of_elements == read:
            return scope.with_parts(frozenset({variable}), frozenset(c for n in read for c in scope.parts[n]))
        if isinstance(value, Call) and (value.function, value.target is not None) in _SMALL:
            return scope.with_parts(frozenset({variable}), frozenset())
        raise NotNative("a macro gives a name to what is made of its element and of what is no part of it")

    def _range(self, e: Expr, scope: _Scope) -> tuple[_Chains, _Chains]:
        """The ranges that a macro over `e` goes over, and those that its elements are parts of."""
        read = self._names(e, scope)
        of_elements = read & scope.parts.keys()
        chains = frozenset(c for n in of_elements for c in scope.parts[n])
        written = isinstance(e, ListExpr | MapExpr)
        if read and of_elements == read and not written:
            return chains, chains
        if of_elements != read and of_elements:
            raise NotNative("each turn of a macro chooses what another goes over, which nothing bounds")
        self.ranges.append(e if of_elements else scope.closed(e))
        over = frozenset({len(self.ranges) - 1})
        if of_elements:
            self.of_elements |= over
        return over, chains | over

    def _read(self, e: Expr, root: str, scope: _Scope, loops: tuple[int, ...], use: Use) -> Iterator[Again]:
        """`e` is selected from `root`, or is it."""
        own = scope.parts.get(root, frozenset())
        others = self.loops(n for n in loops if n not in own)
        if root in scope.named and _root(scope.named[root]) is None:
            values = [scope.named[root]]
        elif root not in scope.parts:
            values = [scope.closed(e)]
        elif others.ranges or others.written > MAX_WRITTEN:
            read = (self.ranges[n] for n in sorted(own - self.of_elements))
            values, use = [r for r in read if names(r)], use if use in (Use.KEPT, Use.FOUND) else Use.READ
        else:
            return
        for value in values:
            yield Again(value, use, others.ranges, others.nested, others.written)


def _root(e: Expr) -> str | None:
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


def weight(v: Sql, use: Use) -> str:
    """How many characters a turn reads of a value, as SQL; empty for a value that is short whatever it is."""
    if v.type in _SHORT:
        return ""
    text = v.type in (t.STRING, t.BYTES)
    if text and use is Use.TESTED:
        return ""
    if use is Use.FOUND and v.type != t.JSON:
        return ""
    size = f"octet_length({v.text})" if text else f"octet_length(to_json({v.text}))"
    match use:
        case Use.COMPARED if text:
            return f"coalesce({size}, 0)"
        case Use.COMPARED if v.type == t.JSON:
            return f"coalesce({size} * CASE WHEN {dynamic.is_container(v)} THEN 10D ELSE 1D END, 0D)"
        case Use.FOUND:  # Spark copies it, much sooner than it is read
            return f"coalesce({size} / 20D, 0D)"
        case Use.COMPARED | Use.KEPT:
            return f"coalesce({size} * 10D, 0D)"
        case _:
            return f"coalesce({size}, 0)"
