"""What fan-out does for one set of filters, chosen by cost and explained as text. No Spark."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from tricel.compiler import CompileError, Environment
from tricel.compiler import celtypes as t
from tricel.compiler.analysis.covers import ALL, Covers, Every, Outcome
from tricel.compiler.faults import bounded
from tricel.compiler.nodes import Call, Expr
from tricel.compiler.patterns import topic_filters

from ...compiled_filter import CompiledFilter
from ...sql import Sql, cast, function, integer, render
from ...sql.layout import Layout
from ...sql.names import Names
from .levels import Answer, Mask, masks
from .probes import Cover, Key, Probe, SqlProber
from .shapes import Member, Shape, Shapes
from .skeletons import Value

MAX_PROBES = 48
"""Things that one event may be asked; filters that no probe is left for are tried on every event."""
MAX_LENGTHS = 6
"""Lengths of prefixes, or of suffixes, of one value that events are probed by; a longer one goes by its beginning."""
MAX_PLAIN = 1_000
"""Characters of SQL up to which several filters may be plain conditions: more make one method too long to be compiled."""
_PAIR = 60
"""Characters that a filter's pair counts for besides its condition."""
_MOST_TRIED = 24
"""Lengths of prefixes, or of suffixes, that are weighed against each other."""
_PROBE_COST, _CANDIDATE_COST, _PLAIN_COST, _JOIN_COST = 1.0, 3.0, 2.0, 5.0
_ABSENT = {True: 0.0005, False: 0.25}
_TRUE, _TRUE_OR_ERROR = Outcome.TRUE, Outcome.TRUE | Outcome.ERROR

KeyValue: TypeAlias = bytes | float | int | Answer
"""The answer to a question, as it is hashed; a string is its UTF-8, and a topic its levels at the places of a mask."""


class Trigger(Protocol):
    """A filter with a name."""

    @property
    def id(self) -> str:
        """The trigger's name, unique in its set."""

    @property
    def compiled(self) -> CompiledFilter:
        """Its filter."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A probe as events are asked it: of `length` bytes of the value's UTF-8; 0: the whole, or the levels of a `mask`.

    Bytes are found faster than code points, and a text begins with another when its bytes do.
    """

    probe: Probe
    length: int
    mask: Mask | None = None

    @property
    def sql(self) -> Sql:
        """The answer of an event; that to a mask is made of what `levels.keys` knows."""
        value = self.probe.sql
        if self.probe.how == "equals":
            return value + 0.0 if self.probe.type == t.DOUBLE else value
        start = 1 if self.probe.how == "prefix" else -self.length
        return function("substring", cast(value, "BINARY"), integer(start), integer(self.length))

    def __str__(self) -> str:
        """The question in words."""
        if self.mask is not None:
            return f"{self.mask} of {self.probe.cel}"
        whole = self.probe.how == "equals"
        return self.probe.cel if whole else f"{self.probe.how} of {self.length} of {self.probe.cel}"


@dataclass(frozen=True, slots=True)
class Entry:
    """Keys of one filter that answer one question: the position of the question, and the answers; None is no value.

    `earlier` are the filter's keys for other questions that come before: an event that has one is met there.
    """

    member: Member
    asked: int
    values: tuple[KeyValue | None, ...]
    earlier: tuple[tuple[int, KeyValue | None], ...]


@dataclass(frozen=True)
class Plan:
    """The filters by shape, what events are asked, and each filter's keys. Position 0 of `asked` is the key of all.

    `topics` are the topics whose levels are asked for or compared, by number. `counted` are the ids of filters whose errors
    matter, and which have keys for them.
    """

    names: Names
    members: tuple[Member, ...]
    shapes: tuple[Shape, ...]
    asked: tuple[Asked | None, ...]
    entries: tuple[Entry, ...]
    documents: Mapping[str, Sql]
    topics: Mapping[int, Sql]
    counted: frozenset[str]
    keyed_cost: float
    plain_cost: float

    @property
    def conditions(self) -> bool:
        """Whether each filter is better evaluated on every event, as a condition of its own."""
        size = sum(m.shape.sql.extent.length + _PAIR for m in self.members)
        return self.plain_cost <= self.keyed_cost and (len(self.members) <= 1 or size <= MAX_PLAIN)

    @property
    def every(self) -> int:
        """How many filters are tried on every event."""
        return sum(1 for e in self.entries if e.asked == 0)

    @property
    def never(self) -> int:
        """How many filters no event can pass."""
        return len(self.members) - len({id(e.member) for e in self.entries})


