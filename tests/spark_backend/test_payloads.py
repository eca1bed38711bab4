"""Payloads that a schema describes: what fastavro and protobuf write is read to a struct, and filters mean the same there."""

from __future__ import annotations

import datetime
import io
import json
import string
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import fastavro
import pytest

pytest.importorskip("pyspark")

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    duration_pb2,
    source_context_pb2,
    struct_pb2,
    timestamp_pb2,
    type_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judged import outcomes, own, unlowered
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tricel.compiler import CLOUD_EVENT, KAFKA_RECORD, MQTT_MESSAGE
from tricel.compiler.schemas.avro import fingerprint
from tricel.compiler.schemas.avro_values import NotDecodedError
from tricel.compiler.values.cel import Timestamp
from tricel.spark_backend import where
from tricel.spark_backend.events.payloads import decode_payloads
from tricel.spark_backend.failure import RunError
from tricel.spark_backend.payload_schemas import Declaration, PayloadSchema, declaration, with_schema

from tricel import CompileError, compile_filter

on_spark = pytest.mark.skipif(not hasattr(F, "arrow_udf"), reason="Spark before 4.1 has no Arrow functions")

ORDER: dict[str, Any] = {
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
    environment = with_schema(CLOUD_EVENT, "data", schema)
    rows = [(i, None, message) for i, message in enumerate(messages)]
    frame = spark.createDataFrame(rows, "row INT, malformed STRING, data BINARY").coalesce(1)
    frame = decode_payloads(frame, "data", schema)
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


def field(name: str, number: int, type_: str, label: str = "OPTIONAL", **more: Any) -> FieldDescriptorProto:
    kind = FieldDescriptorProto.Type.Value(f"TYPE_{type_.upper()}")
    return FieldDescriptorProto(
        name=name, number=number, type=kind, label=FieldDescriptorProto.Label.Value(f"LABEL_{label}"), **more
    )


SCALARS = ("int32", "int64", "uint32", "uint64", "sint64", "fixed64", "double", "float", "bool", "string", "bytes")
IMPORTED = (timestamp_pb2, wrappers_pb2, duration_pb2, struct_pb2)


def shop() -> FileDescriptorProto:
    """A file of messages in the shapes that published ones have: scalars, presence, oneofs, maps, well-known types."""
    file = FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.extend(module.DESCRIPTOR.name for module in IMPORTED)
    state = file.enum_type.add(name="State")
    for number, name in enumerate(("NONE", "NEW", "PAID")):
        state.value.add(name=name, number=number)
    line = file.message_type.add(name="Line")
    line.field.extend([field("sku", 1, "string"), field("qty", 2, "int32", proto3_optional=True, oneof_index=0)])
    line.oneof_decl.add(name="_qty")
    order = file.message_type.add(name="Order")
    order.field.extend(field(name, i + 1, name) for i, name in enumerate(SCALARS))
    order.oneof_decl.add(name="payment")
    order.oneof_decl.add(name="_maybe")
    order.field.extend(
        [
            field("state", 20, "enum", type_name=".shop.State"),
            field("maybe", 21, "int64", proto3_optional=True, oneof_index=1),
            field("card", 22, "string", oneof_index=0),
            field("cash", 23, "bool", oneof_index=0),
            field("at", 24, "message", type_name=".google.protobuf.Timestamp"),
            field("limit", 25, "message", type_name=".google.protobuf.Int64Value"),
            field("timeout", 26, "message", type_name=".google.protobuf.Duration"),
            field("lines", 27, "message", "REPEATED", type_name=".shop.Line"),
            field("tags", 28, "string", "REPEATED"),
            field("counts", 29, "message", "REPEATED", type_name=".shop.Order.CountsEntry"),
            field("nothing", 30, "message", type_name=".shop.Order.Nothing"),
            field("first", 31, "message", type_name=".shop.Line"),
            field("names", 32, "message", "REPEATED", type_name=".shop.Order.NamesEntry"),
        ]
    )
    order.nested_type.add(name="Nothing")
    for name, key, value in (("CountsEntry", "string", "int64"), ("NamesEntry", "int32", "string")):
        entry = order.nested_type.add(name=name)
        entry.options.map_entry = True
        entry.field.extend([field("key", 1, key), field("value", 2, value)])
    file.message_type.add(name="Tree").field.append(field("left", 1, "message", type_name=".shop.Tree"))
    file.message_type.add(name="Wild").field.append(field("meta", 1, "message", type_name=".google.protobuf.Struct"))
    return file


def file_set(*files: FileDescriptorProto, imported: Sequence[Any] = IMPORTED) -> bytes:
    """What `protoc --include_imports --descriptor_set_out` writes."""
    found = FileDescriptorSet()
    for module in imported:
        module.DESCRIPTOR.CopyToProto(found.file.add())
    found.file.extend(files)
    return bytes(found.SerializeToString())


def message_class(content: bytes, name: str) -> Any:
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(content).file:
        pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(name))


