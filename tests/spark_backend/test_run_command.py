"""`tricel run` on input that it cannot use: a diagnostic with a code and a remedy, and never a traceback."""

from __future__ import annotations

import base64
import json
import re
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from filter_sets import trigger_yaml
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf
from tricel.spark_backend.run.streaming.ledger import Ledger
from tricel.spark_backend.spark_errors import cause

from tricel.cli import main

pytestmark = pytest.mark.spark

EVENT = {"specversion": "1.0", "id": "1", "source": "s", "type": "a"}
TABLES = {
    "unfit": "'1' AS id, 's' AS source, 'a' AS type, named_struct('n', 'text') AS data",
    "numbers": "1 AS id, 's' AS source, 'a' AS type",
    "without": "'1' AS id, 's' AS source, 'a' AS type, 'x' AS payload",
}


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a trigger, events, tables that do not fit; commands take the session that is there, and leave it."""
    monkeypatch.setattr(SparkSession, "stop", lambda self: None)
    (tmp_path / "trigger.yaml").write_text(trigger_yaml("big", "data.n > 1.0"))
    (tmp_path / "region.yaml").write_text(trigger_yaml("region", "has(ce.region)"))
    (tmp_path / "other.yaml").write_text(trigger_yaml("x", "true").replace("Trig", "Trg"))
    (tmp_path / "events.jsonl").write_text(json.dumps(EVENT) + "\n")
    for name, columns in TABLES.items():
        spark.sql(f"SELECT {columns}").write.parquet(str(tmp_path / name))
    return tmp_path


def tricel_run(place: Path, **options: str) -> Result:
    """The outcome of a batch run over the events in `place`; an option that names a file there is its path."""
    given = {"triggers": "trigger.yaml", "events": "events.jsonl", "out": "out", **options}
    words = [w for name, value in given.items() for w in (f"--{name}", value if ":" in value else str(place / value))]
    return CliRunner().invoke(main, ["run", *words], env={"COLUMNS": "200"})


@pytest.mark.parametrize(
    ("options", "status", "says"),
    [
        ({"events": "unfit"}, 1, ["error[TRI204]: no overload of '>' for (string, double)", "trigger.yaml:6:25"]),
        ({"events": "numbers"}, 2, ["error[TRI601]: this is no table of events: column 'id' is integer", "numbers"]),
        (
            {"events": "without"},
            2,
            ["error[TRI608]: the events have no column 'data', which the filter reads", "trigger.yaml:6:25"],
        ),
        (
            {"events": "without", "triggers": "region.yaml"},
            0,
            ["warning[TRI609]: the events have no column 'region' and no map of extensions", "1 events read"],
        ),
        ({"events": "nosuch://x/y"}, 2, ["error[TRI601]", 'No FileSystem for scheme "nosuch"', "nosuch://x/y"]),
        ({"events": "["}, 2, ["error[TRI601]", "Unclosed", "check the path"]),
        ({"out": "nosuch://x/y"}, 2, ["error[TRI602]", 'No FileSystem for scheme "nosuch"', "choose another"]),
        ({"out": "trigger.yaml/out"}, 2, ["error[TRI602]", "not a directory", "choose a directory"]),
        ({"events": "unfit", "out": "unfit/out"}, 2, ["error[TRI602]: the next run would read what this one writes"]),
        ({"out": "file:/proc/nowhere/out"}, 2, ["error[TRI602]: the output directory cannot be made", "/proc/nowhere"]),
        ({"triggers": "other.yaml"}, 0, ["warning[TRI607]", "other.yaml", "1 events read"]),
    ],
    ids=str,
)
def test_what_cannot_be_used_is_told(place: Path, options: dict[str, str], status: int, says: list[str]) -> None:
    result = tricel_run(place, **options)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert status == result.exit_code, result.output
    assert [] == [words for words in says if words not in result.output], result.output


@pytest.mark.parametrize(
    ("options", "says"),
    [(["--format", "jsonl", "--out", "out"], "needs --format parquet"), (["--dry-run"], "needs --out")],
)
def test_where_there_are_no_columns_none_can_be_asked_for(place: Path, options: list[str], says: str) -> None:
    words = ["--triggers", str(place / "trigger.yaml"), "--events", str(place / "events.jsonl"), "--with-event"]
    result = CliRunner().invoke(main, ["run", *words, *options])
    assert (2, True) == (result.exit_code, f"--with-event {says}" in result.output), result.output


@pytest.mark.parametrize("more", [[], ["--stream", "--available-now"]], ids=["run", "stream"])
@pytest.mark.parametrize("option", [[], ["--with-event"]], ids=["without", "with"])
def test_the_event_as_text_is_delivered_where_it_is_asked_for(
    spark: SparkSession, place: Path, option: list[str], more: list[str]
) -> None:
    (place / "in").mkdir()
    (place / "in" / "events.jsonl").write_text(json.dumps(EVENT | {"data": {"n": 2}}) + "\n")
    words = ["--triggers", str(place / "trigger.yaml"), "--events", str(place / "in"), "--out", str(place / "out")]
    result = CliRunner().invoke(main, ["run", *words, *option, *more], env={"COLUMNS": "200"})
    assert 0 == result.exit_code, result.output
    columns = spark.read.parquet(str(place / "out" / "delivered")).columns
    wanted = ["event", "error", "subexpression"] if option else []
    assert sorted(wanted) == sorted({"event", "error", "subexpression"} & set(columns))


def test_a_stream_tells_of_triggers_that_tables_do_not_fit(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those before go on, and are what the report names."""
    (place / "in").mkdir()
    for name in ("one", "two"):
        shutil.copytree(place / "without", place / "in" / name)
    (place / "triggers").mkdir()
    (place / "triggers" / "sound.yaml").write_text(trigger_yaml("sound", "ce.type == 'a'"))
    commit = Ledger.commit

    def then_changed(self: Ledger, batch: int, *given: Any) -> None:
        commit(self, batch, *given)
        shutil.copy(place / "trigger.yaml", place / "triggers")

    monkeypatch.setattr(Ledger, "commit", then_changed)
    words = ["--triggers", str(place / "triggers"), "--events", str(place / "in"), "--out", str(place / "out")]
    more = ["--stream", "--available-now", "--max-files-per-batch", "1", "--report", "json"]
    result = CliRunner().invoke(main, ["run", *words, *more], env={"COLUMNS": "200"})
    assert 0 == result.exit_code, result.output
    assert 1 == result.stderr.count("error[TRI608]: the events have no column 'data', which the filter reads")
    assert 1 == result.stderr.count("the triggers have changed, and are refused: those before go on")
    report = json.loads(result.stdout)
    assert (2, 2, ["sound"]) == (report["batches"], report["read"], [t["trigger"] for t in report["triggers"]])
    assert ["sound"] == [f["trigger"] for f in report["filters"]]


