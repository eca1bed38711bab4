"""Every encoding of CloudEvents gives the same events, loses none, and never raises."""

from __future__ import annotations

import base64
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("fastavro")

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner
from conftest import conformance
from encoded_events import as_avro, as_compact, as_http, as_protobuf, avro, with_any
from filter_sets import trigger_yaml
from google.protobuf import any_pb2, descriptor_pb2, wrappers_pb2
from hypothesis import given
from hypothesis import strategies as st
from tricel.compiler.values import malformed as ev
from tricel.compiler.values.cloudevents import Event, Malformed, read_event
from tricel.compiler.values.event_text import MOST_BYTES
from tricel.compiler.values.http_messages import EventFormat, decoded, format_of
from tricel.spark_backend.events.encodings import BY_NAME
from tricel.spark_backend.events.formats import Outcome, in_capture, in_format
from tricel.spark_backend.events.packed import decoded as decoded_rows
from tricel.spark_backend.events.protobuf_format import message_classes
from tricel.spark_backend.failure import RunError

from tricel.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

EXAMPLES = conformance("cloudevents_spec_json_examples.json")
CORE = {"specversion": "1.0", "id": "1", "source": "s", "type": "t"}
AVRO, COMPACT, PROTOBUF, BATCH = (
    EventFormat("avro", False),
    EventFormat("avro-compact", False),
    EventFormat("protobuf", False),
    EventFormat("protobuf", True),
)
ENCODED = [
    (AVRO, as_avro),
    (COMPACT, as_compact),
    (PROTOBUF, as_protobuf),
]


def of_json(event: dict[str, Any]) -> Event | Malformed:
    return read_event(json.dumps(event).encode())


def the_event(outcomes: list[Outcome]) -> Event | Malformed | str | None:
    (outcome,) = outcomes
    return outcome.fault if outcome.event is None else read_event(outcome.event.encode())


def as_capture(event: dict[str, Any]) -> list[Outcome]:
    headers, body = as_http(event)
    return in_capture(json.dumps(headers), body, False)


def of_bytes_alone(event: dict[str, Any]) -> dict[str, Any]:
    """The event with text that is no JSON as bytes: so is data in Avro Compact."""
    media = event.get("datacontenttype", "application/json")
    if isinstance(event.get("data"), str) and not media.endswith("json"):
        rest = {k: v for k, v in event.items() if k != "data"}
        return {**rest, "data_base64": base64.b64encode(event["data"].encode()).decode()}
    return event


def as_text(event: dict[str, Any]) -> dict[str, Any]:
    """The event with bytes of a text type as text, which a body is."""
    data = base64.b64decode(event.get("data_base64", ""))
    if data and str(event.get("datacontenttype")).startswith("text/"):
        try:
            return {k: v for k, v in event.items() if k != "data_base64"} | {"data": data.decode()}
        except UnicodeDecodeError:
            return event
    return event


def published() -> list[dict[str, Any]]:
    """The whole events among the examples of the specification."""
    events = [e["value"] for e in EXAMPLES if e.get("valid_json") and isinstance(e["value"], dict)]
    return [e for e in events if isinstance(of_json(e), Event)]


@pytest.mark.parametrize(("format_", "encode"), ENCODED, ids=lambda v: getattr(v, "name", ""))
def test_the_examples_of_the_specification_are_the_same_events(format_: EventFormat, encode: Any) -> None:
    events = published()
    assert len(events) >= 5
    for event in events:
        expected = of_bytes_alone(event) if format_ == COMPACT else event
        assert of_json(expected) == the_event(in_format(format_, encode(event)))
        assert of_json(as_text(of_bytes_alone(event))) == the_event(as_capture(event))


_KNOWN = {*ev.REQUIRED, *ev.OPTIONAL, "data"}
_TEXT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)
_NAME = st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True).filter(lambda n: n not in _KNOWN)
_NUMBER = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
_JSON = st.recursive(
    st.none() | st.booleans() | _NUMBER | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=5,
)
_TIME = st.datetimes().map(lambda t: t.isoformat() + "Z")


