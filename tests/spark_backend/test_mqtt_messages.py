"""MQTT messages as EMQX's sinks write them: Kafka records, lines of JSON and tables give one value for each root."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from judged import outcomes, own, unlowered
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from spark_settings import set_to
from tricel.compiler import MQTT_MESSAGE, mqtt_message
from tricel.compiler.environments.model import Form
from tricel.compiler.values.cel import Timestamp
from tricel.compiler.values.json_values import plain, read_json
from tricel.spark_backend.events.mqtt_messages import mqtt_messages
from tricel.spark_backend.failure import warn_nobody
from tricel.spark_backend.payload_schemas import PayloadSchema, with_schema
from tricel.spark_backend.places.kinds import source_of
from tricel.spark_backend.places.options import PlaceOptions
from tricel.spark_backend.run.pipeline import run
from tricel.spark_backend.sql.layout import LayoutError

from tricel import compile_filter
from tricel.triggers import read_triggers

pytestmark = pytest.mark.spark

MILLISECONDS = 1714564800123
AT = datetime.datetime(2024, 5, 1, 12, 0, 0, 123000, tzinfo=datetime.UTC)
KAFKA = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
EMQX = (
    "id STRING, clientid STRING, username STRING, payload BINARY, peerhost STRING, peername STRING, topic STRING, "
    "qos INT, flags STRUCT<retain: BOOLEAN, dup: BOOLEAN>, "
    "pub_props STRUCT<`User-Property`: MAP<STRING, STRING>, `Message-Expiry-Interval`: INT>, "
    "publish_received_at BIGINT, client_attrs MAP<STRING, STRING>, event STRING, timestamp BIGINT, node STRING, "
    "metadata STRUCT<rule_id: STRING>"
)
"""The columns of EMQX's rules, as a table of Parquet or Iceberg has them."""


@dataclass(frozen=True)
class Message:
    """An MQTT message as the broker has it; what is None it has not."""

    payload: bytes
    topic: str = "t/1"
    username: str | None = "u"
    flags: Mapping[str, bool] | None = field(default_factory=lambda: {"retain": True, "dup": False})
    properties: Mapping[str, str] | None = field(default_factory=dict)
    attributes: Mapping[str, str] | None = field(default_factory=lambda: {"tns": "acme"})
    id: str | None = "0006174"
    qos: int = 1

    def columns(self) -> dict[str, Any]:
        """What `SELECT * FROM "t/#"` gives, but for the payload."""
        props = None if self.properties is None else {"User-Property": dict(self.properties)}
        found = {
            "id": self.id,
            "clientid": "c-1",
            "username": self.username,
            "peerhost": "10.0.0.7",
            "peername": "10.0.0.7:50000",
            "topic": self.topic,
            "qos": self.qos,
            "flags": None if self.flags is None else dict(self.flags),
            "pub_props": props,
            "publish_received_at": MILLISECONDS,
            "client_attrs": None if self.attributes is None else dict(self.attributes),
            "event": "message.publish",
            "timestamp": MILLISECONDS + 1,
            "node": "emqx@10.0.0.1",
            "metadata": {"rule_id": "r1"},
        }
        return {k: v for k, v in found.items() if v is not None}

    def line(self, form: Form) -> str:
        """The message as JSON text, as `${.}` gives it; a payload that is no text beside it, as base64."""
        found = self.columns()
        encoded = base64.b64encode(self.payload).decode()
        if form is Form.BYTES:
            return json.dumps(found | {"payload": encoded})
        try:
            return json.dumps(found | {"payload": self.payload.decode()})
        except UnicodeDecodeError:  # EMQX writes U+FFFD for what is no UTF-8
            return json.dumps(found | {"payload": self.payload.decode(errors="replace"), "payload_bytes": encoded})

    def row(self) -> dict[str, Any]:
        """The message as a row of a table."""
        return self.columns() | {"payload": self.payload}

    def activation(self, form: Form) -> dict[str, Any]:
        """What the definition of the environment makes of it, for our own evaluator."""
        found = self.columns()
        for name in ("event", "metadata"):
            del found[name]
        flags, props = found.pop("flags", None), found.pop("pub_props", None)
        if flags is not None:
            found |= {n: flags.get(n, False) for n in ("retain", "dup")}
        if props is not None:
            found["user_property"] = props["User-Property"]
        for name in ("publish_received_at", "timestamp"):
            found[name] = Timestamp(found[name] * 10**6)
        found["payload_bytes"] = self.payload
        with suppress(ValueError):
            found["payload"] = _read(self.payload, form)
        return found