def plan(
    triggers: Sequence[Trigger], layouts: Mapping[Environment, Layout], names: Names, *, errors: Iterable[str] = ()
) -> Plan:
    """The cheapest plan known. `errors` are the ids of triggers whose errors matter: counted, delivered or fatal.

    Raises:
        CompileError: where a filter does not fit the columns' types, or neither Spark nor its engine can evaluate it.
    """
    shapes = Shapes(names, layouts)
    members = tuple(shapes.member(trigger.id, trigger.compiled) for trigger in triggers)
    counted = frozenset(errors)
    keys = _Keys(shapes, members, counted)
    chosen = keys.chosen()
    entries, asked = _entries(members, chosen, counted)
    keyed = _PROBE_COST * len(asked) + _JOIN_COST + _CANDIDATE_COST * keys.candidates(chosen)
    plain = _PLAIN_COST * len(members)
    for question in asked:
        if question is not None and question.mask is not None:
            shapes.subjects.levels(question.probe.sql, names)
    numbered = {n: topic for topic, n in shapes.subjects.found.items()}
    documents = keys.documents(asked)
    return Plan(names, members, tuple(shapes.found), asked, entries, documents, numbered, counted, keyed, plain)


@dataclass
class _Keys:
    """The choice of covers: few questions, few candidates."""

    shapes: Shapes
    members: tuple[Member, ...]
    counted: frozenset[str]
    _covers: dict[int, tuple[Covers[Probe], SqlProber, tuple[Expr, ...]] | None] = field(default_factory=dict)
    _values: dict[Probe, set[object]] = field(default_factory=lambda: defaultdict(set))
    _removed: set[Probe] = field(default_factory=set)

    def chosen(self) -> dict[tuple[int, bool], Cover]:
        """The cover of each shape, by its number and whether errors matter."""
        groups = Counter((m.shape.number, m.id in self.counted) for m in self.members)
        for number, errors in groups:
            self._cover(number, errors)
        self._collect()
        found = {group: self._cover(*group) for group in groups}
        users: dict[Probe, set[tuple[int, bool]]] = defaultdict(set)
        for group, cover in found.items():
            for probe in _probes(cover):
                users[probe].add(group)
        by_use = sorted(users, key=lambda p: sum(groups[g] for g in users[p]))
        for i, probe in enumerate(by_use):
            if not users[probe]:
                continue
            using = [g for g in users[probe] if probe in _probes(found[g])]
            before = sum(groups[g] * self.cost(found[g]) for g in using)
            self._removed.add(probe)
            after = {g: self._cover(*g) for g in using}
            more = sum(groups[g] * self.cost(cover) for g, cover in after.items()) - before
            if more * _CANDIDATE_COST < _PROBE_COST or len(by_use) - i > MAX_PROBES:
                for g, cover in after.items():
                    found[g] = cover
                    for other in _probes(cover):
                        users[other].add(g)
            else:
                self._removed.discard(probe)
        return found

    def candidates(self, chosen: Mapping[tuple[int, bool], Cover]) -> float:
        """Filters that one event is a candidate for, as far as the constants tell."""
        groups = Counter((m.shape.number, m.id in self.counted) for m in self.members)
        return sum(count * self.cost(chosen[group]) for group, count in groups.items())

    def documents(self, asked: Iterable[Asked | None]) -> dict[str, Sql]:
        """The JSON texts that shapes and questions read: the name of the parsed value, and what parses it."""
        names = self.shapes.names
        found = {names.document(k): sql for shape in self.shapes.found for k, sql in shape.documents.items()}
        wanted = {k for a in asked if a is not None for k in a.probe.documents}
        for known in self._covers.values():
            if known is not None:
                read = known[1].walk.documents
                found.update({names.document(k): sql for k, sql in read.items() if k in wanted})
        return found

    def cost(self, cover: Cover) -> float:
        """Candidates for one event, as far as the constants tell."""
        return sum(map(self._key_cost, cover))

    def _key_cost(self, key: Key | Every) -> float:
        if isinstance(key, Every) or key.probe in self._removed:
            return 1.0
        if key.hole is None:
            return _ABSENT[key.probe.always]
        dearer = 1.0 if key.probe.how == "equals" else 1.5 if key.probe.how == "prefix" else 2.0
        dearer *= 1.0 if key.probe.always else 1.2 if key.probe.documents else 1.1
        return min(0.5, dearer / max(1, len(self._values[key.probe])))

    def _cover(self, number: int, errors: bool) -> Cover:
        """The cheapest cover of a shape without the removed probes; of one that a fault of ours befalls, every event."""

        def every(_: Exception) -> Cover:
            self._covers[number] = None
            return ALL

        return bounded(lambda: self._cheapest(number, errors), every)

    def _cheapest(self, number: int, errors: bool) -> Cover:
        if number not in self._covers:
            self._covers[number] = self._read(self.shapes.found[number])
        known = self._covers[number]
        if known is None:
            return ALL
        covers, _, conjuncts = known
        wanted = _TRUE_OR_ERROR if errors else _TRUE
        cover = covers.of_conjuncts(conjuncts, self.shapes.found[number].residual, wanted)
        return ALL if any(isinstance(k, Every) or k.probe in self._removed for k in cover) else cover

    def _read(self, shape: Shape) -> tuple[Covers[Probe], SqlProber, tuple[Expr, ...]] | None:
        try:
            checked = self.shapes.checked(shape)
        except CompileError:
            return None
        names = self.shapes.names
        holes = {names.hole(i): i for i in range(len(shape.slots))}
        e = checked.expr
        conjuncts = e.args if len(shape.parts) > 1 and isinstance(e, Call) else (e,)
        prober = SqlProber(self.shapes.lowering(checked, shape))
        return Covers(checked, prober, holes, self.cost), prober, conjuncts

    def _collect(self) -> None:
        """The constants that each probe is compared with, in all filters."""
        holes: dict[int, set[tuple[Probe, int]]] = {}
        for number, known in self._covers.items():
            holes[number] = set() if known is None else known[0].asked
        for member in self.members:
            for probe, hole in holes[member.shape.number]:
                value = member.values[hole]
                self._values[probe].update(value if isinstance(value, tuple) else (value,))


