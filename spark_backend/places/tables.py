"""Tables of the session's catalog, with one event of the environment in each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from ..events.tables import EventTable, EventTables, Several
from ..failure import RunError, Warn
from ..fanout.join import TRIGGER
from ..spark_errors import SPARK_FAILURES, cause
from ..sql import quoted
from .columns import check_columns
from .model import Staged, Told
from .options import DEFAULT, PlaceOptions
from .place import TABLE, Place
from .rows import as_events, chosen

BATCH = "tricel_batch"
"""The column of a table that tells the batch of a row."""
_CATALOG = "check its name and the session's catalog"


@dataclass(frozen=True)
class Table:
    """A table or view to read, or a table that rows are added to."""

    table: str
    options: PlaceOptions = DEFAULT
    more: Sequence[str] = ()
    """Other tables that a batch run reads with it."""

    @property
    def name(self) -> str:
        """The table's name."""
        return f"{TABLE}:{self.table}"

    @property
    def stores(self) -> frozenset[str]:
        """Its name."""
        return frozenset({self.name})

    def holds(self, path: str) -> bool:
        """False: where a table's files are is the catalog's affair."""
        return False

    def batch(self, spark: SparkSession, warn: Warn) -> EventTables:
        """The rows that are there."""
        found = []
        for table in (self.table, *self.more):
            try:
                rows = spark.read.table(table)
                rows.schema  # noqa: B018 - Spark Connect looks at nothing before it is asked
            except SPARK_FAILURES as e:
                raise _unreadable(e, table) from None
            found.append(EventTable(as_events(chosen(rows, self.options.where), self.options, table)))
        return found[0] if len(found) == 1 else Several(found)

    def rows(self, spark: SparkSession) -> DataFrame:
        """The rows that are added."""
        try:
            rows = spark.readStream.options(**self.options.rate.options()).table(self.table)
        except SPARK_FAILURES as e:
            raise _unreadable(e, self.table) from None
        rows = chosen(rows, self.options.where)
        as_events(rows, self.options, self.table)
        return rows

    def events(self, spark: SparkSession, batch: DataFrame, observer: Told) -> EventTable:
        """The rows of a batch."""
        return EventTable(as_events(batch, self.options, self.table))


def _unreadable(e: Exception, table: str) -> RunError:
    unknown = isinstance(e, AnalysisException) and e.getCondition() == "TABLE_OR_VIEW_NOT_FOUND"
    message = "no such table" if unknown else f"this cannot be read: {cause(e)}"
    return RunError("TRI601", message, f"{TABLE}:{table}", _CATALOG)


def source(places: Sequence[Place], options: PlaceOptions) -> Table:
    """The rows of tables."""
    first, *others = (place.name for place in places)
    return Table(first, options, tuple(others))


@dataclass(frozen=True)
class TableSink:
    """A table that pairs are appended to; it is made where it is not there.

    Each row tells its batch in the column `tricel_batch`, by which a batch that was begun before is found. What a process
    that was killed left of it is removed, where the table removes rows; else the run ends, and says so.
    """

    table: str

    @property
    def name(self) -> str:
        """The table's name."""
        return f"{TABLE}:{self.table}"

    @property
    def stores(self) -> frozenset[str]:
        """Its name."""
        return frozenset({self.name})

    @property
    def folder(self) -> str:
        """Empty: where a table's files are is the catalog's affair."""
        return ""

    @property
    def with_record(self) -> bool:
        """False: tables hold events."""
        return False

    def check(self, spark: SparkSession) -> None:
        """Raises RunError (TRI614) for a table of another use."""
        there = self._there(spark)
        if there is not None and not {BATCH, TRIGGER} <= set(there.columns):
            message = f"the table has no columns '{TRIGGER}' and '{BATCH}'"
            raise RunError(
                "TRI614", message, self.name, "name one that is not there, and it is made; or add the columns"
            )

    def prepare(self, staged: Staged) -> None:
        """Raises RunError (TRI614) where the table has no column for one of the pairs, or one of another type."""
        there = self._there(staged.spark)
        if staged.delivered is not None and there is not None:
            check_columns(staged.delivered, there.schema, self.name, added=(BATCH,))

    def publish(self, staged: Staged, *, again: bool) -> None:
        """Appends the pairs once."""
        if staged.delivered is None:
            return
        rows = staged.delivered.withColumn(BATCH, fn.lit(str(staged.batch)))
        there = self._there(staged.spark)
        if there is None:
            rows.write.saveAsTable(self.table)
            return
        if again and self._done(staged.spark, there, staged):
            return
        columns = {c.lower(): c for c in rows.columns}
        ordered = [
            fn.col(quoted(columns[f.name.lower()])) if f.name.lower() in columns else fn.lit(None).cast(f.dataType)
            for f in there.schema.fields
        ]
        rows.select(*ordered).write.insertInto(self.table)

    def _done(self, spark: SparkSession, there: DataFrame, staged: Staged) -> bool:
        """Whether all pairs of the batch are in the table; what is there of others is removed."""
        assert staged.delivered is not None
        named = fn.col(BATCH) == str(staged.batch)
        found = there.where(named).count()
        if found in (0, staged.delivered.count()):
            return bool(found)
        try:
            spark.sql(f"DELETE FROM {self.table} WHERE {BATCH} = '{staged.batch}'")
        except SPARK_FAILURES:
            message = f"the table holds a part of batch '{staged.batch}'"
            help_ = f"remove the rows where {BATCH} = '{staged.batch}', and the same command goes on"
            raise RunError("TRI614", message, self.name, help_) from None
        return False

    def _there(self, spark: SparkSession) -> DataFrame | None:
        """The table; None where there is none."""
        try:
            found = spark.read.table(self.table)
            found.schema  # noqa: B018 - Spark Connect looks at nothing before it is asked
        except SPARK_FAILURES as e:
            if isinstance(e, AnalysisException) and e.getCondition() == "TABLE_OR_VIEW_NOT_FOUND":
                return None
            raise RunError("TRI614", f"this cannot be written to: {cause(e)}", self.name, _CATALOG) from None
        return found


def sink(place: Place, options: PlaceOptions) -> TableSink:
    """The table."""
    return TableSink(place.name)
