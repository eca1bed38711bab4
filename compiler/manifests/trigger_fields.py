"""The fields of a Trigger as data: what the reader of manifests checks, and what the schema of a cluster is made of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ..versions import LANGUAGES

KNATIVE_GROUP = "eventing.knative.dev"
TRICEL_GROUP = "tricel.dev"

CURRENT_VERSION = f"{TRICEL_GROUP}/v1alpha1"
"""The version of our own Triggers, whose definition has every field."""

VERSIONS = {
    f"{KNATIVE_GROUP}/v1": "",
    f"{KNATIVE_GROUP}/v1beta1": f"write 'apiVersion: {KNATIVE_GROUP}/v1'; nothing else changes",
    CURRENT_VERSION: "",
}
"""Every apiVersion whose Triggers are read; a deprecated one with what to write instead."""

GROUPS = tuple(dict.fromkeys(version.partition("/")[0] for version in VERSIONS))
"""The API groups of those versions."""


def group_of(version: str) -> str:
    """The API group of an apiVersion."""
    return version.partition("/")[0]


CROSS_NAMESPACE = "cross-namespace-event-links"
"""The optional Knative feature that lets a Trigger name a broker of another namespace."""
INJECTION = "eventing.knative.dev/injection"
DEPENDENCY = "knative.dev/dependency"
ON_ERROR = "tricel.dev/on-error"
"""Annotation: what becomes of an event on which the filter errs; a run's own choice where it is absent."""
ON_ERROR_CHOICES = ("drop", "deliver", "fail")
EXPRESSION = "tricel.dev/expression"
"""Annotation of a Knative Trigger: a CEL expression that an event must pass beside the Trigger's filters."""
LANGUAGE = "tricel.dev/language-version"
"""Annotation of a Knative Trigger: the version of the filter language, instead of the one that its apiVersion names."""
TOPIC = "tricel.dev/topic"
"""Annotation: the topic of Kafka that a run delivers to, where it is told to take topics from annotations."""
ANNOTATIONS = (ON_ERROR, EXPRESSION, LANGUAGE, TOPIC)
"""Every annotation of our own prefix."""
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""Annotation: the manifest that `kubectl apply` was given, as JSON."""

ABSOLUTE_URI = "[A-Za-z][A-Za-z0-9+.-]*:"
"""How an absolute URI begins (RFC 3986, section 3.1), as an RE2 pattern."""

_NUMBER = "[0-9]+([.,][0-9]+)?"
_PERIOD = (
    f"[-+]?P({_NUMBER}Y)?({_NUMBER}M)?({_NUMBER}W)?({_NUMBER}D)?(T({_NUMBER}H)?({_NUMBER}M)?({_NUMBER}S)?)?",
    ".*[YMWDHS]",
)


class Shape(StrEnum):
    """What kind of value a field takes."""

    STRING = "string"
    INTEGER = "integer"
    OBJECT = "object"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class FieldRow:
    """One field of a Trigger.

    `unless` names a sibling in whose presence a required field is not; `choices` are the only values of a string;
    `patterns` are RE2 patterns that a string matches wholly, each of them; `minimum` is the least integer. `fields` are
    those of an object; an object without them is described elsewhere (a filter form by its dialect), or free.
    `growing` marks an object that a newer Knative may give further fields. `dropped` marks a field that Knative's
    definition does not name, in an object that keeps only what is named: an API server drops it from a Knative Trigger.
    """

    name: str
    shape: Shape
    doc: str
    required: bool = False
    unless: str = ""
    choices: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    minimum: int | None = None
    fields: tuple[FieldRow, ...] = ()
    growing: bool = False
    dropped: bool = False


def _text(name: str, doc: str, **more: object) -> FieldRow:
    return FieldRow(name, Shape.STRING, doc, **more)  # type: ignore[arg-type]


def names(fields: tuple[FieldRow, ...]) -> tuple[str, ...]:
    """The names of fields, in order."""
    return tuple(f.name for f in fields)


REFERENCE = (
    _text("apiVersion", "The API version of the object, such as `v1`.", required=True, unless="group"),
    _text("kind", "The kind of the object, such as `Service`.", required=True),
    _text("name", "The name of the object.", required=True),
    _text("namespace", "The namespace of the object; the Trigger's own where absent."),
    _text("group", "The API group of the object, instead of an `apiVersion`.", dropped=True),
    _text("address", "The name of one of the object's addresses, where it has several.", dropped=True),
)

DESTINATION = (
    FieldRow("ref", Shape.OBJECT, "An object that has an address.", fields=REFERENCE),
    _text("uri", "An absolute URI; or, beside `ref`, one that is relative to the object's address."),
    _text("CACerts", "The certification authorities, in PEM, that the destination's certificate is checked against."),
    _text("audience", "The OIDC audience of the destination."),
)

BROKER_REFERENCE = (
    _text("apiVersion", "The API version of the broker."),
    _text("kind", "The kind of the broker."),
    _text("name", "The name of the broker.", required=True),
    _text("namespace", f"The namespace of the broker; only with the feature `{CROSS_NAMESPACE}`."),
)

DELIVERY = (
    FieldRow("deadLetterSink", Shape.OBJECT, "Where events go that could not be delivered.", fields=DESTINATION),
    FieldRow("retry", Shape.INTEGER, "How many times a delivery is tried again.", minimum=0),
    _text(
        "timeout", "How long one delivery may take: an ISO 8601 duration over zero.", patterns=(*_PERIOD, ".*[1-9].*")
    ),
    _text("backoffDelay", "The wait before a retry: an ISO 8601 duration.", patterns=_PERIOD),
    _text("retryAfterMax", "The longest `Retry-After` that is heeded: an ISO 8601 duration.", patterns=_PERIOD),
    _text("backoffPolicy", "How the wait grows from retry to retry.", choices=("exponential", "linear")),
    _text("format", "The encoding of delivered events.", choices=("binary", "json")),
)

SPEC = (
    _text("broker", "The name of the broker whose events are filtered. It cannot be changed."),
    FieldRow("brokerRef", Shape.OBJECT, "The broker as a reference, instead of `broker`.", fields=BROKER_REFERENCE),
    FieldRow(
        "filter", Shape.OBJECT, "Which events are delivered, in one form; every event where it is absent or empty."
    ),
    FieldRow("filters", Shape.LIST, "Which events are delivered: those that pass every filter of the list."),
    _text(
        "languageVersion",
        "The version of the filter language, instead of the one that the apiVersion names.",
        choices=tuple(LANGUAGES),
    ),
    FieldRow("subscriber", Shape.OBJECT, "Where the events go.", required=True, fields=DESTINATION),
    FieldRow("delivery", Shape.OBJECT, "How events are delivered.", fields=DELIVERY),
)

METADATA = (
    _text("name", "The name of the Trigger.", required=True),
    _text("namespace", "The namespace of the Trigger."),
    FieldRow("labels", Shape.OBJECT, "What the Trigger is selected by."),
    FieldRow("annotations", Shape.OBJECT, "What is said about the Trigger."),
)
"""The fields of `metadata` that people write. It is Kubernetes' own, and may have others."""

TRIGGER = FieldRow(
    "",
    Shape.OBJECT,
    "Which events of a broker are delivered to a subscriber.",
    growing=True,
    fields=(
        _text("apiVersion", "The group and version."),
        _text("kind", "`Trigger`."),
        FieldRow("metadata", Shape.OBJECT, "Name, namespace, labels and annotations."),
        FieldRow("spec", Shape.OBJECT, "What is asked for.", fields=SPEC, growing=True),
        FieldRow("status", Shape.OBJECT, "What was observed."),
    ),
)
"""A whole Trigger. `metadata` and `status` are free: they have no fields here."""
