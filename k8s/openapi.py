"""The structural OpenAPI schema of a Trigger, from the tables that the reader of manifests checks with.

A structural schema cannot recurse, and an object without `x-kubernetes-preserve-unknown-fields` loses the fields that it
does not name before any webhook sees them. A misspelt field that vanishes would deliver every event, so nothing below
`spec` is dropped: what the schema does not name, the webhook reports. The server checks the schema first, and what it
refuses the webhook never sees: alternatives and patterns, which an API server words badly, are rules with a message of
ours where its CEL can say them, and are left to the webhook where it cannot.
"""

from __future__ import annotations

from typing import Any

from tricel.compiler import Limits
from tricel.compiler.manifests.trigger_fields import SPEC, FieldRow, Shape

from . import dialect_schemas
from .rules import RULES

Schema = dict[str, Any]
KEEP = "x-kubernetes-preserve-unknown-fields"
LONGEST_TEXT = 4096
"""Characters of a string that is no expression: bounds the cost of the rules, as Kubernetes asks."""

_CONDITION = {
    "type": "object",
    "description": "One aspect of the Trigger's state.",
    "required": ["type", "status"],
    "properties": {
        "type": {"type": "string", "description": "The aspect, such as `Ready` or `FilterAccepted`."},
        "status": {"type": "string", "enum": ["True", "False", "Unknown"], "description": "Whether it holds."},
        "reason": {"type": "string", "description": "Why, in one word; for a refused filter the diagnostic's code."},
        "message": {"type": "string", "description": "Why, for people."},
        "lastTransitionTime": {"type": "string", "format": "date-time", "description": "When `status` last changed."},
        "observedGeneration": {"type": "integer", "format": "int64", "description": "The generation that was judged."},
    },
}


def trigger_schema() -> Schema:
    """The `openAPIV3Schema` of `tricel.dev/v1alpha1`."""
    return {
        "type": "object",
        "description": "Which events of a broker are delivered to a subscriber.",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": "tricel.dev/v1alpha1"},
            "kind": {"type": "string", "description": "Trigger"},
            "metadata": {"type": "object"},
            "spec": _spec(),
            "status": _status(),
        },
    }


def _spec() -> Schema:
    schema = _object(SPEC, "What is asked for.")
    schema["properties"]["filter"] = dialect_schemas.filter_forms(_description("filter"))
    schema["properties"]["filters"] = dialect_schemas.filters(_description("filters"))
    # A rule says what is missing, and why; where the schema says it, no rule is looked at.
    del schema["required"]
    schema["x-kubernetes-validations"] = [rule.as_crd() for rule in RULES if not rule.policy_only]
    return schema


def _description(name: str) -> str:
    return next(row.doc for row in SPEC if row.name == name)


def _object(rows: tuple[FieldRow, ...], description: str) -> Schema:
    required = [row.name for row in rows if row.required and not row.unless]
    schema: Schema = {
        "type": "object",
        "description": description,
        KEEP: True,
        "properties": {row.name: _field(row) for row in rows},
    }
    return {**schema, "required": required} if required else schema


def _field(row: FieldRow) -> Schema:
    match row.shape:
        case Shape.OBJECT:
            return _object(row.fields, row.doc)
        case Shape.INTEGER:
            return {"type": "integer", "format": "int32", "description": row.doc, "minimum": row.minimum or 0}
        case Shape.LIST:
            return {"type": "array", "description": row.doc, "items": {"type": "object", KEEP: True}}
        case _:
            return _string(row)


def _string(row: FieldRow) -> Schema:
    schema: Schema = {"type": "string", "description": row.doc}
    if row.choices:
        return {**schema, "enum": list(row.choices)}
    if row.required:
        schema["minLength"] = 1
    schema["maxLength"] = Limits().text if row.name == "CACerts" else LONGEST_TEXT
    return schema


def _status() -> Schema:
    return {
        "type": "object",
        "description": "What was observed.",
        KEEP: True,
        "properties": {
            "observedGeneration": {
                "type": "integer",
                "format": "int64",
                "description": "The generation of the spec that the status is about.",
            },
            "conditions": {
                "type": "array",
                "description": "The aspects of the state, each once.",
                "items": _CONDITION,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
            },
        },
    }
