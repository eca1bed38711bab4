"""The schemas of filter forms and dialects, from the rows of the compiler's registry; one without a schema is left open."""

from __future__ import annotations

from typing import Any

from tricel.compiler.dialects import FILTERS, UNDER_FILTER, UNDER_FILTERS, Dialect

Schema = dict[str, Any]
KEEP = "x-kubernetes-preserve-unknown-fields"
_NESTING = 1
"""Levels of `all`, `any` and `not` that are written out; what is below is left to the webhook."""


def filter_forms(description: str) -> Schema:
    """What stands under `spec.filter`: one form, or nothing."""
    properties = {name: _described(row, _NESTING) for name, row in UNDER_FILTER.items()}
    return {"type": "object", "description": description, KEEP: True, "properties": properties}


def filters(description: str) -> Schema:
    """What stands under `spec.filters`."""
    return {**_described(FILTERS, _NESTING), "description": description}


def _filter(levels: int) -> Schema:
    """One filter of the Subscriptions API, its dialects written out unless `levels` is negative."""
    one: Schema = {"type": "object", "description": "One filter, in one dialect.", KEEP: True}
    if levels < 0:
        return one
    return {**one, "properties": {name: _described(row, levels - 1) for name, row in UNDER_FILTERS.items()}}


def _described(row: Dialect, levels: int) -> Schema:
    """What stands under a dialect's name; `levels` is for the filters inside."""
    if row.schema is None:
        return {"description": row.doc, KEEP: True}
    schema = _structural(dict(row.schema(_filter(levels) if row.holds_filters else {})))
    return {
        "type": schema.pop("type"),
        "description": row.doc,
        **{k: v for k, v in schema.items() if k != "description"},
    }


def _structural(schema: Schema) -> Schema:
    """A JSON schema as an API server takes it: an object keeps what it does not name, and a null stays.

    An API server drops a null where none is allowed, and `{type: null}` would become every event. The webhook refuses it.
    """
    if schema["type"] != "object":
        return schema
    if "additionalProperties" in schema:
        return {**schema, "additionalProperties": {**schema["additionalProperties"], "nullable": True}}
    return {"type": "object", KEEP: True, **schema}
