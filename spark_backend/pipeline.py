"""A batch run: events through many filters in one pass, every event and every outcome accounted for.

What a run leaves in its directory:

    delivered/trigger=<id>/part-*      the events that each filter let pass; "/" in an id is written %2F
    quarantine/part-*                  what was no event, with the reason and the file; only if there was any
    report.json                        the counts, written last: a directory without it is not a finished run
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol
from urllib.parse import quote

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as fn

from .failure import RunError
from .files import Directory
from .progress import OnProgress, watched

DELIVERED, QUARANTINE, REPORT = "delivered", "quarantine", "report.json"
_OURS = (DELIVERED, QUARANTINE, REPORT)
_TRUE, _ERROR = 1, 2
_CHUNK = 32
_LONGEST_NAME = 255
_MARK = "tricel-on-error-fail"
# Strings, too, can be had as binary. Only a scalar is asked for its schema: schema_of_variant walks the whole value.
_IS_BYTES = (
    "(CASE WHEN try_variant_get(data, '$', 'binary') IS NULL THEN FALSE ELSE schema_of_variant(data) = 'BINARY' END)"
)


class Filter(Protocol):
    """What a run needs of a trigger: a name, and the filter compiled for these events."""

    @property
    def id(self) -> str:
        """The trigger's name, unique within a run."""

    @property
    def compiled(self) -> Any:
        """The filter, as `evaluate` takes it."""


Evaluate = Callable[[Any, DataFrame], Column]


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
class RunReport:
    """The account of a run. `read = malformed + evaluated`; `written` is the number of events in all outputs.

    With onError "deliver" a trigger's output holds its delivered and its errored events.
    """

    read: int
    malformed: int
    evaluated: int
    reasons: tuple[tuple[str, int], ...]
    triggers: tuple[TriggerCounts, ...]
    written: int
    on_error: str
    format: str

    def __post_init__(self) -> None:
        if self.read != self.malformed + self.evaluated or self.malformed != sum(n for _, n in self.reasons):
            raise ArithmeticError(f"the events do not add up: {self}")
        passed = sum(t.delivered + (t.errored if self.on_error == "deliver" else 0) for t in self.triggers)
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
    evaluate: Evaluate,
    format: str = "parquet",  # noqa: A002
    on_error: str = "drop",
    overwrite: bool = False,
    progress: OnProgress | None = None,
) -> RunReport:
    """Runs every trigger's filter over `events` once and writes what passes under `out`.

    `events` is what `read_events` gives, or any table that `evaluate` can make a BOOLEAN column for (NULL is an
    evaluation error); without the columns `malformed` and `event` none is malformed, and JSON Lines hold the row.
    Format "parquet" keeps `data` as JSON text and bytes as base64 in `data_base64`, which every reader of Parquet
    understands; "jsonl" keeps the events as they came. An evaluation error does not pass ("drop"), passes ("deliver")
    or ends the run ("fail"). With `overwrite` the leavings of an earlier run go first, and nothing else.

    Raises RunError: TRI602 when `out` is in use or a trigger's id cannot name a directory, TRI603 for an evaluation
    error under "fail". A run that ends so, or in any exception, leaves nothing half-written.
    """
    if format not in ("parquet", "jsonl") or on_error not in ("drop", "deliver", "fail"):
        raise ValueError(f"no such format or on_error: {format!r}, {on_error!r}")
    _check_names(triggers)
    target = Directory(spark, out)
    _prepare(target, overwrite)
    try:
        report = _run(spark, triggers, _complete(events), target, evaluate, format, on_error, progress)
        target.write(REPORT, report.to_json())
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


def _run(
    spark: SparkSession,
    triggers: Sequence[Filter],
    events: DataFrame,
    target: Directory,
    evaluate: Evaluate,
    format: str,  # noqa: A002
    on_error: str,
    progress: OnProgress | None,
) -> RunReport:
    read, outcomes = Observation("read"), Observation("outcomes")
    counted = events.observe(read, fn.count(fn.lit(1)).alias("read"), fn.count("malformed").alias("malformed"))
    good = counted.where("malformed IS NULL")
    judged, groups = _judge(good, triggers, evaluate, on_error)
    judged = judged.observe(outcomes, fn.count(fn.lit(1)).alias("evaluated"), *_tallies(groups))
    written = Observation("written")
    with watched(spark, "filter", progress):
        if triggers:
            passing = _ERROR if on_error == "deliver" else _TRUE
            pairs = _pairs(judged, groups, [t.id for t in triggers], passing)
            pairs = pairs.observe(written, fn.count(fn.lit(1)).alias("written"))
            _save(_shaped(pairs, format), f"{target.path}/{DELIVERED}", format)
        else:
            judged.write.format("noop").mode("overwrite").save()
    counts, sums = read.get, outcomes.get
    reasons: tuple[tuple[str, int], ...] = ()
    if counts["malformed"]:
        with watched(spark, "quarantine", progress):
            reasons = _quarantine(events, f"{target.path}/{QUARANTINE}")
    evaluated = sums["evaluated"]
    return RunReport(
        read=counts["read"],
        malformed=counts["malformed"],
        evaluated=evaluated,
        reasons=reasons,
        triggers=tuple(
            TriggerCounts(t.id, evaluated, sums[f"t{i}"], sums[f"f{i}"], sums[f"e{i}"]) for i, t in enumerate(triggers)
        ),
        written=written.get["written"] if triggers else 0,
        on_error=on_error,
        format=format,
    )


