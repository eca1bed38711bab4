"""Conversions that Spark can make exactly. Spark's own casts of text are lenient, so the text is checked first."""

from __future__ import annotations

import math

from .. import Sql, Typed, case, cast, function, is_in, literal, try_cast, when
from .registry import lowers

_INTEGER = r"\A[\t-\r ]*+[+-]?[0-9]++[\t-\r ]*+\z"
_DECIMAL = r"(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+"
_HEXADECIMAL = r"0[xX](?:[0-9a-fA-F]++(?:\.[0-9a-fA-F]*+)?+|\.[0-9a-fA-F]++)"
_NUMBER = rf"\A[\t-\r ]*+[+-]?+{_DECIMAL}[\t-\r ]*+\z"
_WHOLE_HEXADECIMAL = rf"\A[\t-\r ]*+[+-]?+{_HEXADECIMAL}[\t-\r ]*+\z"
_SCALED_HEXADECIMAL = rf"\A[\t-\r ]*+[+-]?+{_HEXADECIMAL}[pP][+-]?+[0-9]++[\t-\r ]*+\z"
_INFINITY = r"\A[\t-\r ]*+[+-]?+(?i:inf(?:inity)?+)[\t-\r ]*+\z"
_NAN = r"\A[\t-\r ]*+[+-]?+(?i:nan)(?:\([0-9A-Za-z_]*+\))?+[\t-\r ]*+\z"
_BLANKS = "\t\n\v\f\r "
_TRUE, _FALSE = ("1", "t", "true", "TRUE", "True"), ("0", "f", "false", "FALSE", "False")


@lowers("bool_to_bool", "double_to_double", "int64_to_int64", "string_to_string", "bytes_to_bytes")
def _identity(x: Typed) -> Typed:
    return x


@lowers("bool_to_int64")
def _bool_to_int(x: Typed) -> Sql:
    return cast(x, "BIGINT")


@lowers("int64_to_double", nan=False)
def _int_to_double(x: Typed) -> Sql:
    return cast(x, "DOUBLE")


@lowers("double_to_int64", twice=(0,))
def _double_to_int(x: Typed) -> Sql:
    return when((x > -(2.0**63)) & (x < 2.0**63), try_cast(x, "BIGINT"))


@lowers("string_to_int64", twice=(0,))
def _string_to_int(x: Typed) -> Sql:
    return when(function("rlike", x, _INTEGER), try_cast(x, "BIGINT"))


@lowers("string_to_bool", twice=(0,))
def _string_to_bool(x: Typed) -> Sql:
    return case((is_in(x, _TRUE), True), (is_in(x, _FALSE), False))


@lowers("int64_to_string", "bool_to_string")
def _to_string(x: Typed) -> Sql:
    return cast(x, "STRING")


@lowers("string_to_bytes")
def _string_to_bytes(x: Typed) -> Sql:
    return cast(x, "BINARY")


@lowers("bytes_to_string")
def _bytes_to_string(x: Typed) -> Sql:
    return function("try_validate_utf8", cast(x, "STRING"))


@lowers("string_to_double", twice=(0,))
def _string_to_double(x: Typed) -> Sql:
    """Java reads decimal and hexadecimal numbers alike, but for the exponent that it wants after the latter."""
    sign = case((function("contains", x, "-"), -1.0), otherwise=1.0)
    return case(
        (function("rlike", x, _NUMBER) | function("rlike", x, _SCALED_HEXADECIMAL), try_cast(x, "DOUBLE")),
        (function("rlike", x, _WHOLE_HEXADECIMAL), _as_double(x)),
        (function("rlike", x, _INFINITY), literal(math.inf) * sign),
        (function("rlike", x, _NAN), math.nan),
    )


def _as_double(x: Typed) -> Sql:
    return try_cast(function("concat", function("btrim", x, _BLANKS), "p0"), "DOUBLE")