SHOP = file_set(shop())
Order = message_class(SHOP, "shop.Order")
PROTO_ORDERS = st.fixed_dictionaries(
    {},
    optional={
        "int32": INTS,
        "int64": LONGS,
        "uint32": st.integers(0, 2**32 - 1),
        "uint64": st.integers(0, 2**63 - 1),
        "sint64": LONGS,
        "fixed64": st.integers(0, 2**63 - 1),
        "double": st.floats(),
        "float": st.floats(width=32),
        "bool": st.booleans(),
        "string": TEXT,
        "bytes": st.binary(max_size=3),
        "state": st.integers(0, 5),
        "maybe": st.integers(-2, 2),
        "card": TEXT,
        "at": st.tuples(st.integers(0, 10**9), st.integers(0, 999_999).map(lambda n: n * 1000)),
        "limit": st.integers(-2, 2),
        "timeout": st.integers(-5, 5),
        "lines": st.lists(st.fixed_dictionaries({"sku": TEXT}, optional={"qty": st.integers(-2, 2)}), max_size=3),
        "tags": st.lists(TEXT, max_size=3),
        "counts": st.dictionaries(st.sampled_from("abc"), LONGS, max_size=3),
        "names": st.dictionaries(st.integers(-1, 2), TEXT, max_size=3),
        "nothing": st.just({}),
        "first": st.fixed_dictionaries({"sku": TEXT}),
    },
)


def proto_message(value: dict[str, Any]) -> bytes:
    found = Order()
    for name, given_ in value.items():
        holder = getattr(found, name)
        match name:
            case "lines":
                for item in given_:
                    holder.add(**item)
            case "tags":
                holder.extend(given_)
            case "counts" | "names":
                holder.update(given_)
            case "at":
                holder.seconds, holder.nanos = given_
                holder.SetInParent()
            case "limit":
                holder.value = given_
                holder.SetInParent()
            case "timeout":
                holder.seconds = given_
                holder.SetInParent()
            case "nothing":
                holder.SetInParent()
            case "first":
                holder.sku = given_["sku"]
                holder.SetInParent()
            case _:
                setattr(found, name, given_)
    return bytes(found.SerializeToString())


def proto_as_cel(value: dict[str, Any]) -> dict[str, Any]:
    """The message by the definition of the mapping: its default where a field cannot be unset, absent where it can."""
    zero: dict[str, Any] = dict.fromkeys(("double", "float"), 0.0) | {"bool": False, "string": "", "bytes": b""}
    found: dict[str, Any] = {name: zero.get(name, 0) for name in SCALARS}
    found |= {"state": 0, "lines": [], "tags": [], "counts": {}, "names": {}, **value}
    if "at" in value:
        found["at"] = Timestamp(value["at"][0] * 10**9 + value["at"][1])
    if "timeout" in value:
        found["timeout"] = {"seconds": value["timeout"], "nanos": 0}
    return found


