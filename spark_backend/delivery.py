"""One set of filters over one table of events: what becomes of each event is written, and counted.

A batch run does this once and a stream for each of its batches. What is written stands in a staging directory until
`publish` moves it to where it is looked for:

    pairs/outcome=<outcome>/trigger=<id>   each event that a filter let pass or erred on (see `PARTITIONS`)
    quarantine                             what was no event
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar
from urllib.parse import quote

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as fn

from .events import complete, tells_of_damage
from .failure import RunError
from .fanout.join import DELIVERED, ERRORED, OUTCOME, TRIGGER
from .files import Directory, literal
from .frames import release
from .lowered import CompiledFilter
from .outcomes import Judge
from .progress import OnProgress, watched
from .reports import MOST_ERRORS, ErrorCount, RunReport, TriggerCounts
from .sql import name as quoted

ERRORS, QUARANTINE = "errors", "quarantine"
FORMATS = ("parquet", "jsonl")
ON_ERROR = ("drop", "deliver", "fail")
SUBSCRIBER = "subscriber"
PARTITIONS: Mapping[str, tuple[str, ...]] = {"trigger": (TRIGGER,), SUBSCRIBER: (SUBSCRIBER, TRIGGER), "none": ()}
"""The columns whose values are directories: a trigger's; a subscriber's and in it each trigger's; none, so that the
pairs are one table with a column `trigger`, in few files however many triggers there are."""
_PAIRS = "pairs"
_PUBLISHED = (
    (f"{_PAIRS}/{OUTCOME}={DELIVERED}", DELIVERED),
    (f"{_PAIRS}/{OUTCOME}={ERRORED}", ERRORS),
    (QUARANTINE, QUARANTINE),
)
_LONGEST_NAME = 255
_DEFAULT_PARTITION, _HALF_COPIED = "__HIVE_DEFAULT_PARTITION__", "._COPYING_"
_OBSERVES_ONCE = (4, 3)
"""The first release whose observations hold each row once whatever is done again."""
_MANY = 64
"""With more triggers than this the pairs are shuffled by trigger, so that not every task writes a file for each."""
_MARK = "tricel-on-error-fail"
# Strings, too, can be had as binary. Only a scalar is asked for its schema: schema_of_variant walks the whole value.
_IS_BYTES = (
    "(CASE WHEN try_variant_get(data, '$', 'binary') IS NULL THEN FALSE ELSE schema_of_variant(data) = 'BINARY' END)"
)


class Filter(Protocol):
    """What a run needs of a trigger."""

    @property
    def id(self) -> str:
        """The trigger's name, unique within a run."""

    @property
    def compiled(self) -> CompiledFilter:
        """The filter."""

    @property
    def on_error(self) -> str:
        """What becomes of an event on which the filter errs: drop, deliver or fail; empty for the run's own choice."""

    @property
    def destination(self) -> str:
        """The name of the subscriber, for what is written by subscriber."""


