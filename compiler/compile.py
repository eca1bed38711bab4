"""The facade of the compiler: a filter in any dialect becomes a checked CEL expression."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from .analysis.constants import failing_constants
from .analysis.cost import over_limit
from .analysis.findings import analyse
from .analysis.requirements import Requirements, requirements
from .check import Checked, check
from .diagnostics import Diagnostic, errors
from .diagnostics.as_text import render
from .dialects import BY_NAME, Dialect, Translation, dialect_named
from .dialects.given import data_place, place_of
from .documents.document import Place
from .environments.cloudevent import CLOUD_EVENT
from .environments.model import Environment
from .faults import bounded, internal_error
from .limits import DEFAULT, Limits, over_size, over_text
from .manifests.trigger import translate_place
from .names import resolve
from .nodes import numbered
from .source import NOWHERE, Source, Span
from .unparse import unparse
from .versions import CURRENT, LanguageVersion


class CompileError(ValueError):
    """A filter that is refused. `diagnostics` holds everything that is wrong with it, and the warnings."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Keeps the diagnostics; the message is their text rendering."""
        self.diagnostics = tuple(diagnostics)
        super().__init__(render(self.diagnostics))


@dataclass(frozen=True)
class CheckedFilter:
    """A filter that means something: its expression, checked, and the warnings that reading and checking it gave."""

    checked: Checked
    source: Source
    dialect: str
    warnings: tuple[Diagnostic, ...]

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All warnings: those, and what the analysis says, which is made when it is first asked for."""
        return self.warnings + bounded(
            lambda: _findings(self.checked, self.source, self.warnings),
            lambda fault: (internal_error(fault, self.source, self.checked.expr.span),),
        )

    @cached_property
    def cel(self) -> str:
        """The canonical CEL text."""
        return unparse(self.checked.expr)

    @cached_property
    def requirements(self) -> Requirements:
        """What the filter reads from an event."""
        return requirements((self.checked.expr,), self.checked.environment)


Filter: TypeAlias = str | Mapping[str, object] | Sequence[object]
"""A filter as it is given: a text, or data as in a manifest."""


def check_filter(
    filter_: Filter,
    environment: Environment = CLOUD_EVENT,
    *,
    dialect: str | None = None,
    label: str = "<filter>",
    limits: Limits = DEFAULT,
    version: LanguageVersion = CURRENT,
) -> tuple[CheckedFilter | None, tuple[Diagnostic, ...]]:
    """Reads and checks a filter of the `dialect` named; without one, CEL text, or a mapping as in a Trigger.

    Of a dialect whose filters are data, a text is YAML or JSON. In place of a CloudEvent the environment
    is the dialect's own, where it has one.
    `label` names the text in diagnostics; `limits` bounds the filter's size and cost. The filter is None when there is
    an error among the diagnostics.

    Raises:
        ValueError: where there is no such dialect, or it is about other events than the environment.
    """
    if isinstance(filter_, str):
        filter_ = str.__str__(filter_)  # readers of text take no class derived from it
    row = dialect_named(dialect) if dialect is not None else BY_NAME["cel"] if isinstance(filter_, str) else None
    if row is not None and not row.any_environment and environment not in (CLOUD_EVENT, row.environment):
        one = row.environment.name
        raise ValueError(f"a filter of the dialect '{row.name}' is about a {one}, not about a {environment.name}")
    source = Source(filter_ if isinstance(filter_, str) else "", label)
    return bounded(
        lambda: _check_filter(filter_, row, environment, source, limits, version),
        lambda fault: (None, (internal_error(fault, source, Span(0, len(source.text))),)),
    )


def _check_filter(
    filter_: Filter,
    row: Dialect | None,
    environment: Environment,
    source: Source,
    limits: Limits,
    version: LanguageVersion,
) -> tuple[CheckedFilter | None, tuple[Diagnostic, ...]]:
    found = over_text(source, limits)
    if found:
        return None, found
    place: Place | None
    if row is None:
        place, found = data_place(filter_, source.name)
    else:
        place, found = place_of(row, filter_, source.name)
    if place is None:
        return None, found
    translation = translate_place(place) if row is None else row.to_cel(place)
    if row is not None and environment is CLOUD_EVENT:
        environment = row.environment
    return check_translation(translation, environment, found, limits=limits, version=version)


def check_translation(
    translation: Translation,
    environment: Environment = CLOUD_EVENT,
    before: tuple[Diagnostic, ...] = (),
    *,
    limits: Limits = DEFAULT,
    version: LanguageVersion = CURRENT,
) -> tuple[CheckedFilter | None, tuple[Diagnostic, ...]]:
    """Checks what a dialect was translated to. Warnings of the analysis are in the filter's own `diagnostics` alone."""
    span = NOWHERE if translation.expr is None else translation.expr.span
    return bounded(
        lambda: _check_translation(translation, environment, before, limits, version),
        lambda fault: (None, (*before, internal_error(fault, translation.source, span))),
    )


def _check_translation(
    translation: Translation,
    environment: Environment,
    before: tuple[Diagnostic, ...],
    limits: Limits,
    version: LanguageVersion,
) -> tuple[CheckedFilter | None, tuple[Diagnostic, ...]]:
    diagnostics = before + translation.diagnostics + _gone(translation, version)
    if translation.expr is None or errors(diagnostics):
        return None, diagnostics
    diagnostics += over_size(translation.expr, translation.source, limits)
    if errors(diagnostics):
        return None, diagnostics
    expr = resolve(numbered(translation.expr), environment)
    checked = check(expr, environment, translation.source, version=version)
    diagnostics += checked.diagnostics
    if not errors(diagnostics):
        diagnostics += over_limit(checked, translation.source, limits)
        diagnostics += failing_constants(checked, translation.source) if checked.constants else ()
    if errors(diagnostics):
        return None, diagnostics
    return CheckedFilter(checked, translation.source, translation.dialect, diagnostics), diagnostics


def _gone(translation: Translation, version: LanguageVersion) -> tuple[Diagnostic, ...]:
    """TRI351 for a form of a Trigger that the version does not have."""
    form = translation.dialect
    if form in version.forms or form not in BY_NAME or not BY_NAME[form].under:
        return ()
    span = NOWHERE if translation.expr is None else translation.expr.span
    message = f"version '{version.name}' of the language does not have '{form}'"
    return (Diagnostic("TRI351", message, translation.source, span, "`tricel rule TRI339` says what replaces it"),)


def _findings(checked: Checked, source: Source, warnings: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """What the analysis says, without a contradiction that the dialect has said in its own words."""
    known = {"TRI251"} if any(d.code == "TRI341" for d in warnings) else set()
    return tuple(d for d in analyse(checked, source) if d.code not in known)
