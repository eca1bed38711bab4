"""What Spark has no exact form for: left to an engine, with the reason."""

from __future__ import annotations

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType
from tricel.compiler.functions import ALL

from ..reasons import Reason
from .registry import left_to_engine

left_to_engine(Reason.SHORTEST_DOUBLE, "double_to_string")
left_to_engine(Reason.FORMAT, "string_format")
left_to_engine(Reason.QUOTE, "strings_quote")
left_to_engine(Reason.JAVA_REPLACEMENT, "regex_replace_string_string_string", "regex_replace_string_string_string_int")
left_to_engine(Reason.JAVA_PATTERN, "regex_extract_string_string", "regex_extractAll_string_string")
left_to_engine(Reason.OPTIONAL, "optional_ofNonZeroValue", "optional_unwrap", "optional_unwrapOpt")


def unsigned(type_: CelType) -> bool:
    """Whether values of the type are uints, or hold them."""
    return type_ == t.UINT or any(map(unsigned, type_.params))


UNSIGNED = frozenset(row.id for row in ALL if any(map(unsigned, (*row.params, row.result))))
"""The overloads that take uints, or make them."""
_HANDLED = ("list_uint_sort", "math_@max_", "math_@min_")
"""How the ids of overloads begin whose handlers refuse uints themselves."""
left_to_engine(Reason.UNSIGNED, *(row.id for row in ALL if row.id in UNSIGNED and not row.id.startswith(_HANDLED)))
