"""Which overloads run natively, and why the others do not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tricel.compiler.functions import ALL

from .lowerings import NATIVE


class Support(StrEnum):
    """How an overload runs on Spark."""

    NATIVE = "native"
    FALLBACK = "fallback"


@dataclass(frozen=True, slots=True)
class Capability:
    """How an overload runs, and the reason where it is not native (or the condition where it is)."""

    support: Support
    reason: str = ""


IN_THE_WALK = {
    "logical_and": "",
    "logical_or": "",
    "logical_not": "",
    "conditional": "",
    "equals": "scalars, and dynamic values against scalars",
    "not_equals": "scalars, and dynamic values against scalars",
    "in_list": "a list of literals, or a list in the data",
    "in_map": "the keys of an object in the data, or of ce",
    "index_list": "by a constant",
    "index_map": "by a constant",
    "matches": "a literal pattern that Java runs alike and in linear time",
    "matches_string": "a literal pattern that Java runs alike and in linear time",
    "string_to_timestamp": "a literal",
}
"""Overloads that `lower` handles itself, each with its condition."""

_UINT = "Spark has no unsigned 64-bit integer"
_BYTES = "bytes are not lowered yet"
_DURATION = "durations are not lowered yet"
_GETTER = "fields of times are not lowered yet"
_MIXED = "Spark would round the int to a double; exact with a literal"
_LISTS = "lists made in a filter are not lowered yet"
_REASONS = {
    "add_list": _LISTS,
    "to_dyn": "a value whose type is set aside is checked at evaluation",
    "type": "types as values are not lowered yet",
    "string_to_double": "Spark reads other texts as numbers than CEL does",
    "double_to_string": "Spark writes doubles in another notation",
    "timestamp_to_timestamp": "times as conversions are not lowered yet",
    "timestamp_to_string": "times as text are not lowered yet",
    "int64_to_timestamp": "times as conversions are not lowered yet",
}


def reason_for(overload_id: str) -> str:
    """Why an overload has no native form."""
    if overload_id in _REASONS:
        return _REASONS[overload_id]
    if "uint64" in overload_id:
        return _UINT
    if "bytes" in overload_id:
        return _BYTES
    if "int64_double" in overload_id or "double_int64" in overload_id:
        return _MIXED
    if overload_id.startswith(("timestamp_to_", "duration_to_")) and overload_id != "duration_to_duration":
        return _GETTER
    if "duration" in overload_id or overload_id == "subtract_timestamp_timestamp":
        return _DURATION
    return ""


def capabilities() -> dict[str, Capability]:
    """Every overload's support, by id."""
    found = {}
    for row in ALL:
        if row.id in NATIVE:
            found[row.id] = Capability(Support.NATIVE)
        elif row.id in IN_THE_WALK:
            found[row.id] = Capability(Support.NATIVE, IN_THE_WALK[row.id])
        else:
            found[row.id] = Capability(Support.FALLBACK, reason_for(row.id))
    return found