def _read(content: bytes, form: Form) -> Any:
    match form:
        case Form.JSON:
            return plain(read_json(content.decode(), trailing=True))
        case Form.TEXT:
            return content.decode()
        case _:
            return content


MESSAGES = [
    *(
        Message(payload)
        for payload in (
            b'{"t": 21.5, "name": "a", "none": null, "list": [1, "x"], "deep": {"k": 1}}',
            b'{"t": "21.5"}',
            b"{}",
            b"[1, 2]",
            b"null",
            b"7",
            b'"text"',
            b"plain text",
            b"",
            b" ",
            b"true",
            b'{"t": 1, "t": 2}',
            b'{"t": 30} and more',
            "é𝄞".encode(),
            b"a\x00b",
            b"\xff\xfe",
            bytes(range(256)),
            b'{"name": "\xff"}',
            b"x" * 60_000,
        )
    ),
    Message(b"{}", username=None, id=None, attributes=None),
    Message(b"{}", username="undefined"),
    Message(b"{}", flags=None, properties=None),
    Message(b"{}", flags={}),
    Message(b"{}", flags={"retain": False, "dup": True}),
    Message(b"{}", properties={"a": "b", "x": "é", "": ""}),
    Message(b"{}", properties={"a": ""}, attributes={}),
    Message(b"{}", topic="$SYS/é/+", qos=2),
]
ROOTS = [
    'id == "0006174"',
    'topic == "t/1" || topic.startsWith("$SYS")',
    'topic.split("/").size() == 3',
    "qos == 1",
    "retain",
    "dup || !retain",
    'clientid == "c-1"',
    'username == "u"',
    'username == "undefined"',
    'peerhost == "10.0.0.7"',
    'peername.endsWith(":50000")',
    'user_property["a"] == "b"',
    'user_property.exists(k, k == "")',
    "size(user_property) == 0",
    'user_property == {"a": ""}',
    'client_attrs.tns == "acme"',
    "client_attrs == {}",
    'publish_received_at == timestamp("2024-05-01T12:00:00.123Z")',
    "timestamp > publish_received_at",
    'node == "emqx@10.0.0.1"',
    "size(payload_bytes) == 0",
    "payload_bytes == b'\\xff\\xfe'",
    "size(payload_bytes) == 256",
    "payload_bytes == b'{}'",
]
PAYLOADS = {
    Form.JSON: [
        "payload.t > 21.0",
        "has(payload.none) && payload.none == null",
        "payload == null",
        "payload == 7.0 || payload == 'text'",
        "payload == {} || payload == [1.0, 2.0]",
        "payload.list.exists(i, i == 1.0)",
        'payload.name == "a" && qos == 1',
        "payload",
    ],
    Form.TEXT: ['payload == "plain text"', "payload == ''", "size(payload) == 2", 'payload.contains("\\u0000")'],
    Form.BYTES: ["payload == payload_bytes", "size(payload) == 256", "payload == b'{}'", "payload == b'\\xff\\xfe'"],
}
"""Filters on the payload by what it is declared to be."""


def kafka_rows(spark: SparkSession, values: Sequence[bytes | None]) -> DataFrame:
    """Records as Spark's Kafka source has them, with EMQX's key and headers."""
    headers = [("source", b"emqx")]
    rows = [(b"c-1", value, "mqtt", 0, i, AT, 0, headers) for i, value in enumerate(values)]
    return spark.createDataFrame(rows, KAFKA).coalesce(1)


def line_rows(spark: SparkSession, lines: Sequence[str]) -> DataFrame:
    rows = [(line, f"file:/capture/{i}") for i, line in enumerate(lines)]
    return spark.createDataFrame(rows, "value STRING, file STRING").coalesce(1)


def table_rows(spark: SparkSession, rows: Sequence[Mapping[str, Any]], schema: str = EMQX) -> DataFrame:
    """A table; `file` keeps the rows in order."""
    numbered = [{**row, "file": f"file:/capture/{i}"} for i, row in enumerate(rows)]
    return spark.createDataFrame(numbered, f"{schema}, file STRING").coalesce(1)


