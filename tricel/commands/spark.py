"""Commands around Spark: run, and bundle for its executors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from tricel.compiler import CompileError, Diagnostic, Limits
from tricel.compiler.faults import INTERNAL

from ..account import Account
from ..cluster_triggers import CLUSTER, ClusterChoice, chosen, read_cluster_triggers, selection_options
from ..exits import EXIT_FAILURE, EXIT_FINDINGS, failed, guarded, print_diagnostics, status_of
from ..extras import needs
from ..triggers import STDIN, CompiledTrigger, read_triggers, warning_of_none
from .options import engine_option, limit_option, repeatable
from .places import chosen_places, is_kafka, is_other, place_options, settings
from .stream import StreamChoice, account_of, origin_of, run_stream_command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tricel.spark_backend.places.options import PlaceOptions
    from tricel.spark_backend.run.reports import RunReport


@dataclass(frozen=True)
class RunChoice:
    """What the options of `run` say, checked in one place. Each field is named as its option."""

    triggers: tuple[str, ...]
    cluster: ClusterChoice | None
    events: tuple[str, ...]
    out: str | None
    dry_run: bool
    format: str
    format_given: str
    as_json: bool
    partition_by: str
    with_event: bool
    on_error: str
    overwrite: bool
    master: str | None
    engine: str
    limits: Limits
    stream: StreamChoice
    places: PlaceOptions
    conf: Mapping[str, str]
    account: Account

    @staticmethod
    def of(options: Mapping[str, Any]) -> RunChoice:
        """The choice that the options make."""
        triggers, format_ = options["triggers"], options["format_"]
        return RunChoice(
            cluster=chosen({**options, "triggers": CLUSTER if triggers == (CLUSTER,) else None}),
            format="jsonl" if format_ == "json" else format_,
            format_given=format_,
            as_json=(options["report"] or format_) == "json",
            stream=StreamChoice(
                options["checkpoint"],
                options["available_now"],
                options["max_files_per_batch"],
                options["max_bytes_per_batch"],
                options["interval"],
                options["metrics_host"],
                options["metrics_port"],
            ),
            places=chosen_places(options),
            conf=settings("--conf", options["conf"]),
            account=Account(triggers, options["events"]),
            **{name: options[name] for name in _AS_GIVEN},
        )

    def check(self) -> None:
        """Refuses what no run takes."""
        if CLUSTER in self.triggers and len(self.triggers) > 1 and not os.path.exists(CLUSTER):
            raise click.UsageError(f"--triggers {CLUSTER} stands by itself")
        if self.out == "" or "" in self.events:
            raise click.UsageError(f"the path after --{'out' if self.out == '' else 'events'} is empty")
        if self.with_event and self.format != "parquet":
            raise click.UsageError("--with-event needs --format parquet: JSON Lines hold the event as it came")
        if self.out is not None and is_other(self.out):
            if self.format_given == "jsonl":
                raise click.UsageError("--format jsonl needs an --out that is a folder")
            _without("an --out that is a folder", "partition_by", "with_event")
        if self.out is None or not is_kafka(self.out):
            _without("an --out kafka:TOPIC", "dead_letters", "topic_from")
        if self.with_event and self.dry_run:
            raise click.UsageError("--with-event needs --out: a dry run writes nothing")

    def check_batch(self) -> None:
        """Refuses what only a stream takes."""
        given = {
            "max-records-per-batch": self.places.rate.records,
            "available-now": self.stream.available_now,
            "max-files-per-batch": self.stream.files,
            "max-bytes-per-batch": self.stream.bytes,
            "metrics-port": self.stream.metrics_port is not None,
        }
        if self.stream.checkpoint and (self.out is None or not is_other(self.out)):
            raise click.UsageError("--checkpoint needs --stream, or an --out that is no folder")
        for name, value in given.items():
            if value:
                raise click.UsageError(f"--{name} needs --stream")
        _without("--stream", "interval", "metrics_host")
        if (self.out is None) != self.dry_run:
            raise click.UsageError("give either --out with a place or --dry-run")

    def check_stream(self) -> str:
        """Refuses what a stream does not take; gives the folder that it writes to."""
        if self.out is None or self.dry_run:
            raise click.UsageError("--stream needs --out, and has no --dry-run")
        if len(self.events) != 1:
            raise click.UsageError("--stream takes events from one place")
        if STDIN in self.triggers:
            raise click.UsageError("--stream looks at the triggers again: give files, a folder or 'cluster', not -")
        if self.stream.files and self.stream.bytes:
            raise click.UsageError("give either --max-files-per-batch or --max-bytes-per-batch")
        if self.stream.metrics_port is None:
            _without("--metrics-port", "metrics_host")
        return self.out


_AS_GIVEN = (
    *("triggers", "events", "out", "dry_run", "partition_by", "with_event"),
    *("on_error", "overwrite", "master", "engine", "limits"),
)


def _without(missing: str, *options: str) -> None:
    """Refuses options that do nothing without another one; each has a default, so being given is told by its source."""
    context = click.get_current_context()
    for name in options:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name.replace('_', '-')} needs {missing}")


@click.command()
@repeatable(
    "--triggers",
    "triggers",
    required=True,
    metavar="PATH",
    help="Manifests: file, folder or -; or 'cluster' for the Triggers of a Kubernetes cluster.",
)
@repeatable(
    "--events",
    "events",
    required=True,
    metavar="PLACE",
    help="Events: a file, folder or glob, table:NAME, kafka:TOPIC or delta:PATH; with --stream one",
)
@click.option(
    "--out",
    metavar="PLACE",
    help="Folder for deliveries, errors, quarantine and report.json; or table:NAME, kafka:TOPIC or delta:PATH for deliveries.",
)
@click.option("--dry-run", is_flag=True, help="Count, and write nothing; status 2 where errors would end a run.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["parquet", "jsonl", "json"]),
    default="parquet",
    show_default=True,
    help="How deliveries, errors and quarantine are written; json: as jsonl, and --report json.",
)
@click.option(
    "--report",
    type=click.Choice(["text", "json"]),
    help="How the report is printed; default: text, or what --format says.",
)
@click.option(
    "--partition-by",
    type=click.Choice(["trigger", "subscriber", "none"]),
    default="trigger",
    show_default=True,
    help="What has a folder of its own; with 'none' the deliveries are one table with a column 'trigger'.",
)
@click.option(
    "--with-event",
    is_flag=True,
    help="Give delivered Parquet the columns of errored, too: event (the event as text), error and subexpression.",
)
@click.option(
    "--on-error",
    type=click.Choice(["drop", "deliver", "fail"]),
    default="drop",
    show_default=True,
    help="What becomes of an event on which a filter errs; a trigger's annotation tricel.dev/on-error comes first.",
)
@click.option("--overwrite", is_flag=True, help="Replace what is in the output folder.")
@click.option("--master", metavar="URL", help="Spark master; local[*] when none is set.")
@click.option("--stream", is_flag=True, help="Go on with events that arrive, in batches, until SIGTERM or SIGINT.")
@click.option(
    "--checkpoint",
    metavar="PATH",
    help="With --stream: where it keeps its place; default: OUT/_checkpoint. With an --out that is no folder: the folder of the account.",
)
@click.option("--available-now", is_flag=True, help="With --stream: end when what is there now is done.")
@click.option(
    "--max-files-per-batch", type=click.IntRange(1), metavar="N", help="With --stream: files in a batch; default: 1000."
)
@click.option("--max-bytes-per-batch", type=click.IntRange(1), metavar="N", help="With --stream: instead, bytes.")
@click.option(
    "--interval",
    type=click.FloatRange(0),
    default=1.0,
    show_default=True,
    help="With --stream: the least seconds from batch to batch; --available-now waits for none.",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="With --stream: serve metrics for Prometheus; 0 takes a free port.",
)
@click.option("--metrics-host", default="0.0.0.0", show_default=True, help="The address to serve them on.")
@place_options
@selection_options
@engine_option
@limit_option
@needs("spark", "tricel run")
def run(**options: Any) -> None:
    """Evaluate every trigger over stored events, or over events as they arrive.

    Events are CloudEvents: JSON Lines, a JSON file with one event or a batch, gzip of either, Parquet, a table, or records
    of Kafka in any mode of the binding. --environment makes them records or messages instead, --encoding says how they
    are written.
    Deliveries go to OUT/delivered, one folder for each trigger; events that a filter erred on go to OUT/errors with
    the error, the subexpression and the event as text; what is not a CloudEvent goes to OUT/quarantine with the reason. The counts
    printed at the end add up:

    \b
      read      = malformed + evaluated
      evaluated = delivered + filtered + errored      for every trigger

    With --stream the same is written in a folder for each batch, and triggers that change are taken up. Whatever ends
    it, the same command goes on where it was, and each event is counted once.

    The report is a table on a terminal and aligned text in a pipe. As JSON it also has the version, the start, the
    seconds that it took, the inputs, and every filter; report.json of a run is the same. Progress is shown on a
    terminal only.

    Exit status: 0 to the end, also where events are malformed or filters err, 1 a trigger is wrong, 2 the run could
    not be made or was ended, as by an error under --on-error fail.

    \b
      tricel run --triggers triggers/ --events events/ --out out/
      tricel run --triggers a.yaml --triggers b.yaml --events 'logs/*.jsonl.gz' --dry-run --report json | jq .triggers
      tricel run --triggers triggers/ --events events/ --out out/ --format json --overwrite > report.json
      tricel run --stream --triggers cluster --namespace shop --events incoming/ --out out/
      tricel run --stream --triggers triggers/ --events kafka:orders --out kafka:shop --kafka-bootstrap HOST:9092 --checkpoint state/
    """
    streaming = options.pop("stream")
    choice = RunChoice.of(options)

    def run_it() -> int:
        choice.check()
        return _stream(choice) if streaming else _batch(choice)

    guarded(run_it)


def _stream(choice: RunChoice) -> int:
    out = choice.check_stream()
    told: list[Diagnostic] = []

    def tell(diagnostics: tuple[Diagnostic, ...]) -> None:
        told.extend(d for d in diagnostics if d.code == INTERNAL)
        print_diagnostics(diagnostics, "text", err=True)

    done = run_stream_command(
        origin_of(choice.triggers, choice.cluster, choice.engine, choice.limits, choice.places.environment),
        choice.events[0],
        out,
        choice.stream,
        choice.places,
        format=choice.format,
        partition=choice.partition_by,
        with_event=choice.with_event,
        on_error=choice.on_error,
        overwrite=choice.overwrite,
        master=choice.master,
        conf=choice.conf,
        tell=tell,
        account=choice.account if choice.as_json else None,
    )
    return 0 if done else status_of(tuple(told)) or EXIT_FINDINGS


def _batch(choice: RunChoice) -> int:
    choice.check_batch()
    compiled, diagnostics = _triggers(choice)
    print_diagnostics(diagnostics, "text", err=True)
    if status := status_of(diagnostics):
        return status
    choice.account.filters = compiled
    from tricel.spark_backend.failure import RunError
    from tricel.spark_backend.places.kinds import connectors_of
    from tricel.spark_backend.run import pipeline
    from tricel.spark_backend.run.session import start_session
    from tricel.spark_backend.spark_errors import SPARK_FAILURES, run_ended
    from tricel.spark_backend.sql.layout import LayoutError
    from tricel.spark_backend.storage.files import is_little

    from ..console import print_report

    _look_at_places(choice)
    needed = connectors_of([*choice.events, *([choice.out] if choice.out else [])])
    spark = start_session(
        choice.master,
        choice.conf,
        brief=not needed and is_little(choice.events),
        connectors=needed,
        tell=lambda text: click.echo(text, err=True),
    )
    try:
        report = _evaluated(spark, choice, compiled)
    except CompileError as e:  # filters that do not fit a table's columns
        print_diagnostics(e.diagnostics, "text", err=True)
        return status_of(e.diagnostics)
    except LayoutError as e:
        if e.diagnostics:
            print_diagnostics(e.diagnostics, "text", err=True)
            return EXIT_FAILURE
        raise RunError("TRI601", f"this is no table of events: {e}", ", ".join(choice.events)) from None
    except ArithmeticError:
        help_ = "an event file was changed while it was read; begin again"
        raise RunError("TRI606", "the counts of the run do not add up", "run", help_) from None
    except SPARK_FAILURES as e:
        raise run_ended(e) from e
    finally:
        with suppress(*SPARK_FAILURES):  # Java may be gone
            spark.stop()
    print_report(report, choice.account if choice.as_json else None)
    if choice.out is None:
        pipeline.refuse_errors(compiled, report, choice.on_error)
    return 0


def _triggers(choice: RunChoice) -> tuple[tuple[CompiledTrigger, ...], tuple[Diagnostic, ...]]:
    if choice.cluster is not None:
        return read_cluster_triggers(
            choice.cluster, environment=choice.places.environment, engine=choice.engine, limits=choice.limits
        )
    compiled, diagnostics = read_triggers(
        choice.triggers, environment=choice.places.environment, engine=choice.engine, limits=choice.limits
    )
    return compiled, diagnostics + warning_of_none(compiled, diagnostics, choice.triggers)


def _look_at_places(choice: RunChoice) -> None:
    """Looks at where events come from and where the run writes, as far as that can be told without Spark."""
    from tricel.spark_backend.failure import RunError
    from tricel.spark_backend.places.kinds import check_sink, check_source, sink_of, source_of
    from tricel.spark_backend.places.paths import check_output, names_in
    from tricel.spark_backend.run import pipeline

    check_source(choice.events, choice.places)
    if choice.out is None:
        return
    check_sink(choice.out, choice.places)
    sink = sink_of(choice.out, choice.places)
    out = account_of(sink, choice.stream.checkpoint)
    sources = [source_of([place], choice.places) for place in choice.events]
    if any(source.holds(out) or source.stores & sink.stores for source in sources):
        help_ = "choose one outside of the events, or of a name that begins with '_'"
        raise RunError("TRI602", "the next run would read what this one writes", choice.out, help_)
    check_output(out)
    pipeline.check_unused(names_in(out) or (), out, overwrite=choice.overwrite)


def _evaluated(spark: SparkSession, choice: RunChoice, compiled: tuple[CompiledTrigger, ...]) -> RunReport:
    """The run itself, with its progress on the terminal."""
    from tricel.spark_backend.places.kinds import sink_of, source_of
    from tricel.spark_backend.run import pipeline

    from ..console import progress_bar

    def warn(d: Diagnostic) -> None:
        print_diagnostics((d,), "text", err=True)

    with progress_bar() as progress:
        read = source_of(choice.events, choice.places).batch(spark, warn)
        if choice.out is None:
            return pipeline.dry_run(spark, compiled, read, on_error=choice.on_error, progress=progress, warn=warn)
        sink = sink_of(choice.out, choice.places)
        return pipeline.run(
            spark,
            compiled,
            read,
            account_of(sink, choice.stream.checkpoint),
            format=choice.format,
            partition=choice.partition_by,
            with_event=choice.with_event,
            on_error=choice.on_error,
            overwrite=choice.overwrite,
            progress=progress,
            told=choice.account.told,
            warn=warn,
            sink=sink,
        )


@click.command()
@click.option("--out", metavar="FILE", help="A ZIP archive of tricel's modules, for --py-files.")
@click.option("--environment", metavar="FILE", help="A .tar.gz of all that a worker needs, for spark.archives.")
@click.option("--python", metavar="PATH", default="", help="Where executors have Python; default: where it is here.")
@needs("spark", "tricel bundle")
def bundle(out: str | None, environment: str | None, python: str) -> None:
    """Write what Spark's executors need of tricel, as files that Spark sends them.

    An archive of modules brings tricel and what of its needs is pure Python. Compiled packages (google-re2,
    cel-expr-python, pandas, pyarrow) cannot be imported from an archive: where the executors lack them, send an
    environment.

    Exit status: 0 they are written, 2 they cannot be.

    \b
      tricel bundle --out tricel-bundle.zip
        spark-submit --py-files tricel-bundle.zip job.py
      tricel bundle --environment environment.tar.gz
        PYSPARK_PYTHON=./environment/bin/python spark-submit --archives environment.tar.gz#environment job.py
    """
    guarded(lambda: _bundle(out, environment, python))


def _bundle(out: str | None, environment: str | None, python: str) -> int:
    from pathlib import Path

    from ..bundle import NotPackedError, write_bundle, write_environment

    if not out and not environment:
        raise click.UsageError("give --out, or --environment, or both")
    for file, suffix in ((out, ".zip"), (environment, ".tar.gz")):
        if file and not file.endswith(suffix):
            raise click.UsageError(f"Spark tells what a file is by its name: '{file}' must end in '{suffix}'")
    if python and not environment:
        raise click.UsageError("--python needs --environment")
    if python and not python.startswith("/"):
        raise click.UsageError("--python needs an absolute path")
    try:
        if out:
            click.echo(f"{out}: {write_bundle(Path(out))} modules")
        if environment:
            click.echo(f"{environment}: {write_environment(Path(environment), python)} distributions")
    except NotPackedError as e:
        return failed(e)
    return 0


COMMANDS: tuple[click.Command, ...] = (run, bundle)
