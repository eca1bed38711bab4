"""Conversions that Spark can make exactly. Spark's own casts of text are lenient, so the text is checked first."""

from __future__ import annotations

from ..sql import Sql, text_literal
from .registry import lowers

_INTEGER = text_literal(r"\A[\t-\r ]*+[+-]?[0-9]++[\t-\r ]*+\z")
_TRUE, _FALSE = "('1', 't', 'true', 'TRUE', 'True')", "('0', 'f', 'false', 'FALSE', 'False')"


@lowers("bool_to_bool", "double_to_double", "int64_to_int64", "string_to_string", infix=True)
def _identity(x: Sql) -> str:
    return str(x)


@lowers("bool_to_int64")
def _bool_to_int(x: Sql) -> str:
    return f"CAST({x.text} AS BIGINT)"


@lowers("int64_to_double", nan=False)
def _int_to_double(x: Sql) -> str:
    return f"CAST({x.text} AS DOUBLE)"


@lowers("double_to_int64", twice=(0,))
def _double_to_int(x: Sql) -> str:
    return f"CASE WHEN {x} > -9223372036854775808D AND {x} < 9223372036854775808D THEN try_cast({x} AS BIGINT) END"


@lowers("string_to_int64", twice=(0,))
def _string_to_int(x: Sql) -> str:
    return f"CASE WHEN rlike({x.text}, {_INTEGER}) THEN try_cast({x} AS BIGINT) END"


@lowers("string_to_bool", twice=(0,))
def _string_to_bool(x: Sql) -> str:
    return f"CASE WHEN {x} IN {_TRUE} THEN TRUE WHEN {x} IN {_FALSE} THEN FALSE END"


@lowers("int64_to_string", "bool_to_string")
def _to_string(x: Sql) -> str:
    return f"CAST({x.text} AS STRING)"


@lowers("timestamp_to_int64")
def _timestamp_to_int(x: Sql) -> str:
    return f"unix_seconds({x.text})"
