"""What `tricel run` is given is looked at before Spark starts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from click.testing import CliRunner
from filter_sets import trigger_yaml
from tricel.spark_backend.places.paths import _CONFIGURED
from tricel.spark_backend.run import session

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
    ({"events": "kafka:a b"}, ["error[TRI613]: 'a b' is not a name of a topic", "write kafka:TOPIC"]),
    ({"events": "kafka:a,a"}, ["error[TRI613]: topic 'a' is named twice"]),
    ({"events": "kafka:a,"}, ["error[TRI613]: the name of a topic is empty"]),
    ({"events": "kafka:.."}, ["error[TRI613]: no topic is called '..'"]),
    ({"events": f"kafka:{'a' * 250}"}, ["error[TRI613]: the name of a topic has 250 characters, and at most 249"]),
    ({"events": "kafka:"}, ["error[TRI613]: nothing follows 'kafka:'", "write kafka:TOPIC"]),
    ({"events": "KAFKA://host:9092/orders"}, ["error[TRI611]: 'kafka://' is not a place", "--kafka-bootstrap names"]),
    ({"events": "pulsar:orders"}, ["error[TRI611]: 'pulsar:' is not a place that events", "give PATH, table:NAME"]),
    ({"events": "iceberg:lake.events"}, ["error[TRI611]: 'iceberg:' is not a place", "table:NAME"]),
    ({"events": "table:"}, ["error[TRI613]: nothing follows 'table:'"]),
    ({"events": "table:a..b"}, ["error[TRI613]: 'a..b' is not a name of a table", "in backquotes"]),
    ({"events": "table:my-events"}, ["error[TRI613]: 'my-events' is not a name of a table"]),
    ({"events": "tabel:events"}, ["error[TRI611]: 'tabel:' is not a kind of place", "did you mean 'table:events'?"]),
    ({"events": "delta:"}, ["error[TRI613]: nothing follows 'delta:'", "write delta:PATH"]),
    ({"out": "delta:out"}, ["--out delta:out needs --checkpoint with a folder"]),
    ({"out": "table:pairs"}, ["--out table:pairs needs --checkpoint with a folder"]),
    ({"out": "table:pairs", "checkpoint": "done"}, ["error[TRI602]: the output directory holds an earlier run"]),
    ({"out": "out", "checkpoint": "c"}, ["--checkpoint needs --stream, or an --out that is no folder"]),
    ({"out": "table:pairs", "checkpoint": "c", "format": "jsonl"}, ["--format jsonl needs an --out that is a folder"]),
    ({"out": "table:pairs", "checkpoint": "c", "partition-by": "none"}, ["--partition-by needs an --out that is a"]),
    ({"events": "table:pairs", "out": "table:pairs", "checkpoint": "c"}, ["error[TRI602]: the next run would read"]),
    ({"conf": "spark.x"}, ["--conf 'spark.x' is not K=V"]),
    ({"decode": "value=text"}, ["--decode needs --environment"]),
    ({"encoding": "nosuch"}, ["--encoding 'nosuch'"]),
    ({"events": "topic:orders"}, ["error[TRI611]: 'topic:' is not a kind of place that is known here"]),
    ({"dead-letters": "kafka:dead"}, ["--dead-letters needs an --out kafka:TOPIC"]),
    ({"out": "table:pairs", "checkpoint": "c", "topic-from": "trigger"}, ["--topic-from needs an --out kafka:TOPIC"]),
    ({"out": "kafka:", "checkpoint": "c"}, ["error[TRI613]: nothing follows 'kafka:'", "--topic-from"]),
    ({"out": "kafka:or/ders"}, ["error[TRI613]: 'or/ders' is not a name of a topic"]),
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
        {"events": "./kafka:topic"},
        {"events": "table:`my-lake`.events.of_today"},
        {"events": "delta:s3a://bucket/events"},
        {"out": "table:pairs", "checkpoint": "c", "format": "json"},
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
        ({"events": "kafka:orders,"}, "error[TRI613]"),
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
