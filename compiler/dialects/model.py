"""What a dialect hands back, and the problems that any dialect may find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from ..diagnostics import Diagnostic
from ..document import Mapping, Place, Scalar, described
from ..nodes import Expr, Lit, LitKind, conjunction
from ..source import Source, Span


@dataclass(frozen=True)
class Translation:
    """A filter as CEL. Spans of `expr` are in `source`; `expr` is None when an error keeps it from meaning anything."""

    expr: Expr | None
    source: Source
    diagnostics: tuple[Diagnostic, ...]
    dialect: str


ToCel: TypeAlias = Callable[[Place], Translation]
"""A dialect: the value under its key, and where it stands, to CEL. It never raises."""


@dataclass
class Findings:
    """Diagnostics being collected about one document."""

    found: list[Diagnostic] = field(default_factory=list)

    def report(
        self, code: str, place: Place, message: str, help_: str = "", *, at: Span | None = None, field: str = ""
    ) -> None:
        """Records a problem at a place; `at` overrides what is pointed at, and `field` the path that is named."""
        self.found.append(Diagnostic(code, message, place.source, at or place.at, help_, field or place.path))

    def expect_mapping(self, place: Place) -> bool:
        """Whether the value is a mapping; reports when it is not."""
        return self._expect(place, isinstance(place.value, Mapping), "a mapping")

    def expect_string(self, place: Place) -> str | None:
        """The string there; None, and a report, for any other value."""
        value = place.value
        if isinstance(value, Scalar) and isinstance(value.value, str):
            return value.value
        self._expect(place, False, "a string")
        return None

    def _expect(self, place: Place, right: bool, wanted: str) -> bool:
        if not right:
            message = f"'{place.path}' must be {wanted}, this is {described(place.value)}"
            self.report("TRI310", place, message, at=place.value.span)
        return right


def all_of(terms: list[Expr | None], span: Span) -> Expr | None:
    """The conjunction of all terms, without those that are `true`; None where one of them was refused."""
    kept = tuple(term for term in terms if term is not None)
    if len(kept) < len(terms):
        return None
    return conjunction(tuple(term for term in kept if term != _ALWAYS), span)


_ALWAYS = Lit(LitKind.BOOL, True)