def _judge(
    events: DataFrame, triggers: Sequence[Filter], evaluate: Evaluate, on_error: str
) -> tuple[DataFrame, list[tuple[str, range]]]:
    """`events` with the outcomes (0 false, 1 true, 2 error) in arrays of at most `_CHUNK`, and which array holds which.

    One projection for each array: generated methods over 8,000 bytes are never compiled by the JVM.
    """
    judged, groups = events, []
    for start in range(0, len(triggers), _CHUNK):
        chunk = range(start, min(start + _CHUNK, len(triggers)))
        results = []
        for i in chunk:
            error: Column = fn.lit(_ERROR)
            if on_error == "fail":
                which = fn.to_json(fn.array(fn.lit(triggers[i].id), fn.col("id")))
                error = fn.raise_error(fn.concat(fn.lit(f"{_MARK}:"), which, fn.lit(f":{_MARK}"))).cast("int")
            results.append(fn.coalesce(evaluate(triggers[i].compiled, events).cast("int"), error))
        name = f"__outcomes_{start}"
        judged = judged.withColumn(name, fn.array(*results))
        groups.append((name, chunk))
    return judged, groups


def _tallies(groups: list[tuple[str, range]]) -> list[Column]:
    return [
        fn.count(fn.when(fn.col(name)[i - chunk.start] == value, 1)).alias(f"{letter}{i}")
        for name, chunk in groups
        for i in chunk
        for letter, value in (("f", 0), ("t", _TRUE), ("e", _ERROR))
    ]


def _pairs(judged: DataFrame, groups: list[tuple[str, range]], ids: list[str], passing: int) -> DataFrame:
    """One row for each event and trigger that it goes to: the column `trigger` before the event's own."""
    kept = [c for c in judged.columns if not c.startswith("__outcomes_")]
    passed = judged
    for name, chunk in groups:
        outcome = fn.col(name)
        numbers = [fn.when(outcome[i - chunk.start].between(_TRUE, passing), i).otherwise(-1) for i in chunk]
        passed = passed.withColumn(name, fn.array_remove(fn.array(*numbers), -1))
    number = fn.explode(fn.concat(*(fn.col(name) for name, _ in groups))).alias("__trigger")
    exploded = passed.select(number, *map(_named, kept))
    names = fn.array(*map(fn.lit, ids))
    return exploded.select(names[fn.col("__trigger")].alias("trigger"), *map(_named, kept))


def _shaped(pairs: DataFrame, format: str) -> DataFrame:  # noqa: A002
    if format == "jsonl":
        # Outside its strings JSON may hold line breaks, and inside them it cannot.
        return pairs.select("trigger", fn.translate("event", "\r\n", "  ").alias("value"))
    columns: list[Column] = []
    for field in pairs.schema.fields:
        if field.name == "data" and field.dataType.typeName() == "variant":
            columns.append(fn.expr(f"CASE WHEN NOT {_IS_BYTES} THEN to_json(data) END AS data"))
            encoded = "base64(variant_get(data, '$', 'binary'))"
            columns.append(fn.expr(f"CASE WHEN {_IS_BYTES} THEN {encoded} END AS data_base64"))
        elif field.name not in ("malformed", "raw"):
            columns.append(_named(field.name))
    return pairs.select(*columns)


def _save(rows: DataFrame, path: str, format: str) -> None:  # noqa: A002
    writer = rows.write.mode("append").partitionBy("trigger")
    if format == "jsonl":
        writer.text(path)
    else:
        writer.parquet(path)


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
        row = [_named(c) for c in events.columns if c not in ("malformed", "raw")]
        events = events.withColumn("event", fn.to_json(fn.struct(*row)))
    return events if "file" in events.columns else events.withColumn("file", fn.lit(None).cast("string"))


def _named(column: str) -> Column:
    return fn.col("`" + column.replace("`", "``") + "`")


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
    if names and not overwrite:
        raise RunError(
            "TRI602", "the output directory holds an earlier run", target.path, "choose another, or overwrite it"
        )
    _clean(target)
    target.create()


def _clean(target: Directory) -> None:
    for name in (REPORT, DELIVERED, QUARANTINE):
        target.delete(name)
