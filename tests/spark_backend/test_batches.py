"""Values of every kind reach the engine alike, whether Spark sends Arrow columns or pandas ones."""

from __future__ import annotations

import pyarrow as pa
import pytest
from filter_sets import Named
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from samples import sample
from tricel.spark_backend.dataframes import with_outcomes
from tricel.spark_backend.fallback.batches import lists, those_with
from tricel.spark_backend.fanout import fan_out
from tricel.spark_backend.run.explain_errors import with_failures

from tricel import compile_filter

ROWS = """
    SELECT 'e1' AS id, '/s' AS source, 't' AS type, TIMESTAMP '2024-01-01 00:00:00Z' AS time,
        map('x', 'a', 'y', CAST(NULL AS STRING)) AS extensions, parse_json('{"a": 1e400, "b": "aa", "l": [1]}') AS data
    UNION ALL SELECT 'e2', '/s', 't', NULL, NULL, NULL
    UNION ALL SELECT 'e3', '/s', NULL, NULL, map('x', 'aa', 'z', 'b'), to_variant_object(named_struct('b', X'6161'))
    UNION ALL SELECT 'e4', '/s', 't', NULL, map(), parse_json('null')
    UNION ALL SELECT 'e5', '/s', 't', NULL, map('x', 'b'), parse_json('[true, "\\\\u0000", 0.1]')
"""
TEXTS = (
    'ce.type.matches("^(t|tt)+$")',
    'ce.x.matches("^(a|aa)+$")',
    "size(ce) > 3",
    "ce.exists(k, k == 'y' || ce[k] == 'b')",
    'string(ce.time).matches("^(2|20)+.*")',
    'data.exists(k, strings.quote(k) == "\\"a\\"" && data[k] > 1e308)',
    'string(data.b).matches("^(a|aa)+$")',
    """data.b == b'aa' && data.exists(k, strings.quote(k) == '"b"')""",
    """data.exists(v, strings.quote(string(v)) == '"0.1"')""",
)
FILTERS = {f"f{i}": compile_filter(text) for i, text in enumerate(TEXTS)}


def _answers(frame: DataFrame) -> list[object]:
    together = with_outcomes(frame, FILTERS).orderBy("id").select(*FILTERS).collect()
    some = sample([*FILTERS], 4)
    alone = [with_outcomes(frame, {n: FILTERS[n]}).orderBy("id").select(n).collect() for n in some]
    pairs = fan_out(frame, [Named(n, f) for n, f in FILTERS.items()], outcomes=True)
    outcomes = sorted(pairs.select("id", "trigger", "outcome").collect())
    failures = with_failures(frame.withColumn("trigger", F.lit("f6")), FILTERS, F.col("id") != "e4").orderBy("id")
    return [together, alone, outcomes, failures.select("id", "error", "subexpression").collect()]


@pytest.mark.sampled
def test_both_kinds_of_columns_have_the_same_answers(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = spark.sql(ROWS)
    usual = _answers(frame)
    assert {True, False, None} == {value for row in usual[0] for value in row}
    monkeypatch.delattr(F, "arrow_udf", raising=False)
    assert usual == _answers(frame)


def test_columns_are_lists_of_values() -> None:
    variant = pa.array([{"value": b"1", "metadata": b"2"}, None])
    map_ = pa.array([[("a", "b")], None], pa.map_(pa.string(), pa.string()))
    texts = pa.array([None, "x"])
    whole = pa.StructArray.from_arrays([texts, variant], ["t", "v"])
    assert [[None, "x"], [(b"1", b"2"), None], [(("a", "b"),), None]] == lists([whole, map_])
    assert [[None, None]] * 3 == lists(
        [c.slice(0, 2) for c in (pa.nulls(2), pa.nulls(2, map_.type), pa.nulls(2, variant.type))]
    )
    assert ([1], [["x"], [None]]) == those_with(texts, variant)
