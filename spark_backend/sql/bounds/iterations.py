"""What the macros of a filter may do on Spark for one event. Sizes are looked at before the first turn is taken.

A turn that reads its own element reads, with all others, no more than the data. A turn that reads something else of the
event reads it again: as often as there are turns. That is an error over a bound, as it is where an engine evaluates.

How many turns there are is a sum over the elements of what goes on within each: `x.exists(y, x.exists(z, ...))` takes
for each `x` the square of its size. Where a turn chooses what another macro goes over, as in `data.groups[x.group]`, the
sum is over what each turn chooses; how much is read to choose it is looked at first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice, pairwise
from math import prod
from typing import TypeAlias

from tricel.compiler import celtypes as t
from tricel.compiler.functions import ALL, BY_NAME, GoesOver, Size, calls_that_give
from tricel.compiler.names import TYPE_NAMES
from tricel.compiler.nodes import (
    EQUALS,
    IN,
    KEEPING,
    MAPPING,
    NOT_EQUALS,
    Bind,
    Call,
    Comprehension,
    Expr,
    Has,
    Ident,
    ListExpr,
    Lit,
    LitKind,
    MacroKind,
    MapExpr,
    Select,
    children,
    variables,
    walk,
)
from tricel.compiler.scopes import names, put, root_of

from .. import Sql, Typed, case, function, integer, literal, variant
from ..reasons import NotNative, Reason
from ..typed import SHORT

MAX_TURNS = 1_000_000
"""Turns that macros in one another may take over the lists of one event, as many as our own evaluator takes steps.

