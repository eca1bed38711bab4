"""One set of filters over one table of events: what becomes of each event is written, and counted.

A batch run does this once and a stream for each of its batches. What is written stands in a staging directory until
`publish` moves it to where it is looked for:

    pairs/outcome=<outcome>/trigger=<id>   each event that a filter let pass or erred on (see `PairFiles`)
    quarantine                             what was no event, in the format of the pairs

Pairs that erred are written twice: first, when all are judged, with what it takes to say why, then, read again by
themselves, with the error. So the others do not wait for that, and events are judged once, although the files of
deliveries have fewer columns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as fn

from ..compiled_filter import CompiledFilter
from ..events.readers import tells_of_damage
from ..events.tables import EventTables
from ..failure import FilterError, RunError
from ..fallback.jobs import UNKNOWN
from ..fanout.join import DELIVERED, ERRORED, OUTCOME, TRIGGER
from ..frames import release
from ..places.files import move
from ..places.model import PAIRS, QUARANTINE, Sink, Staged
from ..places.rows import RECORD, is_record
from ..storage.files import Directory, literal
from ..storage.folders import Folders
from .evaluation import Judge
from .explain_errors import ANY_JSON, ERROR, SUBEXPRESSION, ErrorContext
from .progress import OnProgress, watched
from .reports import ErrorCount, RunReport, TriggerCounts
from .sink import PARTITIONS, SUBSCRIBER, PairFiles, left_out

ERRORS, NAMES = "errors", "names.json"
ON_ERROR = ("drop", "deliver", "fail")
_REASON = "reason"
_KEPT = ((f"{PAIRS}/{OUTCOME}={ERRORED}", ERRORS), (QUARANTINE, QUARANTINE))
"""What stays beside the account, wherever pairs are delivered to."""
_EVIDENT, _UNTOLD = "evident", "untold"
"""The outcomes of pairs that erred until it is known why: what was written tells it, and only the event does."""
_OBSERVES_ONCE = (4, 3)
"""The first release whose observations hold each row once whatever is done again."""
_MANY = 64
"""With more triggers than this the pairs are shuffled by trigger, so that not every task writes a file for each."""
_PLACE = frozenset({"topic", "partition", "offset"})
"""The columns that name a record of Kafka."""
_MARK = "tricel-on-error-fail"


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

    @property
    def topic(self) -> str:
        """The topic that an annotation names; empty where none does."""


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


def check_names(triggers: Sequence[Filter]) -> None:
    """Raises RunError (TRI602) where two triggers have one id."""
    seen: set[str] = set()
    for name in (t.id for t in triggers):
        if name in seen:
            raise RunError("TRI602", f"two triggers are called '{name}'", name, "rename one of them")
        seen.add(name)


def folders_of(triggers: Sequence[Filter], partition: str) -> Folders:
    """The names of the triggers' directories that are not those of triggers and subscribers themselves."""
    values = {TRIGGER: [t.id for t in triggers], SUBSCRIBER: [t.destination for t in triggers]}
    return Folders.of({column: values[column] for column in PARTITIONS[partition]})


def write_names(target: Directory, folders: Folders) -> None:
    """Adds to the index of directories that are not called as what is in them; nothing where there is none."""
    if folders.names:
        target.write(NAMES, folders.index(target.read(NAMES)))


def publish(sink: Sink, staged: Staged, *, again: bool = False) -> None:
    """Delivers what was staged, and moves the rest to `errors` and `quarantine` beside the account, each by one step.

    What was moved before is left as it is; `again` is that of `Sink.publish`.
    """
    sink.publish(staged, again=again)
    for name, to in _KEPT:
        move(staged, name, to)


GUARD_IT = "guard the filter with has(...), or choose drop instead of fail, for the run or the trigger"
"""What to do about a filter that errs under "fail"."""


def asking(triggers: Sequence[Filter], on_error: str, wanted: str) -> dict[str, None]:
    """The ids of the triggers that want this on an error, or do not say where the run's `on_error` does; in order."""
    return dict.fromkeys(t.id for t in triggers if (t.on_error or on_error) == wanted)


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
    deliver = asking(triggers, on_error, "deliver")
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
        deliver=tuple(deliver),
        format=format,
    )


