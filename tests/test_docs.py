"""Every command in the documentation is run, and prints what the documentation shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def commands(page: Path) -> list[tuple[str, str]]:
    """The (command, expected output) pairs of a page; a command begins with `$ `."""
    found = []
    for block in _BLOCK.findall(page.read_text()):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            while command.endswith("\\"):
                more, _, output = output.partition("\n")
                command = f"{command}\n{more}"
            found.append((command, output))
    return found


def matches(expected: str, actual: str) -> bool:
    """Equal text, where a line `...` in the expected stands for any lines."""
    pattern = "".join(r"(?:.*\n)*" if line.strip() == "..." else re.escape(line) for line in expected.splitlines(True))
    return re.fullmatch(pattern, actual) is not None


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A folder as a newcomer has it: the examples and nothing else."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


@pytest.mark.parametrize("page", [p for p in PAGES if commands(p)], ids=lambda p: p.name)
def test_commands_print_what_the_page_shows(page: Path, workplace: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "100", "TERM": "dumb"}
    for command, expected in commands(page):
        if command.startswith("make "):
            assert re.search(rf"^{command.split()[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), command
            continue
        run = subprocess.run(
            ["bash", "-c", command],
            cwd=workplace,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        actual = run.stdout if run.stdout.strip() else run.stderr
        assert matches(expected, actual), (
            f"{page.name}: {command}\n--- shown\n{expected}--- printed\n{run.stdout}{run.stderr}"
        )


@pytest.mark.parametrize("page", [p for p in PAGES if _PYTHON.search(p.read_text())], ids=lambda p: p.name)
def test_python_examples_run(page: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workplace)
    names: dict[str, object] = {}
    for block in _PYTHON.findall(page.read_text()):
        exec(compile(block, str(page), "exec"), names)  # the page is ours, and running it is the point
