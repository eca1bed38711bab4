"""Events of the JSON format in the other encodings, written by other libraries than the readers under test use."""

from __future__ import annotations

import base64
import io
import json
from typing import Any
from urllib.parse import quote

import fastavro
from google.protobuf import any_pb2, timestamp_pb2
from tricel.compiler.values.event_text import is_json
from tricel.compiler.values.rfc3339 import nanoseconds
from tricel.spark_backend.events.protobuf_format import message_classes

_STRING = ["null", "string"]
_DATA: dict[str, Any] = {
    "type": "record",
    "name": "CloudEventData",
    "fields": [
        {
            "name": "value",
            "type": {
                "type": "map",
                "values": [
                    "null",
                    "boolean",
                    {"type": "map", "values": "CloudEventData"},
                    {"type": "array", "items": "CloudEventData"},
                    "double",
                    "string",
                ],
            },
        }
    ],
}
# The schemas that the CloudEvents specification publishes.
AVRO: dict[str, Any] = {
    "namespace": "io.cloudevents",
    "type": "record",
    "name": "CloudEvent",
    "version": "1.0",
    "fields": [
        {"name": "attribute", "type": {"type": "map", "values": ["null", "boolean", "int", "string", "bytes"]}},
        {
            "name": "data",
            "type": [
                "bytes",
                "null",
                "boolean",
                {"type": "map", "values": ["null", "boolean", _DATA, "double", "string"]},
                {"type": "array", "items": "CloudEventData"},
                "double",
                "string",
            ],
        },
    ],
}
_TIME = {"type": "long", "logicalType": "timestamp-micros"}
COMPACT: dict[str, Any] = {
    "namespace": "io.cloudevents.v1.avro.compact",
    "type": "record",
    "name": "CloudEvent",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "source", "type": "string"},
        {"name": "type", "type": "string"},
        {"name": "datacontenttype", "type": _STRING},
        {"name": "dataschema", "type": _STRING},
        {"name": "subject", "type": _STRING},
        {"name": "time", "type": ["null", _TIME]},
        {
            "name": "attributes",
            "type": {"type": "map", "values": ["null", "boolean", "int", _TIME, "string", "bytes"]},
        },
        {"name": "data", "type": ["bytes", "null"]},
    ],
}
_PARSED = {name: fastavro.parse_schema(schema) for name, schema in (("avro", AVRO), ("compact", COMPACT))}
_FIELDS = ("datacontenttype", "dataschema", "subject")


def avro(attributes: dict[str, Any], data: Any) -> bytes:
    """An event in the Avro format."""
    return _written("avro", {"attribute": attributes, "data": data})


def as_avro(event: dict[str, Any]) -> bytes:
    """An event of the JSON format, in Avro."""
    attributes, data = _parts(event)
    return avro(attributes, data)


def as_compact(event: dict[str, Any]) -> bytes:
    """The same in Avro Compact."""
    attributes, data = _parts(event)
    record = {name: attributes.pop(name, None) for name in ("id", "source", "type", *_FIELDS)}
    time = attributes.pop("time", None)
    del attributes["specversion"]
    record["time"] = None if time is None else (nanoseconds(time) or 0) // 1000
    return _written("compact", {**record, "attributes": attributes, "data": _bytes(data)})


def as_protobuf(event: dict[str, Any]) -> bytes:
    """The same in Protobuf; `time` is a Timestamp."""
    attributes, data = _parts(event)
    message = message_classes()["CloudEvent"](
        id=attributes.pop("id"),
        source=attributes.pop("source"),
        spec_version=attributes.pop("specversion"),
        type=attributes.pop("type"),
    )
    for name, value in attributes.items():
        place = message.attributes[name]
        if name == "time":
            seconds, nanos = divmod(nanoseconds(value) or 0, 10**9)
            known = timestamp_pb2.Timestamp(seconds=seconds, nanos=nanos)
            place.ce_timestamp.ParseFromString(known.SerializeToString())
        elif isinstance(value, bool):
            place.ce_boolean = value
        elif isinstance(value, int):
            place.ce_integer = value
        else:
            place.ce_string = value
    if isinstance(data, bytes):
        message.binary_data = data
    elif data is not None:
        message.text_data = data
    return bytes(message.SerializeToString())


def with_any(packed: any_pb2.Any) -> bytes:
    """An event in Protobuf whose data is a message."""
    message = message_classes()["CloudEvent"](id="1", source="s", spec_version="1.0", type="t")
    message.proto_data.ParseFromString(packed.SerializeToString())
    return bytes(message.SerializeToString())


def as_http(event: dict[str, Any]) -> tuple[dict[str, str], bytes | None]:
    """The same as headers and body in binary mode."""
    attributes, data = _parts(event)
    headers = {}
    for name, value in attributes.items():
        text = json.dumps(value) if isinstance(value, bool | int) else value
        headers["Content-Type" if name == "datacontenttype" else f"CE-{name}"] = (
            text if name == "datacontenttype" else quote(text, safe="!#$&'()*+,/:;=?@[]-._~")
        )
    return headers, _bytes(data)


def _parts(event: dict[str, Any]) -> tuple[dict[str, Any], str | bytes | None]:
    """The attributes, and the data as another encoding has it: text where it is a text of no JSON."""
    attributes = {k: v for k, v in event.items() if v is not None and not k.startswith("data_") and k != "data"}
    if event.get("data_base64") is not None:
        return attributes, base64.b64decode(event["data_base64"])
    data = event.get("data")
    if data is None:
        return attributes, None
    if isinstance(data, str) and not is_json(attributes.get("datacontenttype")):
        return attributes, data
    return attributes, json.dumps(data).encode()


def _bytes(data: str | bytes | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data


def _written(schema: str, record: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, _PARSED[schema], record)
    return buffer.getvalue()
