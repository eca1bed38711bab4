"""What is asked of one attribute, as a set of values that can be joined and compared, and as CEL.

A constraint is true or false of every event: an attribute that is not there is one of its values. It is closed under
conjunction; a disjunction of constraints may need several.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from ..celtypes import STRING
from ..functions import TEXT_TESTS
from ..nodes import (
    EQUALS,
    GREATER,
    GREATER_EQUALS,
    IN,
    LESS,
    LESS_EQUALS,
    NOT,
    NOT_EQUALS,
    Call,
    Expr,
    Ident,
    ListExpr,
    string,
)
from . import constraints
from .constraints import TEXT_KINDS, Atom, TestKind


class Key(NamedTuple):
    """The attributes that a constraint is about: one, or several for a test that compares them.

    `sure`: every event has them.
    """

    names: tuple[str, ...]
    sure: bool


@dataclass(frozen=True, slots=True)
class Test:
    """A test that is true or false of every value: of a text against literals, or any other that cannot err, `other`.

    `values` are those of AMONG, else one; `sign` is the operator of ORDER.
    """

    kind: TestKind | None
    values: frozenset[str] = frozenset()
    negated: bool = False
    sign: str = ""
    other: Expr | None = None

    @property
    def value(self) -> str:
        """The one value of a test against one."""
        return next(iter(self.values))

    @property
    def is_listing(self) -> bool:
        """Whether it lists the values that pass."""
        return self.kind is TestKind.AMONG and not self.negated

    @property
    def is_ban(self) -> bool:
        """Whether it lists the values that do not pass."""
        return self.kind is TestKind.AMONG and self.negated


@dataclass(frozen=True, slots=True)
class Constraint:
    """That an attribute is not there, where `absent`, or is there with a value that passes all tests.

    None for the tests: no value passes.
    """

    absent: bool
    tests: frozenset[Test] | None = frozenset()

    @property
    def impossible(self) -> bool:
        """Whether no event has it."""
        return self.tests is None and not self.absent

    @property
    def listing(self) -> Test | None:
        """The test that lists the values, where there is one."""
        return next((t for t in self.tests or () if t.is_listing), None)

    @property
    def alone(self) -> Test | None:
        """The test, where it is the only one."""
        return next(iter(self.tests)) if self.tests is not None and len(self.tests) == 1 else None


def among(values: Iterable[str], *, negated: bool = False) -> Test:
    """The test that a text is one of several, or none of them."""
    return Test(TestKind.AMONG, frozenset(values), negated)


_OPPOSITE = {LESS: GREATER_EQUALS, LESS_EQUALS: GREATER, GREATER: LESS_EQUALS, GREATER_EQUALS: LESS}
_METHODS = {TEXT_KINDS[test]: name for name, test in TEXT_TESTS.items()}
_SUBJECT = Ident("value")


def opposite(test: Test) -> Test:
    """The test that is true where this one is false."""
    if test.kind is TestKind.ORDER:
        return replace(test, sign=_OPPOSITE[test.sign])
    return replace(test, negated=not test.negated)


def always(key: Key, constraint: Constraint) -> bool:
    """Whether every event has it."""
    return constraint.tests == frozenset() and (constraint.absent or key.sure)


@lru_cache(maxsize=100_000)
def _atom(test: Test) -> Atom | None:
    if test.kind is None:
        return None
    values = tuple(sorted(test.values))
    return Atom((_SUBJECT, ()), test.kind, values, test.negated, _SUBJECT, STRING, sign=test.sign)


def holds(test: Test, value: str) -> bool:
    """Whether a text passes the test; true where that cannot be told."""
    found = _atom(test)
    return found is None or constraints.outcome(found, value) is not False


@lru_cache(maxsize=100_000)
def test_implies(a: Test, b: Test) -> bool:
    """Whether every value that passes `a` passes `b`."""
    if a == b:
        return True
    if a.kind is TestKind.AMONG and b.kind is TestKind.AMONG:
        if b.negated:
            return b.values <= a.values if a.negated else not a.values & b.values
        return not a.negated and a.values <= b.values
    left, right = _atom(a), _atom(b)
    return left is not None and right is not None and constraints.implies(left, right)


@lru_cache(maxsize=100_000)
def _excludes(a: Test, b: Test) -> bool:
    if a == opposite(b):
        return True
    left, right = _atom(a), _atom(b)
    return left is not None and right is not None and constraints.excludes(left, right)


def implies(a: Constraint, b: Constraint) -> bool:
    """Whether every event that has `a` has `b`; false where that is not seen."""
    if a.absent and not b.absent:
        return False
    if a.tests is None:
        return True
    return b.tests is not None and all(any(test_implies(t, u) for t in a.tests) for u in b.tests)


def both(a: Constraint, b: Constraint) -> Constraint:
    """The events that have both."""
    tests = None if a.tests is None or b.tests is None else normal((*a.tests, *b.tests))
    return Constraint(a.absent and b.absent, tests)


def normal(tests: Iterable[Test]) -> frozenset[Test] | None:
    """The tests without those that others imply; None where no value passes all of them."""
    given = list(dict.fromkeys(tests))
    listings = [t for t in given if t.is_listing]
    if listings:
        rest = [t for t in given if not t.is_listing]
        values = frozenset[str].intersection(*(t.values for t in listings))
        left = [v for v in values if all(holds(t, v) for t in rest)]
        others = [t for t in rest if t.kind is None]
        return frozenset((among(left), *others)) if left and not _clash(others) else None
    plain = [t for t in given if not t.is_ban and not _trivial(t)]
    if _clash(plain) or any(_trivial(opposite(t)) for t in plain):
        return None
    kept = [t for i, t in enumerate(plain) if not any(_drops(t, i, u, j) for j, u in enumerate(plain))]
    banned = {v for t in given if t.is_ban for v in t.values if all(holds(u, v) for u in kept)}
    return frozenset((*kept, among(banned, negated=True)) if banned else kept)


def _clash(tests: Sequence[Test]) -> bool:
    return any(_excludes(t, u) for i, t in enumerate(tests) for u in tests[:i])


def _drops(t: Test, i: int, u: Test, j: int) -> bool:
    """Whether `u` says all that `t` says, and is the one to be kept."""
    return i != j and test_implies(u, t) and (j < i or not test_implies(t, u))


def _trivial(test: Test) -> bool:
    """Whether every text passes."""
    return test.kind in (TestKind.PREFIX, TestKind.SUFFIX, TestKind.CONTAINS) and test.value == "" and not test.negated


def either(given: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """Constraints that together say what one of the given says, fewer where values can be listed together."""
    absent = any(c.absent for c in given)
    listed: set[str] = set()
    bans: list[frozenset[str]] = []
    others: list[frozenset[Test]] = []
    for c in given:
        only = c.alone
        if c.tests is None:
            continue
        if only is not None and only.is_listing:
            listed |= only.values
        elif only is not None and only.is_ban:
            bans.append(only.values)
        elif c.tests not in others:
            others.append(c.tests)
    if frozenset() in others or any(len(t) == 1 and frozenset({opposite(*t)}) in others for t in others):
        return (Constraint(absent),)
    found = [Constraint(absent, t) for t in others]
    if bans:
        banned = frozenset[str].intersection(*bans) - listed
        if not banned:
            return (Constraint(absent),)
        found.append(Constraint(absent, frozenset({among(banned, negated=True)})))
    elif listed:
        found.append(Constraint(absent, frozenset({among(listed)})))
    return tuple(found) or (Constraint(absent, None),)


def written(test: Test, subject: Expr | None) -> Expr:
    """The test as CEL, of an attribute that is there; of `other`, the expression itself."""
    if test.other is not None:
        return _negated(test.other) if test.negated else test.other
    assert subject is not None
    match test.kind:
        case TestKind.AMONG if len(test.values) == 1:
            return Call(NOT_EQUALS if test.negated else EQUALS, (subject, string(test.value)))
        case TestKind.AMONG:
            return _signed(Call(IN, (subject, ListExpr(tuple(string(v) for v in sorted(test.values))))), test)
        case TestKind.ORDER:
            return Call(test.sign, (subject, string(test.value)))
        case TestKind() as kind:
            return _signed(Call(_METHODS[kind], (string(test.value),), subject), test)
        case None:
            raise AssertionError("a test of no kind has an expression")


def _signed(e: Expr, test: Test) -> Expr:
    return Call(NOT, (e,)) if test.negated else e


def _negated(e: Expr) -> Expr:
    match e:
        case Call(function=function, args=args) if function in (EQUALS, NOT_EQUALS):
            return Call(NOT_EQUALS if function == EQUALS else EQUALS, args)
        case Call(function=function, args=(inner,)) if function == NOT:
            return inner
        case _:
            return Call(NOT, (e,))
