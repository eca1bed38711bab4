"""The command line: run, compile, lint, eval, bundle and rule."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import click

from tricel.compiler import CODES, CompileError, Diagnostic, errors
from tricel.compiler.diagnostics import Severity
from tricel.spark_backend.engines import DEFAULT_ENGINE, ENGINES

from .cluster_commands import COMMANDS
from .cluster_triggers import (
    CLUSTER,
    ClusterChoice,
    chosen,
    cluster_options,
    read_cluster_triggers,
    selection_options,
)
from .stream_command import StreamChoice, origin_of, run_stream_command
from .triggers import STDIN

EXIT_FINDINGS = 1
EXIT_FAILURE = 2

_engine = click.option(
    "--engine",
    type=click.Choice(sorted(ENGINES)),
    default=DEFAULT_ENGINE,
    show_default=True,
    help="What evaluates the parts of a filter that Spark cannot.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="tricel")
def main() -> None:
    """Compile event filters and run them on Apache Spark.

    A filter may be CEL or any form that a Knative Trigger takes. tricel turns it into one CEL expression, checks it,
    and runs it as Spark SQL wherever that means exactly the same.

    \b
    Check manifests before they are merged:   tricel lint triggers/
    See the CEL and the SQL of a filter:      tricel compile -e 'ce.type == "order.created"'
    Try a filter on events, without Spark:    tricel eval -e 'data.total > 100.0' < events.jsonl
    Run every trigger over stored events:     tricel run --triggers triggers/ --events events/ --out out/
    Go on with events that arrive:            tricel run --stream --triggers triggers/ --events in/ --out out/
    What a diagnostic means:                  tricel rule TRI204
    Refuse bad filters in a cluster:          tricel webhook --certificate tls.crt --key tls.key
    Give Spark's executors what they need:    tricel bundle --out tricel-bundle.zip
    """


for command in COMMANDS:
    main.add_command(command)


@main.command()
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
@click.option("--dry-run", is_flag=True, help="Count, and write nothing.")
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
    help="With --stream: the least seconds from batch to batch.",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="With --stream: serve metrics for Prometheus; 0 takes a free port.",
)
@click.option("--metrics-host", default="0.0.0.0", show_default=True, help="The address to serve them on.")
@selection_options
@_engine
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
    if not stream:
        _only_with_stream(choice)
        if (out is None) != dry_run:
            raise click.UsageError("give either --out with a folder or --dry-run")
        _guarded(
            lambda: _run(triggers, source, events, out, format_, partition_by, on_error, overwrite, master, engine)
        )
    if out is None or dry_run:
        raise click.UsageError("--stream needs --out with a folder, and has no --dry-run")
    if len(events) != 1:
        raise click.UsageError("--stream takes events from one place")
    if STDIN in triggers:
        raise click.UsageError("--stream looks at the triggers again: give files, a folder or 'cluster', not -")
    if max_files_per_batch and max_bytes_per_batch:
        raise click.UsageError("give either --max-files-per-batch or --max-bytes-per-batch")

    def command() -> int:
        done = run_stream_command(
            origin_of(triggers, source, engine),
            events[0],
            out,
            choice,
            format=format_,
            partition=partition_by,
            on_error=on_error,
            overwrite=overwrite,
            master=master,
            tell=lambda diagnostics: _report(diagnostics, "text", err=True),
        )
        return 0 if done else EXIT_FINDINGS

    _guarded(command)


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
) -> int:
    from tricel.triggers import read_triggers

    if source is not None:
        compiled, diagnostics = read_cluster_triggers(source, engine=engine)
    else:
        compiled, diagnostics = read_triggers(triggers, engine=engine)
    _report(diagnostics, "text", err=True)
    if errors(diagnostics):
        return EXIT_FINDINGS
    from tricel.spark_backend import pipeline
    from tricel.spark_backend.events import read_events
    from tricel.spark_backend.session import start_session

    from .console import print_report, progress_bar

    spark = start_session(master)
    try:
        with progress_bar() as progress:
            read = read_events(spark, list(events), warn=lambda d: _report((d,), "text", err=True))
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
    finally:
        spark.stop()
    print_report(report)
    return 0


@main.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("-e", "--expression", metavar="CEL", help="A CEL expression instead of manifests.")
@click.option("--format", "format_", type=click.Choice(["sql", "cel", "json"]), default="sql", show_default=True)
@click.option("--plan", is_flag=True, help="Show how a run evaluates all the filters together, and why.")
@cluster_options
@_engine
def compile(  # noqa: A001
    paths: tuple[str, ...], expression: str | None, format_: str, plan: bool, engine: str, **cluster: Any
) -> None:
    """Show the CEL and the Spark SQL that filters become. Spark is not started.

    The SQL is for flat attribute columns, an `extensions` map and `data` as JSON text. What Spark cannot evaluate
    exactly is shown as a comment, with the reason.

    With --plan: whether the filters are conditions on every event or found by keys, what an event is asked, the
    shapes that filters share, which filters are tried on every event, and what goes to the fallback.

    \b
      tricel compile -e 'ce.type == "order.created" && data.total > 100.0'
      tricel compile triggers/ --format json
      tricel compile --plan triggers/
      kubectl get triggers -o yaml | tricel compile -
    """
    if plan and format_ != "sql":
        raise click.UsageError("--plan is text: leave out --format")
    _guarded(lambda: _compile(paths, expression, "plan" if plan else format_, engine, chosen(cluster)))


def _compile(
    paths: tuple[str, ...], expression: str | None, format_: str, engine: str, cluster: ClusterChoice | None
) -> int:
    named, diagnostics = _filters(paths, expression, engine, cluster)
    _report(diagnostics, "text", err=True)
    from tricel.spark_backend.preview import as_json, planned, preview

    match format_:
        case "json":
            click.echo(json.dumps([{"trigger": n, **as_json(f)} for n, f in named], indent=2))
        case "cel":
            for _, f in named:
                click.echo(f.cel)
        case "plan":
            click.echo(planned(named))
        case _:
            click.echo("\n".join((f"-- Trigger: {n}\n" if n else "") + preview(f) for n, f in named), nl=False)
    return EXIT_FINDINGS if errors(diagnostics) else 0


@main.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("-e", "--expression", metavar="CEL", help="A CEL expression instead of manifests.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "concise", "json", "github", "sarif"]),
    default="text",
    show_default=True,
)
@click.option("--strict", is_flag=True, help="Warnings count as findings.")
@click.option(
    "--write-status", is_flag=True, help="With --triggers cluster: tell each tricel.dev Trigger in its status."
)
@click.option(
    "--write-events", is_flag=True, help="With --triggers cluster: make an Event about each Trigger with an error."
)
@cluster_options
@_engine
def lint(
    paths: tuple[str, ...],
    expression: str | None,
    format_: str,
    strict: bool,
    write_status: bool,
    write_events: bool,
    engine: str,
    **cluster: Any,
) -> None:
    """Report everything that is wrong with filters, each with its place and how to mend it.

    Exit status: 0 nothing found, 1 findings, 2 the check could not be made.

    \b
      tricel lint triggers/
      tricel lint --format github triggers/ more.yaml
      tricel lint --triggers cluster --namespace shop
    """
    _guarded(lambda: _lint(paths, expression, format_, strict, engine, chosen(cluster), write_status, write_events))


def _lint(
    paths: tuple[str, ...],
    expression: str | None,
    format_: str,
    strict: bool,
    engine: str,
    cluster: ClusterChoice | None,
    write_status: bool,
    write_events: bool,
) -> int:
    for option, given in (("--write-status", write_status), ("--write-events", write_events)):
        if given and cluster is None:
            raise click.UsageError(f"{option} needs --triggers cluster")
    named, diagnostics = _filters(paths, expression, engine, cluster, report=write_status, events=write_events)
    _report(diagnostics, format_)
    bad = sum(d.severity is Severity.ERROR for d in diagnostics)
    warned = len(diagnostics) - bad
    if format_ == "text":
        click.echo(f"{len(named)} filters compiled, {bad} errors, {warned} warnings", err=True)
    return EXIT_FINDINGS if bad or (strict and warned) else 0


@main.command(name="eval")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("-e", "--expression", metavar="CEL", help="A CEL expression instead of manifests.")
@_engine
def evaluate(paths: tuple[str, ...], expression: str | None, engine: str) -> None:
    """Print the events on standard input that match; the counts go to standard error. Spark is not started.

    Standard input is JSON Lines, one CloudEvent a line. With manifests an event is printed when any trigger matches.

    \b
      tricel eval -e 'ce.subject.startsWith("42")' < events.jsonl
      zcat events.jsonl.gz | tricel eval triggers/orders.yaml | jq .id
    """
    _guarded(lambda: _eval(paths, expression, engine))


def _eval(paths: tuple[str, ...], expression: str | None, engine: str) -> int:
    named, diagnostics = _filters(paths, expression, engine)
    _report(diagnostics, "text", err=True)
    if errors(diagnostics):
        return EXIT_FINDINGS
    from .evaluate import evaluate_lines

    counts = evaluate_lines([f for _, f in named], engine, sys.stdin.buffer, lambda line: click.echo(line, nl=False))
    click.echo(str(counts), err=True)
    return 0


@main.command()
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
    _guarded(lambda: _bundle(out, environment, python))


def _bundle(out: str | None, environment: str | None, python: str) -> int:
    from pathlib import Path

    from .bundle import NotPackedError, write_bundle, write_environment

    if not out and not environment:
        raise click.UsageError("give --out, or --environment, or both")
    for file, suffix in ((out, ".zip"), (environment, ".tar.gz")):
        if file and not file.endswith(suffix):
            raise click.UsageError(f"Spark tells what a file is by its name: '{file}' must end in '{suffix}'")
    if python and not python.startswith("/"):
        raise click.UsageError("--python needs an absolute path")
    try:
        if out:
            click.echo(f"{out}: {write_bundle(Path(out))} modules")
        if environment:
            click.echo(f"{environment}: {write_environment(Path(environment), python)} distributions")
    except NotPackedError as e:
        click.echo(f"error: {e}", err=True)
        return EXIT_FAILURE
    return 0


@main.command()
@click.argument("code", required=False)
def rule(code: str | None) -> None:
    """Explain a diagnostic code, or list them all."""
    if code is None:
        for name, row in sorted(CODES.items()):
            click.echo(f"{name}  {row.severity:8} {row.title}")
        return
    if code.upper() not in CODES:
        click.echo(f"there is no code '{code}'; `tricel rule` lists them", err=True)
        sys.exit(EXIT_FAILURE)
    row = CODES[code.upper()]
    click.echo(f"{code.upper()} ({row.severity}): {row.title}\n\n{row.explanation}")


def _filters(
    paths: tuple[str, ...],
    expression: str | None,
    engine: str,
    cluster: ClusterChoice | None = None,
    *,
    report: bool = False,
    events: bool = False,
) -> tuple[list[tuple[str, Any]], tuple[Diagnostic, ...]]:
    """The filters that compile, named, and every diagnostic."""
    from . import compile_filter
    from .triggers import read_triggers

    if bool(paths) + (expression is not None) + (cluster is not None) != 1:
        raise click.UsageError("give either paths of manifests, or -e with an expression, or --triggers cluster")
    if cluster is not None:
        triggers, diagnostics = read_cluster_triggers(cluster, engine=engine, report=report, events=events)
        return [(t.id, t.compiled) for t in triggers], diagnostics
    if expression is None:
        triggers, diagnostics = read_triggers(paths, engine=engine)
        return [(t.id, t.compiled) for t in triggers], diagnostics
    try:
        compiled = compile_filter(expression, engine=engine, label="<expression>")
    except CompileError as e:
        return [], e.diagnostics
    return [("", compiled)], compiled.diagnostics


def _report(diagnostics: tuple[Diagnostic, ...], format_: str, *, err: bool = False) -> None:
    from importlib import import_module

    if not diagnostics and format_ in ("text", "concise", "github"):
        return
    render: Callable[[tuple[Diagnostic, ...]], str] = import_module(f"tricel.compiler.diagnostics.as_{format_}").render
    click.echo(render(diagnostics), err=err)


def _guarded(command: Callable[[], int]) -> None:
    """Ends the process with the command's status; what is wrong outside it is one line, not a traceback."""
    from tricel.spark_backend.failure import RunError

    try:
        status = command()
    except RunError as e:
        _report((e.diagnostic,), "text", err=True)
        status = EXIT_FAILURE
    except BrokenPipeError:
        status = 0
    except OSError as e:
        where = f": {e.filename}" if e.filename else ""
        click.echo(f"error: {e.strerror or e}{where}", err=True)
        status = EXIT_FAILURE
    sys.exit(status)
