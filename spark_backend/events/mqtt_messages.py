"""MQTT messages as EMQX's sinks write them: in Kafka records, in lines of JSON, and in tables. Nothing is lost.

A message is what the rule `SELECT * FROM "t/#"` gives: `id`, `topic`, `qos`, `flags`, `payload`, `pub_props` and others,
as a JSON object (the sinks' template `${.}`) or as columns of these names. Both are read by one set of rules, so that a
message has one value, however it came:

* `retain` and `dup` are fields of `flags`, or members of their own, which come first; `flags` without one says no.
* `user_property` is an object or a list of keys and values, of which the last value of a key counts. Without it
  `pub_props` has it, as `User-Property` or `User-Property-Pairs`.
* A number may be text. A time is a number of milliseconds, or RFC 3339.
* `payload` is text, or bytes in a table. What is declared to be bytes, or of a schema, is base64 where it is text. `payload_bytes` is the
  base64 of a payload that is no text, and comes first. JSON that is no string is a payload that the rule has decoded: its
  bytes are not known.

One row per message or per piece of text that is none, in the columns that the environment's storage names:

    id, topic, clientid, username, peerhost, peername, node   STRING
    qos                                                       BIGINT
    retain, dup                                               BOOLEAN
    payload, payload_bytes                                    BINARY
    user_property, client_attrs                               MAP<STRING, STRING>
    publish_received_at, timestamp                            TIMESTAMP
    event, malformed, raw, file                               as in `texts`
    record                                                    of Kafka rows: the record as it came
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructType
from tricel.compiler import MQTT_MESSAGE, Environment
from tricel.compiler.environments.kafka_record import SPARK_COLUMNS
from tricel.compiler.environments.model import Form
from tricel.compiler.values.malformed import missing

from ..sql import column, quoted, render, text_literal
from ..sql.entries import last_entries
from ..sql.layout import LayoutError
from ..sql.spark_types import STRING, SparkType
from .texts import AS_TEXT, YEARS, from_base64, parse_lines, parse_texts, rfc3339_micros

LINES = ("value", "file")
"""The columns of a table of lines."""
_TEXTS = ("id", "topic", "clientid", "username", "peerhost", "peername", "node")
_FLAGS = ("retain", "dup")
_TIMES = ("publish_received_at", "timestamp")
_MAPS = ("user_property", "client_attrs")
_HOLDERS = ("flags", "pub_props")
_MEMBERS = (*_TEXTS, "qos", *_FLAGS, *_TIMES, *_MAPS, *_HOLDERS, "payload", "payload_bytes")
_RECORD = (
    "named_struct('key', key, 'value', value, 'headers', {headers}, 'timestamp', timestamp)",
    "CAST(NULL AS ARRAY<STRUCT<key: STRING, value: BINARY>>)",
)
_ENTRIES = SparkType("array", element=SparkType("struct", fields=(("key", STRING), ("value", STRING))))
_INTEGER = "(?s)^-?[0-9]{1,19}(?!.)"


def mqtt_messages(rows: DataFrame, environment: Environment = MQTT_MESSAGE) -> DataFrame:
    """The messages in rows of Spark's Kafka source, in a table of lines (`LINES`), or in a table with EMQX's columns.

    `environment` says what the payload is declared to be.

    Raises:
        LayoutError: for a column of a table whose type can hold no such thing.
    """
    if set(rows.columns) >= SPARK_COLUMNS:
        return messages_of(_of_records(rows), environment, ("record",))
    if set(rows.columns) == set(LINES):
        return messages_of(parse_lines(rows), environment)
    return messages_of(_of_table(rows), environment)


def _of_records(rows: DataFrame) -> DataFrame:
    """The values of Kafka records, parsed; `file` is where a record is."""
    struct, no_headers = _RECORD
    record = struct.format(headers="headers" if "headers" in rows.columns else no_headers)
    place = "concat_ws('/', topic, partition, offset)"
    texts = rows.selectExpr("CAST(value AS STRING) AS value", f"{place} AS file", f"{record} AS record")
    none = f"CASE WHEN record.value IS NULL THEN {text_literal(missing('value'))} ELSE fault END"
    return parse_texts(texts, ("record",)).selectExpr("event", "raw", "file", "members", "record", f"{none} AS fault")


def _of_table(rows: DataFrame) -> DataFrame:
    """The columns of a table as the members of an object, and the row as JSON text."""
    known = [f for f in rows.schema.fields if f.name in _MEMBERS]
    for field in known:
        if not _fits_variant(field.dataType):
            message = f"column '{field.name}' is {field.dataType.simpleString()}, which no JSON value is like"
            raise LayoutError(message)
    whole = ", ".join(quoted(c) for c in rows.columns)
    named = ", ".join(f"{text_literal(f.name)}, {quoted(f.name)}" for f in known)
    members = f"variant_get(to_variant_object(named_struct({named})), '$', 'map<string,variant>')"
    return rows.selectExpr(
        f"to_json(struct({whole})) AS event",
        "CAST(NULL AS BINARY) AS raw",
        "file" if "file" in rows.columns else "CAST(NULL AS STRING) AS file",
        f"{members if known else 'CAST(NULL AS MAP<STRING, VARIANT>)'} AS members",
        "CAST(NULL AS STRING) AS fault",
    )


def _fits_variant(type_: DataType) -> bool:
    match type_:
        case MapType(keyType=key, valueType=value):
            return isinstance(key, StringType) and _fits_variant(value)
        case ArrayType(elementType=element):
            return _fits_variant(element)
        case StructType(fields=fields):
            return all(_fits_variant(f.dataType) for f in fields)
        case _:
            return "interval" not in type_.typeName()


def messages_of(parsed: DataFrame, environment: Environment, kept: Sequence[str] = ()) -> DataFrame:
    """Parsed texts (event, raw, file, members, fault) as the table of messages."""
    about = ("event", "raw", "file", "fault", *kept)
    given = parsed.selectExpr(*about, *(f"{_member('members', n)} AS {n}_v" for n in _MEMBERS))
    held = given.selectExpr("*", *(f"try_variant_get({n}_v, '$', 'map<string,variant>') AS {n}_m" for n in _HOLDERS))
    said = {n: f"coalesce({n}_v, {_member('flags_m', n)})" for n in _FLAGS}
    said["user_property"] = (
        f"coalesce(user_property_v, {_member('pub_props_m', 'User-Property')},"
        f" {_member('pub_props_m', 'User-Property-Pairs')})"
    )
    others = [n for n in _MEMBERS if n not in said]
    found = held.selectExpr(
        *about, "flags_m", "pub_props_m", *(f"{n}_v" for n in others), *(f"{sql} AS {n}_v" for n, sql in said.items())
    )
    form = environment.stored("payload").form
    form = Form.BYTES if form is Form.TYPED else form  # of a schema, which reads bytes
    read = found.selectExpr(
        "*",
        *(f"{_text(f'{n}_v')} AS {n}" for n in _TEXTS),
        f"{_integer('qos_v')} AS qos",
        *(f"{_boolean(f'{n}_v')} AS {n}" for n in _FLAGS),
        *(f"{_micros(f'{n}_v')} AS {n}" for n in _TIMES),
        *(f"{_entries(f'{n}_v')} AS {n}" for n in _MAPS),
        "try_variant_get(payload_v, '$', 'binary') IS NOT NULL AS payload_known",
        f"{_payload(form)} AS payload",
        f"{_bytes('payload_bytes_v')} AS payload_bytes",
    ).selectExpr("*", f"{_reason(form)} AS malformed")
    columns = {
        **{n: n for n in (*_TEXTS, "qos")},
        **{n: f"coalesce({n}, CASE WHEN flags_m IS NOT NULL THEN false END)" for n in _FLAGS},
        "payload": "CASE WHEN payload_bytes_v IS NOT NULL THEN payload_bytes ELSE payload END",
        "payload_bytes": "CASE WHEN payload_bytes_v IS NOT NULL THEN payload_bytes WHEN payload_known THEN payload END",
        **{n: render(last_entries(column(n).sql, _ENTRIES)) for n in _MAPS},
        **{n: f"timestamp_micros({n})" for n in _TIMES},
    }
    # A message with properties, none of which is a user's, has no user property.
    none = "CASE WHEN pub_props_m IS NOT NULL AND user_property_v IS NULL THEN map_from_arrays(array(), array()) END"
    columns["user_property"] = f"coalesce({columns['user_property']}, CAST({none} AS MAP<STRING, STRING>))"
    return read.selectExpr(
        *(f"CASE WHEN malformed IS NULL THEN {sql} END AS {name}" for name, sql in columns.items()),
        "event",
        "malformed",
        "raw",
        "file",
        *kept,
    ).withMetadata("event", {AS_TEXT: True})


def _member(members: str, name: str) -> str:
    """A member of a map; one that is null is absent."""
    v = f"{members}[{text_literal(name)}]"
    return f"CASE WHEN NOT is_variant_null({v}) THEN {v} END"


def _text(v: str) -> str:
    """The text in a VARIANT, or in its bytes; NULL for every other kind."""
    return f"try_validate_utf8(CAST(try_variant_get({v}, '$', 'binary') AS STRING))"


def _is(v: str, type_: str) -> str:
    return f"schema_of_variant({v}) = '{type_}'"


def _integer(v: str) -> str:
    text = _text(v)
    return (
        f"CASE WHEN {text} IS NOT NULL THEN CASE WHEN {text} RLIKE '{_INTEGER}' THEN try_cast({text} AS BIGINT) END"
        f" WHEN {_is(v, 'BIGINT')} THEN variant_get({v}, '$', 'bigint') END"
    )


def _boolean(v: str) -> str:
    number = _integer(v)
    return (
        f"CASE WHEN {_text(v)} = 'true' OR {number} = 1 THEN true WHEN {_text(v)} = 'false' OR {number} = 0 THEN false"
        f" WHEN {_is(v, 'BOOLEAN')} THEN variant_get({v}, '$', 'boolean') END"
    )


def _micros(v: str) -> str:
    number = _integer(v)
    milliseconds = f"CASE WHEN {number} BETWEEN {YEARS[0] // 1000} AND {YEARS[1] // 1000} THEN 1000 * {number} END"
    return (
        f"CASE WHEN {number} IS NOT NULL THEN {milliseconds}"
        f" WHEN {_text(v)} IS NOT NULL THEN {rfc3339_micros(_text(v))}"
        f" WHEN {_is(v, 'TIMESTAMP')} THEN unix_micros(variant_get({v}, '$', 'timestamp')) END"
    )


def _entries(v: str) -> str:
    """The keys and values of an object, or of a list of objects with both, as texts; NULL within where one is none."""
    pair = "named_struct('key', {key}, 'value', {value})"
    of_object = pair.format(key="e.key", value=_text("e.value"))
    of_pair = pair.format(
        key=_text("try_variant_get(p, '$.key', 'variant')"), value=_text("try_variant_get(p, '$.value', 'variant')")
    )
    members = f"try_variant_get({v}, '$', 'map<string,variant>')"
    there = f"filter(map_entries({members}), e -> NOT is_variant_null(e.value))"
    listed = f"try_variant_get({v}, '$', 'array<variant>')"
    return (
        f"CASE WHEN {members} IS NOT NULL THEN transform({there}, e -> {of_object})"
        f" WHEN {listed} IS NOT NULL THEN transform({listed}, p -> {of_pair}) END"
    )


def _bytes(v: str) -> str:
    """Bytes of a table, or what a text is the base64 of."""
    raw = f"try_variant_get({v}, '$', 'binary')"
    return f"CASE WHEN {raw} IS NULL THEN NULL WHEN {_is(v, 'BINARY')} THEN {raw} ELSE {from_base64(_text(v))} END"


def _payload(form: Form) -> str:
    """The payload's bytes, or the text of JSON that a rule has decoded."""
    if form is Form.BYTES:
        return _bytes("payload_v")
    decoded = " WHEN payload_v IS NOT NULL THEN CAST(to_json(payload_v) AS BINARY)" if form is Form.JSON else ""
    known = "try_variant_get(payload_v, '$', 'binary')"
    return f"CASE WHEN {known} IS NOT NULL THEN {known}{decoded} END"


