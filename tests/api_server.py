"""A Kubernetes API server of its own for tests, and what may be asked of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import urllib3
from conftest import REPOSITORY
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from tricel.k8s.crd import PLURAL

TOOL = Path(os.environ.get("TRICEL_APISERVER") or REPOSITORY.parent / "shared" / "tools" / "apiserver")
NAMESPACES = ("shop", "test-ns", "test-ns-1", "other")


class ApiServer:
    """A Kubernetes API server with its own folder; `kubeconfig` is written anew at every start."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        self.start()

    def start(self) -> None:
        done = subprocess.run([TOOL, "start", self.folder], capture_output=True, text=True, timeout=1500)
        assert done.returncode == 0, done.stderr
        configuration = client.Configuration()
        config.load_kube_config(str(self.kubeconfig), client_configuration=configuration)
        self.api = client.ApiClient(configuration)
        self.objects = client.CustomObjectsApi(self.api)

    def stop(self) -> None:
        subprocess.run([TOOL, "stop", self.folder], check=True)

    def kill(self) -> list[str]:
        """Kills the API server (not its store); hands back the command that runs it."""
        pid = int((self.folder / "apiserver.pid").read_text())
        command = Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").split("\0")
        os.kill(pid, signal.SIGKILL)
        return command

    def run_again(self, command: list[str]) -> None:
        """Starts the API server as it was, on the same port, and waits until it serves."""
        with (self.folder / "apiserver.log").open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        (self.folder / "apiserver.pid").write_text(f"{process.pid}\n")
        eventually(lambda: self.died_of() or not refusal_or_silence(client.VersionApi(self.api).get_code))
        eventually(
            lambda: not refusal_or_silence(self.objects.list_cluster_custom_object, "tricel.dev", "v1alpha1", PLURAL)
        )

    def died_of(self) -> str:
        """The last words of a server that ended by itself; empty while it runs."""
        pid = int((self.folder / "apiserver.pid").read_text())
        try:
            running = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            running = False
        if running:
            return ""
        log = (self.folder / "apiserver.log").read_text(errors="replace")
        return next((line for line in log.splitlines() if line.startswith(("fatal error: ", "panic: "))), "unknown")

    def create(self, value: dict[str, Any], **options: Any) -> Any:
        group, _, version = value["apiVersion"].partition("/")
        namespace = value["metadata"].get("namespace", "default")
        return self.objects.create_namespaced_custom_object(group, version, namespace, PLURAL, value, **options)

    def replace(self, value: dict[str, Any], **options: Any) -> Any:
        group, _, version = value["apiVersion"].partition("/")
        where = (group, version, value["metadata"].get("namespace", "default"), PLURAL, value["metadata"]["name"])
        known = self.objects.get_namespaced_custom_object(*where)
        metadata = {**value["metadata"], "resourceVersion": known["metadata"]["resourceVersion"]}
        return self.objects.replace_namespaced_custom_object(*where, {**value, "metadata": metadata}, **options)

    def seen(self, stored: dict[str, Any]) -> None:
        """Waits until the server's cache has a stored object: a patch is first tried on what the cache has."""
        group, _, version = stored["apiVersion"].partition("/")
        metadata = stored["metadata"]
        where = (group, version, metadata["namespace"], PLURAL)
        self.objects.list_namespaced_custom_object(*where, resource_version=metadata["resourceVersion"])

    def delete(self, value: dict[str, Any]) -> None:
        group, _, version = value["apiVersion"].partition("/")
        namespace = value["metadata"].get("namespace", "default")
        self.objects.delete_namespaced_custom_object(group, version, namespace, PLURAL, value["metadata"]["name"])

    def define(self, definition: dict[str, Any]) -> None:
        """Makes a definition and waits until the server serves it."""
        extensions = client.ApiextensionsV1Api(self.api)
        extensions.create_custom_resource_definition(definition)
        name = definition["metadata"]["name"]

        def established() -> bool:
            found = extensions.read_custom_resource_definition(name).status.conditions or []
            wrong = [c.message for c in found if c.type == "NonStructuralSchema"]
            assert not wrong, wrong
            return any(c.type == "Established" and c.status == "True" for c in found)

        eventually(established)


@contextmanager
def serving(folder: Path) -> Iterator[ApiServer]:
    """An API server for as long as it is needed; without the command that starts one the test is skipped."""
    if not TOOL.is_file():
        pytest.skip(f"no API server: '{TOOL}' does not exist; set TRICEL_APISERVER to a command that starts one")
    server = ApiServer(folder)
    try:
        yield server
    finally:
        server.stop()


def eventually(condition: Callable[[], Any], seconds: float = 60) -> Any:
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)
    return found


def refusal(call: Callable[..., Any], *args: Any, **options: Any) -> tuple[int, str]:
    """Status and message of a request that the server refuses; (0, "") where it does not."""
    try:
        call(*args, **options)
    except ApiException as e:
        try:
            return int(e.status or 0), json.loads(e.body)["message"]
        except ValueError:  # of a path that the server does not know, or not yet
            return int(e.status or 0), str(e.body)
    return 0, ""


def refusal_or_silence(call: Callable[..., Any], *args: Any) -> bool:
    """Whether a request fails in whatever way."""
    try:
        call(*args, _request_timeout=5)
    except (ApiException, urllib3.exceptions.HTTPError):
        return True
    return False
