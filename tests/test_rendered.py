"""Text that people read, held by snapshots: previews, diagnostics of the command line, help."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from tricel.spark_backend.preview import preview

from tricel import CompileError, __version__, compile_filter, load_triggers

FILTERS: list[str | dict[str, object]] = [
    'ce.type == "a" && ce.source.startsWith("/s")',
    'ce.type in ["a", "b"] || !(ce.subject == "x")',
    "data.latency > 300.0",
    "data.latency > 300 && data.region == 'eu' && ce.type == 'x'",
    'data.tags.exists(t, t == "urgent")',
    "data.items.filter(i, i.qty > 1.0).map(i, i.sku)[0] == 'a'",
    "(data.vip ? data.a : data.b) == 5",
    "int(data.n) % 2 == 0",
    'ce.github.repository == "proposals"',
    'ce.time > timestamp("2024-01-01T00:00:00Z")',
    'ce.type.matches("^(?:a|b)+c$") && data.x == data.y && ce.id == "1"',
    {"attributes": {"type": "a", "github.repository": "proposals", "subject": ""}},
    {"sourceAndType": {"type": "a", "source": "/s"}},
    {"expression": 'ce.source.match("https://github.com*")'},
    {"filters": [{"any": [{"prefix": {"type": "a."}}, {"not": {"suffix": {"subject": ".tmp"}}}]}]},
]


@pytest.mark.parametrize("filter_", FILTERS, ids=str)
def test_preview(filter_: str | dict[str, object], snapshot: SnapshotAssertion) -> None:
    assert preview(compile_filter(filter_)) == snapshot


WRONG: list[str | dict[str, object]] = [
    'ce.type == "com.github.pull.create" || (ce.type == "com.github.issue.create" && ce.source.matches("proposals")',
    'user.id == "abc123"',
    'ce.source.startWith("\u202ex")',
    {"filters": [{"exact": {"Type": "x"}}, {}, {"any": []}]},
    {"attributes": {"type": "a"}, "expression": "true"},
]


@pytest.mark.parametrize("filter_", WRONG, ids=str)
def test_diagnostics(filter_: str | dict[str, object], snapshot: SnapshotAssertion) -> None:
    with pytest.raises(CompileError) as caught:
        compile_filter(filter_)
    assert str(caught.value) == snapshot


@pytest.mark.parametrize("command", ["", "run", "compile", "lint", "convert", "eval", "rule", "union"])
def test_help(command: str, snapshot: SnapshotAssertion) -> None:
    tool = Path(sys.executable).parent / "tricel"
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(
        [tool, *command.split(), "--help"], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout == snapshot


def test_values_in_a_line(snapshot: SnapshotAssertion) -> None:
    left = compile_filter('ce.type == "a" && data.tags.map(t, t.matches(data.p)).size() > 1')
    triggers = load_triggers(Path(__file__).parent.parent / "examples" / "triggers")
    lines = [repr(value) for value in (compile_filter("data.x == '<b>\t\\n\u202e'"), left, *triggers)]
    assert [] == [line for line in lines if len(line) > 200 or "\n" in line or "\u202e" in line]
    assert "\n".join(lines) == snapshot


def test_a_filter_in_a_notebook() -> None:
    html = compile_filter("data.x == '<script>'")._repr_html_()
    assert ("&lt;script&gt;" in html, "<script>" in html, "Spark SQL" in html) == (True, False, True)


def test_the_version() -> None:
    assert metadata.version("tricel") == __version__


@pytest.mark.parametrize("given", [None, 5, b"true", ["true"]])
def test_what_is_no_filter(given: object) -> None:
    with pytest.raises(TypeError, match=f"CEL text or a mapping.* not {type(given).__name__}"):
        compile_filter(given)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=f"takes an Environment.* not {type(given).__name__}"):
        compile_filter("true", given)  # type: ignore[arg-type]
