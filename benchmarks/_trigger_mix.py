"""Filters as the Triggers of a busy broker have them: many on the same types and sources, by several teams."""

from __future__ import annotations

from random import Random
from typing import Any

TEAMS = (
    "billing",
    "catalogue",
    "fulfilment",
    "identity",
    "marketing",
    "orders",
    "payments",
    "returns",
    "search",
    "stock",
)
ENTITIES = ("account", "basket", "invoice", "item", "parcel")
VERBS = ("created", "changed", "cancelled", "deleted")
REGIONS = ("eu", "us", "apac", "latam")
SERVICES = ("web", "app", "batch", "import", "partner", "store")


def filters(count: int, seed: int = 1) -> list[str | dict[str, Any]]:
    """So many filters of a mix: type equality, type and source, payloads, any, not and in, patterns, presence."""
    random = Random(seed)
    return [_filter(random) for _ in range(count)]


def _skewed(random: Random, names: tuple[str, ...]) -> str:
    """One of the names, the first ones more often."""
    return names[min(int(random.expovariate(3 / len(names))), len(names) - 1)]


def _filter(random: Random) -> str | dict[str, Any]:
    team = _skewed(random, TEAMS)
    entity = random.choice(ENTITIES)
    family = f"com.acme.{team}.{entity}."
    type_, other = (family + _skewed(random, VERBS) for _ in range(2))
    source = f"/{_skewed(random, REGIONS)}/{random.choice(SERVICES)}/"
    match random.randrange(100):
        case n if n < 30:
            return {"attributes": {"type": type_}}
        case n if n < 50:
            return {"filters": [{"exact": {"type": type_}}, {"prefix": {"source": source}}]}
        case n if n < 60:
            return f'ce.type == "{type_}" && data.total > {random.randrange(900)}.5'
        case n if n < 70:
            tier = random.choice(("gold", "basic", "new"))
            return f'ce.type == "{type_}" && ce.source.startsWith("{source}") && data.customer.tier == "{tier}"'
        case n if n < 76:
            return {"filters": [{"any": [{"exact": {"type": type_}}, {"exact": {"type": other}}]}]}
        case n if n < 82:
            return f'ce.type in ["{type_}", "{other}"] && has(ce.tenant) && ce.tenant == "t{random.randrange(30)}"'
        case n if n < 87:
            return {"filters": [{"exact": {"type": type_}}, {"not": {"prefix": {"source": source}}}]}
        case n if n < 91:
            return {"filters": [{"prefix": {"type": family}}, {"suffix": {"type": "." + random.choice(VERBS)}}]}
        case n if n < 95:
            verbs = "|".join(random.sample(VERBS, 2))
            return f'ce.type.startsWith("{family}") && ce.type.matches("\\\\.({verbs})$")'
        case _:
            return {"attributes": {"type": type_, "subject": ""}}
