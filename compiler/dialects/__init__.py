"""Filter dialects: each turns a filter into CEL. A new dialect is one file and one line of the table below."""

from __future__ import annotations

from ..documents.document import Place
from ..suggest import closest, did_you_mean
from . import (
    attribute_filters,
    attributes,
    cel,
    cesql,
    combinators,
    expression,
    labels,
    rule_sql,
    source_and_type,
    subscriptions,
)
from .combinators import Known
from .expression import expand_match
from .model import Dialect, Rows, ToCel, Translation, Under, standing


def _filters() -> Rows:
    return UNDER_FILTERS


_KNATIVE = Known(_filters)
ALL, ANY, NOT = combinators.combinators(_KNATIVE)

DIALECTS: tuple[Dialect, ...] = (
    cel.ROW,
    attributes.ROW,
    expression.ROW,
    source_and_type.ROW,
    combinators.filters(_KNATIVE),
    *attribute_filters.ROWS,
    ALL,
    ANY,
    NOT,
    cesql.CESQL,
    cesql.SQL,
    rule_sql.RULE_SQL,
    rule_sql.RULE_SQL_COMPAT,
    subscriptions.ROW,
    labels.ROW,
)
"""Every dialect, once."""

BY_NAME: Rows = {row.name: row for row in DIALECTS}
BY_SUFFIX: Rows = {row.suffix: row for row in DIALECTS if row.suffix}
"""Those whose filters stand in files of their own, by how the names of these end."""
UNDER_FILTER: Rows = standing(DIALECTS, Under.FILTER)
"""What may stand under `filter`; exactly one of them at a time."""
UNDER_FILTERS: Rows = standing(DIALECTS, Under.FILTERS)
"""What one filter of `filters` may have; exactly one of them."""
FILTERS: Dialect = BY_NAME["filters"]
"""What stands under `filters`."""


def dialect_named(name: str) -> Dialect:
    """The dialect of a name.

    Raises:
        ValueError: where there is none.
    """
    row = BY_NAME.get(name)
    if row is None:
        help_ = did_you_mean(closest(name, BY_NAME)) or f"there are {', '.join(BY_NAME)}"
        raise ValueError(f"there is no dialect '{name[:60]}': {help_}")
    return row


def filter_object(place: Place) -> Translation:
    """One filter of `filters`: `{exact: {type: t}}`, `{any: [...]}`."""
    return combinators.filter_object(_KNATIVE, place)


__all__ = [
    "BY_NAME",
    "BY_SUFFIX",
    "DIALECTS",
    "FILTERS",
    "UNDER_FILTER",
    "UNDER_FILTERS",
    "Dialect",
    "ToCel",
    "Translation",
    "dialect_named",
    "expand_match",
    "filter_object",
]
