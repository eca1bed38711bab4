"""Where a filter's text came from: positions inside one text, and the way back into the file that held it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open code-point range [start, end) in one source text."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"not a span: [{self.start}, {self.end})")


NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Position:
    """A place as people count it: lines and columns from 1, columns in code points."""

    line: int
    column: int


@dataclass(frozen=True, eq=False)
class Source:
    """One text with a name.

    A text cut out of a larger file (an expression inside a YAML manifest) keeps its `parent` and the range `at` of
    the scalar that held it. `offsets`, when known, maps every code point of `text` (and its end) to the parent's, so
    that a diagnostic can point into the file's own line; a folded or escaped scalar has none and is shown by itself.
    """

    text: str
    name: str = "<filter>"
    field: str = ""
    parent: Source | None = None
    at: Span = NOWHERE
    offsets: tuple[int, ...] | None = None

    @cached_property
    def _line_starts(self) -> tuple[int, ...]:
        starts = [0]
        starts.extend(i + 1 for i, c in enumerate(self.text) if c == "\n")
        return tuple(starts)

    def position(self, offset: int) -> Position:
        """The line and column of a code point."""
        line = bisect_right(self._line_starts, offset)
        return Position(line, offset - self._line_starts[line - 1] + 1)

    def line(self, number: int) -> str:
        """The text of line `number` (from 1), without its line break."""
        start = self._line_starts[number - 1]
        end = self._line_starts[number] - 1 if number < len(self._line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r")

    def resolve(self, span: Span) -> tuple[Source, Span]:
        """The outermost text in which `span` can be shown exactly, and the span there."""
        if self.parent is None or self.offsets is None:
            return self, span
        last = len(self.offsets) - 1
        start = self.offsets[min(span.start, last)]
        end = self.offsets[min(span.end - 1, last)] + 1 if span.end > span.start else start
        return self.parent.resolve(Span(start, max(start, end)))
