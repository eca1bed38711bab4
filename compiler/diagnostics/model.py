"""A problem as a value: a stable code, a message, a place, and how to mend it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from ..source import Source, Span
from .codes import CODES


class Severity(StrEnum):
    """An error refuses the filter; a warning lets it pass and says why it may not mean what it seems to."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem. The message is one sentence in lower case without a full stop, with names in 'quotes'."""

    code: str
    message: str
    source: Source
    span: Span
    help: str = ""

    @property
    def severity(self) -> Severity:
        """How bad it is; a property of the code."""
        return Severity(CODES[self.code].severity)


def errors(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Those that refuse the filter."""
    return tuple(d for d in diagnostics if d.severity is Severity.ERROR)
