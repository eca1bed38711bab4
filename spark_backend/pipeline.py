"""A batch run: events through many filters in one pass, every event and every outcome accounted for.

What a run leaves in its directory:

    delivered/trigger=<id>/part-*      the events that each filter let pass; "/" in an id is written %2F
                                       (JSON Lines end in .txt: Spark names what its text writer writes, and renaming
                                       copies on an object store; `read_events` takes .txt for JSON Lines)
    errors/trigger=<id>/part-*         the events that each filter erred on, with the error and the subexpression that
                                       erred; only if there was any
    quarantine/part-*                  what was no event, with the reason and the file; only if there was any
    report.json                        the counts, written last: a directory without it is not a finished run

Until the end of a run the pairs are in staging/outcome=<outcome>/trigger=<id>. A run that was killed leaves that; the
next one into the same directory begins anew, so that nothing is lost and nothing is there twice.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Protocol
from urllib.parse import quote

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as fn

from .errored import with_failures
from .failure import RunError
from .fanout.join import DELIVERED, ERRORED, OUTCOME, TRIGGER
from .files import Directory
from .lowered import CompiledFilter
from .outcomes import pairs
from .progress import OnProgress, watched
from .sql import name as quoted

ERRORS, QUARANTINE, STAGING, REPORT = "errors", "quarantine", "staging", "report.json"
_OURS = (DELIVERED, ERRORS, QUARANTINE, STAGING, REPORT)
_LONGEST_NAME = 255
_MANY = 64
"""With more triggers than this the pairs are shuffled by trigger, so that not every task writes a file for each."""
_MOST_ERRORS = 1000
"""Kinds of errors that the report names."""
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


@dataclass(frozen=True, slots=True)
class TriggerCounts:
    """Outcomes of one trigger. `evaluated = delivered + filtered + errored`, whatever is done with errors."""

    trigger: str
    evaluated: int
    delivered: int
    filtered: int
    errored: int

    def __post_init__(self) -> None:
        if self.evaluated != self.delivered + self.filtered + self.errored:
            raise ArithmeticError(f"the outcomes of trigger {self.trigger!r} do not add up: {self}")


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """How many events a trigger's filter erred on in one way."""

    trigger: str
    error: str
    subexpression: str
    count: int


@dataclass(frozen=True, slots=True)
class RunReport:
    """The account of a run. `read = malformed + evaluated`; `written` is the number of events in all outputs.

    `deliver` names the triggers whose outputs hold their errored events, too.
    """

    read: int
    malformed: int
    evaluated: int
    reasons: tuple[tuple[str, int], ...]
    triggers: tuple[TriggerCounts, ...]
    errors: tuple[ErrorCount, ...]
    written: int
    deliver: tuple[str, ...]
    format: str

    def __post_init__(self) -> None:
        if self.read != self.malformed + self.evaluated or self.malformed != sum(n for _, n in self.reasons):
            raise ArithmeticError(f"the events do not add up: {self}")
        deliver = set(self.deliver)
        passed = sum(t.delivered + (t.errored if t.trigger in deliver else 0) for t in self.triggers)
        if self.written != passed:
            raise ArithmeticError(f"{passed} events passed a filter and {self.written} were written")

    def to_json(self) -> str:
        """The report as JSON text."""
        return json.dumps({**asdict(self), "reasons": dict(self.reasons)}, indent=2, ensure_ascii=False) + "\n"


def run(
    spark: SparkSession,
    triggers: Sequence[Filter],
    events: DataFrame,
    out: str,
    *,
    format: str = "parquet",  # noqa: A002
    on_error: str = "drop",
    overwrite: bool = False,
    progress: OnProgress | None = None,
) -> RunReport:
    """Runs every trigger's filter over `events` once and writes what passes under `out`.

    `events` is what `read_events` gives, or any table of events; without the columns `malformed` and `event` none is
    malformed, and JSON Lines hold the row. Format "parquet" keeps `data` as JSON text and bytes as base64 in
    `data_base64`, which every reader of Parquet understands; "jsonl" keeps the events as they came. An evaluation error
    does not pass ("drop"), passes ("deliver") or ends the run ("fail"), where a trigger does not ask for something
    else. With `overwrite` the leavings of an earlier run go first, and nothing else.

    Raises RunError: TRI602 when `out` is in use or a trigger's id cannot name a directory, TRI603 for an evaluation
    error under "fail". A run that ends so, or in any exception, leaves nothing half-written.
    """
    if format not in ("parquet", "jsonl") or on_error not in ("drop", "deliver", "fail"):
        raise ValueError(f"no such format or on_error: {format!r}, {on_error!r}")
    _check_names(triggers)
    target = Directory(spark, out)
    _prepare(target, overwrite)
    try:
        report = _Run(spark, triggers, _complete(events), target, format, on_error, progress).report()
        target.write(REPORT, report.to_json())
        target.delete(STAGING)
    except (PySparkException, Py4JJavaError) as e:
        _clean(target)
        _, found, rest = str(e).partition(f"{_MARK}:")
        if not found:
            raise
        trigger, event = json.loads(rest.split(f":{_MARK}", 1)[0])
        message = f"the filter of trigger '{trigger}' cannot be evaluated on event '{event}'"
        raise RunError("TRI603", message, trigger, "guard the filter with has(...), or run with onError drop") from None
    except BaseException:
        _clean(target)
        raise
    return report


