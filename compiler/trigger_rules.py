"""What Knative's webhook asks of a Trigger beside its filter: broker, subscriber, delivery and annotations."""

from __future__ import annotations

import json
import re

from .dialects.model import Findings
from .document import Place, Scalar, member, members
from .suggest import closest, did_you_mean
from .trigger_fields import (
    ABSOLUTE_URI,
    CROSS_NAMESPACE,
    DELIVERY,
    DEPENDENCY,
    INJECTION,
    ON_ERROR,
    ON_ERROR_CHOICES,
    REFERENCE,
    SPEC,
    FieldRow,
    Shape,
    names,
)

_ABSOLUTE = re.compile(ABSOLUTE_URI)


def check_trigger(trigger: Place, features: frozenset[str], findings: Findings) -> None:
    """Reports what is wrong with a Trigger apart from its filter."""
    metadata = member(trigger, "metadata")
    if metadata is None:
        _missing(trigger, _inside(trigger, "metadata.name"), "name the trigger", findings)
    elif findings.expect_mapping(metadata):
        _required(metadata, "name", "name the trigger", findings)
        _optional(metadata, "namespace", findings)
    spec = member(trigger, "spec")
    if spec is None:
        _missing(trigger, _inside(trigger, "spec"), "give a broker, a subscriber and a filter", findings)
    elif findings.expect_mapping(spec):
        _unknown_fields(spec, names(SPEC), findings)
        _broker(spec, features, findings)
        _destination(spec, "subscriber", findings)
        _delivery(spec, findings)
    if metadata is not None:
        _annotations(metadata, spec, findings)


def text_of(place: Place | None) -> str:
    """The string there; empty for anything else."""
    value = place.value if place is not None else None
    return value.value if isinstance(value, Scalar) and isinstance(value.value, str) else ""


def _inside(place: Place, name: str) -> str:
    return f"{place.path}.{name}" if place.path else name


def _optional(place: Place, name: str, findings: Findings) -> str | None:
    """The string in a field; empty where the field is absent or empty, None where it is reported not to be a string."""
    found = member(place, name)
    return "" if found is None else findings.expect_string(found)


def _required(place: Place, name: str, help_: str, findings: Findings) -> None:
    if _optional(place, name, findings) == "":
        _missing(member(place, name) or place, _inside(place, name), help_, findings)


def _missing(place: Place, path: str, help_: str, findings: Findings) -> None:
    findings.report("TRI311", place, f"'{path}' is missing", help_, field=path)


def _unknown_fields(place: Place, known: tuple[str, ...], findings: Findings) -> None:
    for name, entry in members(place):
        if name not in known:
            help_ = did_you_mean(closest(name, known)) or f"known fields: {', '.join(known)}"
            findings.report("TRI312", entry, f"'{entry.path}' is not a field that Knative knows", help_)


def _broker(spec: Place, features: frozenset[str], findings: Findings) -> None:
    reference = member(spec, "brokerRef")
    if reference is None:
        _required(spec, "broker", "name the broker: 'broker: default'", findings)
        return
    if _optional(spec, "broker", findings):
        message = f"'{_inside(spec, 'broker')}' and '{reference.path}' are both given"
        findings.report("TRI313", reference, message, "keep one of them")
    if not findings.expect_mapping(reference):
        return
    _required(reference, "name", "name the broker", findings)
    namespace = member(reference, "namespace")
    if namespace is not None and text_of(namespace) and CROSS_NAMESPACE not in features:
        message = f"'{namespace.path}' is not allowed: the trigger's own namespace is meant"
        findings.report("TRI313", namespace, message, f"remove it, or turn on the feature '{CROSS_NAMESPACE}'")


def _destination(holder: Place, name: str, findings: Findings) -> None:
    """A `ref` to an object, a `uri`, or a `ref` with a relative `uri`."""
    place = member(holder, name)
    if place is not None and not findings.expect_mapping(place):
        return
    reference = member(place, "ref") if place is not None else None
    uri = member(place, "uri") if place is not None else None
    path = _inside(holder, name)
    if reference is None and uri is None:
        message = f"one of '{path}.ref' and '{path}.uri' must be given"
        help_ = "say where the events go: 'uri: http://...' or a 'ref'"
        findings.report("TRI311", place or holder, message, help_, field=path)
        return
    if reference is not None and findings.expect_mapping(reference):
        for row in REFERENCE:
            if row.required and not (row.unless and text_of(member(reference, row.unless))):
                _required(reference, row.name, "a 'ref' has apiVersion, kind and name", findings)
    text = findings.expect_string(uri) if uri is not None else None
    if uri is None or text is None:
        return
    absolute = _ABSOLUTE.match(text) is not None
    if reference is not None and absolute:
        message = f"'{uri.path}' is absolute and '{reference.path}' is given too"
        findings.report("TRI313", uri, message, "keep one, or make the 'uri' relative to the 'ref'")
    if reference is None and not absolute:
        message = f"'{uri.path}' is relative, and there is no '{path}.ref' that it is relative to"
        findings.report("TRI314", uri, message, "write the whole URI: 'http://host/path'", at=uri.value.span)


