"""What a session can read and write."""

from __future__ import annotations

from pyspark.sql import SparkSession

from ..failure import RunError
from ..spark_errors import SPARK_FAILURES, cause
from .connectors import Connector


def has_format(spark: SparkSession, name: str) -> bool:
    """Whether the session has a source of that name, one that was made for its release."""
    try:
        spark.read.format(name).load("/tricel/no/such/place")
    except SPARK_FAILURES as e:
        return _missing(e) == ""
    return True


def check_format(spark: SparkSession, connector: Connector, place: str) -> None:
    """Raises RunError (TRI612) where the session has no such connector, or one of another release that does not load."""
    try:
        spark.read.format(connector.format).load("/tricel/no/such/place").schema  # noqa: B018
    except SPARK_FAILURES as e:
        why = _missing(e)
        if why:
            help_ = f"give Spark {connector.coordinate} with --conf spark.jars.packages, or --conf spark.jars"
            raise RunError("TRI612", f"Spark has no connector to {connector.title}: {why}", place, help_) from None


def _missing(e: Exception) -> str:
    """Why a source does not load; empty where it does and fails for another reason."""
    said = str(e)
    if "DATA_SOURCE_NOT_FOUND" in said or "MISSING_CATALOG" in said:
        return "it is not among its libraries"
    if "NoClassDefFoundError" in said or "NoSuchMethodError" in said or "IncompatibleClassChange" in said:
        return cause(e)
    return ""
