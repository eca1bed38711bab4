"""The policies and the rules of the definition on a real API server: its verdicts and its words."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from admission_rules import broken_by_policy, broken_rules
from admission_vectors import HOSTILE, KNATIVE, OURS, SOUND, trigger
from api_server import ApiServer, eventually, refusal
from conftest import REPOSITORY
from kubernetes import client
from tricel.k8s.crd import PLURAL
from tricel.k8s.rules import RULES

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on PATH"),
]

BAD = {"subscriber": {"uri": "/relative"}}
PREFIX = "ValidatingAdmissionPolicy 'triggers.tricel.dev' with binding 'triggers.tricel.dev' denied request: "
DISABLED = "not-reviewed"


def kubectl(server: ApiServer, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["kubectl", "--kubeconfig", str(server.kubeconfig), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def as_named(value: dict[str, Any], version: str) -> dict[str, Any]:
    return {**value, "apiVersion": version, "metadata": {**value["metadata"], "name": "judged"}}


@pytest.fixture(scope="module")
def before() -> dict[str, Any]:
    """A Trigger that was bad before there was a policy. Knative's definition has no rule of ours."""
    return trigger(BAD, version=KNATIVE, name="before", finalizers=["example.com/hold"])


@pytest.fixture(scope="module")
def policy(server: ApiServer, before: dict[str, Any]) -> Iterator[ApiServer]:
    """A server with the policies, and without a webhook."""
    admission = client.AdmissionregistrationV1Api(server.api)
    refusal(admission.delete_validating_webhook_configuration, "triggers.tricel.dev")
    core = client.CoreV1Api(server.api)
    for name, labels in (("tricel-system", {}), (DISABLED, {"tricel.dev/admission": "disabled"})):
        refusal(core.create_namespace, {"metadata": {"name": name, "labels": labels}})
    bad = trigger(BAD, version=KNATIVE, name="probe")
    eventually(lambda: refusal(server.create, bad, dry_run="All") == (0, ""))
    server.create(before)
    folder = str(REPOSITORY / "k8s/deploy/policy")
    done = kubectl(server, "apply", "-k", folder)
    assert (0, "") == (done.returncode, done.stderr)
    eventually(lambda: PREFIX in refusal(server.create, bad, dry_run="All")[1])
    yield server
    assert 0 == kubectl(server, "delete", "-k", folder).returncode
    eventually(lambda: refusal(server.create, bad, dry_run="All") == (0, ""))
    if refusal(server.delete, before)[0] == 0:
        where = ("eventing.knative.dev", "v1", "shop", PLURAL, "before")
        refusal(server.objects.patch_namespaced_custom_object, *where, {"metadata": {"finalizers": None}})


def test_the_server_judges_as_our_own_cel_does(policy: ApiServer) -> None:
    """Under a definition without types, so that all is the policy's; the first that does not hold is what it says."""
    denied = 0
    for name, _, value in HOSTILE:
        said = broken_by_policy(value)
        status, message = refusal(policy.create, as_named(value, KNATIVE), dry_run="All")
        if status == 0:
            assert [] == said, name
        elif PREFIX in message:
            assert (422, said[0]) == (status, message.partition(PREFIX)[2]), name
            denied += 1
        else:
            assert "denied" not in message, (name, message)  # the definition has some types after all
    assert denied > 15
    for version in (KNATIVE, OURS):
        for name, value in SOUND:
            assert (0, "") == refusal(policy.create, as_named(value, version), dry_run="All"), name


def test_the_definition_says_where_and_what(policy: ApiServer) -> None:
    """Its rules come before any webhook and policy."""
    said = set()
    for name, _, value in HOSTILE:
        spec = value["spec"]
        broken = broken_rules(spec) if isinstance(spec, dict) else []
        status, message = refusal(policy.create, as_named(value, OURS), dry_run="All")
        if not broken or "some validation rules were not checked" in message:
            continue
        assert 422 == status, name
        for rule in broken:
            assert f"spec.{rule.field}: " in message, (name, message)
            assert f"{rule.code}: {rule.message}" in message, (name, message)
            said.add(rule.code)
        for words in ("anyOf", "should match", "must validate", "at most 1", '"object"'):
            assert words not in message, (name, message)
    assert {"TRI311", "TRI314", "TRI330", "TRI332"} <= said


def test_every_rule_of_the_definition_is_compiled(policy: ApiServer) -> None:
    """The server took them, fields and cost included, and gives them back."""
    found = client.ApiextensionsV1Api(policy.api).read_custom_resource_definition("triggers.tricel.dev")
    rules = found.spec.versions[0].schema.open_apiv3_schema.properties["spec"].x_kubernetes_validations
    wanted = [rule for rule in RULES if not rule.policy_only]
    assert [(f".{rule.field}", rule.condition) for rule in wanted] == [(each.field_path, each.rule) for each in rules]


def test_the_broker_cannot_change(policy: ApiServer) -> None:
    for version, prefix in ((KNATIVE, PREFIX), (OURS, "spec.broker: Forbidden: ")):
        value = trigger(name="fixed", version=version)
        policy.create(value)
        try:
            changed = trigger({"broker": "b"}, name="fixed", version=version)
            status, message = refusal(policy.replace, changed)
            assert (422, True) == (status, f"{prefix}TRI317: spec.broker is immutable" in message), message
            policy.replace(trigger({"delivery": {"retry": 2}}, name="fixed", version=version))
        finally:
            policy.delete(value)


def test_an_update_that_keeps_a_bad_spec_is_warned_of(policy: ApiServer, before: dict[str, Any]) -> None:
    where = ("eventing.knative.dev", "v1", "shop", PLURAL, "before")

    def patch(body: dict[str, Any]) -> Any:
        return policy.objects.patch_namespaced_custom_object_with_http_info(*where, body)

    _, _, headers = patch({"metadata": {"labels": {"team": "orders"}}})
    assert "TRI314" in headers["Warning"]
    status, message = refusal(patch, {"spec": {"delivery": {"retry": 3}}})
    assert (422, True) == (status, "TRI314" in message)
    mended, _, headers = patch({"spec": {"subscriber": {"uri": "http://mended/"}}})
    assert "Warning" not in headers
    policy.seen(mended)
    _, _, headers = patch({"metadata": {"finalizers": None, "labels": {"team": "shop"}}})
    assert "Warning" not in headers


@pytest.mark.parametrize("namespace", ["kube-system", "tricel-system", DISABLED])
def test_namespaces_that_are_not_reviewed(policy: ApiServer, namespace: str) -> None:
    value = trigger(BAD, version=KNATIVE)
    value["metadata"]["namespace"] = namespace
    assert (0, "") == refusal(policy.create, value, dry_run="All")


def test_an_object_without_a_spec_is_told_so(policy: ApiServer) -> None:
    value = {name: inner for name, inner in trigger(version=KNATIVE).items() if name != "spec"}
    status, message = refusal(policy.create, value, dry_run="All")
    assert 422 == status
    assert message.endswith(f"{PREFIX}TRI311: the Trigger has no spec: write spec.broker and spec.subscriber")
