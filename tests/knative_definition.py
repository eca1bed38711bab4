"""Knative's own definition of a Trigger, from its published Go module: fetched when a test asks, never kept here."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

MODULE = "knative.dev/eventing@v0.45.0"
_FILE = "config/core/resources/trigger.yaml"


@cache
def _fetched() -> tuple[dict[str, Any] | None, str]:
    """The definition, or why there is none."""
    if shutil.which("go") is None:
        return None, "there is no go to download Knative's definition with"
    try:
        done = subprocess.run(
            ["go", "mod", "download", "-json", MODULE], capture_output=True, text=True, timeout=120, cwd="/"
        )
    except subprocess.TimeoutExpired:
        return None, f"{MODULE} could not be downloaded in time"
    folder = json.loads(done.stdout or "{}").get("Dir")
    if done.returncode or not folder:
        return None, f"{MODULE} could not be downloaded: {(done.stderr or done.stdout).strip()[:200]}"
    return yaml.safe_load((Path(folder) / _FILE).read_text(encoding="utf-8")), ""


def definition() -> dict[str, Any]:
    """The CustomResourceDefinition; the test is skipped where it cannot be had."""
    found, reason = _fetched()
    if found is None:
        pytest.skip(reason)
    return found


def spec_schema() -> dict[str, Any]:
    """The schema of `spec` of version v1."""
    (version,) = (v for v in definition()["spec"]["versions"] if v["name"] == "v1")
    return dict(version["schema"]["openAPIV3Schema"]["properties"]["spec"])
