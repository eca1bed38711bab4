"""Delta tables read, written and streamed, on a release of Spark that Delta is published for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from tricel.spark_backend.places.connectors import DELTA_CONNECTOR

pytestmark = [pytest.mark.spark, pytest.mark.slow]
RELEASE = "4.1"

SCRIPT = """
import json, sys, threading
from pathlib import Path
from filter_sets import Trigger
from tricel.spark_backend.failure import RunError, warn_nobody
from tricel.spark_backend.places.delta import DeltaTable
from tricel.spark_backend.places.kinds import connectors_of, sink_of, source_of
from tricel.spark_backend.places.options import DEFAULT, PlaceOptions
from tricel.spark_backend.run.pipeline import run
from tricel.spark_backend.run.session import start_session
from tricel.spark_backend.run.streaming.observers import Several
from tricel.spark_backend.run.streaming.origins import Loaded
from tricel.spark_backend.run.streaming.stream import Options, run_stream

root = Path(sys.argv[1])
name = f"delta:{root}/lake"
settings = {"spark.driver.memory": "1g", "spark.jars": sys.argv[2], "spark.databricks.delta.snapshotPartitions": "2"}
spark = start_session("local[1]", settings, connectors=connectors_of([name]))
TRIGGERS = [Trigger("some", "ce.id != '2'")]
rows = [(str(n), "s", "t") for n in range(4)]
events = spark.createDataFrame(rows, "id STRING, source STRING, type STRING")
events.write.format("delta").save(f"{root}/lake")

class Given:
    def poll(self):
        return None

class Killed(BaseException):
    pass

def batch(out, account, **more):
    read = source_of([name], PlaceOptions(**more)).batch(spark, warn_nobody)
    return run(spark, TRIGGERS, read, str(root / account), sink=sink_of(out, DEFAULT))

def stream(out, account):
    options = Options(available_now=True, interval=0.1)
    return run_stream(spark, source_of([name], DEFAULT), Given(), Loaded(TRIGGERS), str(root / account), options,
                      Several(()), threading.Event(), sink_of(out, DEFAULT))

def ids(place):
    return sorted((r["trigger"], r["id"]) for r in spark.read.format("delta").load(str(root / place)).collect())

three = [("some", n) for n in ("0", "1", "3")]
assert 2 == batch(f"delta:{root}/a", "account-a", where="id < '2'").written
assert three[:2] == ids("a")

whole = DeltaTable.publish
def killed(self, staged, *, again):
    whole(self, staged, again=again)
    raise Killed
for do, place in ((batch, "b"), (stream, "c")):
    DeltaTable.publish = killed
    try:
        do(f"delta:{root}/{place}", f"account-{place}")
        raise SystemExit("it was not killed")
    except Killed:
        pass
    DeltaTable.publish = whole
    assert three == ids(place), ids(place)
    assert 3 == do(f"delta:{root}/{place}", f"account-{place}").written
    assert three == ids(place), ids(place)
events.limit(1).write.format("delta").mode("append").save(f"{root}/lake")
assert 4 == stream(f"delta:{root}/c", "account-c").written
assert sorted([*three, ("some", "0")]) == ids("c"), ids("c")
events.withColumn("more", events.id).write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(f"{root}/lake")
try:
    batch(f"delta:{root}/a", "account-d")
    raise SystemExit("a column was lost")
except RunError as e:
    assert "TRI614" == e.diagnostic.code, e
try:
    source_of([f"delta:{root}/nowhere"], DEFAULT).batch(spark, warn_nobody)
    raise SystemExit("nothing is there")
except RunError as e:
    assert ("TRI601", "there is no Delta table here") == (e.diagnostic.code, e.diagnostic.message), e
print("all is well")
spark.stop()
"""


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process with that release of pyspark and its Delta; skips where one of them is not to be had."""
    folder = Path(os.environ.get("TRICEL_PYSPARK_4_1") or tmp_path_factory.mktemp("pyspark"))
    if shutil.which("mvn") is None:
        pytest.skip("there is no Maven to resolve Delta's libraries with")
    if not (folder / "pyspark").exists():
        install = ["-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), f"pyspark=={RELEASE}.*"]
        done = subprocess.run([sys.executable, *install], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"pyspark {RELEASE} cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
    version = DELTA_CONNECTOR.releases[RELEASE]
    for artifact in (f"{DELTA_CONNECTOR.coordinate}:{version}", f"io.delta:delta-storage:{version}"):
        maven = ["mvn", "-q", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
        done = subprocess.run(maven, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"{artifact} cannot be had: {done.stdout.strip().splitlines()[:1]}")
    paths = [str(folder), str(Path(__file__).parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYSPARK_PYTHON": sys.executable}
    environment.pop("SPARK_HOME", None)
    return environment | {"JARS": ",".join(map(str, folder.glob("delta-*.jar")))}


def run_script(environment: dict[str, str], root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", SCRIPT, str(root), environment["JARS"]]
    return subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True)


def test_delta(older: dict[str, str], tmp_path: Path) -> None:
    """It is read with a condition, written by a run and by a stream, each batch once whatever ends the process."""
    done = run_script(older, tmp_path)
    assert done.stdout.endswith("all is well\n"), done.stderr[-4000:]
