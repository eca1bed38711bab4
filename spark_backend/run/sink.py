"""Pairs of events and triggers as files: JSON Lines or Parquet, in directories by outcome, subscriber and trigger."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql.types import StructType

from ..events.readers import has_copy
from ..fanout.join import DELIVERED, ERRORED, OUTCOME, TRIGGER
from ..frames import expression
from ..sql import column, function, not_, quoted, when
from ..sql.columns import is_bytes
from ..storage.files import Directory, literal
from ..storage.folders import AS_THEY_ARE, Folders
from .explain_errors import ANY_JSON, ERROR, SUBEXPRESSION
from .reports import MOST_ERRORS, ErrorCount

FORMATS = ("parquet", "jsonl")
SUBSCRIBER = "subscriber"
PARTITIONS = {"trigger": (TRIGGER,), SUBSCRIBER: (SUBSCRIBER, TRIGGER), "none": ()}
"""The columns whose values are directories: a trigger's; a subscriber's and in it each trigger's; none, so that the
pairs are one table with a column `trigger`, in few files however many triggers there are."""


def reserved(format: str, partition: str) -> tuple[str, ...]:  # noqa: A002
    """Columns that events cannot have where pairs are written so: a directory's name would take their place."""
    return tuple(c for c in PARTITIONS[partition] if c != TRIGGER) if format == "parquet" else ()


def check_with_event(format: str, *, with_event: bool) -> None:  # noqa: A002
    """Raises ValueError where JSON Lines are to have columns: they hold the event as it came."""
    if with_event and format != "parquet":
        raise ValueError("with_event is for Parquet: JSON Lines hold the event as it came")


def left_out(events: DataFrame, *, with_event: bool) -> frozenset[str]:
    """The columns that delivered pairs of `complete` events are written without."""
    if with_event:
        return frozenset()
    return frozenset({ERROR, SUBEXPRESSION, *(["event"] if has_copy(events) else [])})


@dataclass(frozen=True)
class PairFiles:
    """A directory of pairs: in it `outcome=<outcome>`, and in that what `PARTITIONS` says.

    JSON Lines hold the event as it came; where no directory tells its trigger, and where it was not delivered, an object
    that tells the trigger and has the event as text. Parquet holds the events' columns, `data` as every reader knows it;
    those that erred also `error` and `subexpression`, and the event as text.
    `folders` are the names of directories that are not the values they stand for.
    """

    spark: SparkSession
    path: str
    format: str
    partition: str
    folders: Folders = AS_THEY_ARE

    @property
    def partitions(self) -> tuple[str, ...]:
        """The columns whose values are directories within an outcome's."""
        return PARTITIONS[self.partition]

    def has(self, outcome: str) -> bool:
        """Whether pairs of an outcome are there."""
        return Directory(self.spark, self.path).has(f"{OUTCOME}={outcome}")

    def remove(self, outcome: str) -> None:
        """Removes the pairs of an outcome."""
        Directory(self.spark, self.path).delete(f"{OUTCOME}={outcome}")

    def write_judged(self, pairs: DataFrame, without: Collection[str], *, shuffled: bool = False) -> None:
        """Adds pairs of all outcomes, which have the columns `trigger`, `outcome`, `error` and `subexpression` beside
        their events'. Columns in `without` are not those of delivered pairs; of others `read` gives them.

        All are written at once, so that events are judged once; `shuffled` by outcome and trigger.
        """
        shaped = self._judged(pairs, without)
        self._write(shaped.repartition(OUTCOME, TRIGGER) if shuffled else shaped)

    def write_errored(self, pairs: DataFrame) -> None:
        """Adds pairs as those that erred, with their errors."""
        self._write(_shaped(pairs.withColumn(OUTCOME, fn.lit(ERRORED)), self.format, self.partitions))

    def write_delivered(self, pairs: DataFrame, without: Collection[str]) -> None:
        """Adds pairs as delivered ones, as `write_judged` does."""
        delivered = pairs.withColumn(OUTCOME, fn.lit(DELIVERED))
        self._write(_shaped(delivered, self.format, self.partitions).drop(*without))

    def read(self, outcome: str, pairs: DataFrame, without: Collection[str]) -> DataFrame:
        """The pairs of an outcome other than delivered, with what `write_judged` has kept of `pairs`.

        They can be written again: a VARIANT `data` is the text and the base64 by now that it was written as.
        """
        found = self._load(self._judged(pairs, without).schema).where(fn.col(OUTCOME) == outcome)
        found = self._renamed(found, {c: self.folders.values(c) for c in self.folders.names})
        if self.format == "parquet":
            return _unpacked(found, without)
        told = StructType([pairs.schema[c] for c in _told(pairs) if c not in self.partitions])
        value = fn.from_json("value", told, ANY_JSON).alias("value")
        return found.select(OUTCOME, *self.partitions, value).select(OUTCOME, *self.partitions, "value.*")

    def counted(self) -> tuple[dict[tuple[str, str], int], tuple[ErrorCount, ...]]:
        """The number of pairs by trigger and outcome, and the most frequent errors."""
        outcomes = Directory(self.spark, self.path).names() or ()
        if not any(name.startswith(f"{OUTCOME}=") for name in outcomes):
            return {}, ()
        # The partitions' values are text, whatever they look like.
        values = "value STRING" if self.format == "jsonl" else f"{ERROR} STRING, {SUBEXPRESSION} STRING"
        unnamed = self.format == "jsonl" and not self.partitions
        staged = self._load(f"{values}, {OUTCOME} STRING" + ("" if unnamed else f", {TRIGGER} STRING"))
        if unnamed:
            staged = staged.withColumn(TRIGGER, fn.from_json("value", f"{TRIGGER} STRING", ANY_JSON)[TRIGGER])
        rows = staged.groupBy(TRIGGER, OUTCOME).count().collect()
        named = {} if unnamed else self.folders.values(TRIGGER)
        counts = {(named.get(r[TRIGGER], r[TRIGGER]), r[OUTCOME]): r["count"] for r in rows}
        if not any(outcome == ERRORED for _, outcome in counts):
            return counts, ()
        errored = staged.where(fn.col(OUTCOME) == ERRORED)
        if self.format == "jsonl":
            parsed = fn.from_json("value", f"{ERROR} STRING, {SUBEXPRESSION} STRING", ANY_JSON)
            errored = errored.withColumn("parsed", parsed).select(TRIGGER, "parsed.*")
        kinds = errored.groupBy(TRIGGER, ERROR, SUBEXPRESSION).count()
        most = kinds.orderBy(fn.desc("count"), TRIGGER, ERROR, SUBEXPRESSION).limit(MOST_ERRORS).collect()
        return counts, tuple(
            ErrorCount(named.get(r[TRIGGER], r[TRIGGER]), r[ERROR], r[SUBEXPRESSION], r["count"]) for r in most
        )

    def _judged(self, pairs: DataFrame, without: Collection[str]) -> DataFrame:
        """The pairs of all outcomes with the columns of delivered ones."""
        shaped = _shaped(pairs, self.format, self.partitions)
        return _packed(shaped, without).drop(*without) if self.format == "parquet" else shaped

    def _write(self, shaped: DataFrame) -> None:
        named = self._renamed(shaped, self.folders.names)
        writer = named.write.mode("append").partitionBy(OUTCOME, *self.partitions)
        if self.format == "jsonl":
            writer.text(self.path)
        else:
            writer.parquet(self.path)

    def _renamed(self, pairs: DataFrame, names: Mapping[str, Mapping[str, str]]) -> DataFrame:
        """The pairs with other values in the columns of directories, for those that `names` tells."""
        for column_ in self.partitions:
            literals = [fn.lit(text) for pair in names.get(column_, {}).items() for text in pair]
            if literals:
                other = fn.try_element_at(fn.create_map(*literals), fn.col(column_))
                pairs = pairs.withColumn(column_, fn.coalesce(other, fn.col(column_)))
        return pairs

    def _load(self, schema: StructType | str) -> DataFrame:
        reader = self.spark.read.format("text" if self.format == "jsonl" else "parquet")
        return reader.schema(schema).load(literal(self.path))


