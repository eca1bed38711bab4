"""A cluster as an origin of triggers: what it told last, and its failures."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from admission_vectors import expression
from tricel.k8s.cluster import Following, Selection
from tricel.k8s.reflect import ClusterError

from tricel.cluster_triggers import ClusterChoice
from tricel.origins import ClusterOrigin


@dataclass
class Told:
    """A cluster that tells what it is told to tell, and when."""

    states: queue.Queue[Following | ClusterError] = field(default_factory=queue.Queue)

    def follow(self, selection: Selection, stop: threading.Event) -> Iterator[Following]:
        while True:
            state = self.states.get(timeout=10)
            if isinstance(state, ClusterError):
                raise state
            yield state


def following(*texts: str, broken: str = "") -> Following:
    values = {(str(i),): {**expression(t), "metadata": {"name": f"t{i}"}} for i, t in enumerate(texts)}
    found: Any = values
    return Following(found, broken)


def polled(origin: ClusterOrigin) -> Any:
    """What the next change gives; waits for it."""
    for _ in range(500):
        found = origin.poll()
        if found is not None:
            return found
        threading.Event().wait(0.01)
    raise AssertionError("nothing was told")


def test_the_newest_state_is_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Told()
    monkeypatch.setattr(ClusterChoice, "connect", lambda self: (cluster, Selection()))
    origin = ClusterOrigin(ClusterChoice())
    cluster.states.put(following("true"))
    first = origin.poll()
    assert first is not None
    assert ["true"] == [t.compiled.cel for t in first.triggers]
    assert origin.poll() is None
    cluster.states.put(following("true", "nosuch == 1"))
    changed = polled(origin)
    assert (True, ["true"], 1) == (changed.sound, [t.compiled.cel for t in changed.triggers], len(changed.diagnostics))
    cluster.states.put(following("false", broken="it is away"))
    with pytest.raises(OSError, match="it is away"):
        polled(origin)
    cluster.states.put(following("false"))
    assert ["false"] == [t.compiled.cel for t in polled(origin).triggers]
    cluster.states.put(ClusterError("not allowed", lasting=True))
    with pytest.raises(ClusterError, match="not allowed"):
        polled(origin)


def test_a_cluster_that_cannot_be_read_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Told()
    monkeypatch.setattr(ClusterChoice, "connect", lambda self: (cluster, Selection()))
    cluster.states.put(ClusterError("not allowed", lasting=True))
    with pytest.raises(ClusterError, match="not allowed"):
        ClusterOrigin(ClusterChoice()).poll()
