"""Names of context attributes: those that an event can have, and those that look like a slip.

An event of JSON has names of lower-case letters, digits and, as the founding proposal of Knative's filters has them,
dots. A column of a table can have any name, so that a name which no CloudEvent has is an error only where it spells one
of CloudEvents' own.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ..suggest import one_slip
from .model import NameProblem

CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789."
READABLE = re.compile(f"[{CHARACTERS}]+")
"""The names that the readers of JSON events take."""
OWN = frozenset({"id", "source", "specversion", "type", "datacontenttype", "dataschema", "subject", "time"})
"""CloudEvents' own attributes."""
DOCUMENTED = frozenset({
    "authclaims", "authid", "authtype", "causationid", "correlationid", "datacategory", "dataclassification", "dataref",
    "dataregulation", "deprecated", "deprecationfrom", "deprecationmigration", "deprecationsunset", "expirytime",
    "knativearrivaltime", "knativebrokerttl", "knativeerrorcode", "knativeerrordata", "knativeerrordest",
    "opcuametadatamajorversion", "opcuametadataminorversion", "opcuastatus", "partitionkey", "recordedtime",
    "sampledrate", "sequence", "sequencetype", "severitynumber", "severitytext", "traceparent", "tracestate",
})  # fmt: skip
"""Extensions in CloudEvents' own documents, and those that Knative sets."""
RECORD, PAYLOAD = "ce", "data"
"""The roots: the attributes, and what the event carries."""
HOLDERS = {"extensions": RECORD, "extension": RECORD, "attributes": RECORD, "payload": PAYLOAD, "body": PAYLOAD}
"""What people take for a part of an event, and where the things in it are."""
_RENAMED = {
    "cloudeventsversion": "ce.specversion",
    "contenttype": "ce.datacontenttype",
    "database64": PAYLOAD,
    "datamediatype": "ce.datacontenttype",
    "eventid": "ce.id",
    "eventtime": "ce.time",
    "eventtype": "ce.type",
    "schemaurl": "ce.dataschema",
}
"""Names of older versions, and of the formats and dialects, without their capitals and signs."""
_SHORTEST = 4
_KNOWN = tuple(sorted(name for name in OWN | DOCUMENTED if len(name) >= _SHORTEST))
"""Names that a slip is looked for in: from shorter ones too many others are one letter away."""


@lru_cache(maxsize=1024)
def name_problem(name: str) -> NameProblem | None:
    """What there is to say about an attribute that is none of CloudEvents' own; None for a sound extension's name."""
    if name == PAYLOAD:
        return NameProblem("TRI335", f"'{PAYLOAD}' is the payload, not an attribute", PAYLOAD)
    if name.lower() in OWN:
        message = f"no event has an attribute '{name}': CloudEvents spells it '{name.lower()}'"
        return NameProblem("TRI211", message, f"ce.{name.lower()}")
    if not READABLE.fullmatch(name):
        message = f"no CloudEvent has an attribute '{name}': names are of lower-case letters and digits"
        return NameProblem("TRI254", message, _likely(name))
    likely = _likely(name)
    if name in DOCUMENTED or not likely or likely == f"ce.{name}":
        return None
    message = f"'{name}' is no attribute of CloudEvents: only an extension could be called so"
    return NameProblem("TRI255", message, likely)


def _likely(name: str) -> str:
    """The expression for the attribute that was probably meant: for a name that can be one, the name itself at last."""
    plain = re.sub(r"[-_ ]", "", name.lower())
    if plain in _RENAMED:
        return _RENAMED[plain]
    near = plain if plain in _KNOWN else one_slip(plain, _KNOWN)
    near = near or plain
    return f"ce.{near}" if re.fullmatch(r"[a-z][a-z0-9]*", near) else ""
