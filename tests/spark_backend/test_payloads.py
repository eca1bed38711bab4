"""Payloads that a schema describes: what fastavro and protobuf write is read to a struct, and filters mean the same there."""

from __future__ import annotations

import datetime
import io
import json
import string
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import fastavro
import pytest

pytest.importorskip("pyspark")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judged import outcomes, own, unlowered
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tricel.compiler import MQTT_MESSAGE, Environment
from tricel.compiler.schemas.shapes import Kind, Shape
from tricel.compiler.values.cel import Timestamp
from tricel.spark_backend.events.payloads import decode_payloads, with_schema
from tricel.spark_backend.payload_schemas import PayloadSchema

from tricel import compile_filter

on_spark = pytest.mark.skipif(not hasattr(F, "arrow_udf"), reason="Spark before 4.1 has no Arrow functions")

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "n", "type": "int"},
        {"name": "big", "type": "long"},
        {"name": "f", "type": "float"},
        {"name": "d", "type": "double"},
        {"name": "vip", "type": "boolean"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "total", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "exact", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "before", "type": ["null", "State"]},
        {"name": "raw", "type": "bytes"},
        {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 4}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": {"type": "map", "values": "long"}},
        {"name": "either", "type": ["int", "long", "null"]},
        {
            "name": "lines",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Line",
                    "fields": [{"name": "sku", "type": "string"}, {"name": "qty", "type": ["int", "null"]}],
                },
            },
        },
    ],
}
PARSED = fastavro.parse_schema(json.loads(json.dumps(ORDER)))
TEXT = st.text(max_size=4)
INTS, LONGS = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
AT = datetime.datetime(2024, 5, 1, 12, 0, 0, 123000, tzinfo=datetime.UTC)
TIMES = st.integers(-62_135_596_800_000, 253_402_300_799_999)


def instants(unit: datetime.timedelta) -> st.SearchStrategy[datetime.datetime]:
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return st.integers(-(10**13), 10**13).map(lambda n: epoch + n * unit)


ORDERS = st.fixed_dictionaries(
    {
        "id": TEXT,
        "n": INTS | st.integers(-3, 3),
        "big": LONGS,
        "f": st.floats(width=32),
        "d": st.floats(),
        "vip": st.booleans(),
        "note": st.none() | TEXT,
        "total": st.integers(-(10**9) + 1, 10**9 - 1).map(lambda n: Decimal(n).scaleb(-2)),
        "at": instants(datetime.timedelta(milliseconds=1)),
        "exact": st.none() | instants(datetime.timedelta(microseconds=1)),
        "day": INTS.map(lambda n: n % 10_000).map(lambda n: datetime.date(1970, 1, 1) + datetime.timedelta(n)),
        "state": st.sampled_from(["NEW", "PAID"]),
        "before": st.none() | st.sampled_from(["NEW", "PAID"]),
        "raw": st.binary(max_size=3),
        "hash": st.binary(min_size=4, max_size=4),
        "tags": st.lists(TEXT, max_size=3),
        "counts": st.dictionaries(st.sampled_from(string.ascii_lowercase[:3]), LONGS, max_size=3),
        "either": st.none() | INTS,
        "lines": st.lists(st.fixed_dictionaries({"sku": TEXT, "qty": st.none() | INTS}), max_size=3),
    }
)
ON_ORDERS = [
    'data.id == "" || data.id < "m"',
    "data.n > 0",
    "data.n + 1 > data.n",
    "data.big % 2 == 0",
    "data.big > 9007199254740992",
    "data.f > 0.0 && data.f != 1.5",
    "data.d == data.d",
    "data.vip",
    "has(data.note)",
    'data.note == "" || data.vip',
    "data.total > 0.5",
    "data.total == 12.34",
    'data.at > timestamp("2000-01-01T00:00:00Z")',
    "has(data.exact) && data.exact < data.at",
    "data.at.getMilliseconds() > 500",
    "data.day > 5000",
    'data.state == "NEW"',
    "has(data.before) && data.before == data.state",
    "data.raw == b'' || size(data.hash) == 4",
    "data.hash < b'\\x80'",
    'data.tags.exists(t, t == "")',
    "size(data.tags) > 1",
    '"a" in data.counts && data.counts["a"] > 0',
    "data.counts.all(k, v, v > 0)",
    "has(data.either) && data.either == data.n",
    "data.lines.exists(l, has(l.qty) && l.qty > 0)",
    "data.lines.all(l, l.sku != '')",
    'data.id.matches("^[a-m]*$")',
]


