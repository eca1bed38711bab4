"""What the commands for a cluster say without one: wrong options, an unreachable cluster, and what status they would write."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest
from admission_vectors import KNATIVE, admission_review, expression, trigger
from click.testing import CliRunner
from tricel.compiler import Diagnostic, Source, Span, errors
from tricel.compiler.diagnostics import in_order
from tricel.k8s.review import judge, read_request

from tricel.cli import main
from tricel.cluster_triggers import compile_objects, condition
from tricel.triggers import read_triggers

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["lint", "--namespace", "shop"], "--namespace needs --triggers cluster"),
        (["compile", "--selector", "a=b", "-e", "true"], "--selector needs --triggers cluster"),
        (["lint", "--write-status", "-e", "true"], "--write-status needs --triggers cluster"),
        (["lint", "--write-events", "-e", "true"], "--write-events needs --triggers cluster"),
        (["lint", "--triggers", "cluster", "-e", "true"], "give either"),
        (["lint", "--triggers", "elsewhere"], "'elsewhere' is not 'cluster'"),
        (["lint", "--triggers", "cluster", "--kubeconfig", "no-such-file"], "no usable cluster configuration"),
    ],
    ids=str,
)
def test_wrong_options(arguments: list[str], says: str) -> None:
    done = CliRunner().invoke(main, arguments)
    assert 2 == done.exit_code
    assert says in done.output


def test_an_unreachable_cluster_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # and does not listen
        server = f"https://127.0.0.1:{held.getsockname()[1]}"
        (tmp_path / "config").write_text(
            "{apiVersion: v1, kind: Config, current-context: c, users: [{name: u, user: {token: t}}], "
            f"clusters: [{{name: k, cluster: {{server: '{server}'}}}}], "
            "contexts: [{name: c, context: {cluster: k, user: u}}]}"
        )
        done = CliRunner().invoke(main, ["lint", "--triggers", "cluster", "--kubeconfig", str(tmp_path / "config")])
    assert 2 == done.exit_code
    assert done.output.startswith("error: the cluster cannot be reached")
    assert 1 == len(done.output.splitlines())


def test_objects_compile_as_manifests_do() -> None:
    kept = {
        **trigger({"filter": {"attributes": {"type": "t"}}}, managedFields=[{}], uid="u"),
        "status": {"conditions": []},
    }
    compiled, found = compile_objects(
        [kept, trigger(version=KNATIVE, name="other"), {**expression("1"), "metadata": {"name": "x"}}]
    )
    assert ["shop/orders", "shop/other"] == [each.id for each in compiled]
    assert [("TRI207", "cluster//x")] == [(d.code, d.source.name) for d in found]


def test_a_filter_that_the_cluster_dropped_is_told() -> None:
    """Of what `kubectl apply` was given, an empty filter is left: the Trigger delivers every event."""
    applied = trigger({"filter": {"expression": "ce.type == 'a'"}}, version=KNATIVE)
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(applied)}
    _, found = compile_objects([trigger({"filter": {}}, version=KNATIVE, annotations=annotations)])
    assert ["TRI347"] == [d.code for d in errors(found)]


def test_findings_are_in_the_order_of_their_places(tmp_path: Path) -> None:
    """Of a file, of a cluster and in a review, where they are by line, column and code."""
    annotations = {"tricel.dev/nope": "x"}
    filters = [{"exact": {"Type": "x"}}, {"prefix": {"a": ""}}, {"cesql": "a = "}]
    wrong = {"urii": "x"}, "d", filters, {"attributes": {"TYPE": "a"}}, 1
    spec = dict(zip(("subscriber", "broker", "filters", "filter", "xx"), wrong, strict=True))
    values = [{**trigger(version=KNATIVE, name=name, annotations=annotations), "spec": spec} for name in ("b", "a")]
    _, found = compile_objects(values)
    one = len(found) // 2
    assert ["cluster/shop/a"] * one + ["cluster/shop/b"] * one == [d.source.name for d in found]
    places = [(d.source.name, d.source.resolve(d.span)[1].start, d.code) for d in found]
    assert sorted(places) == places
    codes = [d.code for d in found[:one]]
    assert 9 == len(codes) > len(set(codes))
    (tmp_path / "a.json").write_text(json.dumps(values[1], indent=1))
    _, of_file = read_triggers([tmp_path / "a.json"])
    assert [(d.code, d.message) for d in of_file] == [(d.code, d.message) for d in found[:one]]
    verdict = judge(read_request(admission_review(values[1])))
    assert [d.code for d in verdict.diagnostics] == codes
    text = "ce.id == 1 && ce.nosuch() && ce.Type == 'a'"
    done = CliRunner().invoke(main, ["lint", "-q", "--format", "json", "-e", text])
    lines = [(d["line"], d["column"], d["code"]) for d in json.loads(done.stdout)]
    assert sorted(lines) == lines
    assert len(lines) > 1


def test_the_order_of_files_is_that_which_is_given() -> None:
    last, first = Source("", "a.yaml"), Source("ab\ncd", "b.yaml")
    folded = Source("x y", "text", parent=first, at=Span(3, 5))
    unknown = [Source("", name) for name in ("z.yaml", "y.yaml")]
    found = [Diagnostic("TRI203", "m", source, Span(0, 0)) for source in (*unknown, last)]
    of_b = (
        ("TRI201", first, 4),
        ("TRI202", folded, 2),
        ("TRI203", folded, 0),
        ("TRI201", folded, 0),
        ("TRI204", first, 0),
    )
    found += [Diagnostic(code, "m", source, Span(at, at)) for code, source, at in of_b]
    places = [(d.code, d.source.name, d.span.start) for d in in_order(found, ["b.yaml", "a.yaml", "b.yaml"])]
    in_b = [("TRI204", "b.yaml", 0), ("TRI201", "text", 0), ("TRI203", "text", 0), ("TRI202", "text", 2)]
    in_b.append(("TRI201", "b.yaml", 4))
    assert [*in_b, *(("TRI203", name, 0) for name in ("a.yaml", "y.yaml", "z.yaml"))] == places


def test_the_same_name_in_both_groups_is_told() -> None:
    _, found = compile_objects([trigger(), trigger(version=KNATIVE)])
    assert ["TRI316"] == [d.code for d in found]


def test_the_condition_tells_what_was_found() -> None:
    bad = expression("ce.type")
    bad["metadata"]["generation"] = 3
    _, found = compile_objects([bad])
    told = condition(bad, found, NOW)
    assert ("FilterAccepted", "False", "TRI207", 3) == tuple(
        told[name] for name in ("type", "status", "reason", "observedGeneration")
    )
    assert told["message"].startswith("spec.filter.expression: TRI207 ")
    assert "2024-05-01T12:00:00Z" == told["lastTransitionTime"]
    good = condition(trigger(), (), NOW)
    assert ("True", "Compiles", "the filter compiles") == tuple(good[name] for name in ("status", "reason", "message"))
