"""An Apache Kafka broker on the loopback address, in KRaft mode, run from Maven Central's jars.

It is killed without warning (`kill`) and started again on the same data and the same ports.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from maven_jars import jars

VERSION = "4.1.0"
_ARTIFACTS = (
    f"org.apache.kafka:kafka_2.13:{VERSION}",
    f"org.apache.kafka:kafka-tools:{VERSION}",
    "org.slf4j:slf4j-simple:1.7.36",
)
_WITHOUT = ("org.apache.kafka:kafka-tools=*:*",)
_OF_SPARK = tuple(
    f"org.apache.spark:spark-sql-kafka-0-10_2.13={name}"
    for name in (
        "org.apache.hadoop:*",
        "org.scala-lang:*",
        "org.scala-lang.modules:*",
        "org.apache.spark:spark-tags_2.13",
    )
)
"""What Spark's connector needs and Spark has."""
_PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={data}
auto.create.topics.enable=false
num.partitions=1
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
broker.session.timeout.ms=1500
broker.heartbeat.interval.ms=300
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=2097152
log.retention.hours=-1
"""
_JAVA = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
_READY = 60
"""Seconds that a start may take; it takes about three."""


@dataclass
class Broker:
    """A broker whose data is below `root`."""

    root: Path
    jars: Sequence[Path]
    port: int = field(default_factory=lambda: _free_port())
    controller: int = field(default_factory=lambda: _free_port())
    process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """What clients connect to."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Starts it, on the data that it left, and waits until it answers."""
        settings = self.root / "server.properties"
        if not settings.exists():
            self.root.mkdir(parents=True, exist_ok=True)
            text = _PROPERTIES.format(port=self.port, controller=self.controller, data=self.root / "data")
            settings.write_text(text)
            cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
            self.tool("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(settings))
        with (self.root / "log").open("ab") as log:
            command = [*self._java, "kafka.Kafka", str(settings)]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        began = time.monotonic()
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() - began > _READY:
                self.kill()
                raise RuntimeError(f"the broker does not start: {(self.root / 'log').read_text()[-2000:]}")

    def stop(self) -> None:
        """Ends it in order."""
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
            self.process = None

    def kill(self) -> None:
        """Ends it by SIGKILL."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def tool(self, class_: str, *arguments: str, given: bytes = b"") -> bytes:
        """What one of Kafka's own tools prints."""
        done = subprocess.run([*self._java, class_, *arguments], input=given, capture_output=True, timeout=120)
        if done.returncode:
            raise RuntimeError(f"{class_}: {(done.stdout + done.stderr).decode(errors='replace')[-2000:]}")
        return done.stdout

    def create(self, topic: str, partitions: int = 1, **settings: str) -> str:
        """Makes a topic; its name."""
        from confluent_kafka.admin import AdminClient, NewTopic

        config = {name.replace("_", "."): value for name, value in settings.items()}
        client = AdminClient({"bootstrap.servers": self.bootstrap})
        new = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=config)
        client.create_topics([new])[topic].result(30)
        return topic

    def produce(self, topic: str, records: Sequence[Mapping[str, Any]]) -> None:
        """Writes records by librdkafka, each with the arguments of its `produce`."""
        from confluent_kafka import Producer

        failed: list[object] = []
        producer = Producer(self.client(linger_ms=5, acks="all", enable_idempotence=True, message_timeout_ms=60000))
        for record in records:
            producer.produce(topic, **record, on_delivery=lambda error, _: failed.append(error) if error else None)
            producer.poll(0)
        left = producer.flush(90)
        assert not left, f"{left} records are not written"
        assert not failed, f"records are not written: {failed[:3]}"

    def consume(self, *topics: str) -> list[Any]:
        """All records of topics, in the order of their partitions."""
        from confluent_kafka import Consumer, TopicPartition

        more = {"group_id": uuid.uuid4().hex, "enable_auto_commit": False, "isolation_level": "read_committed"}
        consumer = Consumer(self.client(**more))
        found: list[Any] = []
        try:
            for topic in topics:
                for partition in consumer.list_topics(topic, 30).topics[topic].partitions:
                    low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), 30)
                    consumer.assign([TopicPartition(topic, partition, low)])
                    while low < high:
                        for message in consumer.consume(min(high - low, 10_000), 1.0):
                            assert message.error() is None, message.error()
                            low = message.offset() + 1
                            found.append(message)
        finally:
            consumer.close()
        return found

    def client(self, **settings: object) -> dict[str, Any]:
        """The settings of a client of librdkafka, with underscores in place of dots."""
        return {"bootstrap.servers": self.bootstrap} | {n.replace("_", "."): v for n, v in settings.items()}

    def _answers(self) -> bool:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        try:
            with closing(socket.create_connection(("127.0.0.1", self.port), 1)):
                pass
            return bool(AdminClient(self.client()).list_topics(timeout=2).brokers)
        except (OSError, KafkaException):
            time.sleep(0.1)
            return False

    @property
    def _java(self) -> list[str]:
        home = os.environ.get("JAVA_HOME")
        java = f"{home}/bin/java" if home else shutil.which("java") or "java"
        return [java, *_JAVA, "-cp", os.pathsep.join(map(str, self.jars))]


def connector_jars(*, skip: bool = True) -> Sequence[Path]:
    """The jars of Spark's connector to Kafka; where they cannot be had, skips the test, or gives none."""
    from tricel.spark_backend.places.connectors import KAFKA_CONNECTOR

    release = ".".join(metadata.version("pyspark").split(".")[:2])
    version = KAFKA_CONNECTOR.releases[release]
    try:
        return jars(f"spark-kafka-{version}", (f"{KAFKA_CONNECTOR.coordinate}:{version}",), _OF_SPARK)
    except pytest.skip.Exception:
        if skip:
            raise
        return ()


@contextmanager
def broker_in(root: Path) -> Iterator[Broker]:
    """A broker that runs within the block; where its jars or its client cannot be had, skips the test."""
    pytest.importorskip("confluent_kafka")
    connector_jars()
    broker = Broker(root, jars(f"kafka-{VERSION}", _ARTIFACTS, _WITHOUT))
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


def _free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
