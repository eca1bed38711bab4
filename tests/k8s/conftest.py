"""One API server for all tests that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml
from admission_vectors import trigger
from api_server import NAMESPACES, TOOL, ApiServer, eventually
from conftest import REPOSITORY
from kubernetes import client
from tricel.k8s.crd import custom_resource_definition


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """It knows both kinds of Triggers, and there is none yet."""
    if not TOOL.is_file():
        pytest.skip(f"no API server: '{TOOL}' does not exist; set TRICEL_APISERVER to a command that starts one")
    server = ApiServer(tmp_path_factory.mktemp("apiserver"))
    try:
        core = client.CoreV1Api(server.api)
        for name in NAMESPACES:
            core.create_namespace({"metadata": {"name": name}})
        server.define(custom_resource_definition())
        server.define(yaml.safe_load((REPOSITORY / "tests/cases/admission/knative-crd.yaml").read_text()))
        try:
            server.create(trigger(name="first"))
            server.delete(trigger(name="first"))
        except Exception:
            # Whatever else fails is a failure of the test, and not for want of a server.
            words = eventually(server.died_of, 10)
            pytest.skip(
                f"the API server that '{TOOL}' starts dies of the first custom resource that it is asked to keep, with "
                f"'{words}': nothing about Triggers can be asked of it; set TRICEL_APISERVER to a sound one"
            )
        yield server
    finally:
        server.stop()
