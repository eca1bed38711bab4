"""The Spark session of a command line: a usable Java first, then a quiet and bounded Spark."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from ..failure import RunError
from ..places.connectors import Connector, with_connectors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
_HELP = f"install a Java runtime {OLDEST_JAVA} or later, and put it on PATH or let JAVA_HOME name its directory"

DEFAULTS: Mapping[str, str] = {
    "spark.app.name": "tricel",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    # Walking a payload that is nested up to the parser's limit (1,000 levels) can overflow the default stack of 1 MB,
    # which Spark takes for fatal: the JVM exits.
    "spark.executor.extraJavaOptions": "-Xss16m",
    "spark.driver.extraJavaOptions": "-Xss16m",
    "spark.sql.shuffle.partitions": "8",
    # What a run has written is listed again to count it: a task for each of many folders takes longer than the listing.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
    # A stream parses other SQL whenever its triggers change. What the parser has learnt of it would be kept for good, and
    # emptied too often it is slow: this is a percentage of the memory.
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushRatio": "25",
}
"""What a session started here is set to, where the caller says nothing else."""

_DAEMON = "tricel.spark_backend.fallback.worker_daemon"
_BRIEF = "-XX:TieredStopAtLevel=1"
"""Java compiles its code once and quickly: compiling it well takes longer than a short run takes in all."""

# The level is Spark's own default, which it would otherwise announce to set.
_QUIET = """rootLogger.level = warn
rootLogger.appenderRef.none.ref = none
appender.none.type = Null
appender.none.name = none
"""


def java_version(environment: Mapping[str, str] = os.environ) -> int:
    """The major version of the Java that Spark will run on: JAVA_HOME's, or the first on PATH.

    Raises RunError (TRI604) when there is none, when it cannot be run, and when it is too old for Spark 4.
    """
    home = environment.get("JAVA_HOME", "")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java", path=environment.get("PATH"))
    if not java:
        raise RunError("TRI604", "there is no Java on PATH, and JAVA_HOME is not set", "java", _HELP)
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        raise RunError("TRI604", "Java cannot be run", java, _HELP) from None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    if not found:
        raise RunError("TRI604", "Java does not tell its version", java, _HELP)
    version = int(found[1])
    if version < OLDEST_JAVA:
        raise RunError("TRI604", f"Java {version} is too old for Spark", java, _HELP)
    return version


def start_session(
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    *,
    brief: bool = False,
    connectors: Sequence[Connector] = (),
    tell: Callable[[str], None] = lambda text: None,
) -> SparkSession:
    """A Spark session for a command: the one there is, that of `spark-submit` or SPARK_REMOTE, or a new one on `master`.

    A new one is local, quiet, without a user interface and bounded in memory; `conf` overrides each of `DEFAULTS`. With
    `brief` it is for little work, which it is done with sooner. What a new one needs of `connectors` is had from Maven, unless
    `conf` brings it; `tell` is told of one that was made for another release of Spark. Of the others only `conf` is set. Which Python the workers
    run is said in `worker`: executors of a cluster that `spark-submit` chose may not have this one at its path.

    Raises:
        RunError: TRI604 when no usable Java is found, before a JVM starts; TRI606 when Spark does not start, or its
            master or server cannot be had; TRI612 where there is no connector for this release of Spark.
    """
    _quiet_bridge()
    given = "PYSPARK_GATEWAY_PORT" in os.environ or bool(os.environ.get("SPARK_REMOTE"))
    if not given:
        java_version()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        settings = dict(conf or {})
        if not given:
            settings = with_connectors(settings, connectors, tell)
        return _started(master, settings, given, brief=brief)


def _started(master: str | None, settings: dict[str, str], given: bool, *, brief: bool) -> SparkSession:
    from ..spark_errors import SPARK_FAILURES, cause

    try:
        return _session(master, settings, given, brief=brief)
    except SPARK_FAILURES as e:
        where = master or os.environ.get("SPARK_REMOTE") or settings.get("spark.master", "the session")
        help_ = "check --master, or what SPARK_REMOTE names"
        raise RunError("TRI606", f"Spark does not start: {cause(e)}", where, help_) from e


def _session(master: str | None, settings: dict[str, str], given: bool, *, brief: bool) -> SparkSession:
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    named = "PYSPARK_PYTHON" in os.environ
    if not given:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        settings = {**DEFAULTS, **settings}
        options = "spark.driver.extraJavaOptions"
        added = f"-Dlog4j2.configurationFile={_quiet_logging()} {_BRIEF if brief else ''}".rstrip()
        settings[options] = f"{settings[options]} {added}"
        settings["spark.master"] = master or settings.get("spark.master", "local[*]")
        if not named and hasattr(os, "fork") and _installed() and settings["spark.master"].startswith("local"):
            settings.setdefault("spark.python.daemon.module", _DAEMON)
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    if not given:
        session.sparkContext.setLogLevel("OFF")
    return session


def _installed() -> bool:
    """Whether another process of this Python finds tricel, too."""
    try:
        return bool(metadata.version("tricel"))
    except metadata.PackageNotFoundError:
        return False


def _quiet_bridge() -> None:
    """Lets Spark's bridge log nothing: each failure is also raised, and is told by the command in its own words.

    It logs by its own logger and, with tracebacks, by the root's, which without a handler would be given one.
    """
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    if not logging.getLogger().handlers:
        logging.getLogger().addHandler(logging.NullHandler())


def _quiet_logging() -> str:
    """A logging configuration that says nothing: what goes wrong comes back as an exception."""
    handle, name = tempfile.mkstemp(prefix="tricel-log4j2-", suffix=".properties")
    with os.fdopen(handle, "w") as file:
        file.write(_QUIET)
    atexit.register(Path(name).unlink, missing_ok=True)
    return Path(name).as_uri()
