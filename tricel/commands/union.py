"""The command `union`: for each broker one expression that a source of its events may apply."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import click
import yaml

from tricel.compiler import (
    CLOUD_EVENT,
    Diagnostic,
    Dialect,
    Expr,
    Limits,
    Source,
    Trigger,
    Union,
    duplicate_triggers,
    errors,
)
from tricel.compiler import union as union_of
from tricel.compiler.diagnostics import in_order
from tricel.compiler.dialects import DIALECTS, dialect_named
from tricel.compiler.source import NOWHERE

from ..cluster_triggers import ClusterChoice, chosen, cluster_options, read_objects
from ..exits import guarded, print_diagnostics, status_of
from ..triggers import CompiledTrigger, compile_manifests, read_manifest_files, warning_of_none
from .options import DialectName, engine_option, limit_option

_TOLD = 5
"""Triggers that a line of text names."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """What the command was asked for. `dialect` is what expressions are written in."""

    paths: tuple[str, ...]
    cluster: ClusterChoice | None
    broker: str
    most: int | None
    dialect: Dialect
    as_json: bool
    engine: str
    limits: Limits


@dataclass(frozen=True, slots=True)
class _Made:
    """A broker's union: the ids of the triggers that it is of, and the filter as the dialect has it."""

    broker: str
    triggers: tuple[str, ...]
    union: Union
    filter: object


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--broker", metavar="NAME", default="", help="One broker: its name, or namespace/name.")
@click.option(
    "--max-nodes", type=click.IntRange(min=1), metavar="N", help="Let more events through rather than be larger."
)
@click.option(
    "--to",
    "dialect",
    type=DialectName([row.name for row in DIALECTS]),
    default="cel",
    show_default=True,
    help="What the expression is written in.",
)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@cluster_options
@engine_option
@limit_option
def union(
    paths: tuple[str, ...],
    broker: str,
    max_nodes: int | None,
    dialect: str,
    format_: str,
    engine: str,
    limits: Limits,
    **cluster: Any,
) -> None:
    """Print the one filter that a source may apply before it sends events to a broker.

    It holds for every event that any of the broker's triggers delivers or errs on, so nothing is lost; what it turns
    down, all of them turn down. It reads attributes alone and never errs: what filters ask of the payload, and all else
    that may err, is left out, so that it may let more events through. A filter that errs on an event without an
    attribute needs that event, too: guard it with has(...), and the union is smaller.

    Of several brokers each expression stands below a comment with the broker's name. Standard error tells what it is
    made of, and which triggers make it wider than what they deliver. With --format json all of it is one document.

    --max-nodes bounds its size: values give way to their common prefixes, and conditions are dropped, first what lets
    fewest events in, and in the end it is `true`. --to writes it in another dialect, without what that cannot say.

    Exit status: 0 every broker has its expression, 1 a filter is wrong (its broker has none) or the dialect cannot say
    it, 2 a file or the cluster cannot be read.

    \b
      tricel union triggers/
      tricel union triggers/ --broker shop/default --max-nodes 50
      tricel union triggers/ --to filters
      tricel union --triggers cluster --namespace shop --format json
    """
    choice = _Choice(
        paths, chosen(cluster), broker, max_nodes, dialect_named(dialect), format_ == "json", engine, limits
    )
    guarded(lambda: _union(choice))


def _union(choice: _Choice) -> int:
    manifests, compiled, diagnostics, readable = _triggers(choice)
    whole = {id(t.manifest) for t in compiled}
    broken = {t.broker_id for t in manifests if id(t) not in whole}
    wanted = _brokers(manifests, choice.broker)
    made: list[_Made] = []
    for name in wanted:
        if not readable or name in broken:
            diagnostics += (_none(name, readable),)
            continue
        found, problems = _made(name, [t for t in compiled if t.manifest.broker_id == name], choice)
        diagnostics += problems
        made.extend([found] if found is not None else [])
    print_diagnostics(diagnostics, "text", err=True)
    if choice.as_json:
        click.echo(json.dumps([_as_json(m, choice.dialect) for m in made], indent=2, ensure_ascii=False))
    else:
        for m in made:
            _print(m, choice.dialect, several=len(wanted) > 1)
    return status_of(diagnostics)


