"""What commands print on a terminal, and what they print where there is none."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from tricel.compiler.diagnostics.as_text import cells
from tricel.spark_backend.run.reports import ErrorCount, RunReport, TriggerCounts

from tricel.cli import main
from tricel.commands.spark import RunChoice

_CODE = re.compile(r"\x1b\[[0-9;]*m")
TOOL = [sys.executable, "-m", "tricel"]
LINT = ["lint", "-e", "user.id == 'a' && ce.type == 5"]
RED, YELLOW = "\x1b[31m\x1b[1m", "\x1b[33m\x1b[1m"


def on_terminal(*arguments: str, command: Sequence[str] = TOOL, **environment: str) -> str:
    """What a command, or else tricel, writes on a terminal, its line breaks as everywhere else."""
    ours, theirs = pty.openpty()
    given = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with subprocess.Popen(
        [*command, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**given, "TERM": "xterm", **environment},
    ):
        os.close(theirs)
        written = b""
        with suppress(OSError):  # how a terminal says that nobody writes any more
            while part := os.read(ours, 4096):
                written += part
    os.close(ours)
    return written.decode().replace("\r\n", "\n")


def piped(*arguments: str) -> str:
    """What a command writes into a pipe."""
    done = subprocess.run([*TOOL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout


def test_diagnostics_are_in_colour_on_a_terminal_alone() -> None:
    coloured = on_terminal(*LINT)
    assert f"{RED}error[TRI201]\x1b[0m" in coloured
    assert f"{RED}^^^^\x1b[0m" in coloured
    assert f"{YELLOW}warning[TRI250]\x1b[0m" in coloured
    plain = piped(*LINT)
    assert "\x1b" not in plain
    assert plain == _CODE.sub("", coloured)


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_colour_can_be_refused(environment: dict[str, str]) -> None:
    shown = on_terminal(*LINT, **environment)
    assert "error[TRI201]" in shown
    assert "\x1b" not in shown


LONG = "team/" + "a-trigger-of-a-long-name-" * 8
ERROR = ErrorCount(LONG, "no such key: 'n'\nor so", "data.n.exists(x, x > 1.0)" * 5, 1_234)
REPORT = RunReport(
    read=1_000_003,
    malformed=3,
    evaluated=1_000_000,
    reasons=(("not UTF-8", 3),),
    triggers=(
        TriggerCounts(LONG, 1_000_000, 12, 998_754, 1_234),
        TriggerCounts("日本/[red]", 1_000_000, 0, 1_000_000, 0),
    ),
    errors=(ERROR,),
    written=12,
    deliver=(),
    format="parquet",
)
SHOW = """
import sys
sys.path.insert(0, sys.argv[1])
from test_terminal import REPORT
from tricel.console import print_report, progress_bar
from tricel.spark_backend.run.progress import Progress

with progress_bar() as tell:
    tell(Progress("filter", 3, 7))
print_report(REPORT)
"""
SHOWING = [sys.executable, "-c", SHOW, str(Path(__file__).parent)]


def test_a_piped_report_has_a_line_for_each_trigger_whatever_the_width() -> None:
    environment = {**os.environ, "COLUMNS": "40", "TERM": "xterm"}
    done = subprocess.run(SHOWING, capture_output=True, text=True, check=True, env=environment)
    head, first, second, *sums = done.stdout.splitlines()
    assert ["trigger", "evaluated", "delivered", "filtered", "errored"] == head.split()
    assert [LONG, "1000000", "12", "998754", "1234"] == first.split()
    assert ["日本/[red]", "1000000", "0", "1000000", "0"] == second.split()
    assert len(head) == len(first) == cells(second)
    assert [
        "1,000,003 events read = 3 malformed + 1,000,000 evaluated",
        "  3 malformed: not UTF-8",
        f"  1,234 errored: {LONG}: no such key: 'n'<U+000A>or so in {ERROR.subexpression}",
    ] == sums
    assert "" == done.stderr


def test_a_terminal_has_a_table_and_progress() -> None:
    shown = _CODE.sub("", on_terminal(command=SHOWING, COLUMNS="100"))
    for part in ("3/7 tasks", "┃ trigger", "998,754", "日本/[red]"):
        assert part in shown


@pytest.mark.parametrize(
    ("words", "format_", "as_json"),
    [
        ([], "parquet", False),
        (["--report", "json"], "parquet", True),
        (["--format", "jsonl"], "jsonl", False),
        (["--format", "json"], "jsonl", True),
        (["--format", "json", "--report", "text"], "jsonl", False),
    ],
    ids=str,
)
def test_json_is_how_files_are_written_and_the_report_is_printed(
    monkeypatch: pytest.MonkeyPatch, words: list[str], format_: str, as_json: bool
) -> None:
    given: list[RunChoice] = []

    def ran(choice: RunChoice) -> int:
        given.append(choice)
        return 0

    monkeypatch.setattr("tricel.commands.spark._batch", ran)
    run = ["run", "--triggers", "t", "--events", "e", "--out", "o"]
    assert 0 == CliRunner().invoke(main, [*run, *words]).exit_code
    (choice,) = given
    assert (format_, as_json) == (choice.format, choice.as_json)
