"""Where a DataFrame's columns are, and what the session that it belongs to can do."""

from __future__ import annotations

import re

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from tricel.compiler import CLOUD_EVENT, Environment

from .jsontext import KEEPS_LAST, VALIDATES
from .layout import Layout, Quirks, recognise

_NESTED_LAMBDAS = (4, 3)
"""The first release whose optimiser finds a UDF call again that holds nested lambdas: others leave it in the plan."""


def layout_of(df: DataFrame, environment: Environment = CLOUD_EVENT) -> Layout:
    """The layout of `df`.

    Raises:
        LayoutError: where the columns do not hold events.
    """
    spark = df.sparkSession
    quirks = Quirks(
        takes_unpaired_surrogates(spark),
        loses_nested_lambdas=release(spark) < _NESTED_LAMBDAS,
        keeps_last=_is_on(spark, KEEPS_LAST),
    )
    return recognise(df.schema, environment, quirks)


def release(spark: SparkSession) -> tuple[int, ...]:
    """The first two numbers of the version of the Spark that a session runs on."""
    return tuple(int(n) for n in re.findall(r"\d+", spark.version)[:2])


def is_classic(spark: SparkSession) -> bool:
    """Whether the session has its JVM at hand; on Spark Connect it has not."""
    return hasattr(spark, "_jsparkSession")


def takes_unpaired_surrogates(spark: SparkSession) -> bool:
    """Whether the session's JSON parser takes an unpaired surrogate escape, which is no text (see `jsontext`)."""
    return not _is_on(spark, VALIDATES)


def _is_on(spark: SparkSession, setting: str) -> bool:
    """Whether a setting is on; in a release without it, it is not."""
    try:
        return str(spark.conf.get(setting)).lower() == "true"
    except PySparkException:
        return False