@dataclass(frozen=True)
class Delivery:
    """Where and how what becomes of events is staged: `path` is a directory that does not exist yet.

    `with_event` is that of `pipeline.run`. `with_record` keeps the column `record` of events that were records.
    """

    spark: SparkSession
    path: str
    format: str
    on_error: str = "drop"
    partition: str = "trigger"
    with_event: bool = False
    progress: OnProgress | None = None
    with_record: bool = False

    def stage(self, judge: Judge[Filter], events: EventTables) -> RunReport:
        """Writes what becomes of `events` by the judge's filters, and counts it.

        Raises:
            FilterError: (TRI603) where a filter errs under "fail".
        """
        return with_damage_left_out(events, lambda tables: self._staged(judge, tables), self._unstage)

    def _staged(self, judge: Judge[Filter], tables: Sequence[DataFrame]) -> RunReport:
        read = {"read": 0, "malformed": 0}
        bad = []
        for table in tables if self.with_record else map(_without_record, tables):
            found = self._judged(judge, table)
            read = {name: n + found[name] for name, n in read.items()}
            if found["malformed"]:
                bad.append(table)
        reasons: tuple[tuple[str, int], ...] = ()
        if bad:
            with watched(self.spark, QUARANTINE, self.progress):
                reasons = _quarantine(self.spark, bad, f"{self.path}/{QUARANTINE}", self.format)
        counts, errors = self._files(judge).counted()
        return counted_report(judge.triggers, self.on_error, read, reasons, counts, errors, self.format)

    def _unstage(self) -> None:
        Directory(self.spark, self.path).delete("")

    def _judged(self, judge: Judge[Filter], events: DataFrame) -> Mapping[str, int]:
        """Writes the pairs; the numbers of rows read and malformed."""
        shuffled = len(judge.triggers) > _MANY and bool(PARTITIONS[self.partition])
        counted, numbers = observed(events, shuffled=shuffled)
        good = counted.where("malformed IS NULL")
        if not judge.triggers:
            with watched(self.spark, "filter", self.progress):
                good.write.format("noop").mode("overwrite").save()
                return numbers()
        judged = judge.pairs(good)
        evidence = judge.evidence(judged)
        pairs = self._pairs(judge, judged, evidence)
        files, without = self._files(judge), left_out(events, with_event=self.with_event)
        with watched(self.spark, "filter", self.progress):
            try:
                files.write_judged(pairs, without, shuffled=shuffled)
                found = numbers()
            except (PySparkException, Py4JJavaError) as e:
                raised = _raised(e)
                if raised is None:
                    raise
                raise _filter_error(judge, events, *raised) from None
        if files.has(_EVIDENT):
            evident = files.read(_EVIDENT, pairs, without)
            self._replace(judge, _EVIDENT, judge.explained_by(evident, evidence, fn.col(ERROR)), without)
        if files.has(_UNTOLD):
            again = judge.pairs(events.where("malformed IS NULL"))
            untold = self._addressed(judge, again.where((fn.col(OUTCOME) == ERRORED) & evidence.lacks))
            self._replace(judge, _UNTOLD, judge.explained(untold, fn.lit(True)), without)
        return found

    def _pairs(self, judge: Judge[Filter], judged: DataFrame, evidence: ErrorContext) -> DataFrame:
        """The pairs as they are first written: those that erred have for `error` what it is to be explained by."""
        errored = fn.col(OUTCOME) == ERRORED
        outcome = fn.when(errored, self._on_error(judge, judged, evidence)).otherwise(fn.col(OUTCOME))
        said = {ERROR: fn.when(errored, evidence.text), SUBEXPRESSION: fn.lit(None).cast("string")}
        return self._addressed(judge, judged.withColumns({**said, OUTCOME: outcome}))

    def _on_error(self, judge: Judge[Filter], judged: DataFrame, evidence: ErrorContext) -> Column:
        """The outcome of a pair that erred; it fails the query where the trigger asks for that."""
        outcome = fn.when(evidence.lacks, _UNTOLD).otherwise(_EVIDENT)
        fail = asking(judge.triggers, self.on_error, "fail")
        if not fail:
            return outcome
        which = fn.to_json(fn.array(TRIGGER, identity(judged.columns)))
        refused = fn.raise_error(fn.concat(fn.lit(f"{_MARK}:"), which)).cast("string")
        return fn.when(fn.col(TRIGGER).isin(list(fail)), refused).otherwise(outcome)

    def _addressed(self, judge: Judge[Filter], pairs: DataFrame) -> DataFrame:
        """The pairs with their subscribers, where these have directories."""
        if self.partition != SUBSCRIBER:
            return pairs
        named = [(t.id, t.destination) for t in judge.triggers]
        names = self.spark.createDataFrame(named, f"{TRIGGER} STRING, {SUBSCRIBER} STRING")
        without = pairs.drop(SUBSCRIBER)  # events may have a column of that name where they are written as JSON Lines
        return without.join(fn.broadcast(names), TRIGGER)

    def _replace(self, judge: Judge[Filter], outcome: str, explained: DataFrame, without: Collection[str]) -> None:
        """Writes pairs that erred for those of `outcome`; one whose trigger delivers errors once more as delivered."""
        files, deliver = self._files(judge), asking(judge.triggers, self.on_error, "deliver")
        with watched(self.spark, ERRORS, self.progress):
            files.write_errored(explained)
            if deliver:  # without the error's text nothing is explained for it again
                files.write_delivered(explained.where(fn.col(TRIGGER).isin(list(deliver))), without)
        files.remove(outcome)

    def _files(self, judge: Judge[Filter]) -> PairFiles:
        folders = folders_of(judge.triggers, self.partition)
        return PairFiles(self.spark, f"{self.path}/{PAIRS}", self.format, self.partition, folders)


