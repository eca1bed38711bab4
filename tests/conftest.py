"""What every test may use: the published test vectors and real events, where they are present."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


def conformance(name: str) -> Any:
    """Content of one file of the published test vectors; where they are absent, skips the test or the loading module.

    The vectors stand beside the repository, in ``../shared/conformance``, or where ``TRICEL_CONFORMANCE`` says.
    Import it: ``from conftest import conformance``.
    """
    folder = Path(os.environ.get("TRICEL_CONFORMANCE") or REPOSITORY.parent / "shared" / "conformance")
    path = folder / name
    if not path.is_file():
        pytest.skip(f"no test vectors: '{path}' does not exist (set TRICEL_CONFORMANCE)", allow_module_level=True)
    return json.loads(path.read_text(encoding="utf-8"))


def real_events() -> Path:
    """The JSON Lines file of GitHub's own events; where it is absent, skips the test.

    It stands beside the repository, in ``../shared/data``, or where ``TRICEL_DATA`` says.
    """
    folder = Path(os.environ.get("TRICEL_DATA") or REPOSITORY.parent / "shared" / "data")
    path = folder / "github-cloudevents.jsonl"
    if not path.is_file():
        pytest.skip(f"no real events: '{path}' does not exist (set TRICEL_DATA)")
    return path
