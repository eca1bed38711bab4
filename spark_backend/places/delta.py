"""Delta tables at a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from ..events.tables import EventTable, EventTables, Several
from ..failure import RunError, Warn
from ..spark_errors import SPARK_FAILURES, cause
from .columns import check_columns
from .connectors import DELTA_CONNECTOR
from .model import Staged, Told
from .options import DEFAULT, PlaceOptions
from .place import DELTA, Place, Use
from .rows import as_events, chosen
from .sessions import check_format


def check(places: Sequence[Place], options: PlaceOptions, use: Use) -> None:
    """Nothing: whether there is a Delta table at a path is Spark's to say."""


@dataclass(frozen=True)
class DeltaTable:
    """A Delta table at a path, to read or to add to."""

    path: str
    options: PlaceOptions = DEFAULT
    more: Sequence[str] = ()
    """The paths of others that a batch run reads with it."""

    @property
    def name(self) -> str:
        """The path, with its kind."""
        return f"{DELTA}:{self.path}"

    @property
    def stores(self) -> frozenset[str]:
        """Its name."""
        return frozenset({self.name})

    @property
    def folder(self) -> str:
        """Empty: the account of a run is no part of a Delta table."""
        return ""

    @property
    def with_record(self) -> bool:
        """False: tables hold events."""
        return False

    def holds(self, path: str) -> bool:
        """Whether a path is that of the table or below it."""
        return f"{path.rstrip('/')}/".startswith(f"{self.path.rstrip('/')}/")

    def batch(self, spark: SparkSession, warn: Warn) -> EventTables:
        """The rows that are there."""
        check_format(spark, DELTA_CONNECTOR, self.name)
        found = []
        for path in (self.path, *self.more):
            rows = _loaded(spark, path)
            if rows is None:
                raise RunError("TRI601", "there is no Delta table here", f"{DELTA}:{path}", "check the path")
            found.append(EventTable(as_events(chosen(rows, self.options.where), self.options, path)))
        return found[0] if len(found) == 1 else Several(found)

    def rows(self, spark: SparkSession) -> DataFrame:
        """The rows that are added. A table whose rows are changed or removed ends the stream, as Delta has it."""
        check_format(spark, DELTA_CONNECTOR, self.name)
        try:
            rows = spark.readStream.format("delta").options(**self.options.rate.options()).load(self.path)
            rows.schema  # noqa: B018 - what is no Delta table says so here
        except SPARK_FAILURES as e:
            raise RunError("TRI601", f"this cannot be read: {cause(e)}", self.name, "check the path") from None
        rows = chosen(rows, self.options.where)
        as_events(rows, self.options, self.path)
        return rows

    def events(self, spark: SparkSession, batch: DataFrame, observer: Told) -> EventTable:
        """The rows of a batch."""
        return EventTable(as_events(batch, self.options, self.path))

    def check(self, spark: SparkSession) -> None:
        """Raises RunError (TRI612) where the session has no Delta."""
        check_format(spark, DELTA_CONNECTOR, self.name)

    def prepare(self, staged: Staged) -> None:
        """Raises RunError (TRI614) where the table has no column for one of the pairs, or one of another type."""
        if staged.delivered is not None:
            there = _loaded(staged.spark, self.path)
            if there is not None:
                check_columns(staged.delivered, there.schema, self.name)

    def publish(self, staged: Staged, *, again: bool) -> None:
        """Appends the pairs, by one step and once: Delta knows the last batch of each writer."""
        if staged.delivered is None:
            return
        writer = staged.delivered.write.format("delta").mode("append")
        once = {"txnAppId": f"tricel:{staged.batch.writer}", "txnVersion": str(staged.batch.number)}
        writer.options(**once).save(self.path)


def _loaded(spark: SparkSession, path: str) -> DataFrame | None:
    """The table at a path; None where there is none."""
    try:
        rows = spark.read.format("delta").load(path)
        rows.schema  # noqa: B018 - Spark Connect looks at nothing before it is asked
    except SPARK_FAILURES as e:
        said = str(e)
        if "DELTA_TABLE_NOT_FOUND" in said or "DELTA_MISSING_DELTA_TABLE" in said or "PATH_NOT_FOUND" in said:
            return None
        if "DELTA_PATH_DOES_NOT_EXIST" in said or "is not a Delta table" in said:
            return None
        raise RunError("TRI601", f"this cannot be read: {cause(e)}", f"{DELTA}:{path}", "check the path") from None
    return rows


def source(places: Sequence[Place], options: PlaceOptions) -> DeltaTable:
    """The rows of Delta tables."""
    first, *others = (place.name for place in places)
    return DeltaTable(first, options, tuple(others))


def sink(place: Place, options: PlaceOptions) -> DeltaTable:
    """The Delta table."""
    return DeltaTable(place.name, options)
