"""Rows that hold encoded events, decoded to the canonical table of `texts`.

Bytes go to the workers, which answer with JSON text (`formats`), and Spark reads that by the rules of all events. A row
that is no event is a malformed row with its bytes in `raw`; a capture of HTTP, which has no bytes, is in `event`.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, BooleanType, DataType, StringType
from tricel.compiler.values.malformed import NO_BYTES, NOT_JSON, NOT_JSON_BATCH, NOT_OBJECT, NOT_UTF8

from ..failure import RunError
from ..fallback.worker import worker_column
from ..frames import takes_unpaired_surrogates
from ..sql import column, quoted, render, text_literal
from .formats import OUTCOMES, evaluate_captures, evaluate_format
from .texts import canonical, in_a_list

_RECORD = (
    ("key", "BINARY"),
    ("value", "BINARY"),
    ("headers", "ARRAY<STRUCT<key: STRING, value: BINARY>>"),
    ("timestamp", "TIMESTAMP"),
)
_KAFKA = ("topic", "partition", "offset")
_STAGED = "text", "fault", "part", "many"
"""What `decoded` reads beside `file`, `bytes`, `capture` and what is carried: one row for each event or batch of JSON."""


def stage_json(rows: DataFrame) -> DataFrame:
    """One event as JSON text in each `value`."""
    return _json(rows, many=False)


def stage_json_batch(rows: DataFrame) -> DataFrame:
    """A JSON array of events in each `value`."""
    return _json(rows, many=True)


def stage_avro(rows: DataFrame) -> DataFrame:
    """One event in the Avro format in each `value`."""
    return _packed(rows, "avro")


def stage_avro_compact(rows: DataFrame) -> DataFrame:
    """One event in the Avro Compact format in each `value`."""
    return _packed(rows, "avro-compact")


def stage_protobuf(rows: DataFrame) -> DataFrame:
    """One event in the Protobuf format in each `value`."""
    return _packed(rows, "protobuf")


def stage_protobuf_batch(rows: DataFrame) -> DataFrame:
    """A `CloudEventBatch` in each `value`."""
    return _packed(rows, "protobuf", batch=True)


def stage_http(rows: DataFrame) -> DataFrame:
    """A capture of an HTTP message in each row: columns `headers` and `body`, or one `value` with JSON text of them.

    Raises:
        RunError: TRI620 where the columns are neither, TRI621 where one is of a type that cannot be read.
    """
    if "headers" in rows.columns and not all(name in rows.columns for name in _KAFKA):
        captures = _captures_of_columns(rows)
        carried: tuple[str, ...] = ()
    else:
        captures, carried = _captures_of_texts(rows)
    found = worker_column(evaluate_captures, (), [F.col("headers"), F.col("body"), F.col("base64")], OUTCOMES)
    return _staged(captures.withColumn("found", found), ("file", "bytes", "capture", *carried))


def decoded(staged: DataFrame) -> DataFrame:
    """The canonical table of outcomes: `text` STRING, `fault` STRING, `part` BINARY, `many` BOOLEAN, `file` STRING,
    `bytes` BINARY (those of the row), `capture` STRING (what a malformed row's `event` is, or NULL) and `record`, if any.

    An event of several in a row has its number after the row's `file`.
    """
    carried = ("record",) if "record" in staged.columns else ()
    salt = uuid.uuid4().hex
    wrapped = render(in_a_list(column("text"), salt, checked=takes_unpaired_surrogates(staged.sparkSession)))
    members = "try_variant_get({}, '$', 'map<string,variant>')"
    kept = ("file", "bytes", "capture", *carried)
    whole = f"try_variant_get(v, '$[1]', 'string') = '{salt}'"
    read = staged.selectExpr(*kept, *_STAGED, "number", "several", f"{wrapped} AS v").selectExpr(
        *kept, *_STAGED, "number", "several", f"CASE WHEN {whole} THEN try_variant_get(v, '$[0]', 'variant') END AS v"
    )
    batch = "CASE WHEN many THEN try_variant_get(v, '$', 'array<variant>') END"
    # One element for a text that is one event, and for a batch that is none; a batch has its own, or none.
    one = f"array(struct(text AS event, v AS item, {_fault()} AS fault))"
    all_ = f"transform({batch}, item -> struct(to_json(item) AS event, item AS item, {_item_fault()} AS fault))"
    parts = read.selectExpr(
        *kept, "part", "number", f"several OR {batch} IS NOT NULL AS several", f"coalesce({all_}, {one}) AS found"
    )
    apart = _apart(parts, "found", (*kept, "part", "number", "several"), "place")
    at = "CASE WHEN several THEN file || '/' || CAST(number + place AS STRING) ELSE file END"
    texts = apart.selectExpr(
        "one.event AS event",
        "coalesce(part, bytes) AS raw",
        f"{at} AS file",
        f"{members.format('one.item')} AS members",
        "one.fault AS fault",
        "capture",
        *carried,
    )
    table = canonical(texts)
    found = {"raw": "CASE WHEN malformed IS NOT NULL THEN raw END AS raw"}
    shown = "CASE WHEN malformed IS NOT NULL THEN coalesce(capture, event) ELSE event END"
    columns = [found.get(name, quoted(name)) for name in table.columns if name != "capture"]
    metadata = table.schema["event"].metadata
    return table.withColumn("event", F.expr(shown)).selectExpr(*columns).withMetadata("event", metadata)


def _fault() -> str:
    none = f"CASE WHEN many AND v IS NOT NULL THEN {text_literal(NOT_JSON_BATCH)} WHEN v IS NULL THEN {text_literal(NOT_JSON)}"
    object_ = "try_variant_get(v, '$', 'map<string,variant>') IS NULL"
    return f"coalesce(fault, {none} WHEN {object_} THEN {text_literal(NOT_OBJECT)} END)"


def _item_fault() -> str:
    return f"CASE WHEN try_variant_get(item, '$', 'map<string,variant>') IS NULL THEN {text_literal(NOT_OBJECT)} END"


def _staged(rows: DataFrame, kept: Sequence[str]) -> DataFrame:
    """One row for each outcome in the column `found`."""
    several = "size(found) > 1 OR get(found, 0).part IS NOT NULL AS several"
    apart = _apart(rows.selectExpr(*kept, several, "found"), "found", (*kept, "several"), "number")
    fields = ("one.event AS text", "one.fault AS fault", "one.part AS part", "one.many AS many")
    return apart.selectExpr(*kept, "several", "number", *fields)


def _apart(rows: DataFrame, lists: str, kept: Sequence[str], place: str) -> DataFrame:
    """One row for each element of a column of lists, as the column `one`, with its place in the list.

    The outer form is used because Spark puts a filter on the length before the other one, and computes the lists twice.
    """
    return rows.selectExpr(*kept, f"posexplode_outer({lists}) AS ({place}, one)").where(f"{place} IS NOT NULL")


def _packed(rows: DataFrame, name: str, *, batch: bool = False) -> DataFrame:
    prepared, carried = _values(rows)
    found = worker_column(evaluate_format, (name, batch), [F.col("bytes")], OUTCOMES)
    kept = ("file", "bytes", "capture", *carried)
    return _staged(prepared.withColumn("found", found), kept)


def _json(rows: DataFrame, *, many: bool) -> DataFrame:
    """As `_packed`, without a worker."""
    prepared, carried = _values(rows)
    text = "CAST(bytes AS STRING)"
    fault = f"CASE WHEN bytes IS NULL THEN {text_literal(NO_BYTES)} WHEN NOT is_valid_utf8({text}) THEN {text_literal(NOT_UTF8)} END"
    bom = f"startswith({text}, decode(X'EFBBBF', 'utf-8'))"
    return prepared.selectExpr(
        "file",
        f"CASE WHEN NOT is_valid_utf8({text}) THEN bytes END AS bytes",
        "capture",
        *carried,
        "false AS several",
        "0 AS number",
        f"CASE WHEN is_valid_utf8({text}) THEN CASE WHEN {bom} THEN substring({text}, 2) ELSE {text} END END AS text",
        f"{fault} AS fault",
        "CAST(NULL AS BINARY) AS part",
        f"{str(many).lower()} AS many",
    )


def _values(rows: DataFrame) -> tuple[DataFrame, tuple[str, ...]]:
    """Rows with a column `value` as `file`, `bytes` and `capture`, and what is carried: of Kafka's the record."""
    types = {f.name: f.dataType for f in rows.schema.fields}
    if "value" not in types:
        raise RunError(
            "TRI620", "the rows have no column 'value' with encoded events", help="name it so: SELECT ... AS value"
        )
    if not isinstance(types["value"], (BinaryType, StringType)):
        raise RunError(
            "TRI621",
            f"the column 'value' is of type {types['value'].simpleString()}",
            help="give it as BINARY or STRING",
        )
    columns = ["CAST(value AS BINARY) AS bytes", "CAST(NULL AS STRING) AS capture"]
    if not all(name in types for name in _KAFKA):
        return rows.selectExpr(*columns, _file(types)), ()
    record = ", ".join(name if name in types else f"CAST(NULL AS {type_}) AS {name}" for name, type_ in _RECORD)
    where = "concat_ws('/', topic, CAST(partition AS STRING), CAST(offset AS STRING)) AS file"
    return rows.selectExpr(*columns, where, f"struct({record}) AS record"), ("record",)


def _file(types: dict[str, DataType]) -> str:
    return "file" if isinstance(types.get("file"), StringType) else "CAST(NULL AS STRING) AS file"


def _captures_of_texts(rows: DataFrame) -> tuple[DataFrame, tuple[str, ...]]:
    """Captures in JSON text: `headers`, `body` (a text, or JSON that is the body), `body_base64`, `isBase64Encoded`."""
    prepared, carried = _values(rows)
    salt = uuid.uuid4().hex
    wrapped = render(in_a_list(column("text"), salt, checked=takes_unpaired_surrogates(rows.sparkSession)))
    kept = ("file", "bytes", *carried)
    whole = f"try_variant_get(v, '$[1]', 'string') = '{salt}'"

    def member(name: str) -> str:
        return f"CASE WHEN {whole} THEN try_variant_get(v, '$[0].{name}', 'variant') END AS {name}_v"

    text = "CASE WHEN is_valid_utf8(CAST(bytes AS STRING)) THEN CAST(bytes AS STRING) END AS text"
    names = ("headers", "body", "body_base64", "isBase64Encoded")
    members = (
        prepared.selectExpr(*kept, text)
        .selectExpr(*kept, "text", f"{wrapped} AS v")
        .selectExpr(*kept, "text", *map(member, names))
    )
    encoded = _text("body_base64_v")
    body = f"coalesce({encoded}, {_text('body_v')}, CASE WHEN NOT is_variant_null(body_v) THEN to_json(body_v) END)"
    captures = members.selectExpr(
        "file",
        "CASE WHEN text IS NULL THEN bytes END AS bytes",
        "text AS capture",
        *carried,
        "to_json(headers_v) AS headers",
        f"CAST({body} AS BINARY) AS body",
        f"{encoded} IS NOT NULL OR coalesce(try_variant_get(isBase64Encoded_v, '$', 'boolean'), false) AS base64",
    )
    return captures, carried


def _captures_of_columns(rows: DataFrame) -> DataFrame:
    types = {f.name: f.dataType for f in rows.schema.fields}
    headers = types["headers"]
    if "binary" in headers.simpleString():
        help_ = "give a map, an array of structs of name and value, or JSON text, with values that are texts"
        raise RunError("TRI621", f"the column 'headers' is of type {headers.simpleString()}", help=help_)
    body = "CAST(NULL AS BINARY)"
    if "body" in types:
        plain = isinstance(types["body"], (BinaryType, StringType))
        body = "CAST(body AS BINARY)" if plain else "CAST(to_json(body) AS BINARY)"
    flag = isinstance(types.get("isBase64Encoded"), BooleanType)
    base64 = "coalesce(isBase64Encoded, false)" if flag else "false"
    if isinstance(types.get("body_base64"), StringType):
        body, base64 = f"coalesce(CAST(body_base64 AS BINARY), {body})", f"body_base64 IS NOT NULL OR {base64}"
    shown = [name for name in ("headers", "body", "body_base64", "isBase64Encoded") if name in types]
    return rows.selectExpr(
        _file(types),
        "CAST(NULL AS BINARY) AS bytes",
        f"to_json(struct({', '.join(shown)})) AS capture",
        "headers" if isinstance(headers, StringType) else "to_json(headers) AS headers",
        f"{body} AS body",
        f"{base64} AS base64",
    )


def _text(variant: str) -> str:
    """The text in a VARIANT of JSON; NULL for every other kind."""
    return f"CAST(try_variant_get({variant}, '$', 'binary') AS STRING)"
