"""Macros that read nothing of an object but its keys: only those travel, and every outcome is the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tricel.compiler.values.json_values import plain, read_json
from tricel.spark_backend.compiled_filter import CompiledFilter, lower_filter
from tricel.spark_backend.dataframes import with_outcomes
from tricel.spark_backend.engines import OWN_ENGINE, Program
from tricel.spark_backend.fallback.activation import Form
from tricel.spark_backend.fallback.jobs import residual_of
from tricel.spark_backend.frames import layout_of

from tricel import compile_filter

TEXTS = (
    '{"a": 1, "b": {"x": 1}}',
    '{"b": 1, "a": 2}',
    '{"a": 7.5, "total": 950}',
    "{}",
    "[]",
    '["a", "b"]',
    '["b"]',
    '[{"a": 1}]',
    '[1e400, "Infinity"]',
    '["Infinity"]',
    '{"Infinity": 1}',
    '{"Infinity\\"": 1e400, "a": 1}',
    '{"a": 1e400}',
    '"a"',
    "1",
    "true",
    "null",
    "not JSON",
    '{"a": 1, "a": 2}',
    '{"a": 1} and more',
    '{"\\ud83d\\ude00": 1, "\\uffee": 2}',
    '{"\\u00e9\\n\\"\\\\": 1}',
    '{"a\\u0000": 1}',
    '{"": 1}',
    '{"m": {"a": null}}',
    '{"m": {"b": 1, "a": 1e400}, "a": 1}',
    '{"m": ["a"]}',
    '{"m": "a"}',
    '{"m": null}',
)
KEYS_ALONE = (
    'data.exists(k, strings.quote(k) == "\\"a\\"")',
    'data.all(k, strings.quote(k) != "\\"b\\"")',
    'data.exists_one(k, strings.quote(k).endsWith("\\""))',
    'size(data.filter(k, strings.quote(k) <= "\\"a\\"")) == 1',
    'data.map(k, strings.quote(k)).exists(q, q == "\\"a\\"")',
    'data.map(k, strings.quote(k)).exists(q, q == "\\"\U0001f600\\"")',
    'data.map(k, strings.quote(k) != "\\"a\\"", k) == ["b"]',
    'data.m.exists(k, strings.quote(k) == "\\"a\\"")',
    'data.exists(k, strings.quote(k) == "\\"a\\"" && data.a == 1.0)',
    'data.exists(k, k.matches("^(a|aa)+$"))',
    'data.exists(k, k.matches("^Infinity(.|\\"){0,1}$") || strings.quote(k) == "x")',
    'data.exists(k, strings.quote(k) == "\\"a\\\\u0000\\"" || k.matches("^(a|a\\\\x00)+$"))',
    'data.exists(k, data.exists(j, strings.quote(k + j) == "\\"ba\\""))',
    'data.exists(k, strings.quote(k) == "\\"a\\"") && data != {"a": 1.0}',
    "data.exists(k, dyn(k) == 7.5 || strings.quote(k) == 'x')",
)
VALUES_TOO = (
    'data.exists(k, strings.quote(k) == "\\"a\\"" && data[k] == 7.5)',
    'data.exists(k, strings.quote(k) == "\\"b\\"") || data.exists(k, v, strings.quote(k) == "\\"a\\"" && v == 1.0)',
    'data.exists(k, v, strings.quote(k) == "\\"a\\"" && v == 7.5)',
)


def unlowered(text: str, layout: Any) -> CompiledFilter:
    """The filter with nothing native."""
    lowered = lower_filter(compile_filter(text).checked, layout, simplify=False)
    return replace(lowered, conjuncts=tuple(replace(c, native=False, reason="asked for") for c in lowered.conjuncts))


def expected(text: str, body: str) -> bool | None:
    """What our own evaluator says of all of the payload."""
    try:
        given = {"data": plain(read_json(body, trailing=True))}
    except ValueError:
        given = {}
    return Program(OWN_ENGINE, text, text, frozenset({"data", "ce"}))(given)


@pytest.mark.spark
@pytest.mark.parametrize("layout", ["JSON text", "VARIANT"])
def test_outcomes_are_those_of_all_of_the_payload(spark: SparkSession, layout: str) -> None:
    frame = spark.createDataFrame([(i, body) for i, body in enumerate(TEXTS)], "n INT, data STRING")
    if layout == "VARIANT":
        frame = frame.withColumn("data", F.try_parse_json("data"))
    texts = (*KEYS_ALONE, *VALUES_TOO)
    filters = {f"c{i}": unlowered(text, layout_of(frame)) for i, text in enumerate(texts)}
    wanted = {(text, body): expected(text, body) for text in texts for body in TEXTS}
    assert {True, False, None} == set(wanted.values())
    for named in (filters, *({name: found} for name, found in filters.items() if name in ("c0", "c4", "c7"))):
        rows = with_outcomes(frame, named).orderBy("n").collect()
        wrong = [
            (texts[int(name[1:])], body, row[name])
            for name in named
            for body, row in zip(TEXTS, rows, strict=True)
            if row[name] is not wanted[texts[int(name[1:])], body]
        ]
        assert wrong == []


@pytest.mark.parametrize("text", [*KEYS_ALONE, *VALUES_TOO])
def test_keys_travel_where_nothing_else_is_read(text: str) -> None:
    compiled = unlowered(text, compile_filter("true").layout)
    kinds = {i.kind for i in residual_of(compiled, [c.expr for c in compiled.conjuncts]).values}
    assert (text in KEYS_ALONE) == (Form.KEYS in kinds)
