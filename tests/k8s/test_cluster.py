"""Against a real API server: definition, webhook by URL, what kubectl prints, and following the cluster's Triggers."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from admission_vectors import HOSTILE, KNATIVE, OURS, SOUND, expression, features_of, published, trigger
from api_server import NAMESPACES, ApiServer, eventually, refusal
from conftest import REPOSITORY
from kubernetes import client, config
from syrupy.assertion import SnapshotAssertion
from tricel.k8s.certificates import ca_bundle
from tricel.k8s.cluster import Cluster, Following, Selection, connect
from tricel.k8s.crd import PLURAL
from webhook_process import HOST, WebhookProcess

from tricel.cli import main
from tricel.cluster_triggers import ClusterChoice, read_cluster_triggers

pytestmark = pytest.mark.cluster

DEPLOY = REPOSITORY / "k8s" / "deploy"
FEATURE = "cross-namespace-event-links"


def webhook_configuration(webhook: WebhookProcess, policy: str = "Fail") -> dict[str, Any]:
    """The webhook that is deployed, reached by URL."""
    (validating,) = (
        each
        for each in yaml.safe_load_all((REPOSITORY / "k8s/deploy/base/webhooks.yaml").read_text())
        if each["kind"] == "ValidatingWebhookConfiguration"
    )
    for each in validating["webhooks"]:
        each["clientConfig"] = {"url": f"https://{HOST}:{webhook.port}/validate", "caBundle": ca_bundle(webhook.folder)}
        each["failurePolicy"] = policy
    return dict(validating)


def register(server: ApiServer, configuration: dict[str, Any]) -> None:
    admission = client.AdmissionregistrationV1Api(server.api)
    name = configuration["metadata"]["name"]
    assert refusal(admission.delete_validating_webhook_configuration, name)[0] in (0, 404)
    admission.create_validating_webhook_configuration(configuration)


@pytest.fixture(scope="module")
def webhook(server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebhookProcess]:
    process = WebhookProcess(tmp_path_factory.mktemp("webhook"), "--drain", "0")
    register(server, webhook_configuration(process))
    bad = expression("1")
    eventually(lambda: "denied the request" in refusal(server.create, bad, dry_run="All")[1])
    yield process
    register(server, webhook_configuration(process, "Ignore"))
    assert 0 == process.stop()


def named(value: dict[str, Any], version: str) -> dict[str, Any]:
    metadata = {"name": "t", **value["metadata"]}
    return {**value, "apiVersion": version, "metadata": metadata}


def judged(server: ApiServer, case: dict[str, Any], version: str) -> None:
    """Asks the server about a published case, without leaving anything behind."""
    value = named(case["trigger"], version)
    if "old_trigger" in case:
        old = named(case["old_trigger"], version)
        server.create(old)
        status, message = refusal(server.replace, value, dry_run="All")
        server.delete(old)
    else:
        status, message = refusal(server.create, value, dry_run="All")
    assert case["allowed"] == (status == 0), (case["name"], status, message)
    assert status in (0, 400, 422), (case["name"], message)
    if status and version == KNATIVE:
        assert message.startswith('admission webhook "triggers.tricel.dev" denied the request: '), message


@pytest.mark.parametrize("version", [KNATIVE, OURS])
def test_the_published_vectors(server: ApiServer, webhook: WebhookProcess, version: str, tmp_path: Path) -> None:
    cases = published()
    with_feature = [case for case in cases if features_of(case)]
    assert {frozenset({FEATURE})} == set(map(features_of, with_feature))
    for case in cases:
        if not features_of(case):
            judged(server, case, version)
    other = WebhookProcess(tmp_path, "--drain", "0", "--feature", FEATURE)
    try:
        register(server, webhook_configuration(other))
        needs_it = next(case for case in with_feature if case["allowed"] and "brokerRef" in case["trigger"]["spec"])
        eventually(lambda: refusal(server.create, named(needs_it["trigger"], version), dry_run="All") == (0, ""))
        for case in with_feature:
            judged(server, case, version)
    finally:
        register(server, webhook_configuration(webhook))
        eventually(lambda: "denied the request" in refusal(server.create, expression("1"), dry_run="All")[1])
        assert 0 == other.stop()
    assert len(cases) > 50


@pytest.mark.parametrize("version", [KNATIVE, OURS])
def test_hostile_and_sound_triggers(server: ApiServer, webhook: WebhookProcess, version: str) -> None:
    by_webhook = 0
    for name, code, value in HOSTILE:
        status, message = refusal(server.create, named(value, version), dry_run="All")
        assert status in (400, 422), (name, status, message)
        by_webhook += code in message
    assert by_webhook > (45 if version == KNATIVE else 15)
    for name, value in SOUND:
        assert (0, "") == refusal(server.create, named(value, version), dry_run="All"), name


def test_warnings_reach_the_client(server: ApiServer, webhook: WebhookProcess) -> None:
    value = trigger({"filter": {"sourceAndType": {"type": "t"}}})
    _, _, headers = server.objects.create_namespaced_custom_object_with_http_info(
        "tricel.dev", "v1alpha1", "shop", PLURAL, value, dry_run="All"
    )
    assert "TRI339" in headers["Warning"]


@pytest.mark.parametrize("version", [KNATIVE, OURS])
def test_cloudevents_sql_is_reviewed(server: ApiServer, webhook: WebhookProcess, version: str) -> None:
    sound = {"filters": [{"cesql": "type LIKE 'com.%' AND (tier = 'gold' OR EXISTS subject)"}]}
    assert (0, "") == refusal(server.create, trigger(sound, version=version), dry_run="All")
    wrong = {"filters": [{"any": [{"cesql": "type = 'x' AND LENGHT(id) > 3"}, {"exact": {"type": "y"}}]}]}
    status, message = refusal(server.create, trigger(wrong, version=version), dry_run="All")
    assert 400 == status
    assert "spec.filters[0].any[0].cesql:1:16: error[TRI361]: there is no function 'LENGHT'" in message, message
    assert f"\n{' ' * 19}^^^^^^\n" in message, message


@pytest.mark.parametrize(
    ("version", "refused"), [(KNATIVE, (400, "TRI317")), (OURS, (422, "spec.broker is immutable"))]
)
def test_the_broker_cannot_change_and_the_filter_can(
    server: ApiServer, webhook: WebhookProcess, version: str, refused: tuple[int, str]
) -> None:
    """Knative's definition has no rule of ours, so that the webhook speaks; in our group the rule comes first."""
    value = trigger(name="update", version=version)
    server.create(value)
    try:
        status, message = refusal(server.replace, trigger({"broker": "b"}, name="update", version=version))
        assert (refused[0], True) == (status, refused[1] in message), message
        server.replace({**named(expression("ce.type == 'a'"), version), "metadata": value["metadata"]})
        status, _ = refusal(server.replace, {**named(expression("ce.tipe("), version), "metadata": value["metadata"]})
        assert 400 == status
    finally:
        server.delete(value)


