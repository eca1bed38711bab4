"""Covers: keys of which an event must have one for a filter to have one of some outcomes.

An event that has none of the keys has none of the outcomes, so it need not be looked at. Two covers matter: for TRUE,
and for TRUE or an error; the second needs a key for an attribute or a field that is not there. `!` swaps what is
needed, so a cover is worked out for any set of outcomes:

    &&  is true when all are, false when one is, an error when none is false and one errs
    ||  the other way round

A cover may be too wide, never too narrow: what is not known to need a key needs `EVERY`, which each event has.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Flag, auto
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from ..check import Checked
from ..functions import TEXT_TESTS, TextTest
from ..nodes import AND, CONDITIONAL, EQUALS, IN, NOT, NOT_EQUALS, OR, Call, Expr, Has, Ident, Lit
from ..patterns.written import TOPIC_FILTER_ARGUMENT


class Outcome(Flag):
    """What a filter may come to."""

    TRUE = auto()
    FALSE = auto()
    ERROR = auto()


_PROBED = {name: test.value for name, test in TEXT_TESTS.items() if test in (TextTest.PREFIX, TextTest.SUFFIX)}
_PROBED |= dict.fromkeys(TOPIC_FILTER_ARGUMENT, "filter")
T, F, N = Outcome.TRUE, Outcome.FALSE, Outcome.ERROR


class Probe(Protocol):
    """One thing that every event is asked: a value, or its beginning or end. Two are equal where they ask the same."""

    @property
    def value(self) -> Hashable:
        """What is asked for, whichever way: two probes of one value have the same."""
        ...

    def __hash__(self) -> int: ...


P = TypeVar("P", bound=Probe)
P_co = TypeVar("P_co", bound=Probe, covariant=True)


class Prober(Protocol[P_co]):
    """What events can be asked, where they are."""

    def test(self, subject: Expr, constant: Expr, how: str) -> P_co | None:
        """What decides a test of `subject` against a constant or a list of them; None where nothing does.

        `how` is "equals", "prefix", "suffix", or "filter" for a topic filter of MQTT.
        """
        ...

    def presence(self, e: Has) -> P_co | None:
        """What asks for the attribute of the record that `e` asks for; None where no event can have it."""
        ...


@dataclass(frozen=True, slots=True)
class Key(Generic[P]):
    """The answer that an event must give to a probe: the constant in hole `hole`, or, for None, that nothing is there."""

    probe: P
    hole: int | None


@dataclass(frozen=True, slots=True)
class Every:
    """The key that every event has."""


EVERY = Every()


Cover: TypeAlias = frozenset[Key[P] | Every]
"""An event needs one of the keys. None: no event has the outcomes."""
ALL: frozenset[Any] = frozenset({EVERY})
NONE: frozenset[Any] = frozenset()


@dataclass
class Covers(Generic[P]):
    """The covers of one expression. `holes` are the numbers of the roots that stand for constants.

    A cover is a set of keys: an event needs one of them. An empty one: no event has the outcomes.
    `asked` collects every probe that was thought of, each with a hole it is compared with.
    """

    checked: Checked
    prober: Prober[P]
    holes: Mapping[str, int]
    cost: Callable[[Cover[P]], float]
    asked: set[tuple[P, int]] = field(default_factory=set)
    _probes: dict[tuple[int, object, str], P | None] = field(default_factory=dict)

    def of_conjuncts(self, conjuncts: tuple[Expr, ...], residual: tuple[int, ...], wanted: Outcome) -> Cover[P]:
        """A cover of the conjunction. Those at `residual` are an engine's, which may err on any event."""
        covers = []
        for number, e in enumerate(conjuncts):
            covers.append(ALL if N in wanted and number in residual else self.of(e, wanted))
        return self._least(conjuncts, covers) if T in wanted else ALL

    def of(self, e: Expr, wanted: Outcome) -> Cover[P]:
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
            case Call(function=function, target=subject, args=(part,)) if (
                subject is not None and (how := _PROBED.get(function)) is not None
            ):
                return self._tested(subject, part, how, wanted)
            case Call(function=function, args=(test, then, other)) if function == CONDITIONAL:
                return self._conditional(test, then, other, wanted)
            case Has():
                return self._has(e, wanted)
            case _:
                return ALL

    def _all_of(self, operands: tuple[Expr, ...], wanted: Outcome, all_: Outcome, one: Outcome) -> Cover[P]:
        """`&&`, with `all_` true and `one` false: it is `all_` when every operand is, `one` when any is; or `||`."""
        if one in wanted:
            return _union(self.of(o, wanted) for o in operands)
        if wanted == N:
            every = self._cheapest(operands, all_ | N)
            one_errs = _union(self.of(o, N) for o in operands)
            return min((every, one_errs), key=self.cost)
        return self._cheapest(operands, wanted)

    def _cheapest(self, operands: tuple[Expr, ...], wanted: Outcome) -> Cover[P]:
        """A cover for all operands having outcomes in `wanted`: any operand's, the cheapest."""
        covers = [self.of(o, wanted) for o in operands]
        return min(covers, key=self.cost) if F in wanted else self._least(operands, covers)

    def _least(self, operands: tuple[Expr, ...], covers: list[Cover[P]]) -> Cover[P]:
        """The cheapest of the covers of operands of which none is false: what their `has` asks for is there."""
        present = {k for o in operands if (k := self._guarded(o)) is not None}
        return min((frozenset(k for k in c if not _absent_among(k, present)) for c in covers), key=self.cost)

    def _guarded(self, e: Expr) -> Hashable | None:
        """The attribute that is there when `e`, its `has`, does not fail."""
        if isinstance(e, Has) and self.checked.record.is_it(e.operand):
            probe = self.prober.presence(e)
            return None if probe is None else probe.value
        return None

    def _conditional(self, test: Expr, then: Expr, other: Expr, wanted: Outcome) -> Cover[P]:
        first = min((self.of(test, T), self.of(then, wanted)), key=self.cost)
        second = min((self.of(test, F), self.of(other, wanted)), key=self.cost)
        return _union((first, second, self.of(test, N) if N in wanted else NONE))

    def _has(self, e: Has, wanted: Outcome) -> Cover[P]:
        if T in wanted or not self.checked.record.is_it(e.operand):
            return ALL
        probe = self.prober.presence(e)
        if F not in wanted:
            return NONE
        return ALL if probe is None else frozenset({Key(probe, None)})

    def _tested(self, subject: Expr, part: Expr, how: str, wanted: Outcome) -> Cover[P]:
        """A test of a value against a constant, or a list of them: true for the constant, an error for no value."""
        if F in wanted:
            return ALL
        hole = self.holes.get(part.name) if isinstance(part, Ident) and part.absolute else None
        if hole is None:
            return ALL
        key = (subject.id, self.checked.types[part.id], how)
        if key not in self._probes:
            self._probes[key] = self.prober.test(subject, part, how)
        probe = self._probes[key]
        if probe is None:
            return ALL
        found: set[Key[P] | Every] = set()
        self.asked.add((probe, hole))
        if T in wanted:
            found.add(Key(probe, hole))
        if N in wanted:
            found.add(Key(probe, None))
        return frozenset(found)


def _swapped(wanted: Outcome) -> Outcome:
    """What an operand must come to for its negation to come to `wanted`."""
    swapped = Outcome(0)
    for one, other in ((T, F), (F, T), (N, N)):
        if one in wanted:
            swapped |= other
    return swapped


def _union(covers: Iterable[Cover[P]]) -> Cover[P]:
    found: Cover[P] = NONE
    for cover in covers:
        found |= cover
    return ALL if EVERY in found else found


def _absent_among(key: Key[P] | Every, present: set[Hashable]) -> bool:
    return isinstance(key, Key) and key.hole is None and key.probe.value in present
