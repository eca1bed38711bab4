"""What a target can say of terms about attributes: a dialect that has not all of CEL, or a table's reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from ..nodes import Expr
from ..patterns import literal_of
from ..unparse import brief
from .attribute_tests import Constraint, Key, Test, normal
from .constraints import TestKind
from .disjunctions import Term
from .factoring import Writer


@dataclass
class Saying:
    """`says` tells of an expression whether the target can say it; each is asked for once."""

    writer: Writer
    says: Callable[[Expr], bool]
    known: dict[tuple[Key, Constraint], bool] = field(default_factory=dict)

    def loosened(self, term: Term, lost: list[str]) -> Term:
        """The most of a term that the target can say; what it cannot is added to `lost`, as CEL."""
        found = {}
        for key, c in term.items():
            said = next((one for one in _ways(c, lambda c, key=key: self._can(key, c)) if self._can(key, one)), None)  # type: ignore[misc]
            if said is not None:
                found[key] = said
            if said != c:
                lost.append(brief(self.writer.expression([{key: c}])))
        return found

    def _can(self, key: Key, c: Constraint) -> bool:
        part = (key, c)
        if part not in self.known:
            ways = (writer.expression([{key: c}]) for writer in (self.writer, replace(self.writer, plain=True)))
            self.known[part] = any(self.says(e) for e in ways)
        return self.known[part]


def _ways(c: Constraint, can: Callable[[Constraint], bool]) -> Iterator[Constraint]:
    """What a constraint implies, the nearest first: with events that lack the attribute, with fewer tests."""
    yield c
    yield Constraint(True, c.tests)
    tests = {t for test in c.tests or () for t in (test, *_begun(test))}
    for absent in (c.absent, True):
        kept = normal(t for t in tests if can(Constraint(absent, frozenset({t}))))
        if kept:
            yield Constraint(absent, kept)


def _begun(test: Test) -> Iterator[Test]:
    """How every text begins in which a pattern is found."""
    literal = literal_of(test.value) if test.kind is TestKind.MATCHES and not test.negated else None
    if literal is not None and literal.anchored and literal.text:
        yield Test(TestKind.PREFIX, frozenset({literal.text}))
