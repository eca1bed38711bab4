"""What a filter may name: roots and their types. An environment is data; a new one is a value, not code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .celtypes import BOOL, BYTES, DOUBLE, INT, JSON, STRING, TIMESTAMP, CelType, Field, Record, list_of, map_of


@dataclass(frozen=True, slots=True)
class Environment:
    """The names that a filter may use, each with its type. A name may have dots; `container` qualifies the others."""

    name: str
    roots: tuple[tuple[str, CelType], ...]
    container: str = ""

    def root(self, name: str) -> CelType | None:
        """The type of a root; None when there is no such root."""
        return dict(self.roots).get(name)

    def with_root(self, name: str, type_: CelType) -> Environment:
        """This environment with one root typed anew."""
        return replace(self, roots=tuple((n, type_ if n == name else t) for n, t in self.roots))


CONTEXT_ATTRIBUTES = Record(
    "ce",
    fields=(
        ("id", Field(STRING, required=True, doc="Identifies the event; unique together with the source.")),
        ("source", Field(STRING, required=True, doc="The context in which the event happened, a URI-reference.")),
        ("specversion", Field(STRING, required=True, doc="The version of the CloudEvents specification: 1.0.")),
        ("type", Field(STRING, required=True, doc="The kind of event.")),
        ("datacontenttype", Field(STRING, doc="The media type of the data.")),
        ("dataschema", Field(STRING, doc="The schema that the data adheres to, a URI.")),
        ("subject", Field(STRING, doc="What in the source the event is about.")),
        ("time", Field(TIMESTAMP, doc="When the event happened.")),
    ),
    others=STRING,
)
"""CloudEvents 1.0.2 context attributes. Every other name is an extension: a string in its canonical form."""


def cloud_event(data: CelType = JSON) -> Environment:
    """A CloudEvent: `ce`, its context attributes, and `data`, its payload (any JSON value unless a type is given)."""
    return Environment("CloudEvent", (("ce", CONTEXT_ATTRIBUTES), ("data", data)))


CLOUD_EVENT = cloud_event()

KAFKA_RECORD = Environment(
    "Kafka record",
    (
        ("topic", STRING),
        ("partition", INT),
        ("offset", INT),
        ("timestamp_ms", INT),
        ("key", JSON),
        ("value", JSON),
        ("headers", map_of(STRING, STRING)),
    ),
)

MQTT_MESSAGE = Environment(
    "MQTT message",
    (("topic", STRING), ("qos", INT), ("retain", BOOL), ("clientid", STRING), ("username", STRING), ("payload", JSON)),
)

_SCALARS = {"bool": BOOL, "int": INT, "double": DOUBLE, "string": STRING, "bytes": BYTES, "timestamp": TIMESTAMP}
_SCALARS["json"] = JSON


def schema_type(schema: object, name: str = "data") -> CelType:
    """The type that a user's schema describes.

    A schema is one of the names bool, int, double, string, bytes, timestamp, json; a list with one schema, for lists;
    or a mapping from field name to schema, for objects: `{"order": {"id": "string", "lines": [{"qty": "int"}]}}`.

    Raises:
        ValueError: where the schema is none of these.
    """
    match schema:
        case str() if schema in _SCALARS:
            return _SCALARS[schema]
        case Mapping():
            fields = tuple((str(k), Field(schema_type(v, f"{name}.{k}"))) for k, v in schema.items())
            return Record(name, fields=fields)
        case Sequence() if not isinstance(schema, str) and len(schema) == 1:
            return list_of(schema_type(schema[0], f"{name}[]"))
        case _:
            raise ValueError(f"{name}: not a schema: {schema!r}; one of {', '.join(_SCALARS)}, a list or a mapping")
