"""Compiled filters on Spark. Importing this loads no pyspark; `where` and `column` do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .columns import column, where

__all__ = ["column", "where"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import columns

    return getattr(columns, name)
