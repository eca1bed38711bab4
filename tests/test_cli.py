"""The command line: exit statuses, and one line instead of a traceback whatever it is given."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from tricel.cli import main

ROOT = Path(__file__).parent.parent
TRIGGERS = str(ROOT / "examples" / "triggers")
EVENTS = str(ROOT / "examples" / "events")
RUN = ["--triggers", TRIGGERS, "--events", EVENTS]
SCHEMA = str(ROOT / "tests" / "cases" / "payloads" / "order.avsc")
KAFKA = ("--environment", "kafka-record", "-e")
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
        (["lint", "-"], b"\xff\xfe\x00", 1, "TRI306"),
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
        (["lint", *KAFKA, "value == null && headers.x == '1'"], None, 0, "1 filters compiled, 0 errors, 0 warnings"),
        (["lint", *KAFKA, "ce.type == 't'"], None, 1, "unknown name 'ce'"),
        (["lint", *KAFKA, "record.total > 5.0"], None, 1, "did you mean 'value.total'"),
        (["lint", *KAFKA, "topicid == 't'"], None, 1, "did you mean 'topic_id'"),
        (
            ["compile", *KAFKA, "value.total > 5.0"],
            None,
            0,
            "try_parse_json(try_validate_utf8(CAST(`value` AS STRING)))",
        ),
        (["compile", "--plan", *KAFKA, "value.total > 5.0"], None, 0, "value.total > ?"),
        (["compile", "--decode", "value=bytes", *KAFKA, "value == b'x'"], None, 0, "is bytes or null"),
        (["compile", "--decode", "value=xml", *KAFKA, "true"], None, 2, "the forms are json, text, bytes"),
        (
            ["compile", "--decode", "value=avro:none.avsc", *KAFKA, "true"],
            None,
            2,
            "error[TRI624]: the schema cannot be read",
        ),
        (["compile", "--decode", "value=protobuf:x.pb", *KAFKA, "true"], None, 2, "is not protobuf:FILE#MESSAGE"),
        (
            ["compile", "--decode", f"value=avro:{SCHEMA}", *KAFKA, "value.total > 5.0"],
            None,
            0,
            "`value`.`total` > 5.0D",
        ),
        (["compile", "--decode", f"data=avro:{SCHEMA}", "-e", "data.totl > 5.0"], None, 1, "did you mean 'total'"),
        (["lint", "--decode", f"data=avro:{SCHEMA}", "-e", "data.id + 1 > 1"], None, 1, "TRI204"),
        (["lint", "--decode", f"topic=avro:{SCHEMA}", *KAFKA, "true"], None, 2, "key, value can have"),
        (["eval", "--decode", f"data=avro:{SCHEMA}", "-e", "true"], b"", 2, "lines of JSON are read as they are"),
        (["compile", "--decode", "topic=text", *KAFKA, "true"], None, 2, "key, value can"),
        (
            ["compile", "--decode", "data=text", "-e", "true"],
            None,
            2,
            "--decode needs --environment kafka-record or mqtt-message",
        ),
        (["lint", "--environment", "kafka-record", TRIGGERS], None, 2, "are about an expression"),
        (["compile", "--environment", "mqtt-message", "-e", "payload.t > 20.0 && qos == 1"], None, 0, "`qos`"),
        (["compile", "--environment", "mqtt-session", "-e", 'client_attrs.tns == "a"'], None, 0, "`client_attrs`"),
        (["lint", "--environment", "mqtt-message", "-e", "client_id == 'c'"], None, 1, "did you mean 'clientid'"),
        (["lint", "--environment", "mqtt-session", "-e", "tenant == 'c'"], None, 1, "did you mean 'client_attrs.tns'"),
        (["lint", "--environment", "cloudevent", "-e", "ce.type == 't'"], None, 0, "1 filters compiled"),
        (["lint", "--environment", "nothing", "-e", "true"], None, 2, "is not one of"),
        (["compile", "-e", "user.id == 1"], None, 1, "did you mean 'data.user'"),
        (["compile", "--format", "cel", "-e", "(true)"], None, 0, "true"),
        (["compile", "--engine", "cel-python", "-e", "data.x.y[?0].hasValue()"], None, 1, "TRI401"),
        (["eval", "--engine", "cel-python", "-e", "data.x == 1.0"], b"{}\n", 1, "cel-python cannot evaluate this"),
        (["compile", "--format", "cel", "--dialect", "attributes", "-e", "{type: t}"], None, 0, 'ce.type == "t"'),
        (["lint", "--dialect", "filters", "-e", '[{"exakt": {"type": "t"}}]'], None, 1, "did you mean 'exact'"),
        (["lint", "--dialect", "cesql", "-e", "a == 'b'"], None, 1, "TRI360"),
        (["eval", "--dialect", "sql", "-e", "type LIKE 'order.%'"], json.dumps(EVENT), 0, "matched"),
        (["eval", "--dialect", "not", "-e", "exact: {type: u}"], json.dumps(EVENT), 0, "1 matched"),
        (["compile", "--dialect", "atributes", "-e", "{}"], None, 2, "did you mean 'attributes'"),
        (["compile", "--dialect", "attributes", TRIGGERS], None, 2, "no suffix names a file of 'attributes'"),
        (
            ["compile", "--dialect", "cel", "--target", "knative", TRIGGERS],
            None,
            2,
            "with --dialect each file is one filter",
        ),
        (["compile", "--dialect", "cel", "--triggers", "cluster"], None, 2, "a Trigger of a cluster names its own"),
        (["rule", "tri204"], None, 0, "no matching overload"),
        (["rule", "TRI000"], None, 2, "there is no code"),
        (["rule"], None, 0, "TRI101"),
        (["run", *RUN], None, 2, "give either --out"),
        (["run", *RUN, "--out", "o", "--checkpoint", "c"], None, 2, "--checkpoint needs --stream"),
        (["run", *RUN, "--out", "o", "--metrics-port", "0"], None, 2, "--metrics-port needs --stream"),
        (["run", *RUN, "--out", ""], None, 2, "the path after --out is empty"),
        (["run", "--triggers", TRIGGERS, "--events", "", "--dry-run"], None, 2, "the path after --events is empty"),
        (["run", "--triggers", TRIGGERS, "--events", EVENTS, "--out", f"{EVENTS}/out"], None, 2, "TRI602"),
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


@pytest.mark.parametrize("format_", ["text", "concise", "json", "github", "sarif"])
def test_every_format_shows_the_code(format_: str) -> None:
    assert "TRI201" in tricel("lint", "--format", format_, "-e", "foo == 1").stdout


@pytest.mark.parametrize(("expression", "status"), [("foo == 1", 1), ("true", 0)])
def test_quiet_is_without_the_summary_alone(expression: str, status: int) -> None:
    loud, quiet = (tricel("lint", *words, "-e", expression) for words in ([], ["--quiet"]))
    assert (status, loud.stdout) == (quiet.exit_code, quiet.stdout) == (loud.exit_code, loud.stdout)
    assert ("", True) == (quiet.stderr, "filters compiled" in loud.stderr)
    assert quiet.output == tricel("lint", "-q", "-e", expression).output


def test_compile_as_json() -> None:
    shown = json.loads(tricel("compile", "--format", "json", TRIGGERS).stdout)
    assert 9 == len(shown)
    assert all(c["native"] and c["sql"] for trigger in shown for c in trigger["conjuncts"])


COMMANDS = sorted(main.commands.items())


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_help_teaches(name: str, command: click.Command) -> None:
    """Each command shows how it is used and how it ends, and which of its options may be given more than once."""
    shown = " ".join(tricel(name, "--help").output.split())
    assert f"tricel {name} " in (command.help or "").partition("\b")[2]
    assert "Exit status: 0" in shown or name == "crd"
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.multiple == ("may be given several times" in (option.help or "")), option.name


INTERRUPTED = """
import logging, sys
from tricel.spark_backend.run import session

def interrupted(*given, **more):
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        logging.exception("while sending command")
        logging.getLogger("py4j.clientserver").error("gone", exc_info=True)
        raise

session._session = interrupted
from tricel.cli import main
main(sys.argv[1:])
"""


def test_an_interrupt_is_one_word() -> None:
    """Spark's bridge to Java logs each exception on its way, with its traceback."""
    command = [sys.executable, "-c", INTERRUPTED, "run", *RUN, "--dry-run"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (1, "", "Aborted!") == (done.returncode, done.stdout, done.stderr.strip())
