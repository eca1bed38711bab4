"""Many triggers over one stream: seconds for a pass as triggers are added, matches for one event held about equal.

The mix: half type equality, the rest prefixes of type and source, comparisons of data, `in` sets, `||`, negation, and
one in a hundred that needs the fallback. Rivals in the same run, each as far as it goes: a union of N filters, N boolean
columns, and a Python index with a CEL engine for each candidate. All variants must give the same pairs. The driver's
memory is the most that its Python held; the JVM has 6 GB.

`--part sizes` measures that, `--part skew` what an uneven set or stream costs; `--plot FILE` draws the first.
`--part ratio` compares 10 triggers with 10,000 alone, by turns, so that the JVM's compiler and whatever else the
machine does fall on both: the first third of the rounds is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from _memory import below
from _plot import log_log
from tricel.compiler import check_filter
from tricel.spark_backend.compiled_filter import CompiledFilter, lower_filter
from tricel.spark_backend.engines import Refusal, prepare

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

SIZES = (1, 10, 100, 1_000, 10_000, 100_000)
OURS = "tricel fan-out"
MOST = {"union of filters": 100, "boolean columns": 100, "Python index, CEL": 10_000}
"""Triggers that a rival is asked to bear."""
WHY = {
    "union of filters": "a scan of the events for each filter",
    "boolean columns": "more code than the JVM compiles",
    "Python index, CEL": "each worker compiles every filter",
}
"""Why a rival is not asked to bear more."""
SLOW = 50_000
"""Events given to a rival that is too slow for all of them; its time is multiplied up, and marked."""
LONG = 15.0
"""Seconds of a run that is not repeated."""
CHECKED = 200
"""Events of an uneven stream or set whose pairs are held against those of the Python index."""
WHOLE = {"union of filters": 10, "boolean columns": 10, "Python index, CEL": 0}
"""Triggers up to which a rival is given all events."""


@dataclass(frozen=True)
class Trigger:
    """A trigger of the mix."""

    id: str
    text: str
    compiled: CompiledFilter


def filter_text(i: int, count: int) -> str:
    """The filter of trigger `i` of `count`: it concerns the events of about one type in `count`.

    The kinds are dealt out so that even ten triggers are a mix.
    """
    mine, next_, third = (f"com.example.t{(i + k) % count}.created" for k in (0, count // 3, count // 2))
    match i * 37 % 100:
        case n if n < 50:
            return f'ce.type == "{mine}"'
        case n if n < 58:
            return f'ce.type.startsWith("com.example.t{i % count}.")'
        case n if n < 63:
            return f'ce.source.startsWith("/shops/{i % count}/")'
        case n if n < 78:
            return f'ce.type == "{mine}" && data.total > {float(i % 700)}'
        case n if n < 83:
            return f'ce.type == "{mine}" && data.customer.tier == "gold"'
        case n if n < 90:
            return f'ce.type in ["{mine}", "{next_}", "{third}"]'
        case n if n < 94:
            return f'ce.type == "{mine}" || ce.source == "/shops/{(i + count // 2) % count}/x"'
        case n if n < 99:
            return f'ce.type == "{mine}" && !(data.customer.tier == "gold")'
        case _:
            return f'ce.type == "{mine}" && size(ce) == 5'


def triggers(count: int) -> list[Trigger]:
    """The mix, compiled."""
    return [compiled_trigger(f"ns/t{i}", filter_text(i, count)) for i in range(count)]


def session() -> SparkSession:
    """Two cores, as the figures say."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("fan-out").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "6g").config("spark.ui.showConsoleProgress", "false")
    found = builder.config("spark.driver.extraJavaOptions", "-Xss8m").getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    return found


def events(spark: SparkSession, count: int, types: int, folder: str) -> DataFrame:
    """Events whose types are drawn evenly from `types`, payloads parsed, from Parquet."""
    path = f"{folder}/events-{types}"
    if not os.path.exists(path):
        n = f"(pmod(xxhash64(id), {types}L))"
        body = "concat('{\"total\": ', pmod(xxhash64(id, 1), 1000), ', \"limit\": ', pmod(xxhash64(id, 2), 1000), "
        body += "', \"customer\": {\"tier\": \"', elt(1 + pmod(id, 3), 'gold', 'basic', 'new'), '\"}, \"note\": \"', repeat('x', 100), '\"}')"
        spark.range(0, count, 1, 4).selectExpr(
            "CAST(id AS STRING) AS id",
            f"concat('/shops/', {n}, '/x') AS source",
            "'1.0' AS specversion",
            f"concat('com.example.t', {n}, '.created') AS type",
            "CAST(NULL AS STRING) AS subject",
            "'application/json' AS datacontenttype",
            f"parse_json({body}) AS data",
        ).write.parquet(path)
    return spark.read.parquet(path)


