"""docs/kubernetes.md, followed word for word on a real API server: what it installs works, and what it deletes loses nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from admission_vectors import expression, trigger
from api_server import ApiServer, eventually, refusal, serving
from conftest import REPOSITORY
from kubernetes import client
from kubernetes.client.exceptions import ApiException
from webhook_process import WebhookProcess

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on PATH"),
]

PAGE = (REPOSITORY / "docs" / "kubernetes.md").read_text(encoding="utf-8")
CERT_MANAGER = ("Issuer", "Certificate")
"""Kinds of cert-manager. There is no cert-manager here: its objects are taken, and nobody acts on them."""


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def blocks(title: str, language: str = "") -> list[str]:
    """The code blocks of a section, in order."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", section(title), re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == language]


def block(title: str, mark: str) -> str:
    """The one block of a section that has a mark."""
    (found,) = (each for each in blocks(title) if mark in each)
    return found


class Reader:
    """Somebody who has the repository, a cluster, kubectl and tricel, and does what the page says."""

    def __init__(self, server: ApiServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        shutil.copytree(REPOSITORY / "k8s/deploy", folder / "k8s/deploy", ignore=shutil.ignore_patterns("certificates"))

    def follow(self, commands: str) -> str:
        """Runs a block; each of its commands has to succeed."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "KUBECONFIG": str(self.server.kubeconfig)}
        done = subprocess.run(
            ["bash", "-euc", commands], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120
        )
        assert 0 == done.returncode, (commands, done.stderr)
        return done.stdout

    def triggers(self) -> set[str]:
        """The names of tricel.dev Triggers in the cluster."""
        found = self.server.objects.list_cluster_custom_object("tricel.dev", "v1alpha1", "triggers")
        return {each["metadata"]["name"] for each in found["items"]}


def end_namespaces(server: ApiServer, done: threading.Event) -> None:
    """What a cluster's controller does: a namespace that is being deleted ends."""
    core = client.CoreV1Api(server.api)
    while not done.wait(0.2):
        for each in core.list_namespace().items:
            if each.metadata.deletion_timestamp is not None:
                body = {"metadata": {"name": each.metadata.name}, "spec": {"finalizers": []}}
                refusal(core.replace_namespace_finalize, each.metadata.name, body)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """On a server of its own, with nothing on it but the kinds of cert-manager."""
    done = threading.Event()
    with serving(tmp_path_factory.mktemp("apiserver")) as server:
        controller = threading.Thread(target=end_namespaces, args=(server, done), daemon=True)
        for kind in CERT_MANAGER:
            server.define(stand_in(kind))
        client.CoreV1Api(server.api).create_namespace({"metadata": {"name": "shop"}})
        controller.start()
        try:
            yield Reader(server, tmp_path_factory.mktemp("reader"))
        finally:
            done.set()
            controller.join()


def stand_in(kind: str) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.cert-manager.io"},
        "spec": {
            "group": "cert-manager.io",
            "scope": "Namespaced",
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def test_what_is_deleted_loses_no_trigger(reader: Reader) -> None:
    """Every part is installed and deleted beside Triggers; only the command for the definition deletes them."""
    reader.follow(block("Install", "k8s/deploy/crd"))
    eventually(lambda: refusal(reader.server.create, trigger(name="kept"))[0] in (0, 409))
    for installed in (
        block("Install", "cert-manager"),
        block("Install", "policy"),
        "kubectl apply -k k8s/deploy/reader",
    ):
        assert "created" in reader.follow(installed)
        assert {"kept"} == reader.triggers()
    assert "unchanged" in reader.follow("kubectl apply -k k8s/deploy/reader")
    first, last = blocks("Uninstall")
    reader.follow(first)
    for folder in ("reader", "policy"):
        assert "deleted" in reader.follow(f"kubectl delete -k k8s/deploy/{folder}")
    assert {"kept"} == reader.triggers()
    again = reader.follow(first)
    assert "" == again
    reader.follow(last)
    listing = reader.server.objects.list_cluster_custom_object
    eventually(lambda: refusal(listing, "tricel.dev", "v1alpha1", "triggers")[0] == 404)


def test_cert_managers_objects_and_annotations_arrive(reader: Reader) -> None:
    reader.follow(block("Install", "cert-manager"))
    issued = reader.server.objects.list_namespaced_custom_object(
        "cert-manager.io", "v1", "tricel-system", "certificates"
    )
    assert {"tricel-webhook", "tricel-webhook-ca"} == {each["metadata"]["name"] for each in issued["items"]}
    reader.follow(blocks("Uninstall")[0])
    admission = client.AdmissionregistrationV1Api(reader.server.api)
    assert 404 == refusal(admission.read_validating_webhook_configuration, "triggers.tricel.dev")[0]


def test_the_webhook_with_an_authority_of_ones_own(reader: Reader, tmp_path: Path) -> None:
    """Installed as the page says, with the mutating component; then a pod's process is put where the Service leads.

    No pod runs here, so the Service is one that leads to this machine, on the port of the process.
    """
    overlay = reader.folder / "k8s/deploy/overlays/self-signed"
    (component,) = blocks("Install", "yaml")
    with (overlay / "kustomization.yaml").open("a") as file:
        file.write(component)
    reader.follow(block("Install", "k8s/deploy/crd"))
    reader.follow(block("Install", "tricel certs"))
    container = yaml.safe_load((reader.folder / "k8s/deploy/base/deployment.yaml").read_text())["spec"]["template"]
    arguments = container["spec"]["containers"][0]["args"]
    options = [each for each in arguments if each.startswith("--workers")]
    certificates = overlay / "certificates"
    process = WebhookProcess(certificates, "--drain", "0", *options)
    try:
        admission = client.AdmissionregistrationV1Api(reader.server.api)
        to_here = [
            {"op": "replace", "path": "/webhooks/0/clientConfig/service/port", "value": process.port},
        ]
        admission.patch_validating_webhook_configuration("triggers.tricel.dev", to_here)
        admission.patch_mutating_webhook_configuration("defaults.triggers.tricel.dev", to_here)
        core = client.CoreV1Api(reader.server.api)
        core.delete_namespaced_service("tricel-webhook", "tricel-system")
        here = {
            "metadata": {"name": "tricel-webhook"},
            "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": process.port}]},
        }
        core.create_namespaced_service("tricel-system", here)
        bad = expression("ce.type.startWith('a')")
        eventually(lambda: "TRI203" in refusal(reader.server.create, bad, dry_run="All")[1])
        old = trigger({"filter": {"sourceAndType": {"type": "t"}}})
        made: Any = reader.server.create(old, dry_run="All")
        assert {"attributes": {"type": "t"}} == made["spec"]["filter"]
        assert refusal(reader.server.create, trigger(name="kept"))[0] in (0, 409)
        uninstall = blocks("Uninstall")[0].replace("overlays/cert-manager", "overlays/self-signed")
        reader.follow(uninstall)
        assert {"kept"} == reader.triggers()
        # Without the webhook nothing holds a Trigger up.
        eventually(lambda: refusal(reader.server.create, bad, dry_run="All") == (0, ""))
    finally:
        assert 0 == process.stop()


def test_the_reader_reads_with_its_own_account(reader: Reader) -> None:
    """With the token of the account that is installed, and nothing else."""
    from tricel.k8s.cluster import Cluster, Selection

    reader.follow(block("Install", "k8s/deploy/crd"))
    reader.follow("kubectl apply -k k8s/deploy/reader")
    token = reader.follow("kubectl create token tricel-reader --namespace tricel-reader").strip()
    configuration = client.Configuration(host=reader.server.api.configuration.host)
    configuration.verify_ssl = False
    configuration.api_key = {"authorization": f"Bearer {token}"}
    cluster = Cluster(client.ApiClient(configuration))
    eventually(lambda: not isinstance(tried(lambda: cluster.read(Selection())), Exception))
    with pytest.raises(ApiException, match="Forbidden"):
        client.CoreV1Api(cluster.api).list_namespaced_secret("tricel-reader")


def tried(call: Any) -> Any:
    try:
        return call()
    except OSError as e:
        return e
