"""What the rows of a source are as texts or bytes: one row for each name of `--encoding`.

A decoder turns rows of a source into the canonical table of `texts`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from tricel.compiler.environments.kafka_record import SPARK_COLUMNS

from ..failure import RunError
from . import packed
from .kafka_binding import decode_records


@dataclass(frozen=True, slots=True)
class Encoding:
    """A way to read rows: `stage` gives what `packed.decoded` reads, or for `auto` the events, and loses no row; `doc` is what the help says.

    A table of such rows has one of the `columns`. `text` says that lines and documents of text can be in it.
    """

    name: str
    stage: Callable[[DataFrame], DataFrame]
    doc: str
    text: bool = False
    columns: tuple[str, ...] = ("value",)

    def decode(self, rows: DataFrame) -> DataFrame:
        """The events in the rows."""
        return packed.decoded(self.stage(rows)) if self.name != DEFAULT_ENCODING else self.stage(rows)


def _by_columns(rows: DataFrame) -> DataFrame:
    """Records of Kafka as the events in them; rows with other columns as they are."""
    return decode_records(rows) if set(rows.columns) >= SPARK_COLUMNS else rows


ENCODINGS: tuple[Encoding, ...] = (
    Encoding(
        "auto", _by_columns, "what the rows themselves say; rows with the columns of events are taken as they are"
    ),
    Encoding("json", packed.stage_json, "one CloudEvent in JSON in each value", text=True),
    Encoding("json-batch", packed.stage_json_batch, "a JSON array of CloudEvents in each value", text=True),
    Encoding("avro", packed.stage_avro, "one CloudEvent in the Avro format in each value"),
    Encoding("avro-compact", packed.stage_avro_compact, "one CloudEvent in the Avro Compact format in each value"),
    Encoding("protobuf", packed.stage_protobuf, "one CloudEvent in the Protobuf format in each value"),
    Encoding("protobuf-batch", packed.stage_protobuf_batch, "a CloudEventBatch of Protobuf in each value"),
    Encoding(
        "http",
        packed.stage_http,
        "captures of HTTP messages: headers, and a body",
        text=True,
        columns=("value", "headers"),
    ),
)
BY_NAME = {row.name: row for row in ENCODINGS}
DEFAULT_ENCODING = ENCODINGS[0].name


def chosen_encoding(name: str) -> Encoding | None:
    """The encoding that is called so; None where the rows themselves say."""
    return None if name == DEFAULT_ENCODING else BY_NAME[name]


def refuse_texts(name: str, text: str) -> None:
    """Raises RunError (TRI620) where a file of text, which `text` names, can hold nothing in an encoding."""
    if name != DEFAULT_ENCODING and not BY_NAME[name].text:
        help_ = "give Parquet files, a table or Kafka with a column 'value' of bytes"
        raise RunError("TRI620", f"bytes of the encoding {name} are not read from text", text, help_)
