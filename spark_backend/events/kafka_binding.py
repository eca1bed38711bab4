"""CloudEvents in records of Kafka, by the Kafka protocol binding 1.0.2, decoded in one pass over the records.

    binary       headers `ce_NAME` are the attributes, `content-type` is `datacontenttype`, the value is the data
    structured   `content-type: application/cloudevents+json`, the value is an event of the JSON format
    batch        `content-type: application/cloudevents-batch+json`, the value is an array of such events

    others       `application/cloudevents+avro`, `+avro-compact` or `+protobuf`, `application/cloudevents-batch+protobuf`:
                 their values alone go to the workers (see `formats`)

The binding has no batches; they are those of the formats. A record without a header of either kind is no event.
"""

from __future__ import annotations

import uuid

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from tricel.compiler.values.malformed import (
    HEADER_NOT_UTF8,
    HEADER_OF_DATA,
    HEADER_TWICE,
    NO_EVENT,
    NO_VALUE,
    NOT_BATCH,
    NOT_JSON,
    NOT_OBJECT,
    NOT_UTF8,
    UNREAD_FORMAT,
)

from ..fallback.worker import worker_column
from ..frames import takes_unpaired_surrogates
from ..sql import cast, column, quoted, render, text_literal
from .formats import BATCHES, FORMATS, OUTCOMES, OUTCOMES_TYPE, evaluate_structured
from .texts import canonical, in_a_list

_HEADERS = "array<struct<key: string, value: binary>>"
_MEDIA = "application/cloudevents"
_BATCH_MEDIA = "application/cloudevents-batch"
_BINARY, _EVENT, _BATCH, _PACKED, _OTHER, _NONE = "binary", "event", "batch", "packed", "other", "none"
_OF_WORKERS = (*(f"{_MEDIA}+{name}" for name in FORMATS), *(f"{_BATCH_MEDIA}+{name}" for name in BATCHES))
"""The content types that workers read."""
_JSON = f"'{_BINARY}', '{_EVENT}', '{_BATCH}'"
"""The modes in which a value may be JSON."""


def decode_records(rows: DataFrame) -> DataFrame:
    """Rows of Spark's Kafka source, read with `includeHeaders`, as the canonical table of `texts` and `record`.

    `file` is `topic/partition/offset`, and for the events of a batch `topic/partition/offset/index`. `record` is the
    record as it came: `key`, `value`, `headers`, `timestamp`. A batch of no events gives no row.
    """
    salt = uuid.uuid4().hex
    whole = f"try_variant_get(v, '$[1]', 'string') = '{salt}'"
    checked = takes_unpaired_surrogates(rows.sparkSession)
    wrapped = render(in_a_list(cast(column("value"), "STRING"), salt, checked=checked))
    has_headers = "headers" in rows.columns
    headers = f"coalesce(headers, CAST(array() AS {_HEADERS}))" if has_headers else f"CAST(array() AS {_HEADERS})"
    read = (
        rows.selectExpr(
            "concat_ws('/', topic, partition, offset) AS file",
            f"struct(key, value, {'headers' if has_headers else headers + ' AS headers'}, timestamp) AS record",
            "value",
            "CAST(value AS STRING) AS value_text",
            "is_valid_utf8(CAST(value AS STRING)) AS utf8",
            f"filter({headers}, h -> h.value IS NOT NULL AND (startswith(h.key, 'ce_') OR lower(h.key) = 'content-type'))"
            " AS told",
        )
        .selectExpr(
            "*",
            "transform(told, h -> CASE WHEN startswith(h.key, 'ce_') THEN substring(h.key, 4) ELSE 'datacontenttype' END)"
            " AS names",
            "transform(told, h -> CAST(h.value AS STRING)) AS texts",
            "lower(trim(substring_index(CAST(element_at(filter(told, h -> lower(h.key) = 'content-type'),"
            " CASE WHEN exists(told, h -> lower(h.key) = 'content-type') THEN -1 END).value AS STRING), ';', 1)))"
            " AS media",
        )
        .selectExpr("*", f"{_mode()} AS mode")
        .withColumn("packed", worker_column(evaluate_structured, (), _for_workers(), OUTCOMES, OUTCOMES_TYPE))
        .selectExpr("*", f"CASE WHEN mode IN ({_JSON}) AND utf8 THEN {wrapped} END AS v", f"{_header_fault()} AS unfit")
        .selectExpr("*", f"coalesce({whole}, false) AS json")
        .selectExpr("*", f"{_items()} AS items")
        .selectExpr("*", "items IS NULL AS whole")
    )
    # A filter that could be put before the list of items would have Spark compute the list twice.
    split = (
        read.selectExpr(
            *("file", "record", "value", "value_text", "utf8", "names", "texts", "mode", "v", "json", "unfit", "media"),
            *("packed", "whole", "posexplode_outer(items) AS (place, item)"),
        )
        .where("whole OR place IS NOT NULL")
        .selectExpr("* EXCEPT (packed, whole)", "get(packed, place) AS outcome")
    )
    parsed = split.selectExpr("*", f"{_members()} AS members").selectExpr("*", f"{_fault()} AS fault")
    table = canonical(
        parsed.selectExpr(
            f"CASE WHEN mode = '{_PACKED}' THEN outcome.event"
            f" WHEN fault IS NULL AND mode = '{_BINARY}' THEN to_json(members)"
            f" WHEN mode = '{_BATCH}' AND item IS NOT NULL THEN to_json(item)"
            " WHEN utf8 THEN value_text ELSE make_valid_utf8(value_text) END AS event",
            f"CASE WHEN mode = '{_PACKED}' THEN coalesce(outcome.part, value)"
            " WHEN fault IS NOT NULL AND NOT utf8 THEN value END AS raw",
            f"CASE WHEN outcome.part IS NOT NULL OR mode = '{_BATCH}' AND place IS NOT NULL"
            " THEN concat_ws('/', file, place) ELSE file END AS file",
            "members",
            "fault",
            "record",
        )
    )
    columns = (
        "CASE WHEN malformed IS NOT NULL THEN raw END AS raw" if c == "raw" else quoted(c) for c in table.columns
    )
    return table.selectExpr(*columns)