def numbered(messages: DataFrame) -> DataFrame:
    return messages.withColumn("row", F.substring_index("file", "/", -1).cast("int"))


def source(spark: SparkSession, name: str, messages: Sequence[Message], form: Form) -> DataFrame:
    environment = mqtt_message(form)
    match name:
        case "kafka":
            rows = kafka_rows(spark, [m.line(form).encode() for m in messages])
        case "lines":
            rows = line_rows(spark, [m.line(form) for m in messages])
        case _:
            rows = table_rows(spark, [m.row() for m in messages])
    return numbered(mqtt_messages(rows, environment))


@pytest.mark.parametrize("form", PAYLOADS)
@pytest.mark.parametrize("name", ["kafka", "lines", "table"])
def test_a_root_has_one_value_whatever_the_source(spark: SparkSession, name: str, form: Form) -> None:
    environment = mqtt_message(form)
    frame = source(spark, name, MESSAGES, form).cache()
    texts = [*(ROOTS if form is Form.JSON else ROOTS[-4:]), *PAYLOADS[form]]
    filters = [compile_filter(t, environment) for t in texts]
    native = outcomes(frame, filters)
    left = outcomes(frame, [unlowered(f, frame) for f in filters]) if name == "kafka" else native
    wrong = []
    for i, text in enumerate(texts):
        for row, message in enumerate(MESSAGES):
            expected = own(text, environment, message.activation(form))
            if not expected is native[i][row] is left[i][row]:
                wrong.append((text, message, native[i][row], left[i][row], expected))
    assert [] == wrong
    assert [] == [text for text, answers in zip(texts, native, strict=True) if True not in answers]
    frame.unpersist()


def test_what_is_written_and_what_is_read(spark: SparkSession) -> None:
    """The record beside a message of Kafka, and the text of each, are as they came."""
    line = MESSAGES[0].line(Form.JSON)
    (row,) = mqtt_messages(kafka_rows(spark, [line.encode()])).collect()
    assert (line, "mqtt/0/0", None, None) == (row["event"], row["file"], row["malformed"], row["raw"])
    record = row["record"]
    assert (b"c-1", line.encode(), "source") == (
        bytes(record["key"]),
        bytes(record["value"]),
        record["headers"][0]["key"],
    )
    (row,) = mqtt_messages(table_rows(spark, [MESSAGES[0].row()])).collect()
    assert {"event": "message.publish", "topic": "t/1"}.items() <= json.loads(row["event"]).items()


def line(**members: Any) -> str:
    return json.dumps({"topic": "t"} | members)


