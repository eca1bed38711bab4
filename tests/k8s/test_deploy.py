"""What is deployed: the parts fit together, the pod has no rights, and the image has what the webhook loads."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import REPOSITORY
from kubernetes.client import models
from tricel.k8s.certificates import service_hosts
from tricel.k8s.crd import admission_policy

from tricel.cli import main

DEPLOY = REPOSITORY / "k8s" / "deploy"


def manifests(*folders: str) -> dict[tuple[str, str], dict[str, Any]]:
    """The objects in folders by kind and name."""
    found = {}
    for folder in folders:
        for file in sorted((DEPLOY / folder).glob("*.yaml")):
            for each in yaml.safe_load_all(file.read_text()):
                if isinstance(each, dict) and each.get("kind") not in ("Kustomization", "Component"):
                    found[each["kind"], each["metadata"]["name"]] = each
    return found


BASE = manifests("base")
POD = BASE["Deployment", "tricel-webhook"]["spec"]["template"]
(CONTAINER,) = POD["spec"]["containers"]


def test_every_file_belongs_to_a_kustomization() -> None:
    for folder in {path.parent for path in DEPLOY.rglob("*.yaml")}:
        kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
        listed = {name for name in kustomization["resources"] if name.endswith(".yaml")}
        assert listed == {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}, folder


def test_names_and_labels_fit_together() -> None:
    labels = POD["metadata"]["labels"]
    service = BASE["Service", "tricel-webhook"]["spec"]
    assert labels == service["selector"] == BASE["Deployment", "tricel-webhook"]["spec"]["selector"]["matchLabels"]
    assert labels == BASE["PodDisruptionBudget", "tricel-webhook"]["spec"]["selector"]["matchLabels"]
    assert service["ports"][0]["targetPort"] == CONTAINER["ports"][0]["name"]
    assert f"--port={CONTAINER['ports'][0]['containerPort']}" in CONTAINER["args"]
    webhooks = [*BASE.values(), *manifests("mutating").values()]
    for each in (webhook for value in webhooks for webhook in value.get("webhooks", [])):
        reached = each["clientConfig"]["service"]
        assert (reached["name"], reached["namespace"], reached["port"]) == ("tricel-webhook", "tricel-system", 443)
        assert reached["path"] in ("/validate", "/mutate")
    volumes = {volume["name"] for volume in POD["spec"]["volumes"]}
    assert volumes == {mount["name"] for mount in CONTAINER["volumeMounts"]}


def test_the_pod_has_no_rights() -> None:
    assert POD["spec"]["automountServiceAccountToken"] is False
    assert POD["spec"]["securityContext"]["runAsNonRoot"] is True
    context = CONTAINER["securityContext"]
    assert (True, False, ["ALL"]) == (
        context["readOnlyRootFilesystem"],
        context["allowPrivilegeEscalation"],
        context["capabilities"]["drop"],
    )
    assert not {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"} & {kind for kind, _ in BASE}
    (egress,) = ([v["spec"]["egress"]] for (kind, _), v in BASE.items() if kind == "NetworkPolicy")
    assert [[]] == egress or [] == egress


def test_the_command_line_of_the_pod_is_known() -> None:
    command = main.commands[CONTAINER["args"][0]]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {argument.partition("=")[0] for argument in CONTAINER["args"][1:]} <= known


def test_the_times_fit_in_one_another() -> None:
    (validating,) = BASE["ValidatingWebhookConfiguration", "triggers.tricel.dev"]["webhooks"]
    review = next(p.default for p in main.commands["webhook"].params if p.name == "review_timeout")
    assert review < validating["timeoutSeconds"]
    drain = int(next(a for a in CONTAINER["args"] if a.startswith("--drain")).partition("=")[2])
    assert drain + 10 < POD["spec"]["terminationGracePeriodSeconds"]


def test_the_webhooks_review_what_they_should() -> None:
    (validating,) = BASE["ValidatingWebhookConfiguration", "triggers.tricel.dev"]["webhooks"]
    (mutating,) = manifests("mutating")["MutatingWebhookConfiguration", "defaults.triggers.tricel.dev"]["webhooks"]
    policy = admission_policy()[0]["spec"]["matchConstraints"]["resourceRules"][0]
    for each in (validating, mutating):
        (rule,) = each["rules"]
        assert ["CREATE", "UPDATE"] == rule["operations"]
        assert policy["apiGroups"] == rule["apiGroups"]
        assert ["triggers"] == rule["resources"]
        assert ("None", ["v1"]) == (each["sideEffects"], each["admissionReviewVersions"])
    assert ("Fail", "Ignore") == (validating["failurePolicy"], mutating["failurePolicy"])


def test_the_certificate_names_the_service() -> None:
    certificate = manifests("overlays/cert-manager")["Certificate", "tricel-webhook"]["spec"]
    assert list(service_hosts("tricel-webhook", "tricel-system")) == certificate["dnsNames"]
    (secret,) = (v["secret"]["secretName"] for v in POD["spec"]["volumes"] if "secret" in v)
    assert secret == certificate["secretName"]


def test_the_reader_may_only_read() -> None:
    role = manifests("reader")["ClusterRole", "tricel-reader"]
    assert [["get", "list", "watch"]] == [rule["verbs"] for rule in role["rules"]]
    assert [["triggers"]] == [rule["resources"] for rule in role["rules"]]


def test_the_policy_is_the_printed_one() -> None:
    assert list(admission_policy()) == list(yaml.safe_load_all((DEPLOY / "policy/policy.yaml").read_text()))


def unlike(value: Any, type_: str, path: str) -> list[str]:
    """Where a value is not what Kubernetes' published OpenAPI says: the types of its client are generated from that."""
    if inner := re.fullmatch(r"[lL]ist\[(.+)\]", type_):
        if not isinstance(value, list):
            return [f"{path}: not a list"]
        return [found for n, each in enumerate(value) for found in unlike(each, inner[1], f"{path}[{n}]")]
    if inner := re.fullmatch(r"[dD]ict[(\[]str, (.+)[)\]]", type_):
        if not isinstance(value, dict):
            return [f"{path}: not a mapping"]
        return [found for name, each in value.items() for found in unlike(each, inner[1], f"{path}.{name}")]
    simple = {"str": str, "int": int, "bool": bool, "float": (int, float), "object": object}
    if type_ in simple:
        odd = isinstance(value, bool) and type_ == "int"
        return [] if isinstance(value, simple[type_]) and not odd else [f"{path}: not of type {type_}"]
    model: Any = getattr(models, type_)
    if not isinstance(value, dict):
        return [f"{path}: not a {type_}"]
    attributes = {key: attribute for attribute, key in model.attribute_map.items()}
    found = [f"{path}.{name}: {type_} has no such field" for name in value if name not in attributes]
    for name, each in value.items():
        if name in attributes:
            found += unlike(each, model.openapi_types[attributes[name]], f"{path}.{name}")
    try:
        model(**{attributes[name]: each for name, each in value.items() if name in attributes})
    except ValueError as e:
        found.append(f"{path}: {e}")
    return found


