"""Which overloads run natively, and why the others do not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tricel.compiler.functions import ALL

from .lowerings import NATIVE, times
from .reasons import UINT


class Support(StrEnum):
    """How an overload runs on Spark."""

    NATIVE = "native"
    FALLBACK = "fallback"


@dataclass(frozen=True, slots=True)
class Capability:
    """How an overload runs, and the reason where it is not native (or the condition where it is)."""

    support: Support
    reason: str = ""


_SORTED = ("int", "double", "bool", "string", "bytes", "timestamp", "duration")
IN_THE_WALK = {
    "logical_and": "",
    "logical_or": "",
    "logical_not": "",
    "conditional": "",
    "equals": "all but structs and maps of typed columns compared whole",
    "not_equals": "all but structs and maps of typed columns compared whole",
    "in_list": "all but structs and maps of typed columns compared whole",
    "in_map": "string keys: of an object in the data, a map column, a map written in the filter, or ce",
    "index_list": "",
    "index_map": "a string key; an attribute of ce by its name written out",
    "add_list": "lists of one type, or of JSON values",
    "to_dyn": "",
    "type": "",
    "matches": "a literal pattern that Java runs alike and in linear time",
    "matches_string": "a literal pattern that Java runs alike and in linear time",
    "string_to_timestamp": "",
    "string_to_duration": "one that is written in the filter is not over 292 years",
    **{f"timestamp_to_{field}_with_tz": "a literal zone: UTC or an offset" for field in times.FIELDS},
    **{
        f"{stem}_{pair}": "the int rounded to a double, as CEL has it"
        for stem in ("less", "less_equals", "greater", "greater_equals")
        for pair in ("int64_double", "double_int64")
    },
    **{
        f"math_@{kind}_{numbers}": "where the result is an int for all events or a double for all, or is compared"
        for kind in ("max", "min")
        for numbers in (
            *("int", "double", "int_int", "double_double", "int_double", "double_int"),
            *("list_int", "list_double"),
        )
    },
    "list_join": "",
    "list_join_string": "",
    "string_reverse": "",
    "list_reverse": "",
    "list_slice": "",
    "list_flatten": "",
    "list_flatten_int": "a number of levels written out, at most 8",
    "list_distinct": "all but structs, maps and lists of typed columns compared whole",
    "lists_range": "a number written out, at most 10,000, or a size()",
    "list_first": "where no optional is kept",
    "list_last": "where no optional is kept",
    **{f"list_{kind}_sort": "" for kind in _SORTED},
    **{
        f"list_sets_{test}_list": "all but structs, maps and lists of typed columns compared whole"
        for test in ("contains", "equivalent", "intersects")
    },
    **{
        f"optional_{overload}": "of a field, or a key written out, and where no optional is kept"
        for overload in ("of", "none", "hasValue", "value", "or_optional", "orValue_value")
    },
}
"""Overloads that `lower` handles itself, each with its condition."""

_REASONS = {
    "double_to_string": "Java before 19 does not always find a double's shortest text, which is CEL's",
}

OPTIONAL = "an optional has no form in SQL; only fields and ends of lists are read without making one"
_JAVA = "Spark's pattern functions run on Java's regular expressions, which are not RE2's"
_EXTENSIONS = {
    "format": "format_string() has other clauses, and writes numbers, times, lists and maps otherwise",
    "strings.quote": "Spark has no function that writes a text as a CEL literal",
    "sort": UINT,
    "first": OPTIONAL,
    "last": OPTIONAL,
    "regex.replace": f"{_JAVA}, and replacements are written with $",
    "regex.extract": _JAVA,
    "regex.extractAll": _JAVA,
}
"""By overload or, where all overloads have the same reason, by function."""
for _row in ALL:
    _reason = _EXTENSIONS.get(_row.id) or _EXTENSIONS.get(_row.function)
    if _reason:
        _REASONS[_row.id] = UINT if "uint" in _row.id else _reason


def reason_for(overload_id: str) -> str:
    """Why an overload has no native form."""
    if overload_id in _REASONS:
        return _REASONS[overload_id]
    if overload_id.startswith("optional_"):
        return OPTIONAL
    if "uint" in overload_id:
        return UINT
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
