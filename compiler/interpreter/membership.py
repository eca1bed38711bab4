"""Whether a value is among others by CEL's `==`, without comparing it with each of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from ..values.cel import Optional, Value, as_key, equals


class Members:
    """Values that can be asked whether one equals another value."""

    def __init__(self, values: Iterable[Value] = ()) -> None:
        self._alike: dict[Hashable, list[Value]] = {}
        for value in values:
            self.add(value)

    def __contains__(self, value: Value) -> bool:
        return any(equals(value, other) for other in self._alike.get(_likeness(value), ()))

    def add(self, value: Value) -> bool:
        """Takes the value in, unless it equals one that is here; says whether it was taken in."""
        alike = self._alike.setdefault(_likeness(value), [])
        if any(equals(value, other) for other in alike):
            return False
        alike.append(value)
        return True


def _likeness(value: Value) -> Hashable:
    """What equal values have in common; few others do. NaN, equal to nothing, shares its own with no value."""
    match value:
        case bool():
            return as_key(value)  # type: ignore[no-any-return]
        case int() | float():
            number = float(value)
            return number if number == number else object()
        case list():
            return "list", tuple(map(_likeness, value))
        case dict():
            return "map", frozenset((key, _likeness(v)) for key, v in value.items())
        case Optional(value=inner) if value.present:
            return "optional", _likeness(inner)
        case _:
            return value  # type: ignore[no-any-return]
