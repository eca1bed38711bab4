"""A review leaves nothing behind: what is remembered between reviews is bounded, and is no more than that."""

from __future__ import annotations

import functools
import gc
import inspect
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import re2
from admission_vectors import admission_review, trigger
from tricel.compiler.limits import DEFAULT
from tricel.k8s.work import MUTATE, VALIDATE, answered
from webhook_process import WebhookProcess

Shape = Callable[[int], dict[str, Any]]
NONE: frozenset[str] = frozenset()

CEL: tuple[Callable[[int], str], ...] = (
    lambda n: f'ce.type == "com.example.order.{n}" && data.total > {n}.5',
    lambda n: f'ce.source.startsWith("/shop/{n}/") || ce.subject in ["a{n}", "b"]',
    lambda n: f'ce.source.matches("^/shop/{n}/.*$")',
    lambda n: f'ce.type.matches("^(a|b{n})+c")',
    lambda n: f'ce.type.matches("(a{n}")',
    lambda n: f'ce.type.match("order{n}*")',
    lambda n: f'data.items{n}.exists(x{n}, x{n}.key{n} == "{n}" || x{n}.n in [1.0, {n}.0])',
    lambda n: f'timestamp(data.t{n}) > timestamp("2024-01-01T00:00:00.{n:09}Z") || duration("{n}s") < duration(data.d)',
    lambda n: f'timestamp(data.t).getHours("Etc/{n}") == 1 || timestamp(data.t).getHours("+01:{n % 60:02}") == 1',
    lambda n: f'has(ce.ext{n}) && data.s.split("{n}").size() > 2 && "%s {n}".format([data.v{n}]) == data.s',
    lambda n: f"ce.nosuch{n} && foo{n}(data.x{n}) + {n}",
    lambda n: f'ce.type == "unfinished{n}',
    lambda n: f'ce.type == "a{n}" && ce.type == "b{n}"',
)
SPECS: tuple[Shape, ...] = (
    lambda n: {"filter": {"attributes": {f"ext{n}": "v", "type": f"t{n}"}}},
    lambda n: {"filter": {"sourceAndType": {"type": f"t{n}"}}, f"unknown{n}": n},
    lambda n: {"filters": [{"cesql": f"type LIKE 'com.{n}%' AND subject IN ('a{n}', 'b') OR INT(ext{n}) = {n}"}]},
    lambda n: {"filters": [{"cesql": f"type LIKE 'com.{n}"}, {"not": {"prefix": {"source": f"/x{n}"}}}]},
    lambda n: {"subscriber": {"ref": {"apiVersion": f"v{n}", "kind": "Service", "name": f"s{n}"}}},
)
SHAPES: tuple[Shape, ...] = (*(lambda n, cel=cel: {"filter": {"expression": cel(n)}} for cel in CEL), *SPECS)
ROUND, ROUNDS = 20, 25
"""Reviews in a round, and rounds: what each review leaves is left in every round, and what is loaded once is not."""

LEAST = 0.5
"""Blocks of a review: what keeps anything of each keeps at least one."""


def bodies(shape: Shape, round_: int) -> list[bytes]:
    """Reviews that nobody has asked for before."""
    numbers = range(round_ * ROUND, (round_ + 1) * ROUND)
    reviews = (admission_review(trigger(shape(n), name=f"t{n}"), uid=f"review-{n}") for n in numbers)
    return [json.dumps(review).encode() for review in reviews]


def outcomes(shape: Shape, round_: int) -> set[str]:
    """Makes the reviews of a round; how they ended."""
    return {
        answered(path, body, NONE, DEFAULT).outcome for body in bodies(shape, round_) for path in (VALIDATE, MUTATE)
    }


def caches() -> list[Any]:
    """The caches of our functions."""
    found = [each for each in gc.get_objects() if isinstance(each, functools._lru_cache_wrapper)]
    return [each for each in found if str(each.__module__).startswith("tricel.")]


def full(cache: Any) -> bool:
    """Whether it holds as much as it may."""
    info = cache.cache_info()
    return bool(info.currsize == info.maxsize)


def least_growth(work: Callable[[int], object]) -> float:
    """How many blocks of memory a review leaves in the round that leaves fewest, apart from what bounded caches keep."""
    work(0)
    bounded = [cache for cache in caches() if cache.cache_parameters()["maxsize"] is not None]
    held = {id(cache): cache.cache_info().currsize for cache in bounded}
    work(ROUNDS + 1)
    # What does not grow with reviews stays: an engine's environment is for all of them, and never wholly given back.
    bounded = [cache for cache in bounded if cache.cache_info().currsize > held[id(cache)] or full(cache)]

    def kept() -> int:
        for cache in bounded:
            cache.cache_clear()
        re.purge()
        re2.purge()
        gc.collect()
        return sys.getallocatedblocks()

    before, found = kept(), []
    for round_ in range(1, ROUNDS + 1):
        work(round_)
        after = kept()
        found.append((after - before) / ROUND)
        if found[-1] < LEAST:
            break
        before = after
    return min(found)


def test_every_cache_has_a_bound() -> None:
    assert {"allowed", "denied", "answered"} == {found for shape in SHAPES for found in outcomes(shape, 0)}
    found = {f"{cache.__module__}.{cache.__qualname__}": cache for cache in caches()}
    assert len(found) > 10
    # That of a function without arguments holds one value.
    endless = [name for name, cache in found.items() if cache.cache_parameters()["maxsize"] is None]
    assert [] == [name for name in endless if inspect.signature(found[name]).parameters]


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_else_is_kept_of_a_review(shape: Shape) -> None:
    assert least_growth(lambda round_: outcomes(shape, round_)) < LEAST


@pytest.mark.parametrize("memory", [[], set()])
def test_what_is_kept_shows(memory: Any) -> None:
    """The measure itself: one text of each review is seen."""
    keep = memory.append if isinstance(memory, list) else memory.add

    def remembers(round_: int) -> None:
        outcomes(SHAPES[0], round_)
        for body in bodies(SHAPES[0], round_):
            keep(body)

    assert least_growth(remembers) >= LEAST


def test_a_client_makes_no_series(tmp_path: Path) -> None:
    """The series of the metrics are not more for other names, filters and paths."""
    process = WebhookProcess(tmp_path, "--drain", "0")

    def ask(numbers: range) -> int:
        for n in numbers:
            for shape in (SHAPES[0], SHAPES[10]):
                process.review(admission_review(trigger(shape(n), name=f"t{n}"), uid=f"u{n}"))
            process.ask(f"/nosuch/{n}", b"{}")
        return len(process.ask("/metrics")[1].splitlines())

    try:
        assert ask(range(3)) == ask(range(3, 9))
    finally:
        assert 0 == process.stop()
