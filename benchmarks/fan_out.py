"""Many triggers over one stream: seconds for a pass as triggers are added, matches for one event held about equal.

The mix: half type equality, the rest prefixes of type and source, comparisons of data, `in` sets, `||`, negation, and
one in a hundred that needs the fallback. Rivals in the same run, each up to the number of triggers it can bear: a union of
N filters, N boolean columns, and a Python index by type with a CEL engine for each candidate. All variants must give the
same pairs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from tricel.compiler import check_filter
from tricel.spark_backend.engines import Refusal, prepare
from tricel.spark_backend.lowered import CompiledFilter, lower_filter

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

SIZES = (1, 10, 100, 1_000, 10_000)
HUGE = 100_000
MOST = {"union of filters": 100, "boolean columns": 100, "Python index, CEL": 10_000}
"""Triggers that a rival is asked to bear."""


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
    found = []
    for i in range(count):
        checked, diagnostics = check_filter(filter_text(i, count))
        assert checked is not None, diagnostics
        found.append(Trigger(f"ns/t{i}", checked.cel, lower_filter(checked)))
    return found


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

    ids = F.array_compact(F.array(*(F.when(column(t.compiled, df), t.id) for t in given)))
    return df.withColumn("trigger", F.explode(ids))


def python_index(df: DataFrame, given: list[Trigger]) -> DataFrame:
    """What one would write by hand: a dictionary by type, and the C++ CEL engine for each candidate."""
    texts = [(t.id, t.compiled) for t in given]
    programs = []
    by_type: dict[str, list[int]] = defaultdict(list)
    others: list[int] = []
    for i, (_, compiled) in enumerate(texts):
        checked = compiled.checked.checked
        program = prepare(checked.expr, compiled.engine, dict(checked.environment.roots))
        assert not isinstance(program, Refusal)
        programs.append(program)
        named = [part.split('"')[1] for part in compiled.cel.split("&&") if part.strip().startswith('ce.type == "')]
        (by_type[named[0]] if named and "||" not in compiled.cel else others).append(i)
    ids = [i for i, _ in texts]

    def judge(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        import pandas as pd
        from tricel.spark_backend.engines import ENGINES

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
                for i in (*by_type.get(type_, ()), *others):
                    if i not in compiled:
                        compiled[i] = ENGINES[programs[i].engine].compile(programs[i].text, programs[i].roots)
                    if compiled[i](activation) is True:
                        found.append((id_, ids[i]))
            yield pd.DataFrame(found, columns=["id", "trigger"])

    text = df.selectExpr("id", "source", "type", "to_json(data) AS data")
    return text.mapInPandas(judge, "id STRING, trigger STRING")


VARIANTS: dict[str, Callable[[DataFrame, list[Trigger]], DataFrame]] = {
    "tricel fan-out": fan_out,
    "union of filters": union_of_filters,
    "boolean columns": boolean_columns,
    "Python index, CEL": python_index,
}


def measure(
    variant: Callable[[DataFrame, list[Trigger]], DataFrame], df: DataFrame, given: list[Trigger], runs: int
) -> tuple[float, float, tuple[int, int]]:
    """Seconds to plan, the best seconds to run, and a fingerprint of the pairs."""
    from pyspark.sql import functions as F

    begin = time.perf_counter()
    pairs = variant(df, given)
    planned = time.perf_counter() - begin
    best = float("inf")
    for _ in range(runs):
        begin = time.perf_counter()
        pairs.write.format("noop").mode("overwrite").save()
        best = min(best, time.perf_counter() - begin)
    mark = F.sum(F.pmod(F.xxhash64("id", "trigger"), F.lit(1_000_003)))
    row = pairs.agg(F.count(F.lit(1)).alias("n"), mark.alias("mark")).collect()[0]
    return planned, best, (row["n"], row["mark"] or 0)


def main() -> None:
    """Measures each variant at each size and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--huge", action="store_true", help=f"{HUGE:,} triggers as well")
    parser.add_argument("--native", action="store_true", help="without the triggers that need the fallback")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--rivals", type=int, default=max(MOST.values()), help="the most triggers for any rival")
    asked = parser.parse_args()
    spark = session()
    columns = ("triggers", "variant", "compile s", "plan s", "run s", "events/s", "matches/event", "load")
    shown = Table(*columns, title="Fan-out")
    with tempfile.TemporaryDirectory() as folder:
        for size in (*asked.sizes, *((HUGE,) if asked.huge else ())):
            df = events(spark, asked.events, size, folder)
            begin = time.perf_counter()
            given = [t for t in triggers(size) if not (asked.native and t.compiled.residual)]
            compiled = time.perf_counter() - begin
            expected: tuple[int, int] | None = None
            for name, variant in VARIANTS.items():
                if size > min(MOST.get(name, size), asked.rivals if name in MOST else size):
                    shown.add_row(f"{size:,}", name, "", "", "not run", "", "", "")
                    continue
                planned, best, pairs = measure(variant, df, given, asked.runs)
                expected = expected or pairs
                if pairs != expected:
                    sys.exit(f"{name} gives other pairs at {size} triggers: {pairs}, not {expected}")
                rate, matches = asked.events / best, pairs[0] / asked.events
                row = (
                    f"{compiled:.1f}",
                    f"{planned:.1f}",
                    f"{best:.2f}",
                    f"{rate:,.0f}",
                    f"{matches:.2f}",
                    f"{os.getloadavg()[0]:.0f}",
                )
                shown.add_row(f"{size:,}", name, *row)
                print(size, name, *row, flush=True)
    Console().print(shown)


if __name__ == "__main__":
    main()
