"""One API server for all tests that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml
from api_server import NAMESPACES, ApiServer, serving
from conftest import REPOSITORY
from kubernetes import client
from tricel.k8s.crd import custom_resource_definition


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """It knows both kinds of Triggers, and there is none yet."""
    with serving(tmp_path_factory.mktemp("apiserver")) as server:
        core = client.CoreV1Api(server.api)
        for name in NAMESPACES:
            core.create_namespace({"metadata": {"name": name}})
        server.define(custom_resource_definition())
        server.define(yaml.safe_load((REPOSITORY / "tests/cases/admission/knative-crd.yaml").read_text()))
        yield server
