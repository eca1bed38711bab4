"""Rows of a source as events: chosen by a condition, decoded, and looked at for what every event has."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn
from tricel.compiler import MQTT_MESSAGE, Environment
from tricel.compiler.environments.kafka_record import SPARK_COLUMNS

from ..events.encodings import chosen_encoding
from ..events.kafka_binding import decode_records
from ..events.mqtt_messages import messages_of, mqtt_messages
from ..events.payloads import decode_payloads
from ..events.readers import Reader, complete
from ..failure import RunError
from ..spark_errors import SPARK_FAILURES, cause
from .options import PlaceOptions

RECORD = "record"
_RECORD_TYPE = "struct<key:binary,value:binary,headers:array<struct<key:string,value:binary>>,timestamp:timestamp>"
EVENT = ("id", "source", "type")


def chosen(rows: DataFrame, where: str) -> DataFrame:
    """The rows on which an SQL condition is true, and those that are malformed; all for an empty condition.

    Raises:
        RunError: TRI615 where Spark does not take the condition.
    """
    if not where:
        return rows
    try:
        wanted = fn.expr(where)
        if "malformed" in rows.columns:
            wanted = fn.col("malformed").isNotNull() | wanted
        found = rows.where(wanted)
        found.schema  # noqa: B018 - Spark Connect looks at nothing before it is asked
    except SPARK_FAILURES as e:
        raise refused(e, where) from None
    return found


def refused(e: Exception, where: str) -> RunError:
    """What is said of a condition that Spark does not take."""
    help_ = "--where is an SQL condition on the columns of the source, such as \"date = '2026-01-31'\""
    return RunError("TRI615", f"Spark does not take the condition: {cause(e)}", where, help_)


def reader_of(options: PlaceOptions) -> Reader:
    """What makes events of texts and of tables, as the options say what they are."""
    environment = options.environment

    def decoded(events: DataFrame) -> DataFrame:
        for root, schema in options.schemas:
            if root in events.columns:
                events = decode_payloads(complete(events), root, schema)
        return events

    encoding = chosen_encoding(options.encoding)
    if encoding is not None:
        return Reader(of_table=encoding.decode, decoded=decoded, of_values=encoding.decode)
    if environment.name != MQTT_MESSAGE.name:
        return Reader(decoded=decoded)
    return Reader(
        lambda parsed: messages_of(parsed, environment), lambda table: mqtt_messages(table, environment), decoded
    )


def as_events(rows: DataFrame, options: PlaceOptions, place: str) -> DataFrame:
    """Rows of a table as events. Rows of an encoding, and records of Kafka where events are CloudEvents, are decoded, and MQTT messages are read as
    EMQX writes them; other rows are events. Payloads of a schema are read by it.

    Raises:
        RunError: TRI601 where the columns are not those of events.
    """
    environment: Environment = options.environment
    reader = reader_of(options)
    if not environment.record:  # the filters tell what they miss
        return reader.decoded(reader.of_table(rows))
    if chosen_encoding(options.encoding) is not None:
        return reader.decoded(reader.of_table(rows))
    missing = [name for name in EVENT if name not in rows.columns]
    if missing and set(rows.columns) >= SPARK_COLUMNS:
        return reader.decoded(decode_records(rows))
    if missing:
        raise RunError("TRI601", f"the table has no column {' and no '.join(map(repr, missing))}", place)
    return reader.decoded(rows)


def is_record(events: DataFrame) -> bool:
    """Whether events have the column `record` of a decoder: the record that each came in."""
    return RECORD in events.columns and events.schema[RECORD].dataType.simpleString() == _RECORD_TYPE
