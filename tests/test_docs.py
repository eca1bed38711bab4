"""Every command in the documentation is run, and prints what the documentation shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from kafka_broker import broker_in, connector_jars

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NIGHTLY = re.compile(r"^```console nightly\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def commands(page: Path, blocks: re.Pattern[str] = _BLOCK) -> list[tuple[str, str]]:
    """The (command, expected output) pairs of a page; a command begins with `$ `."""
    found = []
    for block in blocks.findall(page.read_text()):
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


def check(page: Path, found: list[tuple[str, str]], workplace: Path, *before: Path) -> None:
    """Runs commands one after another; programs in the folders `before` come before those of the environment."""
    path = os.pathsep.join((*map(str, before), str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "100", "TERM": "dumb"}
    for command, expected in found:
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


@pytest.mark.parametrize("page", [p for p in PAGES if commands(p)], ids=lambda p: p.name)
def test_commands_print_what_the_page_shows(page: Path, workplace: Path) -> None:
    check(page, commands(page), workplace)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("page", [p for p in PAGES if commands(p, _NIGHTLY)], ids=lambda p: p.name)
def test_commands_with_spark_print_what_the_page_shows(page: Path, workplace: Path) -> None:
    away = [(c, e) for c, e in commands(page, _NIGHTLY) if "kafka:" not in c]
    check(page, away, workplace)


@pytest.mark.slow
@pytest.mark.kafka
def test_commands_with_kafka_print_what_the_page_shows(workplace: Path, tmp_path: Path) -> None:
    page = ROOT / "docs" / "sources.md"
    found = [(c, e) for c, e in commands(page, _NIGHTLY) if "kafka:" in c]
    assert found
    jars = ",".join(map(str, connector_jars()))
    # On this path a session finds the connector that Maven has brought; what is typed is the page's.
    own = tmp_path / "bin"
    own.mkdir()
    (own / "tricel").write_text(
        f'#!/bin/sh\nexec "{Path(sys.executable).parent}/tricel" "$@" --conf spark.jars={jars}\n'
    )
    (own / "tricel").chmod(0o755)
    lines = [line for line in (ROOT / "examples/events/orders.jsonl").read_bytes().splitlines() if line.strip()]
    with broker_in(tmp_path / "kafka") as broker:
        for topic in ("orders", "shop", "shop-dead"):
            broker.create(topic)
        headers = [("content-type", b"application/cloudevents+json")]
        broker.produce("orders", [{"key": None, "value": line, "headers": headers} for line in lines])
        check(page, [(c.replace("broker:9092", broker.bootstrap), e) for c, e in found], workplace, own)


@pytest.mark.parametrize("page", [p for p in PAGES if _PYTHON.search(p.read_text())], ids=lambda p: p.name)
def test_python_examples_run(page: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workplace)
    names: dict[str, object] = {}
    for block in _PYTHON.findall(page.read_text()):
        exec(compile(block, str(page), "exec"), names)  # the page is ours, and running it is the point