def _probes(cover: Cover) -> set[Probe]:
    return {k.probe for k in cover if not isinstance(k, Every)}


def _entries(
    members: tuple[Member, ...], chosen: Mapping[tuple[int, bool], Cover], counted: frozenset[str]
) -> tuple[tuple[Entry, ...], tuple[Asked | None, ...]]:
    """Each filter's keys, and the questions they answer."""
    answers: list[tuple[Member, list[tuple[Probe, Value | None]] | None]] = []
    parts: dict[Probe, Counter[str]] = defaultdict(Counter)
    filters: dict[Probe, Counter[str]] = defaultdict(Counter)
    for member in members:
        cover = chosen[member.shape.number, member.id in counted]
        found: list[tuple[Probe, Value | None]] | None = []
        for key in sorted(cover, key=_order):
            if isinstance(key, Every):
                found = None
                break
            for value in _key_values(key, member):
                assert found is not None
                found.append((key.probe, value))
                if key.probe.how == "filter":
                    if isinstance(value, str) and topic_filters.is_wild(value):
                        filters[key.probe][value] += 1
                elif key.probe.how != "equals" and isinstance(value, str):
                    parts[key.probe][value] += 1
        answers.append((member, found))
    lengths = {probe: _lengths(probe, counts) for probe, counts in parts.items()}
    by_mask = {probe: masks(counts, _CANDIDATE_COST / _PROBE_COST) for probe, counts in filters.items()}
    asked: dict[Asked | None, int] = {None: 0}
    entries = []
    for member, found in answers:
        keys = _questions(found, lengths, by_mask)
        if keys is None:
            entries.append(Entry(member, 0, (None,), ()))
            continue
        earlier: list[tuple[int, KeyValue | None]] = []
        for question, values in keys.items():
            position = asked.setdefault(question, len(asked))
            entries.append(Entry(member, position, tuple(values), tuple(earlier)))
            earlier += [(position, v) for v in values]
    return tuple(entries), tuple(asked)


