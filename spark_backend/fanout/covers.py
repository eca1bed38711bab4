"""Covers: keys of which an event must have one for a filter to have one of some outcomes.

An event that has none of the keys has none of the outcomes, so it need not be looked at. Two covers matter: for TRUE,
and for TRUE or an error; the second needs a key for an attribute or a field that is not there. `!` swaps what is
needed, so a cover is worked out for any set of outcomes:

    &&  is true when all are, false when one is, an error when none is false and one errs
    ||  the other way round

A cover may be too wide, never too narrow: what is not known to need a key needs `EVERY`, which each event has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Flag, auto
from typing import TypeAlias

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType
from tricel.compiler.check import extension_name
from tricel.compiler.nodes import (
    AND,
    CONDITIONAL,
    EQUALS,
    IN,
    NOT,
    NOT_EQUALS,
    OR,
    Call,
    Expr,
    Has,
    Ident,
    Lit,
)

from .. import dynamic, selection
from ..layout import LayoutError
from ..lower import Lowering
from ..reasons import NotNative


class Outcome(Flag):
    """What a filter may come to."""

    TRUE = auto()
    FALSE = auto()
    ERROR = auto()


T, F, N = Outcome.TRUE, Outcome.FALSE, Outcome.ERROR


@dataclass(frozen=True, slots=True)
class Probe:
    """One thing that every event is asked: a value, or its beginning or end. `sql` is NULL where there is no value.

    `how` is "equals", "prefix" or "suffix"; `type` is string, double or int. `documents` are the JSON texts that the
    value is in. `always`: an event that lacks it breaks the specification.
    """

    how: str
    sql: str
    type: CelType
    cel: str = field(compare=False)
    documents: frozenset[str] = field(default=frozenset(), compare=False)
    always: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Key:
    """The answer that an event must give to a probe: the constant in hole `hole`, or, for None, that nothing is there."""

    probe: Probe
    hole: int | None


@dataclass(frozen=True, slots=True)
class Every:
    """The key that every event has."""


EVERY = Every()
Cover: TypeAlias = frozenset[Key | Every]
"""An event needs one of the keys. None: no event has the outcomes."""
ALL: Cover = frozenset({EVERY})
NONE: Cover = frozenset()
Cost: TypeAlias = Callable[[Cover], float]


@dataclass
class Covers:
    """The covers of one expression. `holes` are the numbers of the roots that stand for constants.

    `asked` collects every probe that was thought of, each with a hole it is compared with.
    """

    walk: Lowering
    holes: Mapping[str, int]
    cost: Cost
    asked: set[tuple[Probe, int]] = field(default_factory=set)
    _probes: dict[tuple[int, CelType, str], Probe | None] = field(default_factory=dict)

    def of_conjuncts(self, conjuncts: tuple[Expr, ...], residual: tuple[int, ...], wanted: Outcome) -> Cover:
        """A cover of the conjunction. Those at `residual` are an engine's, which may err on any event."""
        covers = []
        for number, e in enumerate(conjuncts):
            covers.append(ALL if N in wanted and number in residual else self.of(e, wanted))
        return self._least(conjuncts, covers) if T in wanted else ALL

    def of(self, e: Expr, wanted: Outcome) -> Cover:
        """A cheap cover of `e` for the outcomes `wanted`."""
        if not wanted:
            return NONE
        if T in wanted and F in wanted:
            return ALL
        match e:
            case Lit(value=bool() as value):
                return ALL if (T if value else F) in wanted else NONE
            case Call(function=function, args=args) if function == AND:
                return self._all_of(args, wanted, T, F)
            case Call(function=function, args=args) if function == OR:
                return self._all_of(args, wanted, F, T)
            case Call(function=function, args=(operand,)) if function == NOT:
                return self.of(operand, _swapped(wanted))
            case Call(function=function, args=(left, right)) if function == NOT_EQUALS:
                return self._tested(left, right, "equals", _swapped(wanted))
            case Call(function=function, args=(left, right)) if function in (EQUALS, IN):
                return self._tested(left, right, "equals", wanted)
            case Call(function="startsWith", target=subject, args=(part,)) if subject is not None:
                return self._tested(subject, part, "prefix", wanted)
            case Call(function="endsWith", target=subject, args=(part,)) if subject is not None:
                return self._tested(subject, part, "suffix", wanted)
            case Call(function=function, args=(test, then, other)) if function == CONDITIONAL:
                return self._conditional(test, then, other, wanted)
            case Has():
                return self._has(e, wanted)
            case _:
                return ALL

    def _all_of(self, operands: tuple[Expr, ...], wanted: Outcome, all_: Outcome, one: Outcome) -> Cover:
        """`&&`, with `all_` true and `one` false: it is `all_` when every operand is, `one` when any is; or `||`."""
        if one in wanted:
            return _union(self.of(o, wanted) for o in operands)
        if wanted == N:
            every = self._cheapest(operands, all_ | N)
            one_errs = _union(self.of(o, N) for o in operands)
            return min((every, one_errs), key=self.cost)
        return self._cheapest(operands, wanted)

    def _cheapest(self, operands: tuple[Expr, ...], wanted: Outcome) -> Cover:
        """A cover for all operands having outcomes in `wanted`: any operand's, the cheapest."""
        covers = [self.of(o, wanted) for o in operands]
        return min(covers, key=self.cost) if F in wanted else self._least(operands, covers)

    def _least(self, operands: tuple[Expr, ...], covers: list[Cover]) -> Cover:
        """The cheapest of the covers of operands of which none is false: what their `has` asks for is there."""
        present = {k for o in operands if (k := self._guarded(o)) is not None}
        return min((frozenset(k for k in c if not _absent_among(k, present)) for c in covers), key=self.cost)

    def _guarded(self, e: Expr) -> str | None:
        """The SQL of an attribute that is there when `e`, its `has`, does not fail."""
        if isinstance(e, Has) and isinstance(e.operand, Ident) and e.operand.name == "ce":
            return self._attribute(e.field)
        return None

    def _attribute(self, name: str) -> str | None:
        try:
            return selection.attribute(self.walk, name).text
        except (NotNative, LayoutError):
            return None

    def _conditional(self, test: Expr, then: Expr, other: Expr, wanted: Outcome) -> Cover:
        first = min((self.of(test, T), self.of(then, wanted)), key=self.cost)
        second = min((self.of(test, F), self.of(other, wanted)), key=self.cost)
        return _union((first, second, self.of(test, N) if N in wanted else NONE))

    def _has(self, e: Has, wanted: Outcome) -> Cover:
        if T in wanted or not (isinstance(e.operand, Ident) and e.operand.name == "ce"):
            return ALL
        sql = self._attribute(e.field)
        if F not in wanted:
            return NONE
        if sql is None:
            return ALL
        return frozenset(
            {Key(Probe("equals", sql, selection.attribute(self.walk, e.field).type, f"ce.{e.field}"), None)}
        )

    def _tested(self, subject: Expr, part: Expr, how: str, wanted: Outcome) -> Cover:
        """A test of a value against a constant, or a list of them: true for the constant, an error for no value."""
        if F in wanted:
            return ALL
        hole = self.holes.get(part.name) if isinstance(part, Ident) and part.absolute else None
        if hole is None:
            return ALL
        key = (subject.id, self.walk.checked.types[part.id], how)
        if key not in self._probes:
            self._probes[key] = self._probe(subject, key[1], how)
        probe = self._probes[key]
        if probe is None:
            return ALL
        found: set[Key | Every] = set()
        self.asked.add((probe, hole))
        if T in wanted:
            found.add(Key(probe, hole))
        if N in wanted:
            found.add(Key(probe, None))
        return frozenset(found)

    def _probe(self, subject: Expr, constant: CelType, how: str) -> Probe | None:
        """The question whose answer decides the test; None where none does."""
        wanted = constant.params[0] if constant.name == "list" else constant
        try:
            value = self.walk.lower(subject, {})
        except (NotNative, LayoutError):
            return None
        if value.type == t.JSON and value.path is None:
            return None
        if value.type == t.JSON:
            wanted = t.DOUBLE if wanted == t.INT else wanted
            read = dynamic.read_as(value, wanted) if wanted in (t.STRING, t.DOUBLE) else None
            if read is None:
                return None
            value = read
        if value.type != wanted or wanted not in (t.STRING, t.INT, t.DOUBLE):
            return None
        named = extension_name(subject)
        sql = value.text
        documents = frozenset(k for k in self.walk.documents if _mentions(sql, self.walk, k))
        always = named in ("id", "source", "specversion", "type")
        return Probe(how, sql, wanted, _spelling(subject), documents, always)


def _mentions(sql: str, walk: Lowering, variable: str) -> bool:
    return walk.parsed(variable).text in sql


def _spelling(e: Expr) -> str:
    from tricel.compiler import unparse

    return unparse(e)


def _swapped(wanted: Outcome) -> Outcome:
    """What an operand must come to for its negation to come to `wanted`."""
    swapped = Outcome(0)
    for one, other in ((T, F), (F, T), (N, N)):
        if one in wanted:
            swapped |= other
    return swapped


def _union(covers: Iterable[Cover]) -> Cover:
    found: Cover = NONE
    for cover in covers:
        found |= cover
    return ALL if EVERY in found else found


def _absent_among(key: Key | Every, present: set[str]) -> bool:
    return isinstance(key, Key) and key.hole is None and key.probe.sql in present
