"""What a source and a sink are, whatever kind of place they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from tricel.compiler import Diagnostic

from ..events.tables import EventTables
from ..failure import Warn
from ..fanout.join import DELIVERED, ERRORED, OUTCOME
from ..storage.files import Directory, literal

PAIRS, QUARANTINE = "pairs", "quarantine"
"""Where the staged pairs, and what was no event, are in a staging directory."""


class Told(Protocol):
    """Who is told of what is worth saying while a batch is read."""

    def warned(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        """Something is worth saying, and stops nothing."""


class EventSource(Protocol):
    """A place that events are read from, once or as they arrive."""

    @property
    def name(self) -> str:
        """What tells it from others: a checkpoint is of one source."""

    @property
    def stores(self) -> frozenset[str]:
        """What is read, each thing by a name of its own: a table, each topic. Files are told by `holds`."""

    def holds(self, path: str) -> bool:
        """Whether files that are put below a path would be read."""

    def batch(self, spark: SparkSession, warn: Warn) -> EventTables:
        """All events that are there.

        Raises RunError (TRI601) where there is nothing of the kind.
        """

    def rows(self, spark: SparkSession) -> DataFrame:
        """The streaming DataFrame: whatever Spark reads, batch by batch, and remembers in its checkpoint.

        Raises RunError (TRI601) where there is nothing of the kind.
        """

    def events(self, spark: SparkSession, batch: DataFrame, observer: Told) -> EventTables:
        """The rows of one batch as tables of events; the same tables when the batch is done again."""


class Addressee(Protocol):
    """What a sink knows of a trigger."""

    @property
    def id(self) -> str:
        """The trigger's name, unique within a run."""

    @property
    def destination(self) -> str:
        """The name of the subscriber."""

    @property
    def topic(self) -> str:
        """The topic that an annotation names; empty where none does."""


@dataclass(frozen=True, slots=True)
class Addressed:
    """A trigger of a batch that was begun before, without its filter."""

    id: str
    destination: str
    topic: str = ""


@dataclass(frozen=True, slots=True)
class BatchName:
    """Which batch it is, for a sink that must not write it twice: `writer` is a run's or a stream's own name, and
    `number` grows from batch to batch (0 for a run)."""

    writer: str
    number: int

    def __str__(self) -> str:
        return f"{self.writer}/{self.number}"


@dataclass(frozen=True)
class Staged:
    """What a batch has written and counted, and is now to be delivered.

    `path` is its directory within `directory`, which holds the account. `within` names the directory of the batch in each
    of a folder's outcomes, empty for a run. The DataFrames are of the columns that a run writes as Parquet without
    directories by trigger: the events' columns and `trigger`.
    """

    spark: SparkSession
    directory: Directory
    path: str
    triggers: Sequence[Addressee]
    batch: BatchName
    within: str = ""

    @cached_property
    def delivered(self) -> DataFrame | None:
        """The pairs that filters let pass; None where there are none."""
        return self._table(f"{PAIRS}/{OUTCOME}={DELIVERED}")

    @cached_property
    def errored(self) -> DataFrame | None:
        """The pairs that filters erred on, with `error` and `subexpression`; None where there are none."""
        return self._table(f"{PAIRS}/{OUTCOME}={ERRORED}")

    @cached_property
    def malformed(self) -> DataFrame | None:
        """What was no event: `reason`, `text`, `raw`, `file`, and `record` where the sink asks for it; None for nothing."""
        return self._table(QUARANTINE)

    def _table(self, name: str) -> DataFrame | None:
        if not self.directory.has(f"{self.path}/{name}"):
            return None
        path = f"{self.directory.path}/{self.path}/{name}"
        return self.spark.read.option("mergeSchema", True).parquet(literal(path))


class Sink(Protocol):
    """A place that pairs of events and triggers are delivered to.

    A batch is staged as files and counted; then it is published, and what is not delivered stays in the account's folder.
    """

    @property
    def name(self) -> str:
        """What tells it from others: a stream has one sink."""

    @property
    def stores(self) -> frozenset[str]:
        """What is written, named as sources name what they read, as far as it is known before the first batch."""

    @property
    def folder(self) -> str:
        """The folder that it is, where the account is then, too; empty for a sink that is no folder."""

    @property
    def with_record(self) -> bool:
        """Whether pairs are staged with the column `record`, the record as it came."""

    def check(self, spark: SparkSession) -> None:
        """Looks whether anything can be written there at all, before the first event is read.

        Raises RunError where nothing can.
        """

    def prepare(self, staged: Staged) -> None:
        """Looks whether this batch can be published, before it counts.

        Raises RunError where it cannot; the batch is then not counted.
        """

    def publish(self, staged: Staged, *, again: bool) -> None:
        """Delivers a batch that counts. `again` says that it was begun before, and may be there in part or whole."""
