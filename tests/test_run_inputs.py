"""What `tricel run` is given is looked at before Spark starts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from click.testing import CliRunner
from filter_sets import trigger_yaml
from tricel.spark_backend.run import session
from tricel.spark_backend.storage.places import _CONFIGURED

from tricel.cli import main

EVENT = '{"specversion":"1.0","id":"1","source":"s","type":"a"}\n'


class StartedError(Exception):
    """Spark would have been started."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a trigger and places of all sorts, where it is the working directory; Spark does not start."""
    for name, text in {
        "trigger.yaml": trigger_yaml("a", "ce.type == 'a'"),
        "events.jsonl": EVENT,
        "notes.md": "no event",
        "docs/notes.md": "no event",
        "hidden/_old/a.jsonl": EVENT,
        "linked/readme.md": "",
        "done/report.json": "{}",
        "killed/staging/x": "",
        "foreign/holiday.jpg": "",
        "closed/a.jsonl": EVENT,
        "kafka:topic/a.jsonl": EVENT,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "linked" / "to").symlink_to(tmp_path / "closed")
    (tmp_path / "empty").mkdir()
    may = os.access
    monkeypatch.setattr(os, "access", lambda p, mode: Path(p) != tmp_path / "closed" and may(p, mode))
    monkeypatch.chdir(tmp_path)
    for name in _CONFIGURED:
        monkeypatch.delenv(name, raising=False)

    def start(*args: object, **options: object) -> None:
        raise StartedError

    monkeypatch.setattr(session, "start_session", start)
    return tmp_path


OK = {"triggers": "trigger.yaml", "events": "events.jsonl", "out": "out"}
REFUSED = [
    ({"events": "nosuch.jsonl"}, ["error[TRI601]: no such file or directory", "nosuch.jsonl"]),
    ({"events": "notes.md"}, ["error[TRI601]: there are no events to read here", "notes.md", "name files .jsonl"]),
    ({"events": "docs"}, ["error[TRI601]: there are no events to read here"]),
    ({"events": "hidden"}, ["error[TRI601]: there are no events to read here"]),
    ({"events": "empty"}, ["error[TRI601]: there are no events to read here"]),
    ({"events": "closed"}, ["error[TRI601]: this cannot be read: permission denied"]),
    ({"events": "kafka:orders"}, ["error[TRI611]: 'kafka:' is not a place that events", "--stream --events PATH"]),
    ({"events": "KAFKA://host:9092/orders"}, ["error[TRI611]: 'kafka:' is not a place that events"]),
    ({"events": "delta:lake.events"}, ["error[TRI611]: 'delta:' is not a place", "table:NAME"]),
    ({"events": "iceberg:lake.events"}, ["error[TRI611]: 'iceberg:' is not a place", "table:NAME"]),
    ({"events": "table:events"}, ["error[TRI611]: a table is read with --stream only"]),
    ({"events": "topic:orders"}, ["error[TRI611]: 'topic:' is not a kind of place that is known here"]),
    ({"out": "kafka:orders"}, ["error[TRI611]: 'kafka:' is not a place"]),
    ({"out": "notes.md"}, ["error[TRI602]: the output is a file, not a directory"]),
    ({"out": "notes.md/out"}, ["error[TRI602]: the output directory cannot be made", "notes.md' is not a directory"]),
    ({"out": "closed/out/deep"}, ["error[TRI602]: the output directory cannot be written to", "closed'"]),
    ({"out": "done"}, ["error[TRI602]: the output directory holds an earlier run", "or overwrite it"]),
    ({"out": "foreign"}, ["error[TRI602]: the output directory is in use", "'holiday.jpg' in it"]),
    ({"triggers": "nosuch.yaml"}, ["error: No such file or directory: nosuch.yaml"]),
]


def words(options: dict[str, str]) -> list[str]:
    return [word for name, value in (OK | options).items() for word in (f"--{name}", value)]


@pytest.mark.parametrize(("options", "says"), REFUSED, ids=lambda v: str(v) if isinstance(v, dict) else "")
def test_what_is_refused_before_spark_starts(place: Path, options: dict[str, str], says: list[str]) -> None:
    result = CliRunner().invoke(main, ["run", *words(options)], env={"COLUMNS": "200"})
    assert 2 == result.exit_code, result.output
    assert [] == [text for text in says if text not in result.output], result.output


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"events": "*.jsonl"},
        {"events": "nosuch*"},
        {"events": "{a,events}.jsonl"},
        {"events": "s3a://bucket/events"},
        {"events": "linked"},
        {"events": "kafka:topic"},
        {"out": "killed"},
        {"out": "empty/deep/er"},
        {"out": "s3a://bucket/out"},
    ],
    ids=str,
)
def test_what_is_left_to_spark(place: Path, options: dict[str, str]) -> None:
    assert isinstance(CliRunner().invoke(main, ["run", *words(options)]).exception, StartedError)


def test_a_path_may_be_of_another_file_system_where_spark_is_configured(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop/conf")
    result = CliRunner().invoke(main, ["run", *words({"events": "/lake/events", "out": "/lake/out"})])
    assert isinstance(result.exception, StartedError)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"events": "nosuch"}, "error[TRI601]: no such file or directory"),
        ({"events": "kafka:orders"}, "error[TRI611]"),
        ({"out": "notes.md"}, "error[TRI602]: the output is a file"),
        ({"events": "empty", "checkpoint": "closed/c"}, "error[TRI602]: the output directory cannot be written to"),
        ({"events": "empty"}, ""),
        ({"events": "table:events"}, ""),
    ],
    ids=str,
)
def test_a_stream_is_looked_at_too(place: Path, options: dict[str, str], says: str) -> None:
    result = CliRunner().invoke(main, ["run", "--stream", *words(options)], env={"COLUMNS": "200"})
    assert says in result.output, result.output
    assert isinstance(result.exception, SystemExit if says else StartedError)


def test_a_cluster_stands_by_itself(place: Path) -> None:
    result = CliRunner().invoke(main, ["run", *words({}), "--triggers", "cluster"])
    assert (2, True) == (result.exit_code, "--triggers cluster stands by itself" in result.output)
