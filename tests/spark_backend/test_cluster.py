"""Filters on executors of their own: the same answers as locally, or a message that says what the executors lack."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from pyspark import cloudpickle
from tricel.spark_backend import column, fan_out, where
from tricel.spark_backend.fallback.worker import _self_contained
from tricel.spark_backend.run.explain_errors import with_failures

from tricel import CompiledFilter, compile_filter
from tricel.bundle import write_bundle, write_environment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

EXAMPLES = Path(__file__).parents[2] / "examples"
SCHEMA = "id STRING, source STRING, type STRING, subject STRING, extensions MAP<STRING, STRING>, data STRING"
PAYLOADS = ('{"a": 1.0, "s": "x"}', '{"a": 2.0, "s": "aa", "l": [2.0]}', '{"a": "1"}', "null", None)
ROWS = [
    (str(i), f"/s/{i % 3}", "a" * (i % 6), None if i % 7 else "s\0t", {"tier": "gold"} if i % 2 else None, payload)
    for i in range(40)
    for payload in PAYLOADS[i % 5 : i % 5 + 1]
]
NATIVE = ['ce.type == "aaaa"', "data.a > 1.0", 'ce.source == "/s/1" && data.s == "x"']
FALLBACK = [
    'ce.type.matches("^(a|aa)+$")',
    'ce.type != "a" && string(data.a) == "1"',
    'ce.source == "/s/2" && data.s.matches("^(a|aa)+$")',
    'ce.subject.matches("^(s|ss)+$")',
]
COMPILED = ("cel-expr-python", "google-re2", "numpy", "pandas", "pyarrow", "python-dateutil", "pytz", "six", "tzdata")
QUICKLY = "-XX:TieredStopAtLevel=1"
"""How Java compiles for what is over soon."""
NO_ENGINE = tuple(n for n in COMPILED if n != "cel-expr-python")
NOTHING = tuple(n for n in NO_ENGINE if n != "google-re2")


@dataclass(frozen=True)
class Named:
    """A compiled filter with a name. The module is a script too, which has no other test module at hand."""

    id: str
    compiled: CompiledFilter


def events(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, SCHEMA).repartition(2)


def answers(spark: SparkSession) -> dict[str, Any]:
    """What filters give: as columns, one by one, fanned out, and why they err."""
    frame = events(spark)
    filters = {text: compile_filter(text) for text in NATIVE + FALLBACK}
    columns = [column(frame, f).alias(f"c{i}") for i, f in enumerate(filters.values())]
    found: dict[str, Any] = {"columns": sorted(map(list, frame.select("id", *columns).collect()))}
    for text in (NATIVE[1], FALLBACK[1]):
        found[text] = sorted(r.id for r in where(frame, filters[text], on_error="deliver").collect())
    pairs = fan_out(frame, [Named(text, f) for text, f in filters.items()], outcomes=True)
    found["pairs"] = sorted([r.id, r.trigger, r.outcome] for r in pairs.collect())
    explained = with_failures(pairs, filters, pairs.outcome == "errored").where("error IS NOT NULL")
    found["errors"] = sorted([r.id, r.trigger, r.error, r.subexpression] for r in explained.collect())
    return found


def message(spark: SparkSession) -> str:
    """What a filter that needs the default engine fails with."""
    from pyspark.errors import PySparkException

    try:
        found = where(events(spark), compile_filter(FALLBACK[1])).collect()
    except PySparkException as e:
        return str(e)
    return f"no failure: {found}"


def run_on_a_cluster(pythons: dict[str, str], bundle: str, environment: str) -> dict[str, Any]:
    """What each kind of executor gives, on two executors in processes of their own."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.executor.extraJavaOptions", QUICKLY)
    spark = builder.config("spark.sql.shuffle.partitions", "2").config("spark.task.maxFailures", "1").getOrCreate()
    context = spark.sparkContext
    context.setLogLevel("OFF")
    found: dict[str, Any] = {}
    if environment:
        context.addArchive(f"{environment}#environment")
        context.pythonExec = "./environment/bin/python"
        found["environment"] = answers(spark)
    else:
        context.pythonExec = sys.executable
        found["ours"] = answers(spark)
        for kind in ("compiled", "nothing"):
            context.pythonExec = pythons[kind]
            found[f"{kind}, no bundle"] = message(spark)
        wheel = shutil.copy(bundle, Path(bundle).with_name("tricel-0-py3-none-any.whl"))
        context.addPyFile(str(wheel))
        context.pythonExec = pythons["compiled"]
        found["compiled, wheel"] = message(spark)
        context.addPyFile(bundle)
        for kind in ("no engine", "nothing"):
            context.pythonExec = pythons[kind]
            found[f"{kind}, bundle"] = message(spark)
        context.pythonExec = pythons["compiled"]
        found["compiled, bundle"] = answers(spark)
    spark.stop()
    return found


