"""Kafka as a source and as a sink, on a broker of its own."""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tricel.compiler import CLOUD_EVENT, KAFKA_RECORD
from tricel.compiler.values.malformed import NO_EVENT

from tricel import compile_filter

pytest.importorskip("pyspark")
from tricel.spark_backend.failure import RunError
from tricel.spark_backend.places.kinds import check_sink, check_source, sink_of, source_of
from tricel.spark_backend.places.options import KafkaOptions, PlaceOptions, Rate
from tricel.spark_backend.run import pipeline
from tricel.spark_backend.run.streaming.sets import SetTrigger, addressed, set_of

if TYPE_CHECKING:
    from kafka_broker import Broker
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

TRACE = ("traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
TRIGGERS = {"shop/even": "int(data.n) % 2 == 0", "shop/all": "true"}


def options(broker: Broker, **more: Any) -> PlaceOptions:
    return PlaceOptions(rate=Rate(records=60), kafka=KafkaOptions(bootstrap=broker.bootstrap, **more))


def triggers(texts: dict[str, str], environment: Any = CLOUD_EVENT) -> list[SetTrigger]:
    return [SetTrigger(n, compile_filter(t, environment), "drop", n.partition("/")[2]) for n, t in texts.items()]


def event(n: int, *more: tuple[str, bytes]) -> dict[str, Any]:
    names = [("ce_specversion", b"1.0"), ("ce_id", b"%d" % n), ("ce_source", b"/s"), ("ce_type", b"t")]
    headers = [*names, ("content-type", b"application/json"), *more]
    return {"key": b"k\xff%d" % n, "value": json.dumps({"n": n}).encode(), "headers": headers, "partition": n % 2}


def told(message: Any) -> dict[str, bytes]:
    return dict(message.headers())


def test_records_go_from_topic_to_topic(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Batch, then stream: each record as it came, once for each trigger; what errs and what is no event, as well."""
    for topic in ("in", "mixed", "shop.even", "shop.all", "dead"):
        broker.create(topic, partitions=2 if topic == "in" else 1)
    broker.produce("in", [event(n, TRACE, ("x", b"\x00\xff"), ("x", b"2")) for n in range(100)])
    broken = {**event(100), "value": b"{broken"}
    broker.produce("in", [broken])
    rubbish = {"key": None, "value": b"\xff\x00", "headers": [TRACE], "partition": 0}
    broker.produce("mixed", [rubbish])
    # Kafka's own producer, with the event as JSON and its media type.
    text = '{"specversion":"1.0","id":"console","source":"/s","type":"t","data":{"n":7}}'
    line = f"content-type:application/cloudevents+json\tkey\t{text}\n".encode()
    settings = ("--property", "parse.headers=true", "--property", "parse.key=true")
    target = ("--bootstrap-server", broker.bootstrap, "--topic", "mixed")
    broker.tool("org.apache.kafka.tools.ConsoleProducer", *target, *settings, given=line)
    places = options(broker, topic_from="trigger", dead_letters="kafka:dead")
    check_source(["kafka:in,mixed"], places)
    check_sink("kafka:shop.all", places)
    source, sink = source_of(["kafka:in,mixed"], places), sink_of("kafka:shop.all", places)
    events = source.batch(spark, print)
    broker.produce("in", [event(999)])  # comes too late for this run
    report = pipeline.run(spark, triggers(TRIGGERS), events, str(tmp_path / "out"), sink=sink)
    assert (report.read, report.malformed, dict(report.reasons)) == (103, 1, {NO_EVENT: 1})
    counts = {t.trigger: (t.delivered, t.filtered, t.errored) for t in report.triggers}
    assert counts == {"shop/even": (50, 51, 1), "shop/all": (102, 0, 0)}
    sent = {f"in/{m.partition()}/{m.offset()}": m for m in broker.consume("in")}
    sent |= {f"mixed/{m.partition()}/{m.offset()}": m for m in broker.consume("mixed")}
    for topic, trigger, wanted in (("shop.even", b"shop/even", 50), ("shop.all", b"shop/all", 102)):
        got = broker.consume(topic)
        assert len(got) == len({told(m)["tricel-id"] for m in got}) == wanted
        for m in got:
            was = sent[told(m)["tricel-id"].decode()]
            assert (m.key(), m.value()) == (was.key(), was.value())
            assert m.headers() == [*was.headers(), ("tricel-id", told(m)["tricel-id"]), ("tricel-trigger", trigger)]
    dead = {(told(m)["tricel-outcome"], m.value()): told(m) for m in broker.consume("dead")}
    assert set(dead) == {(b"errored", b"{broken"), (b"malformed", b"\xff\x00")}
    assert dead[b"malformed", b"\xff\x00"].items() >= {TRACE, ("tricel-reason", NO_EVENT.encode())}
    assert dead[b"errored", b"{broken"]["tricel-trigger"] == b"shop/even"


def test_a_stream_from_topic_to_topic(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    from tricel.spark_backend.run.streaming.observers import several
    from tricel.spark_backend.run.streaming.origins import Loaded
    from tricel.spark_backend.run.streaming.stream import Options, run_stream

    for topic in ("arriving", "going"):
        broker.create(topic, partitions=2)

    class Origin:
        def poll(self) -> None:
            return None

    def run() -> int:
        found = [replace(t, topic="going") for t in triggers(TRIGGERS)]
        assert [t.topic for t in addressed(set_of(found, "drop").text)] == ["going"] * 2
        sink = sink_of("kafka:", options(broker, topic_from="annotation"))
        source = source_of(["kafka:arriving"], options(broker))
        loaded = Loaded(tuple(found), ())
        how = Options(available_now=True, format="parquet", partition="none")
        out, stop = str(tmp_path / "out"), threading.Event()
        return run_stream(spark, source, Origin(), loaded, out, how, several([]), stop, sink=sink).read

    broker.produce("arriving", [event(n) for n in range(100)])
    assert run() == 100
    broker.produce("arriving", [event(n) for n in range(100, 130)])
    assert run() == 130
    batches = list((tmp_path / "out" / "batches").glob("*.json"))
    assert len(batches) >= 3  # of 60 records each at most
    got = Counter((told(m)["tricel-id"], told(m)["tricel-trigger"]) for m in broker.consume("going"))
    assert Counter(t for _, t in got) == {b"shop/even": 65, b"shop/all": 130}
    assert set(got.values()) == {1}


def test_records_as_they_are_and_files(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Filters on records by `--environment kafka-record`; events of files become structured records."""
    broker.create("raw")
    broker.create("kept")
    broker.produce("raw", [{"key": b"k", "value": b'{"n": %d}' % n, "headers": None} for n in range(10)])
    places = PlaceOptions(environment=KAFKA_RECORD, kafka=KafkaOptions(bootstrap=broker.bootstrap))
    events = source_of(["kafka:raw"], places).batch(spark, print)
    found = triggers({"low": "value.n < 3.0 && topic == 'raw'"}, KAFKA_RECORD)
    sink = sink_of("kafka:kept", places)
    assert pipeline.run(spark, found, events, str(tmp_path / "a"), sink=sink).written == 3
    assert [(m.key(), m.value()) for m in broker.consume("kept")] == [(b"k", b'{"n": %d}' % n) for n in range(3)]
    given = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "time": "2020-01-01T00:00:00.5Z"}
    given |= {"subject": "é", "ext": "e", "data": {"n": [1, None]}}
    (tmp_path / "in.jsonl").write_text(json.dumps(given))
    files = source_of([str(tmp_path / "in.jsonl")], PlaceOptions()).batch(spark, print)
    pipeline.run(spark, triggers({"all": "true"}), files, str(tmp_path / "b"), sink=sink)
    last = broker.consume("kept")[-1]
    assert json.loads(last.value()) == given
    headers = [("content-type", b"application/cloudevents+json; charset=UTF-8"), ("tricel-id", b'["/s","1"]')]
    assert last.headers() == [*headers, ("tricel-trigger", b"all")]


def test_what_can_be_wrong(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    broker.create("orders")
    config = tmp_path / "client.properties"
    config.write_text("# secret\nsasl.jaas.config=x password=\\\n  hunter2;\nbootstrap.servers = 127.0.0.1:1\n")
    cases: tuple[tuple[dict[str, Any], str, str], ...] = (
        ({}, "TRI616", "no broker is named"),
        ({"bootstrap": "127.0.0.1:1"}, "TRI616", "no broker can be reached: Connection refused"),
        ({"bootstrap": "nobody"}, "TRI616", "no address"),
        ({"config": str(config)}, "TRI616", "no broker can be reached"),
        ({"config": str(tmp_path / "none")}, "TRI617", "cannot be read"),
        ({"bootstrap": broker.bootstrap, "options": {"kafka.acks": "0"}}, "TRI617", "'acks' is set"),
        ({"bootstrap": broker.bootstrap, "options": {"subscribe": "x"}}, "TRI617", "'subscribe' is set"),
    )
    for given, code, part in cases:
        with pytest.raises(RunError, match=part) as raised:
            check_source(["kafka:orders"], PlaceOptions(kafka=KafkaOptions(**given)))
        assert raised.value.diagnostic.code == code
        assert "hunter2" not in str(raised.value) + repr(raised.value.diagnostic)
    with pytest.raises(RunError, match="there is no topic") as raised:
        source_of(["kafka:order"], options(broker)).batch(spark, print)
    assert raised.value.diagnostic.code == "TRI618"
    assert "did you mean 'orders'" in raised.value.diagnostic.help
    named = PlaceOptions(kafka=KafkaOptions(of_spark=broker.bootstrap))
    check_source(["kafka:orders"], named)
    for look in (lambda: check_source(["kafka:orders,order"], named), lambda: check_sink("kafka:order", named)):
        with pytest.raises(RunError, match="there is no topic 'order'"):
            look()
    check_sink("kafka:", options(broker, topic_from="annotation"))
    with pytest.raises(RunError, match="nothing follows 'kafka:'"):
        check_sink("kafka:", options(broker))
    for more in ({"dead_letters": "dead"}, {"dead_letters": "kafka:a,b"}):
        with pytest.raises(RunError) as raised:
            check_sink("kafka:orders", options(broker, **more))
        assert raised.value.diagnostic.code == "TRI619"
