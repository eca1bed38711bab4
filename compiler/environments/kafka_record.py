"""A Kafka record, as Spark's Kafka source has it with the option `includeHeaders`, and as record policies name it."""

from __future__ import annotations

from ..celtypes import BYTES, INT, JSON, STRING, TIMESTAMP, Field, Record, list_of, map_of
from .model import Environment, Form, Storage, Words

SPARK_COLUMNS = frozenset({"key", "value", "topic", "partition", "offset"})
"""Columns by which a table of Spark's Kafka source is told from others."""
HEADER = Record("header", fields=(("key", Field(STRING, required=True)), ("value", Field(BYTES))))
_HEADERS = "read the topic with the option includeHeaders"
_POLICY = "Spark's Kafka source does not give it: add a column of that name"

KAFKA_RECORD = Environment(
    "Kafka record",
    (
        ("topic", STRING),
        ("topic_id", STRING),
        ("partition", INT),
        ("offset", INT),
        ("timestamp", TIMESTAMP),
        ("policy", STRING),
        ("key", JSON),
        ("key_bytes", BYTES),
        ("value", JSON),
        ("value_bytes", BYTES),
        ("headers", map_of(STRING, STRING)),
        ("header_list", list_of(HEADER)),
    ),
    payload="value",
    storage=(
        ("topic", Storage(("topic",))),
        ("topic_id", Storage(("topic_id",), optional=True, advice=_POLICY)),
        ("partition", Storage(("partition",), default="integer")),
        ("offset", Storage(("offset",))),
        ("timestamp", Storage(("timestamp",), Form.MILLISECONDS)),
        ("policy", Storage(("policy",), optional=True, advice=_POLICY)),
        ("key", Storage(("key",), Form.JSON, "binary", nullable=True)),
        ("key_bytes", Storage(("key_bytes", "key"), Form.BYTES, "binary", optional=True)),
        ("value", Storage(("value",), Form.JSON, "binary", nullable=True)),
        ("value_bytes", Storage(("value_bytes", "value"), Form.BYTES, "binary", optional=True)),
        ("headers", Storage(("headers",), Form.LAST_ENTRIES, nullable=True, advice=_HEADERS)),
        ("header_list", Storage(("headers",), Form.ENTRIES, nullable=True, advice=_HEADERS)),
    ),
    words=Words(
        one="record",
        many="records",
        whole=frozenset({"consumerrecord", "record", "rec", "message", "msg", "event"}),
        aliases={
            "body": "value",
            "data": "value",
            "payload": "value",
            "val": "value",
            "header": "headers",
            "hdrs": "headers",
            "ts": "timestamp",
            "time": "timestamp",
            "timestamp_ms": "timestamp",
            "topicid": "topic_id",
            "topicpartition": "partition",
            "validationpolicy": "policy",
            "record_validation_policy": "policy",
        },
    ),
    docs=(
        ("topic", "The topic's name."),
        ("topic_id", "The topic's id, a UUID as text; in a column of its own."),
        ("partition", "The number of the partition."),
        ("offset", "The place in the partition."),
        ("timestamp", "When the record was made or appended, as the topic is configured."),
        ("policy", "What the topic's setting `record.validation.policy` says; in a column of its own."),
        ("key", "The key: JSON, text or bytes, as declared; null where the record has none."),
        ("key_bytes", "The key's bytes; missing where the record has none."),
        ("value", "The value: JSON, text or bytes, as declared; null in a tombstone."),
        ("value_bytes", "The value's bytes; missing in a tombstone."),
        ("headers", "The last value of each header as text, by key; without those that are null or no UTF-8."),
        ("header_list", "All headers in their order, each with `key` and, unless it is null, `value`, as bytes."),
    ),
)


def kafka_record(key: Form = Form.JSON, value: Form = Form.JSON) -> Environment:
    """A Kafka record whose key and value are JSON, text or bytes."""
    return KAFKA_RECORD.decoded("key", key).decoded("value", value)