TAKEN: dict[str, Any] = {
    line(qos="2", retain="true", dup=0): (2, True, False, None, None, None, None),
    line(qos=0, flags={"retain": True}, retain=False): (0, False, False, None, None, None, None),
    line(timestamp="1714564800123"): (None, None, None, AT, None, None, None),
    line(timestamp="2024-05-01T14:00:00.123+02:00"): (None, None, None, AT, None, None, None),
    line(user_property=[{"key": "a", "value": "1"}, {"key": "b", "value": ""}, {"key": "a", "value": "2"}]): (
        *(None, None, None, None, {"a": "2", "b": ""}, None, None),
    ),
    line(pub_props={"User-Property-Pairs": [{"key": "a", "value": "1"}]}): (
        *(None, None, None, None, {"a": "1"}, None, None),
    ),
    line(pub_props={"Payload-Format-Indicator": 0}): (None, None, None, None, {}, None, None),
    line(pub_props={"User-Property": {"a": "1", "n": None}}, user_property=None): (
        *(None, None, None, None, {"a": "1"}, None, None),
    ),
    line(payload={"t": [1, "x"]}): (None, None, None, None, None, b'{"t":[1,"x"]}', None),
    line(payload=True): (None, None, None, None, None, b"true", None),
    line(payload="\ufffd", payload_bytes="/w=="): (None, None, None, None, None, b"\xff", b"\xff"),
    line(payload=None): (None, None, None, None, None, None, None),
}
"""Lines, and what they say of qos, retain, dup, timestamp, user_property, payload and payload_bytes."""
MALFORMED: dict[str, str] = {
    "[]": "not a JSON object",
    "not json": "not readable as JSON",
    '{"topic": "t"} and more': "not readable as JSON",
    "{}": "'topic' is missing",
    '{"topic": null}': "'topic' is missing",
    line(topic=1): "'topic' is not of type string",
    line(clientid=7): "'clientid' is not of type string",
    line(qos=1.5): "'qos' is not of type int",
    line(qos="1.0"): "'qos' is not of type int",
    line(qos="one"): "'qos' is not of type int",
    line(qos=9223372036854775808): "'qos' is not of type int",
    line(qos="9223372036854775808"): "'qos' is not of type int",
    line(qos="1\n"): "'qos' is not of type int",
    line(retain="yes"): "'retain' is not of type bool",
    line(flags={"dup": 2}): "'dup' is not of type bool",
    line(flags=[]): "'flags' is not an object",
    line(pub_props="x"): "'pub_props' is not an object",
    line(timestamp="today"): "'timestamp' is not a time",
    line(timestamp=253402300800000): "'timestamp' is not a time",
    line(publish_received_at=1.5): "'publish_received_at' is not a time",
    line(user_property={"a": 1}): "'user_property' is not of type map(string, string)",
    line(user_property=[{"key": "a"}]): "'user_property' is not of type map(string, string)",
    line(user_property=["a"]): "'user_property' is not of type map(string, string)",
    line(user_property="a"): "'user_property' is not of type map(string, string)",
    line(client_attrs=[1]): "'client_attrs' is not of type map(string, string)",
    line(payload_bytes="?"): "'payload_bytes' is not base64",
    line(payload_bytes=[1]): "'payload_bytes' is not base64",
}


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_other_ways_to_write_a_message(spark: SparkSession, ansi: str) -> None:
    lines = [*TAKEN, *MALFORMED]
    with set_to(spark, {"spark.sql.ansi.enabled": ansi}):
        found = numbered(mqtt_messages(line_rows(spark, lines))).orderBy("row").collect()
    assert list(MALFORMED.values()) == [r["malformed"] for r in found[len(TAKEN) :]]
    assert lines == [r["event"] for r in found]
    for text, row in zip(TAKEN, found, strict=False):
        given = tuple(
            row[n] for n in ("qos", "retain", "dup", "timestamp", "user_property", "payload", "payload_bytes")
        )
        given = tuple(bytes(g) if isinstance(g, bytearray) else g for g in given)
        at = None if given[3] is None else given[3].astimezone(datetime.UTC)
        assert TAKEN[text] == (*given[:3], at, *given[4:]), (text, row["malformed"])


def test_malformed_records_keep_their_bytes(spark: SparkSession) -> None:
    """A value that is no UTF-8, a tombstone, and an empty one: each is a row, with the record as it came."""
    frame = numbered(mqtt_messages(kafka_rows(spark, [b"\xff{", None, b"", b"[]"])))
    found = [(r["malformed"], r["raw"] and bytes(r["raw"]), r["event"]) for r in frame.orderBy("row").collect()]
    assert found == [
        ("not UTF-8", b"\xff{", "\ufffd{"),
        ("'value' is missing", None, None),
        ("not readable as JSON", None, ""),
        ("not a JSON object", None, "[]"),
    ]


def test_a_table_of_other_types(spark: SparkSession) -> None:
    """Text where EMQX has numbers, pairs where it has an object, a payload that a rule has made base64."""
    schema = (
        "topic STRING, qos STRING, retain INT, timestamp TIMESTAMP, payload STRING, "
        "user_property ARRAY<STRUCT<key: STRING, value: STRING>>, publish_received_at DOUBLE"
    )
    rows = [
        {
            "topic": "t",
            "qos": "1",
            "retain": 1,
            "timestamp": AT,
            "payload": "eA==",
            "user_property": [("a", "1"), ("a", "2")],
        },
        {"topic": "t", "publish_received_at": 1.0},
        {"topic": "t", "payload": "?"},
    ]
    first, second, third = (
        numbered(mqtt_messages(table_rows(spark, rows, schema), mqtt_message(Form.BYTES))).orderBy("row").collect()
    )
    assert (1, True, {"a": "2"}, b"x") == (
        first["qos"],
        first["retain"],
        first["user_property"],
        bytes(first["payload"]),
    )
    assert AT == first["timestamp"].astimezone(datetime.UTC)
    assert ("'publish_received_at' is not a time", "'payload' is not base64") == (
        second["malformed"],
        third["malformed"],
    )