def identity(columns: Collection[str]) -> Column:
    """What names an event, as JSON: its id; of a record of Kafka its place; of another event a hash of its text.

    As JSON there is NULL, too, and what is no UTF-8.
    """
    if "id" in columns:
        name = fn.col("id")
    elif set(columns) >= _PLACE:
        name = fn.concat_ws("/", *(fn.col(c).cast("string") for c in ("topic", "partition", "offset")))
    else:
        name = fn.sha2("event", 256)
    return fn.to_json(fn.array(name))


def _without_record(events: DataFrame) -> DataFrame:
    """The events without the records that they came in."""
    return events.drop(RECORD) if is_record(events) else events


def _raised(e: BaseException) -> tuple[str, str] | None:
    """The trigger and the event's `identity` of an error that failed a query; None where it failed for another reason."""
    _, found, rest = str(e).partition(f"{_MARK}:")
    return tuple(json.JSONDecoder().raw_decode(rest)[0]) if found else None


def _filter_error(judge: Judge[Filter], events: DataFrame, trigger: str, id_: str) -> FilterError:
    """What is said of an error that failed the query over `events`."""
    pairs = judge.pairs(events.where(fn.col("malformed").isNull() & (identity(events.columns) == id_)))
    errored = pairs.where((fn.col(TRIGGER) == trigger) & (fn.col(OUTCOME) == ERRORED))
    found = judge.explained(errored, fn.lit(True)).select(ERROR, SUBEXPRESSION).first()
    error, subexpression = found or (UNKNOWN.text, UNKNOWN.subexpression)
    where = f" in {subexpression}" if subexpression else ""
    message = f"the filter of trigger '{trigger}' cannot be evaluated on event '{json.loads(id_)[0]}': {error}{where}"
    return FilterError("TRI603", message, trigger, GUARD_IT)


def _quarantine(
    spark: SparkSession,
    tables: Iterable[DataFrame],
    path: str,
    format: str,  # noqa: A002
) -> tuple[tuple[str, int], ...]:
    """Writes what is malformed in the tables; how often there is each reason.

    JSON Lines are objects of the same members as Parquet has columns, without those that are NULL, and the bytes `raw`
    of what is not UTF-8 as base64.
    """
    lines = format == "jsonl"
    for table in tables:
        record = [RECORD] if is_record(table) else []
        bad = table.where("malformed IS NOT NULL").select(
            fn.col("malformed").alias(_REASON), fn.col("event").alias("text"), "raw", "file", *record
        )
        if lines:
            raw = fn.col("raw").alias("raw_base64")  # so does to_json write bytes
            told = fn.to_json(fn.struct(_REASON, "text", raw, "file"), {"ignoreNullFields": "true"})
            bad.select(told.alias("value")).write.mode("append").text(path)
        else:
            bad.write.mode("append").parquet(path)
    written = spark.read.text(literal(path)) if lines else spark.read.schema(f"{_REASON} STRING").parquet(literal(path))
    if lines:
        written = written.select(fn.from_json("value", f"{_REASON} STRING", ANY_JSON)[_REASON].alias(_REASON))
    counted = written.groupBy(_REASON).count().orderBy(_REASON).collect()
    return tuple((row[_REASON], row["count"]) for row in counted)
