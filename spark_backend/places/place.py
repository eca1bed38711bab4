"""A place as text: `PATH`, `table:NAME`, `kafka:TOPIC[,TOPIC]` or `delta:PATH`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum

from tricel.compiler.suggest import closest

from ..failure import RunError

PATH, TABLE, KAFKA, DELTA = "path", "table", "kafka", "delta"
PREFIXES = (TABLE, KAFKA, DELTA)
"""The kinds that a text names before a colon; what names none is a path."""
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(//)?")
_WRITTEN = {TABLE: "table:NAME", KAFKA: "kafka:TOPIC or kafka:TOPIC,TOPIC", DELTA: "delta:PATH"}
_AS_A_TABLE = "name it in the session's catalog, and give table:NAME"
_AS_FILES = "have its events written to files, to a table or to Kafka, and give PATH, table:NAME or kafka:TOPIC"
_STREAMS = ("amqp", "eventhubs", "kinesis", "mqtt", "nats", "pubsub", "pulsar", "rabbitmq")
_TABLES = ("hudi", "iceberg", "jdbc", "snowflake")
_ADVICE = {**dict.fromkeys(_STREAMS, _AS_FILES), **dict.fromkeys(_TABLES, _AS_A_TABLE)}
_PATHS = (
    "give a file, a folder or a glob, a URI of a file system that Spark can reach, such as s3a://bucket/events, or "
)
_KINDS = "table:NAME, kafka:TOPIC or delta:PATH"
_LIKE = "did you mean"


class Use(StrEnum):
    """What a place is for."""

    READ = "read"
    STREAM = "stream"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Place:
    """A place that a command line names: its kind, what follows the kind, and the text itself.

    The name is empty for `kafka:` alone, where triggers name topics.
    """

    kind: str
    name: str
    text: str


def parse_place(text: str | os.PathLike[str]) -> Place:
    """The place that a text names. A path that begins like a kind is written `./table:NAME`.

    Raises:
        RunError: TRI611 for what looks like a kind and is none, TRI613 where nothing follows a kind.
    """
    given = os.fspath(text)
    scheme = SCHEME.match(given)
    if scheme is None:
        return Place(PATH, given, given)
    kind, slashes = scheme[1].lower(), bool(scheme[2])
    if kind in PREFIXES:
        if slashes:
            help_ = f"write {_WRITTEN[kind]}" + ("; --kafka-bootstrap names the brokers" if kind == KAFKA else "")
            raise RunError("TRI611", f"'{kind}://' is not a place that is known here", given, help_)
        name = given[len(kind) + 1 :]
        if not name.strip() and (name or kind != KAFKA):
            raise RunError("TRI613", f"nothing follows '{kind}:'", given, f"write {_WRITTEN[kind]}")
        return Place(kind, name, given)
    if os.path.lexists(given):
        return Place(PATH, given, given)
    if kind in _ADVICE:
        raise RunError(
            "TRI611", f"'{kind}:' is not a place that events are read from or written to", given, _ADVICE[kind]
        )
    if not slashes and kind != "file":
        meant = closest(kind, PREFIXES)
        help_ = f"{_LIKE} '{meant}:{given[len(kind) + 1 :]}'?" if meant else f"{_PATHS}{_KINDS}"
        raise RunError("TRI611", f"'{kind}:' is not a kind of place that is known here", given, help_)
    return Place(PATH, given, given)
