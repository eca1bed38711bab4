"""Topics and their offsets, asked of the brokers by the client of Kafka that Spark's connector brings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from ..failure import RunError
from .kafka_options import BOOTSTRAP, Connection, check_known

_MILLISECONDS = 20_000
_ADMIN = "org.apache.kafka.clients.admin"


def check_topics(spark: SparkSession, connection: Connection, topics: Sequence[str]) -> None:
    """Raises RunError: TRI618 for a topic that is not there, TRI616 where the brokers do not answer."""
    with _Admin(spark, connection) as admin:
        admin.check(topics)


def offsets(spark: SparkSession, connection: Connection, topics: Sequence[str]) -> tuple[str, str]:
    """The first offset of each partition and the one after the last, as Spark's source reads them in JSON.

    Raises:
        RunError: TRI618 for a topic that is not there, TRI616 where the brokers do not answer.
    """
    with _Admin(spark, connection) as admin:
        partitions = admin.check(topics)
        return admin.offsets(partitions, "earliest"), admin.offsets(partitions, "latest")


class _Admin:
    def __init__(self, spark: SparkSession, connection: Connection) -> None:
        self.jvm: Any = spark._jvm
        self.connection = connection

    def __enter__(self) -> _Admin:
        settings = {
            "default.api.timeout.ms": str(_MILLISECONDS),
            "request.timeout.ms": str(_MILLISECONDS // 2),
            **self.connection.client,
            BOOTSTRAP: self.connection.bootstrap,
        }
        properties = self.jvm.java.util.Properties()
        for name, value in settings.items():
            properties.setProperty(name, value)
        try:
            self.client = self._class("Admin").create(properties)
        except Py4JJavaError as e:
            raise self._unreachable(e) from None
        return self

    def __exit__(self, *raised: object) -> None:
        self.client.close()

    def check(self, topics: Sequence[str]) -> list[tuple[str, int]]:
        """The partitions of the topics."""
        try:
            known = set(self.client.listTopics().names().get())
            check_known(self.connection, topics, known)
            names = self.jvm.java.util.ArrayList()
            for topic in topics:
                names.add(topic)
            found = self.client.describeTopics(names).allTopicNames().get()
            return [(topic, part.partition()) for topic in topics for part in found.get(topic).partitions()]
        except Py4JJavaError as e:
            raise self._unreachable(e) from None

    def offsets(self, partitions: Sequence[tuple[str, int]], which: str) -> str:
        """The offsets of one kind, as JSON."""
        asked = self.jvm.java.util.HashMap()
        spec = getattr(self._class("OffsetSpec"), which)
        keys = {p: self.jvm.org.apache.kafka.common.TopicPartition(*p) for p in partitions}
        for key in keys.values():
            asked.put(key, spec())
        try:
            told = self.client.listOffsets(asked).all().get()
            found: dict[str, dict[str, int]] = {}
            for (topic, partition), key in keys.items():
                found.setdefault(topic, {})[str(partition)] = told.get(key).offset()
        except Py4JJavaError as e:
            raise self._unreachable(e) from None
        return json.dumps(found)

    def _class(self, name: str) -> Any:
        found = self.jvm
        for part in (*_ADMIN.split("."), name):
            found = getattr(found, part)
        return found

    def _unreachable(self, e: Py4JJavaError) -> RunError:
        """The kind of error alone: its text may hold settings."""
        thrown = e.java_exception
        while thrown.getCause() is not None:
            thrown = thrown.getCause()
        why = thrown.getClass().getSimpleName()
        help_ = "check --kafka-bootstrap and what --kafka-config says of security"
        return RunError("TRI616", f"the brokers do not answer: {why}", self.connection.bootstrap, help_)
