"""Kafka records and MQTT messages in the columns that people have: SQL, the fallback and our own evaluator agree."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from filter_sets import Named
from judged import outcomes, own, unlowered
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from spark_settings import set_to
from tricel.compiler import (
    KAFKA_RECORD,
    MQTT_MESSAGE,
    MQTT_SESSION,
    Environment,
    kafka_record,
    mqtt_message,
)
from tricel.compiler.environments.known import BY_OPTION, described, from_description
from tricel.compiler.environments.model import Form, Storage
from tricel.compiler.event_lines import read_line
from tricel.compiler.values.cel import Timestamp
from tricel.compiler.values.cloudevents import Event
from tricel.compiler.values.json_values import plain, read_json
from tricel.spark_backend import fan_out, where
from tricel.spark_backend.compiled_filter import CompiledFilter, lower_filter
from tricel.spark_backend.frames import layout_of
from tricel.spark_backend.run.explain_errors import with_failures
from tricel.spark_backend.run.pipeline import run
from tricel.spark_backend.run.streaming.sets import SetTrigger, TriggerSet, restored
from tricel.spark_backend.sql.layout import LayoutError

from tricel import compile_filter

pytestmark = pytest.mark.spark

KAFKA = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
"""What Spark's Kafka source gives with `includeHeaders`."""
AT = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC)
Header = tuple[str, bytes | None]


@dataclass(frozen=True)
class Row:
    """A record: its key and value, and its headers, which are NULL where there are none."""

    value: bytes | None
    key: bytes | None = b"k"
    headers: tuple[Header, ...] | None = None

    @property
    def columns(self) -> tuple[Any, ...]:
        """As Spark's Kafka source has it."""
        headers = None if self.headers is None else list(self.headers)
        return (self.key, self.value, "orders", 3, 7, AT, 0, headers)

    def activation(self, environment: Environment) -> dict[str, Any]:
        """What the definition of the environment makes of it, for our own evaluator."""
        found: dict[str, Any] = {"topic": "orders", "partition": 3, "offset": 7}
        found["timestamp"] = Timestamp(int(AT.timestamp()) * 10**9)
        for name, content in (("key", self.key), ("value", self.value)):
            if content is None:
                found[name] = None
                continue
            found[f"{name}_bytes"] = content
            try:
                found[name] = read(content, environment.stored(name).form)
            except ValueError:
                continue
        headers = self.headers or ()
        last = dict(headers)
        found["headers"] = {k: v.decode() for k, v in last.items() if v is not None and is_text(v)}
        found["header_list"] = [{"key": k} | ({} if v is None else {"value": v}) for k, v in headers]
        return found


def read(content: bytes, form: Form) -> Any:
    match form:
        case Form.JSON:
            return plain(read_json(content.decode(), trailing=True))
        case Form.TEXT:
            return content.decode()
        case _:
            return content


def is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


