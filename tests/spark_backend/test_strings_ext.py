"""Where cel-expr-python parts from the extension: `substring` up to the end of a text, and an empty text split."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession
from spark_settings import set_to
from tricel.spark_backend import column

from tricel import compile_filter

pytestmark = pytest.mark.spark

# expression, the payload's x, the outcome (None: an error)
ROWS: list[tuple[str, object, bool | None]] = [
    ('data.x.substring(0, 3) == "abc"', "abc", True),
    ('data.x.substring(2, 3) == "c"', "abc", True),
    ('data.x.substring(0, 2) == "a😀"', "a😀", True),
    ('data.x.substring(1, 2) == "😀"', "a😀", True),
    ('data.x.substring(0, 1) == "a"', "ab", True),
    ('data.x.substring(0, 1) == "a"', "", None),
    ('data.x.substring(0, 0) == ""', "", True),
    ('data.x.substring(0, 4) == "abc"', "abc", None),
    ('data.x.substring(3, 4) == ""', "abc", None),
    ('data.x.substring(3, 3) == ""', "abc", True),
    ('data.x.substring(-1, 1) == ""', "abc", None),
    ('data.x.substring(0, 9223372036854775807) == "abc"', "abc", None),
    ('data.x.substring(0, int(data.x)) == "3"', "3", None),
    ('data.x.substring(0, int(data.x)) == "1"', "1", True),
    ('data.x.substring(0, 1) == "1"', 1, None),
    ('data.x.split("").size() == 0', "", True),
    ('data.x.split("")[0] == ""', "", None),
    ('data.x.split("")[0] == "😀"', "😀x", True),
    ('data.x.split("", 1)[0] == "abc"', "abc", True),
    ('data.x.split("", 1).size() == 0', "", True),
    ('data.x.split("", 9).size() == 3', "abc", True),
    ('data.x.split("", 9).size() == 0', "", True),
    ('data.x.split("", 0).size() == 0', "abc", True),
    ("data.x.split(data.x, 1)[0] == data.x", "abc", True),
    ("data.x.split(data.x, 1).size() == 0", "", True),
    ('data.x.split(",").size() == 1', "", True),
    ('data.x.split("").size() == 0', 1, None),
]


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_spark_keeps_to_the_definition(spark: SparkSession, ansi: str) -> None:
    with set_to(spark, {"spark.sql.ansi.enabled": ansi}):
        rows = [(i, json.dumps({"x": x})) for i, (_, x, _) in enumerate(ROWS)]
        frame = spark.createDataFrame(rows, "i INT, data STRING")
        filters = [compile_filter(text) for text, _, _ in ROWS]
        assert [f.cel for f in filters if f.residual] == []
        found = sorted(frame.select("i", *(column(frame, f).alias(f"c{n}") for n, f in enumerate(filters))).collect())
    wrong = [(row, found[i][f"c{i}"]) for i, row in enumerate(ROWS) if found[i][f"c{i}"] != row[2]]
    assert wrong == []