class EventTables(Protocol):
    """Events of one run or batch, in `complete` tables of different columns, that may be read again."""

    def tables(self, *, verified: bool = False, reserved: Collection[str] = ()) -> Sequence[DataFrame]:
        """The tables, one at least; `verified` leaves out what turns out to be damaged when it is read to its end.

        `reserved` are columns that events cannot have beside those that no run takes: see `reserved`.
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


T = TypeVar("T")


def with_damage_left_out(
    events: EventTables, do: Callable[[Sequence[DataFrame]], T], undo: Callable[[], None] = lambda: None
) -> T:
    """What `do` makes of the tables. Where a damaged file ends it, `undo` is called, and it is done without the file."""
    try:
        return do(events.tables())
    except (PySparkException, Py4JJavaError) as e:
        if not tells_of_damage(e):
            raise
    undo()
    return do(events.tables(verified=True))


def observed(events: DataFrame, *, shuffled: bool) -> tuple[DataFrame, Callable[[], Mapping[str, int]]]:
    """`events`, and what tells, after a query over them, how many rows it has "read" and how many are "malformed".

    With `shuffled` the query has a shuffle. Old releases of Spark observe a task once more when what it left for others
    is lost with its executor; there the rows are counted by a query of their own.
    """
    numbers = (fn.count(fn.lit(1)).alias("read"), fn.count("malformed").alias("malformed"))

    def apart() -> dict[str, int]:
        return events.agg(*numbers).collect()[0].asDict()

    if shuffled and release(events.sparkSession) < _OBSERVES_ONCE:
        return events, apart
    read = Observation("read")

    def seen() -> dict[str, int]:
        try:
            found = read.get
        except Py4JJavaError:  # Where Spark sees before it begins that no row gets through, nothing is observed.
            found = {}
        return found or apart()

    return events.observe(read, *numbers), seen


def check_names(triggers: Sequence[Filter], partition: str = "trigger") -> None:
    """Raises RunError (TRI602) where two triggers have one id, or an id or a subscriber cannot name a directory."""
    seen: set[str] = set()
    for name in (t.id for t in triggers):
        if not _names_directory(TRIGGER, name):
            raise RunError(
                "TRI602", "the trigger's id cannot name a directory", name, "use another of at most 247 characters"
            )
        if name in seen:
            raise RunError("TRI602", f"two triggers are called '{name}'", name, "rename one of them")
        seen.add(name)
    for t in triggers if partition == SUBSCRIBER else ():
        if not _names_directory(SUBSCRIBER, t.destination):
            message = f"the subscriber of trigger '{t.id}' cannot name a directory"
            raise RunError("TRI602", message, t.destination or t.id, "choose another --partition-by")


def reserved(format: str, partition: str) -> tuple[str, ...]:  # noqa: A002
    """Columns that events cannot have where pairs are written so: a directory's name would take their place."""
    return tuple(c for c in PARTITIONS[partition] if c != TRIGGER) if format == "parquet" else ()


def _names_directory(column: str, value: str) -> bool:
    """Whether Spark writes a directory for the value and finds the value in it again."""
    reserved = value in ("", _DEFAULT_PARTITION) or value.endswith(_HALF_COPIED)
    return not reserved and len(f"{column}={quote(value, safe='')}") <= _LONGEST_NAME


def publish(target: Directory, staging: str, within: str = "") -> None:
    """Moves what was staged in one directory of `target` to `delivered`, `errors` and `quarantine`, each by one step.

    With `within` it becomes a directory of that name in each of them. What was moved before is left as it is.
    """
    for staged, name in _PUBLISHED:
        if target.has(f"{staging}/{staged}"):
            if within:
                target.create(name)
            target.move(f"{staging}/{staged}", f"{name}/{within}" if within else name)


def refusal(e: BaseException) -> RunError | None:
    """The TRI603 that a failed query stands for; None where it failed for another reason."""
    _, found, rest = str(e).partition(f"{_MARK}:")
    if not isinstance(e, PySparkException | Py4JJavaError) or not found:
        return None
    trigger, event, error, subexpression = json.JSONDecoder().raw_decode(rest)[0]
    where = f" in {subexpression}" if subexpression else ""
    message = f"the filter of trigger '{trigger}' cannot be evaluated on event '{event}': {error}{where}"
    return RunError(
        "TRI603",
        message,
        trigger,
        "guard the filter with has(...), or choose drop instead of fail, for the run or the trigger",
    )


def counted_report(
    triggers: Sequence[Filter],
    on_error: str,
    read: dict[str, int],
    reasons: tuple[tuple[str, int], ...],
    counts: dict[tuple[str, str], int],
    errors: tuple[ErrorCount, ...],
    format: str,  # noqa: A002
) -> RunReport:
    """The account, from the numbers of what was written for each trigger and outcome."""
    evaluated = read["read"] - read["malformed"]
    deliver = {t.id for t in triggers if (t.on_error or on_error) == "deliver"}
    rows = []
    for t in triggers:
        errored = counts.get((t.id, ERRORED), 0)
        delivered = counts.get((t.id, DELIVERED), 0) - (errored if t.id in deliver else 0)
        rows.append(TriggerCounts(t.id, evaluated, delivered, evaluated - delivered - errored, errored))
    return RunReport(
        read=read["read"],
        malformed=read["malformed"],
        evaluated=evaluated,
        reasons=reasons,
        triggers=tuple(rows),
        errors=errors,
        written=sum(n for (_, outcome), n in counts.items() if outcome == DELIVERED),
        deliver=tuple(t.id for t in triggers if t.id in deliver),
        format=format,
    )