def _order(key: Key | Every) -> tuple[str, ...]:
    return () if isinstance(key, Every) else (render(key.probe.sql), key.probe.how, str(key.hole))


def _key_values(key: Key, member: Member) -> tuple[Value | None, ...]:
    if key.hole is None:
        return (None,)
    value = member.values[key.hole]
    return value if isinstance(value, tuple) else (value,)


def _answer(probe: Probe, value: Value | None) -> KeyValue | None:
    """A constant as the answer to the whole question."""
    match value:
        case str():
            return value.encode()
        case int() | float():
            return float(value) + 0.0 if probe.type == t.DOUBLE else int(value)
        case _:
            return None


def _lengths(probe: Probe, counts: Counter[str]) -> tuple[int, ...]:
    """The lengths to probe by: the shortest, and those that spare more candidates than the probe costs."""
    used = sorted({len(text.encode()) for text in counts} - {0})
    if len(used) > _MOST_TRIED:
        used = [used[i * (len(used) - 1) // (_MOST_TRIED - 1)] for i in range(_MOST_TRIED)]
    chosen = used
    crowding = _crowding(probe, counts, chosen) if chosen else 0.0
    while len(chosen) > 1:
        fewer = [(_crowding(probe, counts, rest), rest) for n in chosen[1:] if (rest := [m for m in chosen if m != n])]
        least, rest = min(fewer)
        if len(chosen) <= MAX_LENGTHS and (least - crowding) * _CANDIDATE_COST > _PROBE_COST:
            break
        chosen, crowding = rest, least
    return tuple(chosen)


def _crowding(probe: Probe, counts: Counter[str], lengths: Sequence[int]) -> float:
    """Filters that share the key of an event, if events are spread as filters are."""
    groups: Counter[bytes] = Counter()
    for text, n in counts.items():
        groups[_cut(probe, text, lengths)[1]] += n
    return sum(n * n for n in groups.values()) / counts.total()


def _cut(probe: Probe, text: str, lengths: Iterable[int]) -> tuple[int, bytes]:
    """The part of a constant that events are probed by, and its length."""
    whole = text.encode()
    length = max((n for n in lengths if n <= len(whole)), default=0)
    return length, whole[len(whole) - length :] if probe.how == "suffix" else whole[:length]


def _questions(
    found: list[tuple[Probe, Value | None]] | None,
    lengths: Mapping[Probe, tuple[int, ...]],
    by_mask: Mapping[Probe, Mapping[str, Mask | None]],
) -> dict[Asked, dict[KeyValue | None, None]] | None:
    """The keys of one filter by question; None where one of them is the key of all."""
    if found is None:
        return None
    questions: dict[Asked, dict[KeyValue | None, None]] = {}
    for probe, value in found:
        length, answer = 0, _answer(probe, value)
        if probe.how == "filter":
            if isinstance(value, str) and topic_filters.is_wild(value):
                mask = by_mask[probe][value]
                if mask is None:
                    return None
                questions.setdefault(Asked(probe, 0, mask), {})[mask.of(value)] = None
                continue
            probe = replace(probe, how="equals")  # a filter without wildcards is a topic; no topic is an answer to both
        if probe.how != "equals":
            length = next(iter(lengths.get(probe, ())), 1)
            if isinstance(value, str):
                length, answer = _cut(probe, value, lengths.get(probe, ()))
            if length == 0:
                return None
        questions.setdefault(Asked(probe, length), {})[answer] = None
    return questions