@pytest.mark.parametrize(("on_error", "status"), [("drop", 0), ("fail", 2)])
def test_a_dry_run_ends_as_a_run_would(place: Path, on_error: str, status: int) -> None:
    words = ["--triggers", str(place / "trigger.yaml"), "--events", str(place / "events.jsonl"), "--on-error", on_error]
    dry, wet = (
        CliRunner().invoke(main, ["run", *words, *last], env={"COLUMNS": "200"})
        for last in (["--dry-run"], ["--out", str(place / "out")])
    )
    assert [status, status] == [dry.exit_code, wet.exit_code], dry.output
    assert "1 events read" in dry.output
    assert (status != 0) == ("error[TRI603]: evaluation errors would end a run" in dry.output)


def in_json(place: Path, *more: str) -> tuple[str, dict[str, Any]]:
    """What a run with `more` prints, and what that holds; it is a report without what every run has of its own."""
    words = ["--triggers", str(place / "trigger.yaml"), "--events", str(place / "events.jsonl")]
    result = CliRunner().invoke(main, ["run", *words, *more], env={"COLUMNS": "20"})
    assert 0 == result.exit_code, result.output
    report = json.loads(result.stdout)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", report["start"])
    assert 0 < report["duration"] < 600
    assert {"triggers": words[1:2], "events": words[3:4]} == report["inputs"]
    assert [{"trigger": "big", "cel": "data.n > 1.0", "from": f"{words[1]}:3"}] == report["filters"]
    assert version("tricel") == report["version"]
    own = ("start", "duration", "inputs", "filters", "version")
    return result.stdout, {name: value for name, value in report.items() if name not in own}


