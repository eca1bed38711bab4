"""A problem as a value: a stable code, a message, a place, and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from ..source import Source, Span
from .codes import CODES

_QUOTED = re.compile(r"(?<!\w)'([^']*)'")
_LONGEST_QUOTE = 120
_LONGEST = 1_000


class Severity(StrEnum):
    """An error refuses the filter; a warning lets it pass and says why it may not mean what it seems to."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem. The message is one sentence in lower case without a full stop, with names in 'quotes'.

    `field` is the path of the manifest's field that is wrong (`spec.filters[0].exact`), also where it is missing; empty
    where there is none, and where the source is the text of one field, which knows its own.
    Long names and expressions in `message` and `help` are cut, since a user's text can be of any length.
    """

    code: str
    message: str
    source: Source
    span: Span
    help: str = ""
    field: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", _shortened(self.message))
        object.__setattr__(self, "help", _shortened(self.help))

    @property
    def severity(self) -> Severity:
        """How bad it is; a property of the code."""
        return Severity(CODES[self.code].severity)


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST_QUOTE:
        return text
    text = _QUOTED.sub(lambda quoted: f"'{_cut(quoted[1], _LONGEST_QUOTE)}'", text)
    return _cut(text, _LONGEST)


def _cut(text: str, longest: int) -> str:
    """The text without its middle where it is too long: what tells two names apart is often at the end."""
    return text if len(text) <= longest else f"{text[: longest - 23]}...{text[-20:]}"


def errors(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Those that refuse the filter."""
    return tuple(d for d in diagnostics if d.severity is Severity.ERROR)


def in_order(diagnostics: Iterable[Diagnostic], files: Iterable[str] = ()) -> tuple[Diagnostic, ...]:
    """Diagnostics by file, then by line and column in it, then by code.

    `files` is the order of the files; those that are not in it come after them, by name.
    """
    numbers = {name: number for number, name in enumerate(dict.fromkeys(files))}

    def place(d: Diagnostic) -> tuple[int, str, tuple[int, ...], str]:
        source, span = d.source.resolve(d.span)
        starts = [span.start]
        while source.parent is not None:  # a text that is in its file in another form, such as folded YAML
            source, span = source.parent.resolve(source.at)
            starts.append(span.start)
        return numbers.get(source.name, len(numbers)), source.name, tuple(reversed(starts)), d.code

    return tuple(sorted(diagnostics, key=place))