A turn over values of JSON takes Spark up to some twenty microseconds, so this is some twenty seconds at most.
"""
MAX_READ = 200_000_000
"""Characters that all turns may read again, besides their own elements: some seconds at most."""
MAX_WRITTEN = 10_000
"""Turns over lists written in the filter that may read anything: as many as one may be long, as if written out."""
PART = 150
"""Characters that are read in the time in which Spark walks over one part of a list or map to compare it."""
_KEY = 10
"""How many times longer it takes to make a key of a part."""


class Use(StrEnum):
    """What a turn does with a value, which is how much reading it costs: a whole list is walked to be compared."""

    READ = "read"
    FOUND = "asked for"
    TESTED = "compared with a constant"
    COMPARED = "compared"
    KEYED = "made into keys, which are sorted or hashed"
    KEPT = "kept"


class Takes(StrEnum):
    """What the variables of a macro stand for in a turn."""

    ELEMENT = "an element of a list, or a key of a map"
    VALUE = "an element, or a value"
    PAIR = "an index and an element, or a key and a value"
    LOOKED_UP = "an element or a key, and what it leads to in the same list or map"


HIDDEN = "["
"""How the name of a variable begins that stands for what is looked up (see `lookups`)."""


def takes(e: Comprehension) -> Takes:
    """What the macro takes. An index or key that it does not read, it does not take."""
    if not e.second:
        return Takes.ELEMENT
    if e.second.startswith(HIDDEN):
        return Takes.LOOKED_UP
    read = names(e.body) if e.condition is None else names(e.body) | names(e.condition)
    return Takes.PAIR if e.variable in read else Takes.VALUE


_HOLDING = MAPPING | {MacroKind.SORT_BY}
"""The macros that hold what all of their turns make."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A macro, or `in`: a turn for each element of `range`.

    `variable` stands for the element (or the value) in what is a part of it, and `key` for the index or key; they are
    names that no filter can write. `of` is the variable of the loop around it whose element `range` is a part of, empty
    where it is a part of none; where it is `chosen`, it is made of that element and of something else. `items` is how
    many elements there are of a list that the filter writes out; None where the event says that.
    """

    range: Expr
    variable: str
    of: str = ""
    items: int | None = None
    takes: Takes = Takes.ELEMENT
    chosen: bool = False

    @property
    def key(self) -> str:
        """What stands for the index or key."""
        return f"{self.variable}'"


@dataclass(frozen=True, slots=True)
class Work:
    """The turns of `loops` in one another, outermost first, or what all of them read again of `values`.

    `of` is the variable of the loop whose element the values are parts of, as in `Loop`.
    """

    loops: tuple[Loop, ...]
    values: tuple[tuple[Expr, Use], ...] = ()
    of: str = ""

    def counted(self) -> tuple[Loop, ...]:
        """The loops of which the event, or what is in their elements, says how many turns they take."""
        gone_over = {self.of, *(loop.of for loop in self.loops)}
        return tuple(loop for loop in self.loops if loop.items is None or loop.variable in gone_over)

    def written(self) -> int:
        """How many turns the other loops take, which the filter writes out."""
        counted = self.counted()
        return prod(loop.items or 0 for loop in self.loops if loop not in counted)


def turns(e: Comprehension, types: frozenset[str] = TYPE_NAMES) -> tuple[Work, ...]:
    """What `e`, and the macros within it, do besides reading each part of the data once; what comes first is done first.

    `types` are the names that are types.

    Raises:
        NotNative: where a turn chooses it anew, so that nothing bounds it, or the filter itself makes it too many.
    """
    run = _Walk(e.macro in _HOLDING, types)
    run.entered(e, {}, ())
    found: dict[tuple[object, ...], Work] = {}
    for work, times in run.works.items():
        computed = work.values if any(root_of(value) is None for value, _ in work.values) else ()
        key = work.loops, work.of, bool(work.values), computed  # what is computed is looked at in its own turn
        before = found[key].values if key in found else ()
        found[key] = replace(work, values=before + work.values * times)
    if any(work.written() > MAX_TURNS for work in found.values()):
        raise NotNative(Reason.TURNS, MAX_TURNS)
    return tuple(work for work in found.values() if work.values or _multiplies(work))


def _multiplies(work: Work) -> bool:
    """Whether there may be more turns than parts of the data: not each loop goes over the element of the one around."""
    counted = work.counted()
    return bool(counted) and (work.written() > 1 or any(not _is_part(b, a) for a, b in pairwise(counted)))


def _is_part(inner: Loop, around: Loop) -> bool:
    """Whether what a loop goes over is another part of the data in each turn of the one around it."""
    return inner.of == around.variable and not inner.chosen and around.takes is not Takes.LOOKED_UP


_MOST_PUT = 200
"""Nodes of values that are put in the places of names, in one expression."""
_SMALL = calls_that_give(t.SHORT)
"""Calls, by name and whether they are methods, whose value is short whatever they are given."""
_USES = {GoesOver.ONCE: Use.READ, GoesOver.KEPT: Use.KEPT, GoesOver.KEYED: Use.KEYED}
_REMADE: Mapping[str, Use] = {
    name: _USES[most] for name, rows in BY_NAME.items() if (most := max(row.goes_over for row in rows)) > GoesOver.ONCE
}
"""Functions that do more with the parts of an operand than to read them, and what that is."""
_JOINING = frozenset(row.function for row in ALL if row.size is Size.JOINED)
_COUNTING = frozenset(row.function for row in ALL if row.size is Size.RANGE)
_NOTHING = Lit(LitKind.NULL, None)


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What a name stands for: a value, made of elements of the loops `of`; of no loop, it is the event's own.

    `values` are several for an element of a list that the filter writes out of what has no loop in common. There may be
    none for what is `short`, a number or the like: reading it is nothing to speak of.
    """

    values: tuple[Expr, ...]
    of: frozenset[str] = frozenset()
    short: bool = False

    @property
    def value(self) -> Expr:
        """The one value.

        Raises:
            NotNative: where there are several, or it is not said.
        """
        if len(self.values) != 1:
            raise NotNative(Reason.CHOSEN)
        return self.values[0]

    @property
    def of_event(self) -> bool:
        """Whether it is made of something of the event that is in no element; what the filter writes out is not."""
        return any(map(_of_event, self.values))


_Scope: TypeAlias = Mapping[str, _Meaning]
"""The variables around an expression. Their values are closed: in them are no other names than the event's and loops'."""


