"""The stream itself: Spark's micro-batches, each judged by the triggers of its time and committed once."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType
from tricel.compiler import CompileError, Diagnostic

from ...events.tables import FoundOnce
from ...failure import FilterError, RunError
from ...frames import is_classic
from ...places.files import Folder
from ...places.model import EventSource, Sink
from ...spark_errors import SPARK_FAILURES, stream_ended
from ...sql.layout import LayoutError
from ...storage.files import Directory
from ..delivery import ON_ERROR, Delivery, check_names, folders_of
from ..reports import StreamReport
from ..sink import FORMATS, PARTITIONS, check_with_event, reserved
from .ledger import Ledger, open_ledger
from .observers import BatchDone, Observer
from .origins import Loaded, TriggerOrigin
from .sets import TriggerSet, set_of

_LOOK = 0.5
"""Seconds between looks at what may end the stream."""
_POLL = 2.0
"""Seconds between looks at the triggers while no batch begins."""
_CHANGED = "a file was changed while it was read; put files there whole, and start again"


@dataclass(frozen=True, slots=True)
class Options:
    """How a stream runs. `interval` is the least time from one batch's beginning to the next's, in seconds.

    With `available_now` the stream ends when what is there at its beginning is done. `checkpoint` is a directory; by
    default it is in the output. See `pipeline.run` for the others.
    """

    checkpoint: str | None = None
    format: str = "parquet"
    on_error: str = "drop"
    partition: str = "trigger"
    available_now: bool = False
    interval: float = 1.0
    overwrite: bool = False
    with_event: bool = False

    def __post_init__(self) -> None:
        if self.format not in FORMATS or self.on_error not in ON_ERROR or self.partition not in PARTITIONS:
            raise ValueError(f"no such format, on_error or partition: {self}")
        check_with_event(self.format, with_event=self.with_event)


class _StoppedError(Exception):
    """The stream stops, and this batch is not committed."""


def run_stream(
    spark: SparkSession,
    source: EventSource,
    origin: TriggerOrigin,
    triggers: Loaded,
    out: str,
    options: Options,
    observer: Observer,
    stop: threading.Event,
    sink: Sink | None = None,
) -> StreamReport:
    """Runs a stream until `stop` is set, and a batch that has begun by then is done; gives the account of all batches.

    With a `sink` that is no folder pairs are delivered there, and `out` has the rest and the account.

    `triggers` is what `origin` has given first. Each batch is judged by one set of triggers: the one that it was begun
    with, however often it is done again, and otherwise the newest that is sound.

    Raises:
        RunError: TRI601 where there is no such source, TRI602 where the output or the checkpoint is in use or two
            triggers have one id, TRI603 for an evaluation error under "fail", TRI606 where Spark can
            go on no more. The batch that failed is not committed; the next stream begins with it.
        CompileError: where the triggers do not fit the events' columns.
        LayoutError: where the events lack a column that a trigger reads.
    """
    if not is_classic(spark):
        help_ = "run it where the Spark driver is: with --master, or through spark-submit"
        raise RunError("TRI606", "a stream does not run on Spark Connect", "run --stream", help_)
    check_names(triggers.triggers)
    to = sink or Folder(out)
    _check_apart(source, out, options.checkpoint, to)
    if not to.folder:
        options = replace(options, format="parquet", partition="none", with_event=False)
        to.check(spark)
    first = set_of(triggers.triggers, options.on_error)
    rows = source.rows(spark)
    try:
        written = {"format": options.format, "partition": options.partition}
        with Directory(spark, out).held():
            ledger = open_ledger(
                spark,
                out,
                options.checkpoint,
                source.name,
                written,
                with_event=options.with_event,
                overwrite=options.overwrite,
                sink=to,
            )
            stream = _Stream(spark, source, _Live(origin, options, observer, first), ledger, options, observer)
            return stream.run(rows, stop)
    except LayoutError as e:
        if e.diagnostics:
            raise
        raise RunError("TRI601", f"this is no table of events: {e}", source.name) from None
    except SPARK_FAILURES as e:
        raise stream_ended(e) from e


def _check_apart(source: EventSource, out: str, checkpoint: str | None, sink: Sink) -> None:
    """Raises RunError (TRI602) where the stream would read what it writes."""
    for place in (out, checkpoint or out):
        if source.holds(place):
            raise RunError("TRI602", "the stream would read what it writes", place, "choose one outside of the events")
    for store in sorted(source.stores & sink.stores):
        raise RunError("TRI602", "the stream would read what it writes", store, "choose another output")


def _of_triggers(e: BaseException) -> bool:
    """Whether other triggers may do what these have failed to: their filters, or the topics that they name."""
    named = isinstance(e, RunError) and e.diagnostic.code == "TRI619"
    return named or isinstance(e, CompileError | LayoutError | FilterError)


def _told(e: BaseException) -> BaseException:
    """What is told of a batch's failure."""
    match e:
        case Exception() if isinstance(e, SPARK_FAILURES):
            return stream_ended(e)
        case ArithmeticError():
            return RunError("TRI606", "the counts of a batch do not add up", "run --stream", _CHANGED)
        case _:
            return e


