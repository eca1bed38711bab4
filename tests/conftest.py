"""What every test may use, and how the tests are shared out: test vectors, real events, an order."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent

# An exception that nobody foresaw ends the test, in the commands and workers that a test starts, too: they inherit this.
os.environ["TRICEL_FAULTS"] = "raise"

_BRIEF = "" if os.environ.get("TRICEL_SAMPLE") == "all" else "-XX:TieredStopAtLevel=1 "
"""Java compiles quickly and once, but for the nightly run, in which it lives long enough to gain by compiling well."""
JAVA_OPTIONS = f"{_BRIEF}-XX:ReservedCodeCacheSize=512m"
"""The code that Spark generates needs more room than Java keeps for such code by default."""
os.environ.setdefault("SPARK_SUBMIT_OPTS", JAVA_OPTIONS)  # all that a test starts inherits it

LONG = (
    "spark_backend/test_streaming.py",
    "spark_backend/test_differential.py::test_fallback_and_engine_agree",
    "spark_backend/test_differential.py::test_native_and_engine_agree",
    "spark_backend/test_time_bombs.py",
    "spark_backend/test_fanout.py",
    "spark_backend/test_random.py",
    "spark_backend/test_pipeline.py",
    "spark_backend/test_batches.py",
    "spark_backend/test_explain_errors.py",
    "test_docs.py",
    "spark_backend/test_connect.py",
    "spark_backend/test_regex_spark.py",
    "spark_backend/test_hostile.py",
    "spark_backend/test_lists.py",
    "k8s/test_memory.py",
)
"""Files that take longest, or functions of them; they are begun first."""


def _share(nodeid: str) -> str:
    """What one process runs in one go: a function of a long file where it is named by itself, or a file."""
    name = nodeid.partition("[")[0].partition("/")[2]
    return name if name in LONG else name.partition("::")[0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first: what is begun last must not keep one process busy while the other has nothing to do."""
    places = {share: i for i, share in enumerate(LONG)}
    items.sort(key=lambda item: places.get(_share(item.nodeid), len(LONG)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Shares the tests of several processes out, in the order that they have."""
    from xdist.scheduler import LoadScopeScheduling

    class ByShare(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _share(nodeid)

    return ByShare(config, log)


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
