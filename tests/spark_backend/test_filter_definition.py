"""The filters of Knative and of the Subscriptions API mean on Spark what their definitions say, read from the same lines."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random

import pytest
from filter_definition import DEFINITIONS, Definition, passes, random_event, random_filter
from pyspark.sql import SparkSession
from tricel.spark_backend import column
from tricel.spark_backend.events.readers import read_events

from tricel import compile_filter

pytestmark = pytest.mark.spark

MANY = 600 if os.environ.get("TRICEL_SAMPLE") == "all" else 60
TOGETHER = 20
"""Filters in one query."""
EVENTS = 400


@pytest.mark.sampled
@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.dialect)
def test_random_filters_deliver_what_their_definition_says(
    spark: SparkSession, tmp_path: Path, definition: Definition
) -> None:
    chosen = Random(9)
    events = {f"id-{i}": {**random_event(chosen, definition), "id": f"id-{i}"} for i in range(EVENTS)}
    file = tmp_path / "events.jsonl"
    file.write_text("\n".join(json.dumps(event) for event in events.values()), encoding="utf-8")
    frame = read_events(spark, file).cache()
    told = 0
    for start in range(0, MANY, TOGETHER):
        some = [random_filter(chosen, definition) for _ in range(start, min(start + TOGETHER, MANY))]
        columns = [
            column(frame, compile_filter([each], dialect=definition.dialect)).alias(f"c{i}")
            for i, each in enumerate(some)
        ]
        rows = {row["id"]: row for row in frame.select("id", *columns).collect()}
        assert rows.keys() == events.keys()
        for i, each in enumerate(some):
            expected = {name: passes(each, event, definition) for name, event in events.items()}
            assert expected == {name: row[f"c{i}"] for name, row in rows.items()}, each
            told += len(set(expected.values())) == 2
    frame.unpersist()
    assert told > MANY / 3