def _for_workers() -> list[Column]:
    """The content types and the values that workers read; NULL for all others."""
    return [F.expr(f"CASE WHEN mode = '{_PACKED}' THEN {name} END") for name in ("media", "value")]


def _mode() -> str:
    return (
        f"CASE WHEN media IN ('{_MEDIA}', '{_MEDIA}+json') THEN '{_EVENT}' WHEN media = '{_BATCH_MEDIA}+json'"
        f" THEN '{_BATCH}' WHEN media IN ({', '.join(map(text_literal, _OF_WORKERS))}) THEN '{_PACKED}' WHEN startswith(media, '{_MEDIA}') THEN '{_OTHER}'"
        f" WHEN exists(told, h -> startswith(h.key, 'ce_')) THEN '{_BINARY}' ELSE '{_NONE}' END"
    )


def _header_fault() -> str:
    """Why no event can be made of the headers: in structured mode they say nothing that counts, but for one content-type."""
    named = f"CASE WHEN mode = '{_BINARY}' THEN names ELSE filter(names, n -> n = 'datacontenttype') END"
    rules = (
        (f"array_size({named}) <> array_size(array_distinct({named}))", HEADER_TWICE),
        (f"mode = '{_BINARY}' AND NOT forall(texts, t -> is_valid_utf8(t))", HEADER_NOT_UTF8),
        (f"mode = '{_BINARY}' AND arrays_overlap(names, array('data', 'data_base64'))", HEADER_OF_DATA),
    )
    return "CASE " + " ".join(f"WHEN {condition} THEN {text_literal(reason)}" for condition, reason in rules) + " END"


def _items() -> str:
    """The events in a value, NULL where they are not to be had from there."""
    return (
        f"CASE WHEN unfit IS NULL AND json AND mode = '{_BATCH}' THEN try_variant_get(v, '$[0]', 'array<variant>')"
        f" WHEN unfit IS NULL AND json AND mode = '{_EVENT}' THEN array(variant_get(v, '$[0]', 'variant'))"
        f" WHEN unfit IS NULL AND mode = '{_PACKED}' THEN transform(packed, o -> try_parse_json(o.event)) END"
    )


def _members() -> str:
    """An event's members: of binary mode those that the JSON format would give it."""
    is_json = "media IS NULL OR endswith(media, '/json') OR endswith(media, '+json')"
    value = "variant_get(v, '$[0]', 'variant')"
    encoded = r"translate(base64(value), decode(X'0D0A', 'utf-8'), '')"
    data = (
        "CASE WHEN value IS NULL THEN CAST(map() AS map<string, variant>)"
        f" WHEN ({is_json}) AND json AND NOT is_variant_null({value}) THEN map('data', {value})"
        " WHEN startswith(media, 'text/') AND utf8 THEN map('data', CAST(value_text AS VARIANT))"
        f" ELSE map('data_base64', CAST({encoded} AS VARIANT)) END"
    )
    attributes = "map_from_arrays(names, transform(texts, t -> CAST(t AS VARIANT)))"
    return (
        f"CASE WHEN unfit IS NOT NULL THEN NULL WHEN mode = '{_BINARY}' THEN map_concat({attributes}, {data})"
        " WHEN item IS NOT NULL THEN try_variant_get(item, '$', 'map<string,variant>') END"
    )


def _fault() -> str:
    rules = (
        (f"mode = '{_NONE}' AND value IS NULL", text_literal(NO_VALUE)),
        (f"mode = '{_NONE}'", text_literal(NO_EVENT)),
        (f"mode = '{_OTHER}'", text_literal(UNREAD_FORMAT)),
        ("unfit IS NOT NULL", "unfit"),
        ("outcome.fault IS NOT NULL", "outcome.fault"),
        ("members IS NOT NULL", "NULL"),
        ("item IS NOT NULL", text_literal(NOT_OBJECT)),
        ("value IS NOT NULL AND NOT utf8", text_literal(NOT_UTF8)),
        ("NOT json", text_literal(NOT_JSON)),
        (f"mode = '{_BATCH}'", text_literal(NOT_BATCH)),
    )
    return "CASE " + " ".join(f"WHEN {condition} THEN {reason}" for condition, reason in rules) + " END"