ON_PROTO = [
    "data.int32 > 0",
    "data.int64 == 0 || data.int64 % 2 == 1",
    "data.uint32 > 2147483647",
    "data.uint64 > data.fixed64",
    "data.sint64 + 1 > 0",
    "data.double == data.double && data.float < 1.5",
    "data.bool",
    'data.string == "" || data.string > "m"',
    "data.bytes == b''",
    "data.state == 2 || data.state > 3",
    "has(data.maybe) && data.maybe > 0",
    "data.maybe == 0",
    "has(data.card) || has(data.cash)",
    'data.at > timestamp("1990-01-01T00:00:00Z")',
    "has(data.limit) && data.limit == data.maybe",
    "data.timeout.seconds > 0",
    "data.lines.exists(l, has(l.qty) && l.qty > 0)",
    'data.tags.all(t, t != "")',
    'data.counts.exists(k, v, v > 0) || "a" in data.counts',
    "1 in data.names && data.names[1] != ''",
    "data.names.exists(k, v, k < 0)",
    "size(data.names) > 1",
    "has(data.nothing)",
    "data.nothing == {}",
    'data.first.sku == ""',
]


@on_spark
@pytest.mark.spark
def test_what_protobuf_writes_means_the_same_in_a_struct(spark: SparkSession) -> None:
    values: list[dict[str, Any]] = [{}, *drawn(PROTO_ORDERS, 200)]
    schema = PayloadSchema("protobuf", SHOP, "shop.Order")
    assert_agree(spark, schema, [proto_message(v) for v in values], [proto_as_cel(v) for v in values], ON_PROTO)


SMALL = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}, {"name": "state", "type": "string"}]}
SMALL_SCHEMA = PayloadSchema("avro", json.dumps(SMALL).encode())
GOOD = avro({"n": 6, "state": "a"}, fastavro.parse_schema(json.loads(json.dumps(SMALL))))


@on_spark
@pytest.mark.spark
def test_a_payload_that_is_none_of_its_schema_is_a_malformed_row_with_its_bytes(spark: SparkSession) -> None:
    """Of events whose data is a VARIANT, as the readers give it: bytes are read, JSON is none, what is absent stays so."""
    rows = [
        ("e0", None, None, GOOD, None),
        ("e1", None, None, GOOD + b"x", None),
        ("e2", None, None, None, '{"n": 6}'),
        ("e3", None, None, None, None),
        ("e4", "not JSON", b"raw", None, None),
    ]
    schema = "event STRING, malformed STRING, raw BINARY, bytes BINARY, json STRING"
    frame = spark.createDataFrame(rows, schema).selectExpr(
        "event", "malformed", "raw", "'t' AS type", "coalesce(CAST(bytes AS VARIANT), parse_json(json)) AS data"
    )
    found = decode_payloads(frame, "data", SMALL_SCHEMA)
    shown = [(r["event"], r["malformed"], r["raw"] and bytes(r["raw"]), r["type"]) for r in found.collect()]
    assert shown == [
        ("e0", None, None, "t"),
        ("e1", "'data' is not of its schema: bytes follow the value", GOOD + b"x", None),
        ("e2", "'data' is not bytes", None, None),
        ("e3", None, None, "t"),
        ("e4", "not JSON", b"raw", "t"),
    ]
    passed = where(found, compile_filter("data.n == 6", with_schema(CLOUD_EVENT, "data", SMALL_SCHEMA)))
    assert ["e0"] == [r["event"] for r in passed.collect()]


@on_spark
@pytest.mark.spark
@pytest.mark.parametrize(
    ("environment", "root"), [(KAFKA_RECORD, "value"), (MQTT_MESSAGE, "payload")], ids=["kafka", "mqtt"]
)
def test_a_root_of_another_environment(spark: SparkSession, environment: Any, root: str) -> None:
    frame = spark.createDataFrame([("t", GOOD), ("t", None)], f"topic STRING, {root} BINARY")
    described = with_schema(environment, root, SMALL_SCHEMA)
    found = decode_payloads(frame, root, SMALL_SCHEMA)
    text = f"{root}.n + 1 == 7 && {root}.state == 'a' && size({root}_bytes) == {len(GOOD)}"
    assert 1 == where(found, compile_filter(text, described)).count()
    with pytest.raises(CompileError) as e:
        compile_filter(f"{root}.stat == 'a'", described)
    (told,) = e.value.diagnostics
    assert "'stat'" in told.message
    assert "'state'" in told.help


def nested(type_: Any) -> Any:
    return {"type": "record", "name": "R", "fields": [{"name": "x", "type": type_}]}


