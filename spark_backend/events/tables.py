"""Events of one run or batch as tables that may be read again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame

from .readers import complete


class EventTables(Protocol):
    """Events of one run or batch, in `complete` tables of different columns, that may be read again."""

    def tables(self, *, verified: bool = False, reserved: Collection[str] = ()) -> Sequence[DataFrame]:
        """The tables, one at least; `verified` leaves out what turns out to be damaged when it is read to its end.

        `reserved` are columns that events cannot have beside those that no run takes: see `complete`.
        """


@dataclass(frozen=True)
class EventTable:
    """One table, taken as it is."""

    table: DataFrame

    def tables(self, *, verified: bool = False, reserved: Collection[str] = ()) -> tuple[DataFrame, ...]:
        """The table, `complete`.

        Raises RunError (TRI601): see `complete`.
        """
        return (complete(self.table, reserved),)


@dataclass(frozen=True)
class Several:
    """The events of several places."""

    parts: Sequence[EventTables]

    def tables(self, *, verified: bool = False, reserved: Collection[str] = ()) -> tuple[DataFrame, ...]:
        """The tables of all."""
        return tuple(t for part in self.parts for t in part.tables(verified=verified, reserved=reserved))


@dataclass
class FoundOnce:
    """Events whose tables are found once, however often they are asked for."""

    events: EventTables
    reserved: Collection[str] = ()
    _found: Sequence[DataFrame] = ()

    def tables(self, *, verified: bool = False, reserved: Collection[str] = ()) -> Sequence[DataFrame]:
        """The tables."""
        if verified or not self._found:
            self._found = self.events.tables(verified=verified, reserved=(*self.reserved, *reserved))
        return self._found
