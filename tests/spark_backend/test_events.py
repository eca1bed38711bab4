"""Reading CloudEvents: what each text becomes, and that nothing is lost."""

from __future__ import annotations

import gzip
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from conftest import REPOSITORY, conformance, real_events
from event_lines import CASES, deep, event
from tricel.compiler.diagnostics import Diagnostic
from tricel.compiler.values import malformed as ev
from tricel.compiler.values.malformed import REASONS
from tricel.spark_backend.events.readers import read_events
from tricel.spark_backend.failure import RunError

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

pytestmark = pytest.mark.spark


def seen(row: Row) -> dict[str, Any]:
    """A row as plain values: time as UTC text, data as JSON text or bytes."""
    value = row.asDict()
    if value["data_is_bytes"]:
        value["data"] = bytes(value["data_bytes"])
    else:
        value["data"] = value["data_json"]
    micros = value["micros"]
    if micros is not None:
        seconds, rest = divmod(micros, 1_000_000)
        moment = datetime(1970, 1, 1, tzinfo=UTC).timestamp()
        assert moment == 0
        value["time"] = _iso(seconds, rest)
    return value


def _iso(seconds: int, micros: int) -> str:
    from datetime import timedelta

    return (datetime(1970, 1, 1) + timedelta(seconds=seconds, microseconds=micros)).isoformat()


def read(spark: SparkSession, *paths: Path, kind: str = "auto") -> list[dict[str, Any]]:
    """The rows of these files, in no particular order."""
    bytes_ = "CASE WHEN try_variant_get(data, '$', 'binary') IS NOT NULL THEN schema_of_variant(data) = 'BINARY' END"
    rows = read_events(spark, list(paths), kind).selectExpr(
        "* EXCEPT (data, time)",
        f"coalesce({bytes_}, false) AS data_is_bytes",
        "try_variant_get(data, '$', 'binary') AS data_bytes",
        "to_json(data) AS data_json",
        "unix_micros(time) AS micros",
        "CAST(NULL AS STRING) AS time",
    )
    return [seen(row) for row in rows.collect()]


