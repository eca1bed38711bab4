"""A disjunction of terms made smaller than it can be said: it then holds for more events, and never for fewer.

What is given up is chosen by how many more events are let in for each node that it saves. Shares of events are
estimated: the values of an attribute that filters name count alike, and together for half of those that it has; the
others begin as those do, the fewer with a prefix the longer it is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import TypeAlias

from .attribute_tests import Constraint, Key, Test, among
from .constraints import TestKind
from .disjunctions import TRUE, Term, simplified

_ROUNDS = 40
_NAMED, _ABSENT = 0.5, 0.5
_CALL = 4
"""Nodes of `ce.x.startsWith("p")`."""
_SHARES = {TestKind.SUFFIX: 0.05, TestKind.CONTAINS: 0.1, TestKind.MATCHES: 0.2, TestKind.ORDER: 0.5}
_Rest: TypeAlias = frozenset[tuple[Key, Constraint]]


def widened(terms: list[Term], size: Callable[[Sequence[Term]], int], most: int) -> list[Term]:
    """Terms that hold wherever the given ones do, and are of `most` nodes; `size` counts those of terms."""
    found, eager = terms, 0.5
    now = size(found)
    for _ in range(_ROUNDS):
        if now <= most:
            return found
        again = simplified(_Round(found).cut((now - most) * eager))
        smaller = size(again)
        if smaller > now - (now - most) / 2:
            eager *= 2
        if smaller < now:
            found, now = again, smaller
    if now <= most:
        return found
    return next((hull for hull in _hulls(terms) if size(hull) <= most), [TRUE])


def _hulls(terms: Sequence[Term]) -> Iterable[list[Term]]:
    """What all terms say of one attribute: that it begins with some text."""
    for key in sorted(terms[0]) if terms else ():
        texts: list[str] = []
        for c in (term.get(key) for term in terms):
            begun = None if c is None or c.absent else next((t for t in c.tests or () if _is_begun(t)), None)
            if begun is None:
                break
            texts.extend(begun.values)
        else:
            shared = _shared(min(texts), max(texts))
            if shared:
                yield [{key: Constraint(False, frozenset({Test(TestKind.PREFIX, frozenset({shared}))}))}]


def _is_begun(test: Test) -> bool:
    return not test.negated and test.kind in (TestKind.AMONG, TestKind.PREFIX)


@dataclass
class _Cut:
    """Something to give up: of one term what it says of `key`, or of a group of texts all but their common `prefix`.

    Of the term `left` is then said of the key; None: nothing.

    `gain` is the share of events that it lets in for each of the nodes that are `saved`.
    """

    gain: float
    saved: int
    key: Key
    term: int = -1
    left: Constraint | None = None
    group: int = -1
    prefix: str = ""

    @property
    def loss(self) -> float:
        """The estimated share of events that are let in."""
        return self.gain * self.saved


@dataclass
class _Group:
    """Terms that are alike but for the texts that they list, or begin with, for one attribute."""

    terms: list[int] = field(default_factory=list)
    texts: dict[str, int] = field(default_factory=dict)


@dataclass
class _Round:
    """What may be given up of some terms, and what is."""

    terms: list[Term]

    def __post_init__(self) -> None:
        self.values: Mapping[Key, list[str]] = _named(self.terms)
        self.groups = list(_groups(self.terms))

    def cut(self, wanted: float) -> list[Term]:
        """The terms without the cheapest of it that saves so many nodes."""
        cuts = [*self._constraints(), *self._prefixes()]
        ways = [self._first(sorted(cuts, key=order), wanted) for order in (_by_gain, _by_loss)]
        ways += [[c] for c in cuts if c.saved >= wanted]
        enough = [way for way in ways if sum(c.saved for c in way) >= wanted] or ways[:1]
        return self._without(min(enough, key=lambda way: sum(c.loss for c in way)))

    def _first(self, cuts: Iterable[_Cut], wanted: float) -> list[_Cut]:
        """The first of the cuts that go together and save so many nodes."""
        found: list[_Cut] = []
        chosen: dict[int, list[str]] = defaultdict(list)
        taken: set[int] = set()
        for c in cuts:
            if wanted <= 0:
                break
            if c.group >= 0:
                group = self.groups[c.group][2]
                nested = any(p.startswith(c.prefix) or c.prefix.startswith(p) for p in chosen[c.group])
                if nested or (not chosen[c.group] and not taken.isdisjoint(group.terms)):
                    continue
                chosen[c.group].append(c.prefix)
                taken.update(group.terms)
            elif c.term in taken:
                continue
            else:
                taken.add(c.term)
            found.append(c)
            wanted -= c.saved
        return found

    def _without(self, cuts: Iterable[_Cut]) -> list[Term]:
        loosened = {c.term: c for c in cuts if c.group < 0}
        chosen: dict[int, list[str]] = defaultdict(list)
        for c in cuts:
            if c.group >= 0:
                chosen[c.group].append(c.prefix)
        regrouped = {i for g in chosen for i in self.groups[g][2].terms}
        found = [_loosened(term, loosened.get(i)) for i, term in enumerate(self.terms) if i not in regrouped]
        for g, prefixes in chosen.items():
            key, rest, group = self.groups[g]
            absent = any(self.terms[i][key].absent for i in group.terms)
            kept = [t for t in group.texts if not any(t.startswith(p) for p in prefixes)]
            listed = [t for t in kept if group.texts[t] == 1]
            tests = [Test(TestKind.PREFIX, frozenset({p})) for p in (*prefixes, *(t for t in kept if t not in listed))]
            tests += [among(listed)] if listed else []
            found.extend({**dict(rest), key: Constraint(absent, frozenset({t}))} for t in tests)
        return found

    def _constraints(self) -> Iterable[_Cut]:
        """Each constraint of each term that has another one, and each test of a constraint that has several."""
        for i, term in enumerate(self.terms):
            shares = {key: self._share(key, c) for key, c in term.items()}
            whole = prod(shares.values())
            for key, c in term.items():
                rest = [k for k in term if k != key]
                others = prod(shares[k] for k in rest)
                if rest:
                    saved = _nodes(key, c)
                    if len(rest) == 1 and (listing := term[rest[0]].listing) is not None:
                        saved += max(0, _nodes(rest[0], term[rest[0]]) - len(listing.values))
                    yield _Cut((others - whole) / saved, saved, key, term=i)
                tests = c.tests or frozenset()
                for test in tests if len(tests) > 1 else ():
                    left = Constraint(c.absent, tests - {test})
                    saved = _nodes(key, c) - _nodes(key, left)
                    yield _Cut((others * self._share(key, left) - whole) / saved, saved, key, term=i, left=left)

    def _prefixes(self) -> Iterable[_Cut]:
        """Each prefix that several texts of a group share."""
        for g, (key, rest, group) in enumerate(self.groups):
            others = prod(self._share(k, c) for k, c in rest)
            texts = sorted(group.texts)
            for prefix in dict.fromkeys(_shared(a, b) for a, b in pairwise(texts)):
                if not prefix:
                    continue
                some = texts[bisect_left(texts, prefix) : bisect_left(texts, prefix + "\U0010ffff")]
                left = [cost for t, cost in group.texts.items() if not t.startswith(prefix)]
                saved = _size(group.texts.values()) - _size([*left, _CALL])
                if saved > 0:
                    before = sum(self._share_of_text(key, t, listed=group.texts[t] == 1) for t in some)
                    more = max(0.0, self._share_of_text(key, prefix, listed=False) - before)
                    yield _Cut(others * more / saved, saved, key, group=g, prefix=prefix)

    def _share(self, key: Key, c: Constraint) -> float:
        """The estimated share of events that have the constraint."""
        present = 0.0 if c.tests is None else prod(self._share_of_test(key, t) for t in c.tests)
        return present if key.sure else (1 - _ABSENT) * present + (_ABSENT if c.absent else 0.0)

    def _share_of_test(self, key: Key, test: Test) -> float:
        if test.is_listing:
            share = min(1.0, sum(self._share_of_text(key, t, listed=True) for t in test.values))
        elif test.kind is TestKind.AMONG:
            return 1 - min(0.9, sum(self._share_of_text(key, t, listed=True) for t in test.values))
        elif test.kind is TestKind.PREFIX:
            share = self._share_of_text(key, test.value, listed=False)
        else:
            share = 0.5 if test.kind is None else _SHARES[test.kind]
        return 1 - share if test.negated else share

    def _share_of_text(self, key: Key, text: str, *, listed: bool) -> float:
        values = self.values.get(key, [])
        one = _NAMED / (len(values) + 1)
        if listed:
            return one
        named = bisect_left(values, text + "\U0010ffff") - bisect_left(values, text)
        longest = max(map(len, values), default=0) + 1
        return one * max(named, 1) + one * max(named, 1) * (1 - len(text) / longest)


def _shared(a: str, b: str) -> str:
    """The longest text that both begin with."""
    length = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return a[:length]


def _by_gain(cut: _Cut) -> float:
    return cut.gain


def _by_loss(cut: _Cut) -> float:
    return cut.loss


def _loosened(term: Term, cut: _Cut | None) -> Term:
    if cut is None:
        return term
    return {k: c if k != cut.key else cut.left for k, c in term.items() if k != cut.key or cut.left is not None}  # type: ignore[misc]


def _named(terms: Iterable[Term]) -> dict[Key, list[str]]:
    """The texts that the terms name of each attribute, in order."""
    found: dict[Key, set[str]] = defaultdict(set)
    for term in terms:
        for key, c in term.items():
            for test in c.tests or ():
                if test.kind in (TestKind.AMONG, TestKind.PREFIX):
                    found[key] |= test.values
    return {key: sorted(texts) for key, texts in found.items()}


def _groups(terms: Sequence[Term]) -> Iterable[tuple[Key, _Rest, _Group]]:
    found: dict[tuple[Key, _Rest], _Group] = defaultdict(_Group)
    for i, term in enumerate(terms):
        for key, c in term.items():
            only = c.alone
            if only is None or only.negated or only.kind not in (TestKind.AMONG, TestKind.PREFIX):
                continue
            group = found[key, frozenset((k, v) for k, v in term.items() if k != key)]
            group.terms.append(i)
            cost = 1 if only.is_listing else _CALL
            group.texts |= {t: max(cost, group.texts.get(t, 0)) for t in only.values}
    return ((key, rest, group) for (key, rest), group in found.items() if len(group.texts) > 1)


def _size(costs: Iterable[int]) -> int:
    """The nodes of tests of one attribute: of texts that are listed together, and of prefixes."""
    given = list(costs)
    listed, prefixes = given.count(1), len(given) - given.count(1)
    listing = 0 if not listed else _CALL if listed == 1 else _CALL + listed
    return listing + _CALL * prefixes + (1 if prefixes + bool(listed) > 1 else 0)


def _nodes(key: Key, c: Constraint) -> int:
    """About how many nodes the constraint has."""
    tests = sum(_CALL if len(t.values) <= 1 else _CALL + len(t.values) for t in c.tests or ())
    return max(1, tests + (0 if key.sure else 2 * len(key.names)))