def test_reports_in_json(place: Path) -> None:
    """A run, its dry run and a stream print their reports and nothing else; what is malformed is JSON Lines, too."""
    bad = [b"not json", b'{"id": "caf\xe9"}', '{"type": "\u2028 \U0001f600"}'.encode()]
    good = [json.dumps(EVENT | {"data": {"n": n}}).encode() for n in (1, 2)]
    (place / "events.jsonl").write_bytes(b"\n".join([*good, *bad]))
    printed, report = in_json(place, "--format", "json", "--out", str(place / "out"))
    assert printed == (place / "out" / "report.json").read_text()
    counts = {"trigger": "big", "evaluated": 2, "delivered": 1, "filtered": 1, "errored": 0}
    reasons = {"'specversion' is missing": 1, "not UTF-8": 1, "not readable as JSON": 1}
    told = {"read": 5, "malformed": 3, "evaluated": 2, "reasons": reasons, "triggers": [counts], "errors": []}
    assert {**told, "written": 1, "deliver": [], "format": "jsonl"} == report
    assert report | {"format": "none"} == in_json(place, "--dry-run", "--report", "json")[1]
    stream = ["--stream", "--available-now", "--out", str(place / "live"), "--format", "json"]
    assert told == {name: value for name, value in in_json(place, *stream)[1].items() if name in told}
    for folder in (place / "out" / "quarantine", place / "live" / "quarantine" / "batch=0"):
        lines = [json.loads(line) for file in folder.glob("part-*.txt") for line in file.read_text().split("\n")[:-1]]
        found = {line["text"]: line for line in lines}
        assert ["text", "raw_base64"] == [n for n in ("text", "raw_base64") if n in found['{"id": "caf\ufffd"}']]
        assert bad[1] == base64.b64decode(found['{"id": "caf\ufffd"}'].pop("raw_base64"))
        assert {"reason", "text", "file"} == {name for line in lines for name in line}
        assert {**reasons} == {line["reason"]: 1 for line in lines}
        assert {bad[0].decode(), '{"id": "caf\ufffd"}', bad[2].decode()} == set(found)


def test_what_ends_a_query_ends_the_run_in_a_line(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a disk that is full: whatever Spark raises."""
    monkeypatch.setattr("tricel.spark_backend.run.sink.PARTITIONS", {"trigger": ("no_such_column",), "none": ()})
    result = tricel_run(place)
    assert (2, SystemExit) == (result.exit_code, type(result.exception)), result.output
    assert "error[TRI606]: the run cannot go on: " in result.output
    assert "no_such_column" in result.output
    assert "begins anew" in result.output
    assert [] == list((place / "out").iterdir())


def test_what_a_worker_says_is_the_cause(spark: SparkSession) -> None:
    @pandas_udf("int")
    def lacks(numbers: pd.Series) -> pd.Series:
        raise RuntimeError("tricel: the executor lacks a package: host h")

    with pytest.raises(PySparkException) as e:
        spark.range(1).select(lacks("id")).collect()
    assert "RuntimeError: tricel: the executor lacks a package: host h" == cause(e.value)


def test_a_session_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*given: object, **more: object) -> None:
        raise ConnectionRefusedError

    from tricel.spark_backend.failure import RunError
    from tricel.spark_backend.run import session

    monkeypatch.setattr(session, "_session", refused)
    with pytest.raises(RunError, match="Spark does not start") as e:
        session.start_session("spark://nowhere:7077")
    assert ("TRI606", "spark://nowhere:7077") == (e.value.diagnostic.code, e.value.diagnostic.source.name)
