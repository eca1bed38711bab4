"""String functions. Spark's strings are UTF-8 and so compared by code point, as CEL's are."""

from __future__ import annotations

from ..sql import Sql
from .registry import lowers


@lowers("starts_with_string")
def _starts_with(subject: Sql, prefix: Sql) -> str:
    return f"startswith({subject.text}, {prefix.text})"


@lowers("ends_with_string")
def _ends_with(subject: Sql, suffix: Sql) -> str:
    return f"endswith({subject.text}, {suffix.text})"


@lowers("contains_string")
def _contains(subject: Sql, part: Sql) -> str:
    return f"contains({subject.text}, {part.text})"


@lowers("size_string", "string_size")
def _size(subject: Sql) -> str:
    return f"CAST(char_length({subject.text}) AS BIGINT)"


@lowers("size_bytes", "bytes_size", depth=2)
def _size_bytes(subject: Sql) -> str:
    return f"CAST(octet_length({subject.text}) AS BIGINT)"
