"""Changes of a list of policies: another order, and another configuration merged in (EMQX, "Schema Validation")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from .model import Policy


@dataclass(frozen=True, slots=True)
class NotAnOrder:
    """Why names are no order of policies: all of them are to be named, each once."""

    not_found: tuple[str, ...] = ()
    duplicated: tuple[str, ...] = ()
    not_reordered: tuple[str, ...] = ()


def reordered(policies: Sequence[Policy], names: Sequence[str]) -> tuple[Policy, ...] | NotAnOrder:
    """The policies in the order of their names; or why that is none."""
    known = {policy.name: policy for policy in policies}
    wrong = NotAnOrder(
        tuple(dict.fromkeys(name for name in names if name not in known)),
        tuple(name for name, count in Counter(names).items() if count > 1 and name in known),
        tuple(name for name in known if name not in set(names)),
    )
    if wrong != NotAnOrder():
        return wrong
    return numbered(known[name] for name in names)


def merged(policies: Sequence[Policy], others: Iterable[Policy]) -> tuple[Policy, ...]:
    """The policies as they are, and behind them those of the others whose names they do not have."""
    known = {policy.name for policy in policies}
    return numbered([*policies, *(p for p in others if p.name not in known)])


def numbered(policies: Iterable[Policy]) -> tuple[Policy, ...]:
    """The policies with their places as their order."""
    return tuple(replace(policy, order=number) for number, policy in enumerate(policies))