def _shaped(pairs: DataFrame, format: str, partitions: Sequence[str]) -> DataFrame:  # noqa: A002
    """The pairs with the columns that are written: for JSON Lines one text, else the events' own."""
    if format == "jsonl":
        pair = fn.to_json(fn.struct(*_told(pairs)))
        if partitions:
            # Outside its strings JSON may hold line breaks, and inside them it cannot.
            delivered = fn.translate("event", "\r\n", "  ")
        else:
            delivered = fn.to_json(fn.struct(*(c for c in _told(pairs) if c not in (ERROR, SUBEXPRESSION))))
        value = fn.when(fn.col(OUTCOME) == DELIVERED, delivered).otherwise(pair)
        return pairs.select(OUTCOME, *partitions, value.alias("value"))
    columns: list[Column] = []
    for field in pairs.schema.fields:
        if field.name == "data" and field.dataType.typeName() == "variant":
            data = column("data")
            encoded = function("base64", function("variant_get", data, "$", "binary"))
            columns.append(expression(when(not_(is_bytes(data)), function("to_json", data))).alias("data"))
            columns.append(expression(when(is_bytes(data), encoded)).alias("data_base64"))
        elif field.name not in ("malformed", "raw"):
            columns.append(fn.col(quoted(field.name)))
    return pairs.select(*columns)


def _packed(pairs: DataFrame, without: Collection[str]) -> DataFrame:
    """The pairs with the columns `without` of those that are not delivered in `file`, a column that all events have.

    As JSON it tells text by its bytes, whatever they are.
    """
    if not without:
        return pairs
    told = fn.to_json(fn.struct(*(fn.col(c).cast("binary").alias(c) for c in _in_file(without))))
    return pairs.withColumn("file", fn.when(fn.col(OUTCOME) == DELIVERED, fn.col("file")).otherwise(told))


def _unpacked(pairs: DataFrame, without: Collection[str]) -> DataFrame:
    """What `_packed` was given, of pairs that are not delivered."""
    if not without:
        return pairs
    names = _in_file(without)
    told = fn.from_json("file", ", ".join(f"{c} BINARY" for c in names), ANY_JSON)
    return pairs.withColumn("file", told).withColumns({c: fn.col("file")[c].cast("string") for c in names})


def _in_file(without: Collection[str]) -> list[str]:
    """The columns whose texts are in `file`, itself last: it is replaced when the others have been read."""
    return [*sorted(set(without) - {SUBEXPRESSION}), "file"]


def _told(pairs: DataFrame) -> list[str]:
    """The columns that a pair is told by in JSON Lines."""
    return [TRIGGER, *(c for c in ("id", "source", "type") if c in pairs.columns), ERROR, SUBEXPRESSION, "event"]