VALUES: list[bytes | None] = [
    b'{"total": 6, "name": "a", "none": null, "list": [1, "x", null], "deep": {"k": {"n": 1}}}',
    b'{"total": 5.0}',
    b'{"total": "6"}',
    b'{"total": null}',
    b'{"total": true, "list": {}}',
    b"{}",
    b"[]",
    b"[6, 7]",
    b"null",
    b"7",
    b'"text"',
    b"true",
    b"NaN",
    b'{"total": NaN}',
    b'{"total": 1e400}',
    b'{"total": -0}',
    b'{"total": 6, "total": 7}',
    b"not json",
    b"",
    b" ",
    b'{"total": 6} and more',
    b'{"total": 6',
    b"\xff\xfe",
    b'{"name": "\xff"}',
    b"\xef\xbb\xbf{}",
    b'{"name": "\\ud800"}',
    b'{"name": "a\\u0000b"}',
    b"a\x00b",
    b"\x00",
    "é𝄞".encode(),
    b"x" * 60_000,
    b'{"name": "' + b"y" * 60_000 + b'", "total": 6}',
    b"[" * 1001 + b"]" * 1001,
    b'{"total": ' + b"9" * 400 + b"}",
    None,
]
HEADERS: list[tuple[Header, ...] | None] = [
    None,
    (),
    (("x", b"1"),),
    (("x", b"0"), ("y", b"2"), ("x", b"1")),
    (("x", b"1"), ("x", b"0")),
    (("x", b"1"), ("x", None)),
    (("x", None), ("x", b"1")),
    (("x", b"\xff"),),
    (("x", b"\xff"), ("x", b"1")),
    (("x", b"1"), ("x", b"\xc3\x28")),
    (("X", b"1"),),
    (("", b""), ("x", b"")),
    (("x\0y", b"a\0b"), ("é", "ü".encode())),
    (*((f"k{i % 300}", str(i).encode()) for i in range(3_000)), ("x", b"1")),
]
KEYS: list[bytes | None] = [b'"k"', b"k", b"7", b'{"id": 1}', b"", b"\xff", b"null", None]
ROWS = (
    [Row(v) for v in VALUES]
    + [Row(b'{"total": 6}', headers=h) for h in HEADERS]
    + [Row(b"{}", key=k) for k in KEYS]
    + [Row(None, key=None, headers=(("x", b"1"),)), Row(b"\xff", key=b"\xff", headers=(("x", b"\xff"),))]
)

FILTERS = [
    "value_bytes == b'a'",
    "size(value_bytes) == 3",
    "value.total > 5.0",
    "value.total >= 5.0 || value == null",
    'headers["x"] == "1"',
    'headers.x == "1" && value.total == 6.0',
    "value == null",
    "value != null",
    "!(value == null)",
    "has(value.total)",
    "has(value.none) && value.none == null",
    'value == "text"',
    "value == 7.0",
    "value",
    'value.name == "a"',
    'value.name.contains("y")',
    "size(value.list) == 3",
    "value.list.exists(i, i == 1.0)",
    "value.deep.k.n == 1.0",
    "value[0] == 6.0",
    "value == {}",
    "value == []",
    "value in [null, 7.0]",
    "type(value) == null_type",
    'string(value.total) == "6"',
    'value.matches("^t.*t$")',
    'value.name.matches("(a|b)+$")',
    'key == "k"',
    "key == null",
    "key == 7.0",
    "has(key.id)",
    "value_bytes == b'{}'",
    "size(value_bytes) > 10",
    "size(key_bytes) == 1",
    "value_bytes == b'\\xff\\xfe' || value == null",
    'has(headers.x) && "x" in headers',
    '!("x" in headers)',
    "!has(headers.x)",
    "size(headers) == 2",
    "size(headers) == 301",
    'headers == {"x": "1"}',
    'headers.exists(k, k == "y")',
    "headers.all(k, k.startsWith('k') || k == 'x')",
    "headers.exists(k, headers[k] == '1')",
    "headers.exists(k, v, v == '1')",
    'headers["k299"] == "2999"',
    'headers["x\\u0000y"] == "a\\u0000b"',
    'headers[""] == ""',
    'headers[value.name] == "1"',
    'headers.?x.orValue("none") == "none"',
    'headers["x"].matches("[[:digit:]]+")',
    "size(header_list) == 3",
    'header_list[0].key == "x"',
    "header_list[0].value == b'1'",
    "has(header_list[0].value)",
    "header_list.exists(h, h.key == 'x' && !has(h.value))",
    "header_list.exists(h, h.key == 'x' && has(h.value) && h.value == b'\\xff')",
    "header_list.filter(h, h.key == 'x').size() > 1",
    'topic == "orders" && partition == 3 && offset == 7',
    'timestamp == timestamp("2024-05-01T12:00:00Z")',
    "timestamp.getHours() == 12 && value.total > 5.0",
    'topic.startsWith("o") && (headers["x"] == "1" || value.total == 5.0)',
]
TEXTS = [
    'value == "text"',
    'value.startsWith("not")',
    "value == null",
    "value != null && size(value) == 2",
    'value.matches("^n.*n$")',
    'value == "" || value == "a\\u0000b"',
    'value > "a"',
    'value in ["7", "NaN"]',
    'key == "k" && headers["x"] == "1"',
    "key == null || key == value",
    "value.total == 6.0",
]
BYTES = [
    "value == null",
    "value == b'7'",
    "size(value) == 2",
    "value != null && size(value) > 100",
    "value == value_bytes",
    "type(key) == bytes",
    "key in [b'k', b'7']",
    "value == '7'",
    "value == b'a'",
    "size(value) == 3 || size(value) == 1",
    "string(value_bytes) == 'a'",
    "size(value) == size(headers)",
    "header_list.exists(h, size(h.value) == 3)",
]
CASES = {
    "JSON": (KAFKA_RECORD, FILTERS),
    "text": (kafka_record(Form.TEXT, Form.TEXT), TEXTS),
    "bytes": (kafka_record(Form.BYTES, Form.BYTES), BYTES),
}
NATIVE = {"JSON": 45, "text": 8, "bytes": 0}
"""How many are SQL, at least."""


