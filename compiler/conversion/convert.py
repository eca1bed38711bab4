"""A filter of one dialect as a filter of another, that means the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..compile import CheckedFilter, Filter, check_filter
from ..diagnostics import Diagnostic, errors
from ..dialects import DIALECTS, Dialect, dialect_named
from ..faults import INTERNAL, REPORT, bounded, internal_error
from ..limits import DEFAULT, Limits
from ..nodes import Expr
from ..source import Source, Span
from ..unparse import unparse
from ..versions import CURRENT, LanguageVersion
from .forms import normal
from .said import refusals, said

SIMPLEST = "simplest"
"""In place of a dialect: the first, in the order of the rows, that can say the filter."""


@dataclass(frozen=True)
class Conversion:
    """A filter in another dialect: its text, or its JSON data. `cel` is the canonical CEL of what it was made from.

    `warnings` are those about the filter as it was given.
    """

    dialect: str
    value: object
    cel: str
    warnings: tuple[Diagnostic, ...] = ()


def targets(to: str, among: Iterable[Dialect] = DIALECTS) -> tuple[Dialect, ...]:
    """The dialects that a filter may become: the one of a name, or for `simplest` those that are written, in order.

    Raises:
        ValueError: where there is no such dialect, or nothing is written in it.
    """
    if to == SIMPLEST:
        return tuple(sorted((row for row in among if row.from_cel is not None), key=lambda row: row.order))
    row = dialect_named(to)
    if row.from_cel is None:
        instead = f": write '{row.successor}'" if row.successor else ""
        raise ValueError(f"no filter is written in the dialect '{row.name}'{instead}")
    return (row,)


def convert(
    filter_: Filter,
    *,
    to: str,
    dialect: str | None = None,
    label: str = "<filter>",
    limits: Limits = DEFAULT,
    version: LanguageVersion = CURRENT,
) -> tuple[Conversion | None, tuple[Diagnostic, ...]]:
    """A filter in the dialect `to`, or in the simplest one; `dialect` is that of the filter, as in `check_filter`.

    The two have the same value on every event, and err on the same ones: both are checked, and their CEL compared.
    A filter that is wrong, or a part of which `to` cannot say (TRI371), gives None and the errors.

    Raises:
        ValueError: where there is no such dialect, or nothing is written in it.
    """
    rows = targets(to)
    checked, found = check_filter(filter_, dialect=dialect, label=label, limits=limits, version=version)
    if checked is None:
        return None, found
    whole = Span(0, len(checked.source.text))
    return bounded(
        lambda: _convert(checked, rows, limits, version),
        lambda fault: (None, (internal_error(fault, checked.source, whole),)),
    )


def _convert(
    given: CheckedFilter, rows: tuple[Dialect, ...], limits: Limits, version: LanguageVersion
) -> tuple[Conversion | None, tuple[Diagnostic, ...]]:
    expr = given.checked.expr
    row, value = first_said(rows, expr)
    if row is None:
        return None, refusals(rows[-1], expr, given.source, targets(SIMPLEST))
    found = differences(row, value, given, limits, version)
    return None if found else Conversion(row.name, value, given.cel, given.warnings), found


def first_said(rows: Iterable[Dialect], expr: Expr) -> tuple[Dialect | None, object]:
    """The first of the dialects that can say an expression, and the filter in it."""
    for row in rows:
        value = said(row, expr)
        if value is not None:
            return row, value
    return None, None


def differences(
    row: Dialect, value: object, given: CheckedFilter, limits: Limits = DEFAULT, version: LanguageVersion = CURRENT
) -> tuple[Diagnostic, ...]:
    """What keeps a written filter from standing for the one that it was made from; nothing where they mean the same."""
    written, found = check_filter(value, dialect=row.name, label=f"<{row.name}>", limits=limits, version=version)  # type: ignore[arg-type]
    if written is None:
        return errors(found)
    return unequal(given.checked.expr, written.checked.expr, given.source)


def unequal(before: Expr, after: Expr, source: Source, span: Span | None = None) -> tuple[Diagnostic, ...]:
    """TRI901 where two expressions, of a filter before and after, are not shown to mean the same."""
    if normal(before) == normal(after):
        return ()
    message = f"'{unparse(before)}' would have become '{unparse(after)}', which may mean another thing"
    return (Diagnostic(INTERNAL, message, source, span or before.span, REPORT),)
