"""What is deployed: the parts fit together, the pod has no rights, and the image has what the webhook loads."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
import yaml
from admission_vectors import expression
from conftest import REPOSITORY
from distributions import closure, required
from fake_api_server import serving
from kubernetes.client import models
from packaging.utils import canonicalize_name
from tricel.k8s.certificates import ca_bundle, service_hosts
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
    for folder in {path.parent for path in DEPLOY.rglob("*.yaml")} - {DEPLOY / "overlays/self-signed/certificates"}:
        kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
        patches = [each["path"] for each in kustomization.get("patches", []) if "/" not in each["path"]]
        listed = {name for name in (*kustomization["resources"], *patches) if name.endswith(".yaml")}
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


def test_the_page_names_every_kustomization() -> None:
    """Each that is applied by itself is applied there, and deleted there or named beside."""
    page = (REPOSITORY / "docs/kubernetes.md").read_text(encoding="utf-8")
    applied = {Path(path) for path in re.findall(r"kubectl apply -k (k8s/\S+?)`?$", page, re.MULTILINE)}
    applied |= {Path(path) for path in re.findall(r"kubectl apply -k (k8s/deploy/\w+)`", page)}
    applied |= {
        Path(match) for match in re.findall(r"^cd (k8s/\S+)\n(?:.*\n)?kubectl apply -k \.$", page, re.MULTILINE)
    }
    every = {path.parent.relative_to(REPOSITORY) for path in (REPOSITORY / "k8s/deploy").rglob("kustomization.yaml")}
    inside = {Path("k8s/deploy/base"), Path("k8s/deploy/mutating")}
    assert every - inside == applied
    assert all(str(path.name) in page.split("\n## Uninstall\n")[1] for path in applied)


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
    policies = [each["spec"]["matchConstraints"] for each in admission_policy()[::2]]
    policy = policies[0]["resourceRules"][0]
    assert all(policies[0] == each for each in policies)
    for each in (validating, mutating):
        (rule,) = each["rules"]
        assert policies[0]["namespaceSelector"] == each["namespaceSelector"]
        assert ["CREATE", "UPDATE"] == rule["operations"]
        assert policy["apiGroups"] == rule["apiGroups"]
        assert ["triggers"] == rule["resources"]
        assert ("None", ["v1"]) == (each["sideEffects"], each["admissionReviewVersions"])
    assert ("Fail", "Ignore") == (validating["failurePolicy"], mutating["failurePolicy"])


def test_the_certificate_names_the_service() -> None:
    certificate = manifests("overlays/cert-manager")["Certificate", "tricel-webhook"]["spec"]
    assert "isCA" not in certificate
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


KUSTOMIZATIONS = sorted(str(path.parent.relative_to(DEPLOY)) for path in DEPLOY.rglob("kustomization.yaml"))
needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on PATH")
Built = dict[tuple[str, str], dict[str, Any]]


@pytest.fixture(scope="module")
def deploy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder as a reader of the docs has it: with certificates, and an overlay for each with the component."""
    from click.testing import CliRunner

    copy = tmp_path_factory.mktemp("deploy") / "deploy"
    shutil.copytree(DEPLOY, copy, ignore=shutil.ignore_patterns("certificates"))
    assert 0 == CliRunner().invoke(main, ["certs", str(copy / "overlays/self-signed/certificates")]).exit_code
    for overlay in ("cert-manager", "self-signed"):
        folder = copy / "overlays" / f"{overlay}-mutating"
        shutil.copytree(copy / "overlays" / overlay, folder)
        text = (folder / "kustomization.yaml").read_text()
        (folder / "kustomization.yaml").write_text(text + "components:\n  - ../../mutating\n")
    return copy


def built(folder: Path) -> Built:
    """What a kustomization renders to."""
    done = subprocess.run(["kubectl", "kustomize", str(folder)], capture_output=True, text=True)
    assert 0 == done.returncode, done.stderr
    return {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(done.stdout)}


@needs_kubectl
@pytest.mark.parametrize("folder", KUSTOMIZATIONS)
def test_only_the_definition_has_the_definition(folder: str, deploy: Path) -> None:
    """What else is deleted deletes no Trigger."""
    component = "kind: Component" in (deploy / folder / "kustomization.yaml").read_text()
    found = built(deploy / ("overlays/cert-manager-mutating" if component else folder))
    assert ("CustomResourceDefinition" in {kind for kind, _ in found}) == (folder == "crd")
    assert folder != "crd" or len(found) == 1
    if component:
        assert {("MutatingWebhookConfiguration", "defaults.triggers.tricel.dev")} < set(found)


@needs_kubectl
def test_what_is_deployed_apart_is_deleted_apart(deploy: Path) -> None:
    """No object is of two kustomizations that are applied: deleting one would take it from the other."""
    folders = ("overlays/cert-manager-mutating", "crd", "policy", "reader")
    owners: dict[tuple[str, str], list[str]] = {}
    for folder in folders:
        for (kind, name), value in built(deploy / folder).items():
            owners.setdefault((kind, name), []).append(folder)
            inside = value["metadata"].get("namespace")
            assert inside is None or ("Namespace", inside) in built(deploy / folder), (folder, kind, name)
    assert {} == {key: found for key, found in owners.items() if len(found) > 1}