def fan_out(df: DataFrame, given: list[Trigger]) -> DataFrame:
    """Ours."""
    from tricel.spark_backend.fanout import fan_out as ours

    return ours(df, given)


def union_of_filters(df: DataFrame, given: list[Trigger]) -> DataFrame:
    """Each filter by itself, and a union."""
    from functools import reduce

    from pyspark.sql import DataFrame as Frame
    from pyspark.sql import functions as F
    from tricel.spark_backend import where

    parts = [where(df, t.compiled).withColumn("trigger", F.lit(t.id)) for t in given]
    return reduce(Frame.unionAll, parts)


def boolean_columns(df: DataFrame, given: list[Trigger]) -> DataFrame:
    """A column for each filter, and a row for each that is true."""
    from pyspark.sql import functions as F
    from tricel.spark_backend import column

    ids = F.array_compact(F.array(*(F.when(column(df, t.compiled), t.id) for t in given)))
    return df.withColumn("trigger", F.explode(ids))


def keys(text: str) -> list[tuple[str, str]]:
    """What a person would index a filter of the mix by: a value of an attribute, or how it begins."""
    found = [(f"{name} prefix", value) for name, value in re.findall(r'ce\.(\w+)\.startsWith\("([^"]*)"\)', text)]
    found += re.findall(r'ce\.(\w+) == "([^"]*)"', text)
    for name, values in re.findall(r"ce\.(\w+) in \[([^]]*)\]", text):
        found += [(name, value) for value in re.findall(r'"([^"]*)"', values)]
    return found


EVERY = ("every", "")
"""The key of filters that have none."""