REFUSED: list[tuple[Any, str]] = [
    (nested(["int", "string"]), "'data.x' is of one of several types"),
    (nested("null"), "'data.x' is always null"),
    (nested(["null"]), "'data.x' is always null"),
    (nested({"type": "array", "items": ["null", "int"]}), "'data.x[]' may be null"),
    (nested({"type": "map", "values": ["int", "null"]}), "'data.x[]' may be null"),
    (nested(["null", "R"]), "'data.x' holds itself: 'R' is recursive"),
    (nested("Other"), "'data.x' is of the type 'Other', which the schema does not define"),
    (nested({"type": "bytes", "logicalType": "decimal", "precision": 16}), "'data.x' is a decimal of 16 digits"),
    (nested({"type": "record", "name": "E", "fields": []}), "'data.x' is a record without fields"),
    (nested({"type": "fixed", "name": "F", "size": 0}), "'data.x' is of no size"),
    (nested(7), "'data.x' is no schema: 7"),
]


@pytest.mark.parametrize(("schema", "says"), REFUSED)
def test_an_avro_schema_that_cel_has_no_types_for(schema: Any, says: str) -> None:
    with pytest.raises(RunError) as e:
        PayloadSchema("avro", json.dumps(schema).encode(), file="x.avsc").payload()
    assert "TRI625" == e.value.diagnostic.code
    assert says in e.value.diagnostic.message


@pytest.mark.parametrize(
    ("content", "message", "code", "says"),
    [
        (SHOP, "shop.Tree", "TRI625", "'data.left' holds itself: 'shop.Tree' is recursive"),
        (SHOP, "shop.Wild", "TRI625", "'google.protobuf.Struct' is recursive"),
        (SHOP, "shop.order", "TRI626", "there is no message 'shop.order' in the set"),
        (b"\xff", "shop.Order", "TRI624", "not a FileDescriptorSet"),
        (file_set(shop(), imported=()), "shop.Order", "TRI624", "the FileDescriptorSet is not complete"),
    ],
    ids=["tree", "struct", "name", "bytes", "imports"],
)
def test_a_descriptor_set_that_says_no_type(content: bytes, message: str, code: str, says: str) -> None:
    with pytest.raises(RunError) as e:
        PayloadSchema("protobuf", content, message, "x.pb").payload()
    assert code == e.value.diagnostic.code
    assert says in e.value.diagnostic.message
    assert e.value.diagnostic.help


def test_the_types_that_protobuf_itself_publishes() -> None:
    """Its description of a type at run time is read, with its oneofs, enums and `Any`; messages in messages are not."""
    content = file_set(imported=(any_pb2, source_context_pb2, type_pb2))
    fields = dict(PayloadSchema("protobuf", content, "google.protobuf.Type").payload().shape.fields)
    assert {"name", "fields", "oneofs", "options", "source_context", "syntax", "edition"} == set(fields)
    content = file_set(imported=(descriptor_pb2,))
    with pytest.raises(RunError, match=r"'google\.protobuf\.DescriptorProto' is recursive"):
        PayloadSchema("protobuf", content, "google.protobuf.FileDescriptorProto").payload()


def crc(schema: Any) -> str:
    """The fingerprint by fastavro."""
    form = fastavro.schema.to_parsing_canonical_form(json.loads(json.dumps(schema)))
    return str(fastavro.schema.fingerprint(form, "CRC-64-AVRO"))


def test_headers_are_held_against_the_schema() -> None:
    """Single objects are told by the fingerprint, Confluent's messages by the id."""
    assert [crc(ORDER), crc(SMALL)] == [fingerprint(ORDER).hex(), fingerprint(SMALL).hex()]
    content = json.dumps(SMALL).encode()
    single = PayloadSchema("avro+single-object", content).payload().decode
    assert {"n": 6, "state": "a"} == single(b"\xc3\x01" + bytes.fromhex(crc(SMALL)) + GOOD)
    confluent = PayloadSchema("avro+confluent", content, "7").payload().decode
    assert {"n": 6, "state": "a"} == confluent(b"\x00\x00\x00\x00\x07" + GOOD)
    for decode, message, reason in (
        (single, b"\xc3\x01" + bytes(8) + GOOD, "another schema's fingerprint"),
        (single, GOOD, "it ends too early"),
        (confluent, b"\x00\x00\x00\x00\x08" + GOOD, "not the header of the schema 7"),
        (confluent, b"\x00", "it ends too early"),
    ):
        with pytest.raises(NotDecodedError, match=reason):
            decode(message)


