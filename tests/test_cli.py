"""The command line: exit statuses, and one line instead of a traceback whatever it is given."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tricel.cli import main

ROOT = Path(__file__).parent.parent
TRIGGERS = str(ROOT / "examples" / "triggers")
RUN = ["--triggers", TRIGGERS, "--events", "e"]
EVENT = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "data": {"n": 5}}


def tricel(*arguments: str, given: str | bytes | None = None) -> Result:
    """The outcome of a command; an exception that is not an exit fails the test."""
    result = CliRunner().invoke(main, arguments, input=given)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.mark.parametrize(
    ("arguments", "given", "status", "says"),
    [
        (["lint", TRIGGERS], None, 0, "9 filters compiled, 0 errors"),
        (["lint", "no-such-file.yaml"], None, 2, "No such file"),
        (["lint", "-"], "a: [", 1, "TRI301"),
        (["lint", "-"], b"\xff\xfe\x00", 1, "TRI301"),
        (["lint", "-"], "kind: ConfigMap\napiVersion: v1\n", 0, "0 filters compiled"),
        (["lint"], None, 2, "give either"),
        (["lint", "-e", "ce.type == 5"], None, 0, "TRI250"),
        (["lint", "--limit", "cost=100", "-e", "data.l.exists(i, i > 1.0)"], None, 1, "the limit is 100"),
        (["lint", "--limit", "cost=100", "--limit", "assumed-items=4", "-e", "data.l.exists(i, i > 1.0)"], None, 0, ""),
        (["eval", "--limit", "depth=3", "-e", "data.a.b.c.d == 1.0"], b"", 1, "TRI102"),
        (["compile", "--limit", "nodes=0", "-e", "true"], None, 2, "a whole number from 1"),
        (["compile", "--limit", "depth=101", "-e", "true"], None, 2, "at most 100"),
        (["compile", "--limit", "steps=1", "-e", "true"], None, 2, "the names are text, depth"),
        (["lint", "--strict", "-e", "ce.type == 5"], None, 1, "TRI250"),
        (["compile", "-e", "user.id == 1"], None, 1, "did you mean 'data.user'"),
        (["compile", "--format", "cel", "-e", "(true)"], None, 0, "true"),
        (["compile", "--engine", "cel-python", "-e", "data.x.y[?0].hasValue()"], None, 1, "TRI401"),
        (["rule", "tri204"], None, 0, "no matching overload"),
        (["rule", "TRI000"], None, 2, "there is no code"),
        (["rule"], None, 0, "TRI101"),
        (["run", *RUN], None, 2, "give either --out"),
        (["run", *RUN, "--out", "o", "--checkpoint", "c"], None, 2, "--checkpoint needs --stream"),
        (["run", *RUN, "--out", "o", "--metrics-port", "0"], None, 2, "--metrics-port needs --stream"),
        (["run", *RUN, "--out", ""], None, 2, "the path after --out is empty"),
        (["run", "--triggers", TRIGGERS, "--events", "", "--dry-run"], None, 2, "the path after --events is empty"),
        (["run", "--triggers", TRIGGERS, "--events", TRIGGERS, "--out", f"{TRIGGERS}/out"], None, 2, "TRI602"),
        (["run", *RUN, "--out", "o", "--interval", "2"], None, 2, "--interval needs --stream"),
        (["run", *RUN, "--out", "o", "--metrics-host", "::1"], None, 2, "--metrics-host needs --stream"),
        (
            ["run", *RUN, "--stream", "--out", "o", "--metrics-host", "::1"],
            None,
            2,
            "--metrics-host needs --metrics-port",
        ),
        (["run", *RUN, "--out", "o", "--namespace", "n"], None, 2, "--namespace needs --triggers cluster"),
        (["run", *RUN, "--stream"], None, 2, "--stream needs --out"),
        (["run", *RUN, "--stream", "--out", "o", "--events", "f"], None, 2, "from one place"),
        (["run", *RUN, "--stream", "--out", "o", "--triggers", "-"], None, 2, "not -"),
        (["run", *RUN, "--stream", "--out", "o", "--triggers", "no-such-file"], None, 2, "No such file"),
        (
            ["run", *RUN, "--stream", "--out", "o", "--max-files-per-batch", "1", "--max-bytes-per-batch", "1"],
            None,
            2,
            "give either --max-files-per-batch",
        ),
        (["eval", "-e", "true"], "", 0, "0 events read"),
        (["eval", "-e", "true"], "not json\n[]\n{}\n\n", 0, "3 malformed"),
    ],
    ids=str,
)
def test_status(arguments: list[str], given: str | bytes | None, status: int, says: str) -> None:
    result = tricel(*arguments, given=given)
    assert status == result.exit_code
    assert says in result.output


def test_eval_prints_the_lines_that_match() -> None:
    lines = [json.dumps(EVENT | {"id": str(i), "data": {"n": i}}) for i in range(5)] + [
        json.dumps(EVENT | {"data": {}})
    ]
    result = tricel("eval", "-e", "data.n > 2", given="\n".join(lines))
    assert "\n".join(lines[3:5]) + "\n" == result.stdout
    assert "6 events read: 2 matched, 3 filtered, 1 errored, 0 malformed\n" == result.stderr


@pytest.mark.parametrize("format_", ["text", "concise", "json", "github", "sarif"])
def test_every_format_shows_the_code(format_: str) -> None:
    assert "TRI201" in tricel("lint", "--format", format_, "-e", "foo == 1").stdout


def test_compile_as_json() -> None:
    shown = json.loads(tricel("compile", "--format", "json", TRIGGERS).stdout)
    assert 9 == len(shown)
    assert all(c["native"] and c["sql"] for trigger in shown for c in trigger["conjuncts"])


INTERRUPTED = """
import logging, sys
from tricel.spark_backend import session

def interrupted(*given, **more):
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        logging.exception("while sending command")
        logging.getLogger("py4j.clientserver").error("gone", exc_info=True)
        raise

session.start_session = interrupted
from tricel.cli import main
main(sys.argv[1:])
"""


def test_an_interrupt_is_one_word() -> None:
    """Spark's bridge to Java logs each exception on its way, with its traceback."""
    command = [sys.executable, "-c", INTERRUPTED, "run", *RUN, "--dry-run"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (1, "", "Aborted!") == (done.returncode, done.stdout, done.stderr.strip())
