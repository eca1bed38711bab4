"""Java plans answer as RE2 does, in Spark, and hostile texts can neither stall nor kill it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from regex_patterns import cases, patterns, re2_finds, texts
from tricel.spark_backend.sql.regex import Always, Contains, EndsWith, Equals, Java, Plan, StartsWith, plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ALLOWED = list(HealthCheck)
SIZE = 1_000_000
PATTERNS = int(os.environ.get("TRICEL_PATTERNS", "600"))
"""Random patterns, each asked on three texts; more of them by an environment variable."""
TAIL = "!"

# Runs in a Python and a JVM of its own: a stack overflow ends the whole JVM, and this one has Java's ordinary stack.
# Each pattern goes the whole way that a filter goes, to Spark or to the fallback, and is asked on its own subjects.
HOSTILE_RUN = """
import json, os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from tricel.compiler.literals import quoted
from tricel.spark_backend.dataframes import with_outcomes
from tricel import compile_filter
rows = json.load(sys.stdin)
spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.sql.execution.arrow.maxRecordsPerBatch", "8")
         .config("spark.driver.extraJavaOptions", "-Xss1m").getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
parts = [(str(i), "/s", r["first"], r["unit"], r["times"], last)
         for i, r in enumerate(rows) for last in (r["tail"], r["then"])]
schema = "id STRING, source STRING, first STRING, unit STRING, times INT, last STRING"
events = spark.createDataFrame(parts, schema).selectExpr("id", "source", "concat(first, repeat(unit, times), last) AS type")
filters = [compile_filter(f'ce.id == "{i}" && ce.type.matches({quoted(r["pattern"])})') for i, r in enumerate(rows)]
answers = [[] for _ in rows]
for found in with_outcomes(events, {f"c{i}": f for i, f in enumerate(filters)}).collect():
    answers[int(found["id"])].append(found["c" + found["id"]])
print("ROWS", json.dumps([[not f.residual, *a] for f, a in zip(filters, answers)]))
spark.stop()
"""

ANSWERS = """CASE kind
  WHEN 'Java' THEN rlike(text, pattern)
  WHEN 'Equals' THEN array_contains(parts, text)
  WHEN 'StartsWith' THEN exists(parts, p -> startswith(text, p))
  WHEN 'EndsWith' THEN exists(parts, p -> endswith(text, p))
  WHEN 'Contains' THEN exists(parts, p -> contains(text, p))
  WHEN 'Always' THEN TRUE
END"""
PLANNED = (Always, Contains, EndsWith, Equals, Java, StartsWith)


def spark_finds(spark: SparkSession, planned: list[tuple[Plan, str]]) -> list[bool]:
    """What Spark answers to plans on texts, in one query."""
    rows = []
    for i, (found, text) in enumerate(planned):
        java = bytearray(found.pattern.encode()) if isinstance(found, Java) else bytearray()
        values = [bytearray(v.encode()) for v in getattr(found, "values", ())]
        rows.append((i, type(found).__name__, java, values, bytearray(text.encode())))
    frame = spark.createDataFrame(rows, "id int, kind string, java binary, listed array<binary>, subject binary")
    texts_ = ("decode(java, 'utf-8') AS pattern", "decode(subject, 'utf-8') AS text")
    parts = "transform(listed, v -> decode(v, 'utf-8')) AS parts"
    answered = frame.selectExpr("id", "kind", *texts_, parts).selectExpr("id", f"{ANSWERS} AS answer").collect()
    found_: dict[int, bool] = {row["id"]: row["answer"] for row in answered}
    return [found_[i] for i in range(len(planned))]


def check_plans(spark: SparkSession, pairs: list[tuple[str, str]]) -> Counter[str]:
    """Every pair whose pattern Spark answers by itself gets RE2's answer; how many plans of each kind there were."""
    planned = [(p, found, t) for p, t in pairs if isinstance(found := plan(p), PLANNED)]
    answers = spark_finds(spark, [(found, t) for _, found, t in planned])
    wrong = [(*row, a) for row, a in zip(planned, answers, strict=True) if a != re2_finds(row[0], row[2])]
    assert wrong == []
    return Counter(type(found).__name__ for _, found, _ in planned)


def test_the_table_of_semantics(spark: SparkSession) -> None:
    pairs = [(row["pattern"], t) for row in cases("semantics.json") for t in (*row["matches"], *row["not"])]
    assert check_plans(spark, pairs)["Java"] > len(pairs) / 4


def check_random(spark: SparkSession, number: int, count: int) -> None:
    pairs: list[tuple[str, str]] = []

    @seed(number)
    @settings(max_examples=count, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=ALLOWED)
    @given(patterns(), st.lists(texts(), min_size=3, max_size=3))
    def collect(pattern: str, some: list[str]) -> None:
        pairs.extend((pattern, t) for t in some)

    collect()
    found = check_plans(spark, pairs)
    assert found["Java"] > len(pairs) / 4
    assert {kind.__name__ for kind in PLANNED} == found.keys()


def test_random_patterns(spark: SparkSession) -> None:
    check_random(spark, 1, PATTERNS)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(2, 12))
def test_many_random_patterns(spark: SparkSession, number: int) -> None:
    check_random(spark, number, 3_000)


def test_hostile_texts_are_answered_as_re2_does_and_leave_the_jvm_alive() -> None:
    hostile = [{"first": "", **row, "times": SIZE // len(row["unit"]), "tail": TAIL} for row in cases("hostile.json")]
    done = subprocess.run(
        [sys.executable, "-c", HOSTILE_RUN], input=json.dumps(hostile), capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (found,) = [json.loads(line[5:]) for line in done.stdout.splitlines() if line.startswith("ROWS ")]
    expected = []
    for row in hostile:
        text = row["first"] + row["unit"] * row["times"]
        answers = [re2_finds(row["pattern"], text + last) for last in (TAIL, row["then"])]
        expected.append([row["plan"] != "Fallback", *answers])
    assert expected == found
    assert len(expected) > 90
