"""Many topic filters of MQTT over one stream: seconds for a pass over messages as filters are added.

The mix: 40 of 100 exact, 25 `p/#`, 35 with `+` at random levels; every tenth has a condition on the payload, too. Topics
are drawn evenly, so that a message is matched by about as many filters at each size. Rivals in the same run: a broadcast
trie in an Arrow function, as one would write it by hand, and, for few filters, an `rlike` for each. All give the same
pairs. The variants take turns, and the least time of each counts: whatever else the machine does falls on all.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tricel.compiler import MQTT_MESSAGE, check_filter
from tricel.compiler.versions import NEXT
from tricel.spark_backend.compiled_filter import CompiledFilter, lower_filter

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

SIZES = (10, 1_000, 10_000)
MOST_PATTERNS = 10
"""Filters that are given to the rival of plain conditions."""
SITES, KINDS, THINGS = 50, ("temp", "state", "alarm", "power"), ("line", "hall", "gate", "lift")


class Filter:
    """A filter of the mix: its topic filter, and the least `t` of the payload where it has a condition."""

    def __init__(self, number: int, topics: str, least: float | None) -> None:
        self.id, self.topics, self.least = f"ns/t{number}", topics, least
        text = f'topic.matchesFilter("{topics}")' + ("" if least is None else f" && payload.t > {least}")
        checked, problems = check_filter(text, MQTT_MESSAGE, version=NEXT)
        assert checked is not None, problems
        self.compiled: CompiledFilter = lower_filter(checked)


def filters(count: int) -> list[Filter]:
    """The mix. A filter names one of as many devices as there are filters."""
    r = random.Random(count)
    found = []
    for i in range(count):
        device = r.randrange(count)
        words = [f"s{device % SITES}", THINGS[device % 4], f"d{device}", KINDS[r.randrange(4)]]
        kind = i * 37 % 100
        if kind >= 65:
            for place in r.sample((0, 1, 3), r.randint(1, 3)):
                words[place] = "+"
            if r.random() < 0.3:
                words = [*words[:3], "#"]
        elif kind >= 40:
            words = [*words[:3], "#"]
        found.append(Filter(i, "/".join(words), float(r.randrange(100)) if i % 10 == 3 else None))
    return found


def messages(spark: SparkSession, count: int, devices: int, folder: str) -> DataFrame:
    """Messages of devices drawn evenly, from Parquet."""
    path = f"{folder}/messages-{devices}"
    if not os.path.exists(path):
        n = f"pmod(xxhash64(id), {devices}L)"
        things, kinds = (", ".join(f"'{w}'" for w in some) for some in (THINGS, KINDS))
        topic = f"concat('s', {n} % {SITES}, '/', elt(1 + {n} % 4, {things}), '/d', {n}, '/', "
        topic += f"elt(1 + pmod(xxhash64(id, 3), 4), {kinds}))"
        body = "concat('{\"t\": ', pmod(xxhash64(id, 1), 100), ', \"note\": \"', repeat('x', 60), '\"}')"
        spark.range(0, count, 1, 4).selectExpr(
            "CAST(id AS STRING) AS id", f"{topic} AS topic", f"parse_json({body}) AS payload"
        ).write.parquet(path)
    return spark.read.parquet(path)


def fan_out(df: DataFrame, given: list[Filter]) -> DataFrame:
    """Ours."""
    from tricel.spark_backend.fanout import fan_out as ours

    return ours(df, given)


def trie(df: DataFrame, given: list[Filter]) -> DataFrame:
    """What one would write by hand: a broadcast trie, walked for each topic of an Arrow batch."""
    root: dict[str, Any] = {}
    for i, f in enumerate(given):
        node = root
        for word in f.topics.split("/"):
            node = node.setdefault(word, {})
        node.setdefault("", []).append((i, f.least))
    known = df.sparkSession.sparkContext.broadcast((root, [f.id for f in given]))

    def judge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        root, names = known.value
        for batch in batches:
            ids, triggers = [], []
            for id_, topic, t in zip(*(batch.column(i).to_pylist() for i in range(3)), strict=True):
                nodes, found = [root], []
                for word in topic.split("/"):
                    found += [n["#"] for n in nodes if "#" in n]
                    nodes = [n[w] for n in nodes for w in (word, "+") if w in n]
                found += nodes + [n["#"] for n in nodes if "#" in n]
                for node in found:
                    for i, least in node.get("", ()):
                        if least is None or t > least:
                            ids.append(id_)
                            triggers.append(names[i])
            yield pa.RecordBatch.from_arrays(
                [pa.array(ids, pa.string()), pa.array(triggers, pa.string())], ["id", "trigger"]
            )

    rows = df.selectExpr("id", "topic", "variant_get(payload, '$.t', 'double') AS t")
    return rows.mapInArrow(judge, "id STRING, trigger STRING")


def patterns(df: DataFrame, given: list[Filter]) -> DataFrame:
    """An `rlike` for each filter, and a row for each that is true."""
    from pyspark.sql import functions as F

    tests = []
    for f in given:
        words = f.topics.removesuffix("/#").replace("+", "[^/]*")
        test = F.col("topic").rlike(f"^{words}" + ("(/|$)" if f.topics.endswith("/#") else "$"))
        if f.least is not None:
            test = test & (F.expr("variant_get(payload, '$.t', 'double')") > f.least)
        tests.append(F.when(test, f.id))
    return df.withColumn("trigger", F.explode(F.array_compact(F.array(*tests))))


VARIANTS: dict[str, Callable[[DataFrame, list[Filter]], DataFrame]] = {
    "tricel fan-out": fan_out,
    "broadcast trie": trie,
    "rlike": patterns,
}


def session() -> SparkSession:
    """Two cores, as the figures say."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("topic filters").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "3g").config("spark.ui.showConsoleProgress", "false")
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    return found


