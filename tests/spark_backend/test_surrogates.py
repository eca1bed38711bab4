"""An unpaired surrogate escape is no JSON text, on every Spark release and under every setting of the session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from spark_settings import set_to
from tricel.compiler.values.malformed import NOT_JSON
from tricel.spark_backend import column
from tricel.spark_backend.events.readers import read_events
from tricel.spark_backend.sql.json_text import VALIDATES

from tricel import compile_filter

pytestmark = pytest.mark.spark

# What stands between the quotes of a JSON string, and whether it is text.
STRINGS: list[tuple[str, bool]] = [
    (r"plain", True),
    (r"\u0041\u00e9", True),
    (r"\ud83d\ude00", True),
    (r"\uD83D\uDE00\ud83d\uDE00", True),
    (r"\\ud800", True),
    (r"\\\\udc00", True),
    (r"\\ud83d\\ude00", True),
    (r"\uc800\ue000\uabcd", True),
    (r"\ud800", False),
    (r"\uDC00", False),
    (r"a\udbffb", False),
    (r"\\\ud800", False),
    (r"\\\\\udfff", False),
    (r"\ude00\ud83d", False),
    (r"\ud83d\ud83d\ude00", False),
    (r"\ud83d\ude00\ude00", False),
    (r"\ud83d\\\ude00", False),
    (r"\ud83d\n\ude00", False),
    (r"\ud83d\u0041\ude00", False),
    (r"\\" * 5_000 + r"\ud800", False),
    (r"\ud83d\ude00" * 5_000, True),
    (r"\ud83d\ude00" * 5_000 + r"\ud83d", False),
]


@pytest.fixture(params=["true", "false"], ids=["parser refuses them", "parser takes them"])
def parser(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """A session of either kind; a release without the setting is of the second kind always."""
    try:
        spark.conf.get(VALIDATES)
    except PySparkException:
        yield spark
        return
    with set_to(spark, {VALIDATES: request.param}):
        yield spark


@pytest.mark.parametrize("key", [False, True], ids=["value", "key"])
def test_filters(parser: SparkSession, key: bool) -> None:
    template = '{"ok": 1, "%s": 1}' if key else '{"ok": 1, "s": ["%s"]}'
    bodies = [template % s for s, _ in STRINGS]
    rows = [(i, {"ext": body}, body) for i, body in enumerate(bodies)]
    frame = parser.createDataFrame(rows, "row INT, extensions MAP<STRING, STRING>, data STRING")
    filters = ["data.ok == 1", "ce.ext.ok == 1", "[data.ok] == [1]", "[ce.ext.ok] == [1]"]
    columns = [column(frame, compile_filter(f)).alias(f"c{i}") for i, f in enumerate(filters)]
    collated = frame.selectExpr("row", "data COLLATE UNICODE_CI AS data")
    found = sorted(frame.select("row", *columns).collect())
    also = sorted(collated.select("row", column(collated, compile_filter("data.ok == 1"))).collect())
    expected = [True if text else None for _, text in STRINGS]
    assert [expected] * 5 == [[r[i + 1] for r in found] for i in range(4)] + [[r[1] for r in also]]


def test_events(parser: SparkSession, tmp_path: Path) -> None:
    lines = [
        f'{{"specversion":"1.0","id":"{i}","source":"s","type":"t","data":"{s}"}}' for i, (s, _) in enumerate(STRINGS)
    ]
    (tmp_path / "lines.jsonl").write_text("\n".join(lines))
    (tmp_path / "batch.json").write_text(f"[{lines[0]}]")
    (tmp_path / "bad.json").write_text(f"[{lines[8]}]")
    rows = read_events(parser, tmp_path).selectExpr("event", "malformed", "to_json(data) AS data", "file").collect()
    of_lines = {r["event"]: r for r in rows if r["file"].endswith("lines.jsonl")}
    wrong = [
        line for line, (_, text) in zip(lines, STRINGS, strict=True) if (of_lines[line]["malformed"] is None) != text
    ]
    assert wrong == []
    good = [(line, s) for line, (s, text) in zip(lines, STRINGS, strict=True) if text]
    assert [json.loads(f'"{s}"') for _, s in good] == [json.loads(of_lines[line]["data"]) for line, _ in good]
    files = {(r["file"].rsplit("/", 1)[-1], r["malformed"]) for r in rows if r["file"].endswith(".json")}
    assert {("batch.json", None), ("bad.json", NOT_JSON)} == files
