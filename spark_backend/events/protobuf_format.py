"""CloudEvents in the Protobuf format 1.0.2, read with the `protobuf` package from a schema that is built here.

`text_data` of a JSON media type is JSON text, and other text is a string. `proto_data` is the object
`{"@type": type URL, "value": base64}`: its own schema is not in the event, so its bytes are kept and not read.
A field that the schema does not have is refused, since an event without it would be another one.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError
from tricel.compiler.values.event_text import Attribute, Data, Instant, Json, NotAnEventError, event_text, is_json
from tricel.compiler.values.malformed import (
    EXTENSION_TIME,
    NAMED_TWICE,
    NOT_PROTOBUF,
    NOT_TIME,
    REQUIRED,
    UNKNOWN_FIELD,
)

_PACKAGE = "io.cloudevents.v1"
_FIELD = descriptor_pb2.FieldDescriptorProto
_REQUIRED = (("id", "id"), ("source", "source"), ("spec_version", "specversion"), ("type", "type"))
_TIME = "ce_timestamp"


def read_protobuf(message: bytes) -> str:
    """The JSON text of an event in the Protobuf format.

    Raises:
        NotAnEventError: where the bytes are not one event.
    """
    event = _parsed("CloudEvent", message)
    found: dict[str, Attribute] = {}
    for field, name in _REQUIRED:
        if value := getattr(event, field):  # an empty one is not sent
            found[name] = value
    for name, attribute in event.attributes.items():
        kind = attribute.WhichOneof("attr")
        if name in REQUIRED:
            raise NotAnEventError(NAMED_TWICE)
        if kind == _TIME:
            found[name] = _instant(attribute.ce_timestamp, name)
        elif kind:
            found[name] = getattr(attribute, kind)
    media = found.get("datacontenttype")
    return event_text(found, _data(event, media if isinstance(media, str) else None))


def split_batch(message: bytes) -> Iterator[bytes]:
    """The bytes of each event of a `CloudEventBatch`.

    Raises:
        NotAnEventError: where the bytes are no batch.
    """
    return iter(_parsed("Batch", message).events)


def _data(event: Any, media: str | None) -> Data:
    match event.WhichOneof("data"):
        case "binary_data":
            return bytes(event.binary_data)
        case "text_data":
            text: str = event.text_data
            return text.encode() if media is not None and is_json(media) else Json(text)
        case "proto_data":
            value = base64.b64encode(event.proto_data.value).decode()
            return Json({"@type": event.proto_data.type_url, "value": value})
    return None


def _instant(timestamp: Any, name: str) -> Instant:
    if not 0 <= timestamp.nanos < 10**9:
        raise NotAnEventError(NOT_TIME if name == "time" else EXTENSION_TIME)
    return Instant(timestamp.seconds * 10**9 + timestamp.nanos)


def _parsed(name: str, message: bytes) -> Any:
    try:
        found = message_classes()[name].FromString(message)
    except (DecodeError, UnicodeDecodeError):
        raise NotAnEventError(NOT_PROTOBUF) from None
    size = found.ByteSize()
    found.DiscardUnknownFields()
    if size != found.ByteSize():
        raise NotAnEventError(UNKNOWN_FIELD)
    return found


@cache
def message_classes() -> dict[str, Any]:
    """The messages `CloudEvent` and `Batch`, which is a `CloudEventBatch` whose events are still bytes."""
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_schema())
    names = ("CloudEvent", "Batch")
    return {n: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{n}")) for n in names}


def _schema() -> Any:
    """The file of the schema. `Any` and `Timestamp` are messages of its own with the fields of the well-known ones."""
    file = descriptor_pb2.FileDescriptorProto(name="tricel/cloudevents.proto", package=_PACKAGE, syntax="proto3")
    event = file.message_type.add(name="CloudEvent")
    event.oneof_decl.add(name="data")
    value = event.nested_type.add(name="CloudEventAttributeValue")
    value.oneof_decl.add(name="attr")
    entry = event.nested_type.add(name="AttributesEntry")
    entry.options.map_entry = True
    within = f".{_PACKAGE}.CloudEvent"
    for number, name in enumerate(("id", "source", "spec_version", "type"), 1):
        _add(event, name, number, _FIELD.TYPE_STRING)
    attributes = _add(event, "attributes", 5, _FIELD.TYPE_MESSAGE, f"{within}.AttributesEntry")
    attributes.label = _FIELD.LABEL_REPEATED
    _add(event, "binary_data", 6, _FIELD.TYPE_BYTES, oneof=0)
    _add(event, "text_data", 7, _FIELD.TYPE_STRING, oneof=0)
    _add(event, "proto_data", 8, _FIELD.TYPE_MESSAGE, f".{_PACKAGE}.Any", oneof=0)
    _add(entry, "key", 1, _FIELD.TYPE_STRING)
    _add(entry, "value", 2, _FIELD.TYPE_MESSAGE, f"{within}.CloudEventAttributeValue")
    for number, (name, kind) in enumerate(
        (
            ("ce_boolean", _FIELD.TYPE_BOOL),
            ("ce_integer", _FIELD.TYPE_INT32),
            ("ce_string", _FIELD.TYPE_STRING),
            ("ce_bytes", _FIELD.TYPE_BYTES),
            ("ce_uri", _FIELD.TYPE_STRING),
            ("ce_uri_ref", _FIELD.TYPE_STRING),
        ),
        1,
    ):
        _add(value, name, number, kind, oneof=0)
    _add(value, _TIME, 7, _FIELD.TYPE_MESSAGE, f".{_PACKAGE}.Timestamp", oneof=0)
    any_ = file.message_type.add(name="Any")
    _add(any_, "type_url", 1, _FIELD.TYPE_STRING)
    _add(any_, "value", 2, _FIELD.TYPE_BYTES)
    timestamp = file.message_type.add(name="Timestamp")
    _add(timestamp, "seconds", 1, _FIELD.TYPE_INT64)
    _add(timestamp, "nanos", 2, _FIELD.TYPE_INT32)
    batch = file.message_type.add(name="Batch")
    _add(batch, "events", 1, _FIELD.TYPE_BYTES).label = _FIELD.LABEL_REPEATED
    return file


def _add(message: Any, name: str, number: int, kind: Any, type_name: str = "", oneof: int | None = None) -> Any:
    field = message.field.add(name=name, number=number, type=kind, label=_FIELD.LABEL_OPTIONAL)
    if type_name:
        field.type_name = type_name
    if oneof is not None:
        field.oneof_index = oneof
    return field
