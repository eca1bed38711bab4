"""A payload that travels as it is, instead of what Spark makes of it, is the same value to the engine."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import VariantVal
from spark_settings import set_to
from tricel.spark_backend import where
from tricel.spark_backend.fallback.activation import Activation, Form, Input, Reader
from tricel.spark_backend.fallback.inputs import payload_inputs
from tricel.spark_backend.frames import expression, layout_of
from tricel.spark_backend.sql.columns import body_text
from tricel.spark_backend.sql.json_text import KEEPS_LAST

from tricel import compile_filter

SEEDS = (
    '{"a":1,"b":[true,false,null],"c":{"d":"x"}}',
    ' { "a" : -0.0 , "b" : [ 1.5e3, -0 ] } ',
    '[{"a":"\\n\\t\\"\\\\\\/\\b\\f\\r"},["é","😀",""],12345678901234567890]',
    '{"a":"Infinity","b":1e400,"c":-1e400,"d":0.1,"e":4.9e-324,"f":2.2250738585072011e-308}',
    '{"\\u0061":1,"b":"\\ud83d\\ude00","c":"\\u0000"}',
    '{"\\u0061":1e400,"b":[-1E+0309,1e308,"Infinity"],"c":"Infinity\\""} x',
    '{"a":-1e-400,"b":-4e-325,"c":[-1E-999,1e-400]}',
    "1e999",
    '"text" 1',
    "{}",
)
WORDS = (
    r'" { } [ ] , : \ \u 0 1 . - + e E5 e400 null true NaN Infinity "a":1 "a":2, ' + "' /*x*/ // # 01 1_0 \x7f \ud7ff"
)
PARTS = (*WORDS.split(" "), " ", "\n", "\x0b", "\xa0", "\ufeff", "\u2028", "\0")


def _long() -> Iterator[str]:
    """Texts on both sides of what Spark's parser bounds, and of what may travel as it is."""
    for n in (*range(890, 912), *range(990, 1010)):
        yield from (f"[{'1' * n}]", f"[0.{'1' * n}]", f"[1e-{'0' * n}1]", f"[-{'9' * (n - 5)}.5E+3]")
        yield f'{{"{"k" * n}":1}}'
    for n in (499, 500, 501, 998, 999, 1_000, 1_001, 3_000, 20_000):
        yield from ("[" * n + "]" * n, '{"a":' * n + "1" + "}" * n, '[{"a":' * (n // 2) + "1" + "}]" * (n // 2))
        yield "[" + ",".join(["[]"] * n) + "]"
    for n in range(49_980, 50_003):
        yield from (f'{{"{"k" * n}":1}}', f'["{"x" * n}"]', f'["{"é" * (n // 2)}"]')


def _mutated(count: int) -> Iterator[str]:
    rng = random.Random(20)
    for _ in range(count):
        text = rng.choice(SEEDS)
        for _ in range(rng.choice((1, 1, 2, 3))):
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice((*PARTS, "")) + text[at + rng.choice((0, 0, 1, 2, 5)) :]
        yield text


def _read(inputs: Sequence[Input], rows: list[list[object]]) -> list[tuple[Activation | None, bool]]:
    read = Reader(inputs, record="")
    columns = [[_travelled(value) for value in column] for column in zip(*rows, strict=True)]
    return list(zip(*read.each(columns, len(rows)), strict=True))


def _shown(outcome: tuple[Activation | None, bool]) -> str:
    return json.dumps(outcome, sort_keys=True)  # a map has no order


def _travelled(value: object) -> object:
    return (bytes(value.value), bytes(value.metadata)) if isinstance(value, VariantVal) else value


def _both(frame: DataFrame) -> list[tuple[str, str, str]]:
    """Of each payload the text that travels, what it is read as, and what is read of what Spark makes of it."""
    layout = layout_of(frame)
    travelling = payload_inputs("data", layout.roots["data"], layout.quirks)
    body = body_text(layout.roots["data"], checked=layout.quirks.takes_unpaired_surrogates)
    parsed = [Input(kind, "data", body) for kind in (Form.JSON, Form.INFINITE)]
    found = frame.select(*(expression(i.travels) for i in (*travelling, *parsed))).collect()
    ours, theirs = _read(travelling, [list(r[:1]) for r in found]), _read(parsed, [list(r[1:]) for r in found])
    return [(r[0], _shown(a), _shown(b)) for r, a, b in zip(found, ours, theirs, strict=True)]


@pytest.mark.parametrize("media", [None, "application/json", "text/plain", "application/x+json; charset=utf-8"])
def test_python_reads_it_as_spark_does(spark: SparkSession, media: str | None) -> None:
    """Whatever is wrong with the text, and whatever follows it: the values are the same, and so is whether there is one."""
    texts = [*SEEDS, *_long(), *_mutated(4_000)] if media is None else list(SEEDS)
    found = _both(spark.createDataFrame([(t, media) for t in texts], "data string, datacontenttype string"))
    assert [(t[:80], a, b) for t, (_, a, b) in zip(texts, found, strict=True) if a != b] == []
    plain = sum(text == travelled for text, (travelled, _, _) in zip(texts, found, strict=True))
    assert (plain > 1_000) if media is None else (plain > 0) is ("json" in media)


def test_bytes_that_are_no_text_are_what_spark_reads(spark: SparkSession) -> None:
    odd = (
        b"\xff",
        b"\xed\xa0\x80",
        b"\xed\xa0\x80\xed\xb0\x80",
        b"\xc0\x80",
        b"\xe2\x82",
        b"\xf4\x90\x80\x80",
        b"\xf0\x9f",
    )
    rows = [(b'{"s":"' + part + b'","a":' + number + b"}",) for part in odd for number in (b"1", b"1e400")]
    found = _both(spark.createDataFrame(rows, "raw binary").selectExpr("CAST(raw AS STRING) AS data"))
    assert [(row, a, b) for row, (_, a, b) in zip(rows, found, strict=True) if a != b] == []
    assert len(rows) / 2 == sum("Infinity" in a for _, a, _ in found)


def test_a_value_made_of_the_deepest_payload_may_be_deeper(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("[" * 1_000 + "]" * 1_000,)], "data string")
    assert (
        1 == where(frame, compile_filter("[data].exists(x, strings.quote(string(size(x))) != '' && x == data)")).count()
    )


@pytest.mark.parametrize(("keeps_last", "expected"), [("false", 0), ("true", 1)])
def test_equal_keys_are_what_the_session_makes_of_them(spark: SparkSession, keeps_last: str, expected: int) -> None:
    with set_to(spark, {KEEPS_LAST: keeps_last}):
        frame = spark.createDataFrame([('{"a": 1, "b": {"c": 1, "c": 2}}',)], "data string")
        kept = where(frame, compile_filter('data.exists(k, strings.quote(k) == "\\"b\\"" && data[k].c == 2.0)'))
        assert expected == kept.count()
