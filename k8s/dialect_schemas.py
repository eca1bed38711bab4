"""The schemas of filter forms and dialects. Which there are is asked of the compiler; one without a row is left open."""

from __future__ import annotations

from typing import Any

from tricel.compiler import Limits
from tricel.compiler.dialects import FILTER_FORMS
from tricel.compiler.dialects.source_and_type import FIELDS
from tricel.compiler.dialects.subscriptions import DIALECTS

Schema = dict[str, Any]
KEEP = "x-kubernetes-preserve-unknown-fields"
_NESTING = 1
"""Levels of `all`, `any` and `not` that are written out; what is below is left to the webhook."""

_TEXT = {"type": "string", "maxLength": 4096}
_KEPT = {"nullable": True}
"""An API server drops a null where none is allowed, and `{type: null}` would become every event. The webhook refuses it."""
_EXPRESSION = {"type": "string", "minLength": 1, "maxLength": Limits().text}


def filter_forms(description: str) -> Schema:
    """What stands under `spec.filter`: one form, or nothing."""
    return {
        "type": "object",
        "description": description,
        KEEP: True,
        "maxProperties": 1,
        "anyOf": [{"maxProperties": 0}, *({"required": [name]} for name in FILTER_FORMS)],
        "properties": {name: _form(name) for name in FILTER_FORMS},
    }


def filters(description: str) -> Schema:
    """What stands under `spec.filters`."""
    return {"type": "array", "description": description, "maxItems": 1000, "items": _filter(_NESTING)}


def _form(name: str) -> Schema:
    match name:
        case "attributes":
            doc = "Attributes and the values that they must have; an empty value asks only that the attribute is there."
            return {"type": "object", "description": doc, "additionalProperties": {**_TEXT, **_KEPT}}
        case "expression":
            return {
                **_EXPRESSION,
                "description": "A CEL expression over `ce`, the attributes, and `data`, the payload.",
            }
        case "sourceAndType":
            doc = "Deprecated: the same entries under `attributes`."
            return {"type": "object", "description": doc, KEEP: True, "properties": dict.fromkeys(FIELDS, _TEXT)}
        case _:
            return {"description": f"The filter form `{name}`.", KEEP: True}


def _filter(levels: int) -> Schema:
    """One filter of the Subscriptions API: exactly one dialect, written out unless `levels` is negative."""
    one = {
        "type": "object",
        "description": "One filter, in one dialect.",
        KEEP: True,
        "minProperties": 1,
        "maxProperties": 1,
    }
    if levels < 0:
        return one
    return {
        **one,
        "anyOf": [{"required": [name]} for name in DIALECTS],
        "properties": {name: _dialect(name, levels - 1) for name in DIALECTS},
    }


def _dialect(name: str, levels: int) -> Schema:
    """What stands under a dialect's name; `levels` is for the filters inside."""
    match name:
        case "exact" | "prefix" | "suffix":
            verb = {"exact": "equal", "prefix": "begin with", "suffix": "end with"}[name]
            value = {**_TEXT, **_KEPT, "minLength": 1}
            doc = f"Attributes and what they must {verb}."
            return {"type": "object", "description": doc, "minProperties": 1, "additionalProperties": value}
        case "all" | "any":
            doc = "Filters that must all pass." if name == "all" else "Filters of which one must pass."
            return {"type": "array", "description": doc, "minItems": 1, "items": _filter(levels)}
        case "not":
            return {**_filter(levels), "description": "A filter that must not pass."}
        case "cesql":
            return {**_EXPRESSION, "description": "A CloudEvents SQL expression."}
        case _:
            return {"description": f"The dialect `{name}`.", KEEP: True}
