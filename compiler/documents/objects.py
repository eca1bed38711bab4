"""Python data as documents over their own JSON text, so that what is wrong in them has a place.

Plain data is laid out and measured in one go. The rest (values of other types, and what YAML would read in a way of its
own) is written as JSON and read like any other text; both ways make the same document of the same value.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping as AbstractMapping
from collections.abc import Sequence as AbstractSequence
from dataclasses import dataclass, field
from json.encoder import encode_basestring

from ..diagnostics import Diagnostic
from ..source import NOWHERE, Source, Span
from .document import MAX_DEPTH, MAX_LENGTH, UNPRINTABLE, Document, Mapping, Scalar, Sequence, Value, read_documents

_ESCAPED = re.compile(f"{UNPRINTABLE.pattern}|[\x85\u2028\u2029]")
"""What YAML refuses, or takes for a line break, where JSON has it as it is."""
_LONGEST_KEY = 1_000
"""Code points of a key as written: beyond 1,024, YAML no longer takes it for one (YAML 1.1, section 7.4.2)."""
_LONGEST_INT = 64
"""Bits of a whole number. The reader makes a double of a much longer one."""


def from_python(value: object, label: str = "<filter>") -> tuple[Document | None, tuple[Diagnostic, ...]]:
    """A value as a document over its own JSON text; None when it is not JSON."""
    document = laid_out(value, label)
    return (document, ()) if document is not None else read_back(value, label)


def laid_out(value: object, label: str) -> Document | None:
    """The document of plain data: what `read_back` makes of it, at once; None for anything that may be out of the ordinary."""
    layout = _Layout()
    try:
        content = layout.take(value, "\n", 0)
    except _UnusualError:
        return None
    text = "".join(layout.parts)
    if len(text) > MAX_LENGTH or _ESCAPED.search(text):
        return None
    return Document(content, Source(text, label))


def read_back(value: object, label: str) -> tuple[Document | None, tuple[Diagnostic, ...]]:
    """The document that reading the value's JSON text gives; None when it is not JSON."""
    try:
        text = _written(value)
    except (TypeError, ValueError, RecursionError) as e:
        reason = "nested too deeply" if isinstance(e, RecursionError) else str(e)[:200]
        return None, (Diagnostic("TRI301", f"not JSON: {reason}", Source("", label), NOWHERE, "give JSON values only"),)
    source = Source(_ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text), label)
    documents, diagnostics = read_documents(source)
    if not documents:
        return None, diagnostics
    return documents[0], diagnostics + documents[0].diagnostics


class _UnusualError(Exception):
    """The data is not plain."""


@dataclass(slots=True)
class _Layout:
    """JSON text with an indent of two, as `json.dumps` writes it, in parts; `at` is its length so far."""

    parts: list[str] = field(default_factory=list)
    at: int = 0

    def take(self, value: object, newline: str, depth: int) -> Value:
        """Writes a value, `newline` being the line break and the indent where it stands, and says where it is."""
        match value:
            case str() if type(value) is str:
                start, text = self.at, encode_basestring(value)
                self.write(text)
                return Scalar(value, value, Span(start, self.at), '"')
            case dict() if type(value) is dict:
                return self.mapping(value, newline, depth)
            case list() if type(value) is list:
                return self.sequence(value, newline, depth)
            case None:
                text = "null"
            case bool():
                text = "true" if value else "false"
            case int() if type(value) is int and value.bit_length() <= _LONGEST_INT:
                text = repr(value)
            case float() if type(value) is float and math.isfinite(value):
                text = repr(value)
            case _:
                raise _UnusualError
        start = self.at
        self.write(text)
        return Scalar(value, text, Span(start, self.at))

    def mapping(self, value: dict[object, object], newline: str, depth: int) -> Mapping:
        start, inner = self.open(depth), f"{newline}  "
        entries: list[tuple[Scalar, Value]] = []
        before = "{" + inner
        for name, content in value.items():
            if type(name) is not str:
                raise _UnusualError
            text, at = encode_basestring(name), self.at + len(before)
            if len(text) > _LONGEST_KEY:
                raise _UnusualError
            self.write(f"{before}{text}: ")
            key = Scalar(name, name, Span(at, at + len(text)), '"')
            entries.append((key, self.take(content, inner, depth + 1)))
            before = "," + inner
        self.write(newline + "}" if entries else "{}")
        return Mapping(tuple(entries), Span(start, self.at))

    def sequence(self, value: list[object], newline: str, depth: int) -> Sequence:
        start, inner = self.open(depth), f"{newline}  "
        items: list[Value] = []
        before = "[" + inner
        for content in value:
            self.write(before)
            items.append(self.take(content, inner, depth + 1))
            before = "," + inner
        self.write(newline + "]" if items else "[]")
        return Sequence(tuple(items), Span(start, self.at))

    def open(self, depth: int) -> int:
        """Where a mapping or sequence begins."""
        if depth >= MAX_DEPTH:
            raise _UnusualError
        return self.at

    def write(self, text: str) -> None:
        self.at += len(text)
        self.parts.append(text)


def _written(value: object) -> str:
    """The JSON text of a value, with an indent of two. `json` takes time for each level that a value is below others.

    Raises:
        TypeError, ValueError: where it is not JSON.
    """
    parts: list[str] = []
    _write(value, "\n", parts, set())
    return "".join(parts)


def _write(value: object, newline: str, parts: list[str], around: set[int]) -> None:
    """Writes a value where a line begins with `newline`; `around` are the containers that it is in, by identity."""
    if value is None or isinstance(value, str | int | float):
        parts.append(json.dumps(value, ensure_ascii=False, allow_nan=False))
        return
    if id(value) in around:
        raise ValueError("it holds itself")
    around.add(id(value))
    inner = f"{newline}  "
    match value:
        case AbstractMapping():
            before = "{" + inner
            for name, content in value.items():
                if not isinstance(name, str):
                    raise TypeError(f"key {name!r} is not a string")
                parts.append(f"{before}{json.dumps(name, ensure_ascii=False)}: ")
                _write(content, inner, parts, around)
                before = "," + inner
            parts.append(newline + "}" if value else "{}")
        case AbstractSequence() if not isinstance(value, bytes | bytearray | memoryview):
            before = "[" + inner
            for content in value:
                parts.append(before)
                _write(content, inner, parts, around)
                before = "," + inner
            parts.append(newline + "]" if value else "[]")
        case _:
            raise TypeError(f"a value of type '{type(value).__name__}' is not JSON")
    around.remove(id(value))
