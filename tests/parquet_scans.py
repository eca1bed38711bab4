"""A table of events in Parquet, and what Spark pushes into its scan."""

from __future__ import annotations

import re

from pyspark.sql import DataFrame

SCHEMA = (
    "id STRING, source STRING, type STRING, subject STRING, time TIMESTAMP, datacontenttype STRING, "
    "extensions MAP<STRING, STRING>, data STRING"
)


def pushed(frame: DataFrame) -> str:
    """The filters that Spark pushes into the scan."""
    plan = frame._jdf.queryExecution().executedPlan().toString()
    found = re.search(r"PushedFilters: (\[.*?\]), ReadSchema", plan)
    assert found is not None, plan
    return found[1]
