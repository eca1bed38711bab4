"""Which overloads run natively, and why the others do not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tricel.compiler.functions import ALL

from .lowerings import NATIVE, times


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
    "string_to_timestamp": "a literal, not finer than a microsecond",
    "string_to_duration": "a literal, not finer than a microsecond and not over 292 years",
    **{f"timestamp_to_{field}_with_tz": "a literal zone: UTC or an offset" for field in times.FIELDS},
    **{
        f"{stem}_{pair}": "the int rounded to a double, as CEL has it"
        for stem in ("less", "less_equals", "greater", "greater_equals")
        for pair in ("int64_double", "double_int64")
    },
    "list_join": "",
    "list_join_string": "",
    **{
        f"optional_{overload}": "of a field, or a key written out, and where no optional is kept"
        for overload in ("of", "none", "hasValue", "value", "or_optional", "orValue_value")
    },
}
"""Overloads that `lower` handles itself, each with its condition."""

_UINT = "Spark has no unsigned 64-bit integer"
_BYTES = "bytes are not lowered yet"
_LISTS = "functions that make lists are not lowered yet"
_REASONS = {
    "double_to_string": "Java before 19 does not always find a double's shortest text, which is CEL's",
}

OPTIONAL = "an optional has no form in SQL; only fields are selected without making one"
_DOUBLES = "functions of doubles are not lowered yet"
_BITS = "bitwise functions are not lowered yet"
_SHIFT = "Spark takes the number of places modulo 64, so that 64 places move nothing"
_SETS = "array_except() and array_intersect() take NaN to equal itself, and do not compare numbers across types"
_JAVA = "Spark's pattern functions run on Java's regular expressions, which are not RE2's"
_BEST = "greatest() and least() skip NULL, which is an error here, and order NaN above all numbers"
_EXTENSIONS = {
    "format": "format_string() has other clauses, and writes numbers, times, lists and maps otherwise",
    "strings.quote": "Spark has no function that writes a text as a CEL literal",
    "math.greatest": _BEST,
    "math.least": _BEST,
    "math.ceil": "ceil() of a double is a bigint, which ends at 2^63",
    "math.floor": "floor() of a double is a bigint, which ends at 2^63",
    "math.round": "round() goes through a decimal, which has no negative zero",
    "math.trunc": _DOUBLES,
    "math.abs": "abs() of the least int is itself, or an exception, where CEL has an error",
    "math.sign": "sign() of an int is a double",
    "math.sqrt": _DOUBLES,
    "math.isNaN": _DOUBLES,
    "math.isInf": _DOUBLES,
    "math.isFinite": _DOUBLES,
    "math.bitAnd": _BITS,
    "math.bitOr": _BITS,
    "math.bitXor": _BITS,
    "math.bitNot": _BITS,
    "math.bitShiftLeft": _SHIFT,
    "math.bitShiftRight": _SHIFT,
    "slice": "slice() cuts positions outside the list to fit, where CEL has an error",
    "flatten": "flatten() takes lists of lists alone, and a list in the data holds what it may",
    "sort": "sort_array() does not take values of unknown types, and orders NaN",
    "distinct": "array_distinct() takes NaN to equal itself, and does not compare numbers across types",
    "list_reverse": _LISTS,
    "first": OPTIONAL,
    "last": OPTIONAL,
    "lists.range": _LISTS,
    "sets.contains": _SETS,
    "sets.equivalent": _SETS,
    "sets.intersects": _SETS,
    "regex.replace": f"{_JAVA}, and replacements are written with $",
    "regex.extract": _JAVA,
    "regex.extractAll": _JAVA,
    "base64.decode": "unbase64() passes over what is not base64, where CEL has an error",
    "base64.encode": _BYTES,
}
"""By overload or, where all overloads have the same reason, by function."""
for _row in ALL:
    _reason = _EXTENSIONS.get(_row.id) or _EXTENSIONS.get(_row.function)
    if _reason:
        _REASONS[_row.id] = _UINT if "uint" in _row.id else _reason


def reason_for(overload_id: str) -> str:
    """Why an overload has no native form."""
    if overload_id in _REASONS:
        return _REASONS[overload_id]
    if overload_id.startswith("optional_"):
        return OPTIONAL
    if "uint64" in overload_id:
        return _UINT
    if "bytes" in overload_id:
        return _BYTES
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
