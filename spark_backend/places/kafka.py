"""Topics of Kafka as a source and as a sink."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from ..events.tables import EventTable, EventTables
from ..failure import RunError, Warn
from ..spark_errors import SPARK_FAILURES, cause
from .connectors import KAFKA_CONNECTOR
from .kafka_options import Connection, check_early, check_reachable, connection_of
from .kafka_records import ALL, dead_letters, deliveries
from .kafka_topics import check_topics, offsets
from .model import Addressee, Staged, Told
from .names import topics_of
from .options import PlaceOptions
from .place import KAFKA, Place, Use, parse_place
from .rows import as_events, chosen, is_record
from .sessions import check_format

_STARTS = ("startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp")
_PRODUCER = {"kafka.acks": "all", "kafka.enable.idempotence": "true"}


def check(places: Sequence[Place], options: PlaceOptions, use: Use) -> None:
    """Raises RunError (TRI613, TRI616, TRI617, TRI618, TRI619) for what is plain before Spark starts."""
    topics = sink(places[0], options).named if use is Use.WRITE else source(places, options).topics
    connection = connection_of(options.kafka, places[0].text)
    check_reachable(connection)
    check_early(connection, topics)


@dataclass(frozen=True)
class Topics:
    """The records of topics."""

    topics: tuple[str, ...]
    connection: Connection
    options: PlaceOptions

    @property
    def name(self) -> str:
        """The topics, with their kind."""
        return f"{KAFKA}:{','.join(self.topics)}"

    @property
    def stores(self) -> frozenset[str]:
        """Each topic."""
        return frozenset(f"{KAFKA}:{topic}" for topic in self.topics)

    def holds(self, path: str) -> bool:
        """False: topics are no files."""
        return False

    def batch(self, spark: SparkSession, warn: Warn) -> EventTables:
        """The records from the first, or where `startingOffsets` says, to those that are the last now."""
        check_format(spark, KAFKA_CONNECTOR, self.name)
        first, end = offsets(spark, self.connection, self.topics)
        given = self.connection.spark
        earliest = given.get("startingOffsets", "earliest") == "earliest"
        start = {"startingOffsets": first} if earliest and not set(given) & set(_STARTS[1:]) else {}
        options = {**self._options, **start, "endingOffsets": end}
        try:
            rows = spark.read.format("kafka").options(**options).load()
        except SPARK_FAILURES as e:
            raise self._unreadable(e) from None
        return EventTable(self._events(chosen(rows, self.options.where)))

    def rows(self, spark: SparkSession) -> DataFrame:
        """The records that arrive, from the first, or where `startingOffsets` says."""
        check_format(spark, KAFKA_CONNECTOR, self.name)
        check_topics(spark, self.connection, self.topics)
        options = self._options
        if not set(options) & set(_STARTS):
            options["startingOffsets"] = "earliest"
        if self.options.rate.records:
            options["maxOffsetsPerTrigger"] = str(self.options.rate.records)
        try:
            rows = spark.readStream.format("kafka").options(**options).load()
        except SPARK_FAILURES as e:
            raise self._unreadable(e) from None
        return chosen(rows, self.options.where)

    def events(self, spark: SparkSession, batch: DataFrame, observer: Told) -> EventTable:
        """The records of a batch."""
        return EventTable(self._events(batch))

    def _events(self, rows: DataFrame) -> DataFrame:
        if self.options.environment.record:
            return as_events(rows, self.options, self.name)
        record = "struct(key, value, headers, timestamp) AS record"
        return rows.selectExpr("*", "concat_ws('/', topic, partition, offset) AS file", record)

    @property
    def _options(self) -> dict[str, str]:
        told = {"subscribe": ",".join(self.topics), "includeHeaders": "true", "failOnDataLoss": "true"}
        return {**self.connection.for_clients, **self.connection.spark, **told}

    def _unreadable(self, e: Exception) -> RunError:
        help_ = "check --kafka-option and --kafka-config"
        return RunError("TRI616", f"this cannot be read: {cause(e)}", self.name, help_)


def source(places: Sequence[Place], options: PlaceOptions) -> Topics:
    """The records of topics.

    Raises RunError: TRI613, TRI616, TRI617.
    """
    topics = tuple(dict.fromkeys(topic for place in places for topic in topics_of(place)))
    return Topics(topics, connection_of(options.kafka, places[0].text), options)


@dataclass(frozen=True)
class TopicSink:
    """A topic that pairs are produced to, or one for each trigger or subscriber; at least once."""

    topic: str
    connection: Connection
    topic_from: str = ""
    dead: str = ""

    @property
    def name(self) -> str:
        """The topic, with its kind."""
        return f"{KAFKA}:{self.topic}"

    @property
    def stores(self) -> frozenset[str]:
        """The topics that the command line names."""
        return frozenset(f"{KAFKA}:{topic}" for topic in self.named)

    @property
    def folder(self) -> str:
        """Empty: the account of a run is in no topic."""
        return ""

    @property
    def with_record(self) -> bool:
        """True: a record is written as it came."""
        return True

    @property
    def named(self) -> tuple[str, ...]:
        """The topics that the command line names."""
        return tuple(t for t in ("" if self.topic_from else self.topic, self.dead) if t)

    def check(self, spark: SparkSession) -> None:
        """Raises RunError (TRI612, TRI616, TRI618) where the topics cannot be written to."""
        check_format(spark, KAFKA_CONNECTOR, self.name)
        check_topics(spark, self.connection, self.named)

    def prepare(self, staged: Staged) -> None:
        """Raises RunError (TRI618, TRI619) where a topic of the batch is not there, or no topic is called so."""
        if staged.delivered is not None and self.topic_from:
            from_topic = "substring_index(file, '/', 1)" if is_record(staged.delivered) else "''"
            found = staged.delivered.selectExpr("trigger", f"{from_topic} AS origin").distinct().collect()
            named = self._topics(staged.triggers)
            for row in found:
                if named[row["trigger"]] == row["origin"]:
                    message = f"the records of '{row['origin']}' would go back to it, by '{row['trigger']}'"
                    raise RunError("TRI619", message, row["trigger"], "choose another topic for it")
            check_topics(staged.spark, self.connection, sorted({named[row["trigger"]] for row in found}))

    def publish(self, staged: Staged, *, again: bool) -> None:
        """Produces the pairs, and the dead letters. What was begun before is produced anew."""
        if staged.delivered is not None:
            topics = self._topics(staged.triggers) if self.topic_from else {ALL: self.topic}
            self._produce(deliveries(staged.delivered, topics))
        for outcome, table in (("errored", staged.errored), ("malformed", staged.malformed)):
            if self.dead and table is not None:
                self._produce(dead_letters(table, outcome, self.dead))

    def _produce(self, records: DataFrame) -> None:
        try:
            records.write.format("kafka").options(**self.connection.for_clients, **_PRODUCER).save()
        except SPARK_FAILURES as e:
            help_ = "the same command goes on with it when the brokers take records again"
            raise RunError("TRI616", f"records cannot be written: {cause(e)}", self.name, help_) from None

    def _topics(self, triggers: Sequence[Addressee]) -> Mapping[str, str]:
        """The topic of each trigger."""
        found = {}
        for t in triggers:
            named = {"trigger": t.id, "subscriber": t.destination, "annotation": t.topic}[self.topic_from]
            name = named if self.topic_from == "annotation" else named.replace("/", ".")
            if not name:
                message = f"no {self.topic_from} names a topic for '{t.id}'"
                raise RunError(
                    "TRI619", message, t.id, "give it the annotation tricel.dev/topic, or another --topic-from"
                )
            try:
                (found[t.id],) = topics_of(Place(KAFKA, name, t.id))
            except (RunError, ValueError):
                message = f"no topic is called '{name}', after the {self.topic_from} of '{t.id}'"
                raise RunError("TRI619", message, t.id, "rename it, or choose another --topic-from") from None
        return found


def sink(place: Place, options: PlaceOptions) -> TopicSink:
    """The topics that pairs are produced to.

    Raises RunError: TRI613, TRI616, TRI617, TRI619 for what is no one topic.
    """
    kafka = options.kafka
    topics = ("",) if kafka.topic_from and not place.name else topics_of(place)
    if len(topics) > 1:
        raise RunError("TRI619", "deliveries go to one topic", place.text, "name one, or give --topic-from")
    dead = parse_place(kafka.dead_letters) if kafka.dead_letters else None
    if dead is not None and (dead.kind != KAFKA or len(topics_of(dead)) > 1):
        raise RunError("TRI619", "dead letters go to one topic of Kafka", dead.text, "write --dead-letters kafka:TOPIC")
    return TopicSink(topics[0], connection_of(kafka, place.text), kafka.topic_from, dead.name if dead else "")
