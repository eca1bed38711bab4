"""Keeping up with one kind of object on a cluster: list, then watch from the list's version, and mend what breaks.

The protocol is Kubernetes' "Efficient detection of changes": every list and event has a resource version, a watch goes on
from one, bookmarks move it on, and 410 Gone says that it is too old, so that everything is listed anew.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

Object: TypeAlias = Mapping[str, Any]
Key: TypeAlias = tuple[str, str, str]
"""API group, namespace, name."""


_SHORT = 1.0
"""Seconds under which a watch without an event is suspicious; a long one was ended by the server in time."""


class ClusterError(OSError):
    """The cluster cannot be asked, or refuses; the text says what and why."""

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        """`lasting` is whether asking again without a change on the cluster is of no use."""
        super().__init__(message)
        self.lasting = lasting


class ExpiredError(Exception):
    """The resource version is too old to go on from (410 Gone)."""


@dataclass(frozen=True, slots=True)
class Listed:
    """All objects of one kind, and the version of that state."""

    objects: tuple[Object, ...]
    version: str


@dataclass(frozen=True, slots=True)
class Replaced:
    """Everything there is, in the place of everything known."""

    objects: Mapping[Key, Object]


@dataclass(frozen=True, slots=True)
class Put:
    """An object that was made or changed."""

    key: Key
    object: Object


@dataclass(frozen=True, slots=True)
class Removed:
    """An object that was deleted."""

    key: Key


@dataclass(frozen=True, slots=True)
class Broken:
    """The cluster cannot be reached; what is known stays. It is asked again after `wait` seconds."""

    reason: str
    wait: float


Change: TypeAlias = Replaced | Put | Removed | Broken


class Resource(Protocol):
    """One kind of object on a cluster. Both calls raise ClusterError, and ExpiredError for a version that is too old."""

    def read(self) -> Listed:
        """All objects."""
        ...

    def watch(self, version: str) -> Iterable[Object]:
        """The watch events since a version, until the server ends the stream."""
        ...


class Pause(Protocol):
    """Waits; whether to end instead (`threading.Event.wait` is one)."""

    def __call__(self, seconds: float, /) -> bool:
        """Waits at most so many seconds."""
        ...


@dataclass
class Backoff:
    """Waits that double from `first` to `longest` seconds, each shortened by up to a half by chance."""

    first: float = 0.5
    longest: float = 30.0
    dice: random.Random | None = None
    failures: int = 0

    def next(self) -> float:
        """The wait after one more failure."""
        wait = min(self.longest, self.first * 2.0 ** min(self.failures, 30))
        self.failures += 1
        return wait * (0.5 + (self.dice or random).random() / 2)

    def reset(self) -> None:
        """Begins anew, after a success."""
        self.failures = 0


def reflect(resource: Resource, pause: Pause, backoff: Backoff | None = None) -> Iterator[Change]:
    """What is on the cluster, and every change to it, until `pause` says to end.

    Raises:
        ClusterError: where the first list fails for a reason that lasts. Later failures are `Broken`, and tried again.
    """
    backoff = backoff or Backoff()
    version: str | None = None
    began = False
    while not pause(0):
        try:
            if version is None:
                listed = resource.read()
                yield Replaced({key_of(value): value for value in listed.objects})
                version, began = listed.version, True
            quiet, opened = True, time.monotonic()
            for event in resource.watch(version):
                change, version = _read(event, version)
                quiet = False
                backoff.reset()
                if change is not None:
                    yield change
            if quiet and time.monotonic() - opened < _SHORT and pause(backoff.next()):
                return
        except ExpiredError:
            # A list that expires at once, again and again, must not become a busy loop.
            version = None
            if backoff.failures and pause(backoff.next()):
                return
            backoff.failures += 1
        except ClusterError as e:
            if e.lasting and not began:
                raise
            wait = backoff.next()
            # A list says that the cluster is there again, and a version that it does not know (its store was set back)
            # would fail for ever.
            version = None
            yield Broken(str(e), wait)
            if pause(wait):
                return


def key_of(value: Object) -> Key:
    """Where an object is."""
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    group = str(value.get("apiVersion", "")).partition("/")[0]
    return group, str(metadata.get("namespace", "")), str(metadata.get("name", ""))


def _read(event: Object, version: str) -> tuple[Change | None, str]:
    """What a watch event says, and the version to go on from."""
    value = event.get("object") if isinstance(event, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(value.get("metadata", {}), Mapping):
        raise ClusterError("the watch sent an event without an object")
    kind = event.get("type")
    if kind == "ERROR":
        if value.get("code") == 410:
            raise ExpiredError
        raise ClusterError(f"the watch ended: {value.get('message') or value.get('reason') or 'no reason given'}")
    version = str((value.get("metadata") or {}).get("resourceVersion") or version)
    match kind:
        case "ADDED" | "MODIFIED":
            return Put(key_of(value), value), version
        case "DELETED":
            return Removed(key_of(value)), version
        case _:
            return None, version