def dry_run(
    spark: SparkSession,
    triggers: Sequence[Filter],
    events: DataFrame,
    *,
    on_error: str = "drop",
    progress: OnProgress | None = None,
) -> RunReport:
    """The counts of a run that writes nothing; `written` is what it would write. Errors are counted, not explained."""
    read = Observation("read")
    complete = _complete(events)
    counted = complete.observe(read, fn.count(fn.lit(1)).alias("read"), fn.count("malformed").alias("malformed"))
    with watched(spark, "filter", progress):
        found = pairs(counted.where("malformed IS NULL"), triggers).groupBy(TRIGGER, OUTCOME).count().collect()
    reasons: tuple[tuple[str, int], ...] = ()
    if read.get["malformed"]:
        bad = complete.where("malformed IS NOT NULL").groupBy("malformed").count().orderBy("malformed")
        reasons = tuple((row["malformed"], row["count"]) for row in bad.collect())
    counts = {(row[TRIGGER], row[OUTCOME]): row["count"] for row in found}
    for t in triggers:
        if (t.on_error or on_error) == "deliver":
            counts[t.id, DELIVERED] = counts.get((t.id, DELIVERED), 0) + counts.get((t.id, ERRORED), 0)
    return _report(triggers, on_error, read.get, reasons, counts, (), "none")


def _report(
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
    deliver = tuple(t.id for t in triggers if (t.on_error or on_error) == "deliver")
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
        deliver=deliver,
        format=format,
    )


@dataclass(frozen=True)
class _Run:
    spark: SparkSession
    triggers: Sequence[Filter]
    events: DataFrame
    target: Directory
    format: str
    on_error: str
    progress: OnProgress | None

    def report(self) -> RunReport:
        """Writes everything and counts it."""
        read = self._judge()
        reasons: tuple[tuple[str, int], ...] = ()
        if read["malformed"]:
            with watched(self.spark, QUARANTINE, self.progress):
                reasons = _quarantine(self.events, f"{self.target.path}/{QUARANTINE}")
        counts, errors = self._count()
        for outcome, name in ((DELIVERED, DELIVERED), (ERRORED, ERRORS)):
            self.target.move(f"{STAGING}/{OUTCOME}={outcome}", name)
        return _report(self.triggers, self.on_error, read, reasons, counts, errors, self.format)

    def _judge(self) -> dict[str, int]:
        """Writes the pairs into the staging directory; the numbers of rows read and malformed."""
        read = Observation("read")
        counted = self.events.observe(read, fn.count(fn.lit(1)).alias("read"), fn.count("malformed").alias("malformed"))
        good = counted.where("malformed IS NULL")
        with watched(self.spark, "filter", self.progress):
            if not self.triggers:
                good.write.format("noop").mode("overwrite").save()
            else:
                rows = self._pairs(good)
                if len(self.triggers) > _MANY:
                    rows = rows.repartition(OUTCOME, TRIGGER)
                self._write(rows, f"{self.target.path}/{STAGING}")
        return dict(read.get)

    def _mode(self, trigger: Filter) -> str:
        return trigger.on_error or self.on_error

    def _pairs(self, good: DataFrame) -> DataFrame:
        """The pairs as they are written, an errored one of a trigger that delivers errors once more as delivered."""
        fail = [t.id for t in self.triggers if self._mode(t) == "fail"]
        deliver = [t.id for t in self.triggers if self._mode(t) == "deliver"]
        errored = fn.col(OUTCOME) == ERRORED
        found = pairs(good, self.triggers)
        if fail:
            which = fn.to_json(fn.array(fn.col(TRIGGER), fn.col("id")))
            refused = fn.raise_error(fn.concat(fn.lit(f"{_MARK}:"), which, fn.lit(f":{_MARK}"))).cast("string")
            outcome = fn.when(errored & fn.col(TRIGGER).isin(fail), refused).otherwise(fn.col(OUTCOME))
            found = found.withColumn(OUTCOME, outcome)
        explained = with_failures(found, {t.id: t.compiled for t in self.triggers}, errored)
        if deliver:
            twice = fn.when(errored & fn.col(TRIGGER).isin(deliver), fn.array(fn.lit(ERRORED), fn.lit(DELIVERED)))
            explained = explained.withColumn(OUTCOME, fn.explode(fn.coalesce(twice, fn.array(OUTCOME))))
        return _shaped(explained, self.format)

    def _write(self, rows: DataFrame, path: str) -> None:
        writer = rows.write.mode("append").partitionBy(OUTCOME, TRIGGER)
        if self.format == "jsonl":
            writer.text(path)
        else:
            writer.parquet(path)

    def _count(self) -> tuple[dict[tuple[str, str], int], tuple[ErrorCount, ...]]:
        """The staged pairs by trigger and outcome, and the most frequent errors."""
        if not self.target.has(STAGING):
            return {}, ()
        # The partitions' values are text, whatever they look like.
        values = "value STRING" if self.format == "jsonl" else "error STRING, subexpression STRING"
        reader = self.spark.read.format("text" if self.format == "jsonl" else "parquet")
        staged = reader.schema(f"{values}, {OUTCOME} STRING, {TRIGGER} STRING").load(f"{self.target.path}/{STAGING}")
        rows = staged.groupBy(TRIGGER, OUTCOME).count().collect()
        counts = {(r[TRIGGER], r[OUTCOME]): r["count"] for r in rows}
        if not any(outcome == ERRORED for _, outcome in counts):
            return counts, ()
        errored = staged.where(fn.col(OUTCOME) == ERRORED)
        if self.format == "jsonl":
            parsed = fn.from_json("value", "error STRING, subexpression STRING")
            errored = errored.withColumn("parsed", parsed).select(TRIGGER, "parsed.*")
        kinds = errored.groupBy(TRIGGER, "error", "subexpression").count()
        most = kinds.orderBy(fn.desc("count"), TRIGGER, "error", "subexpression").limit(_MOST_ERRORS).collect()
        return counts, tuple(ErrorCount(r[TRIGGER], r["error"], r["subexpression"], r["count"]) for r in most)


