"""`tricel run --stream`: a stream with signals, progress and metrics around it."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType

from tricel.compiler import CompileError, Diagnostic, Limits
from tricel.compiler.limits import DEFAULT
from tricel.spark_backend.engines import DEFAULT_ENGINE

from .cluster_triggers import ClusterChoice
from .origins import ClusterOrigin, FileOrigin

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


def origin_of(
    paths: tuple[str, ...], cluster: ClusterChoice | None, engine: str = DEFAULT_ENGINE, limits: Limits = DEFAULT
) -> FileOrigin | ClusterOrigin:
    """Where the triggers come from: the cluster that was chosen, or files."""
    return FileOrigin(paths, engine, limits) if cluster is None else ClusterOrigin(cluster, engine, limits)


def run_stream_command(
    origin: FileOrigin | ClusterOrigin,
    events: str,
    out: str,
    choice: StreamChoice,
    *,
    format: str,  # noqa: A002
    partition: str,
    on_error: str,
    overwrite: bool,
    master: str | None,
    tell: Tell,
) -> bool:
    """Runs a stream until it is done, or SIGTERM or SIGINT comes; prints its account. False where a trigger is wrong.

    `tell` is given the diagnostics of triggers, at the beginning and when they change.

    Raises:
        RunError: see `run_stream`.
        OSError: where the triggers cannot be read at the beginning.
    """
    loaded = origin.poll()
    assert loaded is not None, "the first look always gives the triggers"
    tell(loaded.diagnostics)
    if not loaded.sound:
        return False
    from tricel.spark_backend.causes import SPARK_FAILURES
    from tricel.spark_backend.session import start_session
    from tricel.spark_backend.streaming.metrics import Metrics
    from tricel.spark_backend.streaming.observers import Observer, several
    from tricel.spark_backend.streaming.sources import Files, Rate, source_of
    from tricel.spark_backend.streaming.stream import Options, run_stream

    from .console import StreamConsole, print_report

    # A batch that fails or is not begun any more is an exception that Spark's bridge logs with its traceback.
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    console = StreamConsole(tell)
    observers: list[Observer] = [console]
    if choice.metrics_port is not None:
        metrics = Metrics()
        port = metrics.serve(choice.metrics_host, choice.metrics_port)
        console.say(f"metrics are served on http://{choice.metrics_host}:{port}/metrics")
        observers.append(metrics)
    spark = start_session(master)
    stop = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        source = source_of(events, Rate(choice.files, choice.bytes))
        if isinstance(source, Files):
            console.left_out(source.hidden((out, choice.checkpoint or out)))
        options = Options(
            choice.checkpoint, format, on_error, partition, choice.available_now, choice.interval, overwrite
        )
        report = run_stream(spark, source, origin, loaded, out, options, several(observers), stop)
    except CompileError as e:  # filters that do not fit a table's columns
        tell(e.diagnostics)
        return False
    finally:
        with suppress(*SPARK_FAILURES):  # Java may have been killed
            spark.stop()
        for number, handler in before.items():
            signal.signal(number, handler)
    print_report(report)
    return True
