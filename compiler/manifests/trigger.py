"""Trigger manifests: YAML or JSON, one object or many, each filter translated to CEL, every problem with its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..diagnostics import Diagnostic
from ..dialects import DIALECTS, FILTERS, UNDER_FILTER, UNDER_FILTERS, Translation, filter_object
from ..dialects.drafts import DRAFTS, current_form
from ..dialects.expression import narrowed
from ..dialects.model import Findings
from ..documents.document import Document, Place, Sequence, is_null, member, members, plain, read_documents, root
from ..documents.document import Mapping as MappingValue
from ..documents.objects import from_python
from ..faults import bounded, internal_error
from ..nodes import conjunction
from ..source import Source, Span
from ..suggest import closest, did_you_mean
from ..versions import BY_API_VERSION, CURRENT, LANGUAGES, LanguageVersion
from .trigger_fields import EXPRESSION, KNATIVE_GROUP, LANGUAGE, ON_ERROR, TOPIC, group_of
from .trigger_kinds import trigger_places
from .trigger_rules import Reading, check_trigger, text_of


@dataclass(frozen=True)
class Trigger:
    """One Trigger, Knative's or tricel's own. Strings that the manifest does not give are empty.

    `translation` is its filter as CEL, with its own diagnostics. `broker` is `spec.broker`, and `broker_ref` the name in
    `spec.brokerRef`; one of them is empty. `subscriber` is the manifest's value as Python data. `span` points at the
    name in `source`.
    """

    name: str
    namespace: str
    broker: str
    broker_ref: str
    subscriber: Mapping[str, Any]
    annotations: Mapping[str, str]
    translation: Translation
    version: LanguageVersion
    source: Source
    span: Span

    @property
    def id(self) -> str:
        """`namespace/name`, or the name where the manifest has no namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def broker_id(self) -> str:
        """The broker as `namespace/name`, or its name where the manifest has no namespace."""
        name = self.broker or self.broker_ref
        return f"{self.namespace}/{name}" if self.namespace else name

    @property
    def on_error(self) -> str:
        """What the annotation `tricel.dev/on-error` asks for: drop, deliver or fail; empty where it is absent."""
        return self.annotations.get(ON_ERROR, "")

    @property
    def topic(self) -> str:
        """The topic of Kafka that the annotation `tricel.dev/topic` names; empty where it is absent."""
        return self.annotations.get(TOPIC, "")

    @property
    def destination(self) -> str:
        """The subscriber in one text: its URI, or `Kind.group/namespace/name` as kubectl writes it, and the URI's path.

        A reference without a namespace is to the Trigger's own.
        """
        uri, ref = str(self.subscriber.get("uri") or ""), self.subscriber.get("ref")
        if not isinstance(ref, Mapping):
            return uri
        group = str(ref.get("group") or str(ref.get("apiVersion") or "").rpartition("/")[0])
        kind = ".".join(p for p in (str(ref.get("kind") or ""), group) if p)
        namespace = str(ref.get("namespace") or self.namespace)
        place = "/".join(p for p in (kind, namespace, str(ref.get("name") or "")) if p)
        return f"{place}/{uri.lstrip('/')}" if uri else place


def read_manifests(
    source: Source, *, features: frozenset[str] = frozenset(), target: str = ""
) -> tuple[tuple[Trigger, ...], tuple[Diagnostic, ...]]:
    """The Triggers in a text of any number of Kubernetes objects and lists of them; objects of other kinds are skipped.

    The diagnostics are those of the text and of the manifests. Those of a filter are in its `translation` alone, and a
    Trigger is handed back even where its manifest is wrong, so that its filter can be checked as well. `features` names
    optional Knative features that are on; `cross-namespace-event-links` is known. With the `target` `knative` what an
    API server would drop from a Knative Trigger is an error, and else a warning.
    """
    reading = Reading(features, target)
    return bounded(lambda: _read_text(source, reading), lambda fault: ((), (internal_error(fault, source),)))


def _read_text(source: Source, reading: Reading) -> tuple[tuple[Trigger, ...], tuple[Diagnostic, ...]]:
    documents, diagnostics = read_documents(source)
    triggers, found = _read(documents, reading)
    return triggers, (*diagnostics, *found)


