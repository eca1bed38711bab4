"""Trigger manifests whose filters are converted in place: every byte outside of a filter stays as it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from ..compile import check_translation
from ..diagnostics import Diagnostic, errors, in_order
from ..dialects import BY_NAME, DIALECTS, FILTERS, UNDER_FILTER
from ..dialects.model import Dialect, Under
from ..documents.document import (
    Document,
    Mapping,
    Place,
    Sequence,
    Value,
    items,
    member,
    members,
    plain,
    read_documents,
)
from ..documents.layout import Layout
from ..faults import INTERNAL, REPORT, bounded, internal_error
from ..limits import DEFAULT, Limits
from ..manifests.trigger import Trigger, read_document, translate_spec
from ..manifests.trigger_fields import KNATIVE_GROUP, group_of
from ..manifests.trigger_rules import Reading, knative_way, text_of
from ..source import Source, Span
from .convert import SIMPLEST, differences, first_said, targets, unequal
from .edits import Edit, Refused, applied, edited
from .said import refusals

FILTER = "filter"
_READING = Reading()


@dataclass(frozen=True)
class Rewritten:
    """A text of manifests after the conversion.

    `triggers` are the ids of its Triggers, `converted` says how many filters were rewritten, and the errors what kept
    others from it.
    """

    text: str
    triggers: tuple[str, ...] = ()
    converted: int = 0
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class _Form:
    """A filter as it stands in the spec of a Trigger: under `filter` or `filters`, and what stands there."""

    key: str
    data: Any


def forms_of_triggers(to: str) -> tuple[Dialect, ...]:
    """The dialects that a Trigger's filter may become: those of `targets` that stand in a Trigger, or have a form there.

    Raises:
        ValueError: where there is no such dialect, or it has no place in a Trigger.
    """
    standing = [BY_NAME[row.form] if row.form else row for row in targets(to)]
    found = tuple(dict.fromkeys(row.name for row in standing if row.under is not Under.NOWHERE))
    if not found:
        names = ", ".join(row.name for row in DIALECTS if row.under is not Under.NOWHERE and row.from_cel is not None)
        raise ValueError(f"'{to}' has no place in a Trigger; there are {names}")
    return tuple(BY_NAME[name] for name in found)


def convert_manifests(source: Source, *, to: str, limits: Limits = DEFAULT) -> Rewritten:
    """The text of manifests with the filter of each Trigger in the dialect `to`, or in the simplest that can say it.

    A filter that is in that dialect already stays as it is written. Where a document or a filter is wrong, or the
    dialect cannot say it, it stays, and the errors say why; the other Triggers are converted all the same. The new
    text is read again, and handed back only where every Trigger is shown to have the filter that it had.

    Raises:
        ValueError: where there is no such dialect, or it has no place in a Trigger.
    """
    rows = forms_of_triggers(to)
    return bounded(
        lambda: _convert(source, rows, to == SIMPLEST, limits),
        lambda fault: Rewritten(source.text, diagnostics=(internal_error(fault, source),)),
    )


def _convert(source: Source, rows: tuple[Dialect, ...], simplest: bool, limits: Limits) -> Rewritten:
    documents, problems = read_documents(source)
    if errors(problems):
        return Rewritten(source.text, diagnostics=errors(problems))
    found: list[Diagnostic] = []
    wanted: list[_Wanted] = []
    ids: tuple[str, ...] = ()
    for document in documents:
        placed, problems = read_document(document, _READING)
        wrong = errors(problems)
        found.extend(wrong)
        ids += tuple(trigger.id for _, trigger in placed)
        for place, trigger in placed:
            checked, problems = check_translation(trigger.translation, limits=limits, version=trigger.version)
            found.extend(errors(problems))
            if checked is not None and not wrong:
                form, problems = _Target(place, trigger, rows, simplest, limits).form()
                found.extend(problems)
                wanted.extend(() if form is None else (_Wanted(document, place, form),))
    edits, refused = _edits(source, wanted)
    found.extend(Diagnostic("TRI372", one.message, source, one.span, one.help) for one in refused)
    if not edits:
        return Rewritten(source.text, ids, 0, in_order(found))
    text = applied(source.text, edits)
    changed = _changed(documents, Source(text, source.name))
    if changed:
        return Rewritten(source.text, ids, 0, in_order((*found, *changed)))
    return Rewritten(text, ids, len(edits), in_order(found))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A form that is to be written into a Trigger of a document."""

    document: Document
    place: Place
    form: _Form


def _edits(source: Source, wanted: list[_Wanted]) -> tuple[list[Edit], list[Refused]]:
    """The edits, and what is refused: what only repeats a filter that goes as well does not keep it from going."""
    layout = Layout(source) if wanted else None
    edits: list[Edit] = []
    left = wanted
    while layout is not None:
        gone = [edit.span for edit in edits]
        tried = [edited(layout, one.document, one.place, one.form.key, one.form.data, gone) for one in left]
        edits.extend(one for one in tried if isinstance(one, Edit) and one not in edits)
        refused = [one for one in tried if isinstance(one, Refused)]
        if not refused or len(refused) == len(left):
            return edits, list(dict.fromkeys(refused))
        left = [one for one, edit in zip(left, tried, strict=True) if isinstance(edit, Refused)]
    return [], []