@dataclass
class _Live:
    """The set of triggers that the next batch is judged by, kept up to date."""

    origin: TriggerOrigin
    options: Options
    observer: Observer
    current: TriggerSet
    before: TriggerSet | None = None
    proven: tuple[str, tuple[StructType, ...]] | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _trouble: str = ""
    _polled: float = 0.0

    def refresh(self, after: float = 0.0) -> None:
        """Takes up the triggers' present state, unless it was looked at less than so many seconds ago."""
        with self._lock:
            if time.monotonic() - self._polled < after:
                return
            self._polled = time.monotonic()
            try:
                loaded = self.origin.poll()
            except OSError as e:
                self._unreachable(e)
                return
            self._trouble = ""
            if loaded is not None:
                self._consider(loaded)

    def unfit(self, set_: TriggerSet, why: CompileError | LayoutError) -> TriggerSet | None:
        """Goes on from a set that does not fit the events' columns: to one that came meanwhile, else to the one before;
        None where there is none."""
        with self._lock:
            if set_ is not self.current:
                return self.current
            if self.before is None:
                return None
            self.observer.set_refused(why.diagnostics)
            self.current, self.before = self.before, None
            self.observer.set_taken(self.current.hash, len(self.current.triggers))
            return self.current

    def fits(self, set_: TriggerSet, columns: tuple[StructType, ...], *, again: bool = False) -> None:
        """The set has judged a batch of tables of these columns: no going back behind it.

        With `again` the batch was begun with it by an earlier process, and it may not be the triggers' state by now.
        """
        with self._lock:
            if set_ is self.current:
                self.before, self.proven = None, (set_.hash, columns)
            elif self.before is not None and not again:
                self.before = set_

    def _consider(self, loaded: Loaded) -> None:
        if not loaded.sound:
            self.observer.set_refused(loaded.diagnostics)
            return
        try:
            check_names(loaded.triggers)
        except RunError as e:
            self.observer.set_refused((e.diagnostic,))
            return
        set_ = set_of(loaded.triggers, self.options.on_error)
        if loaded.diagnostics:
            self.observer.warned(loaded.diagnostics)
        if set_.hash == self.current.hash:
            return
        self.before = self.before or self.current
        self.current = set_
        self.observer.set_taken(set_.hash, len(set_.triggers))

    def _unreachable(self, e: OSError) -> None:
        """Says once that the triggers cannot be had."""
        where = str(e.filename or "")
        said = f"the triggers cannot be read: {e.strerror or e}"
        if self._trouble != f"{said}{where}":
            self._trouble = f"{said}{where}"
            self.observer.set_refused((RunError("TRI606", said, where or "triggers").diagnostic,))


