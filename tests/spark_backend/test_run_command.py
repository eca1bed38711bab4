"""`tricel run` on input that it cannot use: a diagnostic with a code and a remedy, and never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from filter_sets import trigger_yaml
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf
from tricel.spark_backend.causes import cause

from tricel.cli import main

pytestmark = pytest.mark.spark

EVENT = {"specversion": "1.0", "id": "1", "source": "s", "type": "a"}
TABLES = {
    "unfit": "'1' AS id, 's' AS source, 'a' AS type, named_struct('n', 'text') AS data",
    "numbers": "1 AS id, 's' AS source, 'a' AS type",
}


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a trigger, events, tables that do not fit; commands take the session that is there, and leave it."""
    monkeypatch.setattr(SparkSession, "stop", lambda self: None)
    (tmp_path / "trigger.yaml").write_text(trigger_yaml("big", "data.n > 1.0"))
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


def test_what_ends_a_query_ends_the_run_in_a_line(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a disk that is full: whatever Spark raises."""
    monkeypatch.setattr("tricel.spark_backend.pair_files.PARTITIONS", {"trigger": ("no_such_column",), "none": ()})
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

    from tricel.spark_backend import session
    from tricel.spark_backend.failure import RunError

    monkeypatch.setattr(session, "_session", refused)
    with pytest.raises(RunError, match="Spark does not start") as e:
        session.start_session("spark://nowhere:7077")
    assert ("TRI606", "spark://nowhere:7077") == (e.value.diagnostic.code, e.value.diagnostic.source.name)