EVERYTHING = manifests("base", "crd", "mutating", "policy", "reader")


@pytest.mark.parametrize(("kind", "name"), EVERYTHING)
def test_manifests_keep_the_published_openapi(kind: str, name: str) -> None:
    value = EVERYTHING[kind, name]
    version = value["apiVersion"].rpartition("/")[2]
    assert [] == unlike(value, f"{version.capitalize()}{kind}", kind)


def test_what_does_not_keep_it_is_found() -> None:
    good = BASE["Deployment", "tricel-webhook"]
    for path, value in (
        (("spec", "replicas"), "2"),
        (("spec", "replica"), 2),
        (("spec", "selector"), None),
        (("spec", "template", "spec", "containers"), {}),
        (("spec", "template", "spec", "containers"), [{"image": "x"}]),
    ):
        bad: Any = json.loads(json.dumps(good))
        holder = bad
        for name in path[:-1]:
            holder = holder[name]
        holder[path[-1]] = value
        assert unlike(bad, "V1Deployment", "Deployment"), path


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on PATH")
@pytest.mark.parametrize("folder", ["base", "overlays/cert-manager", "overlays/self-signed", "policy", "reader"])
def test_kustomize_builds(folder: str, tmp_path: Path) -> None:
    copy = tmp_path / "deploy"
    shutil.copytree(DEPLOY, copy, ignore=shutil.ignore_patterns("certificates"))
    if folder.endswith("self-signed"):
        from click.testing import CliRunner

        assert 0 == CliRunner().invoke(main, ["certs", str(copy / folder / "certificates")]).exit_code
    done = subprocess.run(["kubectl", "kustomize", str(copy / folder)], capture_output=True, text=True)
    assert 0 == done.returncode, done.stderr
    built = {each["kind"]: each for each in yaml.safe_load_all(done.stdout)}
    if folder == "overlays/self-signed":
        assert {"tls.crt", "tls.key"} == set(built["Secret"]["data"])
        assert built["ValidatingWebhookConfiguration"]["webhooks"][0]["clientConfig"]["caBundle"]
    if folder == "overlays/cert-manager":
        annotations = built["ValidatingWebhookConfiguration"]["metadata"]["annotations"]
        assert {"cert-manager.io/inject-ca-from": "tricel-system/tricel-webhook"} == annotations


def test_the_image_has_what_the_webhook_loads() -> None:
    """The image leaves Spark out, so its list of packages is held against what is imported."""
    code = (
        "import sys, json, tricel.cli, tricel.k8s.server, tricel.k8s.certificates, tricel.k8s.crd\n"
        "import tricel.k8s.work; tricel.k8s.work.prepare()\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert not {"pyspark", "kubernetes", "pandas", "pyarrow"} & loaded
    distributions = packages_distributions()
    needed = {d.lower().replace("_", "-") for name in loaded for d in distributions.get(name, [])}
    listed = set(re.findall(r"^ +([a-z0-9-]+) \\$", (REPOSITORY / "Containerfile").read_text(), re.MULTILINE))
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    declared = {re.match("[a-z0-9-]+", text)[0] for text in project["dependencies"]}  # type: ignore[index]
    assert needed & declared == listed
