"""Commands around Spark: run, and bundle for its executors."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

import click
from click.core import ParameterSource

from tricel.compiler import CompileError, Limits, errors

from .cluster_triggers import CLUSTER, ClusterChoice, chosen, read_cluster_triggers, selection_options
from .exits import EXIT_FINDINGS, failed, guarded, print_diagnostics
from .options import engine_option, limit_option
from .stream_command import StreamChoice, origin_of, run_stream_command
from .triggers import STDIN, read_triggers, warning_of_none


@click.command()
@click.option(
    "--triggers",
    "triggers",
    required=True,
    multiple=True,
    metavar="PATH",
    help="Manifests: file, folder or -; or 'cluster' for the Triggers of a Kubernetes cluster.",
)
@click.option(
    "--events",
    "events",
    required=True,
    multiple=True,
    metavar="PATH",
    help="Events: file, folder or glob. With --stream: a folder, a glob, or table:NAME.",
)
@click.option("--out", metavar="PATH", help="Folder for deliveries, errors, quarantine and report.json.")
@click.option("--dry-run", is_flag=True, help="Count, and write nothing; status 2 where errors would end a run.")
@click.option("--format", "format_", type=click.Choice(["parquet", "jsonl"]), default="parquet", show_default=True)
@click.option(
    "--partition-by",
    type=click.Choice(["trigger", "subscriber", "none"]),
    default="trigger",
    show_default=True,
    help="What has a folder of its own; with 'none' the deliveries are one table with a column 'trigger'.",
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
@click.option("--checkpoint", metavar="PATH", help="With --stream: where it keeps its place; default: OUT/_checkpoint.")
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
@selection_options
@engine_option
@limit_option
def run(
    triggers: tuple[str, ...],
    events: tuple[str, ...],
    out: str | None,
    dry_run: bool,
    format_: str,
    partition_by: str,
    on_error: str,
    overwrite: bool,
    master: str | None,
    stream: bool,
    checkpoint: str | None,
    available_now: bool,
    max_files_per_batch: int | None,
    max_bytes_per_batch: int | None,
    interval: float,
    metrics_port: int | None,
    metrics_host: str,
    engine: str,
    limits: Limits,
    **cluster: Any,
) -> None:
    """Evaluate every trigger over stored events, or over events as they arrive.

    Events are CloudEvents: JSON Lines, a JSON file with one event or a batch, gzip of either, or Parquet tables.
    Deliveries go to OUT/delivered, one folder for each trigger; events that a filter erred on go to OUT/errors with
    the error and the subexpression; what is not a CloudEvent goes to OUT/quarantine with the reason. The counts
    printed at the end add up:

    \b
      read      = malformed + evaluated
      evaluated = delivered + filtered + errored      for every trigger

    With --stream the same is written in a folder for each batch, and triggers that change are taken up. Whatever ends
    it, the same command goes on where it was, and each event is counted once.
    """
    source = chosen({**cluster, "triggers": CLUSTER if triggers == (CLUSTER,) else None})
    choice = StreamChoice(
        checkpoint, available_now, max_files_per_batch, max_bytes_per_batch, interval, metrics_host, metrics_port
    )
    if out == "" or "" in events:
        raise click.UsageError(f"the path after --{'out' if out == '' else 'events'} is empty")
    if not stream:
        _only_with_stream(choice)
        _without("--stream", "interval", "metrics_host")
        if (out is None) != dry_run:
            raise click.UsageError("give either --out with a folder or --dry-run")
        guarded(
            lambda: _run(
                triggers, source, events, out, format_, partition_by, on_error, overwrite, master, engine, limits
            )
        )
    if out is None or dry_run:
        raise click.UsageError("--stream needs --out with a folder, and has no --dry-run")
    if len(events) != 1:
        raise click.UsageError("--stream takes events from one place")
    if STDIN in triggers:
        raise click.UsageError("--stream looks at the triggers again: give files, a folder or 'cluster', not -")
    if max_files_per_batch and max_bytes_per_batch:
        raise click.UsageError("give either --max-files-per-batch or --max-bytes-per-batch")
    if metrics_port is None:
        _without("--metrics-port", "metrics_host")

    def command() -> int:
        done = run_stream_command(
            origin_of(triggers, source, engine, limits),
            events[0],
            out,
            choice,
            format=format_,
            partition=partition_by,
            on_error=on_error,
            overwrite=overwrite,
            master=master,
            tell=lambda diagnostics: print_diagnostics(diagnostics, "text", err=True),
        )
        return 0 if done else EXIT_FINDINGS

    guarded(command)


def _only_with_stream(choice: StreamChoice) -> None:
    given = {
        "checkpoint": choice.checkpoint,
        "available-now": choice.available_now,
        "max-files-per-batch": choice.files,
        "max-bytes-per-batch": choice.bytes,
        "metrics-port": choice.metrics_port is not None,
    }
    for name, value in given.items():
        if value:
            raise click.UsageError(f"--{name} needs --stream")


def _without(missing: str, *options: str) -> None:
    """Refuses options that do nothing without another one; each has a default, so being given is told by its source."""
    context = click.get_current_context()
    for name in options:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name.replace('_', '-')} needs {missing}")


def _run(
    triggers: tuple[str, ...],
    source: ClusterChoice | None,
    events: tuple[str, ...],
    out: str | None,
    format_: str,
    partition: str,
    on_error: str,
    overwrite: bool,
    master: str | None,
    engine: str,
    limits: Limits,
) -> int:
    if source is not None:
        compiled, diagnostics = read_cluster_triggers(source, engine=engine, limits=limits)
    else:
        compiled, diagnostics = read_triggers(triggers, engine=engine, limits=limits)
        diagnostics += warning_of_none(compiled, diagnostics, triggers)
    print_diagnostics(diagnostics, "text", err=True)
    if errors(diagnostics):
        return EXIT_FINDINGS
    from tricel.spark_backend import pipeline
    from tricel.spark_backend.causes import SPARK_FAILURES, run_ended
    from tricel.spark_backend.events import find_events
    from tricel.spark_backend.failure import RunError
    from tricel.spark_backend.files import is_little
    from tricel.spark_backend.layout import LayoutError
    from tricel.spark_backend.session import start_session
    from tricel.spark_backend.streaming.sources import Files

    from .console import print_report, progress_bar

    if out is not None and any(Files(path).holds(out) for path in events):
        help_ = "choose one outside of the events, or of a name that begins with '_'"
        raise RunError("TRI602", "the next run would read what this one writes", out, help_)
    # An interrupt while Java is asked, and a Java that is gone, are exceptions that Spark's bridge logs with tracebacks,
    # some of them by the root's logger.
    logging.getLogger().addHandler(logging.NullHandler())
    spark = start_session(master, brief=is_little(events))
    try:
        with progress_bar() as progress:
            read = find_events(spark, list(events), warn=lambda d: print_diagnostics((d,), "text", err=True))
            if out is None:
                report = pipeline.dry_run(spark, compiled, read, on_error=on_error, progress=progress)
            else:
                report = pipeline.run(
                    spark,
                    compiled,
                    read,
                    out,
                    format=format_,
                    partition=partition,
                    on_error=on_error,
                    overwrite=overwrite,
                    progress=progress,
                )
    except CompileError as e:  # filters that do not fit a table's columns
        print_diagnostics(e.diagnostics, "text", err=True)
        return EXIT_FINDINGS
    except LayoutError as e:
        raise RunError("TRI601", f"this is no table of events: {e}", ", ".join(events)) from None
    except ArithmeticError:
        help_ = "an event file was changed while it was read; begin again"
        raise RunError("TRI606", "the counts of the run do not add up", "run", help_) from None
    except SPARK_FAILURES as e:
        raise run_ended(e) from e
    finally:
        with suppress(*SPARK_FAILURES):  # Java may be gone
            spark.stop()
    print_report(report)
    if out is None:
        pipeline.refuse_errors(compiled, report, on_error)
    return 0


@click.command()
@click.option("--out", metavar="FILE", help="A ZIP archive of tricel's modules, for --py-files.")
@click.option("--environment", metavar="FILE", help="A .tar.gz of all that a worker needs, for spark.archives.")
@click.option("--python", metavar="PATH", default="", help="Where executors have Python; default: where it is here.")
def bundle(out: str | None, environment: str | None, python: str) -> None:
    """Write what Spark's executors need of tricel, as files that Spark sends them.

    An archive of modules brings tricel and what of its needs is pure Python. Compiled packages (google-re2,
    cel-expr-python, pandas, pyarrow) cannot be imported from an archive: where the executors lack them, send an
    environment.

    \b
      tricel bundle --out tricel-bundle.zip
        spark-submit --py-files tricel-bundle.zip job.py
      tricel bundle --environment environment.tar.gz
        PYSPARK_PYTHON=./environment/bin/python spark-submit --archives environment.tar.gz#environment job.py
    """
    guarded(lambda: _bundle(out, environment, python))


def _bundle(out: str | None, environment: str | None, python: str) -> int:
    from pathlib import Path

    from .bundle import NotPackedError, write_bundle, write_environment

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
