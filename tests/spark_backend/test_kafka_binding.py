"""Records of Kafka as CloudEvents: each mode of the protocol binding, and each way to break it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tricel.compiler.values import malformed as why

pytest.importorskip("pyspark")
pytest.importorskip("fastavro")

from encoded_events import as_avro, as_compact, as_protobuf
from tricel.spark_backend.events.protobuf_format import message_classes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT,"
    " headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
NAMED = [("ce_specversion", b"1.0"), ("ce_id", b"1"), ("ce_source", b"/s"), ("ce_type", b"t")]
EVENT: dict[str, Any] = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
STRUCTURED = [("content-type", b"application/cloudevents+json; charset=UTF-8")]
BATCH = [("content-type", b"Application/CloudEvents-Batch+JSON")]
JSON = [("content-type", b"application/json")]
AVRO = [("content-type", b"application/cloudevents+avro")]
PROTOBUF_BATCH = [("content-type", b"application/cloudevents-batch+protobuf")]


def typed(media: bytes) -> list[tuple[str, bytes]]:
    return [*NAMED, ("content-type", media)]


def structured(**more: object) -> bytes:
    return json.dumps({**EVENT, **more}).encode()


def as_batch(*events: bytes) -> bytes:
    return bytes(message_classes()["Batch"](events=events).SerializeToString())


Headers = list[tuple[str, bytes | None]] | None
GOOD: tuple[tuple[Headers, bytes | None, list[dict[str, Any]]], ...] = (
    ([*NAMED, *JSON], b'{"n": 1}', [{"data": '{"n":1}', "datacontenttype": "application/json", "id": "1"}]),
    (NAMED, b'[1, "a"]', [{"data": '[1,"a"]', "datacontenttype": None}]),
    (typed(b"application/x+json; charset=utf-8"), b" 7 ", [{"data": "7"}]),
    (typed(b"application/json"), b"null", [{"data": "null"}]),
    (typed(b"application/json"), b"{broken", [{"bytes": b"{broken"}]),
    (typed(b"application/json"), b'{"a":1} {"b":2}', [{"bytes": b'{"a":1} {"b":2}'}]),
    (typed(b"text/plain"), "grün".encode(), [{"data": '"grün"'}]),
    (typed(b"text/plain"), b"\xff\x00", [{"bytes": b"\xff\x00"}]),
    (typed(b"application/avro"), b"plain", [{"bytes": b"plain"}]),
    (typed(b"application/json"), b"", [{"bytes": b""}]),
    (NAMED, None, [{"data": None, "bytes": None}]),
    (
        [
            *NAMED,
            ("ce_time", b"2020-01-02T03:04:05Z"),
            ("ce_subject", "é".encode()),
            ("ce_myext", b"42"),
            ("x", b"\xff"),
        ],
        b"1",
        [{"subject": "é", "extensions": {"myext": "42"}, "micros": 1_577_934_245_000_000}],
    ),
    ([*NAMED, ("ce_subject", None), ("x", b"1"), ("x", b"2")], b"1", [{"subject": None}]),
    (STRUCTURED, structured(data={"n": 2}), [{"data": '{"n":2}', "event": structured(data={"n": 2}).decode()}]),
    ([*STRUCTURED, *NAMED, *NAMED], structured(id="9"), [{"id": "9", "data": None}]),
    ([("content-type", b"application/cloudevents")], structured(), [{"id": "1"}]),
    (
        BATCH,
        b"[" + structured(id="a") + b"," + b"7," + structured(id="c", data=1) + b"]",
        [{"id": "a"}, {"malformed": why.NOT_OBJECT, "event": "7"}, {"id": "c", "data": "1"}],
    ),
    (BATCH, b"[]", []),
    (AVRO, as_avro({**EVENT, "data": {"n": 3}}), [{"data": '{"n":3}', "raw": None}]),
    (AVRO, b"\x00", [{"malformed": why.NOT_AVRO, "raw": b"\x00"}]),
    (AVRO, None, [{"malformed": why.NO_BYTES, "raw": None}]),
    ([*JSON, *AVRO], as_avro(EVENT), [{"malformed": why.HEADER_TWICE, "raw": as_avro(EVENT)}]),
    ([("content-type", b"application/cloudevents+protobuf; a=b")], as_protobuf(EVENT), [{"id": "1", "raw": None}]),
    ([("content-type", b"application/cloudevents+avro-compact")], as_compact(EVENT), [{"id": "1", "raw": None}]),
    (
        PROTOBUF_BATCH,
        as_batch(as_protobuf({**EVENT, "id": "a"}), b"x", as_protobuf({**EVENT, "id": "c"})),
        [{"id": "a"}, {"malformed": why.NOT_PROTOBUF, "raw": b"x"}, {"id": "c", "raw": None}],
    ),
    (PROTOBUF_BATCH, as_batch(as_protobuf(EVENT)), [{"id": "1"}]),
    (PROTOBUF_BATCH, b"", []),
)
BAD: tuple[tuple[Headers, bytes | None, str], ...] = (
    (None, b'{"a":1}', why.NO_EVENT),
    ([], b"\xff\xfe", why.NO_EVENT),
    (JSON, structured(), why.NO_EVENT),
    ([("ce_id", None)], b"x", why.NO_EVENT),
    (None, None, why.NO_VALUE),
    (NAMED[1:], b"1", why.missing("specversion")),
    ([*NAMED[:3], ("ce_type", b"")], b"1", why.empty("type")),
    ([*NAMED[:3], ("ce_type", b"\xff")], b"1", why.HEADER_NOT_UTF8),
    ([*NAMED, ("ce_id", b"1")], b"1", why.HEADER_TWICE),
    ([*NAMED, *JSON, *JSON], b"\xff", why.HEADER_TWICE),
    ([*NAMED, *JSON, ("ce_datacontenttype", b"a/b")], b"1", why.HEADER_TWICE),
    ([*NAMED, ("ce_data", b"1")], None, why.HEADER_OF_DATA),
    ([*NAMED, ("ce_Big", b"1")], b"1", why.EXTENSION_NAME),
    ([*NAMED, ("ce_", b"1")], b"1", why.EXTENSION_NAME),
    ([*NAMED, ("ce_time", b"yesterday")], b"1", why.NOT_TIME),
    ([("ce_specversion", b"0.3"), *NAMED[1:]], b"1", why.NOT_VERSION),
    (STRUCTURED, b"{", why.NOT_JSON),
    (STRUCTURED, b"", why.NOT_JSON),
    (STRUCTURED, None, why.NOT_JSON),
    (STRUCTURED, b"\xff{}", why.NOT_UTF8),
    (STRUCTURED, b"[]", why.NOT_OBJECT),
    (STRUCTURED, b"{}", why.missing("specversion")),
    ([*JSON, *STRUCTURED], structured(), why.HEADER_TWICE),
    (BATCH, structured(), why.NOT_BATCH),
    (BATCH, b"\xff", why.NOT_UTF8),
    ([("content-type", b"application/cloudevents+xml")], b"\x00", why.UNREAD_FORMAT),
    ([("content-type", b"application/cloudevents-batch+avro")], b"\xff", why.UNREAD_FORMAT),
)


def test_every_mode(spark: SparkSession) -> None:
    from tricel.spark_backend.events.kafka_binding import decode_records

    cases: list[tuple[Headers, bytes | None, list[dict[str, Any]]]] = [*GOOD]
    for headers, value, reason in BAD:
        utf8 = value is not None and value.decode(errors="ignore").encode() == value
        raw = None if value is None or utf8 or reason not in _OF_RECORD else value
        cases.append((headers, value, [{"malformed": reason, "raw": raw}]))
    at = datetime(2021, 1, 1, tzinfo=UTC)
    rows = [(b"k%d" % i, v, "orders", i % 3, i, at, 0, h) for i, (h, v, _) in enumerate(cases)]
    table = decode_records(spark.createDataFrame(rows, SCHEMA))
    asked = table.selectExpr(
        *("id", "subject", "datacontenttype", "extensions", "event", "malformed", "raw", "file", "record"),
        "unix_micros(time) AS micros",
        "try_variant_get(data, '$', 'binary') AS bytes",
        "CASE WHEN data IS NOT NULL AND schema_of_variant(data) <> 'BINARY' THEN to_json(data) END AS data",
    ).collect()
    found: dict[int, dict[str, Any]] = {}
    for row in asked:
        topic, _, offset, *index = row["file"].split("/")
        assert topic == "orders"
        found.setdefault(int(offset), {})["".join(index)] = row.asDict()
    for i, (headers, value, wanted) in enumerate(cases):
        here = found.get(i, {})
        names = (
            [str(n) for n in range(len(wanted))]
            if headers in (BATCH, PROTOBUF_BATCH) and wanted and "raw" not in wanted[0]
            else [""]
        )
        assert sorted(here) == (names if wanted else []), cases[i]
        for name, expected in zip(names, wanted, strict=False):
            got = {key: here[name][key] for key in expected}
            assert got == expected, (cases[i], here[name])
            assert here[name]["malformed"] is None or "malformed" in expected, (cases[i], here[name])
            record = here[name]["record"]
            told = None if record["headers"] is None else [(h["key"], h["value"]) for h in record["headers"]]
            assert (record["key"], record["value"], told) == (b"k%d" % i, value, headers)
            if here[name]["malformed"] is None:  # as text it is the event that it is
                assert json.loads(here[name]["event"])["id"] == here[name]["id"]


_OF_RECORD = {why.NO_EVENT, why.HEADER_TWICE, why.NOT_UTF8, why.UNREAD_FORMAT, why.HEADER_NOT_UTF8, why.HEADER_OF_DATA}
"""Reasons that leave the record's value undecoded."""
