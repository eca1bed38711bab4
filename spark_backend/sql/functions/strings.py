"""String functions. Spark's strings are UTF-8 and so compared by code point, as CEL's are."""

from __future__ import annotations

from .. import Sql, Typed, cast, function
from .registry import lowers


@lowers("starts_with_string")
def _starts_with(subject: Typed, prefix: Typed) -> Sql:
    return function("startswith", subject, prefix)


@lowers("ends_with_string")
def _ends_with(subject: Typed, suffix: Typed) -> Sql:
    return function("endswith", subject, suffix)


@lowers("contains_string")
def _contains(subject: Typed, part: Typed) -> Sql:
    return function("contains", subject, part)


@lowers("size_string", "string_size")
def _size(subject: Typed) -> Sql:
    return cast(function("char_length", subject), "BIGINT")


@lowers("size_bytes", "bytes_size")
def _size_bytes(subject: Typed) -> Sql:
    return cast(function("octet_length", subject), "BIGINT")
