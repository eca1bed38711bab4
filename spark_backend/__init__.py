"""Compiled filters on Spark. Importing this loads no pyspark; `where`, `column` and `fan_out` do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .dataframes import column, prefilter, where
    from .fanout import fan_out

__all__ = ["column", "fan_out", "prefilter", "where"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import dataframes, fanout

    return getattr(fanout if name == "fan_out" else dataframes, name)
