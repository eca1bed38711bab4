"""One Spark session for all tests of a process that need one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from kafka_broker import Broker, broker_in, connector_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module", autouse=True)
def constants_may_err() -> Iterator[None]:
    """Compiles filters that are an error for every event, too, which users are refused: errors are compared as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tricel.compiler.compile.failing_constants", lambda checked, source: ())
        yield


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker of Kafka; tests that ask for it have Spark's connector to Kafka in the session, too."""
    with broker_in(tmp_path_factory.mktemp("kafka")) as found:
        yield found


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Local Spark in an odd time zone, so that a result that depends on the zone shows.

    Each of the processes that share the tests has its own: no two of them keep tables or spill in one folder.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    own = tmp_path_factory.mktemp("spark")
    wanted = any("broker" in getattr(item, "fixturenames", ()) for item in request.session.items)
    connector = ",".join(map(str, connector_jars(skip=False))) if wanted else ""
    session = (
        SparkSession.builder.master(f"local[{1 if 'PYTEST_XDIST_WORKER' in os.environ else 2}]")
        .appName("tricel-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.jars", connector)
        .config("spark.sql.session.timeZone", "Asia/Kathmandu")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(own / "warehouse"))
        .config("spark.local.dir", str(own / "local"))
        .config("spark.driver.memory", "4g")  # Spark 4.0 keeps whatever its SQL parser has met; later ones empty that
        .config("spark.sql.ui.retainedExecutions", "5")  # with their plans, a thousand of which would fill it
        .config("spark.sql.parser.manageParserCaches", "true")
        .config("spark.sql.parser.parserDfaCacheFlushRatio", "20")
        .config("spark.ui.retainedJobs", "20")
        .config("spark.ui.retainedStages", "20")
        .config("spark.driver.extraJavaOptions", f"-Xss8m -Dderby.system.home={own}")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
