"""Many filters over one stream: constants become data, so that the cost depends on shapes and matches, not on filters.

A filter is a shape with parameters (`shapes`). Each has keys that an event must have for it to hold (`covers`). The
planner chooses the keys that events are probed by (`plan`), and Spark joins the events' keys with the filters' and
evaluates each candidate by its shape (`table`, `join`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .join import fan_out

__all__ = ["fan_out"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import join

    return getattr(join, name)
