"""Commands that read filters and start no Spark: compile, lint, eval and rule."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import Any

import click

from tricel.compiler import CLOUD_EVENT, CODES, CompileError, Diagnostic, Environment, Limits
from tricel.compiler.diagnostics import Severity, in_order
from tricel.compiler.dialects import dialect_named
from tricel.compiler.versions import LANGUAGES

from ..cluster_triggers import ClusterChoice, chosen, cluster_options, read_cluster_triggers
from ..exits import EXIT_FAILURE, EXIT_FINDINGS, guarded, print_diagnostics, status_of
from ..triggers import STDIN
from .options import (
    chosen_environment,
    dialect_option,
    engine_option,
    environment_options,
    evaluator_option,
    expression_option,
    language_option,
    limit_option,
    repeatable,
    target_option,
)


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a command's filters come from: manifests, an expression of a dialect, or a cluster.

    `target` is what manifests are for, `language` the version that every filter is taken for, `environment` what an expression is about.
    """

    paths: tuple[str, ...] = ()
    expression: str | None = None
    dialect: str | None = None
    cluster: ClusterChoice | None = None
    target: str = ""
    language: str | None = None
    ignoring: bool = False
    environment: Environment = CLOUD_EVENT


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@expression_option
@dialect_option
@click.option("--format", "format_", type=click.Choice(["sql", "cel", "json"]), default="sql", show_default=True)
@environment_options
@target_option
@language_option
@click.option("--plan", is_flag=True, help="Show how a run evaluates all the filters together, and why.")
@cluster_options
@engine_option
@limit_option
def compile(  # noqa: A001
    paths: tuple[str, ...],
    expression: str | None,
    dialect: str | None,
    format_: str,
    environment: str,
    decodings: tuple[str, ...],
    target: str | None,
    language: str | None,
    plan: bool,
    engine: str,
    limits: Limits,
    **cluster: Any,
) -> None:
    """Show the CEL and the Spark SQL that filters become. Spark is not started.

    The SQL is for flat attribute columns, an `extensions` map and `data` as JSON text, or with --environment for the
    columns of Spark's Kafka source, or EMQX's. What Spark cannot evaluate exactly is shown as a comment, with the reason.

    With --plan: whether the filters are conditions on every event or found by keys, what an event is asked, the
    shapes that filters share, which filters are tried on every event, and what goes to the fallback.

    Exit status: 0 all compile, 1 a filter is wrong (the others are shown), 2 a file or the cluster cannot be read.

    \b
      tricel compile -e 'ce.type == "order.created" && data.total > 100.0'
      tricel compile --dialect attributes -e '{type: order.created}'
      tricel compile triggers/ --format json
      tricel compile large-orders.cel
      tricel compile --plan triggers/
      kubectl get triggers -o yaml | tricel compile -
    """
    if plan and format_ != "sql":
        raise click.UsageError("--plan is text: leave out --format")
    about = chosen_environment(environment, decodings)
    source = _Source(paths, expression, dialect, chosen(cluster), target or "", language, environment=about)
    guarded(lambda: _compile(source, "plan" if plan else format_, engine, limits))


def _compile(source: _Source, format_: str, engine: str, limits: Limits) -> int:
    named, diagnostics = _filters(source, engine, limits)
    print_diagnostics(diagnostics, "text", err=True)
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
    return status_of(diagnostics)


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@expression_option
@dialect_option
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "concise", "json", "github", "sarif"]),
    default="text",
    show_default=True,
)
@click.option("--strict", is_flag=True, help="Warnings count as findings.")
@click.option("-q", "--quiet", is_flag=True, help="Print the findings, and no summary.")
@environment_options
@target_option
@language_option
@click.option(
    "--write-status", is_flag=True, help="With --triggers cluster: tell each tricel.dev Trigger in its status."
)
@click.option(
    "--write-events", is_flag=True, help="With --triggers cluster: make an Event about each Trigger with an error."
)
@cluster_options
@engine_option
@limit_option
def lint(
    paths: tuple[str, ...],
    expression: str | None,
    dialect: str | None,
    format_: str,
    strict: bool,
    quiet: bool,
    environment: str,
    decodings: tuple[str, ...],
    target: str | None,
    language: str | None,
    write_status: bool,
    write_events: bool,
    engine: str,
    limits: Limits,
    **cluster: Any,
) -> None:
    """Report everything that is wrong with filters, each with its place and how to mend it.

    Of a folder, `.git` and what `.gitignore` names are left out; a file that is named is always read.

    Findings go to standard output, and as text are in colour on a terminal (unless NO_COLOR is set); the summary goes
    to standard error.

    Exit status: 0 no errors, 1 findings (with --strict warnings, too), 2 the check could not be made.

    \b
      tricel lint triggers/
      tricel lint --format github triggers/ more.yaml
      git diff --name-only -- '*.yaml' | xargs tricel lint --quiet --strict
      tricel lint --triggers cluster --namespace shop
    """
    about = chosen_environment(environment, decodings)
    source = _Source(
        paths, expression, dialect, chosen(cluster), target or "", language, ignoring=True, environment=about
    )
    guarded(lambda: _lint(source, format_, strict, quiet, engine, limits, write_status, write_events))


