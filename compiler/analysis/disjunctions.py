"""Disjunctions of conjunctions of what is asked of attributes: joined, and made smaller without a change of meaning.

A term maps attributes to constraints, of which an event must have all; an empty term is true of every event. A list of
terms is a disjunction; an empty one is true of none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from .attribute_tests import Constraint, Key, always, among, both, either, implies
from .constraints import TestKind

Term: TypeAlias = Mapping[Key, Constraint]
TRUE: Term = {}
_ROUNDS = 6


def conjoined(a: Term, b: Term) -> Term | None:
    """The term that says what both say; None where no event has both."""
    found = dict(a)
    for key, constraint in b.items():
        joint = both(found[key], constraint) if key in found else constraint
        if joint.impossible:
            return None
        found[key] = joint
    return found


def product(a: Sequence[Term], b: Sequence[Term]) -> list[Term]:
    """The disjunction that says what both say."""
    return distinct(t for x in a for y in b if (t := conjoined(x, y)) is not None)


def distinct(terms: Iterable[Term]) -> list[Term]:
    """The terms, each once, without what is true of every event."""
    found: dict[frozenset[tuple[Key, Constraint]], Term] = {}
    for term in terms:
        kept = {k: c for k, c in term.items() if not always(k, c)}
        if not kept:
            return [TRUE]
        if not any(c.impossible for c in kept.values()):
            found.setdefault(frozenset(kept.items()), kept)
    return list(found.values())


def simplified(terms: Iterable[Term]) -> list[Term]:
    """The same disjunction in fewer terms, none of which another one says all of."""
    found = distinct(terms)
    for _ in range(_ROUNDS):
        before = found
        found = merged(irredundant(found))
        if found == before:
            break
    return irredundant(found)


def implied(a: Term, b: Term) -> bool:
    """Whether every event that has `a` has `b`."""
    return all((c := a.get(key)) is not None and implies(c, wanted) for key, wanted in b.items())


def irredundant(terms: Sequence[Term]) -> list[Term]:
    """The terms without those, and without those listed values, that another term says."""
    if any(not term for term in terms):
        return [TRUE]
    left: list[Term | None] = list(terms)
    index = Index.of(terms)
    for i, term in enumerate(terms):
        left[i] = index.rest_of(term, lambda j, i=i: None if i == j else left[j])  # type: ignore[misc]
    return [term for term in left if term is not None]


def uncovered(term: Term, terms: Sequence[Term], index: Index) -> Term | None:
    """What of `term` none of `terms` says; None where they say all of it."""
    return index.rest_of(term, lambda j: terms[j])


@dataclass
class Index:
    """The positions of terms, by what an event must have for them."""

    values: dict[tuple[Key, str], list[int]] = field(default_factory=lambda: defaultdict(list))
    prefixes: dict[tuple[Key, str], list[int]] = field(default_factory=lambda: defaultdict(list))
    absent: dict[Key, list[int]] = field(default_factory=lambda: defaultdict(list))
    lengths: dict[Key, set[int]] = field(default_factory=lambda: defaultdict(set))
    others: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, terms: Iterable[Term]) -> Index:
        """The index of terms."""
        index = cls()
        for i, term in enumerate(terms):
            index._add(i, term)
        return index

    def _add(self, i: int, term: Term) -> None:
        listed = [(len(t.values), key) for key, c in term.items() if (t := c.listing) is not None]
        if listed:
            key = min(listed)[1]
            listing = term[key].listing
            for value in () if listing is None else listing.values:
                self.values[key, value].append(i)
        else:
            found = next(((k, p) for k, c in term.items() if (p := _prefix(c)) is not None), None)
            if found is None:
                self.others.append(i)
                return
            key = found[0]
            self.prefixes[found].append(i)
            self.lengths[key].add(len(found[1]))
        if term[key].absent:
            self.absent[key].append(i)

    def candidates(self, term: Term) -> Iterator[int]:
        """The positions of terms that may say all that `term` says."""
        yield from self.others
        for key, c in term.items():
            if c.tests is None:
                yield from self.absent.get(key, ())
                continue
            listing = c.listing
            text = min(listing.values) if listing is not None else _prefix(c)
            if text is None:
                continue
            if listing is not None:
                yield from self.values.get((key, text), ())
            for length in self.lengths.get(key, ()):
                if length <= len(text):
                    yield from self.prefixes.get((key, text[:length]), ())

    def rest_of(self, term: Term, known: Callable[[int], Term | None]) -> Term | None:
        """`term` without the values that another of the `known` terms says; None where nothing is left."""

        def said(part: Term) -> bool:
            return any((other := known(j)) is not None and implied(part, other) for j in self.candidates(part))

        if said(term):
            return None
        for key, c in term.items():
            listing = c.listing
            if listing is None or c.tests is None or (len(listing.values) == 1 and not c.absent):
                continue
            others = c.tests - {listing}
            kept = [
                v
                for v in sorted(listing.values)
                if not said({**term, key: Constraint(c.absent, others | {among((v,))})})
            ]
            if not kept:
                return None
            if len(kept) < len(listing.values):
                term = {**term, key: Constraint(c.absent, others | {among(kept)})}
        return term


def _prefix(c: Constraint) -> str | None:
    return next((t.value for t in c.tests or () if t.kind is TestKind.PREFIX and not t.negated), None)


def merged(terms: Sequence[Term]) -> list[Term]:
    """The disjunction with terms that differ in one attribute alone as one, as far as that can be said."""
    found = list(terms)
    while True:
        keys = [key for key, n in Counter(k for term in found for k in term).items() if n > 1]
        tried = [again for key in keys if len(again := _merged_on(found, key)) < len(found)]
        if not tried:
            return found
        found = min(tried, key=len)


def _merged_on(terms: Sequence[Term], key: Key) -> list[Term]:
    groups: dict[frozenset[tuple[Key, Constraint]], list[Constraint]] = {}
    others: list[Term] = []
    for term in terms:
        if key in term:
            rest = frozenset((k, c) for k, c in term.items() if k != key)
            groups.setdefault(rest, []).append(term[key])
        else:
            others.append(term)
    for rest, given in groups.items():
        others.extend({**dict(rest), key: c} for c in (either(given) if len(given) > 1 else given))
    return distinct(others)