def _shaped(found: DataFrame, format: str) -> DataFrame:  # noqa: A002
    """The pairs with the columns that are written: for JSON Lines one text, else the events' own."""
    if format == "jsonl":
        known = [c for c in ("id", "source", "type") if c in found.columns]
        error = fn.to_json(fn.struct(TRIGGER, *known, "error", "subexpression", "event"))
        # Outside its strings JSON may hold line breaks, and inside them it cannot.
        event = fn.translate("event", "\r\n", "  ")
        return found.select(
            OUTCOME, TRIGGER, fn.when(fn.col(OUTCOME) == ERRORED, error).otherwise(event).alias("value")
        )
    columns: list[Column] = []
    for field in found.schema.fields:
        if field.name == "data" and field.dataType.typeName() == "variant":
            columns.append(fn.expr(f"CASE WHEN NOT {_IS_BYTES} THEN to_json(data) END AS data"))
            encoded = "base64(variant_get(data, '$', 'binary'))"
            columns.append(fn.expr(f"CASE WHEN {_IS_BYTES} THEN {encoded} END AS data_base64"))
        elif field.name not in ("malformed", "raw"):
            columns.append(fn.col(quoted(field.name)))
    return found.select(*columns)


def _quarantine(events: DataFrame, path: str) -> tuple[tuple[str, int], ...]:
    bad = events.where("malformed IS NOT NULL").select(
        fn.col("malformed").alias("reason"), fn.col("event").alias("text"), "raw", "file"
    )
    bad.write.mode("append").parquet(path)
    counted = events.sparkSession.read.parquet(path).groupBy("reason").count().orderBy("reason").collect()
    return tuple((row["reason"], row["count"]) for row in counted)


def _complete(events: DataFrame) -> DataFrame:
    """`events` with the reader's columns about the text, where a table has none."""
    for name, sql in (("malformed", "CAST(NULL AS STRING)"), ("raw", "CAST(NULL AS BINARY)")):
        if name not in events.columns:
            events = events.withColumn(name, fn.expr(sql))
    if "event" not in events.columns:
        row = [fn.col(quoted(c)) for c in events.columns if c not in ("malformed", "raw")]
        events = events.withColumn("event", fn.to_json(fn.struct(*row)))
    return events if "file" in events.columns else events.withColumn("file", fn.lit(None).cast("string"))


def _check_names(triggers: Sequence[Filter]) -> None:
    ids = [t.id for t in triggers]
    for name in ids:
        if not name or len(f"trigger={quote(name, safe='')}") > _LONGEST_NAME:
            raise RunError("TRI602", "the trigger's id cannot name a directory", name, "use at most 247 characters")
    if len(set(ids)) < len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise RunError("TRI602", f"two triggers are called '{twice}'", twice, "rename one of them")


def _prepare(target: Directory, overwrite: bool) -> None:
    names = target.names() or ()
    foreign = [n for n in names if n not in _OURS and not n.startswith(".")]
    if foreign:
        help_ = f"choose another directory: '{foreign[0]}' in it was not written by a run"
        raise RunError("TRI602", "the output directory is in use", target.path, help_)
    if names and (REPORT in names or STAGING not in names) and not overwrite:
        raise RunError(
            "TRI602", "the output directory holds an earlier run", target.path, "choose another, or overwrite it"
        )
    _clean(target)
    target.create()


def _clean(target: Directory) -> None:
    for name in (REPORT, DELIVERED, ERRORS, QUARANTINE, STAGING):
        target.delete(name)