def read_object(
    value: Mapping[str, object], label: str, *, features: frozenset[str] = frozenset()
) -> tuple[tuple[Trigger, ...], tuple[Diagnostic, ...]]:
    """As `read_manifests`, of one object of a Kubernetes cluster, as Python data. Its text is its JSON; `label` names it."""
    reading = Reading(features, applied=True)
    return bounded(
        lambda: _read_object(value, label, reading), lambda fault: ((), (internal_error(fault, Source("", label)),))
    )


def _read_object(
    value: Mapping[str, object], label: str, reading: Reading
) -> tuple[tuple[Trigger, ...], tuple[Diagnostic, ...]]:
    document, diagnostics = from_python(value, label)
    triggers, found = _read((document,) if document is not None else (), reading)
    return triggers, diagnostics if document is None else found


def _read(documents: Iterable[Document], reading: Reading) -> tuple[tuple[Trigger, ...], tuple[Diagnostic, ...]]:
    triggers: list[Trigger] = []
    found: list[Diagnostic] = []
    for document in documents:
        placed, problems = read_document(document, reading)
        triggers.extend(trigger for _, trigger in placed)
        found.extend(problems)
    return tuple(triggers), tuple(found)


def read_document(
    document: Document, reading: Reading
) -> tuple[tuple[tuple[Place, Trigger], ...], tuple[Diagnostic, ...]]:
    """The Triggers of one document, each with its place in it, and the diagnostics as `read_manifests` has them."""
    findings = Findings()
    places = list(trigger_places(root(document), findings))
    before = document.diagnostics if places or findings.found else ()
    placed = tuple((place, _trigger(place, reading, findings)) for place in places)
    return placed, (*before, *findings.found)


def duplicate_triggers(triggers: Iterable[Trigger]) -> tuple[Diagnostic, ...]:
    """An error for every Trigger whose namespace and name another one has already."""
    first: dict[str, Trigger] = {}
    found = []
    for trigger in triggers:
        known = first.setdefault(trigger.id, trigger)
        if known is not trigger and trigger.name:
            place = f"{known.source.name}:{known.source.position(known.span.start).line}"
            message = f"trigger '{trigger.id}' is already defined in {place}"
            found.append(Diagnostic("TRI316", message, trigger.source, trigger.span, "rename or remove one of them"))
    return tuple(found)


def changed_immutable_fields(old: Trigger, new: Trigger) -> tuple[Diagnostic, ...]:
    """What an update of a Trigger must not change: its `spec.broker`."""
    if old.broker == new.broker:
        return ()
    message = f"'spec.broker' is immutable: it is '{old.broker}' and cannot become '{new.broker}'"
    return (
        Diagnostic("TRI317", message, new.source, new.span, "delete the trigger and create it anew", "spec.broker"),
    )


def translate_place(place: Place) -> Translation:
    """A filter given by itself, as CEL.

    It is what stands under a Trigger's `filter` (`{attributes: ...}`), a mapping with `filters` (and `filter`), or one
    filter object of the Subscriptions API (`{exact: ...}`). An empty mapping is every event.
    """
    names = [name for name, _ in members(place)]
    if any(name in ("filter", "filters") for name in names):
        return _known_only(place, ("filter", "filters"), translate_spec(place))
    if any(name in UNDER_FILTERS for name in names):
        return filter_object(place)
    return _filter(place)


def translate_spec(spec: Place) -> Translation:
    """The filter of a Trigger's `spec`: `filter` or `filters`; without either, or with empty ones, every event."""
    one, many = member(spec, "filter"), member(spec, "filters")
    listed = many is not None and not (isinstance(many.value, Sequence) and not many.value.items)
    if many is not None and listed:
        translation = FILTERS.to_cel(many)
        if one is None or not _restricts(one):
            return translation
        findings = Findings()
        help_ = "keep one; Knative would silently ignore 'filter'"
        findings.report("TRI330", many, f"'{one.path}' and '{many.path}' are both given", help_)
        problems = (*_filter(one).diagnostics, *translation.diagnostics, *findings.found)
        return Translation(None, spec.source, problems, "filters")
    if one is not None:
        return _filter(one)
    return Translation(conjunction((), spec.at), spec.source, (), "none")


def _restricts(place: Place) -> bool:
    """Whether a `filter` says anything: `{}` and `{attributes: {}}` do not."""
    if not isinstance(place.value, MappingValue):
        return True
    return any(not isinstance(entry.value, MappingValue) or entry.value.entries for _, entry in _given(place))


