"""Tables and folders as sources and sinks: what is read, chosen and delivered, once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from filter_sets import Trigger
from pyspark.sql import SparkSession
from tricel.compiler.environments.kafka_record import KAFKA_RECORD
from tricel.spark_backend.compiled_filter import CompiledFilter
from tricel.spark_backend.failure import FilterError, RunError, warn_nobody
from tricel.spark_backend.places.connectors import DELTA_CONNECTOR, KAFKA_CONNECTOR, Connector, with_connectors
from tricel.spark_backend.places.kinds import connectors_of, sink_of, source_of
from tricel.spark_backend.places.model import Staged
from tricel.spark_backend.places.options import DEFAULT, KafkaOptions, PlaceOptions
from tricel.spark_backend.places.tables import BATCH, TableSink
from tricel.spark_backend.run.pipeline import run
from tricel.spark_backend.run.reports import RunReport, StreamReport
from tricel.spark_backend.run.streaming.observers import Several as Nobody
from tricel.spark_backend.run.streaming.origins import Loaded
from tricel.spark_backend.run.streaming.stream import Options, run_stream

from tricel import compile_filter

TRIGGERS = [Trigger("even", "int(data.n) % 2 == 0"), Trigger("all", "ce.type == 't'")]
LINES = [
    json.dumps({"specversion": "1.0", "id": str(n), "source": "s", "type": "t", "data": {"n": n}}) for n in range(6)
]
LINES += ["{no event", json.dumps({"specversion": "1.0", "id": "x", "source": "s", "type": "t", "data": {}})]
PAIRS = [*(("all", str(n)) for n in range(6)), ("all", "x"), ("even", "0"), ("even", "2"), ("even", "4")]


class Given:
    """An origin whose triggers never change."""

    def poll(self) -> Loaded | None:
        return None


class KilledError(BaseException):
    """The process would have ended."""


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """A folder with six events, one on which a filter errs, and a line that is none."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text("\n".join(LINES) + "\n")
    return tmp_path / "in"


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """The name of a table that is not there."""
    name = f"pairs_{tmp_path.name.replace('-', '_')}"
    yield name
    spark.sql(f"DROP TABLE IF EXISTS {name}")


def batch(spark: SparkSession, events: object, out: str, account: Path, **more: Any) -> RunReport:
    options = more.pop("options", DEFAULT)
    read = source_of([str(events)], options).batch(spark, warn_nobody)
    return run(spark, TRIGGERS, read, str(account), sink=sink_of(out, options), warn=warn_nobody, **more)


def stream(spark: SparkSession, events: object, out: str, account: Path, **more: Any) -> StreamReport:
    to = sink_of(out, DEFAULT)
    options = Options(available_now=True, interval=0.1, **more)
    source = source_of([str(events)], DEFAULT)
    return run_stream(
        spark, source, Given(), Loaded(TRIGGERS), str(account), options, Nobody(()), threading.Event(), to
    )


def pairs(spark: SparkSession, table: str) -> list[tuple[str, str]]:
    return sorted((r["trigger"], r["id"]) for r in spark.table(table).select("trigger", "id").collect())


def test_a_run_into_a_table(spark: SparkSession, events: Path, table: str, tmp_path: Path) -> None:
    """What is delivered is in the table, with its batch; all else, and the account, in the folder."""
    report = batch(spark, events, f"table:{table}", tmp_path / "account")
    assert (8, 1, 7, 10) == (report.read, report.malformed, report.evaluated, report.written)
    assert PAIRS == pairs(spark, table)
    assert {"errors", "quarantine", "report.json"} == {p.name for p in (tmp_path / "account").iterdir()}
    assert report.written == json.loads((tmp_path / "account" / "report.json").read_text())["written"]
    assert 1 == spark.table(table).select(BATCH).distinct().count()
    with pytest.raises(RunError, match="holds an earlier run"):
        batch(spark, events, f"table:{table}", tmp_path / "account")
    batch(spark, events, f"table:{table}", tmp_path / "other")
    assert sorted(PAIRS * 2) == pairs(spark, table)


