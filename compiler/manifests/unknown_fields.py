"""Fields that a Trigger does not have: misspelt, in the wrong place, or of a newer Knative.

An API server and a broker pass over such a field without a word, and a filter that is passed over delivers every event.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ..dialects import DIALECTS, UNDER_FILTER, UNDER_FILTERS
from ..dialects.drafts import DRAFTS, current_form
from ..dialects.model import Findings
from ..documents.document import Mapping, Place, Scalar, Sequence, Value, members
from ..environments.cloudevent import CONTEXT_ATTRIBUTES
from ..suggest import closest, did_you_mean
from .trigger_fields import METADATA, TRICEL_GROUP, TRIGGER, FieldRow, group_of, names

_TESTS = tuple(name for name, row in UNDER_FILTERS.items() if not row.holds_filters)
"""Filters that hold no others. `all`, `any` and `not` are words that other things are called by, too."""
_FILTER_KEYS = frozenset({"filter", "filters", "cel", "matchTypes", "matchSource", *UNDER_FILTER, *_TESTS})
_CEL = re.compile(r"\b(?:ce|data)\s*[.\[]")
_SHOWN = 3


def check_fields(trigger: Place, version: str, findings: Findings) -> None:
    """Reports every field that the tables do not have, from the top of a Trigger down; `version` is its apiVersion."""
    _check(trigger, TRIGGER, "", group_of(version) == TRICEL_GROUP, findings)


def _check(place: Place, row: FieldRow, path: str, ours: bool, findings: Findings) -> None:
    known = {field.name: field for field in row.fields}
    for name, entry in members(place):
        field = known.get(name)
        if field is None:
            _unknown(name, entry, row, path, ours, findings)
        elif field.fields:
            _check(entry, field, _inside(path, name), ours, findings)


def _unknown(name: str, entry: Place, row: FieldRow, path: str, ours: bool, findings: Findings) -> None:
    if name in DRAFTS:
        help_ = current_form(name, ((name, entry),), DIALECTS)
        findings.report("TRI309", entry, f"'{entry.path}' is not a field, and looks like a filter", help_)
        return
    homes = _homes(name, path)
    if homes:
        help_ = "it belongs at " + " or ".join(f"'{home}'" for home in homes)
        findings.report("TRI309", entry, f"'{entry.path}' is in the wrong place", help_)
        return
    near = closest(name, names(row.fields))
    help_ = did_you_mean(near) or _elsewhere(name)
    if not help_ and _like_a_filter(entry.value):
        help_ = "it looks like a filter, which stands under 'spec.filter' or 'spec.filters'"
    if help_ or ours or not row.growing:
        help_ = help_ or f"known fields: {', '.join(names(row.fields))}"
        findings.report("TRI308", entry, f"'{entry.path}' is not a field of a Trigger", help_)
    else:
        help_ = f"known fields: {', '.join(names(row.fields))}"
        findings.report("TRI312", entry, f"'{entry.path}' is not a field that is known of Knative", help_)


def _homes(name: str, path: str) -> tuple[str, ...]:
    """Where a field of this name stands: below `path`, or else anywhere; the nearest to the top."""
    found = [place for known, place in _places() if known == name]
    inside = [place for place in found if path.count(".") and place.startswith(f"{path}.")]
    near = inside or found
    depth = min((place.count(".") for place in near), default=0)
    return tuple(place for place in near if place.count(".") == depth)[:_SHOWN]


def _elsewhere(name: str) -> str:
    """The help for a name that resembles that of a filter, which stands in another place."""
    near = closest(name, ("filter", "filters", *UNDER_FILTER, *_TESTS))
    return f"did you mean '{_homes(near, '')[0]}'?" if near else ""


@cache
def _places() -> tuple[tuple[str, str], ...]:
    """Every field of a Trigger, by name and path; attributes of events last."""
    rows = list(_rows(TRIGGER.fields, ""))
    rows += [(row.name, f"metadata.{row.name}") for row in METADATA]
    rows += [(name, f"spec.filter.{name}") for name in UNDER_FILTER]
    rows += [(name, f"spec.filters[].{name}") for name in UNDER_FILTERS]
    taken = {name for name, _ in rows}
    rows += [(name, f"spec.filter.attributes.{name}") for name, _ in CONTEXT_ATTRIBUTES.fields if name not in taken]
    return tuple(rows)


def _rows(rows: tuple[FieldRow, ...], path: str) -> Iterator[tuple[str, str]]:
    for row in rows:
        here = _inside(path, row.name)
        yield row.name, here
        yield from _rows(row.fields, here)


def _like_a_filter(value: Value) -> bool:
    """Whether something below has the name of a filter form, or the text of an expression."""
    match value:
        case Scalar():
            return isinstance(value.value, str) and _CEL.search(value.value) is not None
        case Sequence():
            return any(map(_like_a_filter, value.items))
        case Mapping():
            return any(key.text in _FILTER_KEYS or _like_a_filter(inner) for key, inner in value.entries)


def _inside(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