def avro(value: Any, schema: Any = PARSED) -> bytes:
    found = io.BytesIO()
    fastavro.schemaless_writer(found, schema, value)
    return found.getvalue()


def as_cel(value: Any, shape: Shape) -> Any:
    """A value that was read, as our own evaluator has it: without what is absent."""
    match shape.kind:
        case Kind.RECORD:
            return {n: as_cel(value[n], s) for n, s in shape.fields if value[n] is not None}
        case Kind.LIST if shape.element is not None:
            return [as_cel(v, shape.element) for v in value]
        case Kind.MAP if shape.element is not None:
            return {k: as_cel(v, shape.element) for k, v in value}
        case Kind.SECONDS | Kind.MILLISECONDS | Kind.MICROSECONDS:
            return Timestamp(value * 1000)
        case Kind.EMPTY:
            return {}
        case _:
            return value


def avro_as_cel(value: Any) -> Any:
    """What was written with fastavro, as our own evaluator has it."""
    match value:
        case dict():
            return {k: avro_as_cel(v) for k, v in value.items() if v is not None}
        case list():
            return [avro_as_cel(v) for v in value]
        case datetime.datetime():
            since = value - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
            return Timestamp(since // datetime.timedelta(microseconds=1) * 1000)
        case datetime.date():
            return (value - datetime.date(1970, 1, 1)).days
        case Decimal():
            return float(value)
        case _:
            return value


def drawn(strategy: st.SearchStrategy[Any], count: int) -> list[Any]:
    """So many values, the same in each run."""
    found: list[Any] = []

    @settings(
        max_examples=count, database=None, derandomize=True, suppress_health_check=list(HealthCheck), deadline=None
    )
    @given(strategy)
    def draw(value: Any) -> None:
        found.append(value)

    draw()
    return found


def assert_agree(
    spark: SparkSession, schema: PayloadSchema, messages: Sequence[bytes], values: Sequence[Any], texts: Sequence[str]
) -> None:
    """Each filter finds in the struct what our own evaluator finds in the value: in SQL, and in the fallback."""
    environment = with_schema(
        Environment("CloudEvent", (("data", MQTT_MESSAGE.roots[0][1]),), payload="data"), "data", schema
    )
    rows = [(i, None, message) for i, message in enumerate(messages)]
    frame = decode_payloads(
        spark.createDataFrame(rows, "row INT, malformed STRING, data BINARY").coalesce(1), "data", schema
    )
    frame = frame.drop("raw") if "raw" in frame.columns else frame
    frame = frame.cache()
    assert [] == frame.where("malformed IS NOT NULL").take(3)
    filters = [compile_filter(t, environment) for t in texts]
    native, left = outcomes(frame, filters), outcomes(frame, [unlowered(f, frame) for f in filters])
    wrong = []
    for i, text in enumerate(texts):
        for row, value in enumerate(values):
            expected = own(text, environment, {"data": value})
            if not expected is native[i][row] is left[i][row]:
                wrong.append((text, value, native[i][row], left[i][row], expected))
    assert [] == wrong[:3]
    frame.unpersist()


@on_spark
@pytest.mark.spark
def test_what_fastavro_writes_means_the_same_in_a_struct(spark: SparkSession) -> None:
    values = drawn(ORDERS, 200)
    schema = PayloadSchema("avro", json.dumps(ORDER).encode())
    assert_agree(spark, schema, [avro(v) for v in values], [avro_as_cel(v) for v in values], ON_ORDERS)
