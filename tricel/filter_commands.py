"""Commands that read filters and start no Spark: compile, lint, eval and rule."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from tricel.compiler import CODES, CompileError, Diagnostic, Limits, errors
from tricel.compiler.diagnostics import Severity

from .cluster_triggers import ClusterChoice, chosen, cluster_options, read_cluster_triggers
from .exits import EXIT_FAILURE, EXIT_FINDINGS, guarded, print_diagnostics
from .options import engine_option, limit_option


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("-e", "--expression", metavar="CEL", help="A CEL expression instead of manifests.")
@click.option("--format", "format_", type=click.Choice(["sql", "cel", "json"]), default="sql", show_default=True)
@click.option("--plan", is_flag=True, help="Show how a run evaluates all the filters together, and why.")
@cluster_options
@engine_option
@limit_option
def compile(  # noqa: A001
    paths: tuple[str, ...],
    expression: str | None,
    format_: str,
    plan: bool,
    engine: str,
    limits: Limits,
    **cluster: Any,
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
    guarded(lambda: _compile(paths, expression, "plan" if plan else format_, engine, limits, chosen(cluster)))


def _compile(
    paths: tuple[str, ...],
    expression: str | None,
    format_: str,
    engine: str,
    limits: Limits,
    cluster: ClusterChoice | None,
) -> int:
    named, diagnostics = _filters(paths, expression, engine, limits, cluster)
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
    return EXIT_FINDINGS if errors(diagnostics) else 0


@click.command()
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
@engine_option
@limit_option
def lint(
    paths: tuple[str, ...],
    expression: str | None,
    format_: str,
    strict: bool,
    write_status: bool,
    write_events: bool,
    engine: str,
    limits: Limits,
    **cluster: Any,
) -> None:
    """Report everything that is wrong with filters, each with its place and how to mend it.

    Exit status: 0 nothing found, 1 findings, 2 the check could not be made.

    \b
      tricel lint triggers/
      tricel lint --format github triggers/ more.yaml
      tricel lint --triggers cluster --namespace shop
    """
    guarded(
        lambda: _lint(paths, expression, format_, strict, engine, limits, chosen(cluster), write_status, write_events)
    )


def _lint(
    paths: tuple[str, ...],
    expression: str | None,
    format_: str,
    strict: bool,
    engine: str,
    limits: Limits,
    cluster: ClusterChoice | None,
    write_status: bool,
    write_events: bool,
) -> int:
    for option, given in (("--write-status", write_status), ("--write-events", write_events)):
        if given and cluster is None:
            raise click.UsageError(f"{option} needs --triggers cluster")
    named, diagnostics = _filters(paths, expression, engine, limits, cluster, report=write_status, events=write_events)
    print_diagnostics(diagnostics, format_)
    bad = sum(d.severity is Severity.ERROR for d in diagnostics)
    warned = len(diagnostics) - bad
    if format_ == "text":
        click.echo(f"{len(named)} filters compiled, {bad} errors, {warned} warnings", err=True)
    return EXIT_FINDINGS if bad or (strict and warned) else 0


@click.command(name="eval")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("-e", "--expression", metavar="CEL", help="A CEL expression instead of manifests.")
@engine_option
@limit_option
def evaluate(paths: tuple[str, ...], expression: str | None, engine: str, limits: Limits) -> None:
    """Print the events on standard input that match; the counts go to standard error. Spark is not started.

    Standard input is JSON Lines, one CloudEvent a line. With manifests an event is printed when any trigger matches.

    \b
      tricel eval -e 'ce.subject.startsWith("42")' < events.jsonl
      zcat events.jsonl.gz | tricel eval triggers/orders.yaml | jq .id
    """
    guarded(lambda: _eval(paths, expression, engine, limits))


def _eval(paths: tuple[str, ...], expression: str | None, engine: str, limits: Limits) -> int:
    named, diagnostics = _filters(paths, expression, engine, limits)
    print_diagnostics(diagnostics, "text", err=True)
    if errors(diagnostics):
        return EXIT_FINDINGS
    from .evaluate import evaluate_lines

    counts = evaluate_lines([f for _, f in named], engine, sys.stdin.buffer, lambda line: click.echo(line, nl=False))
    click.echo(str(counts), err=True)
    return 0


@click.command()
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
    limits: Limits,
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
        triggers, diagnostics = read_cluster_triggers(
            cluster, engine=engine, limits=limits, report=report, events=events
        )
        return [(t.id, t.compiled) for t in triggers], diagnostics
    if expression is None:
        triggers, diagnostics = read_triggers(paths, engine=engine, limits=limits)
        return [(t.id, t.compiled) for t in triggers], diagnostics
    try:
        compiled = compile_filter(expression, engine=engine, label="<expression>", limits=limits)
    except CompileError as e:
        return [], e.diagnostics
    return [("", compiled)], compiled.diagnostics


COMMANDS: tuple[click.Command, ...] = (compile, lint, evaluate, rule)