def test_a_bad_trigger_from_before_can_be_labelled_and_deleted(server: ApiServer, webhook: WebhookProcess) -> None:
    value = {**expression("1"), "metadata": {"name": "before", "namespace": "shop", "finalizers": ["example.com/hold"]}}
    register(server, {**webhook_configuration(webhook), "webhooks": []})
    eventually(lambda: refusal(server.create, expression("1"), dry_run="All") == (0, ""))
    server.create(value)
    register(server, webhook_configuration(webhook))
    eventually(lambda: refusal(server.create, expression("1"), dry_run="All")[0] == 400)
    where = ("tricel.dev", "v1alpha1", "shop", PLURAL, "before")
    label = {"metadata": {"labels": {"team": "orders"}}}
    _, _, headers = server.objects.patch_namespaced_custom_object_with_http_info(*where, label)
    assert "TRI503" in headers["Warning"]
    assert "TRI207" in headers["Warning"]
    status, message = refusal(server.objects.patch_namespaced_custom_object, *where, {"spec": {"filters": []}})
    assert (400, True) == (status, "TRI207" in message), message
    status = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    server.objects.patch_namespaced_custom_object_status(*where, status)
    server.delete(value)
    server.objects.patch_namespaced_custom_object(*where, {"metadata": {"finalizers": None}})
    assert 404 == refusal(server.objects.get_namespaced_custom_object, *where)[0]


