"""Random filters that ask about attributes in every way, and events whose attributes they are about."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

from tricel.compiler.values.cel import Timestamp

VALUES = ("", "a", "ab", "abc", "b", "ba", "A")
REQUIRED, OPTIONAL = ("ce.type", "ce.source"), ("ce.x", 'ce["y"]')
PRESENCE = {"ce.x": ("has(ce.x)", '"x" in ce'), 'ce["y"]': ('"y" in ce', "has(ce.y)")}
MAY_ERR = ("data.n > 1.0", "int(ce.x) > 0", 'ce.x.substring(1) == "b"', "1 / 0 == 1", "data.s == ce.type")
TIMES = ('ce.time > timestamp("2024-01-01T00:00:00Z")', 'ce.time == timestamp("2024-01-02T00:00:00Z")')


def attribute_filter(random: Random, depth: int = 3) -> str:
    """The text of one filter; now and then it may err for other reasons than an absent attribute."""
    if depth and random.random() < 0.7:
        a, b, c = (attribute_filter(random, depth - 1) for _ in range(3))
        return random.choice(
            (f"({a} && {b})", f"({a} || {b})", f"!({a})", f"({a} ? {b} : {c})", f"({a} && {b} && {c})")
        )
    return _test(random)


def _test(random: Random) -> str:
    x = random.choice((*REQUIRED, *OPTIONAL))
    v, w = (f'"{random.choice(VALUES)}"' for _ in range(2))
    pattern = random.choice(("^a", "b$", "^ab?$", "a|b", "", "[a-b]b"))
    tests = [
        *(f"{x} == {v}", f"{v} == {x}", f"{x} != {v}", f"{x} in [{v}, {w}]", f"!({x} in [{v}, {w}])", f"{x} in []"),
        *(f"{x}.startsWith({v})", f"{x}.endsWith({v})", f"{x}.contains({v})", f'{x}.matches("{pattern}")'),
        *(f"{x} < {v}", f"{v} <= {x}", f"{x} > {v}", f"{x} >= {v}", f"size({x}) > 1", f"{x}.lowerAscii() == {v}"),
        *("ce.x == ce.type", 'ce.x != ce["y"]', "ce.type < ce.source", f"{x} in [ce.type, {v}]", f"{x} == 1", "true"),
        *(random.choice(TIMES), "has(ce.time)", "false", f"[{v}, {w}].exists(v, v == {x})"),
    ]
    guarded = [f"({random.choice(PRESENCE[o])} && {o} == {v})" for o in OPTIONAL] * 3
    there = [random.choice(PRESENCE[o]) for o in OPTIONAL]
    there += [f"ce.?x.orValue({w}) == {v}", f"(!has(ce.x) || ce.x.startsWith({v}))"]
    return random.choice((*tests, *tests, *guarded, *there, *there, random.choice(MAY_ERR)))


def attribute_events() -> list[dict[str, Any]]:
    """Events with every choice of some values, and without what is optional."""
    some = ("", "a", "ab", "abc", "ba", "Ab")
    times = (None, Timestamp(1_704_153_600_000_000_000), Timestamp(0))
    found = []
    for i, (type_, source, x, y) in enumerate(product(some, some[:4], (None, *some), (None, "", "a", "abc"))):
        ce = {"id": str(i), "type": type_, "source": source, "specversion": "1.0", "x": x, "y": y, "time": times[i % 3]}
        data = ({}, {"n": 2.0, "s": "a"}, {"n": 0.0}, {"n": "2"})[i % 4]
        found.append({"ce": {k: v for k, v in ce.items() if v is not None}, "data": data})
    return found