def run_on_connect(python: str, bundle: str) -> dict[str, Any]:
    """What workers give that have no tricel, without and with the bundle."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = python
    spark = SparkSession.builder.remote("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    found: dict[str, Any] = {"no bundle": message(spark)}
    spark.addArtifacts(bundle, pyfile=True)
    found["bundle"] = answers(spark)
    spark.stop()
    return found


def python_with(home: Path, distributions: tuple[str, ...]) -> str:
    """An interpreter that has these distributions and no other."""
    venv.create(home, with_pip=False, symlinks=True)
    site = home / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    ours = Path(sysconfig.get_path("purelib"))
    for name in distributions:
        try:
            files = metadata.distribution(name).files or []
        except metadata.PackageNotFoundError:  # a release of another that does not need it
            continue
        for top in {f.parts[0] for f in files} - {"..", "__pycache__"}:
            (site / top).symlink_to(ours / top)
    return str(home / "bin" / "python")


def alone(*command: str, folder: Path) -> str:
    """Standard output of a command that knows nothing of this process's environment but Java."""
    outside = ("PYSPARK", "PYTHON", "SPARK", "VIRTUAL_ENV")
    environment = {n: v for n, v in os.environ.items() if not n.startswith(outside)}
    home = str(metadata.distribution("pyspark").locate_file("pyspark"))
    environment |= {"SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_SUBMIT_OPTS": QUICKLY}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=570,
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-6_000:]
    return done.stdout


def on(session: Callable[..., dict[str, Any]], given: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What a function of this module gives in a process of its own: one process has one kind of session."""
    printed = alone(sys.executable, __file__, session.__name__, json.dumps(given), folder=folder)
    found = json.loads(printed.splitlines()[-1])
    assert isinstance(found, dict)
    return found


@dataclass(frozen=True)
class Workers:
    """Interpreters by what they have, and the bundle."""

    folder: Path
    pythons: dict[str, str]
    bundle: Path


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Workers:
    folder = tmp_path_factory.mktemp("workers")
    kinds = {"compiled": COMPILED, "no engine": NO_ENGINE, "nothing": NOTHING}
    pythons = {kind: python_with(folder / kind.replace(" ", "-"), names) for kind, names in kinds.items()}
    write_bundle(folder / "tricel-bundle.zip")
    return Workers(folder, pythons, folder / "tricel-bundle.zip")


@pytest.fixture(scope="module")
def cluster(workers: Workers) -> dict[str, Any]:
    """What executors give that have tricel, that get it as a bundle, and that do not have it."""
    given = {"pythons": workers.pythons, "bundle": str(workers.bundle), "environment": ""}
    return on(run_on_a_cluster, given, workers.folder)


@pytest.fixture(scope="module")
def local(spark: SparkSession) -> dict[str, Any]:
    found = answers(spark)
    assert {True, False, None} == {value for row in found["columns"] for value in row[1:]}
    assert {"delivered", "errored"} == {outcome for _, _, outcome in found["pairs"]}
    assert set(FALLBACK) & {trigger for _, trigger, _, _ in found["errors"]}
    return found


def test_the_filters_are_what_they_are_here_for() -> None:
    assert [] == [text for text in NATIVE if compile_filter(text).residual]
    assert [] == [text for text in FALLBACK if not compile_filter(text).residual]


LOAD = """
import pickle, sys
sys.path[:] = [p for p in sys.path if "site-packages" not in p] + sys.argv[1:]
try:
    pickle.loads(sys.stdin.buffer.read())()
except RuntimeError as e:
    print(e)
"""


def test_what_is_sent_loads_where_tricel_is_not(tmp_path: Path) -> None:
    """Without the `site` module an editable installation is not seen."""
    sent = cloudpickle.dumps(_self_contained(pickle.dumps((_self_contained, ())), RELEASE))
    places = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    command = [sys.executable, "-I", "-S", "-c", LOAD, *places]
    done = subprocess.run(command, cwd=tmp_path, input=sent, capture_output=True)
    assert done.stdout.startswith(b"tricel: the executor lacks the Python package 'tricel': host "), done.stderr


def no_module(name: str, text: str = "") -> None:
    raise ModuleNotFoundError(text or f"No module named '{name}'", name=name)


def no_name() -> None:
    raise ImportError("cannot import name 'x' from 'numpy'", name="numpy")


class Gone:
    """What an executor's other release does not have."""

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (metadata, "no_such_name")


RELEASE = metadata.version("tricel")


@pytest.mark.parametrize(
    ("sent", "release", "says"),
    [
        ((no_module, ("re2",)), RELEASE, "lacks the Python package 'google-re2': host .*--environment"),
        ((no_module, ("celpy.adapter",)), RELEASE, "lacks the Python package 'cel-python': host .*--environment"),
        ((no_module, ("yaml",)), RELEASE, "lacks the Python package 'pyyaml': host .*--out"),
        (
            (no_module, ("tricel.new",)),
            RELEASE,
            r"has another tricel than the driver \(no module 'tricel.new'\): host ",
        ),
        ((no_name, ()), RELEASE, r"cannot import what it needs \(cannot import name 'x' from 'numpy'\): host "),
        (
            (Gone(), ()),
            RELEASE,
            r"has another tricel than the driver \(module .* has no attribute 'no_such_name'\): host ",
        ),
        ((no_name, ()), "99.0", f"has tricel {RELEASE}, the driver 99.0: host .*the release of the driver"),
    ],
)
def test_a_worker_says_what_is_wrong(sent: tuple[Any, ...], release: str, says: str) -> None:
    with pytest.raises(RuntimeError, match=f"^tricel: the executor {says}"):
        _self_contained(cloudpickle.dumps(sent), release)()


def state(spark: SparkSession) -> dict[str, Any]:
    """What belongs to the owner of a session and of a process: settings, and all that is registered."""
    context = spark.sparkContext
    return {
        "settings": {r.key: r.value for r in spark.sql("SET").collect()},
        "defaults": {r.key: r.value for r in spark.sql("SET -v").collect()},
        "context": sorted(context.getConf().getAll()),
        "properties": {key: context.getLocalProperty(key) for key in ("spark.job.description", "spark.jobGroup.id")},
        "functions": [r.function for r in spark.sql("SHOW USER FUNCTIONS").collect()],
        "tables": sorted(t.name for t in spark.catalog.listTables()),
        "database": spark.catalog.currentDatabase(),
        "sent": (list(context._python_includes), str(context._jsc.sc().listFiles())),  # type: ignore[union-attr]
        "python": context.pythonExec,
        "environment": dict(os.environ),
        "path": list(sys.path),
        "recursion": sys.getrecursionlimit(),
        "signals": [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)],
        "warnings": list(warnings.filters),
        "pickled by value": sorted(cloudpickle.list_registry_pickle_by_value()),
    }


