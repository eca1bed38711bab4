"""How a YAML or JSON text is laid out: where entries begin and end, what is anchored and repeated, and the comments.

It reads the scanner's tokens, which have all of a text but spaces and comments. The text is one that
`document.read_documents` has read without a syntax error.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from ..source import Source, Span
from .document import LOADER
from .surrogates import masked

_OPENING = (
    *(yaml.BlockMappingStartToken, yaml.BlockSequenceStartToken),
    *(yaml.FlowMappingStartToken, yaml.FlowSequenceStartToken),
)
_CLOSING = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)
_FLOW_OPENING, _FLOW_CLOSING = _OPENING[2:], _CLOSING[1:]
_NEXT = (yaml.KeyToken, yaml.FlowEntryToken, yaml.DocumentStartToken, yaml.DocumentEndToken, yaml.StreamEndToken)
_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\r\n]*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a mapping: its key and its value, up to the end of the last thing in it.

    `in_flow` says that it stands between braces, and `flow` that its value does. `alias` is the name of the anchor that
    the value repeats, empty where it repeats none.
    """

    key: Span
    end: int
    in_flow: bool
    flow: bool
    alias: str = ""

    @property
    def span(self) -> Span:
        """Key and value."""
        return Span(self.key.start, self.end)


class Layout:
    """The tokens of one text."""

    def __init__(self, source: Source) -> None:
        """Scans the text."""
        self.text = source.text
        mask = masked(source.text)
        self._tokens: list[Any] = list(yaml.scan(source.text if mask is None else mask.text, Loader=LOADER))
        self._starts = [t.start_mark.index for t in self._tokens]
        self._depths = _flow_depths(self._tokens)

    def entry(self, key: Span) -> Entry | None:
        """The entry whose key is there; None where the key is explicit (`? key`), anchored or tagged."""
        at = self._scalar(key)
        if at is None:
            return None
        before, after = self._tokens[at - 1], self._tokens[at + 1]
        if not (isinstance(before, yaml.KeyToken) and before.start_mark.index == before.end_mark.index == key.start):
            return None
        if not isinstance(after, yaml.ValueToken):
            return None
        first, last = at + 2, self._last(at + 1)
        node = next((t for t in self._tokens[first : last + 1] if not isinstance(t, (yaml.AnchorToken, yaml.TagToken))), None)  # fmt: skip
        alias = node.value if isinstance(node, yaml.AliasToken) else ""
        return Entry(key, self._end(last), self._depths[at] > 0, isinstance(node, _FLOW_OPENING), alias)

    def repeated(self, span: Span, gone: Iterable[Span] = ()) -> Span | None:
        """The first alias outside a part of the text, and outside those that are `gone`, of what is anchored inside."""
        names: set[str] = set()
        for token in self._tokens[bisect_left(self._starts, span.start) :]:
            inside = token.start_mark.index < span.end
            if isinstance(token, yaml.DocumentStartToken):
                break
            if isinstance(token, yaml.AnchorToken):
                names = names | {token.value} if inside else names - {token.value}
            elif isinstance(token, yaml.AliasToken) and not inside and token.value in names:
                found = Span(token.start_mark.index, token.end_mark.index)
                if not any(part.start <= found.start < part.end for part in gone):
                    return found
        return None

    def comments(self, span: Span) -> list[Span]:
        """The comments in a part of the text, a `|` or `>` before its text included."""
        return [*self._comments(span)]

    def _comments(self, span: Span) -> Iterator[Span]:
        at = span.start
        for token in self._tokens[bisect_left(self._starts, span.start) :]:
            start, end = token.start_mark.index, token.end_mark.index
            if at < start:
                yield from self._found(at, min(start, span.end))
            if start >= span.end:
                return
            if isinstance(token, yaml.ScalarToken) and token.style in ("|", ">"):
                header = self.text.find("\n", start)
                yield from self._found(start, header if header >= 0 else end)
            at = max(at, end)

    def _found(self, start: int, end: int) -> Iterator[Span]:
        return (Span(*found.span()) for found in _COMMENT.finditer(self.text, start, end))

    def dashes(self) -> int | None:
        """How far the first list in a block mapping is indented from its key; None where there is none."""
        for n, token in enumerate(self._tokens[:-1]):
            after = self._tokens[n + 1]
            if isinstance(token, yaml.ValueToken) and isinstance(after, (yaml.BlockSequenceStartToken, yaml.BlockEntryToken)):  # fmt: skip
                key = self._tokens[n - 1]
                return max(0, self.column(after.start_mark.index) - self.column(key.start_mark.index))
        return None

    def column(self, at: int) -> int:
        """How many characters of its line stand before a place."""
        return at - self.line_start(at)

    def line_start(self, at: int) -> int:
        """Where the line of a place begins."""
        return self.text.rfind("\n", 0, at) + 1

    def newline(self, at: int) -> str:
        """The line break after a place, or else the first one of the text."""
        found = self.text.find("\n", at)
        found = self.text.find("\n") if found < 0 else found
        return "\r\n" if found > 0 and self.text[found - 1] == "\r" else "\n"

    def _scalar(self, at: Span) -> int | None:
        n = bisect_left(self._starts, at.start)
        while n < len(self._tokens) and self._starts[n] == at.start:
            if isinstance(self._tokens[n], yaml.ScalarToken):
                return n
            n += 1
        return None

    def _last(self, colon: int) -> int:
        """The number of the last token of the value after a colon."""
        depth, last = 0, colon
        for n in range(colon + 1, len(self._tokens)):
            token = self._tokens[n]
            if depth == 0 and isinstance(token, (*_NEXT, *_CLOSING)):
                break
            depth += isinstance(token, _OPENING) - isinstance(token, _CLOSING)
            if token.end_mark.index > token.start_mark.index:  # the ends of blocks are behind what follows them
                last = n
        return last

    def _end(self, n: int) -> int:
        token = self._tokens[n]
        start, end = int(token.start_mark.index), int(token.end_mark.index)
        return start + len(self.text[start:end].rstrip(" \r\n")) if isinstance(token, yaml.ScalarToken) else end


def _flow_depths(tokens: list[Any]) -> list[int]:
    """Of each token, how many braces and brackets are open before it."""
    depths, depth = [], 0
    for token in tokens:
        depths.append(depth)
        depth += isinstance(token, _FLOW_OPENING) - isinstance(token, _FLOW_CLOSING)
    return depths
