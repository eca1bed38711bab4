"""Conversions that Spark can make exactly. Spark's own casts of text are lenient, so the text is checked first."""

from __future__ import annotations

from ..sql import Sql, text_literal
from .registry import lowers

_INTEGER = text_literal(r"\A[\t-\r ]*+[+-]?[0-9]++[\t-\r ]*+\z")
_DECIMAL = r"(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+"
_HEXADECIMAL = r"0[xX](?:[0-9a-fA-F]++(?:\.[0-9a-fA-F]*+)?+|\.[0-9a-fA-F]++)"
_NUMBER = text_literal(rf"\A[\t-\r ]*+[+-]?+{_DECIMAL}[\t-\r ]*+\z")
_WHOLE_HEXADECIMAL = text_literal(rf"\A[\t-\r ]*+[+-]?+{_HEXADECIMAL}[\t-\r ]*+\z")
_SCALED_HEXADECIMAL = text_literal(rf"\A[\t-\r ]*+[+-]?+{_HEXADECIMAL}[pP][+-]?+[0-9]++[\t-\r ]*+\z")
_INFINITY = text_literal(r"\A[\t-\r ]*+[+-]?+(?i:inf(?:inity)?+)[\t-\r ]*+\z")
_NAN = text_literal(r"\A[\t-\r ]*+[+-]?+(?i:nan)(?:\([0-9A-Za-z_]*+\))?+[\t-\r ]*+\z")
_BLANKS = text_literal("\t\n\v\f\r ")
_TRUE, _FALSE = "('1', 't', 'true', 'TRUE', 'True')", "('0', 'f', 'false', 'FALSE', 'False')"


@lowers("bool_to_bool", "double_to_double", "int64_to_int64", "string_to_string", "bytes_to_bytes", infix=True)
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


@lowers("string_to_bytes")
def _string_to_bytes(x: Sql) -> str:
    return f"CAST({x.text} AS BINARY)"


@lowers("bytes_to_string", depth=2)
def _bytes_to_string(x: Sql) -> str:
    return f"try_validate_utf8(CAST({x.text} AS STRING))"


@lowers("string_to_double", twice=(0,), depth=5)
def _string_to_double(x: Sql) -> str:
    """Java reads decimal and hexadecimal numbers alike, but for the exponent that it wants after the latter."""
    decimal = f"WHEN rlike({x.text}, {_NUMBER}) OR rlike({x.text}, {_SCALED_HEXADECIMAL}) THEN try_cast({x} AS DOUBLE)"
    whole = f"WHEN rlike({x.text}, {_WHOLE_HEXADECIMAL}) THEN {_as_double(x)}"
    sign = f"CASE WHEN contains({x.text}, '-') THEN -1D ELSE 1D END"
    infinite = f"WHEN rlike({x.text}, {_INFINITY}) THEN CAST('Infinity' AS DOUBLE) * {sign}"
    return f"CASE {decimal} {whole} {infinite} WHEN rlike({x.text}, {_NAN}) THEN CAST('NaN' AS DOUBLE) END"


def _as_double(x: Sql) -> str:
    return f"try_cast(concat(trim(BOTH {_BLANKS} FROM {x.text}), 'p0') AS DOUBLE)"
