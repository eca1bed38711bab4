"""Where a DataFrame's columns are, and what the session that it belongs to can do."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from tricel.compiler import CLOUD_EVENT, CheckedFilter, Environment

from .failure import Warn, warn_user
from .reads import unread
from .sql import Operand, render
from .sql.json_text import KEEPS_LAST, VALIDATES
from .sql.layout import Layout, Quirks, recognise

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


def layouts_of(df: DataFrame, filters: Iterable[CheckedFilter], warn: Warn = warn_user) -> dict[Environment, Layout]:
    """The layout of `df` for the environment of each filter, once it is known to have what the filters read.

    An attribute that no event can have, and that none must have, is told to `warn` (TRI609).

    Raises:
        LayoutError: where the columns do not hold events, or lack what a filter reads (TRI608).
    """
    given = tuple(filters)
    layouts = {e: layout_of(df, e) for e in dict.fromkeys(f.checked.environment for f in given)}
    for diagnostic in unread(given, layouts, df.columns):
        warn(diagnostic)
    return layouts


def expression(node: Operand, taken: Iterable[str] = ()) -> Column:
    """The column of an SQL expression. `taken` are the names of columns that its variables must not have."""
    return F.expr(render(node.sql, frozenset(name.lower() for name in taken)))


def release(spark: SparkSession) -> tuple[int, ...]:
    """The first two numbers of the version of the Spark that a session runs on."""
    return tuple(int(n) for n in re.findall(r"\d+", spark.version)[:2])


def is_classic(spark: SparkSession) -> bool:
    """Whether the session has its JVM at hand; on Spark Connect it has not."""
    return hasattr(spark, "_jsparkSession")


def takes_unpaired_surrogates(spark: SparkSession) -> bool:
    """Whether the session's JSON parser takes an unpaired surrogate escape, which is no text (see `json_text`)."""
    return not _is_on(spark, VALIDATES)


def _is_on(spark: SparkSession, setting: str) -> bool:
    """Whether a setting is on; in a release without it, it is not."""
    try:
        return str(spark.conf.get(setting)).lower() == "true"
    except PySparkException:
        return False
