"""What Knative's webhook asks of a Trigger beside its filter: broker, subscriber, delivery and annotations."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from ..dialects import UNDER_FILTER
from ..dialects.model import Findings
from ..documents.document import Place, Scalar, member, members, plain
from ..suggest import closest, did_you_mean
from ..versions import LANGUAGES
from .trigger_fields import (
    ABSOLUTE_URI,
    ANNOTATIONS,
    CROSS_NAMESPACE,
    CURRENT_VERSION,
    DELIVERY,
    DEPENDENCY,
    EXPRESSION,
    INJECTION,
    KNATIVE_GROUP,
    LANGUAGE,
    LAST_APPLIED,
    ON_ERROR,
    ON_ERROR_CHOICES,
    REFERENCE,
    SPEC,
    TRICEL_GROUP,
    FieldRow,
    Shape,
    group_of,
)
from .unknown_fields import check_fields

KNATIVE_TARGET = "knative"
TARGETS = (KNATIVE_TARGET,)
"""What manifests may be said to be for."""

_OWN = "tricel.dev/"
_ABSOLUTE = re.compile(ABSOLUTE_URI)
_KEPT = frozenset(name for name, row in UNDER_FILTER.items() if row.knative)
"""The forms that Knative's definition names."""
_GENERALLY = next(name for name, row in UNDER_FILTER.items() if row.text)
"""The form that can say whatever another one says."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What manifests are read for.

    `features` names optional Knative features that are on; `cross-namespace-event-links` is known. `target` is what the
    manifests are applied to, where that is said: `knative`. `applied` says that an API server has them already, so that
    it has dropped what it drops.
    """

    features: frozenset[str] = frozenset()
    target: str = ""
    applied: bool = False


def check_trigger(trigger: Place, reading: Reading, findings: Findings) -> None:
    """Reports what is wrong with a Trigger apart from its filter."""
    version = text_of(member(trigger, "apiVersion"))
    check_fields(trigger, version, findings)
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
        _broker(spec, reading.features, findings)
        _destination(spec, "subscriber", findings)
        _delivery(spec, findings)
        language = member(spec, "languageVersion")
        if language is not None:
            _language(language, group_of(version) == KNATIVE_GROUP, findings)
        if not reading.applied and group_of(version) == KNATIVE_GROUP:
            _dropped(spec, SPEC, reading.target, findings)
    if metadata is not None:
        _annotations(metadata, spec, group_of(version), findings)


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


def _dropped(place: Place, rows: tuple[FieldRow, ...], target: str, findings: Findings) -> None:
    """Reports the fields that an API server with Knative's definition would drop."""
    for row in rows:
        entry = member(place, row.name)
        if entry is None:
            continue
        if row.dropped:
            _drop(entry, "", target, findings)
        _dropped(entry, row.fields, target, findings)
        if row.name == "filter" and place.path.endswith("spec"):
            for name, form in members(entry):
                if _is_dropped(name) and member(entry, name) is not None:
                    _drop(form, knative_way(name), target, findings)


def _is_dropped(form: str) -> bool:
    return form in UNDER_FILTER and form not in _KEPT


def knative_way(form: str) -> str:
    """How to say on a Knative Trigger what a form says that Knative's definition does not name."""
    return UNDER_FILTER[form].instead.format(version=CURRENT_VERSION, annotation=EXPRESSION)


def _drop(entry: Place, help_: str, target: str, findings: Findings) -> None:
    message = f"Knative's definition does not name '{entry.path}': an API server drops it"
    if help_:
        message += ", and the Trigger delivers every event"
    code = "TRI345" if target == KNATIVE_TARGET else "TRI344"
    findings.report(code, entry, message, help_ or "leave it out, and say it with the fields that Knative has")


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


def _annotations(metadata: Place, spec: Place | None, group: str, findings: Findings) -> None:
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
        if name == EXPRESSION:
            _expression(entry, group, findings)
        if name == LANGUAGE:
            _language(entry, group != KNATIVE_GROUP, findings)
        if name == LAST_APPLIED and group == KNATIVE_GROUP:
            _last_applied(text, spec, findings)
        if name.lower().startswith(_OWN) and name not in ANNOTATIONS:
            help_ = did_you_mean(closest(name, ANNOTATIONS)) or f"known are {', '.join(ANNOTATIONS)}"
            findings.report("TRI315", entry, f"there is no annotation '{name}'", help_)


def _language(entry: Place, misplaced: bool, findings: Findings) -> None:
    """Reports a version of the language that there is none of, or that is named where the other group names it."""
    text = findings.expect_string(entry)
    if text is not None and text not in LANGUAGES:
        message = f"there is no version '{text[:60]}' of the language"
        findings.report("TRI315", entry, message, f"there are {', '.join(LANGUAGES)}", at=entry.value.span)
    if misplaced:
        message = f"'{entry.path}' is not where a Trigger of this group names a version"
        help_ = f"on {TRICEL_GROUP} it is 'spec.languageVersion', on {KNATIVE_GROUP} the annotation '{LANGUAGE}'"
        findings.report("TRI315", entry, message, help_)


def _expression(entry: Place, group: str, findings: Findings) -> None:
    if group == KNATIVE_GROUP:
        message = f"a Knative broker ignores '{entry.path}', and delivers what the Trigger's own filters let pass"
        help_ = f"it narrows what tricel delivers; 'apiVersion: {CURRENT_VERSION}' has filter.expression"
        findings.report("TRI346", entry, message, help_)
    else:
        message = f"'{entry.path}' is for Triggers of {KNATIVE_GROUP}"
        findings.report("TRI315", entry, message, "write the expression in 'spec.filter.expression'")


def _last_applied(text: str, spec: Place | None, findings: Findings) -> None:
    """Reports a filter that is empty where the manifest that was applied has one that an API server drops."""
    given = member(spec, "filter") if spec is not None else None
    many = member(spec, "filters") if spec is not None else None
    if spec is None or _says(given) or _says(many):
        return
    try:
        applied = json.loads(text)
    except (ValueError, RecursionError):
        return
    filter_ = _of(_of(applied, "spec"), "filter")
    lost = [name for name, form in filter_.items() if form and name not in _KEPT]
    if lost:
        path = f"{spec.path}.filter"
        message = f"'{path}' is empty, and the manifest that was applied has '{path}.{str(lost[0])[:60]}'"
        help_ = f"Knative's definition drops it: {knative_way(lost[0] if _is_dropped(lost[0]) else _GENERALLY)}"
        findings.report("TRI347", given or spec, message, help_, field=path)


def _says(place: Place | None) -> bool:
    """Whether a `filter` or `filters` restricts anything: `{}`, `[]` and `{attributes: {}}` do not."""
    value = plain(place.value) if place is not None else None
    return any(value.values()) if isinstance(value, dict) else bool(value)


def _of(value: object, name: str) -> dict[str, object]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


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
