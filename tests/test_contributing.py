"""What CONTRIBUTING says of a new thing is true: each example is applied to a copy of the tree, and its commands are run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

PAGE = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTIONS: dict[str, str] = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", PAGE, re.MULTILINE))
EDIT = re.compile(
    r"^(?:New file `(?P<new>[^`]+)`|In `(?P<file>[^`]+)`, (?P<how>after|before|in place of) `(?P<anchor>[^\n]+)`):\n\n"
    r"```(?:python|text)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SHOWN = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the packages, as one that Python finds before the installed one."""
    package = tmp_path / "tricel"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(REPOSITORY / "tricel", package, ignore=ignored)
    for folder in ("compiler", "grammar", "k8s", "spark_backend"):
        shutil.copytree(REPOSITORY / folder, package / folder, ignore=ignored)
    return tmp_path


def apply(edit: re.Match[str], tree: Path) -> None:
    """Makes one edit of the page; what it is about must be there, once."""
    name = edit["new"] or edit["file"]
    path = tree / (name if name.startswith("tricel/") else f"tricel/{name}")
    if edit["new"]:
        assert not path.exists(), path
        path.write_text(edit["code"], encoding="utf-8")
        return
    text, anchor = path.read_text(encoding="utf-8"), edit["anchor"]
    assert text.count(anchor) == 1, (name, anchor)
    code = edit["code"]
    put = {
        "after": f"{anchor}\n{code}".removesuffix("\n"),
        "before": code + anchor,
        "in place of": code.removesuffix("\n"),
    }
    path.write_text(text.replace(anchor, put[edit["how"]]), encoding="utf-8")


@pytest.mark.parametrize("title", [t for t, text in SECTIONS.items() if SHOWN.search(text)])
def test_an_example_does_what_the_page_shows(title: str, tree: Path) -> None:
    for edit in EDIT.finditer(SECTIONS[title]):
        apply(edit, tree)
    environment = {**os.environ, "PYTHONPATH": str(tree), "COLUMNS": "100"}
    for block in SHOWN.findall(SECTIONS[title]):
        for command, expected in COMMAND.findall(block):
            words = shlex.split(command)
            assert words[0] == "tricel"
            found = subprocess.run(
                [sys.executable, "-m", *words], cwd=tree, env=environment, capture_output=True, text=True
            )
            assert (found.stdout + found.stderr).strip() == expected.strip(), command


def test_every_edit_is_read() -> None:
    for title, text in SECTIONS.items():
        assert len(re.findall("```(?:python|text)", text)) == len(EDIT.findall(text)), title


def test_every_kind_of_thing_has_a_section() -> None:
    kinds = ("dialect", "function", "lowering", "environment", "rewrite", "diagnostic", "format")
    assert {f"A new {kind}" for kind in kinds} <= set(SECTIONS)