def _reason(form: Form) -> str:
    """The first rule that a message breaks, or NULL."""
    rules = [("fault IS NOT NULL", "fault")]

    def rule(condition: str, reason: str) -> None:
        rules.append((condition, text_literal(reason)))

    def typed(name: str, type_: str) -> None:
        rule(f"{name}_v IS NOT NULL AND {name} IS NULL", f"'{name}' is not of type {type_}")

    for name in _HOLDERS:
        rule(f"{name}_v IS NOT NULL AND {name}_m IS NULL", f"'{name}' is not an object")
    rule("topic_v IS NULL", missing("topic"))
    for name in _TEXTS:
        typed(name, "string")
    typed("qos", "int")
    for name in _FLAGS:
        typed(name, "bool")
    for name in _TIMES:
        out = f"({name} IS NULL OR {name} NOT BETWEEN {YEARS[0]} AND {YEARS[1]})"
        rule(f"{name}_v IS NOT NULL AND {out}", f"'{name}' is not a time")
    for name in _MAPS:
        none = f"({name} IS NULL OR exists({name}, e -> e.key IS NULL OR e.value IS NULL))"
        rule(f"{name}_v IS NOT NULL AND {none}", f"'{name}' is not of type map(string, string)")
    rule("payload_bytes_v IS NOT NULL AND payload_bytes IS NULL", "'payload_bytes' is not base64")
    wanted = "base64" if form is Form.BYTES else "a string"
    rule("payload_bytes_v IS NULL AND payload_v IS NOT NULL AND payload IS NULL", f"'payload' is not {wanted}")
    return "CASE " + " ".join(f"WHEN {condition} THEN {reason}" for condition, reason in rules) + " END"