def write(path: Path, text: str | bytes) -> Path:
    """A file, gzipped when its name says so."""
    content = text.encode() if isinstance(text, str) else text
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.fixture(scope="module")
def verdicts(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Every line of CASES read at once, by its text."""
    path = write(tmp_path_factory.mktemp("lines") / "cases.jsonl", "\n".join(text for text, _ in CASES))
    rows = read(spark, path)
    assert len(CASES) == len(rows)
    return {row["event"]: row for row in rows}


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text[:90] for text, _ in CASES])
def test_a_line(verdicts: dict[str, dict[str, Any]], text: str, expected: str | dict[str, object]) -> None:
    row = verdicts[text]
    if isinstance(expected, str):
        assert expected == row["malformed"]
        columns = ("id", "source", "type", "specversion", "time", "extensions", "data")
        assert [None] * len(columns) == [row[c] for c in columns]
    else:
        assert {"malformed": None, **expected} == {name: row[name] for name in ("malformed", *expected)}


def test_every_reason_is_listed() -> None:
    assert {e for _, e in CASES if isinstance(e, str)} <= set(REASONS)


def test_the_time_zone_of_the_session_changes_nothing(spark: SparkSession) -> None:
    assert "Asia/Kathmandu" == spark.conf.get("spark.sql.session.timeZone")


def test_files_of_every_kind(spark: SparkSession, tmp_path: Path) -> None:
    pretty = json.dumps(json.loads(event('"data":[1]')), indent=2)
    write(tmp_path / "a[1] {b}.jsonl", f"\ufeff{event()}\r\n\n \t\r\n{event()}")
    write(tmp_path / "in" / "b.ndjson.gz", f"{event()}\n" * 3)
    write(tmp_path / "in" / "deeper" / "one.json", f"\ufeff{pretty}\n")
    write(tmp_path / "batch.json", f"[\n{pretty},\n5, {event()}]")
    write(tmp_path / "batch.json.gz", f"[{event()}]")
    write(tmp_path / "none.json", " [ ] ")
    write(tmp_path / "lines.json", f"{event()}\n{{x\n{event()}\n")
    write(tmp_path / "broken.json", '{\n"a": 1\n')
    write(tmp_path / "empty.json", "")
    write(tmp_path / "README.md", "not events")
    write(tmp_path / "_hidden.jsonl", event())
    write(tmp_path / ".cache" / "b.json", event())
    found: dict[str, list[str | None]] = {}
    with pytest.warns(UserWarning, match=r"3 files are not read: 'b\.json', '.*', '.*'$"):
        rows = read(spark, tmp_path)
    for row in rows:
        found.setdefault(row["file"].rsplit("/", 1)[-1], []).append(row["malformed"])
    assert {
        "a%5B1%5D%20%7Bb%7D.jsonl": [None] * 2,
        "b.ndjson.gz": [None] * 3,
        "one.json": [None],
        "batch.json": [None, ev.NOT_OBJECT, None],
        "batch.json.gz": [None],
        "lines.json": [None, ev.NOT_JSON, None],
        "broken.json": [ev.NOT_JSON],
    } == found


def test_a_path_by_the_letter_a_glob_and_a_format(spark: SparkSession, tmp_path: Path) -> None:
    odd = write(tmp_path / "a[1].jsonl", event())
    write(tmp_path / "b.log", f"{event()}\n{event()}")
    assert 1 == len(read(spark, odd))
    assert 2 == len(read(spark, tmp_path / "*.log", kind="jsonl"))
    assert 3 == len(read(spark, tmp_path, odd, kind="jsonl"))


def test_files_that_are_left_out_are_told(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", event())
    told: list[Diagnostic] = []
    read_events(spark, tmp_path, warn=told.append)
    assert [] == told
    for i in range(5):
        write(tmp_path / f"{i}.md", "not events")
    read_events(spark, tmp_path, warn=told.append)
    assert [("TRI605", "5 files are not read: '0.md', '1.md', '2.md', ...")] == [(d.code, d.message) for d in told]


def test_bytes_that_are_not_utf8_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    bad = event().encode() + b"\xff\xc3"
    rows = read(spark, write(tmp_path / "x.jsonl", bad + b"\n" + event().encode()))
    assert [(bad, ev.NOT_UTF8)] == [(bytes(r["raw"]), r["malformed"]) for r in rows if r["malformed"]]
    assert 2 == len(rows)


def test_a_damaged_file_is_told_and_the_others_are_read(spark: SparkSession, tmp_path: Path) -> None:
    lines = "\n".join(event(f'"data":"{os.urandom(30).hex()}"') for _ in range(3000))
    whole = gzip.compress(lines.encode())
    (tmp_path / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "no.json.gz").write_bytes(b"not gzip")
    write(tmp_path / "good.jsonl.gz", event())
    rows = read(spark, tmp_path)
    damaged = sorted(r["file"].rsplit("/", 1)[-1] for r in rows if r["malformed"] == ev.CORRUPT)
    assert ["cut.jsonl.gz", "no.json.gz"] == damaged
    assert 1 == sum("good" in r["file"] for r in rows)
    assert 100 < sum("cut" in r["file"] for r in rows) < 3000


def test_parquet_is_taken_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("SELECT '1' id, 's' source, 't' type, 5 n").write.parquet(str(tmp_path / "t.parquet"))
    spark.sql("SELECT 5 n").write.parquet(str(tmp_path / "other.parquet"))
    write(tmp_path / "a.jsonl", event())
    assert ["id", "source", "type", "n"] == read_events(spark, tmp_path / "t.parquet").columns
    for paths in (["other.parquet"], ["t.parquet", "a.jsonl"]):
        with pytest.raises(RunError):
            read_events(spark, [tmp_path / p for p in paths])


def test_nothing_to_read_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "README.md", "not events")
    for path in (tmp_path, tmp_path / "missing.jsonl", tmp_path / "*.jsonl"):
        with pytest.raises(RunError) as e:
            read_events(spark, path)
        assert "TRI601" == e.value.diagnostic.code


def test_payloads_of_every_depth(spark: SparkSession, tmp_path: Path) -> None:
    shapes = [("[", "]"), ('{"a":', "}")]
    lines = [event(f'"{where}":{deep(d, *s)}') for d in range(1, 1001, 9) for s in shapes for where in ("data", "o")]
    rows = read(spark, write(tmp_path / "deep.jsonl", "\n".join(lines)))
    assert len(lines) == len(rows)
    assert {None, ev.EXTENSION_ARRAY, ev.NOT_JSON, ev.EXTENSION_NUMBER} >= {r["malformed"] for r in rows}


def test_examples_of_the_specification(spark: SparkSession, tmp_path: Path) -> None:
    examples = conformance("cloudevents_spec_json_examples.json")
    values = [case["value"] for case in examples if "subscriptions" not in case["file"]]
    for i, value in enumerate(values):
        write(tmp_path / f"{i:02d}.json", json.dumps(value, indent=2))
    rows = read(spark, tmp_path)
    assert sum(len(v) if isinstance(v, list) else 1 for v in values) == len(rows)
    # The specification writes "... base64 encoded string ..." where such a string belongs.
    assert {ev.NOT_BASE64, None} == {r["malformed"] for r in rows}
    assert {'"... base64' in r["event"] for r in rows if r["malformed"]} == {True}
    good = [r for r in rows if not r["malformed"]]
    assert {"2018-04-05T17:31:00", "2018-04-05T17:31:05", None} == {r["time"] for r in good}
    assert ["5"] * 6 == [r["extensions"]["comexampleothervalue"] for r in good if r["extensions"]]


def test_real_events_are_all_well_formed(spark: SparkSession) -> None:
    source = real_events()
    expected = {}
    for line in source.read_text().splitlines():
        value = json.loads(line)
        expected[value["id"]] = (value["type"], str(value["installation"]) if "installation" in value else None, line)
    rows = read(spark, source)
    assert expected == {r["id"]: (r["type"], r["extensions"].get("installation"), r["event"]) for r in rows}


def test_the_examples_of_this_project(spark: SparkSession) -> None:
    rows = read(spark, REPOSITORY / "examples" / "events")
    assert 63 == len(rows)
    reasons = sorted(r["malformed"] for r in rows if r["malformed"])
    assert ["'id' is empty", ev.NOT_TIME, ev.NOT_JSON, ev.NOT_JSON] == reasons