def python_index(df: DataFrame, given: list[Trigger]) -> DataFrame:
    """What one would write by hand: dictionaries by value and by prefix, and the C++ CEL engine for each candidate."""
    programs = []
    index: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, t in enumerate(given):
        checked = t.compiled.checked.checked
        program = prepare(checked.expr, t.compiled.engine, dict(checked.environment.roots))
        assert not isinstance(program, Refusal)
        programs.append(program)
        for key in keys(t.text) or [EVERY]:
            index[key].append(i)
    ids = [t.id for t in given]
    lengths = {
        name: sorted({len(value) for kind, value in index if kind == f"{name} prefix"}) for name in ("type", "source")
    }
    # Not in the function's closure, which would be pickled anew for each of the tasks.
    known = df.sparkSession.sparkContext.broadcast((programs, dict(index), ids))

    def judge(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        import pandas as pd
        from tricel.spark_backend.engines import ENGINES

        programs, index, ids = known.value
        compiled: dict[int, Callable[[dict[str, object]], object]] = {}
        for batch in batches:
            found: list[tuple[str, str]] = []
            for id_, source, type_, data in zip(batch.id, batch.source, batch.type, batch.data, strict=True):
                ce = {
                    "id": id_,
                    "source": source,
                    "specversion": "1.0",
                    "type": type_,
                    "datacontenttype": "application/json",
                }
                activation = {"ce": ce, "data": json.loads(data, parse_int=float)}
                asked = [EVERY, ("type", type_), ("source", source)]
                asked += [(f"{n} prefix", ce[n][:length]) for n, ls in lengths.items() for length in ls]
                for i in {i for key in asked for i in index.get(key, ())}:
                    if i not in compiled:
                        compiled[i] = ENGINES[programs[i].engine].compile(programs[i].text, programs[i].roots)
                    if compiled[i](activation) is True:
                        found.append((id_, ids[i]))
            yield pd.DataFrame(found, columns=["id", "trigger"])

    text = df.selectExpr("id", "source", "type", "to_json(data) AS data")
    return text.mapInPandas(judge, "id STRING, trigger STRING")


Variant: TypeAlias = Callable[["DataFrame", list[Trigger]], "DataFrame"]
VARIANTS: dict[str, Variant] = {
    OURS: fan_out,
    "union of filters": union_of_filters,
    "boolean columns": boolean_columns,
    "Python index, CEL": python_index,
}


@dataclass(frozen=True)
class Measured:
    """Seconds to plan and, at best, to run; the pairs, and a fingerprint of them."""

    planned: float
    seconds: float
    pairs: int
    mark: int


def measure(variant: Variant, df: DataFrame, given: list[Trigger], runs: int) -> Measured:
    """The best of some runs, of one where that is long. Nothing is kept of the pairs but their number and fingerprint,
    in a run of their own."""
    from pyspark.sql import functions as F

    begin = time.perf_counter()
    pairs = variant(df, given)
    planned = time.perf_counter() - begin
    best = float("inf")
    for _ in range(runs):
        begin = time.perf_counter()
        pairs.write.format("noop").mode("overwrite").save()
        best = min(best, time.perf_counter() - begin)
        if best > LONG:
            break
    mark = F.sum(F.pmod(F.xxhash64("id", "trigger"), F.lit(1_000_003)))
    row = pairs.agg(F.count(F.lit(1)).alias("n"), mark.alias("mark")).collect()[0]
    return Measured(planned, best, row["n"], row["mark"] or 0)


class Report:
    """Rows, printed as they come and as a Markdown table at the end."""

    def __init__(self, *columns: str) -> None:
        self.columns, self.rows = columns, list[tuple[str, ...]]()

    def add(self, *row: str) -> None:
        """One row."""
        self.rows.append(row)
        print(*row, sep="  ", flush=True)

    def __str__(self) -> str:
        lines = [self.columns, tuple("---" for _ in self.columns), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def sizes(spark: SparkSession, folder: str, asked: argparse.Namespace) -> dict[str, list[tuple[float, float]]]:
    """All variants at each size; seconds for each number of triggers, by variant."""
    shown = Report(
        "triggers", "variant", "seconds", "events a second", "matches an event", "compile, plan s", "driver MiB", "load"
    )
    lines: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for size in asked.sizes:
        whole = events(spark, asked.events, size, folder)
        slow = whole.limit(SLOW).cache()
        few_events = slow.count()
        begin = time.perf_counter()
        given = triggers(size)
        compiled = time.perf_counter() - begin
        expected: dict[bool, Measured] = {}
        for name, variant in VARIANTS.items():
            if size > MOST.get(name, size):
                shown.add(f"{size:,}", name, f"not run: {WHY[name]}", "", "", "", "", "")
                continue
            few = name != OURS and size > WHOLE[name]
            if few and few not in expected:
                expected[few] = measure(fan_out, slow, given, 0)
            found = measure(variant, slow if few else whole, given, asked.runs if name == OURS else min(asked.runs, 2))
            if name == OURS:
                expected[False] = found
            wanted = expected[few]
            if (found.pairs, found.mark) != (wanted.pairs, wanted.mark):
                sys.exit(f"{name} gives other pairs at {size} triggers: {found}, not {wanted}")
            count = few_events if few else asked.events
            seconds = found.seconds * asked.events / count
            lines[name].append((size, seconds))
            shown.add(
                f"{size:,}",
                name,
                f"{seconds:.2f}" + (f" (from {count:,} events)" if few else ""),
                f"{count / found.seconds:,.0f}",
                f"{found.pairs / count:.2f}",
                f"{compiled:.1f}, {found.planned:.1f}" if name == OURS else "",
                f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f}" if name == OURS else "",
                f"{os.getloadavg()[0]:.1f}",
            )
        slow.unpersist()
    print(shown)
    ours = dict(lines[OURS])
    if {10, 10_000} <= ours.keys():
        print(f"10,000 triggers cost {ours[10_000] / ours[10]:.2f} times 10")
    return lines


def ratio(spark: SparkSession, folder: str, asked: argparse.Namespace) -> None:
    """10 triggers and 10,000 by turns: medians of seconds, and of seconds of the processor, once the JVM is warm."""
    pairs = {n: fan_out(events(spark, asked.events, n, folder), triggers(n)) for n in (10, 10_000)}
    found: dict[int, list[tuple[float, float]]] = {n: [] for n in pairs}
    for turn in range(asked.rounds):
        for n, frame in pairs.items():
            worked, begin = processor_seconds(), time.perf_counter()
            frame.write.format("noop").mode("overwrite").save()
            found[n].append((time.perf_counter() - begin, processor_seconds() - worked))
        print(turn, *(f"{n:,}: {wall:.2f} s, {cpu:.2f} s" for n, runs in found.items() for wall, cpu in runs[-1:]))
    late = {n: runs[len(runs) // 3 :] for n, runs in found.items()}
    shown = Report("triggers", "seconds", "seconds of the processor", "least seconds", "load")
    medians = {n: [statistics.median(run[i] for run in runs) for i in (0, 1)] for n, runs in late.items()}
    for n, (wall, cpu) in medians.items():
        least = min(run[0] for run in late[n])
        shown.add(f"{n:,}", f"{wall:.2f}", f"{cpu:.2f}", f"{least:.2f}", f"{os.getloadavg()[0]:.1f}")
    wall, cpu = (medians[10_000][i] / medians[10][i] for i in (0, 1))
    print(shown, f"10,000 triggers cost {wall:.2f} times 10, {cpu:.2f} times the work of the processor", sep="\n")


def processor_seconds() -> float:
    """What the JVM and its Python workers have had of the processor."""
    ticks = 0
    for pid in below(os.getpid()):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        except OSError:  # it has ended
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def skew(spark: SparkSession, folder: str, asked: argparse.Namespace) -> None:
    """What an uneven stream or set costs, against an even one of the same number of triggers."""
    count = 10_000
    mix = triggers(count)
    even = events(spark, asked.events, count, folder)
    hot = "com.example.t1.created"
    ninety = even.selectExpr(
        *(c for c in even.columns if c != "type"),
        f"CASE WHEN CAST(id AS BIGINT) % 10 > 0 THEN '{hot}' ELSE type END AS type",
    )
    crowd = [compiled_trigger(f"crowd/{i}", f'ce.type == "{hot}" && data.total == {i % 1000}.0') for i in range(5_000)]
    rest = [t for t in mix if t.text != f'ce.type == "{hot}"'][:5_000]
    bare = [
        compiled_trigger(f"bare/{i}", f"data.total > {995 + i % 5}.0 && data.limit < {i % 10}.5") for i in range(count)
    ]
    few_events = max(1, asked.events // 500)
    few = even.limit(few_events)
    shown = Report("stream and triggers", "events", "seconds", "events a second", "pairs an event", "load")
    for name, df, number, given in (
        ("even", even, asked.events, mix),
        ("one type with 90 % of events", ninety, asked.events, mix),
        ("one key with 5,000 triggers", even, asked.events, [*crowd, *rest]),
        ("1,000 without equality", few, few_events, bare[:1_000]),
        ("10,000 without equality", few, few_events, bare),
    ):
        sample = df.limit(CHECKED).cache()
        ours, theirs = (measure(variant, sample, given, 0) for variant in (fan_out, python_index))
        if (ours.pairs, ours.mark) != (theirs.pairs, theirs.mark):
            sys.exit(f"{name}: the Python index gives other pairs of {CHECKED} events: {theirs}, not {ours}")
        found = measure(fan_out, df, given, asked.runs)
        rate, pairs = number / found.seconds, found.pairs / number
        load = f"{os.getloadavg()[0]:.1f}"
        shown.add(name, f"{number:,}", f"{found.seconds:.2f}", f"{rate:,.0f}", f"{pairs:.2f}", load)
    print(shown)


def compiled_trigger(id_: str, text: str) -> Trigger:
    """A trigger with a filter of ours."""
    checked, diagnostics = check_filter(text)
    assert checked is not None, diagnostics
    return Trigger(id_, text, lower_filter(checked))


def main() -> None:
    """Measures the parts asked for and prints their tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=["sizes", "ratio", "skew", "all"], default="all")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument(
        "--runs", type=int, default=8, help="runs of which the best is taken: the JVM compiles in the first"
    )
    parser.add_argument("--rounds", type=int, default=18, help="turns that 10 and 10,000 triggers take")
    parser.add_argument("--rivals", type=int, default=max(MOST.values()), help="the most triggers for any rival")
    parser.add_argument("--plot", metavar="FILE", help="an SVG file for the plot of the sizes")
    asked = parser.parse_args()
    for name in MOST:
        MOST[name] = min(MOST[name], asked.rivals)
    spark = session()
    with tempfile.TemporaryDirectory() as folder:
        if asked.part in ("ratio", "all"):
            ratio(spark, folder, asked)
        if asked.part in ("sizes", "all"):
            lines = sizes(spark, folder, asked)
            if asked.plot:
                title = f"{asked.events:,} events through N triggers, two cores"
                Path(asked.plot).write_text(log_log(title, "triggers", "seconds", lines), encoding="utf-8")
        if asked.part in ("skew", "all"):
            skew(spark, folder, asked)


if __name__ == "__main__":
    main()
