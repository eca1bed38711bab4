"""A stream from Kafka to Kafka whose driver and whose broker are killed: each record is delivered once to its topic.

The broker comes back on the data that it left, and the same command goes on. The moments are seeded by TRICEL_SEED (1).
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from filter_sets import trigger_yaml
from kafka_broker import connector_jars

pytest.importorskip("pyspark")

if TYPE_CHECKING:
    from kafka_broker import Broker

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

TOOL = Path(sys.executable).parent / "tricel"
SEED = int(os.environ.get("TRICEL_SEED", "1"))
TIMEOUT = 600
"""Seconds, far more than a stream takes on a machine that does nothing else."""
FILTERS = {"all": "true", "none": "false", "even": "int(data.n) % 2 == 0", "low": "data.n < 500 || ce.type == 'b'"}
OURS = ("tricel-id", "tricel-trigger", "tricel-outcome", "tricel-reason")


def record(n: int) -> dict[str, Any]:
    """A record that is an event with `n`, one without, or no event."""
    key = b"k\xff%d" % n
    if n % 101 == 3:
        return {"key": key, "value": b"\x00rubbish %d" % n, "headers": [("traceparent", b"%d" % n)]}
    names = {"specversion": "1.0", "id": str(n), "source": "s", "type": "b" if n % 3 == 0 else "c"}
    headers = [*((f"ce_{name}", text.encode()) for name, text in names.items()), ("x", b"\xff"), ("x", None)]
    data = {"n": n} if n % 50 != 7 else {}
    return {"key": key, "value": json.dumps(data).encode(), "headers": [*headers, ("content-type", b"text/json")]}


def expected(name: str, n: int) -> str:
    """What becomes of a record for a trigger, or of itself."""
    if n % 101 == 3:
        return "malformed"
    if name in ("all", "none"):
        return "delivered" if name == "all" else "filtered"
    if name == "low" and n % 3 == 0:
        return "delivered"
    if n % 50 == 7:
        return "errored"
    return "delivered" if (n % 2 == 0 if name == "even" else n < 500) else "filtered"


@dataclass
class Place:
    """A stream between topics, and its account."""

    root: Path
    broker: Broker
    prefix: str
    per_batch: int
    started: list[subprocess.Popen[str]] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    """The statuses of streams that ended by themselves."""

    @property
    def account(self) -> Path:
        return self.root / "account"

    def fill(self, count: int) -> None:
        """Makes triggers, topics and records."""
        (self.root / "triggers").mkdir()
        for name, text in FILTERS.items():
            (self.root / "triggers" / f"{name}.yaml").write_text(trigger_yaml(f"{self.prefix}-{name}", text))
            self.broker.create(f"{self.prefix}-{name}", partitions=2)
        self.broker.create(f"{self.prefix}-in", partitions=3)
        self.broker.create(f"{self.prefix}-dead")
        self.broker.produce(f"{self.prefix}-in", [record(n) for n in range(count)])

    def stream(self) -> subprocess.Popen[str]:
        """The stream that runs, or a new one in a process group of its own."""
        if self.started and self.started[-1].poll() is None:
            return self.started[-1]
        command = [TOOL, "run", "--stream", "--available-now", "--triggers", self.root / "triggers"]
        command += ["--events", f"kafka:{self.prefix}-in", "--out", "kafka:", "--topic-from", "trigger"]
        command += ["--dead-letters", f"kafka:{self.prefix}-dead", "--checkpoint", self.account, "--interval", "0"]
        command += ["--max-records-per-batch", str(self.per_batch), "--kafka-bootstrap", self.broker.bootstrap]
        command += ["--master", "local[2]", "--conf", "spark.sql.shuffle.partitions=2"]
        command += ["--conf", f"spark.jars={','.join(map(str, connector_jars()))}"]
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "COLUMNS": "100"}
        (self.root / "said").mkdir(exist_ok=True)
        with (self.root / "said" / str(len(self.started))).open("w") as said:
            pipes = {"stdout": said, "stderr": said}
            self.started.append(subprocess.Popen(command, text=True, start_new_session=True, env=environment, **pipes))
        return self.started[-1]

    def said(self) -> str:
        """What the streams have printed."""
        return "\n".join((self.root / "said" / str(i)).read_text() for i in range(len(self.started)))

    def batches(self) -> int:
        """How many are committed."""
        return len(list((self.account / "batches").glob("*.json")))

    def wait_for(self, batches: int, *, writing: bool) -> None:
        """Until so many batches are committed and, with `writing`, the next is being produced.

        A stream that ends while there is no broker is started again.
        """
        ready, began = self.account / "staging" / "ready.json", time.monotonic()
        while self.batches() < batches or (writing and not ready.exists()):
            if self.started[-1].poll() is not None:
                self.ended.append(self.started[-1].returncode)
                assert self.started[-1].returncode == 2, self.said()
                self.stream()
            assert time.monotonic() - began < TIMEOUT, self.said()
            time.sleep(0.005)

    def finish(self) -> None:
        """Until a stream has done all that is there."""
        for _ in range(10):
            if self.stream().wait(TIMEOUT) == 0:
                return
            self.ended.append(self.started[-1].returncode)
        raise AssertionError(self.said())

    def kill(self) -> None:
        """kill -9 of the driver, Java and Python together."""
        with suppress(ProcessLookupError):
            os.killpg(self.started[-1].pid, signal.SIGKILL)
        self.started[-1].wait()

    def check(self, count: int) -> int:
        """Every record is where it belongs for every trigger, once, as it was; gives how many were written again."""
        sent = {f"{m.topic()}/{m.partition()}/{m.offset()}": m for m in self.broker.consume(f"{self.prefix}-in")}
        numbers = {id_: int(m.key()[2:]) for id_, m in sent.items()}
        assert sorted(numbers.values()) == list(range(count))
        found: Counter[tuple[str, str, str, str]] = Counter()
        for topic in (*(f"{self.prefix}-{name}" for name in FILTERS), f"{self.prefix}-dead"):
            for m in self.broker.consume(topic):
                told = {name: value.decode() for name, value in m.headers() if name in OURS}
                was = sent[told["tricel-id"]]
                assert (m.key(), m.value()) == (was.key(), was.value())
                assert [h for h in m.headers() if h[0] not in OURS] == was.headers()
                outcome = told.get("tricel-outcome", "delivered")
                assert ("tricel-reason" in told) == (outcome != "delivered")
                found[topic, told["tricel-id"], told.get("tricel-trigger", ""), outcome] += 1
        wanted = {
            (f"{self.prefix}-{name if outcome == 'delivered' else 'dead'}", id_, f"{self.prefix}-{name}", outcome)
            for name in FILTERS
            for id_, n in numbers.items()
            if (outcome := expected(name, n)) in ("delivered", "errored")
        }
        malformed = {id_ for id_, n in numbers.items() if expected("", n) == "malformed"}
        wanted |= {(f"{self.prefix}-dead", id_, "", "malformed") for id_ in malformed}
        assert set(found) == wanted
        report = json.loads((self.account / "report.json").read_text())
        assert (report["read"], report["malformed"]) == (count, len(malformed))
        assert report["batches"] == self.batches()
        rows = {row["trigger"].removeprefix(f"{self.prefix}-"): row for row in report["triggers"]}
        assert set(rows) == set(FILTERS)
        for name, row in rows.items():
            outcomes = Counter(expected(name, n) for n in range(count))
            assert {o: row[o] for o in ("delivered", "filtered", "errored")} == {
                o: outcomes[o] for o in ("delivered", "filtered", "errored")
            }, name
        assert not (self.account / "staging").exists()
        return sum(found.values()) - len(found)


@pytest.fixture
def place(tmp_path: Path, broker: Broker, request: pytest.FixtureRequest) -> Iterator[Place]:
    """A place whose streams end with the test, and whose broker is there for the next."""
    slow = request.node.get_closest_marker("slow") is not None
    found = Place(tmp_path, broker, "long" if slow else "short", 10_000 if slow else 2_000)
    yield found
    if found.started:
        found.kill()
    if broker.process is None:
        broker.start()


def killed(place: Place, count: int, kills: int, moments: random.Random) -> None:
    """So many kills of the broker and as many of the stream, in turn; then all is done, and looked at."""
    began = time.monotonic()
    place.fill(count)
    for i in range(kills):
        # The first of each while records are being produced, where most can go wrong; the others at any moment.
        place.stream()
        place.wait_for(place.batches() + (i > 0), writing=i == 0)
        time.sleep(moments.uniform(0, 0.1 if i == 0 else 3))
        place.broker.kill()
        place.broker.start()
        place.stream()
        place.wait_for(place.batches() + 1, writing=i == 0)
        time.sleep(moments.uniform(0, 0.1 if i == 0 else 3))
        place.kill()
        assert place.batches() * place.per_batch < count, "the stream was done before it was killed"
    place.finish()
    again = place.check(count)
    assert "Traceback" not in place.said(), place.said()
    took = time.monotonic() - began
    print(f"{count} records in {took:.0f} s, {len(place.started)} streams, ended {place.ended}, written again: {again}")


def test_a_broker_and_a_stream_that_are_killed(place: Place) -> None:
    killed(place, 5_000, 1, random.Random(SEED))


@pytest.mark.slow
def test_brokers_and_streams_that_are_killed_again_and_again(place: Place) -> None:
    killed(place, 200_000, 3, random.Random(SEED))
