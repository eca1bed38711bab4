"""YAML and JSON text as values that know where they were written.

The reader works on the parser's events and keeps no more than the text holds: an alias shares the value of its anchor,
nesting and the growth by aliases are capped, and everything wrong is a diagnostic. The types of plain scalars are
those of YAML 1.1, as Kubernetes reads it; dates stay strings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, TypeAlias, assert_never

import yaml

from ..diagnostics import Diagnostic
from ..source import NOWHERE, Source, Span
from .scalars import offsets, plain_value
from .surrogates import Mask, halved, lone, masked

MAX_LENGTH = 16_000_000
"""Longest text that is read, in code points."""
MAX_DEPTH = 100
"""Deepest nesting of mappings and sequences."""
MAX_ALIASED = 100_000
"""How many values the aliases of one document may repeat."""

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""What reads YAML: libyaml, where PyYAML has it."""
UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""A character that may not stand in a YAML text."""
_CORE_TAG = "tag:yaml.org,2002:"
_STRING_TAGS = frozenset({"!", f"{_CORE_TAG}str"})


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value without parts. `text` is its content; `style` is its first character when quoted or a block, or three quotes."""

    value: str | int | float | bool | None
    text: str
    span: Span
    style: str = ""


@dataclass(frozen=True, slots=True)
class Sequence:
    """Values in order."""

    items: tuple[Value, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Mapping:
    """Entries in the order written; every key is a string, and none is there twice."""

    entries: tuple[tuple[Scalar, Value], ...]
    span: Span


Value: TypeAlias = Scalar | Sequence | Mapping


@dataclass(frozen=True)
class Document:
    """One document of a text. `diagnostics` are those about this document alone."""

    value: Value
    source: Source
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """A value and where it is: its path (`spec.filters[0].exact`), and the key (or else the value) to point at."""

    value: Value
    source: Source
    path: str
    at: Span


def root(document: Document) -> Place:
    """The place of a whole document, with the empty path."""
    value = document.value
    at = value.entries[0][0].span if isinstance(value, Mapping) and value.entries else value.span
    return Place(value, document.source, "", at)


def members(place: Place) -> tuple[tuple[str, Place], ...]:
    """The entries of a mapping by name; none where the value is not a mapping."""
    if not isinstance(place.value, Mapping):
        return ()
    return tuple((k.text, Place(v, place.source, _joined(place.path, k.text), k.span)) for k, v in place.value.entries)


def member(place: Place, name: str) -> Place | None:
    """The entry called `name`; None where there is none, or where its value is null, as Kubernetes takes it."""
    value = place.value
    if isinstance(value, Mapping):
        for key, entry in value.entries:
            if key.text == name:
                return None if is_null(entry) else Place(entry, place.source, _joined(place.path, name), key.span)
    return None


def items(place: Place) -> tuple[Place, ...]:
    """The items of a sequence; none where the value is not a sequence."""
    if not isinstance(place.value, Sequence):
        return ()
    return tuple(
        Place(v, place.source, f"{place.path}[{i}]", root(Document(v, place.source)).at)
        for i, v in enumerate(place.value.items)
    )


def is_null(value: Value) -> bool:
    """Whether this is YAML's null."""
    return isinstance(value, Scalar) and value.value is None


def described(value: Value) -> str:
    """What kind of value this is, for a message: `a string`, `a mapping`, ..."""
    match value:
        case Mapping():
            return "a mapping"
        case Sequence():
            return "a list"
        case Scalar(value=bool()):
            return "a boolean"
        case Scalar(value=str()):
            return "a string"
        case Scalar(value=None):
            return "null"
        case Scalar():
            return "a number"
        case _:
            assert_never(value)


def plain(value: Value) -> Any:
    """The value as Python's dict, list, str, int, float, bool and None."""
    match value:
        case Scalar(value=content):
            return content
        case Sequence(items=parts):
            return [plain(part) for part in parts]
        case Mapping(entries=entries):
            return {key.text: plain(part) for key, part in entries}
        case _:
            assert_never(value)


def read_documents(source: Source) -> tuple[tuple[Document, ...], tuple[Diagnostic, ...]]:
    """The documents of a YAML or JSON text, and what is wrong with the text itself.

    What is wrong inside one document is in its own `diagnostics`. Reading ends at the first syntax error.
    """
    problem = _unreadable(source)
    if problem is not None:
        return (), (problem,)
    mask = masked(source.text)
    reader = _Reader(source, mask)
    try:
        for event in yaml.parse(source.text if mask is None else mask.text, Loader=LOADER):
            reader.take(event)
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        at = _point(source, mark.index if mark is not None else 0)
        message = f"not YAML: {e.problem or e.context or 'unreadable'}"
        return tuple(reader.documents), (Diagnostic("TRI301", message, source, at, _syntax_help(source, at)),)
    except yaml.YAMLError:
        return tuple(reader.documents), (Diagnostic("TRI301", "not YAML: unreadable", source, NOWHERE),)
    except _RefusedError as e:
        return tuple(reader.documents), (e.diagnostic,)
    return tuple(reader.documents), ()


def embedded(place: Place) -> Source:
    """The text of a string scalar as a source of its own.

    Its offsets into the file are known for a literal block, a plain scalar on one line, and a quoted one without
    escapes or folding; the text of any other is shown by itself. A scalar that is the whole text is no other source.
    """
    value = place.value
    if not isinstance(value, Scalar):
        raise TypeError(f"{place.path} is not a scalar")
    if value.text == place.source.text:
        return place.source
    found = offsets(value.text, value.style, value.span, place.source.text)
    return Source(value.text, place.source.name, place.path, place.source, value.span, found)


def _joined(path: str, name: str) -> str:
    if path.endswith(("exact", "prefix", "suffix", "attributes", "annotations", "matchLabels")):
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name


def _unreadable(source: Source) -> Diagnostic | None:
    text = source.text
    if len(text) > MAX_LENGTH:
        message = f"the text has {len(text)} characters, more than {MAX_LENGTH}"
        return Diagnostic("TRI305", message, source, NOWHERE, "split the file")
    found = UNPRINTABLE.search(text)
    if found is None:
        return None
    message = f"not YAML: character U+{ord(found[0]):04X} may not stand in a YAML text"
    at = Span(found.start(), found.end())
    return Diagnostic("TRI301", message, source, at, 'remove it, or write it as an escape ("\\u....") in double quotes')


def _point(source: Source, index: int) -> Span:
    start = min(index, len(source.text))
    return Span(start, min(start + 1, len(source.text)))


def _syntax_help(source: Source, at: Span) -> str:
    line = source.line(source.position(at.start).line)
    if "{{" in line:
        return "this looks like a template: render it first"
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return "YAML is indented by spaces, not by tabs"
    return "quote a value that holds ': ', ' #' or begins with a sign such as '{', '[', '&', '*', '!', '%', '@'"


class _RefusedError(Exception):
    """Ends the reading of a text."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


@dataclass
class _Open:
    """A mapping or sequence whose end has not been read."""

    start: Span
    anchor: str | None
    is_mapping: bool
    values: list[Value] = field(default_factory=list)


@dataclass
class _Reader:
    """Builds documents from parser events, without recursion."""

    source: Source
    mask: Mask | None
    documents: list[Document] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, Value] = field(default_factory=dict)
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    value: Value | None = None
    aliased: int = 0

    def take(self, event: Any) -> None:
        match event:
            case yaml.DocumentStartEvent():
                self.anchors, self.sizes, self.diagnostics, self.value, self.aliased = {}, {}, [], None, 0
            case yaml.DocumentEndEvent():
                value = self.value or Scalar(None, "", self.span(event))
                self.documents.append(Document(value, self.source, tuple(self.diagnostics)))
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self.check_tag(event)
                if len(self.stack) >= MAX_DEPTH:
                    self.refuse(self.span(event), f"more than {MAX_DEPTH} levels of nesting", "flatten the document")
                self.stack.append(_Open(self.span(event), event.anchor, isinstance(event, yaml.MappingStartEvent)))
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self.close(event)
            case yaml.ScalarEvent():
                self.check_tag(event)
                self.add(self.scalar(event), event.anchor)
            case yaml.AliasEvent():
                self.alias(event)

    def span(self, event: Any) -> Span:
        start, end = event.start_mark.index, event.end_mark.index
        return Span(start, max(start, end))

    def report(self, code: str, at: Span, message: str, help_: str) -> None:
        self.diagnostics.append(Diagnostic(code, message, self.source, at, help_))

    def refuse(self, at: Span, message: str, help_: str) -> None:
        raise _RefusedError(Diagnostic("TRI305", message, self.source, at, help_))

    def check_tag(self, event: Any) -> None:
        tag = event.tag
        if tag is None or tag in _STRING_TAGS or tag in (f"{_CORE_TAG}map", f"{_CORE_TAG}seq"):
            return
        name = tag.replace(_CORE_TAG, "!!")
        self.report("TRI304", self.span(event), f"tag '{name}' is not supported", "remove the tag")

    def scalar(self, event: Any) -> Scalar:
        span = self.span(event)
        if self.mask is None:
            return _scalar(event, event.value, span)
        text = self.mask.unmasked(event.value, event.style)
        if halved(text):
            at = lone(self.source.text, span.start, span.end) or span
            message = f"a lone surrogate is not a character: '{self.source.text[at.start : at.end]}'"
            self.report("TRI301", at, message, "write both escapes of the pair, or the character itself")
        return _scalar(event, text, span)

    def add(self, value: Value, anchor: str | None) -> None:
        if anchor is not None:
            self.anchors[anchor] = value
            self.sizes[anchor] = _size(value)
        if self.stack:
            self.stack[-1].values.append(value)
        else:
            self.value = value

    def alias(self, event: Any) -> None:
        value = self.anchors.get(event.anchor)
        if value is None:
            self.report(
                "TRI304", self.span(event), f"alias '*{event.anchor}' has no complete anchor before it", "write it out"
            )
            value = Scalar(None, "", self.span(event))
            self.add(value, None)
            return
        size, depth = self.sizes[event.anchor]
        self.aliased += size
        if self.aliased > MAX_ALIASED:
            self.refuse(self.span(event), f"aliases repeat more than {MAX_ALIASED} values", "write the values out")
        if len(self.stack) + depth > MAX_DEPTH:
            self.refuse(self.span(event), f"more than {MAX_DEPTH} levels of nesting", "flatten the document")
        self.add(value, None)

    def close(self, event: Any) -> None:
        opened = self.stack.pop()
        span = Span(opened.start.start, max(opened.start.start, event.end_mark.index))
        if opened.is_mapping:
            self.add(Mapping(self.entries(opened.values), span), opened.anchor)
        else:
            self.add(Sequence(tuple(opened.values), span), opened.anchor)

    def entries(self, values: list[Value]) -> tuple[tuple[Scalar, Value], ...]:
        found: dict[str, tuple[Scalar, Value]] = {}
        for key, value in zip(values[::2], values[1::2], strict=True):
            if not isinstance(key, Scalar) or not isinstance(key.value, str):
                what = described(key)
                self.report("TRI303", key.span, f"a key must be a string, this is {what}", "put the key in quotes")
            elif key.text == "<<" and not key.style:
                self.report("TRI304", key.span, "merge key '<<' is not supported", "write the merged entries out")
            elif key.text in found:
                line = self.source.position(found[key.text][0].span.start).line
                message = f"key '{key.text}' is already on line {line}"
                self.report("TRI302", key.span, message, "keep one of the two")
            else:
                found[key.text] = (key, value)
        return tuple(found.values())


def _size(value: Value) -> tuple[int, int]:
    """How many values there are in a value, itself included (counted no further than the cap), and how deep."""
    count, depth, level = 0, 0, [value]
    while level and count <= MAX_ALIASED:
        count += len(level)
        below: list[Value] = []
        for each in level:
            if isinstance(each, Sequence):
                below.extend(each.items)
            elif isinstance(each, Mapping):
                below.extend(v for _, v in each.entries)
        depth += bool(below)
        level = below
    return count, depth


def _scalar(event: Any, text: str, span: Span) -> Scalar:
    if event.style in ("'", '"', "|", ">"):
        return Scalar(text, text, span, event.style)
    return Scalar(text if event.tag in _STRING_TAGS else plain_value(text), text, span)
