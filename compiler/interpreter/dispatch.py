"""From a call and the types of its arguments' values to the implementation of an overload."""

from __future__ import annotations

from collections.abc import Callable

from ..celtypes import CelType
from ..functions import BY_CALL
from ..operators import spelling
from ..values.cel import CelError, Value, kind
from .registry import IMPLEMENTATIONS, Implementation

_ANY = frozenset({"dyn", "json"})


def function(name: str, *, member: bool) -> Callable[..., Value]:
    """The function as it is called: it chooses the overload by the kinds of the values.

    The implementation is looked up once for each combination of Python classes.
    """
    rows = [row for row in BY_CALL.get((name, member), ()) if row.id in IMPLEMENTATIONS]
    chosen: dict[tuple[type, ...], Implementation] = {}

    def call(*args: Value) -> Value:
        classes = tuple(map(type, args))
        found = chosen.get(classes)
        if found is None:
            kinds = tuple(map(kind, args))
            fitting = next((r for r in rows if _takes(r.params, kinds)), None)
            if fitting is None:
                raise CelError(f"no matching overload for '{spelling(name)}' applied to ({', '.join(kinds)})")
            found = chosen[classes] = IMPLEMENTATIONS[fitting.id]
        return found(*args)

    return call


def _takes(params: tuple[CelType, ...], kinds: tuple[str, ...]) -> bool:
    return len(params) == len(kinds) and all(
        p.is_parameter or p.name in _ANY or p.name == k for p, k in zip(params, kinds, strict=True)
    )
