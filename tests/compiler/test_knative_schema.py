"""What we know of Knative's definition, held against it field by field: what it names, and what an API server drops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from knative_definition import spec_schema
from tricel.compiler.dialects import UNDER_FILTER, UNDER_FILTERS
from tricel.compiler.manifests.trigger_fields import SPEC, FieldRow, Shape

KEEP = "x-kubernetes-preserve-unknown-fields"
TYPES = {Shape.STRING: "string", Shape.INTEGER: "integer", Shape.OBJECT: "object", Shape.LIST: "array"}


def fields(rows: tuple[FieldRow, ...], path: str = "") -> Iterator[tuple[str, FieldRow]]:
    for row in rows:
        yield f"{path}{row.name}", row
        yield from fields(row.fields, f"{path}{row.name}.")


def named(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field that the definition names, but what is inside a filter."""
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}{name}", inner
        if name not in ("filter", "filters"):
            yield from named(inner, f"{path}{name}.")


def holder(path: str) -> dict[str, Any]:
    schema = spec_schema()
    for name in path.split(".")[:-1]:
        schema = schema["properties"][name]
    return schema


def test_every_field_of_the_definition_is_known() -> None:
    known = {path for path, _ in fields(SPEC)}
    theirs = dict(named(spec_schema()))
    assert {"broker", "subscriber.ref.name", "delivery.deadLetterSink.uri"} <= set(theirs)
    assert set() == set(theirs) - known
    assert [] == [path for path, row in fields(SPEC) if path in theirs and TYPES[row.shape] != theirs[path]["type"]]


def test_what_is_dropped_is_what_a_closed_object_does_not_name() -> None:
    theirs = dict(named(spec_schema()))
    gone = {path for path, _ in fields(SPEC) if path not in theirs and not holder(path).get(KEEP)}
    assert {path for path, row in fields(SPEC) if row.dropped} == gone
    assert {"subscriber.ref.group", "delivery.deadLetterSink.ref.address"} <= gone


def test_the_forms_of_a_filter() -> None:
    theirs = spec_schema()["properties"]["filter"]
    assert not theirs.get(KEEP), "nothing would be dropped"
    assert {name for name, row in UNDER_FILTER.items() if row.knative} == set(theirs["properties"])
    assert {"expression", "sourceAndType"} == {name for name, row in UNDER_FILTER.items() if not row.knative}


def test_the_dialects_of_filters() -> None:
    items = spec_schema()["properties"]["filters"]["items"]
    assert not items.get(KEEP), "a misspelt dialect would be kept"
    assert {name for name, row in UNDER_FILTERS.items() if row.knative} == set(items["properties"])


def test_a_newer_knative_may_add_to_what_is_open() -> None:
    # An object that keeps what it does not name is where a field of a newer Knative reaches a cluster of an older one.
    assert spec_schema()[KEEP]
    closed = [path for path, row in fields(SPEC) if row.fields and not row.growing]
    assert {
        "subscriber",
        "subscriber.ref",
        "brokerRef",
        "delivery",
        "delivery.deadLetterSink",
        "delivery.deadLetterSink.ref",
    } == set(closed)
    assert ["delivery"] == [path for path in closed if dict(named(spec_schema()))[path].get(KEEP)]
