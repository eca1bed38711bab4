"""Java plans answer as RE2 does, in Spark, and hostile texts can neither stall nor kill it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from regex_patterns import cases, patterns, re2_finds, texts
from tricel.spark_backend.regex import Java, plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ALLOWED = list(HealthCheck)
SIZE = 1_000_000
TAIL = "!"
SECONDS_EACH = 10

# Runs in a Python and a JVM of its own: a stack overflow ends the whole JVM, and this one has Java's ordinary stack.
HOSTILE_RUN = """
import json, os, sys, time
from pyspark.sql import SparkSession, functions as F
rows = json.load(sys.stdin)
spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.driver.extraJavaOptions", "-Xss1m").getOrCreate())
one = spark.range(1)
hex_ = lambda text: f"decode(X'{text.encode().hex()}', 'utf-8')"
for row in rows:
    subject = f"concat(repeat({hex_(row['unit'])}, {row['times']} + CAST(id AS INT)), {hex_(row['tail'])})"
    started = time.monotonic()
    (answer,) = one.select(F.expr(f"rlike({subject}, {hex_(row['java'])})")).first()
    print("ROW", json.dumps([answer, time.monotonic() - started]), flush=True)
spark.stop()
"""


def spark_finds(spark: SparkSession, pairs: list[tuple[str, str]]) -> list[bool]:
    """What Spark answers to (Java pattern, text) pairs, in one query."""
    from pyspark.sql import functions as f

    rows = [(i, bytearray(p.encode()), bytearray(t.encode())) for i, (p, t) in enumerate(pairs)]
    frame = spark.createDataFrame(rows, "id int, pattern binary, subject binary")
    answer = f.expr("rlike(decode(subject, 'utf-8'), decode(pattern, 'utf-8'))")
    found: dict[int, bool] = {row["id"]: row["answer"] for row in frame.select("id", answer.alias("answer")).collect()}
    return [found[i] for i in range(len(pairs))]


def check_java(spark: SparkSession, pairs: list[tuple[str, str]]) -> None:
    """Every pair whose pattern has a Java plan gets RE2's answer."""
    planned = [(p, found.pattern, t) for p, t in pairs if isinstance(found := plan(p), Java)]
    answers = spark_finds(spark, [(java, t) for _, java, t in planned])
    wrong = [(*row, a) for row, a in zip(planned, answers, strict=True) if a != re2_finds(row[0], row[2])]
    assert wrong == []
    assert len(planned) > len(pairs) / 4


def test_the_table_of_semantics(spark: SparkSession) -> None:
    check_java(spark, [(row["pattern"], t) for row in cases("semantics.json") for t in (*row["matches"], *row["not"])])


def check_random(spark: SparkSession, number: int, count: int) -> None:
    pairs: list[tuple[str, str]] = []

    @seed(number)
    @settings(max_examples=count, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=ALLOWED)
    @given(patterns(), st.lists(texts(), min_size=3, max_size=3))
    def collect(pattern: str, some: list[str]) -> None:
        pairs.extend((pattern, t) for t in some)

    collect()
    check_java(spark, pairs)


def test_random_patterns(spark: SparkSession) -> None:
    check_random(spark, 1, 300)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(2, 12))
def test_many_random_patterns(spark: SparkSession, number: int) -> None:
    check_random(spark, number, 3_000)


def test_hostile_texts_are_answered_in_time_and_leave_the_jvm_alive() -> None:
    hostile: list[dict[str, Any]] = []
    for row in cases("hostile.json"):
        found = plan(row["pattern"])
        if isinstance(found, Java):
            times = SIZE // len(row["unit"])
            hostile.append({**row, "java": found.pattern, "times": times, "tail": TAIL})
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-c", HOSTILE_RUN]
    done = subprocess.run(
        command, input=json.dumps(hostile), capture_output=True, text=True, env=environment, timeout=500
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers = [json.loads(line[4:]) for line in done.stdout.splitlines() if line.startswith("ROW ")]
    expected = [re2_finds(row["pattern"], row["unit"] * row["times"] + TAIL) for row in hostile]
    assert expected == [answer for answer, _ in answers]
    slow = [(row["pattern"], took) for row, (_, took) in zip(hostile, answers, strict=True) if took > SECONDS_EACH]
    assert slow == []