def cached(spark: SparkSession) -> set[int]:
    """The identities of what is cached. Spark drops what no one holds any more, whenever Java collects it."""
    return set(spark.sparkContext._jsc.getPersistentRDDs())  # type: ignore[union-attr]


def test_a_filter_leaves_the_session_and_the_process_as_they_were(spark: SparkSession) -> None:
    before, held = state(spark), cached(spark)
    answers(spark)
    assert before == state(spark)
    assert cached(spark) <= held


@pytest.mark.slow
@pytest.mark.parametrize("executors", ["ours", "compiled, bundle"])
def test_a_cluster_answers_as_local_spark_does(local: dict[str, Any], cluster: dict[str, Any], executors: str) -> None:
    assert local == cluster[executors]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("executors", "package", "remedy"),
    [
        ("compiled, no bundle", "tricel", "tricel bundle --out"),
        ("compiled, wheel", "tricel", "tricel bundle --out"),
        ("nothing, no bundle", "tricel", "tricel bundle --out"),
        ("nothing, bundle", "google-re2", "tricel bundle --environment"),
        ("no engine, bundle", "cel-expr-python", "tricel bundle --environment"),
    ],
)
def test_what_executors_lack_is_named(cluster: dict[str, Any], executors: str, package: str, remedy: str) -> None:
    text = said(cluster[executors])
    assert f"lacks the Python package '{package}': host " in text
    assert f"/{executors.split(',')[0].replace(' ', '-')}/bin/python" in text
    assert remedy in text
    assert "cloudpickle" not in cluster[executors]


def said(text: str) -> str:
    """Our message, of what a query failed with."""
    found = re.search(r"RuntimeError: (tricel: the executor lacks .*)", text)
    assert found, text
    return found[1]


@pytest.mark.slow
def test_connect_takes_the_bundle_as_an_artifact(local: dict[str, Any], workers: Workers) -> None:
    given = {"python": workers.pythons["compiled"], "bundle": str(workers.bundle)}
    found = on(run_on_connect, given, workers.folder)
    assert "lacks the Python package 'tricel': host " in said(found["no bundle"])
    assert local == found["bundle"]


@pytest.mark.slow
def test_a_submitted_job_takes_the_bundle(workers: Workers) -> None:
    """Neither the driver nor the executors have tricel but in the bundle."""
    python = workers.pythons["compiled"]
    submit = [str(Path(sys.executable).parent / "spark-submit"), "--master", "local-cluster[2,1,1024]"]
    submit += ["--conf", f"spark.pyspark.python={python}", "--conf", "spark.ui.enabled=false"]
    job = [str(EXAMPLES / "spark" / "job.py"), str(EXAMPLES / "events" / "orders.jsonl")]
    printed = alone(*submit, "--py-files", str(workers.bundle), *job, folder=workers.folder)
    assert ["o-1008 order/1008", "o-1013 order/1013"] == printed.splitlines()


@pytest.mark.slow
def test_executors_without_anything_run_in_the_environment(local: dict[str, Any], tmp_path: Path) -> None:
    environment = tmp_path / "environment.tar.gz"
    write_environment(environment)
    given = {"pythons": {}, "bundle": "", "environment": str(environment)}
    assert {"environment": local} == on(run_on_a_cluster, given, tmp_path)


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](**json.loads(sys.argv[2]))))
