"""The table of function implementations, keyed by overload id."""

from __future__ import annotations

from collections.abc import Callable

from ..values.cel import Value

Implementation = Callable[..., Value]
IMPLEMENTATIONS: dict[str, Implementation] = {}


def implements(*overload_ids: str) -> Callable[[Implementation], Implementation]:
    """Registers a function for the overloads; it takes the arguments' values and raises CelError for an error.

    Raises:
        ValueError: where an overload has an implementation already.
    """

    def add(function: Implementation) -> Implementation:
        for overload_id in overload_ids:
            if overload_id in IMPLEMENTATIONS:
                raise ValueError(f"{overload_id} is implemented twice")
            IMPLEMENTATIONS[overload_id] = function
        return function

    return add