def _lint(
    source: _Source,
    format_: str,
    strict: bool,
    quiet: bool,
    engine: str,
    limits: Limits,
    write_status: bool,
    write_events: bool,
) -> int:
    for option, given in (("--write-status", write_status), ("--write-events", write_events)):
        if given and source.cluster is None:
            raise click.UsageError(f"{option} needs --triggers cluster")
    named, diagnostics = _filters(source, engine, limits, report=write_status, events=write_events)
    print_diagnostics(diagnostics, format_)
    bad = sum(d.severity is Severity.ERROR for d in diagnostics)
    warned = len(diagnostics) - bad
    if format_ == "text" and not quiet:
        click.echo(f"{len(named)} filters compiled, {bad} errors, {warned} warnings", err=True)
    return status_of(diagnostics) or (EXIT_FINDINGS if strict and warned else 0)


@click.command(name="eval")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@expression_option
@dialect_option
@repeatable(
    "--events", "events", metavar="FILE", default=(STDIN,), help="Events: a file, or - for standard input, the default"
)
@environment_options
@evaluator_option
@limit_option
def evaluate(
    paths: tuple[str, ...],
    expression: str | None,
    dialect: str | None,
    events: tuple[str, ...],
    environment: str,
    decodings: tuple[str, ...],
    engine: str,
    limits: Limits,
) -> None:
    """Print the events that match. Spark is not started.

    Events are JSON Lines, one CloudEvent a line, compressed by gzip or not; with --environment one record or message a
    line, with a member for each root, bytes as base64. With manifests an event is printed when
    any trigger matches. Standard error has the counts, and before them the first lines that are no event and the first
    on which a filter errs, each with its place and the reason.

    Exit status: 0 all lines were read, whatever became of them, 1 a filter is wrong, 2 a file cannot be read.

    \b
      tricel eval -e 'ce.subject.startsWith("42")' < events.jsonl
      tricel eval triggers/ --events monday.jsonl.gz --events tuesday.jsonl.gz | jq .id
      kubectl get triggers -o yaml | tricel eval - --events events.jsonl
    """
    if STDIN in paths and STDIN in events:
        raise click.UsageError("standard input has the manifests: give the events with --events FILE")
    about = chosen_environment(environment, decodings, bytes_read=False)
    source = _Source(paths, expression, dialect, environment=about)
    guarded(lambda: _eval(source, events, engine, limits))


def _eval(source: _Source, events: tuple[str, ...], engine: str, limits: Limits) -> int:
    named, diagnostics = _filters(source, engine, limits)
    print_diagnostics(diagnostics, "text", err=True)
    if status := status_of(diagnostics):
        return status
    from ..evaluate import evaluate_lines, read_lines

    try:
        counts = evaluate_lines(
            named,
            engine,
            read_lines(events),
            click.echo,
            lambda text: click.echo(text, err=True),
            environment=source.environment,
        )
    except CompileError as e:
        print_diagnostics(e.diagnostics, "text", err=True)
        return status_of(e.diagnostics)
    click.echo(str(counts), err=True)
    return 0


@click.command()
@click.argument("code", required=False)
def rule(code: str | None) -> None:
    """Explain a diagnostic code, or list them all.

    Exit status: 0 it is shown, 2 there is no such code.

    \b
      tricel rule TRI204
      tricel rule | grep warning
    """
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
    source: _Source, engine: str, limits: Limits, *, report: bool = False, events: bool = False
) -> tuple[list[tuple[str, Any]], tuple[Diagnostic, ...]]:
    """The filters that compile, named, and every diagnostic."""
    from tricel import compile_filter

    from ..triggers import read_triggers, warning_of_none

    paths, expression, cluster = source.paths, source.expression, source.cluster
    if bool(paths) + (expression is not None) + (cluster is not None) != 1:
        raise click.UsageError("give either paths of manifests, or -e with an expression, or --triggers cluster")
    if source.dialect is not None and cluster is not None:
        raise click.UsageError("--dialect is about the filter of -e, or of files: a Trigger of a cluster names its own")
    if source.dialect is not None and source.target:
        raise click.UsageError("--target is about manifests, and with --dialect each file is one filter")
    if source.dialect is not None and not dialect_named(source.dialect).suffix and any(map(os.path.isdir, paths)):
        raise click.UsageError(f"no suffix names a file of '{source.dialect}': give the files, and no folder")
    if expression is None and source.environment != CLOUD_EVENT:
        raise click.UsageError("--environment and --decode are about an expression: give it with -e")
    if source.target and not paths:
        raise click.UsageError("--target is about manifests: give their paths")
    version = LANGUAGES[source.language] if source.language else None
    if cluster is not None:
        triggers, diagnostics = read_cluster_triggers(
            cluster, engine=engine, limits=limits, report=report, events=events, version=version
        )
        return [(t.id, t.compiled) for t in triggers], diagnostics
    if expression is None:
        triggers, diagnostics = read_triggers(
            paths,
            engine=engine,
            limits=limits,
            target=source.target,
            ignoring=source.ignoring,
            version=version,
            dialect=source.dialect,
        )
        return [(t.id, t.compiled) for t in triggers], diagnostics + warning_of_none(triggers, diagnostics, paths)
    try:
        compiled = compile_filter(
            expression,
            source.environment,
            dialect=source.dialect,
            engine=engine,
            label="<expression>",
            limits=limits,
            language=source.language,
        )
    except CompileError as e:
        return [], in_order(e.diagnostics)
    except ValueError as e:
        raise click.UsageError(str(e)) from None
    return [("", compiled)], in_order(compiled.diagnostics)


COMMANDS: tuple[click.Command, ...] = (compile, lint, evaluate, rule)
