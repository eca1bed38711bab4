"""Where a stream's events come from. A source is what Spark streams, and what its rows are as a table of events."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Protocol

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from tricel.compiler import CLOUD_EVENT, Environment

from ...events.readers import EventFiles
from ...failure import RunError
from ...spark_errors import SPARK_FAILURES, cause, unreadable
from ...storage.files import hidden_below, literal, sort_inputs
from ...storage.links import below, leads_elsewhere
from ...storage.places import TABLE
from ..delivery import EventTable, EventTables
from .observers import Observer

_FILES_AT_ONCE = 1000
# Spark's source otherwise passes over files that come late: more than a week older than the newest it has seen.
_MAX_AGE = "36500d"
_SCHEMA = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"


class EventSource(Protocol):
    """A place that events keep arriving at."""

    @property
    def name(self) -> str:
        """What tells it from others: a checkpoint is of one source."""

    def holds(self, path: str) -> bool:
        """Whether files that are put below a path would be read."""

    def rows(self, spark: SparkSession) -> DataFrame:
        """The streaming DataFrame: whatever Spark reads, batch by batch, and remembers in its checkpoint.

        Raises RunError (TRI601) where there is nothing of the kind.
        """

    def events(self, spark: SparkSession, batch: DataFrame, observer: Observer) -> EventTables:
        """The rows of one batch as tables of events; the same tables when the batch is done again."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The most that one batch takes, in files or in bytes (of which it takes one file at least); not both."""

    files: int | None = None
    bytes: int | None = None

    def options(self) -> dict[str, str]:
        """The options of Spark's file source."""
        if self.bytes is not None:
            return {"maxBytesPerTrigger": str(self.bytes)}
        return {"maxFilesPerTrigger": str(self.files or _FILES_AT_ONCE)}


@dataclass(frozen=True)
class Files:
    """A folder, or a glob, that files are put into: all that `read_events` reads. A file must be moved in, whole.

    Spark streams the names of new files, and those of a batch are read as a batch run reads them.
    """

    path: str
    rate: Rate = Rate()

    @property
    def name(self) -> str:
        """The absolute path, where it is a local one; else what was given."""
        return str(Path(self.path).resolve()) if Path(self.path).exists() else self.path

    def holds(self, path: str) -> bool:
        """Whether it is the folder or below it, or the glob names it or one above; not where Spark passes it over."""
        if "://" in path or "://" in self.path:
            return f"{path}/".startswith(f"{self.path.rstrip('/')}/")
        here = Path(path.removeprefix("file:")).resolve()
        if not Path(self.path).exists():
            return any(fnmatch(str(p), str(Path(self.path).absolute())) for p in (here, *here.parents))
        inner = here.relative_to(self.name).parts if here.is_relative_to(self.name) else ("_",)
        return not any(part.startswith(("_", ".")) for part in inner)

    def rows(self, spark: SparkSession) -> DataFrame:
        """The names of files; none is opened."""
        options = {"recursiveFileLookup": "true", "maxFileAge": _MAX_AGE, **self.rate.options()}
        path = literal(self.name) if Path(self.path).exists() else self.path
        self._refuse_circles()
        try:
            return spark.readStream.format("binaryFile").schema(_SCHEMA).options(**options).load(path).select("path")
        except SPARK_FAILURES as e:
            if isinstance(e, AnalysisException) and e.getCondition() == "PATH_NOT_FOUND":
                raise RunError("TRI601", "no such folder", self.path, "make it, or check the path") from None
            raise unreadable(e, self.path) from None

    def _refuse_circles(self) -> None:
        """Raises RunError (TRI601) where Spark would list the folder without end: each of several circles in each other."""
        top = Path(self.name)
        circles = below(top).circles if top.is_dir() and leads_elsewhere(top) else []
        if len(circles) > 1:
            names = ", ".join(f"'{name}'" for name in circles[:3])
            message = f"links lead round in circles: {names}"
            raise RunError("TRI601", message, self.path, "remove them: Spark follows each within each")

    def events(self, spark: SparkSession, batch: DataFrame, observer: Observer) -> EventFiles:
        """What is in the batch's files, each kind by itself. Files whose names tell no format are told of, and left."""
        top = self.name if Path(self.path).is_dir() else ""
        found = sort_inputs((row["path"] for row in batch.collect()), top=top)
        if found.warnings:
            observer.warned(found.warnings)
        return EventFiles(spark, found, apart=True)

    def hidden(self, own: Collection[str] = ()) -> list[str]:
        """Files there now that Spark passes over because of a name's beginning; not those below the places `own`."""
        places = [Path(place).resolve() for place in own if "://" not in place]
        found = hidden_below([self.path])
        return [f for f in found if not any(Path(f).resolve().is_relative_to(p) for p in places)]


@dataclass(frozen=True)
class Table:
    """A table of the session's catalog that rows are added to, one event of the environment in each."""

    table: str
    rate: Rate = Rate()
    environment: Environment = CLOUD_EVENT

    @property
    def name(self) -> str:
        """The table's name."""
        return f"{TABLE}{self.table}"

    def holds(self, path: str) -> bool:
        """False: where a table's files are is the catalog's affair."""
        return False

    def rows(self, spark: SparkSession) -> DataFrame:
        """The rows that are added."""
        try:
            rows = spark.readStream.options(**self.rate.options()).table(self.table)
        except SPARK_FAILURES as e:
            unknown = isinstance(e, AnalysisException) and e.getCondition() == "TABLE_OR_VIEW_NOT_FOUND"
            message = "no such table" if unknown else f"this cannot be read: {cause(e)}"
            raise RunError("TRI601", message, self.name, "check its name and the session's catalog") from None
        wanted = ("id", "source", "type") if self.environment.record else ()  # for others the filters tell
        missing = [name for name in wanted if name not in rows.columns]
        if missing:
            named = " and no ".join(repr(m) for m in missing)
            raise RunError("TRI601", f"the table has no column {named}", self.table)
        return rows

    def events(self, spark: SparkSession, batch: DataFrame, observer: Observer) -> EventTable:
        """The rows as they are."""
        return EventTable(batch)


def source_of(text: str | os.PathLike[str], rate: Rate) -> Files | Table:
    """The source that a command line names: `table:` and a table's name, or a path."""
    name = os.fspath(text)
    return Table(name.removeprefix(TABLE), rate) if name.startswith(TABLE) else Files(name, rate)