@dataclass
class _Walk:
    """One walk over a macro. `works` is what is found, in the order in which it is met.

    `keeps`: the macro makes a list; `within_map`: one within it does, around where the walk is.
    """

    keeps: bool
    types: frozenset[str]
    works: Counter[Work] = field(default_factory=Counter)
    within_map: bool = False

    def entered(self, e: Comprehension, scope: _Scope, path: tuple[Loop, ...]) -> None:
        """Finds what is done within `e`; `path` are the loops around it."""
        loop, element = self._loop(e.range, scope, path, takes(e))
        path = (*path, loop)
        self.works[Work(path)] += 1
        inner = {**scope, **dict.fromkeys(variables(e), element)}
        if e.second:
            known = (Ident(loop.key),) if loop.range != _NOTHING else ()
            inner[e.variable] = _Meaning(known, frozenset({loop.variable}), short=isinstance(e.range, ListExpr))
        if e.condition is not None:
            self.found(e.condition, inner, path)
        around, self.within_map = self.within_map, self.within_map or e.macro in _HOLDING
        self.found(e.body, inner, path)
        self.within_map = around

    def found(self, e: Expr, scope: _Scope, path: tuple[Loop, ...], use: Use = Use.READ) -> None:
        """Finds what `e` reads again in the turns of `path`."""
        match e:
            case Lit():
                return
            case Has(operand=operand, field=key) if (root := root_of(operand)) is not None:
                self._read(Select(operand, key), root, scope, path, Use.FOUND)
            case Ident() | Select() | Call(function="_[_]", args=(_, Lit())) if (root := root_of(e)) is not None:
                kept = self.keeps or (self.within_map and root in scope and bool(scope[root].of))
                self._read(e, root, scope, path, Use.KEPT if kept else use)
            case Comprehension(range=range_):
                self.found(range_, scope, path)
                self.entered(e, scope, path)
            case Bind(variable=variable, value=value, body=body):
                if root_of(value) is None:  # what is only selected is read where it is used
                    self.found(value, scope, path)
                self.found(body, {**scope, variable: self._named(value, scope)}, path, use)
            case Call(function=function, args=(element, holder)) if function == IN:
                self._looked_for(element, holder, scope, path, Use.COMPARED)
            case Call(function=function, target=holder, args=(separator,)) if (
                function in _JOINING and holder is not None
            ):
                self._looked_for(separator, holder, scope, path, Use.READ)
            case Call(function=function, args=args) if function in (EQUALS, NOT_EQUALS):
                compared = Use.TESTED if any(isinstance(a, Lit) for a in args) else Use.COMPARED
                for arg in args:
                    self.found(arg, scope, path, compared)
            case Call(function=function) if (
                function in _COUNTING
            ):  # what a turn makes is counted as if it were gone over
                self.works[Work((*path, self._loop(e, scope, path)[0]))] += 1
            case Call(function=function) if function in _REMADE:
                for part in children(e):
                    self.found(part, scope, path, _REMADE[function])
            case _:
                for part in children(e):
                    self.found(part, scope, path)

    def _looked_for(self, e: Expr, holder: Expr, scope: _Scope, path: tuple[Loop, ...], use: Use) -> None:
        """`e` is read for each element of `holder`; as often as the filter writes them, if it does."""
        self.found(holder, scope, path)
        if not isinstance(holder, ListExpr | MapExpr):
            path = (*path, self._loop(holder, scope, path)[0])
            self.works[Work(path)] += 1
        self.found(e, scope, path, use)

    def _names(self, e: Expr, scope: _Scope) -> frozenset[str]:
        """The names that `e` reads, but those of types."""
        return names(e) - (self.types - scope.keys())

    def _origin(self, e: Expr, scope: _Scope) -> tuple[frozenset[str], bool]:
        """The loops of whose elements `e` is made, and whether it reads something else of the event."""
        read = self._names(e, scope)
        of = frozenset(loop for name in read & scope.keys() for loop in scope[name].of)
        return of, any(name not in scope or scope[name].of_event for name in read)

    def _named(self, value: Expr, scope: _Scope) -> _Meaning:
        """What a variable stands for."""
        of, event = self._origin(value, scope)
        short = isinstance(value, Call) and (value.function, value.target is not None) in _SMALL
        try:
            return _Meaning((_closed(value, scope),), of, short=short)
        except NotNative:
            if short and (event or len(of) > 1):
                return _Meaning((), of, short=True)
            raise

    def _loop(
        self, e: Expr, scope: _Scope, path: tuple[Loop, ...], takes_: Takes = Takes.ELEMENT
    ) -> tuple[Loop, _Meaning]:
        """The loop over `e`, and its element."""
        variable = f"#{len(path)}"  # so that equal loops are equal
        of, event = self._origin(e, scope)
        while (len(of) > 1 or (of and event)) and isinstance(e, Comprehension) and e.macro in KEEPING:
            e = e.range  # what is kept is no more
            of, event = self._origin(e, scope)
        chosen = len(of) > 1 or bool(of and event)
        if chosen and isinstance(e, ListExpr):
            values = tuple(dict.fromkeys(_closed(item, scope) for item in e.items))
            return Loop(_NOTHING, variable, items=len(e.items), takes=takes_), _Meaning(values, of)
        e = _closed(e, scope)
        items = len(e.items) if isinstance(e, ListExpr) else len(e.entries) if isinstance(e, MapExpr) else None
        loop = Loop(e, variable, _innermost(of, path), items, takes_, chosen)
        return loop, _Meaning((Ident(variable),), frozenset({variable}))

    def _read(self, e: Expr, root: str, scope: _Scope, path: tuple[Loop, ...], use: Use) -> None:
        """`e` is selected from `root`, or is it."""
        meaning = scope.get(root, _Meaning((Ident(root),)))
        if meaning.short:
            return
        for value in meaning.values:
            if root not in scope:
                whole = e
            elif root_of(value) is None:
                whole = value
            else:
                whole = _closed(e, {**scope, root: replace(meaning, values=(value,))})
            self._read_again(whole, use, path)

    def _read_again(self, value: Expr, use: Use, path: tuple[Loop, ...]) -> None:
        read = names(value)
        if not read:
            return
        by_name = {name: loop for loop in path for name in (loop.variable, loop.key)}
        of = frozenset(by_name[name].variable for name in read & by_name.keys())
        around = [by_name[name] for name in _around(of, by_name)]
        chosen = bool(of and read - by_name.keys() - self.types) or any(_chooses(loop, use) for loop in around)
        others = path if chosen else [loop for loop in path if loop not in around]  # a part is read in its turn alone
        if all(loop.items is not None for loop in others) and prod(loop.items or 0 for loop in others) <= MAX_WRITTEN:
            return
        if around and not chosen and not any(names(loop.range) for loop in around if not loop.of):
            return  # written in the filter
        self.works[Work(path, ((value, use),), _innermost(of, path))] += 1