@st.composite
def events(draw: Any) -> dict[str, Any]:
    event = {name: draw(_TEXT) for name in ("id", "source", "type")} | {"specversion": "1.0"}
    extension = _TEXT | st.booleans() | st.integers(-(2**31), 2**31 - 1)
    event |= draw(st.dictionaries(_NAME, extension, max_size=3))
    if draw(st.booleans()):
        event |= {"subject": draw(_TEXT), "time": draw(_TIME)}
    if draw(st.booleans()):
        event["datacontenttype"] = draw(st.sampled_from(["application/json", "text/plain", "a/b+json"]))
    if draw(st.booleans()):
        event["data"] = draw(_JSON if event.get("datacontenttype") != "text/plain" else _TEXT)
    elif draw(st.booleans()):
        event["data_base64"] = base64.b64encode(draw(st.binary(min_size=1, max_size=9))).decode()
    return event


@given(events())
def test_an_event_is_the_same_in_every_encoding(event: dict[str, Any]) -> None:
    expected = of_json(event)
    assert isinstance(expected, Event)
    of_bytes = of_json(of_bytes_alone(event))
    for format_, encode in ENCODED:
        assert (of_bytes if format_ == COMPACT else expected) == the_event(in_format(format_, encode(event)))
    assert of_json(as_text(of_bytes_alone(event))) == the_event(as_capture(event))