def table(spark: SparkSession, rows: Sequence[Row]) -> DataFrame:
    frame = spark.createDataFrame([(i, *row.columns) for i, row in enumerate(rows)], f"row INT, {KAFKA}")
    return frame.coalesce(1)


@pytest.fixture(scope="module")
def records(spark: SparkSession) -> DataFrame:
    frame = table(spark, ROWS).cache()
    frame.count()
    return frame


def assert_agree(
    texts: Sequence[str], environment: Environment, given: Sequence[list[bool | None]], rows: Sequence[Row] = ROWS
) -> None:
    wrong = []
    for text, answers in zip(texts, given, strict=True):
        for row, answer in zip(rows, answers, strict=True):
            expected = own(text, environment, row.activation(environment))
            if expected is not answer:
                shown = (row.key, row.value and row.value[:60], row.headers and row.headers[:4])
                wrong.append(f"{text} on {shown}: {answer}, expected {expected}")
    assert [] == wrong


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("declared", CASES)
def test_records_mean_the_same_in_sql_and_on_our_evaluator(
    spark: SparkSession, records: DataFrame, declared: str, ansi: str
) -> None:
    environment, texts = CASES[declared]
    with set_to(spark, {"spark.sql.ansi.enabled": ansi}):
        fitted = [lower_filter(compile_filter(t, environment).checked, layout_of(records, environment)) for t in texts]
        assert sum(not f.residual for f in fitted) >= NATIVE[declared]
        assert_agree(texts, environment, outcomes(records, fitted))


@pytest.mark.parametrize("engine", ["cel-expr-python", "tricel"])
@pytest.mark.parametrize("declared", CASES)
def test_records_mean_the_same_in_the_fallback(records: DataFrame, declared: str, engine: str) -> None:
    environment, texts = CASES[declared]
    filters = [unlowered(compile_filter(t, environment, engine=engine), records) for t in texts]
    assert_agree(texts, environment, outcomes(records, filters))


def test_records_that_are_text_are_as_those_that_are_bytes(spark: SparkSession, records: DataFrame) -> None:
    rows = [r for r in ROWS if all(c is None or is_text(c) for c in (r.key, r.value))]
    as_text = table(spark, rows).withColumns({n: F.col(n).cast("string") for n in ("key", "value")})
    for environment, texts in CASES.values():
        given = outcomes(as_text, [compile_filter(t, environment) for t in texts])
        assert_agree(texts, environment, given, rows)


def ids(frame: DataFrame, compiled: CompiledFilter) -> list[int]:
    return [row["row"] for row in where(frame, compiled).orderBy("row").collect()]


def test_a_tombstone_and_the_last_of_repeated_headers(spark: SparkSession) -> None:
    rows = [Row(None), Row(b'{"total": 6}', headers=(("x", b"0"), ("x", b"1"))), Row(b"null", headers=(("x", b"1"),))]
    frame = table(spark, rows)
    assert [0, 2] == ids(frame, compile_filter("value == null", KAFKA_RECORD))
    assert [1, 2] == ids(frame, compile_filter('headers["x"] == "1"', KAFKA_RECORD))
    assert [1] == ids(frame, compile_filter('value.total > 5.0 && headers["x"] == "1"', KAFKA_RECORD))