def _chooses(loop: Loop, use: Use) -> bool:
    """Whether its elements may be one part of the data many times. What is looked up is not too much to be read once."""
    return loop.chosen or (loop.takes is Takes.LOOKED_UP and use in (Use.COMPARED, Use.KEYED, Use.KEPT))


def _of_event(e: Expr) -> bool:
    return any(not name.startswith("#") for name in names(e))


def _innermost(of: frozenset[str], path: tuple[Loop, ...]) -> str:
    """The loop of whose element a value is made, and the others are around it; empty where there are none.

    Raises:
        NotNative: where they are not in one another.
    """
    if not of:
        return ""
    loops = {loop.variable: loop for loop in path}
    found = next(loop.variable for loop in reversed(path) if loop.variable in of)
    if not of <= set(_around((found,), loops)):
        raise NotNative(Reason.ELEMENTS_APART)
    return found


def _around(of: Iterable[str], loops: Mapping[str, Loop]) -> Iterator[str]:
    """The loops, by their variables, and those whose elements they go over."""
    for variable in of:
        while variable:
            yield variable
            variable = loops[variable].of


def _closed(e: Expr, scope: _Scope) -> Expr:
    """`e` with the values of the names that it reads.

    Raises:
        NotNative: where a name means one thing there and another in one of the values, or there are too many.
    """
    read = {name: scope[name].value for name in names(e) & scope.keys()}
    if not read:
        return e
    long = [name for name, value in read.items() if not isinstance(value, Ident) and names(value)]
    if long and (root_of(e) is None or any(root_of(read[name]) is None for name in long)):
        sizes = {name: sum(1 for _ in islice(walk(read[name]), _MOST_PUT + 1)) for name in long}
        if sum(sizes.get(n.name, 0) for n in walk(e) if isinstance(n, Ident)) > _MOST_PUT:
            raise NotNative(Reason.NAMED_OF_ONE_ANOTHER)
    closed = put(read, e)
    if closed is None:
        raise NotNative(Reason.ONE_NAME)
    return closed


def weight(v: Typed, use: Use) -> Sql | None:
    """How many characters a turn reads of a value; None for a value that is short whatever it is."""
    if v.type in SHORT:
        return None
    text = v.type in (t.STRING, t.BYTES)
    if text and use is Use.TESTED:
        return None
    if use is Use.FOUND and v.type != t.JSON:
        return None
    if use is Use.KEYED:
        compared = weight(v, Use.COMPARED)
        return None if compared is None else literal(float(_KEY)) * compared
    written = v if text else function("to_json", v)
    size = function("octet_length", written)
    match use:
        case Use.COMPARED if text:
            return function("coalesce", size, integer(0))
        case Use.COMPARED if v.type == t.JSON:
            parts = literal(1.0) + size - function("octet_length", function("replace", written, ",", ""))
            walked = case((variant.is_container(v), parts * integer(PART)), otherwise=0.0)
            return function("coalesce", size + walked, 0.0)
        case Use.FOUND:  # Spark copies it, much sooner than it is read
            return function("coalesce", size / 20.0, 0.0)
        case Use.COMPARED | Use.KEPT:
            return function("coalesce", size * 10.0, 0.0)
        case _:
            return function("coalesce", size, integer(0))
