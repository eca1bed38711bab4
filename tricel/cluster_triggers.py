"""Triggers from a Kubernetes cluster: read, compiled, and told what was found. Only a call loads the client."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tricel.compiler import CLOUD_EVENT, Diagnostic, Environment, Limits, Trigger, errors, field_of, read_object
from tricel.compiler.diagnostics import in_order
from tricel.compiler.limits import DEFAULT
from tricel.compiler.manifests.trigger_fields import TRICEL_GROUP
from tricel.compiler.versions import LanguageVersion
from tricel.extras import lacking
from tricel.spark_backend.engines import DEFAULT_ENGINE
from tricel.triggers import CompiledTrigger, compile_manifests

if TYPE_CHECKING:
    from tricel.k8s.cluster import Cluster, Selection

CLUSTER = "cluster"
ACCEPTED = "FilterAccepted"
"""The status condition that says whether a Trigger compiles."""
REFUSED, AUDIT = "FilterRefused", "Audit"
"""Reason and action of the Event about a Trigger that does not compile."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """A cluster, and which of its Triggers: those of a namespace (empty: all) that a label selector takes."""

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""
    selector: str = ""

    def connect(self) -> tuple[Cluster, Selection]:
        """The connection and the selection.

        Raises:
            OSError: where there is no usable configuration, or no client of Kubernetes.
        """
        if reason := lacking("k8s", f"--triggers {CLUSTER}"):
            raise OSError(reason)
        from tricel.k8s.cluster import Selection, connect

        return connect(self.kubeconfig, self.context), Selection(namespace=self.namespace, labels=self.selector)


def cluster_options(command: _Command) -> _Command:
    """The options `--triggers cluster` and those that choose the cluster; `chosen` reads them."""
    triggers = click.option(
        "--triggers", type=click.Choice([CLUSTER]), help="Read the Triggers of a Kubernetes cluster."
    )
    return triggers(selection_options(command))


def selection_options(command: _Command) -> _Command:
    """The options that choose the cluster, and which of its Triggers."""
    for option in (
        click.option("--selector", metavar="LABELS", default="", help="With --triggers cluster: a label selector."),
        click.option("--namespace", "-n", metavar="NAME", default="", help="With --triggers cluster: one namespace."),
        click.option(
            "--context", metavar="NAME", default="", help="With --triggers cluster: a context of the kubeconfig."
        ),
        click.option(
            "--kubeconfig", metavar="FILE", default="", help="With --triggers cluster: instead of the default."
        ),
    ):
        command = option(command)
    return command


def chosen(options: Mapping[str, Any]) -> ClusterChoice | None:
    """The cluster that the options of `cluster_options` choose; None without `--triggers cluster`."""
    names = ("kubeconfig", "context", "namespace", "selector")
    if options["triggers"] is None:
        given = [name for name in names if options[name]]
        if given:
            raise click.UsageError(f"--{given[0]} needs --triggers cluster")
        return None
    return ClusterChoice(**{name: options[name] for name in names})


def read_cluster_triggers(
    choice: ClusterChoice,
    *,
    environment: Environment = CLOUD_EVENT,
    engine: str = DEFAULT_ENGINE,
    limits: Limits = DEFAULT,
    report: bool = False,
    events: bool = False,
    version: LanguageVersion | None = None,
) -> tuple[tuple[CompiledTrigger, ...], tuple[Diagnostic, ...]]:
    """The cluster's Triggers that compile, and every diagnostic.

    `report` writes what was found into the status of those of tricel.dev, and `events` makes a Kubernetes Event about
    each, of either group, that does not compile.

    Raises:
        OSError: where the cluster cannot be asked.
    """
    cluster, selection = choice.connect()
    objects = cluster.read(selection)
    for value in objects if report or events else ():
        _, found = compile_objects([value], environment=environment, engine=engine, limits=limits, version=version)
        now = datetime.now(UTC)
        if report and str(value["apiVersion"]).startswith(f"{TRICEL_GROUP}/"):
            cluster.report(value, condition(value, found, now))
        if events and errors(found):
            cluster.tell(value, REFUSED, AUDIT, _summaries(found), now)
    return compile_objects(objects, environment=environment, engine=engine, limits=limits, version=version)


def compile_objects(
    objects: Iterable[Mapping[str, Any]],
    *,
    environment: Environment = CLOUD_EVENT,
    engine: str = DEFAULT_ENGINE,
    limits: Limits = DEFAULT,
    version: LanguageVersion | None = None,
) -> tuple[tuple[CompiledTrigger, ...], tuple[Diagnostic, ...]]:
    """Kubernetes objects as compiled Triggers, and every diagnostic in the order of their names and the places in them. A source is named `cluster/namespace/name`."""
    manifests, before = read_objects(objects)
    compiled, every = compile_manifests(
        manifests, before, environment=environment, engine=engine, limits=limits, version=version
    )
    return compiled, in_order(every)


def read_objects(objects: Iterable[Mapping[str, Any]]) -> tuple[tuple[Trigger, ...], tuple[Diagnostic, ...]]:
    """The Triggers that Kubernetes objects are, and what is wrong but for their filters."""
    from tricel.k8s.cluster import without_bookkeeping

    manifests: list[Trigger] = []
    diagnostics: list[Diagnostic] = []
    for value in objects:
        metadata = value.get("metadata") or {}
        label = "/".join((CLUSTER, str(metadata.get("namespace", "")), str(metadata.get("name", ""))))
        found, problems = read_object(without_bookkeeping(value), label)
        manifests.extend(found)
        diagnostics.extend(problems)
    return tuple(manifests), tuple(diagnostics)


def condition(value: Mapping[str, Any], found: Iterable[Diagnostic], now: datetime) -> dict[str, Any]:
    """The status condition that tells what was found in a Trigger."""
    wrong = errors(found)
    told = {"type": ACCEPTED, "status": "False" if wrong else "True", "reason": wrong[0].code if wrong else "Compiles"}
    generation = (value.get("metadata") or {}).get("generation")
    return {
        **told,
        "message": _summaries(wrong)[:32_000] or "the filter compiles",
        "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        **({} if generation is None else {"observedGeneration": generation}),
    }


def _summaries(found: Iterable[Diagnostic]) -> str:
    """The errors in one line; empty where there are none."""
    from tricel.compiler.diagnostics import as_admission

    return "; ".join(as_admission.summary(d, field_of(d)) for d in errors(found)[: as_admission.MOST])
