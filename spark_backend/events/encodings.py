"""What the rows of a source are as texts or bytes: one row for each name of `--encoding`.

A decoder turns rows of a source into the canonical table of `texts`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Encoding:
    """A way to read rows: `decode` gives the table of events, and loses no row; `doc` is what the help says."""

    name: str
    decode: Callable[[DataFrame], DataFrame]
    doc: str


def _as_it_is(rows: DataFrame) -> DataFrame:
    """The rows, whose columns are those of the environment."""
    return rows


ENCODINGS: tuple[Encoding, ...] = (
    Encoding("auto", _as_it_is, "what the rows themselves say; rows with the columns of events are taken as they are"),
)
BY_NAME = {row.name: row for row in ENCODINGS}
DEFAULT_ENCODING = ENCODINGS[0].name
