"""Sizes of lists and maps."""

from __future__ import annotations

from ..sql import Sql
from .registry import lowers


@lowers("size_list", "list_size")
def _size_list(items: Sql) -> str:
    return f"CAST(array_size({items.text}) AS BIGINT)"


@lowers("size_map", "map_size")
def _size_map(entries: Sql) -> str:
    return f"CAST(array_size(map_keys({entries.text})) AS BIGINT)"
