"""A CloudEvent: `ce`, its context attributes, and `data`, its payload."""

from __future__ import annotations

from ..celtypes import JSON, STRING, TIMESTAMP, CelType, Field, Record
from .attribute_names import DOCUMENTED, HOLDERS, OWN, PAYLOAD, RECORD, name_problem
from .model import Attributes, Environment, Form, Storage, Words

CONTEXT_ATTRIBUTES = Record(
    RECORD,
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
_WORDS = Words(
    whole=frozenset({"cloudevent", "cloudevents", "ctx", "event", "ev", "evt"}),
    aliases=HOLDERS,
    attributes=OWN | DOCUMENTED,
    problem=name_problem,
)
_DOCS = (
    (RECORD, "The context attributes, of which every name that is not one of these is an extension, a string."),
    (PAYLOAD, "The payload: JSON where its media type says so or there is none, else a string or bytes."),
)


def cloud_event(data: CelType = JSON) -> Environment:
    """A CloudEvent: `ce`, its context attributes, and `data`, its payload (any JSON value unless a type is given)."""
    return Environment(
        "CloudEvent",
        ((RECORD, CONTEXT_ATTRIBUTES), (PAYLOAD, data)),
        attributes=Attributes((RECORD, "attributes"), "extensions", "datacontenttype", ("time",)),
        payload=PAYLOAD,
        storage=((PAYLOAD, Storage((PAYLOAD,), Form.JSON, "string")),),
        words=_WORDS,
        docs=_DOCS,
    )


CLOUD_EVENT = cloud_event()
