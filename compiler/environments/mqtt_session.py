"""An MQTT session: what is known of a client when it connects, of which its tenant and its id may be made."""

from __future__ import annotations

from ..celtypes import STRING, Field, Record, list_of, map_of
from .model import Environment, Storage, Words

_TEXTS = map_of(STRING, STRING)
CERTIFICATE_NAMES = Record(
    "cert_san", fields=tuple((kind, Field(list_of(STRING))) for kind in ("dns", "email", "ip", "uri"))
)
_TEXT_ROOTS = ("clientid", "username", "password", "cn", "dn", "peersni", "peerhost", "zone", "listener")

MQTT_SESSION = Environment(
    "MQTT session",
    (
        *((name, STRING) for name in _TEXT_ROOTS),
        ("cert_san", CERTIFICATE_NAMES),
        ("user_property", _TEXTS),
        ("client_attrs", _TEXTS),
    ),
    storage=(
        ("clientid", Storage(("clientid",))),
        ("username", Storage(("username",), optional=True)),
        ("password", Storage(("password",), optional=True)),
        ("cn", Storage(("cn", "cert_common_name"), optional=True)),
        ("dn", Storage(("dn", "cert_subject"), optional=True)),
        ("peersni", Storage(("peersni",), optional=True)),
        ("peerhost", Storage(("peerhost",), optional=True)),
        ("zone", Storage(("zone",), optional=True)),
        ("listener", Storage(("listener",), optional=True)),
        ("cert_san", Storage(("cert_san",), optional=True)),
        ("user_property", Storage(("user_property", "conn_props.User-Property"), optional=True)),
        ("client_attrs", Storage(("client_attrs",), optional=True)),
    ),
    words=Words(
        one="session",
        many="sessions",
        whole=frozenset({"session", "client", "clientinfo", "conninfo", "connection"}),
        aliases={
            "client_id": "clientid",
            "user": "username",
            "user_name": "username",
            "cert_common_name": "cn",
            "common_name": "cn",
            "cert_subject": "dn",
            "subject": "dn",
            "sni": "peersni",
            "san": "cert_san",
            "tns": "client_attrs.tns",
            "tenant": "client_attrs.tns",
            "user_properties": "user_property",
            "userproperty": "user_property",
        },
    ),
    docs=(
        ("clientid", "The id that the client gave."),
        ("username", "The name that the client gave; missing where it gave none."),
        ("password", "The password that the client gave."),
        ("cn", "The common name in the client's certificate."),
        ("dn", "The subject of the client's certificate."),
        ("peersni", "The name of the server that the client asked for in TLS."),
        ("peerhost", "The client's address."),
        ("zone", "The zone of the listener."),
        ("listener", "The listener that the client connected to."),
        ("cert_san", "Other names in the client's certificate: lists `dns`, `email`, `ip` and `uri`."),
        ("user_property", "The user properties of the CONNECT packet (MQTT 5), by key."),
        ("client_attrs", "What the broker derived for the client, by name."),
    ),
)
