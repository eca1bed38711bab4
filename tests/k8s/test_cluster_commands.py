"""What the commands for a cluster say without one: wrong options, an unreachable cluster, and what status they would write."""

from __future__ import annotations

import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest
from admission_vectors import KNATIVE, expression, trigger
from click.testing import CliRunner

from tricel.cli import main
from tricel.cluster_triggers import compile_objects, condition

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
