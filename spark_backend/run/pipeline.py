"""A batch run: events through many filters in one pass, every event and every outcome accounted for.

What a run leaves in its directory:

    delivered/trigger=<id>/part-*      the events that each filter let pass; "/" in an id is written %2F
                                       (JSON Lines end in .txt: Spark names what its text writer writes, and renaming
                                       copies on an object store; `read_events` takes .txt for JSON Lines)
    errors/trigger=<id>/part-*         the events that each filter erred on, with the error and the subexpression that
                                       erred, and as text; only if there was any
    quarantine/part-*                  what was no event, with the reason and the file, in the format of the run; only
                                       if there was any
    names.json                         what stands in the name of a directory for an id that is too long for one, or that
                                       Spark means something else by; only if there was any
    report.json                        the counts, written last: a directory without it is not a finished run

Until the end of a run all of it is in staging/ (see `delivery`). A run that was killed leaves that; the next one into
the same directory begins anew, so that nothing is lost and nothing is there twice.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from pyspark.sql import DataFrame, SparkSession

from ..events.tables import EventTable, EventTables, FoundOnce
from ..failure import FilterError, RunError, Warn, warn_user
from ..fanout.join import DELIVERED, ERRORED, OUTCOME, TRIGGER
from ..frames import is_classic
from ..places.files import Folder
from ..places.model import QUARANTINE, Addressed, BatchName, Sink, Staged
from ..storage.files import Directory, check_own, in_use
from .delivery import (
    ERRORS,
    GUARD_IT,
    NAMES,
    ON_ERROR,
    Delivery,
    Filter,
    asking,
    check_names,
    counted_report,
    folders_of,
    observed,
    publish,
    with_damage_left_out,
    write_names,
)
from .evaluation import Judge
from .progress import OnProgress, watched
from .reports import ErrorCount, RunReport, TriggerCounts, run_report
from .sink import FORMATS, PARTITIONS, check_with_event, reserved

__all__ = ["ErrorCount", "Filter", "RunReport", "TriggerCounts", "dry_run", "refuse_errors", "run"]

STAGING, REPORT = "staging", "report.json"
OURS = (DELIVERED, ERRORS, QUARANTINE, STAGING, REPORT, NAMES)
"""What a run may leave in its directory."""
_TOLD = 10
"""Most triggers that a diagnostic names."""
_READY = f"{STAGING}/ready.json"
"""Is there while pairs are delivered to a sink that is no folder: what is staged will be delivered as it is."""
IN_USE = "the output directory is in use"


def run(
    spark: SparkSession,
    triggers: Sequence[Filter],
    events: DataFrame | EventTables,
    out: str,
    *,
    format: str = "parquet",  # noqa: A002
    on_error: str = "drop",
    partition: str = "trigger",
    with_event: bool = False,
    overwrite: bool = False,
    progress: OnProgress | None = None,
    told: Callable[[RunReport], str] = RunReport.to_json,
    warn: Warn = warn_user,
    sink: Sink | None = None,
) -> RunReport:
    """Runs every trigger's filter over `events` once and writes what passes under `out`.

    With a `sink` that is no folder what passes goes there, and `out` has the rest and the account; `format`, `partition` and
    `with_event` say nothing then. A run that was ended while it delivered to such a sink is finished by the next one
    into the same folder, which does nothing else, and gives the report of the first.

    `events` is what `find_events` or `read_events` gives, or any table of events; without the columns `malformed` and `event` none is
    malformed, and JSON Lines hold the row. Format "parquet" keeps `data` as JSON text and bytes as base64 in
    `data_base64`, which every reader of Parquet understands; "jsonl" keeps the events as they came. Delivered Parquet has the columns of the events; `with_event` adds `event`, the
    event as text, and `error` and `subexpression`, which errored files have always. The quarantine has the same format. An evaluation error
    does not pass ("drop"), passes ("deliver") or ends the run ("fail"), where a trigger does not ask for something
    else. `partition` says what has directories: each "trigger", each "subscriber" and in it each trigger, or "none", so
    that the pairs are one table with a column `trigger` (JSON Lines are then objects that have the event as text), in
    few files however many triggers there are. With `overwrite` the leavings of an earlier run go first, and nothing else.
    `told` gives the text of report.json.
    `warn` is told of attributes that a filter reads and no event of a table can have.

    Raises LayoutError where the events lack a column that a filter reads, and RunError: TRI602 when `out` is in use, be it by a run that has not ended, or two triggers have one id, TRI603 for an evaluation error under "fail", TRI606 on Spark Connect, where there is no file system to
    move what is staged in. A run that ends so, or in any exception, leaves nothing
    half-written.
    """
    if format not in FORMATS or on_error not in ON_ERROR or partition not in PARTITIONS:
        raise ValueError(f"no such format, on_error or partition: {format!r}, {on_error!r}, {partition!r}")
    check_with_event(format, with_event=with_event)
    if not is_classic(spark):
        help_ = "run it where the Spark driver is, through spark-submit or with --master; or only count, with --dry-run"
        raise RunError("TRI606", "a run that writes does not run on Spark Connect", "run", help_)
    check_names(triggers)
    to = sink or Folder(out)
    if not to.folder:
        format, partition, with_event = "parquet", "none", False  # noqa: A001
        to.check(spark)
        done = _finished(Directory(spark, out), to)
        if done is not None:
            return done
    found = FoundOnce(_tables(events), reserved(format, partition))
    found.tables()  # what cannot be read at all ends the run before an earlier one is removed
    target = Directory(spark, out)
    with target.held():
        _prepare(target, overwrite)
        delivery = Delivery(
            spark, f"{target.path}/{STAGING}", format, on_error, partition, with_event, progress, to.with_record
        )
        return _written(target, delivery, Judge(triggers, warn), found, told, to)


def _written(
    target: Directory,
    delivery: Delivery,
    judge: Judge[Filter],
    events: EventTables,
    told: Callable[[RunReport], str],
    sink: Sink,
) -> RunReport:
    """Writes what becomes of the events, and the report last; clears up where it cannot, until it is to be delivered to a
    sink that takes nothing back."""
    ready = False
    try:
        report = delivery.stage(judge, events)
        staged = Staged(delivery.spark, target, STAGING, judge.triggers, BatchName(uuid.uuid4().hex, 0))
        if not sink.folder:
            sink.prepare(staged)
            addressed = [{"id": t.id, "to": t.destination, "topic": t.topic} for t in judge.triggers]
            value = {"run": staged.batch.writer, "triggers": addressed, "report": told(report)}
            target.create(STAGING)
            target.write(_READY, json.dumps(value, ensure_ascii=False))
            ready = True
        publish(sink, staged)
        write_names(target, folders_of(judge.triggers, delivery.partition))
        target.write(REPORT, told(report))
        target.delete(STAGING)
    except BaseException:
        if not ready:
            _clean(target)
        raise
    return report


def _finished(target: Directory, sink: Sink) -> RunReport | None:
    """Delivers what a run that was ended has left to deliver, and gives its report; None where there is no such run."""
    text = target.read(_READY) if target.names() is not None else None
    if text is None:
        return None
    with target.held():
        value = json.loads(text)
        triggers = [Addressed(row["id"], row["to"], row.get("topic", "")) for row in value["triggers"]]
        staged = Staged(target.spark, target, STAGING, triggers, BatchName(value["run"], 0))
        publish(sink, staged, again=True)
        target.write(REPORT, value["report"])
        target.delete(STAGING)
    return run_report(json.loads(value["report"]))


def dry_run(
    spark: SparkSession,
    triggers: Sequence[Filter],
    events: DataFrame | EventTables,
    *,
    on_error: str = "drop",
    progress: OnProgress | None = None,
    warn: Warn = warn_user,
) -> RunReport:
    """The counts of a run that writes nothing; `written` is what it would write. Errors are counted, not explained."""
    judge = Judge(triggers, warn)

    def counted(tables: Sequence[DataFrame]) -> RunReport:
        read, counts, reasons = Counter[str](), Counter[tuple[str, str]](), Counter[str]()
        for table in tables:
            whole, numbers = observed(table, shuffled=True)
            with watched(spark, "filter", progress):
                found = judge.pairs(whole.where("malformed IS NULL")).groupBy(TRIGGER, OUTCOME).count().collect()
                here = numbers()
            read.update(here)
            counts.update({(row[TRIGGER], row[OUTCOME]): row["count"] for row in found})
            if here["malformed"]:
                bad = table.where("malformed IS NOT NULL").groupBy("malformed").count().collect()
                reasons.update({row["malformed"]: row["count"] for row in bad})
        for id_ in asking(triggers, on_error, "deliver"):
            counts[id_, DELIVERED] += counts[id_, ERRORED]
        return counted_report(triggers, on_error, read, tuple(sorted(reasons.items())), counts, (), "none")

    return with_damage_left_out(_tables(events), counted)


def refuse_errors(triggers: Sequence[Filter], report: RunReport, on_error: str) -> None:
    """Does nothing where a run of which `report` is the dry run would go to its end.

    Raises FilterError: TRI603 where a filter errs under "fail"; all triggers of such filters are told.
    """
    fail = asking(triggers, on_error, "fail")
    told = [f"'{t.trigger}' ({t.errored:,})" for t in report.triggers if t.errored and t.trigger in fail]
    if told:
        more = f", and {len(told) - _TOLD:,} more" if len(told) > _TOLD else ""
        message = f"evaluation errors would end a run, by trigger: {', '.join(told[:_TOLD])}{more}"
        raise FilterError("TRI603", message, "run", GUARD_IT)


def _tables(events: DataFrame | EventTables) -> EventTables:
    return EventTable(events) if isinstance(events, DataFrame) else events


def check_unused(names: Collection[str], path: str, *, overwrite: bool) -> None:
    """Raises RunError (TRI602) where a directory with these names in it is not one that a run may write into."""
    check_own(names, path, OURS, IN_USE, "run")
    if names and (REPORT in names or STAGING not in names) and not overwrite:
        raise in_use(path)


def _prepare(target: Directory, overwrite: bool) -> None:
    check_unused(target.names() or (), target.path, overwrite=overwrite)
    _clean(target)
    target.create()


def _clean(target: Directory) -> None:
    for name in (REPORT, NAMES, DELIVERED, ERRORS, QUARANTINE, STAGING):
        target.delete(name)