def test_a_column_that_no_message_can_have(spark: SparkSession) -> None:
    with pytest.raises(LayoutError, match=r"column 'client_attrs' is map<int,string>"):
        mqtt_messages(spark.createDataFrame([], "topic STRING, client_attrs MAP<INT, STRING>"))


ORDER = {"type": "record", "name": "Reading", "fields": [{"name": "t", "type": "double"}, {"name": "n", "type": "int"}]}


def test_a_run_over_a_capture_of_emqx(spark: SparkSession, tmp_path: Path) -> None:
    """Lines of JSON and a Parquet table by filters in files, with nothing left out of the counts."""
    filters, events = tmp_path / "filters", tmp_path / "events"
    filters.mkdir()
    events.mkdir()
    (filters / "hot.cel").write_text('topic.startsWith("t/") && payload.t > 21.0')
    (filters / "retained.cel").write_text("retain && username == 'u'")
    lines = [m.line(Form.JSON) for m in MESSAGES] + ["{}", "[]"]
    (events / "capture.jsonl").write_text("\n".join(lines))
    table = table_rows(spark, [m.row() for m in MESSAGES]).drop("file")
    counts = {}
    for name, given_ in (("lines", str(events)), ("table", str(tmp_path / "emqx"))):
        if name == "table":
            table.write.parquet(given_)
        triggers, wrong = read_triggers([filters], environment=MQTT_MESSAGE)
        assert () == wrong
        source_ = source_of([given_], PlaceOptions(environment=MQTT_MESSAGE))
        report = run(spark, triggers, source_.batch(spark, warn_nobody), str(tmp_path / name))
        assert report.read == report.malformed + report.evaluated
        counts[name] = (report.malformed, [(t.trigger, t.delivered, t.filtered, t.errored) for t in report.triggers])
    assert (2, 0) == (counts["lines"][0], counts["table"][0])
    assert counts["lines"][1] == counts["table"][1]
    retained = {t: d for t, d, _, _ in counts["lines"][1]}["retained"]
    assert retained == sum(m.username == "u" and bool(m.flags) and m.flags["retain"] for m in MESSAGES)
    quarantine = spark.read.parquet(str(tmp_path / "lines" / "quarantine")).collect()
    assert {("'topic' is missing", "{}"), ("not a JSON object", "[]")} == {(r["reason"], r["text"]) for r in quarantine}


@pytest.mark.skipif(not hasattr(F, "arrow_udf"), reason="Spark before 4.1 has no Arrow functions")
def test_a_run_over_payloads_of_a_schema(spark: SparkSession, tmp_path: Path) -> None:
    """Payloads in Avro, as base64 in lines: what is none of the schema is in the quarantine, with its bytes."""
    (tmp_path / "hot.cel").write_text("payload.t > 21.0 && payload.n + 1 == 8")
    good = b"\x00\x00\x00\x00\x00\x80\x35\x40\x0e"
    lines = [json.dumps({"topic": "t", "payload": base64.b64encode(p).decode()}) for p in (good, good + b"x", b"")]
    (tmp_path / "capture.jsonl").write_text("\n".join(lines))
    schema = PayloadSchema("avro", json.dumps(ORDER).encode())
    environment = with_schema(MQTT_MESSAGE, "payload", schema)
    triggers, _ = read_triggers([tmp_path / "hot.cel"], environment=environment)
    options = PlaceOptions(environment=environment, schemas=(("payload", schema),))
    events = source_of([str(tmp_path / "capture.jsonl")], options).batch(spark, warn_nobody)
    report = run(spark, triggers, events, str(tmp_path / "out"))
    (counted,) = report.triggers
    assert (3, 2, 1) == (report.read, report.malformed, counted.delivered)
    quarantine = spark.read.parquet(str(tmp_path / "out" / "quarantine")).collect()
    assert {
        ("'payload' is not of its schema: bytes follow the value", good + b"x"),
        ("'payload' is not of its schema: it ends too early", b""),
    } == {(r["reason"], bytes(r["raw"])) for r in quarantine}