def _triggers(
    choice: _Choice,
) -> tuple[tuple[Trigger, ...], tuple[CompiledTrigger, ...], tuple[Diagnostic, ...], bool]:
    """The Triggers, those that compile, every diagnostic, and whether no Trigger may have escaped."""
    if bool(choice.paths) is (choice.cluster is not None):
        raise click.UsageError("give either paths of manifests, or --triggers cluster")
    names: tuple[str, ...] = ()
    if choice.cluster is not None:
        cluster, selection = choice.cluster.connect()
        manifests, before = read_objects(cluster.read(selection))
    else:
        manifests, before, names = read_manifest_files(choice.paths)
    compiled, every = compile_manifests(
        manifests, before, environment=CLOUD_EVENT, engine=choice.engine, limits=choice.limits
    )
    found = in_order(every, names)
    readable = not errors((*before, *duplicate_triggers(manifests)))
    return manifests, compiled, found + warning_of_none(compiled, found, choice.paths), readable


def _brokers(manifests: Sequence[Trigger], wanted: str) -> list[str]:
    """The brokers, or those of a name."""
    known = sorted({t.broker_id for t in manifests})
    found = [name for name in known if not wanted or wanted in (name, name.rpartition("/")[2])]
    if wanted and known and not found:
        raise click.UsageError(f"no Trigger here is of a broker '{wanted}'; there are {', '.join(known)}")
    return found


def _none(broker: str, readable: bool) -> Diagnostic:
    why = "a Trigger of it is wrong" if readable else "Triggers may be missing"
    help_ = "mend what is reported above; a union without a filter would lose events"
    return Diagnostic(
        "TRI374", f"there is no union for the broker '{broker}': {why}", Source("", broker), NOWHERE, help_
    )


def _made(
    broker: str, triggers: Sequence[CompiledTrigger], choice: _Choice
) -> tuple[_Made | None, tuple[Diagnostic, ...]]:
    row, filters = choice.dialect, [t.compiled.checked for t in triggers]
    written = row.from_cel
    if written is None or row.environment != CLOUD_EVENT:
        return None, (_unsaid(broker, row, f"tricel does not write the dialect '{row.name}'"),)
    says: Callable[[Expr], bool] | None = None if row.any_environment else partial(_can, row)
    found = union_of(filters, choice.most, says=says)
    given = next((v for e in (found.checked.expr, found.plain) if (v := written(e)) is not None), None)
    if given is None:
        return None, (_unsaid(broker, row, f"the dialect '{row.name}' cannot say the union: {found.cel[:200]}"),)
    return _Made(broker, tuple(t.id for t in triggers), found, given), ()


def _can(row: Dialect, e: Expr) -> bool:
    return row.from_cel is not None and row.from_cel(e) is not None


def _unsaid(broker: str, row: Dialect, message: str) -> Diagnostic:
    help_ = "leave out --to for CEL, or choose another dialect"
    return Diagnostic("TRI371", message, Source("", broker), NOWHERE, help_)


def _as_json(made: _Made, row: Dialect) -> dict[str, object]:
    u = made.union
    return {
        "broker": made.broker,
        "dialect": row.name,
        "filter": made.filter,
        "cel": u.cel,
        "exact": u.exact,
        "widened": u.widened,
        "nodes": {"triggers": u.before, "union": u.after},
        "triggers": list(made.triggers),
        "everything": [made.triggers[i] for i in u.everything],
        "wide": [{"trigger": made.triggers[w.filter], "without": list(w.parts)} for w in u.wide],
    }


def _print(made: _Made, row: Dialect, *, several: bool) -> None:
    text = made.filter if isinstance(made.filter, str) else yaml.safe_dump(made.filter, sort_keys=False, width=1000)
    comment = "//" if row.any_environment else "--" if row.text else "#"
    if several:
        click.echo(f"{comment} Broker: {made.broker}")
    click.echo(text.rstrip("\n"))
    u = made.union
    many = f"{len(made.triggers)} trigger{'' if len(made.triggers) == 1 else 's'}"
    size = f"{u.before:,} nodes in {u.after:,}"
    click.echo(f"{made.broker}: {many}, {size}, {'exact' if u.exact else 'lets more through'}", err=True)
    if u.everything:
        click.echo(f"  every event passes because of {_listed([made.triggers[i] for i in u.everything])}", err=True)
    elif u.wide:
        told = [f"{made.triggers[w.filter]} ({'; '.join(w.parts)})" for w in u.wide]
        click.echo(f"  left out: {_listed(told)}", err=True)
    if u.widened:
        click.echo("  widened for --max-nodes", err=True)


def _listed(names: Sequence[str]) -> str:
    more = f", and {len(names) - _TOLD:,} more" if len(names) > _TOLD else ""
    return ", ".join(names[:_TOLD]) + more


COMMANDS: tuple[click.Command, ...] = (union,)
