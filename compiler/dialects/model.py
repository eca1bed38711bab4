"""What a dialect is, what it hands back, and the problems that any dialect may find."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeAlias

from ..diagnostics import Diagnostic
from ..documents.document import Mapping, Place, Scalar, described
from ..environments.cloudevent import CLOUD_EVENT
from ..environments.model import Environment
from ..nodes import Expr, Lit, LitKind, conjunction, transform
from ..source import Source, Span


@dataclass(frozen=True)
class Translation:
    """A filter as CEL. Spans of `expr` are in `source`; `expr` is None when an error keeps it from meaning anything."""

    expr: Expr | None
    source: Source
    diagnostics: tuple[Diagnostic, ...]
    dialect: str


ToCel: TypeAlias = Callable[[Place], Translation]
"""A filter, and where it stands, to CEL. It never raises."""
FromCel: TypeAlias = Callable[[Expr], object]
"""An expression to the filter that `to_cel` makes the same expression of, as text or JSON data; None where there is none."""
Schema: TypeAlias = AbstractMapping[str, Any]
"""A JSON schema."""
LONGEST_VALUE = 4096
"""Characters of the value of an attribute in a schema: bounds the cost of a cluster's rules, as Kubernetes asks."""
TEXT: Schema = {"type": "string", "maxLength": LONGEST_VALUE}
"""The schema of an attribute's value."""


LAST = 100
"""The place of a dialect that none is simpler for."""


class Under(StrEnum):
    """Where in the spec of a Trigger a dialect stands."""

    NOWHERE = ""
    SPEC = "spec"
    FILTER = "filter"
    FILTERS = "filters"


@dataclass(frozen=True, slots=True)
class Dialect:
    """One filter dialect: all that the rest of tricel knows of it.

    `name` is what it is called, and the key that it stands under in a Trigger; `to_cel` reads a filter (for a key, the
    value under it), and `from_cel` writes one. `doc` is one sentence, `example` a filter, as text or JSON data, and `page`
    the page of `docs/dialects` that has more.
    `environment` is what its filters may name, where that is not `any_environment`. `text` says that a filter is a text of its own rather than YAML or JSON,
    and `suffix` is how the name of a file that holds one ends, with its dot.
    `order` is its place among all dialects, the simplest first, and `form` the dialect that says the same in a Trigger,
    where it does not stand in one itself.
    `under` is where it stands in a Trigger; `knative`, that Knative's definition of a Trigger names it there, and
    `instead`, what to write on a Knative Trigger where it does not, with the places `{version}`, of tricel's own Triggers,
    and `{annotation}`, for an expression. `successor` is the dialect that took its place, which takes the same filters. `schema` is that of the value in a Trigger, made from
    the schema of one filter of `filters`, which some hold: `holds_filters`.
    """

    name: str
    to_cel: ToCel
    doc: str
    example: object
    page: str
    from_cel: FromCel | None = None
    environment: Environment = CLOUD_EVENT
    any_environment: bool = False
    text: bool = False
    suffix: str = ""
    order: int = LAST
    form: str = ""
    under: Under = Under.NOWHERE
    knative: bool = False
    instead: str = ""
    successor: str = ""
    schema: Callable[[Schema], Schema] | None = None
    holds_filters: bool = False


Rows: TypeAlias = AbstractMapping[str, Dialect]
"""Dialects by name."""


def standing(dialects: Iterable[Dialect], under: Under) -> dict[str, Dialect]:
    """Those of the dialects that stand in one place of a Trigger."""
    return {row.name: row for row in dialects if row.under is under}


def within(translation: Translation, source: Source, at: Span) -> Expr | None:
    """The expression with spans in the text around it; where they are not known there, `at`."""
    if translation.expr is None or translation.source is source:
        return translation.expr

    def outside(e: Expr) -> Expr:
        outer, span = translation.source.resolve(e.span)
        return replace(e, span=at if outer is translation.source else span)

    return transform(translation.expr, outside)


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
