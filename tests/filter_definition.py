"""The filters of Knative and of the CloudEvents Subscriptions API, evaluated as their definitions say, and random ones.

It knows nothing of CEL: an event is its JSON, and a filter its own.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from random import Random
from typing import Any

Event = dict[str, Any]
Filter = dict[str, Any]


@dataclass(frozen=True)
class Definition:
    """A definition of the filters: of the dialect that it is called by here, the names that random filters have, and what is Knative's own."""

    dialect: str
    names: tuple[str, ...]
    knative: bool


KNATIVE = Definition("filters", ("schemaurl", "datamediatype"), True)
CLOUD_EVENTS = Definition("subscriptions", ("schemaurl", "datamediatype", "5g", "0"), False)
DEFINITIONS = (KNATIVE, CLOUD_EVENTS)


def passes(filter_: Filter, event: Event, definition: Definition) -> bool:
    """Whether an event passes one filter."""
    ((kind, value),) = filter_.items()
    match kind:
        case "all":
            return all(passes(each, event, definition) for each in value)
        case "any":
            return any(passes(each, event, definition) for each in value)
        case "not":
            return not passes(value, event, definition)
        case _:
            return all(_holds(kind, name, text, event, definition) for name, text in value.items())


def _holds(kind: str, name: str, wanted: str, event: Event, definition: Definition) -> bool:
    actual = _canonical(event, name, definition)
    if actual is None:
        return False
    match kind:
        case "exact":
            return actual == (_time(wanted) if name == "time" else wanted)
        case "prefix":
            return actual[: len(wanted)] == wanted
        case "suffix":
            return len(wanted) <= len(actual) and actual[len(actual) - len(wanted) :] == wanted
    raise AssertionError(kind)


def _canonical(event: Event, name: str, definition: Definition) -> str | None:
    """The text of an attribute, None where it is absent: CloudEvents 1.0.2, section "Type System"."""
    if definition.knative and name == "datamediatype":
        whole = event.get("datacontenttype")
        return None if whole is None else str(whole).partition(";")[0].rstrip(" \t")
    value = event.get("dataschema" if definition.knative and name == "schemaurl" else name)
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return _time(value) if name == "time" else str(value)


def _time(text: str) -> str:
    """An instant in UTC, without the last zeros of its fraction, three at a time."""
    at = datetime.datetime.fromisoformat(text).astimezone(datetime.UTC)
    fraction = f".{at.microsecond:06}" if at.microsecond % 1000 else f".{at.microsecond // 1000:03}"
    return f"{at.replace(tzinfo=None).isoformat(timespec='seconds')}{fraction if at.microsecond else ''}Z"


_TEXTS = (
    "a",
    "ab",
    "abc",
    "b",
    "A",
    "bc",
    "a/b",
    "/",
    "é",
    "éa",
    "😀",
    "a.b",
    "5",
    "-1",
    "true",
    "false",
    ".*",
    "a b",
    "%",
    "_",
    "'",
    '"',
    "\\",
)
_MEDIA = ("application/json", "application/json; charset=utf-8", "application/json ;x=y", "text/plain", "a/b+json")
_TIMES = ("2024-05-01T00:00:00Z", "2024-05-01T02:00:00+02:00", "2024-05-01T00:00:00.5Z", "2024-05-01T00:00:00.500Z", "2024-05-01T00:00:00.123456Z", "1969-12-31T23:59:59.999Z", "2024-04-30T23:30:00-00:30", "0001-01-01T00:00:00Z")  # fmt: skip
_PARTS_OF_TIMES = ("2024-05", "2024-05-01T00:00:00", "1", "2024", ".5Z", ".500Z", "Z", ":00Z", "456Z", "+02:00")
_OFTEN = _TEXTS[:3]
"""Texts that filters and events have more often than others, so that some agree."""
_REQUIRED, _OPTIONAL = ("id", "source", "type"), ("subject", "dataschema", "tenant", "prio", "flag", "in", "time")
_LONGEST = 3


def random_event(chosen: Random, definition: Definition) -> Event:
    """An event of few values, so that filters tell them apart."""
    event: Event = {"specversion": "1.0", **{name: _text(chosen) for name in _REQUIRED}}
    texts: dict[str, tuple[Any, ...]] = {
        "datacontenttype": _MEDIA,
        "time": _TIMES,
        "prio": (5, -1, 0, 2**31 - 1),
        "flag": (True, False),
    }
    more = (*_OPTIONAL, "datacontenttype", *(n for n in definition.names if not definition.knative))
    for name in more:
        if chosen.random() < 0.6:
            event[name] = chosen.choice(texts[name]) if name in texts else _text(chosen)
    return event


def random_filter(chosen: Random, definition: Definition, depth: int = 3) -> Filter:
    """A filter of any dialect but CloudEvents SQL."""
    kind = chosen.choice(("exact", "prefix", "suffix", "all", "any", "not") if depth else ("exact", "prefix", "suffix"))
    match kind:
        case "all" | "any":
            return {kind: [random_filter(chosen, definition, depth - 1) for _ in range(chosen.randint(1, _LONGEST))]}
        case "not":
            return {kind: random_filter(chosen, definition, depth - 1)}
    names = {
        chosen.choice((*_REQUIRED, *_OPTIONAL, "datacontenttype", *definition.names))
        for _ in range(chosen.randint(1, 2))
    }
    return {
        kind: {name: _value(chosen, kind, name) for name in sorted(names) if _is_allowed(kind, name, definition)}
        or {"type": "a"}
    }


def _is_allowed(kind: str, name: str, definition: Definition) -> bool:
    return kind == "exact" or not definition.knative or name not in ("time", "datamediatype")


def _value(chosen: Random, kind: str, name: str) -> str:
    match name:
        case "time":
            return chosen.choice(_TIMES if kind == "exact" else _PARTS_OF_TIMES)
        case "datacontenttype":
            return chosen.choice((*_MEDIA, "application", "json", "utf-8"))
        case "datamediatype":
            return chosen.choice(("application/json", "text/plain", "a/b+json", "application"))
        case "prio" | "flag":
            return chosen.choice(("5", "-1", "0", "true", "false", "t", "e"))
        case _:
            return _text(chosen)


def _text(chosen: Random) -> str:
    return chosen.choice(_OFTEN if chosen.random() < 0.7 else _TEXTS)