def _delivery(spec: Place, findings: Findings) -> None:
    delivery = member(spec, "delivery")
    if delivery is None or not findings.expect_mapping(delivery):
        return
    _unknown_fields(delivery, names(DELIVERY), findings)
    if member(delivery, "deadLetterSink") is not None:
        _destination(delivery, "deadLetterSink", findings)
    for row in DELIVERY:
        entry = member(delivery, row.name)
        if entry is None:
            continue
        if row.shape is Shape.INTEGER:
            _retry(entry, findings)
        elif row.patterns:
            _period(entry, row, findings)
        elif row.choices and (text := findings.expect_string(entry)) is not None and text not in row.choices:
            message = f"'{entry.path}' cannot be '{text[:60]}'"
            findings.report("TRI314", entry, message, f"one of {', '.join(row.choices)}", at=entry.value.span)


def _retry(entry: Place, findings: Findings) -> None:
    value = entry.value.value if isinstance(entry.value, Scalar) else None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        message = f"'{entry.path}' must be a whole number from 0"
        findings.report("TRI314", entry, message, "write the number of retries", at=entry.value.span)


def _period(entry: Place, row: FieldRow, findings: Findings) -> None:
    text = findings.expect_string(entry)
    if text is None or all(re.fullmatch(pattern, text) for pattern in row.patterns):
        return
    help_ = "write a duration such as 'PT2S' or 'PT1M30S'"
    if re.fullmatch(row.patterns[0], text) and text[-1] in "YMWDHS":
        findings.report("TRI314", entry, f"'{entry.path}' must not be zero", help_, at=entry.value.span)
    else:
        message = f"'{entry.path}' is not an ISO 8601 duration: '{text[:60]}'"
        findings.report("TRI314", entry, message, help_, at=entry.value.span)


def _annotations(metadata: Place, spec: Place | None, findings: Findings) -> None:
    place = member(metadata, "annotations")
    if place is None or not findings.expect_mapping(place):
        return
    for name, entry in members(place):
        text = findings.expect_string(entry)
        if text is None:
            continue
        if name == INJECTION:
            _injection(entry, text, text_of(member(spec, "broker") if spec is not None else None), findings)
        if name == DEPENDENCY:
            _dependency(entry, text, text_of(member(metadata, "namespace")), findings)
        if name == ON_ERROR and text not in ON_ERROR_CHOICES:
            message = f"'{entry.path}' must be one of {', '.join(ON_ERROR_CHOICES)}, not '{text[:60]}'"
            help_ = "it says what becomes of an event on which the filter errs"
            findings.report("TRI315", entry, message, help_, at=entry.value.span)


def _injection(entry: Place, text: str, broker: str, findings: Findings) -> None:
    at = entry.value.span
    if text not in ("enabled", "disabled"):
        message = f"'{entry.path}' must be 'enabled' or 'disabled', not '{text[:60]}'"
        findings.report("TRI315", entry, message, "a broker is injected or not", at=at)
    if broker and broker != "default":
        message = f"'{entry.path}' is for the broker 'default', and the trigger names '{broker[:60]}'"
        findings.report("TRI315", entry, message, "remove the annotation, or use the broker 'default'", at=at)


def _dependency(entry: Place, text: str, namespace: str, findings: Findings) -> None:
    """The annotation's text is a JSON object that refers to a Kubernetes object."""
    at = entry.value.span
    try:
        reference = json.loads(text)
    except (ValueError, RecursionError):
        reference = None
    if not isinstance(reference, dict):
        help_ = 'write JSON: {"apiVersion": "...", "kind": "...", "name": "..."}'
        findings.report("TRI315", entry, f"'{entry.path}' is not a reference to an object", help_, at=at)
        return
    for name in (row.name for row in REFERENCE if row.required):
        if not reference.get(name):
            path = f"{entry.path}.{name}"
            help_ = "a reference has apiVersion, kind and name"
            findings.report("TRI315", entry, f"'{path}' is missing", help_, at=at, field=path)
    if reference.get("namespace") not in (None, "", namespace):
        path = f"{entry.path}.namespace"
        message = f"'{path}' must be the trigger's own namespace, '{namespace}', or absent"
        findings.report("TRI315", entry, message, "depend on an object of the same namespace", at=at, field=path)
