"""What fan-out chose, and why, as text."""

from __future__ import annotations

from collections import Counter

from .plan import Plan


def explain(plan: Plan) -> str:
    """The plan for people: how filters are evaluated, what events are asked, which filters see every event."""
    count, shapes = len(plan.members), len(plan.shapes)
    lines = [f"{_number(count, 'filter')} of {_number(shapes, 'shape')}: {_choice(plan)}"]
    if plan.conditions:
        return "\n".join(lines)
    keys: Counter[int] = Counter()
    for entry in plan.entries:
        keys[entry.asked] += len(entry.values)
    for position, asked in enumerate(plan.asked):
        if asked is not None and keys[position]:
            lines.append(f"  each event is asked for {asked}: {_number(keys[position], 'key')}")
    if plan.every:
        lines.append(f"  tried on every event, for they need no key: {_number(plan.every, 'filter')}")
        named = ", ".join(e.member.id for e in plan.entries if e.asked == 0)
        lines.append(f"    {named if len(named) < 200 else named[:200] + ' ...'}")
        if plan.every > 100:
            lines.append(f"  warning: the cost grows with those {plan.every:,}; give them an equality on an attribute")
    if plan.never:
        lines.append(f"  never true, and not looked at: {_number(plan.never, 'filter')}")
    residual = sum(1 for m in plan.members if m.residual is not None)
    if residual:
        lines.append(f"  evaluated by the fallback, on candidates only: {_number(residual, 'filter')}")
    return "\n".join(lines)


def _choice(plan: Plan) -> str:
    if plan.conditions:
        return f"plain conditions, about {plan.plain_cost:.0f} units of work for an event against {plan.keyed_cost:.0f}"
    return f"fan-out by keys, about {plan.keyed_cost:.0f} units of work for an event against {plan.plain_cost:.0f}"


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")