def _given(place: Place) -> list[tuple[str, Place]]:
    return [(name, entry) for name, entry in members(place) if not is_null(entry.value)]


def _filter(place: Place) -> Translation:
    findings = Findings()
    if not findings.expect_mapping(place):
        return Translation(None, place.source, tuple(findings.found), "none")
    given = _given(place)
    for name, entry in given:
        if name not in UNDER_FILTER:
            help_ = current_form(name, given, DIALECTS) if name in DRAFTS else _form_help(name)
            findings.report("TRI331", entry, f"'{entry.path}': there is no filter form '{name}'", help_)
    known = [(name, entry) for name, entry in given if name in UNDER_FILTER]
    if len(known) > 1:
        names = ", ".join(f"'{name}'" for name, _ in known)
        message = f"'{place.path or 'filter'}' has several forms: {names}"
        findings.report("TRI330", known[1][1], message, "keep one; an expression can say all of it")
    translations = [UNDER_FILTER[name].to_cel(entry) for name, entry in known]
    problems = tuple(d for t in translations for d in t.diagnostics) + tuple(findings.found)
    if not findings.found and len(translations) == 1:
        return translations[0]
    expr = None if findings.found else conjunction((), place.value.span)
    return Translation(expr, place.source, problems, "none")


def _form_help(name: str) -> str:
    if name in UNDER_FILTERS:
        return f"'{name}' stands under 'filters': filters: [{{{name}: ...}}]"
    return did_you_mean(closest(name, UNDER_FILTER)) or f"one of {', '.join(UNDER_FILTER)}"


def _known_only(place: Place, known: tuple[str, ...], translation: Translation) -> Translation:
    findings = Findings()
    for name, entry in members(place):
        if name not in known:
            message = f"'{entry.path}' cannot stand beside '{known[0]}' and '{known[1]}'"
            findings.report("TRI331", entry, message, did_you_mean(closest(name, known)))
    if not findings.found:
        return translation
    problems = (*translation.diagnostics, *findings.found)
    return Translation(None, translation.source, problems, translation.dialect)


def _trigger(place: Place, reading: Reading, findings: Findings) -> Trigger:
    check_trigger(place, reading, findings)
    metadata, spec = member(place, "metadata"), member(place, "spec")
    name = _inner(metadata, "name")
    annotations, subscriber = _inner(metadata, "annotations"), _inner(spec, "subscriber")
    translation = Translation(None, place.source, (), "none") if spec is None else _translated(spec)
    more = _inner(annotations, EXPRESSION)
    if more is not None and group_of(text_of(member(place, "apiVersion"))) == KNATIVE_GROUP:
        translation = narrowed(translation, more)
    return Trigger(
        name=text_of(name),
        namespace=text_of(_inner(metadata, "namespace")),
        broker=text_of(_inner(spec, "broker")),
        broker_ref=text_of(_inner(_inner(spec, "brokerRef"), "name")),
        subscriber=_data(subscriber),
        annotations={k: str(v) for k, v in _data(annotations).items()},
        translation=translation,
        version=_version(place, spec, annotations),
        source=place.source,
        span=place.at if name is None else name.value.span,
    )


def _version(trigger: Place, spec: Place | None, annotations: Place | None) -> LanguageVersion:
    """The version of the language: what the Trigger names, or else its apiVersion. A wrong name is reported elsewhere."""
    api_version = text_of(member(trigger, "apiVersion"))
    of_knative = group_of(api_version) == KNATIVE_GROUP
    named = text_of(_inner(annotations, LANGUAGE) if of_knative else _inner(spec, "languageVersion"))
    return LANGUAGES.get(named) or BY_API_VERSION.get(api_version, CURRENT)


def _translated(spec: Place) -> Translation:
    def refused(fault: Exception) -> Translation:
        found = internal_error(fault, spec.source, spec.at, spec.path)
        return Translation(None, spec.source, (found,), "none")

    return bounded(lambda: translate_spec(spec), refused)


def _inner(place: Place | None, name: str) -> Place | None:
    return None if place is None else member(place, name)


def _data(place: Place | None) -> dict[str, Any]:
    data = None if place is None else plain(place.value)
    return data if isinstance(data, dict) else {}