def _mutants(message: bytes, seed: int) -> list[bytes]:
    """Every prefix of a message, the message with a byte more, and some with bytes changed."""
    chance = random.Random(seed)
    changed = []
    for _ in range(150):
        other = bytearray(message)
        for _ in range(chance.randint(1, 3)):
            other[chance.randrange(len(other))] = chance.choice([0, 1, 2, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        changed.append(bytes(other))
    return [*(message[:n] for n in range(len(message))), message + b"\0", message + b"\x7a\x01x", *changed]


@pytest.mark.parametrize(("format_", "encode"), ENCODED, ids=lambda v: getattr(v, "name", ""))
def test_damaged_bytes_are_one_row_with_a_reason_or_another_event(format_: EventFormat, encode: Any) -> None:
    event = {**CORE, "time": "2018-04-05T17:31:00Z", "n": 5, "b": True, "data": {"a": [1, "é"]}}
    message = encode(event)
    faults = 0
    for mutant in _mutants(message, 7):
        (found,) = in_format(format_, mutant)
        assert (found.event is None) == (found.fault in ev.REASONS)
        whole = found.event is not None and isinstance(read_event(found.event.encode()), Event)
        faults += not whole
        if mutant == message[: len(mutant)] and len(mutant) < len(message):
            # Protobuf ends anywhere between two fields.
            assert format_ == PROTOBUF or not whole
    assert faults > len(message) // 2


DEEP = b"\x02\x04id\x06\x02x\x00\x08" + b"\x02\x02\x00\x06" * 100_000
LONG = b"\xff\xff\xff\xff\x0f"


def protobuf(**more: Any) -> Any:
    return message_classes()["CloudEvent"](id="1", source="s", spec_version="1.0", type="t", **more)


def attribute(name: str, **value: Any) -> bytes:
    message = protobuf()
    kind, given_ = next(iter(value.items()))
    if kind == "ce_timestamp":
        message.attributes[name].ce_timestamp.seconds, message.attributes[name].ce_timestamp.nanos = given_
    else:
        setattr(message.attributes[name], kind, given_)
    return bytes(message.SerializeToString())


FAULTS: list[tuple[EventFormat, bytes | None, str]] = [
    (AVRO, None, ev.NO_BYTES),
    (AVRO, b"", ev.NOT_AVRO),
    (AVRO, DEEP, ev.TOO_DEEP),
    (AVRO, b"\x02" + LONG + b"x", ev.NOT_AVRO),  # a name of 2 GB
    (AVRO, b"\xff" * 20, ev.NOT_AVRO),
    (AVRO, LONG + b"\x00\x00" * 5, ev.NAMED_TWICE),  # a map of two thousand million
    (AVRO, as_avro(CORE) + b"\0", ev.TRAILING),
    (AVRO, as_avro({**CORE, "id": "\0é"}).replace(b"\xc3\xa9", b"\xff\xfe"), ev.NOT_UTF8),
    (AVRO, avro({**CORE, "data": "x"}, None), ev.NAMED_DATA),
    (AVRO, avro({**CORE, "data_base64": "x"}, None), ev.EXTENSION_NAME),
    (AVRO, avro({**CORE, "subject": b"x"}, None), "'subject' is not a string"),
    (AVRO, avro({**CORE, "subject": 5}, None), "'subject' is not a string"),
    (AVRO, avro({**CORE, "id": None}, None), "'id' is missing"),
    (AVRO, avro({**CORE, "A": 5}, None), ev.EXTENSION_NAME),
    (AVRO, avro({**CORE, "time": "then"}, None), ev.NOT_TIME),
    (AVRO, avro(CORE, float("nan")), ev.NOT_JSON_NUMBER),
    (AVRO, avro(CORE, b"x" * (MOST_BYTES + 1)), ev.TOO_LARGE),
    (COMPACT, as_compact({**CORE, "time": "2018-04-05T17:31:00Z"})[:-1], ev.NOT_AVRO),
    (PROTOBUF, b"\x0a\xff\xff\xff\xff\x07x", ev.NOT_PROTOBUF),  # a length of 2 GB
    (PROTOBUF, b"\x0b" * 100_000, ev.NOT_PROTOBUF),  # groups in groups
    (PROTOBUF, b"", "'specversion' is missing"),
    (PROTOBUF, as_protobuf(CORE) + b"\x7a\x01x", ev.UNKNOWN_FIELD),
    (PROTOBUF, attribute("id", ce_string="2"), ev.NAMED_TWICE),
    (PROTOBUF, attribute("subject", ce_bytes=b"x"), "'subject' is not a string"),
    (PROTOBUF, attribute("subject", ce_boolean=True), "'subject' is not a string"),
    (PROTOBUF, attribute("subject", ce_timestamp=(0, 0)), "'subject' is not a string"),
    (PROTOBUF, attribute("time", ce_timestamp=(0, 10**9)), ev.NOT_TIME),
    (PROTOBUF, attribute("time", ce_timestamp=(253_402_300_800, 0)), ev.NOT_TIME),
    (PROTOBUF, attribute("expires", ce_timestamp=(-62_135_596_801, 0)), ev.EXTENSION_TIME),
    (EventFormat("cbor", False), b"x", ev.UNKNOWN_FORMAT),
    (EventFormat("avro", True), b"x", ev.UNKNOWN_FORMAT),
]


@pytest.mark.parametrize(("format_", "message", "reason"), FAULTS)
def test_what_is_no_event_says_why(format_: EventFormat, message: bytes | None, reason: str) -> None:
    found = the_event(in_format(format_, message))
    assert reason == (found.reason if isinstance(found, Malformed) else found)
    assert reason in ev.REASONS


def test_attributes_of_every_type_have_their_canonical_text() -> None:
    message = protobuf()
    message.attributes["b"].ce_boolean = True
    message.attributes["i"].ce_integer = -(2**31)
    message.attributes["y"].ce_bytes = b"\xff\x00"
    message.attributes["u"].ce_uri = "http://x/"
    message.attributes["r"].ce_uri_ref = "/x"
    message.attributes["t"].ce_timestamp.nanos = 1_500_000
    message.attributes["none"].SetInParent()
    found = the_event(in_format(PROTOBUF, message.SerializeToString()))
    expected = {
        "b": "true",
        "i": "-2147483648",
        "y": "/wA=",
        "u": "http://x/",
        "r": "/x",
        "t": "1970-01-01T00:00:00.001500Z",
    }
    assert isinstance(found, Event)
    assert found.activation["ce"] == {**CORE, **expected}
    typed = avro({**CORE, "b": True, "i": -(2**31), "y": b"\xff\x00", "none": None}, None)
    of_avro = the_event(in_format(AVRO, typed))
    assert isinstance(of_avro, Event)
    assert of_avro.activation["ce"] == {**CORE, "b": "true", "i": "-2147483648", "y": "/wA="}


def test_data_of_avro_is_the_json_value_that_it_stands_for() -> None:
    nested = {
        "a": {"value": {"b": None, "c": 2.0, "d": [{"value": {"e": "x"}}], "f": {"g": {"value": {"h": True}}}}},
        "n": -0.0,
    }
    expected = {"a": {"b": None, "c": 2, "d": [{"e": "x"}], "f": {"g": {"h": True}}}, "n": 0}
    for data, value in ((nested, expected), ([{"value": {}}], [{}]), (True, True), (2.5, 2.5), ("{}", "{}")):
        assert of_json({**CORE, "data": value}) == the_event(in_format(AVRO, avro(CORE, data)))


def test_data_of_protobuf_that_is_a_message_keeps_its_type_and_bytes() -> None:
    packed = any_pb2.Any()
    packed.Pack(wrappers_pb2.StringValue(value="x"))
    url = "type.googleapis.com/google.protobuf.StringValue"
    value = base64.b64encode(wrappers_pb2.StringValue(value="x").SerializeToString()).decode()
    assert of_json({**CORE, "data": {"@type": url, "value": value}}) == the_event(in_format(PROTOBUF, with_any(packed)))


def test_text_of_protobuf_is_json_where_its_media_type_says_so() -> None:
    for media, value in ((None, '{"a":1}'), ("text/plain", '{"a":1}'), ("application/json", {"a": 1})):
        message = protobuf(text_data='{"a":1}')
        more = {} if media is None else {"datacontenttype": media}
        for name, given_ in more.items():
            message.attributes[name].ce_string = given_
        assert of_json({**CORE, **more, "data": value}) == the_event(in_format(PROTOBUF, message.SerializeToString()))


def test_the_messages_have_the_fields_of_the_published_schema() -> None:
    file = descriptor_pb2.FileDescriptorProto()
    message_classes()["CloudEvent"].DESCRIPTOR.file.CopyToProto(file)
    event = next(m for m in file.message_type if m.name == "CloudEvent")
    names = ["id", "source", "spec_version", "type", "attributes", "binary_data", "text_data", "proto_data"]
    assert names == [f.name for f in sorted(event.field, key=lambda f: f.number)]
    value = next(m for m in event.nested_type if m.name == "CloudEventAttributeValue")
    kinds = ["ce_boolean", "ce_integer", "ce_string", "ce_bytes", "ce_uri", "ce_uri_ref", "ce_timestamp"]
    assert kinds == [f.name for f in sorted(value.field, key=lambda f: f.number)]
    known = any_pb2.Any.DESCRIPTOR.fields
    assert [(f.name, f.number) for f in known] == [
        (f.name, f.number) for f in next(m for m in file.message_type if m.name == "Any").field
    ]


def test_events_of_a_batch_stand_apart() -> None:
    one = as_protobuf(CORE)
    batch = message_classes()["Batch"](events=[one, b"x", one]).SerializeToString()
    found = in_format(BATCH, batch)
    assert [one, b"x", one] == [o.part for o in found]
    assert [None, ev.NOT_PROTOBUF, None] == [o.fault for o in found]
    assert [] == in_format(BATCH, b"")


HEADERS = [
    ("Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro € 😀"),  # the specification's own
    ("Euro%20%e2%82%ac", "Euro €"),
    ('"a \\"b\\" c"', 'a "b" c'),
    ('"a%20b"', "a b"),
    ("%2520", "%20"),  # decoded once
    ("a+b", "a+b"),
    (" x\t", "x"),
    ("(a)", "(a)"),
]


@pytest.mark.parametrize(("value", "text"), HEADERS)
def test_a_header_is_unquoted_and_then_percent_decoded_once(value: str, text: str) -> None:
    assert text == decoded(value)


HTTP = {"CE-Id": "1", "ce-Source": "s", "ce-specversion": "1.0", "ce-type": "t"}
CAPTURES: list[tuple[object, bytes | None, bool, str]] = [
    ({**HTTP, "ce-x": "%C0%A0"}, None, False, ev.NOT_PERCENT),
    ({**HTTP, "ce-x": "100%"}, None, False, ev.NOT_PERCENT),
    ({**HTTP, "ce-data": "x"}, None, False, ev.NAMED_DATA),
    ({**HTTP, "ce-": "x"}, None, False, ev.EXTENSION_NAME),
    ({**HTTP, "ce-datacontenttype": "a/b"}, None, False, ev.MEDIA_TYPE_TWICE),
    ({**HTTP, "ce-id": "2"}, None, False, ev.HTTP_HEADER_TWICE),
    ({**HTTP, "ce-x": ["1", "2"]}, None, False, ev.HTTP_HEADER_TWICE),
    ({"ce-id": "1"}, None, False, "'specversion' is missing"),
    ({**HTTP, "ce-x": {}}, None, False, ev.NOT_CAPTURE),
    (5, None, False, ev.NOT_CAPTURE),
    (HTTP, b"%%", True, ev.NOT_BODY),
    ({"content-type": "application/cloudevents+xml"}, b"x", False, ev.UNKNOWN_FORMAT),
    ({"content-type": "application/cloudevents+json"}, b"\xff", False, ev.NOT_UTF8),
    ({"content-type": "application/cloudevents"}, None, False, ev.NO_BYTES),
]


@pytest.mark.parametrize(("headers", "body", "base64_", "reason"), CAPTURES)
def test_a_capture_that_is_no_event_says_why(headers: object, body: bytes | None, base64_: bool, reason: str) -> None:
    found = the_event(in_capture(json.dumps(headers), body, base64_))
    assert reason == (found.reason if isinstance(found, Malformed) else found)
    assert reason in ev.REASONS


def test_captures_write_their_headers_in_several_forms() -> None:
    lists = {name: [value] for name, value in HTTP.items()}
    pairs = [{"name": name, "value": value} for name, value in HTTP.items()]
    for headers in (HTTP, lists, pairs, [[*pair] for pair in HTTP.items()], {**HTTP, "ce-x": None}):
        assert of_json(CORE) == the_event(in_capture(json.dumps(headers), b"", False))


@pytest.mark.parametrize(
    ("media", "format_"),
    [
        ("Application/CloudEvents+JSON; charset=UTF-8", EventFormat("json", False)),
        ("application/cloudevents", EventFormat("json", False)),
        ("application/cloudevents-batch+json", EventFormat("json", True)),
        ("application/cloudevents-batch+protobuf", BATCH),
        ("application/cloudevents+avro-compact", COMPACT),
        ("application/cloudeventsx", EventFormat("", False)),
        ("application/json", None),
        (None, None),
    ],
)
def test_the_content_type_tells_the_event_format(media: str | None, format_: EventFormat | None) -> None:
    assert format_ == format_of(media)


@pytest.mark.spark
def test_rows_of_every_encoding_become_the_same_table(spark: SparkSession) -> None:
    """Each is decoded beside damaged rows: no row is lost, and events are those that JSON gives."""
    many = [*published(), {**CORE, "n": 5, "data": {"a": 1.50}}]
    encoded = {
        "json": [json.dumps(e).encode() for e in many],
        "avro": [as_avro(e) for e in many],
        "avro-compact": [as_compact(e) for e in many],
        "protobuf": [as_protobuf(e) for e in many],
        "json-batch": [json.dumps([e, e]).encode() for e in many],
        "protobuf-batch": [
            message_classes()["Batch"](events=[as_protobuf(e), as_protobuf(e)]).SerializeToString() for e in many
        ],
        "http": [_line(e) for e in many],
    }
    tables = None
    for name, values in encoded.items():
        rows = spark.createDataFrame(
            [(v, name, 0, i) for i, v in enumerate([*values, b"\xff", None])],
            "value BINARY, topic STRING, partition INT, offset LONG",
        )
        staged = BY_NAME[name].stage(rows)
        tables = staged if tables is None else tables.unionByName(staged)
    assert tables is not None
    # One query for all of them: that of `decode`, but for the union.
    tables = decoded_rows(tables).selectExpr("* EXCEPT (data)", "to_json(data) AS data")
    found = {row["file"]: row for row in tables.collect()}
    kept = (
        "id",
        "source",
        "specversion",
        "type",
        "subject",
        "datacontenttype",
        "dataschema",
        "time",
        "extensions",
        "data",
    )
    for i in range(len(many)):
        expected = [found[f"json/0/{i}"][c] for c in kept]
        assert found[f"json/0/{i}"]["malformed"] is None
        for name, values in encoded.items():
            for file in [f"{name}/0/{i}/{n}" for n in (0, 1)] if "batch" in name else [f"{name}/0/{i}"]:
                row = found.pop(file) if name != "json" else found[file]
                assert (None, None, values[i]) == (row["malformed"], row["raw"], bytes(row["record"]["value"]))
                assert name in ("http", "avro-compact") or [row[c] for c in kept] == expected
    for name in encoded:
        damaged, absent = found.pop(f"{name}/0/{len(many)}"), found.pop(f"{name}/0/{len(many) + 1}")
        assert damaged["malformed"] in ev.REASONS
        assert b"\xff" == bytes(damaged["raw"])
        assert absent["malformed"] in (ev.NO_BYTES, ev.NOT_CAPTURE)
    assert {f"json/0/{i}" for i in range(len(many))} == set(found)


def _line(event: dict[str, Any]) -> bytes:
    headers, body = as_http(event)
    more = {} if body is None else {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
    return json.dumps({"headers": headers, **more}).encode()


@pytest.mark.spark
def test_captures_in_tables_and_their_batches(spark: SparkSession) -> None:
    whole = json.dumps(CORE)
    rows = [
        (HTTP, whole, None),
        ({"Content-Type": "application/cloudevents-batch+json"}, f"[{whole},5]", None),
        ({"Content-Type": "application/cloudevents+avro"}, None, base64.b64encode(as_avro(CORE)).decode()),
        ({"Content-Type": "application/cloudevents+json"}, "[", None),
        ({"Content-Type": "application/cloudevents-batch+json"}, whole, None),
        (None, "x", None),
    ]
    table = spark.createDataFrame(rows, "headers MAP<STRING, STRING>, body STRING, body_base64 STRING")
    found = BY_NAME["http"].decode(table).collect()
    reasons = [None, None, None, ev.NOT_OBJECT, ev.NOT_JSON, ev.NOT_JSON_BATCH, ev.NOT_CAPTURE]
    assert sorted(map(str, reasons)) == sorted(str(row["malformed"]) for row in found)
    for row in found:
        assert row["event"]
        assert row["malformed"] or row["id"] == "1"


@pytest.mark.spark
def test_files_of_captures_are_run_and_counted(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Captures in JSON lines and in Parquet: what is read is delivered, passed over or malformed."""
    monkeypatch.setattr(type(spark), "stop", lambda self: None)
    (tmp_path / "trigger.yaml").write_text(trigger_yaml("big", "data.n > 1.0"))
    sent = [{**CORE, "id": str(n), "data": {"n": n}} for n in (1, 2, 3)]
    bad = b'{"headers": \xff}'
    (tmp_path / "captures.jsonl").write_bytes(b"\r\n".join([*map(_line, sent), b"", bad, b'{"headers": {}}']))
    pq.write_table(
        pa.table({"headers": [json.dumps(HTTP), None], "body": [b'{"n": 5}', b"\xff"]}), tmp_path / "captures.parquet"
    )
    for name, encoding, counts, raw in (
        ("captures.jsonl", "http", (5, 2, 2), bad),
        ("captures.parquet", "http", (2, 1, 1), None),
    ):
        out = tmp_path / f"{name}-out"
        words = [f"--triggers={tmp_path / 'trigger.yaml'}", f"--events={tmp_path / name}", f"--out={out}"]
        found = CliRunner().invoke(main, ["run", *words, f"--encoding={encoding}"], env={"COLUMNS": "200"})
        assert found.exit_code == 0, found.output
        told = json.loads((out / "report.json").read_text())
        rows = pq.read_table(out / "quarantine").to_pylist()
        delivered = pq.read_table(out / "delivered").num_rows
        assert counts == (told["read"], delivered, len(rows)) == (told["read"], told["written"], told["malformed"])
        assert raw in [row["raw"] for row in rows]
        assert all(row["reason"] in ev.REASONS for row in rows)
    refused = CliRunner().invoke(
        main, ["run", *words[::2], f"--events={tmp_path / 'captures.jsonl'}", "--encoding=avro"]
    )
    assert refused.exit_code == 2
    assert "error[TRI620]: bytes of the encoding avro are not read from text" in refused.output


@pytest.mark.spark
def test_rows_without_what_an_encoding_reads_are_refused(spark: SparkSession) -> None:
    for name, columns, code in (
        ("avro", "1 AS x", "TRI620"),
        ("http", "1 AS x", "TRI620"),
        ("protobuf", "1 AS value", "TRI621"),
        ("http", "map('a', X'00') AS headers", "TRI621"),
    ):
        with pytest.raises(RunError) as e:
            BY_NAME[name].decode(spark.range(1).selectExpr(columns))
        assert code == e.value.diagnostic.code
