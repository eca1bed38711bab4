"""An MQTT message as it is published, with the columns that EMQX's rules and bridges give it."""

from __future__ import annotations

from ..celtypes import BOOL, BYTES, INT, JSON, STRING, TIMESTAMP, map_of
from .model import Environment, Form, Storage, Words

_TEXTS = map_of(STRING, STRING)

MQTT_MESSAGE = Environment(
    "MQTT message",
    (
        ("id", STRING),
        ("topic", STRING),
        ("qos", INT),
        ("retain", BOOL),
        ("dup", BOOL),
        ("clientid", STRING),
        ("username", STRING),
        ("peerhost", STRING),
        ("peername", STRING),
        ("payload", JSON),
        ("payload_bytes", BYTES),
        ("user_property", _TEXTS),
        ("client_attrs", _TEXTS),
        ("publish_received_at", TIMESTAMP),
        ("timestamp", TIMESTAMP),
        ("node", STRING),
    ),
    payload="payload",
    storage=(
        ("id", Storage(("id",), optional=True)),
        ("topic", Storage(("topic",))),
        ("qos", Storage(("qos",), default="integer")),
        ("retain", Storage(("retain", "flags.retain"))),
        ("dup", Storage(("dup", "flags.dup"))),
        ("clientid", Storage(("clientid",), optional=True)),
        ("username", Storage(("username",), optional=True)),
        ("peerhost", Storage(("peerhost",), optional=True)),
        ("peername", Storage(("peername",), optional=True)),
        ("payload", Storage(("payload",), Form.JSON, "binary")),
        ("payload_bytes", Storage(("payload_bytes", "payload"), Form.BYTES, "binary")),
        ("user_property", Storage(("user_property", "pub_props.User-Property"), optional=True)),
        ("client_attrs", Storage(("client_attrs",), optional=True)),
        ("publish_received_at", Storage(("publish_received_at",), Form.MILLISECONDS, "long", optional=True)),
        ("timestamp", Storage(("timestamp",), Form.MILLISECONDS, "long", optional=True)),
        ("node", Storage(("node",), optional=True)),
    ),
    words=Words(
        one="message",
        many="messages",
        whole=frozenset({"message", "msg", "publish", "event", "packet"}),
        aliases={
            "body": "payload",
            "data": "payload",
            "value": "payload",
            "client": "clientid",
            "client_id": "clientid",
            "user": "username",
            "user_name": "username",
            "user_properties": "user_property",
            "userproperty": "user_property",
            "retained": "retain",
            "flags.retain": "retain",
            "clientattrs": "client_attrs",
        },
    ),
    docs=(
        ("id", "The id that the broker gave the message."),
        ("topic", "The topic that it was published to."),
        ("qos", "The quality of service: 0, 1 or 2."),
        ("retain", "Whether the broker is to keep it for those who subscribe later."),
        ("dup", "Whether it was sent before."),
        ("clientid", "The id of the client that published it."),
        ("username", "The name that the client gave; missing where it gave none."),
        ("peerhost", "The client's address."),
        ("peername", "The client's address and port."),
        ("payload", "The payload: JSON, text or bytes, as declared."),
        ("payload_bytes", "The payload's bytes."),
        ("user_property", "The user properties of the PUBLISH packet (MQTT 5), by key."),
        ("client_attrs", "What the broker derived for the client when it connected, such as its tenant."),
        ("publish_received_at", "When the broker received it."),
        ("timestamp", "When the broker wrote down the event."),
        ("node", "The broker's node."),
    ),
)


def mqtt_message(payload: Form = Form.JSON) -> Environment:
    """An MQTT message whose payload is JSON, text or bytes."""
    return MQTT_MESSAGE.decoded("payload", payload)