def test_a_run_that_was_ended_while_it_delivered(
    spark: SparkSession, events: Path, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one finishes it, whatever there is to read by then, and adds no pair twice."""
    whole, half = TableSink.publish, tmp_path / "half"

    def killed(self: TableSink, staged: Staged, *, again: bool) -> None:
        whole(self, staged, again=again)
        raise KilledError

    for account, name in ((tmp_path / "a", table), (half, f"{table}_half")):
        with monkeypatch.context() as patch:
            patch.setattr(TableSink, "publish", killed)
            with pytest.raises(KilledError):
                batch(spark, events, f"table:{name}", account)
    try:
        (events / "b.jsonl").write_text(LINES[0])
        done = batch(spark, events, f"table:{table}", tmp_path / "a")
        assert ((8, 10), PAIRS) == ((done.read, done.written), pairs(spark, table))
        assert {"errors", "quarantine", "report.json"} == {p.name for p in (tmp_path / "a").iterdir()}
        part = spark.table(f"{table}_half").limit(3).collect()
        rows = spark.createDataFrame(part, spark.table(f"{table}_half").schema)
        rows.write.mode("overwrite").saveAsTable(f"{table}_half")
        with pytest.raises(RunError, match="holds a part of batch") as e:
            batch(spark, events, f"table:{table}_half", half)
        assert "TRI614" == e.value.diagnostic.code
        spark.sql(f"TRUNCATE TABLE {table}_half")
        batch(spark, events, f"table:{table}_half", half)
        assert PAIRS == pairs(spark, f"{table}_half")
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {table}_half")


def test_a_stream_into_a_table(
    spark: SparkSession, events: Path, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that was appended before the process ended is not appended again; the account counts it once."""
    account, whole = tmp_path / "account", TableSink.publish

    def killed(self: TableSink, staged: Staged, *, again: bool) -> None:
        whole(self, staged, again=again)
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(TableSink, "publish", killed)
        with pytest.raises(KilledError):
            stream(spark, events, f"table:{table}", account)
    assert PAIRS == pairs(spark, table)
    assert (1, 8, 10) == ((r := stream(spark, events, f"table:{table}", account)).batches, r.read, r.written)
    (events / "b.jsonl").write_text(LINES[3] + "\n")
    assert (2, 9, 11) == ((r := stream(spark, events, f"table:{table}", account)).batches, r.read, r.written)
    assert sorted([*PAIRS, ("all", "3")]) == pairs(spark, table)
    assert not (account / "delivered").exists()
    with pytest.raises(RunError, match="another sink"):
        stream(spark, events, f"table:{table}_2", account)
    with pytest.raises(RunError, match="another partition"):
        stream(spark, events, str(account), account)


def test_a_table_of_other_columns(spark: SparkSession, events: Path, table: str, tmp_path: Path) -> None:
    """Nothing is delivered, and nothing is counted, until the table has the columns."""
    spark.sql(f"CREATE TABLE {table} (trigger STRING) USING parquet")
    with pytest.raises(RunError, match="no columns 'trigger' and 'tricel_batch'"):
        batch(spark, events, f"table:{table}", tmp_path / "account")
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS ({BATCH} STRING, more INT)")
    with pytest.raises(RunError, match="the table has no column 'id'") as e:
        batch(spark, events, f"table:{table}", tmp_path / "account")
    assert "TRI614" == e.value.diagnostic.code
    with pytest.raises(RunError, match="the table has no column 'id'"):
        stream(spark, events, f"table:{table}", tmp_path / "stream")
    names = "id, source, specversion, type, subject, datacontenttype, dataschema, data, data_base64, file"
    added = ", ".join(f"{n.strip()} STRING" for n in names.split(","))
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS ({added}, time TIMESTAMP, extensions MAP<STRING, STRING>)")
    assert 10 == batch(spark, events, f"table:{table}", tmp_path / "account").written
    assert 10 == stream(spark, events, f"table:{table}", tmp_path / "stream").written
    assert sorted(PAIRS * 2) == pairs(spark, table)


def test_a_condition_prunes_the_folders_of_a_table(spark: SparkSession, tmp_path: Path) -> None:
    rows = [(str(n), "s", "t", f"2026-01-0{n}", n) for n in range(1, 5)]
    lake = spark.createDataFrame(rows, "id STRING, source STRING, type STRING, day STRING, n INT")
    lake.write.partitionBy("day").parquet(str(tmp_path / "lake"))
    for path in (tmp_path / "lake", tmp_path / "la*", tmp_path / "lake" / "*" / "*.parquet"):
        options = PlaceOptions(where="day >= '2026-01-03' AND n < 4")
        (chosen,) = source_of([str(path)], options).batch(spark, warn_nobody).tables()
        plan = chosen._jdf.queryExecution().executedPlan().toString()
        assert "PartitionFilters: [isnotnull(day" in plan, plan
        assert ["3"] == [r["id"] for r in chosen.collect()]
        assert {"id", "source", "type", "n"} == set(chosen.columns) - {"malformed", "raw", "event", "file"}
    with pytest.raises(RunError, match="Spark does not take the condition") as e:
        source_of([str(tmp_path / "lake")], PlaceOptions(where="dya > 1")).batch(spark, warn_nobody).tables()
    assert ("TRI615", True) == (e.value.diagnostic.code, "dya" in e.value.diagnostic.message)
    with pytest.raises(RunError, match="Spark does not take the condition"):
        source_of([str(tmp_path / "lake")], PlaceOptions(where="n >")).batch(spark, warn_nobody).tables()


def test_a_condition_never_drops_what_is_malformed(spark: SparkSession, events: Path) -> None:
    options = PlaceOptions(where="variant_get(data, '$.n', 'int') = 1 -- the first")
    (found,) = source_of([str(events)], options).batch(spark, warn_nobody).tables()
    assert {(None, True), ("1", False)} == {(r["id"], r["malformed"] is not None) for r in found.collect()}


def test_views_and_several_tables(spark: SparkSession, table: str, tmp_path: Path) -> None:
    spark.createDataFrame(
        [("1", "s", "t"), ("2", "s", "t")], "id STRING, source STRING, type STRING"
    ).createOrReplaceTempView("one")
    spark.createDataFrame([("3", "s", "t", 7)], "id STRING, source STRING, type STRING, n INT").createOrReplaceTempView(
        "two"
    )
    read = source_of(["table:one", "table:two"], PlaceOptions(where="id <> '2'")).batch(spark, warn_nobody)
    report = run(spark, TRIGGERS[1:], read, str(tmp_path / "a"), sink=sink_of(f"table:{table}", DEFAULT))
    assert (2, [("all", "1"), ("all", "3")]) == (report.read, pairs(spark, table))
    for texts, says in (
        (["table:one", str(tmp_path)], "places of one kind"),
        (["table:nowhere_at_all"], "no such table"),
    ):
        with pytest.raises(RunError, match=says):
            source_of(texts, DEFAULT).batch(spark, warn_nobody)
    with pytest.raises(RunError, match="no connector to Delta Lake"):
        source_of(["delta:/nowhere"], DEFAULT).batch(spark, warn_nobody)


class Records:
    """A trigger about records of Kafka, which ends the run where it errs."""

    id, destination, topic, on_error = "big", "", "", "fail"

    @property
    def compiled(self) -> CompiledFilter:
        return compile_filter("value.n > 3", KAFKA_RECORD)


def test_records_of_kafka_in_files(spark: SparkSession, tmp_path: Path) -> None:
    schema = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP"
    rows = [(None, bytearray(f'{{"n":{n}}}'.encode()), "orders", 0, n, None) for n in range(6)]
    spark.createDataFrame(rows, schema).write.parquet(str(tmp_path / "topic"))
    options = PlaceOptions(KAFKA_RECORD)
    read = source_of([str(tmp_path / "topic")], options).batch(spark, warn_nobody)
    report = run(spark, [Records()], read, str(tmp_path / "out"))
    assert (6, 2) == (report.read, report.written)
    spark.createDataFrame([(None, bytearray(b"{}"), "orders", 3, 17, None)], schema).write.parquet(
        str(tmp_path / "bad")
    )
    bad = source_of([str(tmp_path / "bad")], options).batch(spark, warn_nobody)
    with pytest.raises(FilterError, match="on event 'orders/3/17'"):
        run(spark, [Records()], bad, str(tmp_path / "never"))


@pytest.mark.parametrize(
    ("given", "connector", "release", "packages", "told"),
    [
        ({}, KAFKA_CONNECTOR, "4.2.0", "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0", 0),
        ({}, KAFKA_CONNECTOR, "4.3.0", "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0", 1),
        (
            {"spark.jars.packages": "a:b:1"},
            KAFKA_CONNECTOR,
            "4.2.1",
            "a:b:1,org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
            0,
        ),
        ({"spark.jars": "x/spark-sql-kafka-0-10_2.13-4.3.0.jar"}, KAFKA_CONNECTOR, "4.3.0", None, 0),
        ({"spark.jars": "x/delta-spark_2.13-9.0.0.jar"}, DELTA_CONNECTOR, "4.3.0", None, 0),
    ],
)
def test_connectors(given: dict[str, str], connector: Connector, release: str, packages: str | None, told: int) -> None:
    said: list[str] = []
    found = with_connectors(given, [connector], said.append, release)
    assert (packages, told) == (found.get("spark.jars.packages"), len(said))
    assert dict(connector.settings).items() <= found.items()


def test_what_needs_which_connector() -> None:
    assert (KAFKA_CONNECTOR, DELTA_CONNECTOR) == connectors_of(["kafka:a", "delta:b", "kafka:c", "d", "table:e"])
    with pytest.raises(RunError, match="no connector to Delta Lake is published") as raised:
        with_connectors({}, [DELTA_CONNECTOR], print, "4.3.0")
    assert raised.value.diagnostic.code == "TRI612"


@pytest.mark.parametrize(
    ("read", "written", "dead", "shared"),
    [
        ("kafka:a,b", "kafka:b", "", {"kafka:b"}),
        ("kafka:a", "kafka:b", "kafka:a", {"kafka:a"}),
        ("kafka:a", "kafka:b", "kafka:c", set()),
        ("table:shop.t", "table:shop.t", "", {"table:shop.t"}),
        ("delta:/d", "delta:/d", "", {"delta:/d"}),
    ],
)
def test_what_is_read_and_written_is_known(read: str, written: str, dead: str, shared: set[str]) -> None:
    options = PlaceOptions(kafka=KafkaOptions(bootstrap="127.0.0.1:1", dead_letters=dead))
    assert source_of([read], options).stores & sink_of(written, options).stores == shared