@dataclass(frozen=True)
class Delivery:
    """Where and how what becomes of events is staged: `path` is a directory that does not exist yet."""

    spark: SparkSession
    path: str
    format: str
    on_error: str = "drop"
    partition: str = "trigger"
    progress: OnProgress | None = None

    def stage(self, judge: Judge[Filter], events: EventTables) -> RunReport:
        """Writes what becomes of `events` by the judge's filters, and counts it.

        A filter that errs under "fail" fails the query: see `refusal`.
        """
        return with_damage_left_out(events, lambda tables: self._staged(judge, tables), self._unstage)

    def _staged(self, judge: Judge[Filter], tables: Sequence[DataFrame]) -> RunReport:
        read = {"read": 0, "malformed": 0}
        bad = []
        for table in tables:
            found = self._judged(judge, table)
            read = {name: n + found[name] for name, n in read.items()}
            if found["malformed"]:
                bad.append(table)
        reasons: tuple[tuple[str, int], ...] = ()
        if bad:
            with watched(self.spark, QUARANTINE, self.progress):
                reasons = _quarantine(self.spark, bad, f"{self.path}/{QUARANTINE}")
        counts, errors = self._counted()
        return counted_report(judge.triggers, self.on_error, read, reasons, counts, errors, self.format)

    def _unstage(self) -> None:
        Directory(self.spark, self.path).delete("")

    def _judged(self, judge: Judge[Filter], events: DataFrame) -> Mapping[str, int]:
        """Writes the pairs; the numbers of rows read and malformed."""
        shuffled = len(judge.triggers) > _MANY and bool(PARTITIONS[self.partition])
        counted, numbers = observed(events, shuffled=shuffled)
        good = counted.where("malformed IS NULL")
        with watched(self.spark, "filter", self.progress):
            if not judge.triggers:
                good.write.format("noop").mode("overwrite").save()
            else:
                rows = self._pairs(judge, good)
                self._write(rows.repartition(OUTCOME, TRIGGER) if shuffled else rows)
            return numbers()

    def _pairs(self, judge: Judge[Filter], good: DataFrame) -> DataFrame:
        """The pairs as they are written, an errored one of a trigger that delivers errors once more as delivered."""
        fail = [t.id for t in judge.triggers if (t.on_error or self.on_error) == "fail"]
        deliver = [t.id for t in judge.triggers if (t.on_error or self.on_error) == "deliver"]
        errored = fn.col(OUTCOME) == ERRORED
        explained = judge.explained(judge.pairs(good), errored)
        if fail:
            which = fn.to_json(fn.array(TRIGGER, "id", "error", "subexpression"))
            refused = fn.raise_error(fn.concat(fn.lit(f"{_MARK}:"), which)).cast("string")
            outcome = fn.when(errored & fn.col(TRIGGER).isin(fail), refused).otherwise(fn.col(OUTCOME))
            explained = explained.withColumn(OUTCOME, outcome)
        if deliver:
            twice = fn.when(errored & fn.col(TRIGGER).isin(deliver), fn.array(fn.lit(ERRORED), fn.lit(DELIVERED)))
            explained = explained.withColumn(OUTCOME, fn.explode(fn.coalesce(twice, fn.array(OUTCOME))))
        if self.partition == SUBSCRIBER:
            named = [(t.id, t.destination) for t in judge.triggers]
            names = self.spark.createDataFrame(named, f"{TRIGGER} STRING, {SUBSCRIBER} STRING")
            explained = explained.drop(SUBSCRIBER).join(fn.broadcast(names), TRIGGER)
        return _shaped(explained, self.format, PARTITIONS[self.partition])

    def _write(self, rows: DataFrame) -> None:
        writer = rows.write.mode("append").partitionBy(OUTCOME, *PARTITIONS[self.partition])
        if self.format == "jsonl":
            writer.text(f"{self.path}/{_PAIRS}")
        else:
            writer.parquet(f"{self.path}/{_PAIRS}")

    def _counted(self) -> tuple[dict[tuple[str, str], int], tuple[ErrorCount, ...]]:
        """The staged pairs by trigger and outcome, and the most frequent errors."""
        outcomes = Directory(self.spark, f"{self.path}/{_PAIRS}").names() or ()
        if not any(name.startswith(f"{OUTCOME}=") for name in outcomes):
            return {}, ()
        # The partitions' values are text, whatever they look like.
        values = "value STRING" if self.format == "jsonl" else "error STRING, subexpression STRING"
        named = "" if self.format == "jsonl" and not PARTITIONS[self.partition] else f", {TRIGGER} STRING"
        reader = self.spark.read.format("text" if self.format == "jsonl" else "parquet")
        staged = reader.schema(f"{values}, {OUTCOME} STRING{named}").load(literal(f"{self.path}/{_PAIRS}"))
        if not named:
            staged = staged.withColumn(TRIGGER, fn.from_json("value", f"{TRIGGER} STRING")[TRIGGER])
        rows = staged.groupBy(TRIGGER, OUTCOME).count().collect()
        counts = {(r[TRIGGER], r[OUTCOME]): r["count"] for r in rows}
        if not any(outcome == ERRORED for _, outcome in counts):
            return counts, ()
        errored = staged.where(fn.col(OUTCOME) == ERRORED)
        if self.format == "jsonl":
            parsed = fn.from_json("value", "error STRING, subexpression STRING")
            errored = errored.withColumn("parsed", parsed).select(TRIGGER, "parsed.*")
        kinds = errored.groupBy(TRIGGER, "error", "subexpression").count()
        most = kinds.orderBy(fn.desc("count"), TRIGGER, "error", "subexpression").limit(MOST_ERRORS).collect()
        return counts, tuple(ErrorCount(r[TRIGGER], r["error"], r["subexpression"], r["count"]) for r in most)


