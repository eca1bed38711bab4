"""`tricel run --stream`: a stream with signals, progress and metrics around it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING

import click

from tricel.compiler import CLOUD_EVENT, CompileError, Diagnostic, Environment, Limits
from tricel.compiler.limits import DEFAULT
from tricel.spark_backend.engines import DEFAULT_ENGINE
from tricel.spark_backend.places.options import PlaceOptions
from tricel.spark_backend.run.streaming.origins import Loaded

from ..account import Account
from ..cluster_triggers import ClusterChoice
from ..origins import ClusterOrigin, FileOrigin
from ..triggers import CompiledTrigger

if TYPE_CHECKING:
    from tricel.spark_backend.places.model import Sink
    from tricel.spark_backend.run.reports import StreamReport
    from tricel.spark_backend.run.streaming.observers import BatchDone

Tell = Callable[[tuple[Diagnostic, ...]], None]


@dataclass(frozen=True, slots=True)
class StreamChoice:
    """What the options of `--stream` say. Sizes are per batch, the interval is in seconds, port 0 takes a free one."""

    checkpoint: str | None
    available_now: bool
    files: int | None
    bytes: int | None
    interval: float
    metrics_host: str
    metrics_port: int | None


@dataclass
class Followed:
    """An origin of triggers that knows which of those that it gave are in force, since it is told what the stream takes up.

    Sets are known by their hashes, as long as the stream may take them up or go back to them.
    """

    origin: FileOrigin | ClusterOrigin
    loaded: Loaded
    on_error: str
    _known: dict[str, Loaded] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._keep(self.loaded)

    def poll(self) -> Loaded | None:
        """As the origin's own."""
        found = self.origin.poll()
        if found is not None and found.sound:
            self._keep(found)
        return found

    def _keep(self, found: Loaded) -> None:
        from tricel.spark_backend.run.streaming.sets import set_of

        name = set_of(found.triggers, self.on_error).hash
        with self._lock:
            if self._known.get(name) is self.loaded:  # the same triggers, which may stand elsewhere now
                self.loaded = found
            self._known.pop(name, None)
            self._known[name] = found

    @property
    def triggers(self) -> tuple[CompiledTrigger, ...]:
        """The triggers that the stream took up last."""
        return tuple(t for t in self.loaded.triggers if isinstance(t, CompiledTrigger))

    def set_taken(self, set_: str, triggers: int) -> None:
        """What came after it has been refused."""
        with self._lock:
            if set_ in self._known:
                self.loaded = self._known[set_]
                names = list(self._known)
                self._known = {n: self._known[n] for n in names[: names.index(set_) + 1]}

    def batch_done(self, done: BatchDone) -> None:
        """There is no going back behind the set that has judged a batch."""
        with self._lock:
            names = list(self._known)
            if done.total.set in names:
                self._known = {n: self._known[n] for n in names[names.index(done.total.set) :]}

    def began(self, total: StreamReport) -> None:
        """Is told nothing by it."""

    def set_refused(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        """Is told nothing by it."""

    def warned(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        """Is told nothing by it."""


def origin_of(
    paths: tuple[str, ...],
    cluster: ClusterChoice | None,
    engine: str = DEFAULT_ENGINE,
    limits: Limits = DEFAULT,
    environment: Environment = CLOUD_EVENT,
) -> FileOrigin | ClusterOrigin:
    """Where the triggers come from: the cluster that was chosen, or files."""
    if cluster is None:
        return FileOrigin(paths, engine, limits, environment)
    return ClusterOrigin(cluster, engine, limits, environment)


def account_of(sink: Sink, checkpoint: str | None) -> str:
    """The folder of a run's account: the output itself, or the checkpoint where the output is no folder.

    Raises UsageError where there is none.
    """
    if sink.folder:
        return sink.folder
    if not checkpoint:
        raise click.UsageError(
            f"--out {sink.name} needs --checkpoint with a folder, for the account, errors and quarantine"
        )
    return checkpoint


def run_stream_command(
    origin: FileOrigin | ClusterOrigin,
    events: str,
    out: str,
    choice: StreamChoice,
    places: PlaceOptions,
    *,
    format: str,  # noqa: A002
    partition: str,
    with_event: bool,
    on_error: str,
    overwrite: bool,
    master: str | None,
    conf: Mapping[str, str],
    tell: Tell,
    account: Account | None = None,
) -> bool:
    """Runs a stream until it is done, or SIGTERM or SIGINT comes; prints its report. False where a trigger is wrong.

    With an `account` the report is JSON; its filters are the triggers that the stream took up last. `tell` is given the diagnostics of triggers, at the beginning and when they change.

    Raises:
        RunError: see `run_stream`.
        OSError: where the triggers cannot be read at the beginning.
    """
    loaded = origin.poll()
    assert loaded is not None, "the first look always gives the triggers"
    tell(loaded.diagnostics)
    if not loaded.sound:
        return False
    from tricel.spark_backend.places.files import Files
    from tricel.spark_backend.places.kinds import check_sink, check_source, connectors_of, sink_of, source_of
    from tricel.spark_backend.places.paths import check_output
    from tricel.spark_backend.run.session import start_session
    from tricel.spark_backend.run.streaming.metrics import Metrics
    from tricel.spark_backend.run.streaming.observers import Observer, several
    from tricel.spark_backend.run.streaming.stream import Options, run_stream
    from tricel.spark_backend.spark_errors import SPARK_FAILURES
    from tricel.spark_backend.sql.layout import LayoutError

    from ..console import StreamConsole, print_report

    check_source((events,), places, stream=True)
    check_sink(out, places)
    sink = sink_of(out, places)
    folder = account_of(sink, choice.checkpoint)
    memory = choice.checkpoint if sink.folder else None
    check_output(memory or folder)
    console = StreamConsole(tell)
    observers: list[Observer] = [console]
    if choice.metrics_port is not None:
        metrics = Metrics()
        port = metrics.serve(choice.metrics_host, choice.metrics_port)
        console.say(f"metrics are served on http://{choice.metrics_host}:{port}/metrics")
        observers.append(metrics)
    spark = start_session(master, conf, connectors=connectors_of((events, out)), tell=console.say)
    stop = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        source = source_of((events,), places)
        if isinstance(source, Files):
            console.left_out(source.hidden((folder, memory or folder)))
        options = Options(
            memory, format, on_error, partition, choice.available_now, choice.interval, overwrite, with_event
        )
        followed = Followed(origin, loaded, on_error)
        observers.append(followed)
        report = run_stream(spark, source, followed, loaded, folder, options, several(observers), stop, sink)
    except (CompileError, LayoutError) as e:  # filters that do not fit a table's columns
        tell(e.diagnostics)
        return False
    finally:
        with suppress(*SPARK_FAILURES):  # Java may have been killed
            spark.stop()
        for number, handler in before.items():
            signal.signal(number, handler)
    if account is not None:
        account.filters = followed.triggers
    print_report(report, account)
    return True
