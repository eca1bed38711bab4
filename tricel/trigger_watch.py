"""A cluster's Triggers, followed and compiled: each by itself, so that a bad one keeps none of the others from changing."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tricel.cluster_triggers import compile_objects
from tricel.compiler import CLOUD_EVENT, Diagnostic, Environment, Limits, duplicate_triggers, errors
from tricel.compiler.diagnostics import in_order
from tricel.compiler.limits import DEFAULT
from tricel.spark_backend.engines import DEFAULT_ENGINE
from tricel.triggers import CompiledTrigger

if TYPE_CHECKING:
    from tricel.k8s.cluster import Following, Selection
    from tricel.k8s.reflect import Key


class Followed(Protocol):
    """A cluster whose Triggers can be followed; `tricel.k8s.cluster.Cluster` is one."""

    def follow(self, selection: Selection, stop: threading.Event) -> Iterator[Following]:
        """The Triggers as they are, and again after every change, until `stop` is set."""
        ...


@dataclass(frozen=True, slots=True)
class Watched:
    """What is known of a cluster's Triggers.

    `version` grows with every change, from 1. `triggers` are those that apply, in order of their keys: of a Trigger that
    does not compile as it is now, what it was when it last did, or nothing where it never has. `diagnostics` say what is
    wrong or suspicious in the Triggers as they are now, `broken` why the cluster cannot be reached (empty: it can).
    """

    version: int
    triggers: tuple[CompiledTrigger, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    broken: str = ""


@dataclass(frozen=True, slots=True)
class _Known:
    """A Trigger's object as it is, what was found in it, and the last one that compiled."""

    object: Mapping[str, Any]
    compiled: CompiledTrigger | None
    diagnostics: tuple[Diagnostic, ...]


@dataclass
class TriggerWatch:
    """Follows a cluster from a thread of its own, which ends with `stop`. Its methods may be called from any thread.

    Only what has changed is compiled again. Two Triggers of one namespace and name (of the two API groups) exclude each
    other: the one that applied before stays, or else the first in the order of the groups.
    """

    cluster: Followed
    selection: Selection
    engine: str = DEFAULT_ENGINE
    limits: Limits = DEFAULT
    environment: Environment = field(default=CLOUD_EVENT, kw_only=True)
    _known: dict[Key, _Known] = field(default_factory=dict)
    _applied: frozenset[Key] = frozenset()
    _now: Watched | None = None
    _failure: Exception | None = None
    _told: threading.Condition = field(default_factory=threading.Condition)
    _stop: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Begins to follow."""
        threading.Thread(target=self._run, name="tricel-triggers", daemon=True).start()

    def stop(self) -> None:
        """Ends the following; who waits is answered at once."""
        self._stop.set()
        with self._told:
            self._told.notify_all()

    def changed(self, since: int = 0, timeout: float = 0.0) -> Watched | None:
        """What is known, where that is another version than `since`; None where nothing has changed within `timeout`
        seconds, or it has been stopped.

        Raises:
            OSError: where the cluster cannot be followed, for a reason that lasts.
        """
        with self._told:
            self._told.wait_for(lambda: self._failure or self._stop.is_set() or self._is_new(since), timeout)
            if self._failure is not None:
                raise self._failure
            return self._now if self._is_new(since) else None

    def _is_new(self, since: int) -> bool:
        return self._now is not None and self._now.version != since

    def _run(self) -> None:
        try:
            for state in self.cluster.follow(self.selection, self._stop):
                watched = self._watched(state)
                with self._told:
                    self._now = watched
                    self._told.notify_all()
        except Exception as e:  # it must be told to who asks, not to a thread's end
            with self._told:
                self._failure = e
                self._told.notify_all()

    def _watched(self, state: Following) -> Watched:
        self._known = {key: self._read(key, value) for key, value in sorted(state.triggers.items())}
        usable = {key: known.compiled for key, known in self._known.items() if known.compiled is not None}
        # Those that applied before come first, so that they are not the ones that are too many.
        order = sorted(usable, key=lambda key: (key not in self._applied, key))
        doubles = duplicate_triggers(usable[key].manifest for key in order)
        excluded = {id(d.source) for d in doubles}
        taken = {key: t for key, t in usable.items() if id(t.manifest.source) not in excluded}
        self._applied = frozenset(taken)
        found = tuple(d for known in self._known.values() for d in known.diagnostics) + doubles
        version = 1 if self._now is None else self._now.version + 1
        return Watched(version, tuple(taken.values()), in_order(found), state.broken)

    def _read(self, key: Key, value: Mapping[str, Any]) -> _Known:
        """A Trigger, compiled where it is new or has changed."""
        known = self._known.get(key)
        if known is not None and known.object == value:
            return known
        compiled, found = compile_objects([value], environment=self.environment, engine=self.engine, limits=self.limits)
        if compiled and not errors(found):
            return _Known(value, compiled[0], found)
        return _Known(value, known.compiled if known is not None else None, found)
