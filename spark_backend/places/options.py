"""What the command line says about places, as it is handed to every source and sink. Loads no Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tricel.compiler import CLOUD_EVENT, Environment

from ..payload_schemas import PayloadSchema

_FILES_AT_ONCE = 1000

TOPIC_FROM = ("trigger", "subscriber", "annotation")
"""What names the topic that a pair goes to."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The most that one batch takes: in files or in bytes (of which it takes one file at least), not both; in records of
    a source that has no files."""

    files: int | None = None
    bytes: int | None = None
    records: int | None = None

    def options(self) -> dict[str, str]:
        """The options of Spark's file source."""
        if self.bytes is not None:
            return {"maxBytesPerTrigger": str(self.bytes)}
        return {"maxFilesPerTrigger": str(self.files or _FILES_AT_ONCE)}


@dataclass(frozen=True)
class KafkaOptions:
    """How Kafka is reached and written to. `config` is the path of a properties file, empty for none.

    `bootstrap` is `--kafka-bootstrap`, `options` are of Spark's source and sink (`--kafka-option`, which come last).
    `topic_from` is one of `TOPIC_FROM`, empty for the sink's one topic. `dead_letters` is the text of a place.
    `of_spark` are the brokers that a setting of Spark names, where nothing else does.
    """

    bootstrap: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    config: str = ""
    topic_from: str = ""
    dead_letters: str = ""
    of_spark: str = ""


@dataclass(frozen=True)
class PlaceOptions:
    """What every source and sink is made with.

    `environment` says what a row is, `schemas` those of payloads, by root, `encoding` is a name of `events.encodings`, `where` an SQL condition on the
    source's own columns (empty for none), `rate` the most that a batch of a stream takes.
    """

    environment: Environment = CLOUD_EVENT
    schemas: tuple[tuple[str, PayloadSchema], ...] = ()
    encoding: str = "auto"
    where: str = ""
    rate: Rate = Rate()
    kafka: KafkaOptions = field(default_factory=KafkaOptions)


DEFAULT = PlaceOptions()
