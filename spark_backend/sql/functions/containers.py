"""Sizes of lists and maps."""

from __future__ import annotations

from .. import Sql, Typed, cast, function
from .registry import lowers


@lowers("size_list", "list_size")
def _size_list(items: Typed) -> Sql:
    return cast(function("array_size", items), "BIGINT")


@lowers("size_map", "map_size")
def _size_map(entries: Typed) -> Sql:
    return cast(function("array_size", function("map_keys", entries)), "BIGINT")
