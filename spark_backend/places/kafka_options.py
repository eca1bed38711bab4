"""How Kafka is reached: the brokers, and what its clients and Spark's source and sink are told. Loads no Spark."""

from __future__ import annotations

import socket
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from ..failure import RunError
from .options import KafkaOptions

BOOTSTRAP = "bootstrap.servers"
PREFIX = "kafka."
_OF_SPARK = {
    name.lower(): name
    for name in (
        *("startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy"),
        *("minPartitions", "maxRecordsPerPartition", "minOffsetsPerTrigger", "maxTriggerDelay", "groupIdPrefix"),
        *("kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs"),
    )
}
"""Options of Spark's own, by their names in lower case."""
_TAKEN = {
    "subscribe": "the topics are those of kafka:TOPIC",
    "subscribepattern": "the topics are those of kafka:TOPIC",
    "assign": "the topics are those of kafka:TOPIC",
    "topic": "the topic is that of --out kafka:TOPIC",
    "includeheaders": "headers are always read",
    "includeheader": "headers are always read",
    "failondataloss": "records that are lost always end the run",
    "endingoffsets": "a run reads to the end of each partition at its beginning",
    "endingtimestamp": "a run reads to the end of each partition at its beginning",
    "endingoffsetsbytimestamp": "a run reads to the end of each partition at its beginning",
    "maxoffsetspertrigger": "give --max-records-per-batch",
    "acks": "deliveries wait for all replicas",
    "enable.idempotence": "deliveries are idempotent",
    "auto.offset.reset": "give startingOffsets",
    "enable.auto.commit": "a checkpoint keeps the place",
    "interceptor.classes": "Spark's source takes none",
    "key.deserializer": "keys are bytes",
    "value.deserializer": "values are bytes",
    "key.serializer": "keys are bytes",
    "value.serializer": "values are bytes",
}
_SECONDS = 5.0
_OF_KAFKA = "--kafka-bootstrap HOST:PORT names the brokers"


@dataclass(frozen=True)
class Connection:
    """What clients are told. `client` is by the names of Kafka's clients, `spark` by those of Spark's source.

    Values may be secrets, so none is in a message, nor in what this is as text.
    """

    bootstrap: str
    client: Mapping[str, str] = field(default_factory=dict, repr=False)
    spark: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def for_clients(self) -> dict[str, str]:
        """Options of Spark's source and sink that reach its clients."""
        return {f"{PREFIX}{name}": value for name, value in {**self.client, BOOTSTRAP: self.bootstrap}.items()}


def connection_of(options: KafkaOptions, place: str) -> Connection:
    """What the command line says of the way to Kafka. `--kafka-option` comes before `--kafka-config`.

    Raises:
        RunError: TRI616 where no broker is named, TRI617 for an option that is set here itself, and for a file that
            cannot be read.
    """
    client = _properties(options.config) if options.config else {}
    spark = {}
    for name in client:
        _refuse_taken(name, options.config)
    for given, value in options.options.items():
        name = given.removeprefix(PREFIX)
        _refuse_taken(name, f"--kafka-option {given}")
        if given.lower() in _OF_SPARK:
            spark[_OF_SPARK[given.lower()]] = value
        else:
            client[name] = value
    bootstrap = options.bootstrap or client.pop(BOOTSTRAP, "") or options.of_spark
    client.pop(BOOTSTRAP, None)
    if not bootstrap.strip():
        raise RunError("TRI616", "no broker is named", place, _OF_KAFKA)
    for address in bootstrap.split(","):
        _host_and_port(address)
    return Connection(bootstrap, client, spark)


def check_reachable(connection: Connection) -> None:
    """Raises RunError (TRI616) where none of the brokers takes a connection."""
    why = ""
    for address in connection.bootstrap.split(","):
        try:
            with socket.create_connection(_host_and_port(address), _SECONDS):
                return
        except OSError as e:
            why = why or (e.strerror or str(e) or type(e).__name__)
    raise RunError("TRI616", f"no broker can be reached: {why}", connection.bootstrap, _OF_KAFKA)


def check_known(connection: Connection, topics: Sequence[str], known: Collection[str]) -> None:
    """Raises RunError (TRI618) for the first of the topics that is not among the known ones."""
    missing = [t for t in topics if t not in known]
    if missing:
        meant = next(iter(get_close_matches(missing[0], sorted(known), 1)), "")
        help_ = f"did you mean '{meant}'?" if meant else "make it, or check its name and the brokers'"
        raise RunError("TRI618", f"there is no topic '{missing[0]}'", connection.bootstrap, help_)


def check_early(connection: Connection, topics: Sequence[str]) -> None:
    """Raises RunError (TRI618) for a topic that is not there, where confluent-kafka is installed and can tell.

    It knows other properties than Kafka's own clients: where some are given, Spark's client looks later.
    """
    if connection.client:
        return
    try:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient
    except ImportError:
        return
    try:
        client = AdminClient({BOOTSTRAP: connection.bootstrap, "log_level": 0})
        known = client.list_topics(timeout=_SECONDS).topics
    except KafkaException:
        return
    check_known(connection, topics, known)


def _host_and_port(address: str) -> tuple[str, int]:
    host, separator, port = address.strip().rpartition(":")
    if not separator or not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise RunError("TRI616", "this is no address of a broker", address, "write HOST:PORT, or several with commas")
    return host.strip("[]"), int(port)


def _refuse_taken(name: str, where: str) -> None:
    help_ = _TAKEN.get(name.lower())
    if help_ is not None:
        raise RunError("TRI617", f"'{name}' is set by tricel itself", where, help_)


def _properties(path: str) -> dict[str, str]:
    """The properties in a file: `name=value` or `name: value`, a comment after `#` or `!`, a line that ends in `\\` goes on."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        why = "it is not UTF-8" if isinstance(e, UnicodeDecodeError) else e.strerror
        raise RunError("TRI617", f"the properties cannot be read: {why}", path, "check --kafka-config") from None
    found: dict[str, str] = {}
    line = ""
    for number, piece in enumerate(text.splitlines(), 1):
        if not line and piece.lstrip()[:1] in ("", "#", "!"):
            continue
        line += piece.lstrip()
        if (len(line) - len(line.rstrip("\\"))) % 2:
            line = line[:-1]
            continue
        ends = [i for i, c in enumerate(line) if c in "=:"]
        if not ends or not line[: ends[0]].strip():
            raise RunError("TRI617", f"line {number} is no property", path, "write name=value")
        found[line[: ends[0]].strip()] = _unescaped(line[ends[0] + 1 :].lstrip())
        line = ""
    return found


def _unescaped(text: str) -> str:
    """A value with `\\\\` and the escapes of signs resolved."""
    found, pieces = [], iter(text)
    for sign in pieces:
        if sign != "\\":
            found.append(sign)
            continue
        escaped = next(pieces, "")
        found.append({"n": "\n", "t": "\t", "r": "\r"}.get(escaped, escaped))
    return "".join(found)