def _shaped(found: DataFrame, format: str, partitions: Sequence[str]) -> DataFrame:  # noqa: A002
    """The pairs with the columns that are written: for JSON Lines one text, else the events' own.

    A line is the event as it came; where no directory tells its trigger, and where the filter erred, an object that
    tells the trigger and has the event as text.
    """
    if format == "jsonl":
        known = [c for c in ("id", "source", "type") if c in found.columns]
        pair = fn.to_json(fn.struct(TRIGGER, *known, "error", "subexpression", "event"))
        # Outside its strings JSON may hold line breaks, and inside them it cannot.
        event = fn.translate("event", "\r\n", "  ")
        value = fn.when(fn.col(OUTCOME) == ERRORED, pair).otherwise(event) if partitions else pair
        return found.select(OUTCOME, *partitions, value.alias("value"))
    columns: list[Column] = []
    for field in found.schema.fields:
        if field.name == "data" and field.dataType.typeName() == "variant":
            columns.append(fn.expr(f"CASE WHEN NOT {_IS_BYTES} THEN to_json(data) END AS data"))
            encoded = "base64(variant_get(data, '$', 'binary'))"
            columns.append(fn.expr(f"CASE WHEN {_IS_BYTES} THEN {encoded} END AS data_base64"))
        elif field.name not in ("malformed", "raw"):
            columns.append(fn.col(quoted(field.name)))
    return found.select(*columns)


def _quarantine(spark: SparkSession, tables: Iterable[DataFrame], path: str) -> tuple[tuple[str, int], ...]:
    """Writes what is malformed in the tables; how often there is each reason."""
    for table in tables:
        bad = table.where("malformed IS NOT NULL").select(
            fn.col("malformed").alias("reason"), fn.col("event").alias("text"), "raw", "file"
        )
        bad.write.mode("append").parquet(path)
    counted = spark.read.parquet(literal(path)).groupBy("reason").count().orderBy("reason").collect()
    return tuple((row["reason"], row["count"]) for row in counted)
