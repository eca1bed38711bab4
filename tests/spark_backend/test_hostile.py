"""Hostile filters and payloads: a diagnostic, or exactly the right answer; never a crash, an injection or a blow-up."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from pyspark.sql import SparkSession
from samples import sample
from spark_settings import set_to
from tricel.spark_backend import column, where
from tricel.spark_backend.sql.layout import LayoutError

from tricel import compile_filter

pytestmark = pytest.mark.spark

TEXTS = [
    "'",
    '"',
    "\\",
    "\\'",
    "' OR 1=1 -- ",
    "x\\' OR 1=1 -- ",
    "';--",
    "${env:HOME}",
    "${spark.app.name}",
    "`",
    "/*",
    "*/",
    "--",
    "\0",
    "a\0b",
    "\n",
    "\r\n",
    "\t",
    "\u202e\u202d",
    "\u200f",
    "\U0001f600",
    "e\u0301",
    "\ufeff",
    "%",
    "_",
    "$.a",
    "['a']",
    "a'b\"c",
    "日本語",
]


@pytest.mark.parametrize("escaped", ["true", "false"], ids=["escapedStringLiterals", "default"])
def test_any_text_is_matched_as_itself(spark: SparkSession, escaped: str) -> None:
    with set_to(spark, {"spark.sql.parser.escapedStringLiterals": escaped}):
        rows = [(str(i), "/s", text, json.dumps({"k": text, text: 1})) for i, text in enumerate(TEXTS)]
        frame = spark.createDataFrame(rows, "id STRING, source STRING, type STRING, data STRING").cache()
        columns = []
        for i, text in enumerate(TEXTS):
            quoted = json.dumps(text, ensure_ascii=False)
            for j, cel in enumerate((f"ce.type == {quoted}", f"data.k == {quoted}", f"data[{quoted}] == 1")):
                columns.append(column(frame, compile_filter(cel)).alias(f"c{i}_{j}"))
        found = sorted(frame.select("id", *columns).collect(), key=lambda row: int(row["id"]))
    wrong = []
    for row in found:
        for i, text in enumerate(TEXTS):
            same = int(row["id"]) == i
            outcomes = (row[f"c{i}_0"], row[f"c{i}_1"], row[f"c{i}_2"])
            if outcomes != (same, same, True if same else None):
                wrong.append((text, TEXTS[int(row["id"])], outcomes))
    assert wrong == []


@pytest.mark.parametrize("name", ["a`b", "a'b", "x y", "select", "\u202e"])
def test_any_extension_name_is_only_a_name(spark: SparkSession, name: str) -> None:
    frame = spark.createDataFrame([("1", "/s", "t", "v")], ["id", "source", "type", name])
    assert where(frame, compile_filter(f"ce[{json.dumps(name)}] == 'v'")).count() == 1


def test_a_name_that_spark_would_substitute_is_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("1", "/s", "t", "v")], ["id", "source", "type", "${env:HOME}"])
    with pytest.raises(LayoutError, match="rename it"):
        where(frame, compile_filter("ce['${env:HOME}'] == 'v'"))


@pytest.mark.parametrize("depth", [10, 30, 50])
def test_sql_grows_with_the_tree(spark: SparkSession, depth: int) -> None:
    text = "data.a"
    for _ in range(depth):
        text = f"({text}) ? true : false"
    compiled = compile_filter(text)
    assert len(compiled.sql) < 2_000 + 200 * depth
    frame = spark.createDataFrame([('{"a": true}',), ('{"a": 1}',)], "data STRING")
    if compiled.native_sql:
        assert [True, None] == [r[0] for r in frame.select(column(frame, compiled)).collect()]


def test_what_the_official_engine_cannot_parse_is_evaluated_all_the_same(spark: SparkSession) -> None:
    text = 'ce.type.matches("^(a|aa)+$")'
    for _ in range(45):
        text = f"!(data.a && {text})"
    (conjunct,) = compile_filter(text).conjuncts
    assert (False, "tricel") == (conjunct.native, conjunct.engine)
    rows = [("1", "aa", '{"a": true}'), ("2", "b", '{"a": true}'), ("3", "aa", "{}")]
    frame = spark.createDataFrame(rows, "id STRING, type STRING, data STRING")
    assert [("1", False), ("2", True), ("3", None)] == [
        tuple(r) for r in frame.select("id", column(frame, compile_filter(text))).sort("id").collect()
    ]


def test_a_list_of_a_million(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(json.dumps({"l": [1] * 1_000_000 + [2]}),)], "data STRING")
    compiled = compile_filter("data.l.exists(i, i == 2) && size(data.l) == 1000001 && 2 in data.l")
    assert where(frame, compiled).count() == 1


_DEEP = """
import json, os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from tricel.spark_backend import column
from tricel import compile_filter
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")  # which tells why a JVM ends
documents = [(n, '{"x":' + "[" * n + "1" + "]" * n + ',"y":1}') for n in range(1, 1001, 9)]
documents += [(n, '{"x":' + '{"x":' * n + "1" + "}" * n + ',"y":1}') for n in range(1, 1001, 9)]
frame = spark.createDataFrame(documents, "n INT, data STRING").repartition(4)
filters = ["data.y == 1", "data.x == 1", "data.x > 1.0", "data.x.exists(i, i == 1)", "size(data.x) == 1", "has(data.x.x)"]
columns = [column(frame, compile_filter(f)).alias(f"c{i}") for i, f in enumerate(filters)]
rows = frame.select("n", *columns).collect()
print("RIGHT", all(r["c0"] is True for r in rows if r["n"] < 900), len(rows))
"""


@pytest.mark.sampled
@pytest.mark.parametrize("_attempt", sample(range(2), 2))
def test_deep_payloads_do_not_end_the_jvm(_attempt: int) -> None:
    """In JVMs of their own: the crash that a careless guard causes is intermittent."""
    done = subprocess.run([sys.executable, "-c", _DEEP], capture_output=True, text=True, timeout=240)
    assert "RIGHT True 224" in done.stdout, done.stderr[:4000] + done.stderr[-1000:]
