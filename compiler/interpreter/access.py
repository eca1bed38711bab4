"""Fields and elements: what is selected or indexed, of a value or of what an optional holds."""

from __future__ import annotations

from collections.abc import Callable

from ..values.cel import ABSENT, CelError, Optional, Value, kind
from .frame import Frame, Step
from .operators import lookup_key, position

_NO_FIELD = object()


def select(holder: Step, name: str, *, optional: bool) -> Step:
    """`holder.name`, or `holder.?name` when optional; a field of what an optional holds is optional too."""

    def run(frame: Frame) -> Value:
        value = holder(frame)
        if type(value) is dict and not optional:
            if name in value:
                return value[name]
            raise CelError(f"no such key: '{name}'")
        if optional or type(value) is Optional:
            found = _find(value, lambda v: _field(v, name))
            return ABSENT if found is _NO_FIELD else Optional(found)
        return _field(value, name)

    return run


def index(holder: Step, at: Step, *, optional: bool) -> Step:
    """`holder[key]`, or `holder[?key]` when optional."""

    def run(frame: Frame) -> Value:
        frame.step()
        value, key = holder(frame), at(frame)
        if optional or type(value) is Optional:
            found = _find(value, lambda v: _at(v, key))
            return ABSENT if found is _NO_FIELD else Optional(found)
        found = _at(value, key)
        if found is _NO_FIELD:
            raise CelError(f"no such key: {key!r}" if type(value) is dict else f"index out of range: {key}")
        return found

    return run


def _at(value: Value, key: Value) -> Value:
    """The element, or `_NO_FIELD`."""
    if type(value) is dict:
        return value.get(lookup_key(key), _NO_FIELD)
    if type(value) is list:
        if isinstance(key, int | float) and not isinstance(key, bool) and not 0 <= key < len(value):
            return _NO_FIELD
        return value[position(value, key)]
    raise CelError(f"no matching overload for '[]' applied to ({kind(value)}, {kind(key)})")


def _find(value: Value, read: Callable[[Value], Value]) -> Value:
    """What is read from a value or from what an optional holds; `_NO_FIELD` when there is nothing."""
    if type(value) is Optional:
        if not value.present:
            return _NO_FIELD
        value = value.value
    if type(value) is dict or type(value) is list:
        try:
            return read(value)
        except _NoFieldError:
            return _NO_FIELD
    return read(value)


class _NoFieldError(CelError):
    pass


def _field(value: Value, name: str) -> Value:
    if type(value) is not dict:
        raise CelError(f"type '{kind(value)}' has no fields: '{name}'")
    if name not in value:
        raise _NoFieldError(f"no such key: '{name}'")
    return value[name]


def has(value: Value, name: str) -> bool:
    """Whether a map has the field; an empty optional has none."""
    if type(value) is Optional:
        return value.present and has(value.value, name)
    if type(value) is not dict:
        raise CelError(f"type '{kind(value)}' has no fields: '{name}'")
    return name in value