@dataclass
class _Stream:
    spark: SparkSession
    source: EventSource
    live: _Live
    ledger: Ledger
    options: Options
    observer: Observer
    failure: BaseException | None = None
    _busy: threading.Lock = field(default_factory=threading.Lock)
    _stopping: bool = False

    def run(self, rows: DataFrame, stop: threading.Event) -> StreamReport:
        """Until it is stopped, done or fails."""
        self.observer.began(self.ledger.total)
        self.observer.set_taken(self.live.current.hash, len(self.live.current.triggers))
        writer = rows.writeStream.foreachBatch(self._guarded).option("checkpointLocation", self.ledger.query)
        if self.options.available_now:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{round(self.options.interval * 1000)} milliseconds")
        query = writer.start()
        try:
            self._follow(query, stop)
        finally:
            self._end(query)
        if self.failure is not None:
            raise self.failure
        return self.ledger.total

    def _follow(self, query: Any, stop: threading.Event) -> None:
        try:
            while not stop.is_set() and not query.awaitTermination(_LOOK):
                self.live.refresh(_POLL)
        except PySparkException:
            # Spark tells of a failed batch in its own words; ours are in `failure`.
            if self.failure is None:
                raise

    def _end(self, query: Any) -> None:
        """Stops the query once the batch that has begun is done; a query that has ended is left alone."""
        self._stopping = True
        with self._busy:
            pass
        query.stop()

    def _guarded(self, frame: DataFrame, batch: int) -> None:
        with self._busy:
            if self._stopping:
                raise _StoppedError
            try:
                self._batch(frame, batch)
            except BaseException as e:
                self.failure = _told(e)
                self._abandon(batch if _of_triggers(self.failure) else None)
                # The bridge to Java takes no exception that is not an Exception.
                raise _StoppedError from e

    def _abandon(self, refused: int | None) -> None:
        """Clears what a failed batch left. One whose triggers are at fault may be judged by others next time."""
        try:
            self.ledger.abandon()
            if refused is not None:
                self.ledger.unbegin(refused)
        except SPARK_FAILURES:
            return  # the same trouble; the next process clears it

    def _batch(self, frame: DataFrame, batch: int) -> None:
        if self.ledger.committed(batch):
            return
        began = time.monotonic()
        intended = self.ledger.intended(batch, self.live.current)
        if intended is None:
            self.live.refresh()
        columns = reserved(self.options.format, self.options.partition)
        events = FoundOnce(self.source.events(self.spark, frame, self.observer), columns)
        set_ = intended or self._fitting(events.tables())
        set_.judge.warn = self._warn
        self.ledger.begin(batch, set_)
        session = events.tables()[0].sparkSession
        delivery = Delivery(
            session,
            self.ledger.staging,
            self.options.format,
            partition=self.options.partition,
            with_event=self.options.with_event,
            with_record=self.ledger.sink.with_record,
        )
        report = delivery.stage(set_.judge, events)
        self.ledger.commit(batch, set_, report, folders_of(set_.triggers, self.options.partition))
        self.live.fits(set_, _columns(events.tables()), again=intended is not None)
        self.observer.batch_done(BatchDone(batch, report, self.ledger.total, time.monotonic() - began))

    def _fitting(self, tables: Sequence[DataFrame]) -> TriggerSet:
        """The newest set that fits the tables' columns."""
        set_: TriggerSet | None = self.live.current
        while set_ is not None:
            try:
                set_.judge.warn = self._warn
                if set_.triggers and self.live.proven != (set_.hash, _columns(tables)):
                    for table in tables:
                        set_.judge.pairs(table)
            except (CompileError, LayoutError) as e:
                refused: CompileError | LayoutError = e
                if not e.diagnostics:
                    raise
                set_ = self.live.unfit(set_, e)
            else:
                return set_
        raise refused

    def _warn(self, d: Diagnostic) -> None:
        self.observer.warned((d,))


def _columns(tables: Sequence[DataFrame]) -> tuple[StructType, ...]:
    return tuple(table.schema for table in tables)
