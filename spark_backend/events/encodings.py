"""What the rows of a source are as texts or bytes: one row for each name of `--encoding`.

A decoder turns rows of a source into the canonical table of `texts`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from tricel.compiler.environments.kafka_record import SPARK_COLUMNS

from . import packed
from .kafka_binding import decode_records


@dataclass(frozen=True, slots=True)
class Encoding:
    """A way to read rows: `decode` gives the table of events, and loses no row; `doc` is what the help says."""

    name: str
    decode: Callable[[DataFrame], DataFrame]
    doc: str


def _by_columns(rows: DataFrame) -> DataFrame:
    """Records of Kafka as the events in them; rows with other columns as they are."""
    return decode_records(rows) if set(rows.columns) >= SPARK_COLUMNS else rows


ENCODINGS: tuple[Encoding, ...] = (
    Encoding(
        "auto", _by_columns, "what the rows themselves say; rows with the columns of events are taken as they are"
    ),
    Encoding("json", packed.decode_json, "one CloudEvent in JSON in each value"),
    Encoding("json-batch", packed.decode_json_batch, "a JSON array of CloudEvents in each value"),
    Encoding("avro", packed.decode_avro, "one CloudEvent in the Avro format in each value"),
    Encoding("avro-compact", packed.decode_avro_compact, "one CloudEvent in the Avro Compact format in each value"),
    Encoding("protobuf", packed.decode_protobuf, "one CloudEvent in the Protobuf format in each value"),
    Encoding("protobuf-batch", packed.decode_protobuf_batch, "a CloudEventBatch of Protobuf in each value"),
    Encoding("http", packed.decode_http, "captures of HTTP messages: headers, and a body"),
)
BY_NAME = {row.name: row for row in ENCODINGS}
DEFAULT_ENCODING = ENCODINGS[0].name
