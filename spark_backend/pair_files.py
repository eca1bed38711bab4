"""Pairs of events and triggers as files: JSON Lines or Parquet, in directories by outcome, subscriber and trigger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql.types import StructType

from .errored import ANY_JSON, ERROR, SUBEXPRESSION
from .fanout.join import DELIVERED, ERRORED, OUTCOME, TRIGGER
from .files import Directory, literal
from .reports import MOST_ERRORS, ErrorCount
from .sql import name as quoted
from .stored import is_bytes

FORMATS = ("parquet", "jsonl")
SUBSCRIBER = "subscriber"
PARTITIONS = {"trigger": (TRIGGER,), SUBSCRIBER: (SUBSCRIBER, TRIGGER), "none": ()}
"""The columns whose values are directories: a trigger's; a subscriber's and in it each trigger's; none, so that the
pairs are one table with a column `trigger`, in few files however many triggers there are."""
_LONGEST_NAME = 255
_DEFAULT_PARTITION, _HALF_COPIED = "__HIVE_DEFAULT_PARTITION__", "._COPYING_"


def reserved(format: str, partition: str) -> tuple[str, ...]:  # noqa: A002
    """Columns that events cannot have where pairs are written so: a directory's name would take their place."""
    return tuple(c for c in PARTITIONS[partition] if c != TRIGGER) if format == "parquet" else ()


def names_directory(column: str, value: str) -> bool:
    """Whether Spark writes a directory for the value and finds the value in it again."""
    reserved = value in ("", _DEFAULT_PARTITION) or value.endswith(_HALF_COPIED)
    return not reserved and len(f"{column}={quote(value, safe='')}") <= _LONGEST_NAME


@dataclass(frozen=True)
class PairFiles:
    """A directory of pairs: in it `outcome=<outcome>`, and in that what `PARTITIONS` says.

    JSON Lines hold the event as it came; where no directory tells its trigger, and where it was not delivered, an object
    that tells the trigger and has the event as text. Parquet holds the events' columns, `data` as every reader knows it.
    """

    spark: SparkSession
    path: str
    format: str
    partition: str

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

    def write(self, pairs: DataFrame) -> None:
        """Adds pairs, which have the columns `trigger`, `outcome`, `error` and `subexpression` beside their events'."""
        shaped = _shaped(pairs, self.format, self.partitions)
        writer = shaped.write.mode("append").partitionBy(OUTCOME, *self.partitions)
        if self.format == "jsonl":
            writer.text(self.path)
        else:
            writer.parquet(self.path)

    def read(self, outcome: str, pairs: DataFrame) -> DataFrame:
        """The pairs of an outcome other than delivered, with what `write` has kept of `pairs`.

        They can be written again: a VARIANT `data` is the text and the base64 by now that it was written as.
        """
        found = self._load(_shaped(pairs, self.format, self.partitions).schema).where(fn.col(OUTCOME) == outcome)
        if self.format == "parquet":
            return found
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
        counts = {(r[TRIGGER], r[OUTCOME]): r["count"] for r in rows}
        if not any(outcome == ERRORED for _, outcome in counts):
            return counts, ()
        errored = staged.where(fn.col(OUTCOME) == ERRORED)
        if self.format == "jsonl":
            parsed = fn.from_json("value", f"{ERROR} STRING, {SUBEXPRESSION} STRING", ANY_JSON)
            errored = errored.withColumn("parsed", parsed).select(TRIGGER, "parsed.*")
        kinds = errored.groupBy(TRIGGER, ERROR, SUBEXPRESSION).count()
        most = kinds.orderBy(fn.desc("count"), TRIGGER, ERROR, SUBEXPRESSION).limit(MOST_ERRORS).collect()
        return counts, tuple(ErrorCount(r[TRIGGER], r[ERROR], r[SUBEXPRESSION], r["count"]) for r in most)

    def _load(self, schema: StructType | str) -> DataFrame:
        reader = self.spark.read.format("text" if self.format == "jsonl" else "parquet")
        return reader.schema(schema).load(literal(self.path))


def _shaped(pairs: DataFrame, format: str, partitions: Sequence[str]) -> DataFrame:  # noqa: A002
    """The pairs with the columns that are written: for JSON Lines one text, else the events' own."""
    if format == "jsonl":
        pair = fn.to_json(fn.struct(*_told(pairs)))
        # Outside its strings JSON may hold line breaks, and inside them it cannot.
        event = fn.translate("event", "\r\n", "  ")
        value = fn.when(fn.col(OUTCOME) == DELIVERED, event).otherwise(pair) if partitions else pair
        return pairs.select(OUTCOME, *partitions, value.alias("value"))
    columns: list[Column] = []
    for field in pairs.schema.fields:
        if field.name == "data" and field.dataType.typeName() == "variant":
            columns.append(fn.expr(f"CASE WHEN NOT {is_bytes('data')} THEN to_json(data) END AS data"))
            encoded = "base64(variant_get(data, '$', 'binary'))"
            columns.append(fn.expr(f"CASE WHEN {is_bytes('data')} THEN {encoded} END AS data_base64"))
        elif field.name not in ("malformed", "raw"):
            columns.append(fn.col(quoted(field.name)))
    return pairs.select(*columns)


def _told(pairs: DataFrame) -> list[str]:
    """The columns that a pair is told by in JSON Lines."""
    return [TRIGGER, *(c for c in ("id", "source", "type") if c in pairs.columns), ERROR, SUBEXPRESSION, "event"]
