"""Following a cluster through everything that can happen to it, against an API server of HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from admission_vectors import KNATIVE, expression, trigger
from fake_api_server import CUT, FakeApiServer, serving
from tricel.k8s import reflect
from tricel.k8s.cluster import Following, Selection, warning_event
from tricel.k8s.reflect import ClusterError

from tricel.cluster_triggers import ClusterChoice, read_cluster_triggers
from tricel.trigger_watch import TriggerWatch, Watched

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


def value(name: str, cel: str = "true", namespace: str = "shop") -> dict[str, Any]:
    return {**expression(cel), "metadata": {"name": name, "namespace": namespace}}


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with serving() as server:
        yield server


@pytest.fixture
def watch(server: FakeApiServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[TriggerWatch]:
    monkeypatch.setattr(reflect.Backoff.__init__, "__defaults__", (0.01, 0.05, None, 0))
    watch = TriggerWatch(server.cluster, Selection())
    yield watch
    watch.stop()


def until(watch: TriggerWatch, right: Callable[[Watched], bool], version: int = 0) -> Watched:
    """The first state that is right."""
    for _ in range(100):
        now = watch.changed(version, 10)
        assert now is not None, "nothing was told"
        if right(now):
            return now
        version = now.version
    raise AssertionError("waited in vain")


def cels(now: Watched) -> dict[str, str]:
    return {t.manifest.name: t.compiled.cel for t in now.triggers}


def test_made_changed_and_deleted(server: FakeApiServer, watch: TriggerWatch) -> None:
    server.change("ADDED", value("a"))
    server.stream.get()  # it is in the list
    watch.start()
    first = until(watch, lambda now: cels(now) == {"a": "true"})
    assert (1, (), "") == (first.version, first.diagnostics, first.broken)
    assert watch.changed(first.version) is None
    server.change("ADDED", value("b"))
    second = until(watch, lambda now: cels(now) == {"a": "true", "b": "true"}, first.version)
    assert second.version > first.version
    assert second.triggers[0] is first.triggers[0], "what has not changed is not compiled again"
    server.change("MODIFIED", value("a", "false"))
    until(watch, lambda now: cels(now) == {"a": "false", "b": "true"}, second.version)
    server.change("DELETED", value("b"))
    last = until(watch, lambda now: cels(now) == {"a": "false"}, second.version)
    server.send({"type": "BOOKMARK", "object": {"kind": "Trigger", "metadata": {"resourceVersion": "900"}}})
    assert watch.changed(last.version, 0.2) is None
    assert 1 == server.lists


def test_a_bad_trigger_keeps_what_it_was_and_holds_up_no_other(server: FakeApiServer, watch: TriggerWatch) -> None:
    watch.start()
    server.change("ADDED", value("a"))
    server.change("ADDED", value("never", "nosuch ("))
    now = until(watch, lambda now: bool(cels(now)) and bool(now.diagnostics))
    assert {"a": "true"} == cels(now)
    server.change("MODIFIED", value("a", "data.x +"))
    server.change("ADDED", value("b"))
    now = until(watch, lambda now: "b" in cels(now), now.version)
    assert {"a": "true", "b": "true"} == cels(now)
    now = until(watch, lambda now: len({d.source.name for d in now.diagnostics}) == 2)
    server.change("MODIFIED", value("a", "false"))
    now = until(watch, lambda now: cels(now) == {"a": "false", "b": "true"}, now.version)
    server.change("DELETED", value("never"))
    until(watch, lambda now: now.diagnostics == (), now.version)


@pytest.mark.parametrize(
    "trouble",
    [
        [{"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}, CUT],
        [CUT],
        [{"type": "ERROR", "object": {"kind": "Status", "code": 500}}, CUT],
        [b"no json\n", CUT],
        [b"[]\n", CUT],
        [b'{"type":"ADDED","object":{"metadata":7}}\n', CUT],
        [b'{"type":"ADDED","obj', CUT],
    ],
    ids=["410", "cut", "500", "no JSON", "no object", "odd metadata", "half an event"],
)
def test_a_watch_that_breaks_goes_on(server: FakeApiServer, watch: TriggerWatch, trouble: list[Any]) -> None:
    server.change("ADDED", value("a"))
    server.stream.get()
    watch.start()
    first = until(watch, lambda now: cels(now) == {"a": "true"})
    server.send(*trouble)
    server.change("ADDED", value("b"))
    until(watch, lambda now: cels(now) == {"a": "true", "b": "true"} and not now.broken, first.version)


def test_a_server_that_is_away_for_a_while(server: FakeApiServer, watch: TriggerWatch) -> None:
    server.change("ADDED", value("a"))
    server.stream.get()
    watch.start()
    first = until(watch, lambda now: cels(now) == {"a": "true"})
    while not server.watches:
        time.sleep(0.01)
    server.away = True
    server.send(CUT)
    broken = until(watch, lambda now: "503" in now.broken, first.version)
    assert {"a": "true"} == cels(broken)
    server.objects["c"] = value("c")  # and the watch is not told
    server.objects.pop("a")
    server.away = False
    until(watch, lambda now: cels(now) == {"c": "true"} and not now.broken, broken.version)
    assert server.lists > 1


def test_the_one_of_two_groups_that_applied_before_stays() -> None:
    own, other = value("a"), trigger(name="a", version=KNATIVE)
    ours, theirs = ("tricel.dev", "shop", "a"), ("eventing.knative.dev", "shop", "a")
    states = [{ours: own}, {ours: own, theirs: other}, {theirs: other}]

    class Scripted:
        def __init__(self) -> None:
            self.go_on = threading.Semaphore()

        def follow(self, selection: Selection, stop: threading.Event) -> Iterator[Following]:
            for state in states:
                self.go_on.acquire()
                yield Following(state)

    cluster = Scripted()
    watch = TriggerWatch(cluster, Selection())
    watch.start()
    found = []
    for version in range(3):
        now = watch.changed(version, 10)
        assert now is not None
        found.append(now)
        cluster.go_on.release()
    assert [own["apiVersion"], own["apiVersion"], KNATIVE] == [group_of(now) for now in found]
    assert [[], ["TRI316"], []] == [[d.code for d in now.diagnostics] for now in found]


def group_of(now: Watched) -> str:
    """The apiVersion of the only trigger that applies."""
    (only,) = now.triggers
    return str(json.loads(only.manifest.source.text)["apiVersion"])


def test_the_end_answers_who_waits(watch: TriggerWatch) -> None:
    watch.stop()
    assert watch.changed(0, 60) is None


def test_a_cluster_without_triggers_is_told_to_who_asks() -> None:
    with serving("other.example.com") as server:
        watch = TriggerWatch(server.cluster, Selection())
        watch.start()
        with pytest.raises(ClusterError, match="has neither"):
            watch.changed(0, 10)


def test_it_needs_no_spark() -> None:
    check = "import sys, tricel.trigger_watch, tricel.k8s.cluster; sys.exit('pyspark' in sys.modules)"
    assert 0 == subprocess.run([sys.executable, "-c", check], check=False).returncode


def test_the_audit_makes_one_event_for_each_bad_trigger(server: FakeApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClusterChoice, "connect", lambda self: (server.cluster, Selection()))
    for each in (value("good"), value("bad", "ce.type.startWith('a')"), value("worse", "(")):
        server.objects[each["metadata"]["name"]] = {
            **each,
            "metadata": {**each["metadata"], "uid": "u", "generation": 1},
        }
    for turn in range(1, 4):
        triggers, _ = read_cluster_triggers(ClusterChoice(), events=True)
        assert ["good"] == [t.manifest.name for t in triggers]
        assert {"bad", "worse"} == {e["regarding"]["name"] for e in server.events.values()}
        assert len(server.events) == 2
        if turn > 1:
            assert {turn} == {e["series"]["count"] for e in server.events.values()}
    found = next(e for e in server.events.values() if e["regarding"]["name"] == "bad")
    assert ("Warning", "FilterRefused", "Audit", "shop") == (
        found["type"],
        found["reason"],
        found["action"],
        found["metadata"]["namespace"],
    )
    assert {
        "apiVersion": "tricel.dev/v1alpha1",
        "kind": "Trigger",
        "namespace": "shop",
        "name": "bad",
        "uid": "u",
    } == found["regarding"]
    assert found["note"].startswith("spec.filter.expression: TRI203 ")
    assert not [path for _, path in server.requests if path.endswith("/status")]
    server.objects["bad"] = {**value("bad", "also ("), "metadata": server.objects["bad"]["metadata"]}
    read_cluster_triggers(ClusterChoice(), events=True)
    assert len(server.events) == 3, "another problem is another Event"


def test_knative_triggers_are_told_of_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving("eventing.knative.dev") as server:
        monkeypatch.setattr(ClusterChoice, "connect", lambda self: (server.cluster, Selection()))
        bad = trigger({"filter": {"attributes": {"Type": "t"}}}, name="k", version=KNATIVE)
        server.objects["k"] = bad
        read_cluster_triggers(ClusterChoice(), events=True, report=True)
        assert ["eventing.knative.dev/v1"] == [e["regarding"]["apiVersion"] for e in server.events.values()]


def test_an_event_keeps_the_limits_of_the_api() -> None:
    long = trigger(name="n" * 253, uid="u")
    found = warning_event(long, "FilterRefused", "Audit", "\N{SNOWMAN}" * 1000, NOW)
    assert len(found["note"].encode()) <= 1024
    assert len(found["metadata"]["name"]) <= 253
    assert "2024-05-01T12:00:00.000000Z" == found["eventTime"]
    assert (
        found["metadata"]["name"]
        == warning_event(long, "FilterRefused", "Audit", "\N{SNOWMAN}" * 1000, NOW)["metadata"]["name"]
    )
