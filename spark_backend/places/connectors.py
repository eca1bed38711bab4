"""Connectors: what Spark itself lacks for a kind of place, and which is for which release. Loads no Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata

from ..failure import RunError


@dataclass(frozen=True)
class Connector:
    """A library of Maven's: `coordinate` is its group and name, `releases` its version for each release of Spark.

    `format` is what Spark calls the source that it brings, and `settings` what else a session needs for it.
    """

    format: str
    title: str
    coordinate: str
    releases: Mapping[str, str]
    settings: tuple[tuple[str, str], ...] = ()
    of_spark: bool = False
    """Whether its versions are those of Spark."""

    def __hash__(self) -> int:
        return hash(self.coordinate)


PACKAGES, JARS = "spark.jars.packages", "spark.jars"


def with_connectors(
    settings: Mapping[str, str], connectors: Sequence[Connector], tell: Callable[[str], None], spark: str = ""
) -> dict[str, str]:
    """The settings of a session that is to be started, with what brings the connectors.

    A connector whose name is among the libraries that are given is not added. `spark` is the release of Spark, by default
    that of pyspark here. `tell` is told of a connector that was made for another release.

    Raises:
        RunError: TRI612 where none is known for the release.
    """
    release = ".".join((spark or metadata.version("pyspark")).split(".")[:2])
    found = dict(settings)
    for connector in connectors:
        _, _, artifact = connector.coordinate.partition(":")
        for name, value in connector.settings:
            found.setdefault(name, value)
        given = f"{settings.get(PACKAGES, '')},{settings.get(JARS, '')}"
        if artifact in given:
            continue
        version = connector.releases.get(release)
        if version is None:
            known = ", ".join(connector.releases)
            help_ = f"run it on Spark {known}; or give the libraries with --conf {PACKAGES}=... or --conf {JARS}=..."
            message = f"no connector to {connector.title} is published for Spark {release}"
            raise RunError("TRI612", message, connector.coordinate, help_)
        if connector.of_spark and not version.startswith(f"{release}."):
            tell(f"{connector.coordinate} {version} is used: none is published for Spark {release}")
        found[PACKAGES] = ",".join(filter(None, (found.get(PACKAGES, ""), f"{connector.coordinate}:{version}")))
    return found


KAFKA_CONNECTOR = Connector(
    "kafka",
    "Kafka",
    "org.apache.spark:spark-sql-kafka-0-10_2.13",
    {"4.0": "4.0.1", "4.1": "4.1.0", "4.2": "4.2.0", "4.3": "4.2.0"},
    of_spark=True,
)
DELTA_CONNECTOR = Connector(
    "delta",
    "Delta Lake",
    "io.delta:delta-spark_2.13",
    {"4.0": "4.0.1", "4.1": "4.1.0"},
    (
        ("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension"),
        ("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"),
    ),
)
