"""Hostile patterns on long subjects: tricel's way of asking them, and java.util.regex given the pattern as it is.

tricel's time for 1 MB is set against its time for 250 kB: four times as long is linear. The rival gets 20 kB on a
stack of Java's ordinary size; inside Spark its stack overflow would end the whole JVM. Every answer is held against
RE2's.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from rich.console import Console
from rich.table import Table
from rich.text import Text
from tricel.compiler.literals import quoted
from tricel.compiler.patterns import compile_re2
from tricel.spark_backend import column

from tricel import compile_filter

PATTERNS = Path(__file__).parent.parent / "tests/cases/regex/hostile.json"
SMALL, LARGE, RIVAL = 250_000, 1_000_000, 20_000
COPIES = 8
"""Subjects in one query, so that its time is the pattern's and not that of starting it."""
NOT_LINEAR = 8.0
"""The ratio above which the growth from 250 kB to 1 MB counts as more than linear: a square is 16."""
PATIENCE = 2.0


def events(spark: SparkSession, row: dict[str, Any], size: int) -> DataFrame:
    """Events whose type is the subject of about `size` characters, which the pattern matches at its end if at all."""
    parts = [(str(i), row.get("first", ""), row["unit"], size // len(row["unit"]), row["then"]) for i in range(COPIES)]
    frame = spark.createDataFrame(parts, "id STRING, first STRING, unit STRING, times INT, last STRING").coalesce(1)
    return frame.selectExpr("id", "'/s' AS source", "concat(first, repeat(unit, times), last) AS type").cache()


def subject(row: dict[str, Any], size: int) -> str:
    return row.get("first", "") + row["unit"] * (size // len(row["unit"])) + row["then"]


def measured(frame: DataFrame, asked: Column, rounds: int) -> tuple[float, bool]:
    """The seconds that all subjects of a frame take, at best, and the answer."""
    times, answers = [], set()
    for _ in range(rounds):
        begin = time.perf_counter()
        answers |= {answer for (answer,) in frame.select(asked).collect()}
        times.append(time.perf_counter() - begin)
    (answer,) = answers
    return min(times), answer


@dataclass(frozen=True)
class Judged:
    """One pattern by tricel: where it runs, the seconds for both sizes, and whether all answers are RE2's."""

    runs: str
    seconds: tuple[float, float]
    right: bool

    @property
    def ratio(self) -> float:
        return self.seconds[1] / self.seconds[0]


def judged(spark: SparkSession, row: dict[str, Any], rounds: int) -> Judged:
    """The pattern asked of both sizes."""
    compiled = compile_filter(f"ce.type.matches({quoted(row['pattern'])})")
    re2 = compile_re2(row["pattern"])
    seconds, right = [], True
    for size in (SMALL, LARGE):
        frame = events(spark, row, size)
        frame.count()
        took, answer = measured(frame, column(frame, compiled), rounds)
        frame.unpersist()
        seconds.append(took)
        right &= answer is (re2.search(subject(row, size)) is not None)
    return Judged("fallback" if compiled.residual else row["plan"], (seconds[0], seconds[1]), right)


def plainly(spark: SparkSession, pattern: str, text: str) -> str:
    """What java.util.regex makes of RE2's pattern as it is."""
    expected = compile_re2(pattern).search(text) is not None
    found: list[str] = []

    def ask() -> None:
        begin = time.perf_counter()
        try:
            answer = spark._jvm.java.util.regex.Pattern.compile(pattern).matcher(text).find()
        except Exception as e:  # a Java throwable
            found.append("stack overflow" if "StackOverflowError" in str(e) else "does not compile")
        else:
            wrong = "" if answer is expected else "wrong, "
            found.append(f"{wrong}{time.perf_counter() - begin:.2f} s")

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(PATIENCE)
    return found[0] if found else f"over {PATIENCE:.0f} s"


def main() -> None:
    """Runs every pattern and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--first", type=int, default=60, help="only this many of the patterns; 0 for all")
    arguments = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    rows = json.loads(PATTERNS.read_text(encoding="utf-8"))
    rows = rows[: arguments.first] if arguments.first else rows
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.extraJavaOptions", "-Xss1m")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    table = Table("pattern", "runs on", "250 kB ms", "1 MB ms", "ratio", "as RE2", "java.util.regex, 20 kB")
    found = [judged(spark, row, arguments.rounds) for row in rows]
    # last, for what it does not end in time goes on, and takes its part of the machine
    rivals = [plainly(spark, row["pattern"], subject(row, RIVAL)) for row in rows]
    for row, ours, rival in zip(rows, found, rivals, strict=True):
        each = [f"{1000 * s / COPIES:.1f}" for s in ours.seconds]
        shown = ascii(row["pattern"])[1:-1]
        table.add_row(Text(shown[:44]), ours.runs, *each, f"{ours.ratio:.1f}", "yes" if ours.right else "NO", rival)
    ratios, right = [f.ratio for f in found], sum(f.right for f in found)
    kinds = Counter(re.sub(r",? ?[0-9.]+ s$", "", r) or "right" if not r.startswith("over") else r for r in rivals)
    console = Console(width=140)
    console.print(table)
    over = sum(ratio > NOT_LINEAR for ratio in ratios)
    console.print(f"{right} of {len(rows)} patterns as RE2 answers; the JVM is alive")
    console.print(
        f"1 MB against 250 kB: median {statistics.median(ratios):.1f} times as long, at most {max(ratios):.1f}; {over} over {NOT_LINEAR:.0f}"
    )
    console.print(
        "java.util.regex as it is: " + ", ".join(f"{n} {what}" for what, n in kinds.most_common()), soft_wrap=True
    )
    sys.stdout.flush()
    spark.stop()
    os._exit(0)  # a search that the rival has not ended would keep the process


if __name__ == "__main__":
    main()
