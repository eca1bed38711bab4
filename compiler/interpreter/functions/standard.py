"""Standard functions on strings, bytes and types, and the conversions (CEL definition, "Standard Definitions")."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ...patterns import compile_re2, refusal, searcher
from ...values.cel import CelError, TypeValue, Uint, Value, int_value, kind, uint_value
from ..registry import implements

_PATTERNS = 128
"""Compiled patterns that are kept, of up to 8 MiB each: an event may bring a pattern of its own."""
_BLANK = "\t\n\v\f\r "
_DIGITS = re.compile(r"([+-]?)0*+(\d*)", re.ASCII)
_DECIMAL = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|infinity|nan(?:\(\w*\))?)", re.ASCII | re.IGNORECASE
)
_HEXADECIMAL = re.compile(r"[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_TRUE, _FALSE = frozenset({"1", "t", "true", "TRUE", "True"}), frozenset({"0", "f", "false", "FALSE", "False"})
_TYPE_NAMES = {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration"}


@implements("starts_with_string")
def _starts_with(text: str, prefix: str) -> bool:
    return text.startswith(prefix)


@implements("ends_with_string")
def _ends_with(text: str, suffix: str) -> bool:
    return text.endswith(suffix)


@implements("contains_string")
def _contains(text: str, part: str) -> bool:
    return part in text


@implements("matches", "matches_string")
def _matches(text: str, pattern: str) -> bool:
    return _searcher_of(pattern)(text)


@lru_cache(maxsize=_PATTERNS)
def pattern_of(pattern: str) -> Any:
    """The compiled RE2 pattern.

    Raises:
        CelError: for what RE2 refuses.
    """
    _accepted(pattern)
    return compile_re2(pattern)


@lru_cache(maxsize=_PATTERNS)
def _searcher_of(pattern: str) -> Callable[[str], bool]:
    _accepted(pattern)
    return searcher(pattern)


def _accepted(pattern: str) -> None:
    refused = refusal(pattern)
    if refused is not None:
        raise CelError(f"invalid regular expression: {refused.message}")


@implements(
    *("bool_to_bool", "bytes_to_bytes", "double_to_double", "int64_to_int64", "string_to_string", "uint64_to_uint64"),
    *("timestamp_to_timestamp", "duration_to_duration", "to_dyn"),
)
def _same(value: Value) -> Value:
    return value


@implements("string_to_bool")
def _read_bool(text: str) -> bool:
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise CelError(f"not a bool: {text[:60]!r}")


@implements("bool_to_int64")
def _bool_as_int(value: bool) -> int:
    return int(value)


@implements("uint64_to_int64")
def _uint_as_int(value: int) -> int:
    return int_value(int(value))


@implements("double_to_int64")
def _double_as_int(value: float) -> int:
    # The engines refuse -2^63 as well: its neighbours in double are out of range.
    if -(2.0**63) < value < 2.0**63:
        return int(value)
    raise CelError("double out of int64 range")


@implements("string_to_int64")
def _read_int(text: str) -> int:
    return int_value(_whole(text, "int"))


@implements("int64_to_uint64")
def _int_as_uint(value: int) -> Uint:
    return uint_value(value)


@implements("double_to_uint64")
def _double_as_uint(value: float) -> Uint:
    if 0.0 <= value < 2.0**64:
        return Uint(int(value))
    raise CelError("double out of uint64 range")


@implements("string_to_uint64")
def _read_uint(text: str) -> Uint:
    if "-" in text:  # a uint has no sign, and so neither has its zero
        raise CelError(f"not a uint: {text[:60]!r}")
    return uint_value(_whole(text, "uint"))


def _whole(text: str, wanted: str) -> int:
    trimmed = text.strip(_BLANK)
    found = _DIGITS.fullmatch(trimmed)
    if found is not None and trimmed[-1:].isdigit() and len(found[2]) <= 1000:  # zeros before it count for nothing
        return int(found[1] + (found[2] or "0"))
    raise CelError(f"not {'an' if wanted == 'int' else 'a'} {wanted}: {text[:60]!r}")


@implements("int64_to_double", "uint64_to_double")
def _as_double(value: int) -> float:
    return float(value)


@implements("string_to_double")
def _read_double(text: str) -> float:
    trimmed = text.strip(_BLANK)
    if _DECIMAL.fullmatch(trimmed):
        return float(trimmed.split("(")[0])
    if _HEXADECIMAL.fullmatch(trimmed):
        try:
            return float.fromhex(trimmed)
        except OverflowError:  # which a decimal number does not raise
            return float("-inf" if trimmed.startswith("-") else "inf")
    raise CelError(f"not a double: {text[:60]!r}")


@implements("int64_to_string", "uint64_to_string")
def _int_text(value: int) -> str:
    return str(int(value))


@implements("bool_to_string")
def _bool_text(value: bool) -> str:
    return "true" if value else "false"


@implements("double_to_string")
def double_text(value: float) -> str:
    """The shortest text that reads back as the double; with an exponent from 1e+06 on and below 1e-04."""
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    digits, exponent = f"{value!r:}".lower(), 0
    mantissa, _, exponent_text = digits.partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    significant = (whole + fraction).lstrip("0")
    exponent = int(exponent_text or 0) + len(whole) - 1
    exponent -= len(whole + fraction) - len(significant) if significant else 0
    significant = significant.rstrip("0") or "0"
    if value == 0:
        return sign + "0"
    if -4 <= exponent < 6:
        return sign + _positional(significant, exponent)
    tail = f".{significant[1:]}" if len(significant) > 1 else ""
    return f"{sign}{significant[0]}{tail}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _positional(digits: str, exponent: int) -> str:
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    rest = digits[exponent + 1 :]
    return f"{whole}.{rest}" if rest else whole


@implements("bytes_to_string")
def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8") from None


@implements("string_to_bytes")
def _encode(value: str) -> bytes:
    return value.encode()


@implements("type")
def type_of(value: Value) -> TypeValue:
    """The type of a value, as a value."""
    name = kind(value)
    return TypeValue(_TYPE_NAMES.get(name, name))
