"""The change of one filter in the text of its manifest: which part of the text is replaced, and by what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..documents.document import Document, Mapping, Place, Scalar, Sequence, Value, member
from ..documents.layout import Entry, Layout
from ..documents.spelling import Spelling
from ..source import Span

_FIELDS = ("filter", "filters")
_PLAINLY = "write it out plainly, and convert again"


@dataclass(frozen=True, slots=True)
class Edit:
    """A part of a text, and what takes its place."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a filter is not rewritten where it stands, with the place that keeps it from that."""

    message: str
    span: Span
    help: str = _PLAINLY


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made; none reaches into another."""
    for edit in sorted(edits, key=lambda e: e.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def edited(
    layout: Layout, document: Document, trigger: Place, key: str, data: Any, gone: Iterable[Span] = ()
) -> Edit | Refused:
    """The edit that writes `data` under `key` of the spec of a Trigger, in place of the filter that is there.

    The new text is in the style of the old one: block or flow, its indentation, its quotes, its line ends. Comments
    within the filter stay beside it. `gone` are the parts of the text that other edits replace.
    """
    gone = tuple(gone)
    spec = member(trigger, "spec")
    if spec is None:
        raise ValueError("a Trigger without a spec has no filter")
    for value in _way(document.value, spec.value):
        alias = layout.repeated(Span(value.span.start, value.span.start + 1), gone)
        if alias is not None:
            return Refused("what the Trigger, or a part of it, is anchored by is repeated elsewhere", alias)
    standing = {name: place for name in _FIELDS if (place := _given(spec, name)) is not None}
    place = standing.get("filters") if _says(standing.get("filters")) else standing.get("filter")
    other = standing.get(key)
    if place is None:
        raise ValueError("a Trigger without a filter has nothing to convert")
    if other is not None and other.at != place.at:
        message = f"'{other.path}' and '{place.path}' are both given"
        return Refused(message, other.at, f"remove the '{other.path}' that is empty")
    entry = layout.entry(place.at)
    if entry is None:
        return Refused(f"'{place.path}' has an explicit key, or one with an anchor or a tag", place.at)
    again = None if entry.alias else layout.repeated(entry.span, gone)
    if again is not None:
        return Refused(f"what '{place.path}' anchors is repeated elsewhere", again)
    return _Writing(layout, entry, place.value, trigger).edit(key, data)


def _given(spec: Place, name: str) -> Place | None:
    """The entry of a name, with a null, too."""
    if isinstance(spec.value, Mapping):
        for key, value in spec.value.entries:
            if key.text == name:
                return Place(value, spec.source, f"{spec.path}.{name}", key.span)
    return None


def _says(place: Place | None) -> bool:
    return place is not None and isinstance(place.value, Sequence) and bool(place.value.items)


def _way(value: Value, wanted: Value) -> tuple[Value, ...]:
    """The values on the way to one that they hold, both ends included."""
    stack: list[tuple[Value, ...]] = [(value,)]
    while stack:
        way = stack.pop()
        match way[-1]:
            case here if here is wanted:
                return way
            case Mapping(entries=entries):
                stack.extend((*way, inner) for _, inner in entries)
            case Sequence(items=parts):
                stack.extend((*way, part) for part in parts)
    return ()


@dataclass(frozen=True)
class _Writing:
    """One entry that is to be written anew."""

    layout: Layout
    entry: Entry
    value: Value
    trigger: Place

    def edit(self, key: str, data: Any) -> Edit | Refused:
        """The edit; refused where a comment would be lost."""
        text, entry = self.layout.text, self.entry
        style = self._style()
        comments = [] if entry.alias else self.layout.comments(Span(entry.key.end, entry.end))
        column = self.layout.column(entry.key.start)
        own_line = not text[self.layout.line_start(entry.key.start) : entry.key.start].strip()
        below = "\n" in text[entry.key.start : entry.end]
        line_end = self.layout.newline(entry.key.start)
        name = f'"{key}"' if style.json else key
        above: list[Span] = []
        if entry.in_flow or entry.flow or style.json:
            above, head, lines = comments, "", self._flow(style, data, below)
            lines = [f"{name}: {lines[0]}", *lines[1:]]
        else:
            lines = style.block({key: data})
            first = text[entry.key.start : entry.end].split("\n", 1)[0]
            head = ""
            if len(lines) > 1 and comments and comments[0].start < entry.key.start + len(first):
                gap = text[entry.key.end + 1 : comments[0].start]
                head = (gap if not gap.strip() else "  ") + text[comments[0].start : comments[0].end]
                comments = comments[1:]
            if len(lines) > 1:
                indent = lines[1][: len(lines[1]) - len(lines[1].lstrip(" "))]
                noted = [indent + text[c.start : c.end] for c in comments]
                lines = [lines[0] + head, *noted, *lines[1:]]
            else:
                above = comments
        if above and not own_line:
            return Refused("a comment within the filter would be lost", above[0], "move it before the Trigger")
        lines = [*(text[c.start : c.end] for c in above), *lines]
        return Edit(entry.span, (line_end + " " * column).join(lines))

    def _flow(self, style: Spelling, data: Any, below: bool) -> list[str]:
        return style.lines(data) if style.json and below else [style.flow(data)]

    def _style(self) -> Spelling:
        text, key = self.layout.text, self.entry.key
        spec = member(self.trigger, "spec")
        holder = self.trigger.at if spec is None else spec.at
        unit = self.layout.column(key.start) - self.layout.column(holder.start)
        dashes = self.layout.dashes()
        unit = unit if 0 < unit <= 8 else 2
        inner = [m for m in _mappings(self.value) if m.entries and all(isinstance(v, Scalar) for _, v in m.entries)]
        return Spelling(
            json=text.startswith('"', key.start),
            unit=unit,
            dash=unit if dashes is None else dashes,
            inner_flow=bool(inner) and all(text.startswith("{", m.span.start) for m in inner),
            quotes={s.text: text[s.span.start : s.span.end] for s in _scalars(self.value) if self._quoted(s)},
        )

    def _quoted(self, scalar: Scalar) -> bool:
        """Whether a text has quotes around it that may stand around it elsewhere: on one line, without an anchor or a tag."""
        written = self.layout.text[scalar.span.start : scalar.span.end]
        return scalar.style in ("'", '"') and written.startswith(scalar.style) and "\n" not in written


def _scalars(value: Value) -> Iterator[Scalar]:
    match value:
        case Scalar():
            yield value
        case Sequence(items=parts):
            for part in parts:
                yield from _scalars(part)
        case Mapping(entries=entries):
            for key, inner in entries:
                yield key
                yield from _scalars(inner)


def _mappings(value: Value) -> Iterator[Mapping]:
    match value:
        case Sequence(items=parts):
            for part in parts:
                yield from _mappings(part)
        case Mapping(entries=entries):
            yield value
            for _, inner in entries:
                yield from _mappings(inner)
        case Scalar():
            pass
