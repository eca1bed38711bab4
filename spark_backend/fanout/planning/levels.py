"""Keys of topic filters: which levels of a topic an event is asked for.

Filters whose wildcards stand at the same places have one mask, and an event is looked up once for each mask: by the
levels that the mask keeps. So `t/+/state` and `t/+/alarm` are found by the first and third level of a topic of three.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tricel.compiler.patterns.topic_filters import ONE, REST

from ...sql import (
    Lambda,
    Operand,
    Sql,
    Variable,
    case,
    children,
    function,
    get,
    integer,
    lambda2,
    literal,
    operator,
    topics,
    when,
)
from ...sql.names import Names

MOST_SLOTS = 24
"""Masks that one event may be looked up by, besides those of prefixes."""
MOST_MASKS = 48
"""Masks in all: those of topics of different numbers of levels share the lookups of an event."""
DEEPEST = 12
"""Levels that may be asked for; a filter that has literal levels further on goes by those before."""
_PREFIXES = 4
"""Levels of the prefixes that stand in for masks that there are too many of."""
Answer: TypeAlias = tuple[bytes, ...]
"""The levels of a filter at the places of a mask."""


@dataclass(frozen=True, slots=True, order=True)
class Mask:
    """Levels that are asked for, counted from 0. `count` is how many levels the topic has; 0: any number."""

    places: tuple[int, ...]
    count: int

    def of(self, filter_: str) -> Answer:
        """What a topic that the filter matches has at these places."""
        words = filter_.split("/")
        return tuple(words[i].encode() for i in self.places)

    def covers(self, other: Mask) -> bool:
        """Whether a filter of the other mask may go by this one."""
        return self.count in (0, other.count) and set(self.places) <= set(other.places)

    def __str__(self) -> str:
        places = ", ".join(str(i + 1) for i in self.places)
        of = f" of {self.count}" if self.count else ""
        return f"levels {places}{of}" if places else f"number of levels, {self.count}"


def mask_of(filter_: str) -> Mask | None:
    """The mask of a filter with wildcards; None for one that says nothing of any level, nor how many there are."""
    words = filter_.split("/")
    rest = words[-1] == REST
    places = tuple(i for i, word in enumerate(words[:DEEPEST]) if word not in (ONE, REST))
    return Mask(places, 0 if rest else len(words)) if places or not rest else None


def masks(counts: Mapping[str, int], pair_cost: float) -> dict[str, Mask | None]:
    """The mask that each filter goes by, None for the key of all; `counts` are how often a filter is there.

    A mask is kept where the pairs that it spares cost more than a lookup, and there are not too many of them.
    """
    own = {f: mask_of(f) for f in counts}
    return _Choice(counts, own).chosen(pair_cost)


@dataclass
class _Choice:
    counts: Mapping[str, int]
    by: dict[str, Mask | None]
    filters: dict[Mask, list[str]] = field(default_factory=lambda: defaultdict(list))
    crowds: Counter[tuple[Mask, Answer]] = field(default_factory=Counter)

    def chosen(self, pair_cost: float) -> dict[str, Mask | None]:
        for filter_, mask in self.by.items():
            if mask is not None:
                self._put(filter_, mask)
        total = max(1, sum(self.counts.values()))
        for mask in sorted(self.filters, key=lambda m: (sum(self.counts[f] for f in self.filters[m]), m)):
            too_many = _slots(self.filters) > MOST_SLOTS or len(self.filters) > MOST_MASKS
            others = {m for m in self.filters if m != mask and m.covers(mask)}
            if too_many:
                lead = next((i for i, place in enumerate((*mask.places, -1)) if place != i), 0)
                if lead:
                    others.add(Mask(mask.places[: min(lead, _PREFIXES)], 0))
                elif not any(m.places for m in others) and mask.places:
                    others.add(Mask(mask.places[:1], 0))
            others.discard(mask)
            instead = max(others, key=lambda m: (len(m.places), m.count, m), default=None)
            if instead is None:  # it asks for a number of levels alone, and there are few of those
                continue
            if too_many or self._more(mask, instead) / total * pair_cost < 1:
                self._move(mask, instead)
        return self.by

    def _put(self, filter_: str, mask: Mask) -> None:
        self.filters[mask].append(filter_)
        self.crowds[mask, mask.of(filter_)] += self.counts[filter_]

    def _more(self, mask: Mask, instead: Mask) -> float:
        """Pairs of filters that come to share a key."""
        moved = self.filters[mask]
        joined: Counter[Answer] = Counter()
        before: Counter[Answer] = Counter()
        for filter_ in moved:
            joined[instead.of(filter_)] += self.counts[filter_]
            before[mask.of(filter_)] += self.counts[filter_]
        after = sum(n * n + 2 * n * self.crowds[instead, answer] for answer, n in joined.items())
        return after - sum(n * n for n in before.values())

    def _move(self, mask: Mask, instead: Mask) -> None:
        for filter_ in self.filters.pop(mask):
            self.by[filter_] = instead
            self._put(filter_, instead)


def _slots(masks: Iterable[Mask]) -> int:
    """Lookups that one event needs: masks of topics of different numbers of levels share one."""
    counts = Counter(m.count for m in masks)
    of_any = counts.pop(0, 0)
    return of_any + max(counts.values(), default=0)


def keys(asked: Iterable[tuple[int, Mask]], number: int, names: Names, key: Callable[[Sql, int], Sql]) -> list[Sql]:
    """What an event is looked up by for masks of one topic: an array's items, NULL where a topic has no such levels.

    `asked` are the positions of the questions, each with its mask, and `key` makes a key of a hash and a position.
    """
    found: list[Sql] = []
    by_count: dict[int, list[Sql]] = defaultdict(list)
    count = names.column(_count(number))
    for position, mask in asked:
        made: Sql = literal(0)
        for place in mask.places:
            made = function("xxhash64", made, names.column(_level(number, place)))
        if mask.count:
            by_count[mask.count].append(key(made, position))
        else:
            found.append(when(operator(">", count, integer(mask.places[-1])), key(made, position)))
    for i in range(max(map(len, by_count.values()), default=0)):
        branches = [(integer(n), some[i]) for n, some in sorted(by_count.items()) if i < len(some)]
        found.append(case(*branches, subject=count))
    return found


def hash_of(levels: Operand) -> Sql:
    """The hash of an answer that is a list of levels, as `keys` makes it."""
    return function(
        "aggregate", levels, 0, lambda2(lambda made, x: function("xxhash64", made, function("xxhash64", x)))
    )


def split(found: Mapping[int, Sql], names: Names) -> dict[str, Sql]:
    """The columns of the levels of topics, by name."""
    return {names.of(_levels(number)): topics.levels(topic) for number, topic in found.items()}


def hashes(masks: Iterable[Mask], number: int, names: Names) -> dict[str, Sql]:
    """The columns that `keys` reads, by name: how many levels a topic has, and hashes of levels."""
    levels = names.column(_levels(number))
    places = sorted({place for mask in masks for place in mask.places})
    found: dict[str, Sql] = {names.of(_count(number)): function("array_size", levels)}
    found |= {names.of(_level(number, i)): function("xxhash64", get(levels, i)) for i in places}
    return found


def _levels(number: int) -> str:
    return f"levels{number}"


def _count(number: int) -> str:
    return f"count{number}"


def _level(number: int, place: int) -> str:
    return f"level{number}_{place}"


@dataclass
class Subjects:
    """The topics whose levels are columns, by the SQL of the topic, each with its number."""

    found: dict[Sql, int] = field(default_factory=dict)

    def levels(self, topic: Sql, names: Names) -> Sql | None:
        """The column of the levels of a topic; None for one that there may be many of in an event."""
        if _is_open(topic, ()):
            return None
        return names.column(_levels(self.found.setdefault(topic, len(self.found))))


def _is_open(node: Sql, bound: tuple[Variable, ...]) -> bool:
    """Whether a node names a variable that is bound outside of it."""
    if isinstance(node, Variable):
        return node not in bound
    inner = (*bound, *node.variables) if isinstance(node, Lambda) else bound
    return any(_is_open(child, inner) for child in children(node))