@pytest.mark.parametrize("more", [0, 60], ids=["conditions", "fan-out"])
def test_many_filters_on_records_find_what_each_finds_alone(records: DataFrame, more: int) -> None:
    texts = [*FILTERS, *(f'headers["x"] == "{i}" && value.total > {i}.0' for i in range(more))]
    filters = {str(i): compile_filter(text, KAFKA_RECORD) for i, text in enumerate(texts)}
    pairs = fan_out(records, [Named(id_, f) for id_, f in filters.items()]).select("trigger", "row").collect()
    for i, text in enumerate(texts):
        expected = [n for n, row in enumerate(ROWS) if own(text, KAFKA_RECORD, row.activation(KAFKA_RECORD))]
        assert expected == sorted(p["row"] for p in pairs if p["trigger"] == str(i)), text


ERRORS = {
    "value.total > 5.0": [
        (Row(b"not json"), "no such attribute: 'value'", "value"),
        (Row(b"{}"), "no such key: 'total'", "value.total"),
        (Row(None), "type 'null_type' has no fields: 'total'", "value.total"),
    ],
    'headers["x"] == "1"': [
        (Row(b"{}"), "no such key: 'x'", 'headers["x"]'),
        (Row(b"{}", headers=(("x", b"\xff"),)), "no such key: 'x'", 'headers["x"]'),
    ],
    "size(value_bytes) > 1": [(Row(None), "no such attribute: 'value_bytes'", "value_bytes")],
}


@pytest.mark.parametrize("text", ERRORS)
def test_why_a_filter_erred_on_a_record(spark: SparkSession, text: str) -> None:
    frame = table(spark, [row for row, _, _ in ERRORS[text]]).withColumn("trigger", F.lit("t"))
    found = with_failures(frame, {"t": compile_filter(text, KAFKA_RECORD)}, F.lit(True)).orderBy("row").collect()
    assert [(e, s) for _, e, s in ERRORS[text]] == [(r["error"], r["subexpression"]) for r in found]


@dataclass(frozen=True)
class About(Named):
    """A trigger for a run."""

    on_error: str = ""
    destination: str = "http://sink.example/"
    topic: str = ""


def test_a_run_over_records_counts_and_explains(spark: SparkSession, tmp_path: Any) -> None:
    frame = table(spark, [Row(b'{"total": 6}'), Row(None), Row(b"\xff")]).drop("headers")
    triggers = [About("big", compile_filter("value.total > 5.0", KAFKA_RECORD))]
    report = run(spark, triggers, frame, str(tmp_path / "out"))
    (counted,) = report.triggers
    assert (1, 0, 2) == (counted.delivered, counted.filtered, counted.errored)
    errors = spark.read.parquet(str(tmp_path / "out" / "errors")).collect()
    assert {"no such attribute: 'value'", "type 'null_type' has no fields: 'total'"} == {r["error"] for r in errors}


MISSING = [
    (KAFKA_RECORD, "topic STRING, value BINARY", 'headers["x"] == "1"', "the records have no column 'headers'"),
    (KAFKA_RECORD, "topic STRING, value BINARY", 'headers["x"] == "1"', "the option includeHeaders"),
    (KAFKA_RECORD, KAFKA, 'policy == "x"', "add a column of that name"),
    (KAFKA_RECORD, "topic STRING, val BINARY", "value.total > 5.0", "did you mean 'val'?"),
    (KAFKA_RECORD, "topic STRING", "size(value_bytes) > 1", "no column 'value_bytes' and no column 'value'"),
    (MQTT_MESSAGE, "topic STRING, client_id STRING", 'clientid == "c"', "did you mean 'client_id'?"),
    (MQTT_MESSAGE, "topic STRING", "retain", "the messages have no column 'retain' and no column 'flags.retain'"),
    (MQTT_SESSION, "clientid STRING", 'cn == "c"', "the sessions have no column 'cn' and no column 'cert_common_name'"),
]


