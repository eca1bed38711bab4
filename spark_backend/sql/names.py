"""The columns that tricel adds to the events while a query runs, by names that no event column has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from . import Sql, column, get

FLAT = 6
"""Parameters of one type that have columns of their own; the others are in one array column for the type."""
_BASE = "tricel_"


@dataclass(frozen=True, slots=True)
class Names:
    """A prefix, in lower case, that no column begins with: Spark compares names without case."""

    prefix: str

    def of(self, what: str) -> str:
        """The column of that name."""
        return f"{self.prefix}{what}"

    def document(self, variable: str) -> str:
        """The column that holds the parsed JSON text for which `variable` stands elsewhere."""
        return self.of(variable.lower())

    def hole(self, number: int) -> str:
        """The root that stands for a constant of a filter, counted from 0."""
        return self.of(f"p{number}")

    def column(self, what: str) -> Sql:
        """The SQL of the column of that name."""
        return column(self.of(what))

    def parameter(self, letter: str, index: int) -> Sql:
        """The parameter of one type, counted from 0; there always is one."""
        if index < FLAT:
            return column(self.of(f"{letter}{index}"), nullable=False)
        return get(column(self.of(letter), nullable=False), index - FLAT)


def names_beside(taken: Iterable[str]) -> Names:
    """Names for use beside the columns `taken`, which are in lower case."""
    columns = tuple(taken)
    prefix = _BASE
    while any(c.startswith(prefix) for c in columns):
        prefix += "_"
    return Names(prefix)
