"""The payload is JSON by its media type, or in the absence of one; otherwise it is a string."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from tricel.spark_backend import column

from tricel import compile_filter

pytestmark = pytest.mark.spark

# media type, whether {"a": 1} is read as JSON
MEDIA_TYPES: list[tuple[str | None, bool]] = [
    (None, True),
    ("application/json", True),
    ("Application/JSON", True),
    ("application/json; charset=utf-8", True),
    ("application/json ;charset=utf-8", True),
    ("text/json", True),
    ("application/cloudevents+json", True),
    ("application/vnd.x+JSON; v=1", True),
    ("text/plain", False),
    ("application/xml", False),
    ("application/jsonlines", False),
    ("application/x-json", False),
    ("text/plain; profile=application/json", False),
    ("json", False),
    ("", False),
]


def test_media_types(spark: SparkSession) -> None:
    rows = [(i, media, '{"a": 1}') for i, (media, _) in enumerate(MEDIA_TYPES)]
    frame = spark.createDataFrame(rows, "row INT, datacontenttype STRING, data STRING")
    as_json, as_text = compile_filter("data.a == 1"), compile_filter('data == "{\\"a\\": 1}"')
    found = sorted(frame.select("row", column(frame, as_json).alias("j"), column(frame, as_text).alias("t")).collect())
    wrong = [
        (media, row["j"], row["t"])
        for (media, json), row in zip(MEDIA_TYPES, found, strict=True)
        if (row["j"], row["t"]) != ((True, False) if json else (None, True))
    ]
    assert wrong == []
