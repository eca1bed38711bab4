"""What fan-out chose, and why, as text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from .plan import KeyValue, Plan
from .shapes import Shape

_MOST = 20
"""Lines of one kind."""
_CROWDED = 100
"""Filters under one key from which on the plan says so."""
_WIDTH = 200


def explain(plan: Plan) -> str:
    """The plan for people: how filters are evaluated, what events are asked, which filters see every event."""
    count, shapes = len(plan.members), len({m.shape.number for m in plan.members})
    lines = [f"{_number(count, 'filter')} of {_number(shapes, 'shape')}: {_choice(plan)}"]
    if not plan.conditions:
        lines += [*_asked(plan), *_every(plan), *_crowded(plan), *_never(plan)]
    lines += [*_shapes(plan), *_fallback(plan)]
    return "\n".join(lines)


def _choice(plan: Plan) -> str:
    if plan.conditions:
        return f"plain conditions, about {plan.plain_cost:.0f} units of work for an event against {plan.keyed_cost:.0f}"
    why = " of plain conditions, too much code for the JVM to compile" if plan.plain_cost <= plan.keyed_cost else ""
    return f"fan-out by keys, about {plan.keyed_cost:.0f} units of work for an event against {plan.plain_cost:.0f}{why}"


def _asked(plan: Plan) -> Iterator[str]:
    counted = len(plan.counted)
    if counted == len(plan.members):
        yield "  a filter's keys are those without which it is neither true nor errs"
    else:
        but = f"; for {_number(counted, 'filter')} nor errs" if counted else ""
        yield f"  a filter's keys are those without which it is not true{but}"
    keys: dict[int, set[KeyValue | None]] = defaultdict(set)
    filters: Counter[int] = Counter()
    for entry in plan.entries:
        keys[entry.asked].update(entry.values)
        filters[entry.asked] += 1
    for position, asked in enumerate(plan.asked):
        if asked is not None and keys[position]:
            found = _number(len(keys[position]), "key")
            yield f"  each event is asked for {asked}: {found} of {_number(filters[position], 'filter')}"


def _every(plan: Plan) -> Iterator[str]:
    if not plan.every:
        return
    yield f"  tried on every event, for they need no key: {_number(plan.every, 'filter')}"
    yield f"    {_cut(', '.join(e.member.id or e.member.shape.cel for e in plan.entries if e.asked == 0))}"
    if plan.every > 100:
        yield f"  warning: the cost grows with those {plan.every:,}; give them an equality on an attribute"


def _crowded(plan: Plan) -> Iterator[str]:
    """The keys that many filters share: an event that has one is a candidate of all of them."""
    users: Counter[tuple[int, KeyValue | None]] = Counter()
    for entry in plan.entries:
        if entry.asked:
            users.update((entry.asked, value) for value in entry.values)
    crowded = [(key, n) for key, n in users.most_common() if n >= _CROWDED and not _never_absent(plan, *key)]
    for (position, value), n in crowded[:_MOST]:
        if value is None:
            yield f"  where {plan.asked[position]} is absent: {n:,} filters, all tried on such an event"
        else:
            yield f"  under the key {plan.asked[position]} {_answer(value)}: {n:,} filters, all tried on such an event"


def _never_absent(plan: Plan, position: int, value: KeyValue | None) -> bool:
    """Whether this is the key of events that lack what every event has."""
    asked = plan.asked[position]
    return value is None and asked is not None and asked.probe.always


def _never(plan: Plan) -> Iterator[str]:
    if plan.never:
        outcome = "true, nor in error," if len(plan.counted) == len(plan.members) else "true,"
        yield f"  never {outcome} and not looked at: {_number(plan.never, 'filter')}"


def _shapes(plan: Plan) -> Iterator[str]:
    users = Counter(m.shape.number for m in plan.members)
    questions: dict[int, set[int]] = defaultdict(set)
    for entry in plan.entries:
        questions[entry.member.shape.number].add(entry.asked)
    named = {s.number: s for s in plan.shapes}
    for number, n in users.most_common(_MOST):
        asked = [_question(plan, i) for i in sorted(questions[number])]
        by = "" if plan.conditions else f" by {', '.join(dict.fromkeys(asked)) or 'nothing'}"
        yield f"  shape of {_number(n, 'filter')}{by}: {_cut(named[number].cel)}"
    if len(users) > _MOST:
        yield f"  and {_number(len(users) - _MOST, 'shape')} more"


def _question(plan: Plan, position: int) -> str:
    asked = plan.asked[position]
    if asked is None:
        return "*"
    if asked.mask is not None:
        return f"levels of {asked.probe.cel}"
    return asked.probe.cel if asked.probe.how == "equals" else f"{asked.probe.how} of {asked.probe.cel}"


def _fallback(plan: Plan) -> Iterator[str]:
    """The filters that Spark does not evaluate alone, by what it has no form of."""
    residual = [m for m in plan.members if m.residual is not None]
    if not residual:
        return
    where = "" if plan.conditions else ", on candidates only"
    yield f"  evaluated by the fallback{where}: {_number(len(residual), 'filter')}"
    reasons: Counter[tuple[str, str]] = Counter()
    for m in residual:
        reasons.update(_reasons(m.shape))
    for (cel, reason), n in reasons.most_common(_MOST):
        yield f"    {_number(n, 'filter')}: {_cut(cel)}, because of {reason}"


def _reasons(shape: Shape) -> Iterable[tuple[str, str]]:
    for position, reason in zip(shape.residual, shape.reasons, strict=True):
        yield shape.part(position), reason


def _answer(value: KeyValue) -> str:
    if isinstance(value, tuple):
        return _cut(repr("/".join(level.decode("utf-8", "replace") for level in value)))
    return _cut(repr(value.decode("utf-8", "replace") if isinstance(value, bytes) else value))


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else text[:_WIDTH] + " ..."


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")
