"""A disjunction of terms about attributes as CEL that never errs: what terms share is written once.

A test of an attribute that may be absent stands beside its `has`, which is false where the test errs, or in a
disjunction with `!has`, which is true there: either way logic absorbs the error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto
from functools import lru_cache

from ..environments.attributes import attribute, presence
from ..nodes import NOT, OR, Call, Expr, conjunction, disjunction, walk
from ..unparse import unparse
from .attribute_tests import Constraint, Key, Test, among, opposite, written
from .constraints import TestKind
from .disjunctions import Term


class _Kind(IntEnum):
    """What one factor of a term says, in the order in which they are written."""

    HAS = auto()
    TEST = auto()
    ABSENT_OR = auto()


@dataclass(frozen=True, slots=True)
class _Factor:
    """That the attributes are there, a test of them, or that one is absent or all tests pass (None: it is absent)."""

    kind: _Kind
    key: Key
    tests: frozenset[Test] | None = frozenset()


@dataclass(frozen=True)
class Writer:
    """Writes terms about the attributes of the record of that name.

    `plain`: with each test beside its own guard, and a listing as several tests, as other dialects say it.
    """

    record: str
    plain: bool = False

    def expression(self, terms: Sequence[Term]) -> Expr:
        """The disjunction; `false` for no term, `true` where one is empty."""
        if self.plain:
            return disjunction(
                tuple(conjunction(tuple(self._plain(k, c) for k, c in sorted(t.items(), key=_by_name))) for t in terms)
            )
        return self._factored([frozenset(self._factors(t)) for t in terms])

    def _factors(self, term: Term) -> list[_Factor]:
        found = []
        for key, c in term.items():
            if not key.sure and (c.absent or len(key.names) > 1):
                found.append(_Factor(_Kind.ABSENT_OR, key, c.tests))
                continue
            if not key.sure:
                found.append(_Factor(_Kind.HAS, key))
            found.extend(_Factor(_Kind.TEST, key, frozenset({test})) for test in c.tests or ())
        return sorted(found, key=_place)

    def _factored(self, terms: list[frozenset[_Factor]]) -> Expr:
        """Greedily: of the factors that several terms have, first the one that saves most."""
        alternatives: list[Expr] = []
        counts = Counter(f for term in terms for f in term)
        while True:
            shared = [(n, f) for f, n in counts.items() if n > 1]
            if not shared:
                break
            best = max(shared, key=lambda x: ((x[0] - 1) * self._size(x[1]), _told(x[1])))[1]
            group = [term for term in terms if best in term]
            common = frozenset[_Factor].intersection(*group)
            inner = self._factored([term - common for term in group])
            alternatives.append(conjunction((*self._all(common), inner)))
            terms = [term for term in terms if best not in term]
            counts -= Counter(f for term in group for f in term)
        alternatives.extend(conjunction(tuple(self._all(term))) for term in terms)
        return disjunction(self._sorted(alternatives))

    def _all(self, factors: Iterable[_Factor]) -> list[Expr]:
        return [self._written(f) for f in sorted(factors, key=_place)]

    @staticmethod
    def _sorted(alternatives: Iterable[Expr]) -> tuple[Expr, ...]:
        """The alternatives, each once, in the order of their texts."""
        flat = {unparse(e): e for given in alternatives for e in _alternatives(given)}
        return tuple(flat[text] for text in sorted(flat, key=lambda text: (not text.startswith("!has("), text)))

    def _size(self, factor: _Factor) -> int:
        return sum(1 for _ in walk(self._written(factor)))

    def _written(self, factor: _Factor) -> Expr:
        return _written(factor, self.record)

    def _plain(self, key: Key, c: Constraint) -> Expr:
        if len(key.names) > 1:
            return _written(_Factor(_Kind.ABSENT_OR, key, c.tests), self.record)
        name = key.names[0]
        tests = tuple(self._guarded(name, key, t) for t in sorted(c.tests or (), key=_told_test))
        there, guarded = presence(self.record, name), any(not t.negated for t in c.tests or ())
        if key.sure or (guarded and not c.absent):
            return conjunction(tests)
        if not c.absent:
            return conjunction((there, *tests))
        if tests and not guarded:
            return conjunction(tests)
        absent = Call(NOT, (there,))
        return absent if c.tests is None else disjunction((absent, conjunction(tests)))

    def _guarded(self, name: str, key: Key, test: Test) -> Expr:
        """One test, false of an event without the attribute; a negated one is true of it."""
        if test.negated:
            return Call(NOT, (self._guarded(name, key, opposite(test)),))
        if test.kind is TestKind.AMONG and len(test.values) > 1:
            return disjunction(tuple(self._guarded(name, key, among((v,))) for v in sorted(test.values)))
        passed = written(test, attribute(self.record, name))
        return passed if key.sure else conjunction((presence(self.record, name), passed))


def _by_name(part: tuple[Key, Constraint]) -> tuple[bool, tuple[int, ...], int]:
    """The required attributes first, and `type` before `source`, which is how people write them."""
    key = part[0]
    return (not key.sure, tuple(-ord(c) for c in "".join(key.names)), len(key.names))


def _place(factor: _Factor) -> tuple[object, ...]:
    return (_by_name((factor.key, _ANY)), factor.kind, _told(factor))


def _told(factor: _Factor) -> str:
    """A text that is the same for equal factors alone, so that the order of terms does not matter."""
    told = [_told_test(t) for t in factor.tests or ()]
    return f"{factor.key.names} {factor.kind} {factor.tests is None} {sorted(told)}"


def _told_test(test: Test) -> str:
    other = "" if test.other is None else unparse(test.other)
    return f"{test.kind} {sorted(test.values)} {test.negated} {test.sign} {other}"


def _alternatives(e: Expr) -> tuple[Expr, ...]:
    return e.args if isinstance(e, Call) and e.function == OR else (e,)


_ANY = Constraint(True)


@lru_cache(maxsize=4096)
def _written(factor: _Factor, record: str) -> Expr:
    names, tests = factor.key.names, factor.tests
    subject = attribute(record, names[0]) if len(names) == 1 else None
    passed = [written(t, subject) for t in tests or ()]
    match factor.kind:
        case _Kind.HAS:
            return presence(record, names[0])
        case _Kind.TEST:
            return passed[0]
        case _Kind.ABSENT_OR:
            absent = tuple(Call(NOT, (presence(record, name),)) for name in names)
            inner = conjunction(tuple(sorted(passed, key=unparse)))
            return disjunction(absent if tests is None else (*absent, inner))