@dataclass(frozen=True, slots=True)
class _Target:
    """What the filter of one Trigger is to become: the first of the rows that can say it."""

    place: Place
    trigger: Trigger
    rows: tuple[Dialect, ...]
    simplest: bool
    limits: Limits

    def form(self) -> tuple[_Form | None, tuple[Diagnostic, ...]]:
        """The form that is to be written, and what is refused; neither where the filter stays as it is."""
        spec = member(self.place, "spec")
        now = None if spec is None else _standing(spec)
        if spec is None or now is None or _stands(self.rows[0], now):
            return None, ()
        knative = group_of(text_of(member(self.place, "apiVersion"))) == KNATIVE_GROUP
        rows = _held(self.rows, knative)
        if not rows:
            return None, (_not_held(self.rows[0], now),)
        own, problems = check_translation(translate_spec(spec), limits=self.limits, version=self.trigger.version)
        if own is None:
            return None, errors(problems)
        simpler = tuple(takewhile(lambda row: not _stands(row, now), rows))
        row, value = first_said(simpler, own.checked.expr)
        if row is not None:
            wrong = differences(row, value, own, self.limits, self.trigger.version)
            return None if wrong else _form(row, value), wrong
        if len(simpler) < len(rows):
            return None, ()
        others = _held(forms_of_triggers(SIMPLEST), knative)
        return None, refusals(rows[-1], own.checked.expr, own.source, others)


def _held(rows: tuple[Dialect, ...], knative: bool) -> tuple[Dialect, ...]:
    """The dialects that a Trigger may have: on Knative's, what its definition names."""
    return tuple(row for row in rows if row.knative or not knative)


def _stands(row: Dialect, now: Place) -> bool:
    """Whether a filter is in a dialect as it is."""
    if row.under is Under.FILTER:
        return not _is_list(now) and member(now, row.name) is not None
    if row.under is Under.SPEC:
        return _is_list(now)
    listed = items(now)
    return len(listed) == 1 and [name for name, _ in members(listed[0])] == [row.name]


def _not_held(row: Dialect, now: Place) -> Diagnostic:
    path = f"{_form(row, None).key}.{row.name}" if row.under is not Under.SPEC else row.name
    message = f"a Knative Trigger has no '{path}': an API server drops it, and the Trigger delivers every event"
    return Diagnostic("TRI373", message, now.source, now.at, knative_way(row.name), now.path)


def _is_list(place: Place) -> bool:
    return isinstance(place.value, Sequence)


def _standing(spec: Place) -> Place | None:
    """The filter of a spec that says something: `filters` with filters, or else `filter` with a form."""
    many, one = member(spec, FILTERS.name), member(spec, FILTER)
    if many is not None and items(many):
        return many
    forms = [name for name, entry in members(one) if name in UNDER_FILTER] if one is not None else []
    return one if forms else None


def _form(row: Dialect, value: object) -> _Form:
    """A filter of a dialect where it stands in a Trigger."""
    match row.under:
        case Under.FILTER:
            return _Form(FILTER, {row.name: value})
        case Under.SPEC:
            return _Form(row.name, value)
        case _:
            return _Form(FILTERS.name, [{row.name: value}])


def _changed(before: tuple[Document, ...], source: Source) -> tuple[Diagnostic, ...]:
    """TRI901 where a text, read again, says anything else than the documents before, or has an error that they have not."""
    documents, problems = read_documents(source)
    if errors(problems) or len(documents) != len(before):
        return (_fault(source, "the manifests could not have been read any more"),)
    found: list[Diagnostic] = []
    for old, new in zip(before, documents, strict=True):
        was, known = read_document(old, _READING)
        now, problems = read_document(new, _READING)
        if len(was) != len(now) or _without_filters(old, was) != _without_filters(new, now):
            found.append(_fault(source, "something else than a filter would have changed"))
        if len(errors(problems)) > len(errors(known)):
            found.append(_fault(source, f"an error would have come up: {errors(problems)[-1].message}"))
        for (_, first), (_, second) in zip(was, now, strict=False):
            if first.translation.expr is not None and second.translation.expr is not None:
                found.extend(unequal(first.translation.expr, second.translation.expr, first.source, first.span))
            elif first.translation.expr is not None:
                found.append(_fault(source, f"the filter of '{first.id}' would have become none"))
    return tuple(found)


def _fault(source: Source, message: str) -> Diagnostic:
    return Diagnostic(INTERNAL, message, source, Span(0, 0), REPORT)


def _without_filters(document: Document, placed: tuple[tuple[Place, Trigger], ...]) -> object:
    """The data of a document but for the filters of its Triggers."""
    specs = {id(spec.value) for place, _ in placed if (spec := member(place, "spec")) is not None}
    return plain(_pruned(document.value, specs))


def _pruned(value: Value, specs: set[int]) -> Value:
    match value:
        case Mapping(entries=entries):
            left_out = (FILTER, FILTERS.name) if id(value) in specs else ()
            return replace(value, entries=tuple((k, _pruned(v, specs)) for k, v in entries if k.text not in left_out))
        case Sequence(items=parts):
            return replace(value, items=tuple(_pruned(part, specs) for part in parts))
        case _:
            return value
