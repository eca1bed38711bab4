"""`tricel eval`: which lines it prints, and what it tells of those that have no outcome."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from filter_sets import trigger_yaml

from tricel.cli import main

EVENT = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "data": {"n": 5}}
LINES = [json.dumps(EVENT | {"id": str(i), "data": {"n": i}}) for i in range(5)] + [json.dumps(EVENT | {"data": {}})]


def evaluated(*arguments: str, given: str | bytes = "", expression: str = "data.n > 2") -> Result:
    """The outcome of the command; an exception that is not an exit fails the test."""
    result = CliRunner().invoke(main, ["eval", "-e", expression, *arguments], input=given)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_the_lines_that_match_are_printed() -> None:
    result = evaluated(given="\n".join(LINES))
    assert "\n".join(LINES[3:5]) + "\n" == result.stdout
    assert [
        "<stdin>:6: evaluation error: no such key: 'n' in data.n",
        "6 events read: 2 matched, 3 filtered, 1 errored, 0 malformed",
    ] == result.stderr.splitlines()
    assert 0 == result.exit_code


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"not json", "not readable as JSON: expecting value at column 1"),
        (b'{"id": "1', "not readable as JSON: unterminated string starting at column 8"),
        (b'{"id": }', "not readable as JSON: expecting value at column 8"),
        (b'{"id": "\\ud83d"}', "not readable as JSON: a lone surrogate at column 9"),
        (b'{"id": "\\ud83d\\ude00\\ude00"}', "not readable as JSON: a lone surrogate at column 21"),
        (b'{"id": 1, "id": 2}', "not readable as JSON: a key stands twice in an object"),
        (b"[]", "not a JSON object"),
        (b"{}", "'specversion' is missing"),
        (b'{"id": "\xff"}', "not UTF-8"),
    ],
)
def test_a_malformed_line_is_told_with_its_number_and_the_reason(line: bytes, reason: str) -> None:
    told = evaluated(given=b"\n" + LINES[0].encode() + b"\r\n" + line + b"\n").stderr.splitlines()
    assert f"<stdin>:3: malformed: {reason}" == told[0]
    assert "2 events read: 0 matched, 1 filtered, 0 errored, 1 malformed" == told[1]


def test_only_the_first_of_many_are_told() -> None:
    told = evaluated(given="{}\n" * 12 + (LINES[5] + "\n") * 1_011).stderr.splitlines()
    assert [f"<stdin>:{n}: malformed: 'specversion' is missing" for n in range(1, 11)] == told[:10]
    assert [f"<stdin>:{n}: evaluation error: no such key: 'n' in data.n" for n in range(13, 23)] == told[10:20]
    assert [
        "... and 2 other lines: malformed",
        "... and 1,001 other lines: evaluation error",
        "1023 events read: 0 matched, 0 filtered, 1011 errored, 12 malformed",
    ] == told[20:]


def test_the_trigger_that_erred_is_named(tmp_path: Path) -> None:
    for name, expression in (("small", "data.n < 2"), ("long", "size(data.n) > 2")):
        (tmp_path / f"{name}.yaml").write_text(trigger_yaml(name, expression))
    result = CliRunner().invoke(main, ["eval", str(tmp_path)], input="\n".join(LINES[1:4]))
    assert LINES[1] + "\n" == result.stdout
    assert all("(trigger 'long')" in line for line in result.stderr.splitlines()[:2])


@pytest.mark.parametrize("compress", [gzip.compress, bytes], ids=["gzip", "plain"])
def test_events_come_from_files_and_standard_input(tmp_path: Path, compress: type[bytes]) -> None:
    """Gzip is told by what is in a file, whatever it is called."""
    first, second = tmp_path / "first.jsonl", tmp_path / "second"
    first.write_bytes(compress("\n".join(LINES[2:4]).encode()))
    second.write_bytes(compress(b"[]\n" + LINES[4].encode() + b"\n"))
    words = [word for path in (first, "-", second) for word in ("--events", str(path))]
    result = evaluated(*words, given=compress(LINES[0].encode()))
    assert LINES[3:5] == result.stdout.splitlines()
    assert f"{second}:1: malformed: not a JSON object" == result.stderr.splitlines()[0]


def test_damaged_gzip_is_malformed_where_it_breaks() -> None:
    whole = gzip.compress("\n".join(LINES).encode() + b"\n")
    result = evaluated(given=whole[:-12])
    assert 0 == result.exit_code
    assert ": malformed: the file is damaged: what follows the lines read from it is lost" in result.stderr
    assert ", 1 malformed" in result.stderr.splitlines()[-1]


@pytest.mark.parametrize("given", ["", "\n", "{", "\x1f"], ids=repr)
def test_very_short_input(given: str) -> None:
    assert 0 == evaluated(given=given).exit_code


def test_a_file_that_is_not_there_ends_it_before_the_first_line(tmp_path: Path) -> None:
    result = evaluated("--events", "-", "--events", str(tmp_path / "none"), given=LINES[4])
    assert (2, "", f"error: No such file or directory: {tmp_path / 'none'}\n") == (
        result.exit_code,
        result.stdout,
        result.stderr,
    )


def test_manifests_and_events_cannot_both_be_standard_input(tmp_path: Path) -> None:
    (tmp_path / "events").write_text("\n".join(LINES))
    manifest = trigger_yaml("big", "data.n > 2")
    refused = CliRunner().invoke(main, ["eval", "-"], input=manifest)
    assert (2, True) == (refused.exit_code, "give the events with --events FILE" in refused.stderr)
    taken = CliRunner().invoke(main, ["eval", "-", "--events", str(tmp_path / "events")], input=manifest)
    assert LINES[3:5] == taken.stdout.splitlines()


def test_lines_are_judged_as_they_come() -> None:
    """A pipe that stays open does not hold back what is known."""
    command = [sys.executable, "-m", "tricel", "eval", "-e", "data.n > 2"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(LINES[3].encode() + b"\n")
        process.stdin.flush()
        assert LINES[3].encode() + b"\n" == process.stdout.readline()
        process.stdin.close()
        assert 0 == process.wait(30)


def test_records_are_read_as_the_environment_says() -> None:
    lines = [
        '{"topic": "t", "value": {"n": 7}, "headers": {"x": "1"}}',
        '{"topic": "t", "value": null}',
        '{"topic": "t", "value_bytes": "/w=="}',
        '{"topic": 5}',
    ]
    kafka = ("--environment", "kafka-record")
    result = evaluated(*kafka, given="\n".join(lines), expression='value.n > 5.0 && headers["x"] == "1"')
    assert lines[0] + "\n" == result.stdout
    assert [
        "<stdin>:2: evaluation error: type 'null_type' has no fields: 'n' in value.n",
        "<stdin>:3: evaluation error: no such attribute: 'value' in value",
        "<stdin>:4: malformed: 'topic' is not of type string",
        "4 events read: 1 matched, 0 filtered, 2 errored, 1 malformed",
    ] == result.stderr.splitlines()
    gone = evaluated(*kafka, given="\n".join(lines), expression="value == null")
    assert lines[1] + "\n" == gone.stdout
    text = evaluated(*kafka, "--decode", "value=text", given='{"value_bytes": "YQ=="}', expression='value == "a"')
    assert '{"value_bytes": "YQ=="}\n' == text.stdout
    message = '{"topic": "t/1", "payload": "21.5", "retain": true}'
    mqtt = ("--environment", "mqtt-message", "--decode", "payload=text")
    assert message + "\n" == evaluated(*mqtt, given=message, expression="double(payload) > 20.0 && retain").stdout


@pytest.mark.parametrize("engine", ["cel-expr-python", "tricel"])
@pytest.mark.parametrize(("text", "matched"), [("data == b'a'", 0), ("size(data) == 3", 1), ("string(data) == 'a'", 0)])
def test_bytes_with_nul_are_whole_to_every_engine(engine: str, text: str, matched: int) -> None:
    event = {"specversion": "1.0", "id": "1", "source": "s", "type": "t", "data_base64": "YQBi"}
    event["datacontenttype"] = "application/octet-stream"
    result = evaluated("--engine", engine, given=json.dumps(event), expression=text)
    assert matched == len(result.stdout.splitlines())


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--decode", "value=text"], "--decode needs --environment kafka-record or mqtt-message"),
        (["--environment", "kafka-record", "--decode", "value=text", "--decode", "value=bytes"], "declared twice"),
        (["--environment", "kafka-record", "--decode", "topic=text"], "'topic' cannot be declared text"),
        (["--environment", "kafka-record", "--dialect", "labels"], "'labels' is about a CloudEvent"),
    ],
)
def test_options_that_contradict_one_another(arguments: list[str], line: str) -> None:
    result = evaluated(*arguments, expression="a")
    assert 2 == result.exit_code
    assert line in result.stderr