FAR = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
BAD_AVRO: list[tuple[Any, bytes, str]] = [
    ("int", b"\xfe\xff\xff\xff\x1f", "an int has more than 32 bits"),
    ("long", b"\xff" * 10 + b"\x01", "more than 64 bits"),
    ("long", b"\xff", "it ends too early"),
    ("long", b"", "it ends too early"),
    ("boolean", b"\x02", "neither 0 nor 1"),
    ("string", b"\x04a", "a length is beyond the end"),
    ("string", b"\x01", "a length is beyond the end"),
    ("string", b"\x02\xff", "a string is not UTF-8"),
    ("double", b"\x00", "it ends too early"),
    (["int", "null"], b"\x04", "no branch of that number"),
    ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\x02", "no symbol of that number"),
    ({"type": "fixed", "name": "F", "size": 2}, b"\x00", "it ends too early"),
    ({"type": "array", "items": "boolean"}, FAR, "it ends too early"),
    ({"type": "map", "values": "int"}, b"\x04\x02a\x02\x02a\x04\x00", "a map has a key twice"),
    ({"type": "long", "logicalType": "timestamp-millis"}, FAR, "years 1 to 9999"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 2}, b"\x02\x64", "more than 2 digits"),
]


@pytest.mark.parametrize(("schema", "message", "reason"), BAD_AVRO)
def test_bytes_that_are_no_avro_of_the_schema(schema: Any, message: bytes, reason: str) -> None:
    decode = PayloadSchema("avro", json.dumps(schema).encode()).payload().decode
    with pytest.raises(NotDecodedError, match=reason):
        decode(message)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"\xff", "not a message 'shop.Order'"),
        (b"\x20" + b"\xff" * 9 + b"\x01", "an unsigned number is larger than an int"),
        (b"\x52\x01\xff", "not a message 'shop.Order'"),
        (b"\xc2\x01\x0a\x08" + b"\xff" * 8 + b"\x7f", "years 1 to 9999"),
    ],
)
def test_bytes_that_are_no_message(message: bytes, reason: str) -> None:
    decode = PayloadSchema("protobuf", SHOP, "shop.Order").payload().decode
    with pytest.raises(NotDecodedError, match=reason):
        decode(message)


@settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(ORDERS, st.data())
def test_damaged_bytes_end_in_a_reason_and_nothing_else(value: Any, data: st.DataObject) -> None:
    decode = PayloadSchema("avro", json.dumps(ORDER).encode()).payload().decode
    message = bytearray(avro(value))
    for _ in range(data.draw(st.integers(1, 3))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(message[: data.draw(st.integers(0, len(message)))])
    for damaged in (bytes(message), cut):
        with suppress(NotDecodedError):
            assert set(decode(damaged)) == {f["name"] for f in ORDER["fields"]}


def test_what_may_be_declared() -> None:
    assert Declaration("avro", "a#b.avsc", "") == declaration("avro:a#b.avsc")
    assert Declaration("avro+confluent", "a.avsc", "7") == declaration("avro+confluent:a.avsc#7")
    assert Declaration("protobuf", "x.pb", "shop.Order") == declaration("protobuf:x.pb#shop.Order")
    assert declaration("json") is declaration("xml:a") is None
    for text in ("avro:", "avro+confluent:a.avsc", "avro+confluent:a.avsc#x", "protobuf:x.pb", "protobuf:#a.B"):
        with pytest.raises(RunError, match="is not"):
            declaration(text)


def test_payloads_need_arrow_functions(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(F, "arrow_udf")
    with pytest.raises(RunError) as raised:
        decode_payloads(spark.range(0), "id", PayloadSchema("avro", b'"long"', "", "x.avsc"))
    assert raised.value.diagnostic.code == "TRI627"
