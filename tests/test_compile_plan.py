"""`tricel compile --plan`: what a run would do with a set of filters, held by snapshots. No Spark."""

from __future__ import annotations

import subprocess
import sys

import pytest
import yaml
from click.testing import CliRunner
from syrupy.assertion import SnapshotAssertion

from tricel.cli import main

FEW = ['ce.type == "a" && data.total > 5', "size(ce) > 3"]
MIX = [
    *(f'ce.type == "com.example.t{i}"' for i in range(40)),
    *(f'ce.type.startsWith("com.example.{i}.") && data.total > {i}.5' for i in range(20)),
    *(f'ce.source in ["/a/{i}", "/b/{i}"] || ce.type == "x{i}"' for i in range(15)),
    *(f'ce.type == "f{i}" && size(ce) > {i}' for i in range(10)),
    'ce.subject.matches("(a|b)*c") && ce.type == "g"',
    'has(ce.region) && ce.region == "eu"',
    "data.total > 100.0",
    "false",
]
SETS = {
    "one": ["true"],
    "few": FEW,
    "mix": MIX,
    "crowd": [f'ce.type == "hot" && data.total == {i}.0' for i in range(150)]
    + [f'ce.type == "t{i}"' for i in range(9)],
    "no keys": [f"data.total > {i}.0" for i in range(120)],
}


def manifests(texts: list[str]) -> str:
    """Triggers as one YAML stream."""
    return yaml.safe_dump_all(
        {
            "apiVersion": "tricel.dev/v1alpha1",
            "kind": "Trigger",
            "metadata": {"name": f"t{i}", "namespace": "shop"},
            "spec": {"broker": "b", "filter": {"expression": text}, "subscriber": {"uri": "http://x"}},
        }
        for i, text in enumerate(texts)
    )


@pytest.mark.parametrize("name", list(SETS))
def test_plan(name: str, snapshot: SnapshotAssertion) -> None:
    result = CliRunner().invoke(main, ["compile", "--plan", "-"], input=manifests(SETS[name]))
    assert result.exit_code == 0, result.output
    assert result.stdout == snapshot


def test_a_plan_loads_no_spark() -> None:
    code = """
import sys
from tricel import compile_filter
from tricel.spark_backend.preview import planned
print(planned([("", compile_filter("size(ce) > 3"))]), 'pyspark' in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("1 filter of 1 shape: plain conditions")
    assert done.stdout.endswith(" False\n")


def test_a_plan_is_text() -> None:
    result = CliRunner().invoke(main, ["compile", "--plan", "--format", "json", "-e", "true"])
    assert result.exit_code == 2
    assert "leave out --format" in result.output