@needs_kubectl
@pytest.mark.parametrize("overlay", ["self-signed", "self-signed-mutating"])
def test_an_authority_of_ones_own_is_trusted(overlay: str, deploy: Path) -> None:
    found = built(deploy / "overlays" / overlay)
    assert {"tls.crt", "tls.key"} == set(found["Secret", "tricel-webhook-certificate"]["data"])
    bundle = ca_bundle(deploy / "overlays/self-signed/certificates")
    clients = [each["webhooks"][0]["clientConfig"] for (kind, _), each in found.items() if "Webhook" in kind]
    assert [bundle] * (2 if "mutating" in overlay else 1) == [each["caBundle"] for each in clients]


@needs_kubectl
@pytest.mark.parametrize("overlay", ["cert-manager", "cert-manager-mutating"])
def test_cert_managers_authority_outlives_the_certificate(overlay: str, deploy: Path) -> None:
    found = built(deploy / "overlays" / overlay)
    configurations = [each for (kind, _), each in found.items() if "Webhook" in kind]
    injected = [each["metadata"]["annotations"]["cert-manager.io/inject-ca-from"] for each in configurations]
    assert ["tricel-system/tricel-webhook"] * (2 if "mutating" in overlay else 1) == injected
    leaf, authority = (found["Certificate", name]["spec"] for name in ("tricel-webhook", "tricel-webhook-ca"))
    issuer, root = (found["Issuer", each["issuerRef"]["name"]]["spec"] for each in (leaf, authority))
    assert ({"ca": {"secretName": authority["secretName"]}}, {"selfSigned": {}}) == (issuer, root)
    assert authority["isCA"] is True
    # While it lasts under the same key, every certificate that it signed is trusted.
    assert "Never" == authority["privateKey"]["rotationPolicy"]
    hours = [
        int(text.removesuffix("h")) for text in (leaf["duration"], authority["renewBefore"], authority["duration"])
    ]
    assert hours[0] < hours[1] < hours[2]


IMAGE = re.findall(r"\[(.*?)\]'", (REPOSITORY / "Containerfile").read_text())
"""The extras of the image, which leaves Spark out."""


def missing_from_the_image() -> list[str]:
    """The modules that are here and not in the image."""
    assert ["k8s"] == IMAGE
    there = {"tricel", *closure(required(*IMAGE))}
    here = {name: set(map(canonicalize_name, found)) for name, found in packages_distributions().items()}
    return sorted(name for name, found in here.items() if not found & there)


AS_IN_THE_IMAGE = """
import json, sys

missing, *arguments = json.loads(sys.argv[1])
sys.modules.update(dict.fromkeys(missing))  # which is how Python marks what cannot be imported
from tricel.cli import main
main(arguments)
"""


def tricel_in_the_image(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A command with the packages of the image and no other."""
    code = json.dumps([missing_from_the_image(), *arguments])
    return subprocess.run([sys.executable, "-c", AS_IN_THE_IMAGE, code], capture_output=True, text=True, timeout=60)


def kubeconfig(folder: Path, url: str) -> str:
    whole = {
        **{"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": {}}]},
        "clusters": [{"name": "k", "cluster": {"server": url}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
    }
    (folder / "kubeconfig").write_text(yaml.safe_dump(whole))
    return str(folder / "kubeconfig")


def test_the_image_has_what_linting_a_cluster_needs(tmp_path: Path) -> None:
    filters = ("ce.type == 'a'", "ce.type.matches('^(a|b)+$') && uint(data.n) > 1u", "ce.type.startWith('a')")
    with serving() as server:
        for n, text in enumerate(filters):
            value = {**expression(text), "metadata": {"name": f"t{n}", "namespace": "shop", "uid": f"u{n}"}}
            server.objects[f"t{n}"] = value
        config = kubeconfig(tmp_path, f"http://127.0.0.1:{server.http.server_port}")
        options = ("--triggers", "cluster", "--kubeconfig", config)
        for more in ((), ("--write-status", "--write-events")):
            done = tricel_in_the_image("lint", *options, *more)
            assert (1, True) == (done.returncode, "TRI203" in done.stdout), done
            assert "2 filters compiled, 1 error" in done.stderr
        assert server.events
        done = tricel_in_the_image("compile", *options)
        assert "ModuleNotFound" not in done.stderr, done.stderr
    assert 0 == tricel_in_the_image("crd", "--policy").returncode
    assert 0 == tricel_in_the_image("certs", str(tmp_path / "certificates")).returncode


def test_what_the_image_lacks_is_missed() -> None:
    assert {"pyspark", "pandas", "pyarrow"} <= set(missing_from_the_image())
    assert not {"kubernetes", "re2", "yaml", "aiohttp", "requests", "click"} & set(missing_from_the_image())
    done = tricel_in_the_image("run", "--triggers", "examples/triggers", "--events", "examples/events", "--out", "x")
    assert (2, "error: tricel run needs pyspark") == (done.returncode, done.stderr[:31])


def test_the_image_has_what_the_webhook_loads() -> None:
    """And nothing of Spark; nothing is in its extra that it does not load, but the client of a cluster."""
    code = (
        "import sys, json, tricel.cli, tricel.k8s.server, tricel.k8s.certificates, tricel.k8s.crd\n"
        "import tricel.k8s.work; tricel.k8s.work.prepare()\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert not {"pyspark", "kubernetes", "pandas", "pyarrow"} & loaded
    distributions = packages_distributions()
    needed = {canonicalize_name(d[0]) for name in loaded if len(d := distributions.get(name, [])) == 1}
    declared = {r.name for r in required("all")}
    assert needed & declared <= {r.name for r in required("k8s")}
    assert {r.name for r in required("k8s")} - {r.name for r in required()} <= needed | {"kubernetes"}
