"""The facade of the compiler: a filter in any dialect becomes a checked CEL expression."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from .analyse import analyse
from .check import Checked, check
from .cost import over_limit
from .diagnostics import Diagnostic, errors
from .diagnostics.as_text import render
from .dialects import Translation, expand_match
from .environment import CLOUD_EVENT, Environment
from .limits import DEFAULT, Limits, over_size
from .manifest import translate_filter
from .names import resolve
from .nodes import numbered
from .objects import from_python
from .parse import parse
from .requirements import Requirements, requirements
from .source import Source
from .unparse import unparse


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
    said: tuple[Diagnostic, ...]

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All warnings: those, and what the analysis says, which is made when it is first asked for."""
        return self.said + _findings(self.checked, self.source, self.said)

    @cached_property
    def cel(self) -> str:
        """The canonical CEL text."""
        return unparse(self.checked.expr)

    @cached_property
    def requirements(self) -> Requirements:
        """What the filter reads from an event."""
        return requirements((self.checked.expr,), self.checked.environment)


def check_filter(
    filter_: str | Mapping[str, object],
    environment: Environment = CLOUD_EVENT,
    *,
    label: str = "<filter>",
    limits: Limits = DEFAULT,
) -> tuple[CheckedFilter | None, tuple[Diagnostic, ...]]:
    """Reads and checks a filter: CEL text, or a mapping as in a Trigger (`attributes`, `filters`, `exact`, ...).

    `label` names the text in diagnostics; `limits` bounds the filter's size and cost. The filter is None when there is
    an error among the diagnostics.
    """
    if isinstance(filter_, str):
        source = Source(filter_, label)
        expr, found = parse(source, limits.text)
        if expr is not None:
            expr, found = expand_match(expr, source)
        return check_translation(Translation(expr, source, found, "cel"), environment, limits=limits)
    document, found = from_python(filter_, label)
    if document is None:
        return None, found
    return check_translation(translate_filter(document), environment, found, limits=limits)


def check_translation(
    translation: Translation,
    environment: Environment = CLOUD_EVENT,
    before: tuple[Diagnostic, ...] = (),
    *,
    limits: Limits = DEFAULT,
) -> tuple[CheckedFilter | None, tuple[Diagnostic, ...]]:
    """Checks what a dialect was translated to. Warnings of the analysis are in the filter's own `diagnostics` alone."""
    diagnostics = before + translation.diagnostics
    if translation.expr is None or errors(diagnostics):
        return None, diagnostics
    diagnostics += over_size(translation.expr, translation.source, limits)
    if errors(diagnostics):
        return None, diagnostics
    expr = resolve(numbered(translation.expr), environment)
    checked = check(expr, environment, translation.source)
    diagnostics += checked.diagnostics
    if not errors(diagnostics):
        diagnostics += over_limit(checked, translation.source, limits)
    if errors(diagnostics):
        return None, diagnostics
    return CheckedFilter(checked, translation.source, translation.dialect, diagnostics), diagnostics


def _findings(checked: Checked, source: Source, said: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """What the analysis says, without a contradiction that the dialect has said in its own words."""
    known = {"TRI251"} if any(d.code == "TRI341" for d in said) else set()
    return tuple(d for d in analyse(checked, source) if d.code not in known)
