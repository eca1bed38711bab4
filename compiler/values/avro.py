"""CloudEvents in the Avro format 1.0.2 and the Avro Compact format, read without any library.

The schemas are fixed, so this reads them alone, of the primitives of `avro_values`. Nesting is counted and lengths are
held against the bytes that are there: no message makes it recurse or allocate beyond its own size.

In the data of the Avro format a `CloudEventData` stands for the JSON object in its field `value`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, TypeAlias

from ..schemas.avro_values import (
    NotDecodedError,
    read_bool,
    read_bytes,
    read_count,
    read_double,
    read_long,
    read_string,
)
from .event_text import Attribute, Data, Instant, Json, NotAnEventError, event_text
from .json_values import MAX_DEPTH, allow_nesting
from .malformed import NAMED_TWICE, NOT_AVRO, NOT_UTF8, TOO_DEEP, TRAILING

_DEEPEST = MAX_DEPTH - 3  # in the event, in the list that the JSON reader puts it into
_EXACT = 2**53
Read: TypeAlias = Callable[[bytes, int, int], tuple[Any, int]]
"""Reads a value at an offset, so many levels deep: the value, and the offset after it."""


def read_avro(message: bytes) -> str:
    """The JSON text of an event in the Avro format.

    Raises:
        NotAnEventError: where the bytes are not exactly one event.
    """
    return _whole(message, standard_event)


def read_compact(message: bytes) -> str:
    """The JSON text of an event in the Avro Compact format.

    Raises:
        NotAnEventError: where the bytes are not exactly one event.
    """
    return _whole(message, compact_event)


def standard_event(message: bytes, at: int) -> tuple[str, int]:
    """The JSON text of the event at an offset, and the offset after it. Raises what `reading` turns into a reason."""
    attributes, at = _map(message, at, 0, _ATTRIBUTE)
    data, at = _union(message, at, 0, _DATA)
    return event_text(_without_null(attributes), data if data is None or isinstance(data, bytes) else Json(data)), at


def compact_event(message: bytes, at: int) -> tuple[str, int]:
    """As `standard_event`, of the Avro Compact format."""
    found: dict[str, Any] = {"specversion": "1.0"}
    for name in ("id", "source", "type"):
        found[name], at = _string(message, at, 0)
    for name in ("datacontenttype", "dataschema", "subject"):
        found[name], at = _union(message, at, 0, _OPTIONAL_STRING)
    found["time"], at = _union(message, at, 0, _OPTIONAL_TIME)
    others, at = _map(message, at, 0, _COMPACT_ATTRIBUTE)
    data: Data
    data, at = _union(message, at, 0, _BYTES_OR_NULL)
    if not found.keys().isdisjoint(others):
        raise NotAnEventError(NAMED_TWICE)
    return event_text(_without_null(found | others), data), at


class reading:  # noqa: N801 - read as a word of the language
    """What goes wrong while Avro is read, as the reason of a NotAnEventError."""

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, traceback: object) -> None:
        if isinstance(e, UnicodeDecodeError):
            raise NotAnEventError(NOT_UTF8) from None
        if isinstance(e, (IndexError, struct.error, NotDecodedError)):
            raise NotAnEventError(NOT_AVRO) from None


def _whole(message: bytes, event: Callable[[bytes, int], tuple[str, int]]) -> str:
    with reading():
        text, at = event(message, 0)
    if at != len(message):
        raise NotAnEventError(TRAILING)
    return text


def _without_null(attributes: dict[str, Attribute | None]) -> dict[str, Attribute]:
    return {name: value for name, value in attributes.items() if value is not None}


def _null(message: bytes, at: int, depth: int) -> tuple[None, int]:
    return None, at


def _boolean(message: bytes, at: int, depth: int) -> tuple[bool, int]:
    return read_bool(message, at)


def _long(message: bytes, at: int, depth: int) -> tuple[int, int]:
    return read_long(message, at)


def _bytes(message: bytes, at: int, depth: int) -> tuple[bytes, int]:
    return read_bytes(message, at)


def _double(message: bytes, at: int, depth: int) -> tuple[float | int, int]:
    """A double; a whole number as JSON has it."""
    number, at = read_double(message, at)
    return int(number) if -_EXACT < number < _EXACT and number.is_integer() else number, at


def _string(message: bytes, at: int, depth: int) -> tuple[str, int]:
    return read_string(message, at)


def _micros(message: bytes, at: int, depth: int) -> tuple[Instant, int]:
    number, at = read_long(message, at)
    return Instant(number * 1000), at


def _union(message: bytes, at: int, depth: int, branches: tuple[Read, ...]) -> tuple[Any, int]:
    branch, at = read_long(message, at)
    if not 0 <= branch < len(branches):
        raise NotAnEventError(NOT_AVRO)
    return branches[branch](message, at, depth)


def _map(
    message: bytes, at: int, depth: int, branches: tuple[Read, ...], *, alone: bool = False
) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    count, at = read_count(message, at)
    while count:
        for _ in range(count):
            key, at = read_string(message, at)
            if key in found:
                raise NotAnEventError(NAMED_TWICE)
            found[key], at = branches[0](message, at, depth) if alone else _union(message, at, depth, branches)
        count, at = read_count(message, at)
    return found, at


def _object(message: bytes, at: int, depth: int) -> tuple[dict[str, Any], int]:
    """A CloudEventData: the object in its one field."""
    return _map(message, at, _deeper(depth), _MEMBER)


def _objects_by_name(message: bytes, at: int, depth: int) -> tuple[dict[str, Any], int]:
    return _map(message, at, _deeper(depth), (_object,), alone=True)


def _objects(message: bytes, at: int, depth: int) -> tuple[list[Any], int]:
    found = []
    within = _deeper(depth)
    count, at = read_count(message, at)
    while count:
        for _ in range(count):
            value, at = _object(message, at, within)
            found.append(value)
        count, at = read_count(message, at)
    return found, at


def _members(message: bytes, at: int, depth: int) -> tuple[dict[str, Any], int]:
    return _map(message, at, _deeper(depth), _OUTER_MEMBER)


def _deeper(depth: int) -> int:
    if depth >= _DEEPEST:
        raise NotAnEventError(TOO_DEEP)
    if depth == 100:
        allow_nesting()
    return depth + 1


_ATTRIBUTE: tuple[Read, ...] = (_null, _boolean, _long, _string, _bytes)
_DATA: tuple[Read, ...] = (_bytes, _null, _boolean, _members, _objects, _double, _string)
_OUTER_MEMBER: tuple[Read, ...] = (_null, _boolean, _object, _double, _string)
_MEMBER: tuple[Read, ...] = (_null, _boolean, _objects_by_name, _objects, _double, _string)
_OPTIONAL_STRING: tuple[Read, ...] = (_null, _string)
_OPTIONAL_TIME: tuple[Read, ...] = (_null, _micros)
_COMPACT_ATTRIBUTE: tuple[Read, ...] = (_null, _boolean, _long, _micros, _string, _bytes)
_BYTES_OR_NULL: tuple[Read, ...] = (_bytes, _null)
