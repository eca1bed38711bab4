"""Texts that may be CloudEvents, parsed once into one canonical table, in Spark expressions only.

The rules are those of the CloudEvents 1.0 JSON format. One row per event or per piece of text that is none:

    id, source, specversion, type, subject, datacontenttype, dataschema   STRING
    time         TIMESTAMP
    extensions   MAP<STRING, STRING>   canonical text; an object keeps its JSON text
    data         VARIANT               the JSON value, BINARY for bytes, NULL when absent
    event        STRING                the JSON text of the event, as it was written where there is such a text
    malformed    STRING                NULL, or one of `malformed.REASONS`; every column above is NULL then
    raw          BINARY                the bytes as they were read, only where they are not UTF-8
    file         STRING                where the text came from
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from pyspark.sql import DataFrame
from tricel.compiler.environments.attribute_names import CHARACTERS
from tricel.compiler.values.malformed import (
    EXTENSION_ARRAY,
    EXTENSION_NAME,
    EXTENSION_NUMBER,
    NOT_BASE64,
    NOT_JSON,
    NOT_OBJECT,
    NOT_TIME,
    NOT_UTF8,
    NOT_VERSION,
    OPTIONAL,
    REQUIRED,
    TWO_DATA,
    empty,
    missing,
    not_string,
)

from ..frames import takes_unpaired_surrogates
from ..sql import Operand, Sql, cast, column, function, quoted, render, text_literal
from ..sql.json_text import parsed, refused

AS_TEXT = "tricel.event"
"""A key in the metadata of a column `event` that is a copy: the text of what other columns hold."""
_KNOWN = (*REQUIRED, *OPTIONAL, "data", "data_base64")

_OFFSET = "([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
_RFC3339 = f"(?s)^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[Tt][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}([.][0-9]{{1,9}})?{_OFFSET}(?!.)"
YEARS = (-62_135_596_800_000_000, 253_402_300_799_999_999)
"""The first and the last microsecond that is a time in CEL, of the years 1 to 9999."""
_BASE64 = "(?s)^[A-Za-z0-9+/]*={0,2}(?!.)"


def parse_lines(lines: DataFrame) -> DataFrame:
    """`lines` (value STRING, file STRING), one event in each, parsed once: event, raw, file, members, fault."""
    return parse_texts(unblank(lines))


def unblank(lines: DataFrame) -> DataFrame:
    """`lines` (value STRING, file STRING) without the blank ones, and without what Windows puts at an end."""
    blank = "trim(BOTH decode(X'20090D0A', 'utf-8') FROM value) <> ''"
    return lines.where(blank).selectExpr("rtrim(decode(X'0D', 'utf-8'), value) AS value", "file")


def parse_documents(texts: DataFrame) -> DataFrame:
    """`texts` (value STRING, file STRING), one event or one batch in each, as `parse_lines` gives them."""
    salt = uuid.uuid4().hex
    complete = f"try_variant_get(v, '$[1]', 'string') = '{salt}'"
    items = f"CASE WHEN {complete} THEN try_variant_get(v, '$[0]', 'array<variant>') END"
    wrapped = render(in_a_list(column("value"), salt, checked=takes_unpaired_surrogates(texts.sparkSession)))
    read = (
        texts.selectExpr("trim(BOTH decode(X'20090D0A', 'utf-8') FROM value) AS value", "file")
        .where("value <> ''")
        .selectExpr("*", f"CASE WHEN is_valid_utf8(value) THEN {wrapped} END AS v")
        .selectExpr("value", "file", f"{items} AS items")
    )
    batches = (
        read.where("items IS NOT NULL")
        .selectExpr("file", "explode(items) AS item")
        .selectExpr("item", "file", "try_variant_get(item, '$', 'map<string,variant>') AS members")
        .selectExpr(
            "to_json(item) AS event",
            "CAST(NULL AS BINARY) AS raw",
            "file",
            "members",
            f"CASE WHEN members IS NULL THEN {text_literal(NOT_OBJECT)} END AS fault",
        )
    )
    return batches.unionByName(parse_texts(read.where("items IS NULL").select("value", "file")))


_PARSED = ("event", "raw", "file", "members", "fault")
"""The columns of parsed texts."""


def canonical(texts: DataFrame) -> DataFrame:
    """Parsed texts as the canonical table, with the other columns that `texts` has after its own."""
    salt = uuid.uuid4().hex
    carried = [quoted(c) for c in texts.columns if c not in _PARSED]
    checked = takes_unpaired_surrogates(texts.sparkSession)
    known = ", ".join(f"'{k}'" for k in _KNOWN)
    strings = (*REQUIRED, *OPTIONAL, "data_base64")
    # A null member is an absent one.
    looked_up = texts.selectExpr(
        "event",
        "raw",
        "file",
        "fault",
        *carried,
        *(f"CASE WHEN NOT is_variant_null(members['{n}']) THEN members['{n}'] END AS {n}_v" for n in _KNOWN),
        f"map_filter(members, (k, v) -> k NOT IN ({known}) AND NOT is_variant_null(v)) AS others",
    )
    typed = looked_up.selectExpr(
        "*",
        *(f"{_text_of(f'{name}_v')} AS {name}" for name in strings),
        f"transform_values(others, (k, v) -> {_extension_text('v')}) AS extensions",
    )
    media = "lower(trim(substring_index(datacontenttype, ';', 1)))"
    json_media = f"datacontenttype IS NULL OR endswith({media}, '/json') OR endswith({media}, '+json')"
    decoded = typed.selectExpr(
        "*",
        f"{rfc3339_micros('time')} AS micros",
        f"{from_base64('data_base64')} AS bytes",
        f"{json_media} AS json_media",
    )
    payload_text = "CAST(bytes AS STRING)"
    wrapped = render(in_a_list(cast(column("bytes"), "STRING"), salt, checked=checked))
    decoded = decoded.selectExpr(
        "*",
        f"CASE WHEN json_media AND is_valid_utf8({payload_text}) THEN {wrapped} END AS payload",
        f"{_reason(salt)} AS malformed",
    )
    is_json = f"try_variant_get(payload, '$[1]', 'string') = '{salt}'"
    data = (
        f"CASE WHEN data_v IS NOT NULL THEN data_v WHEN {is_json} THEN variant_get(payload, '$[0]', 'variant')"
        " ELSE CAST(bytes AS VARIANT) END"
    )
    columns = {
        **{name: name for name in ("id", "source", "specversion", "type", "subject", "datacontenttype", "dataschema")},
        "time": "timestamp_micros(micros)",
        "extensions": "extensions",
        "data": data,
    }
    return decoded.selectExpr(
        *(f"CASE WHEN malformed IS NULL THEN {sql} END AS {name}" for name, sql in columns.items()),
        "event",
        "malformed",
        "raw",
        "file",
        *carried,
    ).withMetadata("event", {AS_TEXT: True})


def in_a_list(text: Operand, salt: str, *, checked: bool) -> Sql:
    """What parses JSON text as the first of two elements, of which the other is the salt: nothing can follow it.

    By itself try_parse_json ignores what follows a value. `checked` is that of `parsed`.
    """
    value = refused(text) if checked else text
    return parsed(function("concat", "[", value, f',"{salt}"]'))


def parse_texts(texts: DataFrame, kept: Sequence[str] = ()) -> DataFrame:
    """`texts` (value STRING, file STRING), one event in each, blank or not, as `parse_lines` gives them.

    `kept` are columns that stay as they are.
    """
    salt = uuid.uuid4().hex
    wrapped = render(in_a_list(column("value"), salt, checked=takes_unpaired_surrogates(texts.sparkSession)))
    read = texts.selectExpr(
        "*", "is_valid_utf8(value) AS utf8", f"CASE WHEN is_valid_utf8(value) THEN {wrapped} END AS v"
    )
    members = "try_variant_get(v, '$[0]', 'map<string,variant>')"
    complete = f"try_variant_get(v, '$[1]', 'string') = '{salt}'"
    split = read.selectExpr("*", f"{complete} AS json", f"CASE WHEN {complete} THEN {members} END AS members")
    return split.selectExpr(
        "CASE WHEN utf8 THEN value ELSE make_valid_utf8(value) END AS event",
        "CASE WHEN NOT utf8 THEN CAST(value AS BINARY) END AS raw",
        "file",
        "members",
        f"CASE WHEN members IS NOT NULL THEN NULL WHEN NOT utf8 THEN {text_literal(NOT_UTF8)}"
        f" WHEN json THEN {text_literal(NOT_OBJECT)} ELSE {text_literal(NOT_JSON)} END AS fault",
        *kept,
    )


def _text_of(variant: str) -> str:
    """The string in a VARIANT made from JSON, NULL for every other kind: only strings can be had as binary."""
    return f"CAST(try_variant_get({variant}, '$', 'binary') AS STRING)"


def _extension_text(v: str) -> str:
    integer = (
        f"schema_of_variant({v}) = 'BIGINT' AND variant_get({v}, '$', 'bigint') BETWEEN -2147483648 AND 2147483647"
    )
    return (
        f"CASE WHEN try_variant_get({v}, '$', 'binary') IS NOT NULL THEN {_text_of(v)}"
        f" WHEN try_variant_get({v}, '$', 'struct<>') IS NOT NULL THEN to_json({v})"
        f" WHEN try_variant_get({v}, '$', 'array<variant>') IS NOT NULL THEN NULL"
        # From here on it is a scalar, so schema_of_variant has nothing deep to walk.
        f" WHEN schema_of_variant({v}) = 'BOOLEAN' OR {integer} THEN variant_get({v}, '$', 'string') END"
    )


def from_base64(text: str) -> str:
    """The bytes that a text is the base64 of; NULL when it is none."""
    return f"CASE WHEN {text} RLIKE '{_BASE64}' AND length({text}) % 4 = 0 THEN unbase64({text}) END"


def rfc3339_micros(text: str) -> str:
    """RFC 3339 text as microseconds since 1970, whatever the session's time zone; NULL when it is no such text.

    The `YEARS` are not looked at.
    """
    utc = f"lower(right({text}, 1)) = 'z'"
    local = f"upper(left({text}, length({text}) - CASE WHEN {utc} THEN 1 ELSE 6 END))"
    minutes = f"(60 * try_cast(left(right({text}, 5), 2) AS BIGINT) + try_cast(right({text}, 2) AS BIGINT))"
    sign = f"CASE left(right({text}, 6), 1) WHEN '-' THEN -60000000L ELSE 60000000L END"
    offset = f"CASE WHEN {utc} THEN 0L ELSE {sign} * {minutes} END"
    instant = f"unix_micros(try_cast(concat({local}, 'Z') AS TIMESTAMP)) - ({offset})"
    return f"CASE WHEN {text} RLIKE '{_RFC3339}' THEN {instant} END"


def _reason(salt: str) -> str:
    """The first rule that an event breaks, or NULL."""
    rules = [("fault IS NOT NULL", "fault")]

    def rule(condition: str, reason: str) -> None:
        rules.append((condition, text_literal(reason)))

    for name in REQUIRED:
        rule(f"{name}_v IS NULL", missing(name))
        rule(f"{name} IS NULL", not_string(name))
        rule(f"{name} = ''", empty(name))
        if name == "specversion":
            rule("specversion <> '1.0'", NOT_VERSION)
    for name in OPTIONAL:
        rule(f"{name}_v IS NOT NULL AND {name} IS NULL", not_string(name))
    rule(f"time IS NOT NULL AND (micros IS NULL OR micros NOT BETWEEN {YEARS[0]} AND {YEARS[1]})", NOT_TIME)
    names = f"translate(array_join(map_keys(others), ''), '{CHARACTERS}', '')"
    rule(f"{names} <> '' OR array_contains(map_keys(others), '')", EXTENSION_NAME)
    # array_contains is NULL when it finds nothing and there is a NULL: here, a value that is no extension attribute.
    refused = f"array_contains(map_values(extensions), '{salt}') IS NULL"
    array = "exists(map_values(others), v -> try_variant_get(v, '$', 'array<variant>') IS NOT NULL)"
    rule(f"CASE WHEN {refused} THEN {array} END", EXTENSION_ARRAY)
    rule(refused, EXTENSION_NUMBER)
    rule("data_v IS NOT NULL AND data_base64_v IS NOT NULL", TWO_DATA)
    rule("data_base64_v IS NOT NULL AND bytes IS NULL", NOT_BASE64)
    return "CASE " + " ".join(f"WHEN {condition} THEN {reason}" for condition, reason in rules) + " END"
