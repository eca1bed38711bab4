"""Knative's own definition on a real API server: it drops an expression, and the webhook notices what it has dropped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from admission_vectors import KNATIVE, OURS, admission_review, trigger
from api_server import NAMESPACES, ApiServer, serving
from knative_definition import definition
from kubernetes import client
from tricel.compiler.manifests.trigger_fields import LAST_APPLIED
from tricel.k8s.crd import custom_resource_definition
from tricel.k8s.review import review


def applied(filter_: Any, *, version: str = KNATIVE, kept: Any = None) -> dict[str, Any]:
    """A Trigger as `kubectl apply` sends it, with its own text in an annotation; `kept` is what a server has left."""
    whole = trigger({"filter": filter_}, version=version)
    whole["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(whole)}
    return whole if kept is None else {**whole, "spec": {**whole["spec"], "filter": kept}}


def denials(value: dict[str, Any], **request: Any) -> list[str]:
    response = review(admission_review(value, **request))["response"]
    return [] if response["allowed"] else [cause["reason"] for cause in response["status"]["details"]["causes"]]


def test_the_webhook_denies_a_filter_that_was_dropped() -> None:
    for form in ({"expression": "ce.type == 't'"}, {"sourceAndType": {"type": "t"}}, {"cel": {"expression": "true"}}):
        assert ["TRI347"] == denials(applied(form, kept={}))
        assert ["TRI347"] == denials(applied(form, kept={}), old=trigger(version=KNATIVE))
    assert [] == denials(applied({}, kept={}))
    assert [] == denials(applied({"attributes": {"type": "t"}}, kept={}))
    assert [] == denials(applied({"expression": "true"}, kept={"attributes": {"type": "t"}}))


def test_the_message_says_what_to_write() -> None:
    message = review(admission_review(applied({"expression": "true"}, kept={})))["response"]["status"]["message"]
    assert "'spec.filter' is empty, and the manifest that was applied has 'spec.filter.expression'" in message
    assert "apiVersion: tricel.dev/v1alpha1" in message
    assert "tricel.dev/expression" in message


@pytest.fixture(scope="module")
def knative(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A server with Knative's published definition beside ours."""
    theirs = definition()
    with serving(tmp_path_factory.mktemp("knative")) as server:
        for name in NAMESPACES:
            client.CoreV1Api(server.api).create_namespace({"metadata": {"name": name}})
        server.define(custom_resource_definition())
        server.define(theirs)
        yield server


@pytest.mark.cluster
def test_an_api_server_drops_the_expression_and_the_webhook_notices(knative: ApiServer) -> None:
    for filter_ in ({"expression": "ce.type == 't'"}, {"sourceAndType": {"type": "t"}}):
        kept = knative.create(applied(filter_), dry_run="All")
        assert {} == kept["spec"]["filter"]
        assert ["TRI347"] == denials(kept)


@pytest.mark.cluster
def test_what_is_said_to_be_kept_is_kept(knative: ApiServer) -> None:
    kept = knative.create(applied({"attributes": {"type": "t"}}), dry_run="All")
    assert {"attributes": {"type": "t"}} == kept["spec"]["filter"]
    assert [] == denials(kept)
    ours = applied({"expression": "ce.type == 't'"}, version=OURS)
    assert ours["spec"]["filter"] == knative.create(ours, dry_run="All")["spec"]["filter"]
    ref = {"apiVersion": "v1", "kind": "Service", "name": "s", "group": "g", "address": "a"}
    spec = {"subscriber": {"ref": ref}, "delivery": {"timeout": "PT1S"}}
    kept = knative.create(trigger(spec, version=KNATIVE), dry_run="All")["spec"]
    assert {"apiVersion": "v1", "kind": "Service", "name": "s"} == kept["subscriber"]["ref"]
    assert {"timeout": "PT1S"} == kept["delivery"]
