"""Messages of Protocol Buffers, described by plain values.

An enum is its number, an int: a number that the schema does not name is one, too. A 64-bit number without a sign is an
int where it fits. A field that can be unset, a message's, one of a oneof, one that is `optional`, is absent where it is
not set; every other has its default then. `google.protobuf.Timestamp` is a timestamp, and a wrapper, as `Int64Value`, a
value that may be absent; `Duration`, `Any` and `FieldMask` are messages like others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .shapes import BOOL, BYTES, DOUBLE, INT, STRING, UNSIGNED, Kind, SchemaError, Shape

_SCALARS = {
    **dict.fromkeys(("int32", "int64", "uint32", "sint32", "sint64", "fixed32", "sfixed32", "sfixed64", "enum"), INT),
    **dict.fromkeys(("uint64", "fixed64"), UNSIGNED),
    "bool": BOOL,
    "double": DOUBLE,
    "float": DOUBLE,
    "string": STRING,
    "bytes": BYTES,
}
_WRAPPED = ("Bool", "Int32", "Int64", "UInt32", "UInt64", "Float", "Double", "String", "Bytes")
WRAPPERS = {f"google.protobuf.{name}Value": _SCALARS[name.lower()] for name in _WRAPPED}
"""Messages that hold a value alone, by their full name."""
TIMESTAMP = "google.protobuf.Timestamp"


@dataclass(frozen=True, slots=True)
class ProtoField:
    """A field of a message: its `type` as it is written, or `message` with the full name of that in `message`."""

    name: str
    type: str
    message: str = ""
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class ProtoMessage:
    """A message: its fields; `is_map` where it is an entry of a map, with the fields `key` and `value`."""

    fields: Sequence[ProtoField]
    is_map: bool = False


def protobuf_shape(messages: Mapping[str, ProtoMessage], message: str, name: str) -> Shape:
    """What a message of that full name is. `name` is what it is called in messages of errors.

    Raises:
        SchemaError: for what CEL has no exact type for.
    """
    return _message(messages, message, name, ())


def _message(messages: Mapping[str, ProtoMessage], message: str, where: str, within: tuple[str, ...]) -> Shape:
    if message == TIMESTAMP:
        return Shape(Kind.SECONDS)
    if message in WRAPPERS:
        return WRAPPERS[message]
    if message in within:
        raise SchemaError(where, f"holds itself: '{message}' is recursive")
    inner = (*within, message)
    fields = tuple((f.name, _field(messages, f, f"{where}.{f.name}", inner)) for f in messages[message].fields)
    return Shape(Kind.RECORD, fields=fields) if fields else Shape(Kind.EMPTY)


def _field(messages: Mapping[str, ProtoMessage], field: ProtoField, where: str, within: tuple[str, ...]) -> Shape:
    entry = messages.get(field.message)
    if entry is not None and entry.is_map:
        key, value = entry.fields
        element = _one(messages, value, f"{where}[]", within)
        return Shape(Kind.MAP, element=element, key=_one(messages, key, where, within))
    if field.repeated:
        return Shape(Kind.LIST, element=_one(messages, field, f"{where}[]", within))
    return _one(messages, field, where, within)


def _one(messages: Mapping[str, ProtoMessage], field: ProtoField, where: str, within: tuple[str, ...]) -> Shape:
    if field.message and field.type in ("message", "group"):
        return _message(messages, field.message, where, within)
    return _SCALARS[field.type]