def kubectl(server: ApiServer, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = ["kubectl", "--kubeconfig", str(server.kubeconfig), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120)


needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on PATH")


@needs_kubectl
@pytest.mark.parametrize(
    "value",
    [
        expression('ce.type == "order.created" &&\n  ce.source.startWith("/shop")'),
        trigger({"filter": {"attributes": {"Type": "t"}, "expression": "data.n + 1 > 2"}}, version=KNATIVE),
        trigger({"broker": ..., "filters": [{"exact": {"type": ""}}, {"any": []}]}, version=KNATIVE),
        trigger({"subscriber": {"uri": "/relative"}, "filter": {"sourceAndType": {"type": "t"}}}, version=KNATIVE),
    ],
    ids=["expression", "two forms", "several problems", "warning and error"],
)
def test_what_kubectl_prints(
    server: ApiServer, webhook: WebhookProcess, value: Any, snapshot: SnapshotAssertion
) -> None:
    for options in (["--dry-run=server"], []):
        done = kubectl(server, "create", "--validate=false", "-f", "-", *options, stdin=json.dumps(value))
        assert done.returncode == 1
        assert done.stderr == snapshot(name="denial")


@needs_kubectl
def test_a_dry_run_leaves_nothing(server: ApiServer, webhook: WebhookProcess) -> None:
    done = kubectl(server, "apply", "--dry-run=server", "-f", "-", stdin=json.dumps(trigger(name="dry")))
    assert (0, "trigger.tricel.dev/dry created (server dry run)\n") == (done.returncode, done.stdout), done.stderr
    assert kubectl(server, "get", "triggers.tricel.dev", "dry", "-n", "shop").returncode == 1


@needs_kubectl
def test_the_columns(server: ApiServer, webhook: WebhookProcess) -> None:
    value = trigger(name="columns")
    server.create(value)
    try:
        printed = kubectl(server, "get", "tct", "-n", "shop").stdout.split("\n")
        assert ["NAME", "BROKER", "SUBSCRIBER", "READY", "REASON", "AGE"] == printed[0].split()
        assert ["columns", "default", "http://example.com/"] == printed[1].split()[:3]
    finally:
        server.delete(value)


@needs_kubectl
def test_the_manifests_are_what_this_server_publishes(server: ApiServer, webhook: WebhookProcess) -> None:
    """Validated by kubectl against the server's own OpenAPI, and by the server in a dry run."""
    for folder in ("base", "reader"):
        assert 0 == kubectl(server, "apply", "-f", str(DEPLOY / folder / "namespace.yaml")).returncode
    files = [f for folder in ("base", "reader", "mutating") for f in sorted((DEPLOY / folder).glob("*.yaml"))]
    files = [f for f in files if f.name != "kustomization.yaml"]
    assert len(files) >= 9
    for file in files:
        text = file.read_text().replace("name: triggers.tricel.dev\nwebhooks", "name: another\nwebhooks")
        done = kubectl(server, "apply", "--validate=true", "--dry-run=server", "-f", "-", stdin=text)
        assert (0, "") == (done.returncode, done.stderr), file
    wrong = (DEPLOY / "base/service.yaml").read_text().replace("targetPort", "targetPorts")
    assert (
        "targetPorts" in kubectl(server, "apply", "--validate=true", "--dry-run=server", "-f", "-", stdin=wrong).stderr
    )


def test_a_webhook_that_is_down(server: ApiServer, tmp_path: Path, webhook: WebhookProcess) -> None:
    gone = WebhookProcess(tmp_path, "--drain", "0")
    assert 0 == gone.stop()
    good, bad = trigger(), expression("1")
    try:
        register(server, webhook_configuration(gone, "Fail"))
        eventually(lambda: "failed calling webhook" in refusal(server.create, good, dry_run="All")[1])
        assert 500 == refusal(server.create, good, dry_run="All")[0]
        register(server, webhook_configuration(gone, "Ignore"))
        eventually(lambda: refusal(server.create, bad, dry_run="All") == (0, ""))
    finally:
        register(server, webhook_configuration(webhook))
        eventually(lambda: "denied" in refusal(server.create, bad, dry_run="All")[1])


# The cluster as a source of Triggers.


def cluster_of(server: ApiServer) -> Cluster:
    return connect(str(server.kubeconfig))


def names(found: Following) -> set[str]:
    return {name for _, namespace, name in found.triggers if namespace in NAMESPACES}


def test_lists_are_paged_and_selected(
    server: ApiServer, webhook: WebhookProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tricel.k8s.cluster._PAGE", 2)
    made = [trigger(name=f"list-{n}", labels={"team": "a" if n % 2 else "b"}) for n in range(5)]
    made.append(trigger(name="list-k", version=KNATIVE, labels={"team": "a"}))
    for value in made:
        server.create(value)
    try:
        cluster = cluster_of(server)
        assert [f"list-{n}" for n in (*"k01234",)] == [v["metadata"]["name"] for v in cluster.read(Selection("shop"))]
        assert ["list-k", "list-1", "list-3"] == [
            v["metadata"]["name"] for v in cluster.read(Selection(labels="team=a"))
        ]
        chosen = cluster.read(Selection(fields="metadata.name=list-2", groups=("tricel.dev",)))
        assert ["list-2"] == [v["metadata"]["name"] for v in chosen]
        assert () == cluster.read(Selection("other"))
    finally:
        for value in made:
            server.delete(value)


def test_following_through_changes_and_a_restart(server: ApiServer, webhook: WebhookProcess) -> None:
    stop = threading.Event()
    seen: list[Following] = []
    cluster = cluster_of(server)
    following = threading.Thread(target=lambda: [seen.append(state) for state in cluster.follow(Selection(), stop)])
    following.start()
    try:
        eventually(lambda: seen)
        assert set() == names(seen[-1])
        server.create(trigger(name="one"))
        eventually(lambda: names(seen[-1]) == {"one"})
        server.create(trigger(name="two", version=KNATIVE))
        eventually(lambda: names(seen[-1]) == {"one", "two"})
        server.replace({**expression("ce.type == 'b'"), "metadata": {"name": "one", "namespace": "shop"}})
        eventually(lambda: seen[-1].triggers["tricel.dev", "shop", "one"]["spec"].get("filter"))
        command = server.kill()
        eventually(lambda: seen[-1].broken)
        assert names(seen[-1]) == {"one", "two"}
        server.run_again(command)
        server.delete(trigger(name="one"))
        server.create(trigger(name="three"))
        eventually(lambda: names(seen[-1]) == {"two", "three"} and not seen[-1].broken, 120)
    finally:
        stop.set()
        following.join(10)
        for value in (trigger(name="three"), trigger(name="two", version=KNATIVE), trigger(name="one")):
            refusal(server.delete, value)
    assert not following.is_alive()


def test_an_old_version_is_gone(server: ApiServer, webhook: WebhookProcess) -> None:
    """What the real server answers to a version that etcd no longer has."""
    from tricel.k8s.cluster import _Triggers
    from tricel.k8s.reflect import ExpiredError, reflect

    resource = _Triggers(server.objects, "tricel.dev", Selection())
    with pytest.raises(ExpiredError):
        next(iter(reflected_from(resource, "1")))
    assert list(resource.read().objects) == list(next(iter(reflect(resource, lambda _: False))).objects.values())


def reflected_from(resource: Any, version: str) -> Iterator[Any]:
    from tricel.k8s.reflect import _read

    compact_now(resource)
    for event in resource.watch(version):
        yield _read(event, version)


def compact_now(resource: Any) -> None:
    """Fills the watch cache's window, so that the oldest versions fall out of it."""
    for n in range(110):
        value = trigger({"delivery": {"retry": n}}, name="churn")
        if n == 0:
            resource.api.create_namespaced_custom_object("tricel.dev", "v1alpha1", "shop", PLURAL, value)
        else:
            resource.api.patch_namespaced_custom_object(
                "tricel.dev", "v1alpha1", "shop", PLURAL, "churn", {"spec": {"delivery": {"retry": n}}}
            )
    resource.api.delete_namespaced_custom_object("tricel.dev", "v1alpha1", "shop", PLURAL, "churn")


def run_tricel(server: ApiServer, *arguments: str) -> Any:
    from click.testing import CliRunner

    return CliRunner().invoke(main, [*arguments, "--kubeconfig", str(server.kubeconfig)], catch_exceptions=False)


def test_lint_and_compile_read_the_cluster(server: ApiServer, webhook: WebhookProcess) -> None:
    good, warned = (
        trigger({"filter": {"attributes": {"type": "t"}}}, name="good"),
        trigger({"filter": {"sourceAndType": {"type": "t"}}}, name="warned"),
    )
    for value in (good, warned):
        server.create(value)
    try:
        done = run_tricel(server, "lint", "--triggers", "cluster", "-n", "shop")
        assert 0 == done.exit_code
        assert "cluster/shop/warned" in done.output
        assert "TRI339" in done.output
        done = run_tricel(server, "compile", "--triggers", "cluster", "-n", "shop", "--format", "json")
        assert {"shop/good", "shop/warned"} == {each["trigger"] for each in json.loads(done.stdout)}
        for _ in range(2):
            done = run_tricel(server, "lint", "--triggers", "cluster", "--write-status")
            assert 0 == done.exit_code, done.output
        found = server.objects.get_namespaced_custom_object("tricel.dev", "v1alpha1", "shop", PLURAL, "good")
        (condition,) = found["status"]["conditions"]
        assert ("FilterAccepted", "True", "Compiles", 1) == tuple(
            condition[name] for name in ("type", "status", "reason", "observedGeneration")
        )
    finally:
        for value in (good, warned):
            server.delete(value)


@needs_kubectl
@pytest.mark.parametrize(
    ("version", "filter_"), [(OURS, {"expression": "ce.type.startWith('a')"}), (KNATIVE, {"attributes": {"Type": "t"}})]
)
def test_the_audit_makes_events_with_the_least_rights(
    server: ApiServer, webhook: WebhookProcess, version: str, filter_: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = trigger({"filter": filter_}, version=version, name="audited")
    bad["metadata"]["namespace"] = "other"
    register(server, {**webhook_configuration(webhook), "webhooks": []})
    eventually(lambda: refusal(server.create, bad, dry_run="All")[0] != 400)
    server.create(bad)
    api = as_user(server, "auditor", "tricel-reader", "tricel-auditor")
    monkeypatch.setattr(ClusterChoice, "connect", lambda self: (Cluster(api), Selection("other")))
    try:
        for _ in range(3):
            triggers, found = read_cluster_triggers(ClusterChoice(), events=True, report=True)
            assert ((), True) == (triggers, bool(found))
        (event,) = client.EventsV1Api(server.api).list_namespaced_event("other", _preload_content=True).items
        assert ("Warning", "FilterRefused", "Audit", 3) == (event.type, event.reason, event.action, event.series.count)
        assert (version, "audited") == (event.regarding.api_version, event.regarding.name)
        described = kubectl(server, "get", "events", "-n", "other").stdout
        assert "FilterRefused" in described
        assert "trigger/audited" in described
        client.EventsV1Api(server.api).delete_collection_namespaced_event("other")
    finally:
        server.delete(bad)
        register(server, webhook_configuration(webhook))
        eventually(lambda: "denied" in refusal(server.create, expression("1"), dry_run="All")[1])


def as_user(server: ApiServer, user: str, *roles: str) -> client.ApiClient:
    """A connection of a user who has these deployed roles and nothing else."""
    rbac = client.RbacAuthorizationV1Api(server.api)
    subjects = [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}]
    for each in yaml.safe_load_all((DEPLOY / "reader/rbac.yaml").read_text()):
        name = each["metadata"]["name"]
        if each["kind"] == "ClusterRole" and name in roles:
            refusal(rbac.create_cluster_role, each)
            role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
            binding = {"metadata": {"name": f"{user}-{name}"}, "roleRef": role, "subjects": subjects}
            refusal(rbac.create_cluster_role_binding, binding)
    configuration = client.Configuration()
    config.load_kube_config(str(server.kubeconfig), client_configuration=configuration)
    api = client.ApiClient(configuration, header_name="Impersonate-User", header_value=user)
    reviews = client.AuthorizationV1Api(api)
    asked = {"spec": {"resourceAttributes": {"group": "tricel.dev", "resource": PLURAL, "verb": "list"}}}
    eventually(lambda: reviews.create_self_subject_access_review(asked).status.allowed)
    return api


def test_the_reader_has_the_least_rights(server: ApiServer, webhook: WebhookProcess) -> None:
    """With the deployed role, and nothing else, reading works and writing does not."""
    api = as_user(server, "reader", "tricel-reader")
    assert () == Cluster(api).read(Selection("shop"))
    found = next(iter(Cluster(api).follow(Selection(), threading.Event())))
    assert set() == names(found)
    writer = client.CustomObjectsApi(api)
    assert (
        403 == refusal(writer.create_namespaced_custom_object, "tricel.dev", "v1alpha1", "shop", PLURAL, trigger())[0]
    )
    assert 403 == refusal(client.CoreV1Api(api).list_namespaced_secret, "shop")[0]
