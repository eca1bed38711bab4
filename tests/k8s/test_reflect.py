"""Keeping up with a cluster: every way in which a list or a watch can end, without a cluster."""

from __future__ import annotations

import queue
import random
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from admission_vectors import trigger
from tricel.k8s.cluster import Following, _states
from tricel.k8s.reflect import (
    Backoff,
    Broken,
    ClusterError,
    ExpiredError,
    Listed,
    Object,
    Put,
    Removed,
    Replaced,
    key_of,
    reflect,
)

A, B = (trigger(name=name, resourceVersion=str(n)) for n, name in enumerate("ab", start=1))
GONE = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}
REFUSED = ClusterError("no", lasting=True)


def event(kind: str, value: Object, version: str) -> Object:
    return {"type": kind, "object": {**value, "metadata": {**value["metadata"], "resourceVersion": version}}}


def bookmark(version: str) -> Object:
    return {"type": "BOOKMARK", "object": {"kind": "Trigger", "metadata": {"resourceVersion": version}}}


class Scripted:
    """A resource whose lists and watches are given; what is an exception is raised. It notes what it was asked."""

    def __init__(self, lists: list[Any], watches: list[list[Any]]) -> None:
        self.lists, self.watches, self.asked = iter(lists), iter(watches), []  # type: ignore[var-annotated]

    def read(self) -> Listed:
        self.asked.append("list")
        found = next(self.lists, None)
        if found is None:
            raise ClusterError("the script is over")
        if isinstance(found, Exception):
            raise found
        return Listed(*found)

    def watch(self, version: str) -> Iterable[Object]:
        self.asked.append(version)
        for each in next(self.watches, [ClusterError("the script is over")]):
            if isinstance(each, Exception):
                raise each
            yield each


def run(resource: Scripted, turns: int = 20) -> tuple[list[Any], list[float]]:
    """The changes, and how long was waited, until the script is over."""
    waits: list[float] = []

    def pause(seconds: float) -> bool:
        waits.append(seconds) if seconds else None
        return len(waits) >= turns

    found = []
    for change in reflect(resource, pause, Backoff(dice=random.Random(1))):
        if isinstance(change, Broken) and change.reason == "the script is over":
            break
        found.append(change)
    return found, waits


def test_a_watch_goes_on_from_the_list() -> None:
    resource = Scripted([((A,), "5")], [[event("ADDED", B, "6"), event("MODIFIED", A, "7"), event("DELETED", B, "8")]])
    found, waits = run(resource)
    assert [Replaced, Put, Put, Removed] == [type(change) for change in found]
    assert {key_of(A): A} == found[0].objects
    assert (key_of(B), key_of(A), key_of(B)) == (found[1].key, found[2].key, found[3].key)
    assert ["list", "5", "8"] == resource.asked
    assert [] == waits


def test_a_bookmark_moves_the_version_on_and_is_no_change() -> None:
    resource = Scripted([((), "5")], [[bookmark("90")], [bookmark("91")]])
    found, _ = run(resource)
    assert [Replaced({})] == found
    assert ["list", "5", "90", "91"] == resource.asked


@pytest.mark.parametrize("expiry", [GONE, ExpiredError()], ids=["as an event", "as a response"])
def test_gone_lists_anew(expiry: Any) -> None:
    resource = Scripted([((A,), "5"), ((B,), "50")], [[expiry], [event("MODIFIED", B, "51")]])
    found, _ = run(resource)
    assert [Replaced({key_of(A): A}), Replaced({key_of(B): B})] == found[:2]
    assert ["list", "5", "list", "50", "51"] == resource.asked


def test_gone_again_and_again_waits() -> None:
    resource = Scripted([((A,), "5")] * 10, [[GONE]] * 10)
    _, waits = run(resource)
    assert 9 == len(waits)
    assert waits[-1] > waits[0]


def test_a_broken_watch_begins_anew_with_a_list() -> None:
    script = [[event("ADDED", B, "6"), ClusterError("reset")], [event("MODIFIED", B, "7")]]
    resource = Scripted([((A,), "5"), ((A, B), "6")], script)
    found, waits = run(resource)
    assert [Replaced, Put, Broken, Replaced, Put] == [type(change) for change in found]
    assert ["list", "5", "list", "6", "7"] == resource.asked[:5]
    assert [found[2].wait] == waits[:1]


def test_waits_grow_to_a_bound_and_begin_anew_after_a_success() -> None:
    dice = Backoff(dice=random.Random(3))
    waits = [dice.next() for _ in range(12)]
    assert all(0.25 * 2**n <= wait <= 0.5 * 2**n for n, wait in enumerate(waits[:6]))
    assert all(15 <= wait <= 30 for wait in waits[6:])
    dice.reset()
    assert dice.next() <= 0.5


def test_a_watch_that_ends_at_once_does_not_become_a_busy_loop() -> None:
    _, waits = run(Scripted([((), "5")], [[] for _ in range(8)]))
    assert 8 == len(waits)


def test_a_lasting_refusal_ends_only_the_beginning() -> None:
    with pytest.raises(ClusterError, match="no"):
        run(Scripted([REFUSED], []))
    found, _ = run(Scripted([((A,), "5"), ((B,), "9")], [[GONE], [REFUSED], [bookmark("10")]]))
    assert [Replaced, Replaced, Broken] == [type(change) for change in found]
    found, _ = run(Scripted([ClusterError("down"), ((A,), "5")], [[bookmark("6")]]))
    assert [Broken, Replaced] == [type(change) for change in found]


@pytest.mark.parametrize("wrong", [{}, {"type": "ADDED"}, {"type": "ERROR", "object": {"message": "odd"}}])
def test_an_odd_event_is_a_broken_watch(wrong: Any) -> None:
    found, _ = run(Scripted([((), "5"), ((), "6")], [[wrong], [bookmark("7")]]))
    assert [Replaced, Broken, Replaced] == [type(change) for change in found]


def test_the_end_is_heeded() -> None:
    assert [] == list(reflect(Scripted([((), "5")], []), lambda _: True))


def states(groups: set[str], *changes: Any) -> Iterator[Following]:
    waiting: queue.Queue[Any] = queue.Queue()
    stop = threading.Event()
    for change in changes:
        waiting.put(change)
    return _states(groups, waiting, stop)


def test_the_first_state_waits_for_every_group_and_a_batch_is_one_state() -> None:
    knative = trigger(version="eventing.knative.dev/v1")
    own, other = "tricel.dev", "eventing.knative.dev"
    found = next(
        states(
            {own, other},
            (own, Replaced({key_of(A): A})),
            (own, Put(key_of(B), B)),
            (own, Removed(key_of(A))),
            (other, Replaced({key_of(knative): knative})),
        )
    )
    assert Following({key_of(B): B, key_of(knative): knative}) == found


def test_a_failure_is_told_and_nothing_is_forgotten() -> None:
    found = next(states({"tricel.dev"}, ("tricel.dev", Replaced({key_of(A): A})), ("tricel.dev", Broken("down", 1))))
    assert Following({key_of(A): A}, "down") == found
    with pytest.raises(ClusterError, match="no"):
        next(states({"tricel.dev"}, ("tricel.dev", REFUSED)))
