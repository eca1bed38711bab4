"""Pairs, and what is no event, as records for Spark's Kafka sink: topic, key, value, headers."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from ..sql import quoted, text_literal

ALL = ""
"""Stands for every trigger in a mapping of triggers to topics."""
_STRINGS = ("specversion", "id", "source", "type", "subject", "datacontenttype", "dataschema")
_STRUCTURED = "application/cloudevents+json; charset=UTF-8"
_NONE = "CAST(array() AS array<struct<key: string, value: binary>>)"


def deliveries(pairs: DataFrame, topics: Mapping[str, str]) -> DataFrame:
    """Delivered pairs: the record as it came, or the event as structured JSON, with `tricel-id` and `tricel-trigger`."""
    rows = "".join(f" WHEN {text_literal(id_)} THEN {text_literal(topic)}" for id_, topic in topics.items() if id_)
    topic = text_literal(topics[ALL]) if ALL in topics else f"CASE trigger{rows} END"
    key, value, headers = _content(pairs, _text(pairs))
    told = {"tricel-id": _identity(pairs), "tricel-trigger": "trigger"}
    return pairs.selectExpr(f"{topic} AS topic", f"{key} AS key", f"{value} AS value", _with(headers, told))


def dead_letters(rows: DataFrame, outcome: str, topic: str) -> DataFrame:
    """Pairs that erred, or what is malformed, with the reason, the outcome and, for a pair, its trigger."""
    malformed = outcome == "malformed"
    text = "coalesce(raw, CAST(text AS BINARY))" if malformed else "CAST(event AS BINARY)"
    key, value, headers = _content(rows, (text, _NONE))
    told = {
        "tricel-id": "file" if malformed else _identity(rows),
        "tricel-outcome": text_literal(outcome),
        "tricel-reason": "reason" if malformed else "error",
        **({} if malformed else {"tricel-trigger": "trigger"}),
    }
    return rows.selectExpr(
        f"{text_literal(topic)} AS topic", f"{key} AS key", f"{value} AS value", _with(headers, told)
    )


def _content(rows: DataFrame, without: tuple[str, str]) -> tuple[str, str, str]:
    """Key, value and headers: the record's, or the value and headers of an event `without` one."""
    if "record" not in rows.columns:
        return "CAST(NULL AS BINARY)", *without
    value = f"CASE WHEN record IS NULL THEN {without[0]} ELSE record.value END"
    headers = f"CASE WHEN record IS NULL THEN {without[1]} ELSE coalesce(record.headers, {_NONE}) END"
    return "record.key", value, headers


def _with(headers: str, told: Mapping[str, str]) -> str:
    """Headers and those that are added; what an earlier run has added of the same names is left out."""
    added = ", ".join(f"named_struct('key', '{name}', 'value', CAST({sql} AS BINARY))" for name, sql in told.items())
    ours = ", ".join(f"'{n}'" for n in ("tricel-id", "tricel-outcome", "tricel-reason", "tricel-trigger"))
    kept = f"filter({headers}, h -> h.key NOT IN ({ours}))"
    return f"filter(concat({kept}, array({added})), h -> h.value IS NOT NULL OR h.key NOT IN ({ours})) AS headers"


def _identity(rows: DataFrame) -> str:
    """What tells a record from others: its place in Kafka, or the event's source and id."""
    event = "to_json(array(source, id))" if {"source", "id"} <= set(rows.columns) else "file"
    return f"CASE WHEN record IS NOT NULL THEN file ELSE {event} END" if "record" in rows.columns else event


def _text(rows: DataFrame) -> tuple[str, str]:
    """Value and headers of an event that was no record: structured JSON, or the row where it has other columns."""
    there = set(rows.columns)
    types = {f.name: f.dataType.typeName() for f in rows.schema.fields}
    if "event" in there:
        value = "event"
    elif {"id", "source", "type", "extensions", "data"} <= there and types["extensions"] == "map":
        value = _structured(there)
    else:
        left = [quoted(c) for c in rows.columns if c not in ("trigger", "file", "record", "malformed", "raw")]
        value = f"to_json(struct({', '.join(left)}))"
        return f"CAST({value} AS BINARY)", _content_type("application/json")
    return f"CAST({value} AS BINARY)", _content_type(_STRUCTURED)


def _structured(there: set[str]) -> str:
    entries = [f"struct('{n}' AS k, CAST({n} AS VARIANT) AS v)" for n in _STRINGS if n in there]
    if "time" in there:
        at = "concat(translate(CAST(to_utc_timestamp(time, current_timezone()) AS STRING), ' ', 'T'), 'Z')"
        entries.append(f"struct('time' AS k, CAST({at} AS VARIANT) AS v)")
    entries.append("struct('data' AS k, parse_json(data) AS v)")
    if "data_base64" in there:
        entries.append("struct('data_base64' AS k, CAST(data_base64 AS VARIANT) AS v)")
    members = f"map_from_entries(filter(array({', '.join(entries)}), e -> e.v IS NOT NULL))"
    others = "transform_values(coalesce(extensions, CAST(map() AS map<string, string>)), (k, v) -> CAST(v AS VARIANT))"
    return f"to_json(map_concat({members}, {others}))"


def _content_type(media: str) -> str:
    return f"array(named_struct('key', 'content-type', 'value', CAST('{media}' AS BINARY)))"