def main() -> None:
    from pyspark.sql import functions as F

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    asked = parser.parse_args()
    spark = session()
    best: dict[tuple[str, int], float] = {}
    with tempfile.TemporaryDirectory() as folder:
        runs, planned = {}, {}
        for size in asked.sizes:
            given, df = filters(size), messages(spark, asked.messages, size, folder)
            marks = set()
            for name, variant in VARIANTS.items():
                if name == "rlike" and size > MOST_PATTERNS:
                    continue
                begin = time.perf_counter()
                pairs = variant(df, given)
                planned[name, size] = time.perf_counter() - begin
                mark = F.sum(F.pmod(F.xxhash64("id", "trigger"), F.lit(1_000_003)))
                row = pairs.agg(F.count(F.lit(1)), mark).collect()[0]
                marks.add(tuple(row))
                runs[name, size] = pairs, row[0]
            if len(marks) > 1:
                sys.exit(f"the variants give other pairs at {size} filters: {marks}")
        for _ in range(asked.rounds):
            for key, (pairs, _) in runs.items():
                begin = time.perf_counter()
                pairs.write.format("noop").mode("overwrite").save()
                best[key] = min(best.get(key, float("inf")), time.perf_counter() - begin)
    print("| filters | variant | seconds | messages a second | matches a message | plan s | times ours |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for (name, size), seconds in best.items():
        ours = best["tricel fan-out", size]
        matches = runs[name, size][1] / asked.messages
        speed = asked.messages / seconds
        print(
            f"| {size:,} | {name} | {seconds:.2f} | {speed:,.0f} | {matches:.2f} "
            f"| {planned[name, size]:.1f} | {seconds / ours:.2f} |"
        )
    few, many = min(asked.sizes), max(asked.sizes)
    growth = best["tricel fan-out", many] / best["tricel fan-out", few]
    print(f"{many:,} filters cost {growth:.2f} times {few:,}; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