@pytest.mark.parametrize(("environment", "schema", "text", "says"), MISSING)
def test_a_column_that_is_missing_is_told_in_the_words_of_the_environment(
    spark: SparkSession, environment: Environment, schema: str, text: str, says: str
) -> None:
    with pytest.raises(LayoutError) as e:
        where(spark.createDataFrame([], schema), compile_filter(text, environment))
    (told,) = e.value.diagnostics
    assert "TRI608" == told.code
    assert says in f"{told.message}: {told.help}"
    assert told.source.text[told.span.start : told.span.end] in text


EMQX = (
    "id STRING, topic STRING, qos INT, clientid STRING, username STRING, payload {payload}, "
    "flags STRUCT<retain: BOOLEAN, dup: BOOLEAN>, pub_props STRUCT<`User-Property`: MAP<STRING, STRING>>, "
    "client_attrs MAP<STRING, STRING>, publish_received_at BIGINT, timestamp BIGINT"
)
MESSAGE = ("m", "t/1", 1, "c", None, '{"t": 21.5}', (True, False), ({"a": "b"},), {"tns": "acme"}, 1714564800000, None)
ON_MESSAGES = [
    ('topic.startsWith("t/") && payload.t > 20.0 && qos == 1 && retain && !dup', True),
    ('user_property["a"] == "b" && client_attrs.tns == "acme"', True),
    ('publish_received_at == timestamp("2024-05-01T12:00:00Z")', True),
    ('username == "u"', None),
    ("timestamp > publish_received_at", None),
    ("size(payload_bytes) == 11", True),
    ("payload == null", False),
    ('client_attrs.matches == "x" || clientid == "c"', True),
    ("clientid.matches('^[[:alpha:]]$') && payload.t < 20.0", False),
]


@pytest.mark.parametrize("type_", ["STRING", "BINARY"])
def test_messages_in_the_columns_of_emqx(spark: SparkSession, type_: str) -> None:
    payload = str(MESSAGE[5])
    given = payload.encode() if type_ == "BINARY" else payload
    frame = spark.createDataFrame([(0, *MESSAGE[:5], given, *MESSAGE[6:])], f"row INT, {EMQX.format(payload=type_)}")
    filters = [compile_filter(text, MQTT_MESSAGE) for text, _ in ON_MESSAGES]
    assert [[expected] for _, expected in ON_MESSAGES] == outcomes(frame, filters)
    assert [[expected] for _, expected in ON_MESSAGES] == outcomes(frame, [unlowered(f, frame) for f in filters])
    as_text, as_bytes = mqtt_message(Form.TEXT), mqtt_message(Form.BYTES)
    assert [0] == ids(frame, compile_filter('payload.startsWith("{") && size(payload) == 11', as_text))
    assert [0] == ids(frame, compile_filter("payload == payload_bytes && size(payload) == 11", as_bytes))


def test_a_payload_that_is_no_text_is_an_error_where_it_is_read(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(0, "t", b"\xff")], "row INT, topic STRING, payload BINARY")
    for environment in (MQTT_MESSAGE, mqtt_message(Form.TEXT)):
        filters = [compile_filter(text, environment) for text in ('payload == "x"', 'topic == "t" || payload == "x"')]
        assert [[None], [True]] == outcomes(frame, filters)


def test_sessions(spark: SparkSession) -> None:
    schema = (
        "row INT, clientid STRING, username STRING, cert_common_name STRING, cert_san STRUCT<dns: ARRAY<STRING>>, "
        "client_attrs MAP<STRING, STRING>"
    )
    rows = [(0, "acme-1", "u", "cn", (["a.b", "c.d"],), {"tns": "acme"}), (1, "x", None, None, None, None)]
    frame = spark.createDataFrame(rows, schema)
    texts = {
        'clientid.split("-")[0] == client_attrs.tns': [True, None],
        '"a.b" in cert_san.dns && cn == "cn"': [True, None],
        'clientid == "x" || username == "u"': [True, True],
    }
    filters = [compile_filter(text, MQTT_SESSION) for text in texts]
    assert list(texts.values()) == outcomes(frame, filters)
    assert list(texts.values()) == outcomes(frame, [unlowered(f, frame) for f in filters])


OWN = Environment("order", KAFKA_RECORD.roots[:1], storage=(("topic", Storage(("place.topic",))),), payload="topic")


@pytest.mark.parametrize(
    "environment",
    [
        *BY_OPTION.values(),
        kafka_record(Form.TEXT, Form.BYTES),
        mqtt_message(Form.TEXT),
        OWN,
        replace(OWN, attributes=BY_OPTION["cloudevent"].attributes),
    ],
    ids=str,
)
def test_an_environment_outlasts_the_process(environment: Environment) -> None:
    text = json.dumps(described(environment))
    assert environment == from_description(json.loads(text))


def test_a_set_of_triggers_recalls_what_its_filters_are_about(spark: SparkSession) -> None:
    texts = {kafka_record(value=Form.TEXT): 'value == "a"', KAFKA_RECORD: "value.total > 5.0"}
    triggers = [SetTrigger(str(i), compile_filter(t, e), "drop") for i, (e, t) in enumerate(texts.items())]
    again = restored(TriggerSet(tuple(triggers)).text)
    frame = table(spark, [Row(b"a"), Row(b'{"total": 6}')])
    assert [[0], [1]] == [ids(frame, t.compiled) for t in again.triggers]


def test_a_line_of_json_is_what_the_table_holds() -> None:
    """The members of a line, and what a filter reads of them."""
    line = {
        "topic": "orders",
        "partition": 3,
        "timestamp": 1714564800000,
        "value": {"total": 6},
        "key_bytes": "/w==",
        "header_list": [{"key": "x", "value": "MA=="}, {"key": "x", "value": "MQ=="}, {"key": "y"}],
    }
    event = read_line(json.dumps(line).encode(), KAFKA_RECORD)
    assert isinstance(event, Event)
    expected = {
        "value.total == 6.0 && partition == 3": True,
        'timestamp == timestamp("2024-05-01T12:00:00Z")': True,
        'headers == {"x": "1"} && size(header_list) == 3': True,
        "key_bytes == b'\\xff'": True,
        'key == "k"': None,
        "offset == 1": None,
        "size(value_bytes) > 0": None,
    }
    assert expected == {text: own(text, KAFKA_RECORD, event.activation) for text in expected}
    tombstone = read_line(b"{}", KAFKA_RECORD)
    assert isinstance(tombstone, Event)
    assert own("value == null && key == null && size(headers) == 0", KAFKA_RECORD, tombstone.activation)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[]", "not a JSON object"),
        (b'{"offset": 1.5}', "'offset' is not of type int"),
        (b'{"offset": 9223372036854775808}', "'offset' is not of type int"),
        (b'{"value_bytes": "?"}', "'value_bytes' is not base64"),
        (b'{"value_bytes": "YQ==", "value": 1}', "both 'value' and 'value_bytes'"),
        (b'{"headers": {}, "header_list": []}', "both 'header_list' and 'headers'"),
        (b'{"headers": {"x": 1}}', "'headers.x' is not of type string"),
        (b'{"header_list": [{"key": 1}]}', "'header_list[0].key' is not of type string"),
        (b'{"header_list": [{"value": "MQ=="}]}', "'header_list[0]' has no 'key'"),
        (b'{"header_list": [{"key": null}]}', "'header_list[0]' has no 'key'"),
        (b'{"timestamp": "today"}', "'timestamp' is not a time"),
        (b'{"timestamp": 253402300800000}', "'timestamp' is not a time"),
    ],
)
def test_a_line_that_is_no_record(line: bytes, reason: str) -> None:
    assert reason == str(read_line(line, KAFKA_RECORD))
