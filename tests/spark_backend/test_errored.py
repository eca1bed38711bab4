"""Why a filter erred: the text and the subexpression, for exactly the events on which it does."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tricel.spark_backend import column
from tricel.spark_backend.errored import with_failures

from tricel import compile_filter

pytestmark = pytest.mark.spark

SCHEMA = "id STRING, source STRING, type STRING, subject STRING, extensions MAP<STRING, STRING>, data STRING"
ROWS = [
    ("1", "/s", "t", None, {"user": '{"id": "u"}'}, '{"total": 5, "items": [1]}'),
    ("2", "/s", "t", "s", {}, '{"total": "5"}'),
    ("3", "/s", "t", "s", {"user": "not JSON"}, "null"),
    ("4", "/s", "t", "x\0y", None, None),
]
FILTERS = {
    "subject": 'ce.subject == "s"',
    "total": "data.total > 4.0",
    "either": 'data.total > 4.0 || ce.subject == "nobody"',
    "item": "data.items[1] == 2.0 && ce.type == 't'",
    "user": 'ce.user.id == "u"',
    "fine": "has(ce.subject)",
}
EXPECTED = {
    ("subject", "1"): ("no such key: 'subject'", "ce.subject"),
    ("total", "2"): ("no matching overload for '>' applied to (string, double)", "data.total > 4.0"),
    ("total", "3"): ("type 'null_type' has no fields: 'total'", "data.total"),
    ("total", "4"): ("no such attribute: 'data'", "data"),
    ("either", "2"): ("no matching overload for '>' applied to (string, double)", "data.total > 4.0"),
    ("either", "3"): ("type 'null_type' has no fields: 'total'", "data.total"),
    ("either", "4"): ("no such attribute: 'data'", "data"),
    ("item", "1"): ("index out of range: 1", "data.items[1]"),
    ("item", "2"): ("no such key: 'items'", "data.items"),
    ("item", "3"): ("type 'null_type' has no fields: 'items'", "data.items"),
    ("item", "4"): ("no such attribute: 'data'", "data"),
    ("user", "3"): ("type 'string' has no fields: 'id'", "ce.user.id"),
    ("user", "2"): ("no such key: 'user'", "ce.user"),
    ("user", "4"): ("no such key: 'user'", "ce.user"),
}


@pytest.mark.parametrize("layout", ["JSON text", "VARIANT"])
def test_each_error_has_its_text_and_its_place(spark: SparkSession, layout: str) -> None:
    frame = spark.createDataFrame(ROWS, SCHEMA)
    if layout == "VARIANT":
        frame = frame.withColumn("data", F.expr("try_parse_json(data)"))
    filters = {id_: compile_filter(text) for id_, text in FILTERS.items()}
    pairs = None
    for id_, f in filters.items():
        erring = frame.where(column(f, frame).isNull()).withColumn("trigger", F.lit(id_))
        pairs = erring if pairs is None else pairs.unionAll(erring)
    assert pairs is not None
    pairs = pairs.unionAll(frame.withColumn("trigger", F.lit("fine")))
    explained = with_failures(pairs, filters, F.col("trigger") != "fine")
    assert 0 == explained.where("trigger = 'fine' AND (error IS NOT NULL OR subexpression IS NOT NULL)").count()
    rows = explained.where("trigger != 'fine'").select("trigger", "id", "error", "subexpression").collect()
    found = {(r["trigger"], r["id"]): (r["error"], r["subexpression"]) for r in rows}
    assert EXPECTED == found


TYPED = """SELECT '1' AS id, named_struct(
    'items', array(named_struct('v', parse_json('1'))), 'n', 5L, 'l', array(parse_json('null'), parse_json('"x"')),
    'm', map('k', parse_json('null')), 'o', parse_json('{"p": {"q": 3}}')) AS data"""
IN_TYPED = {
    "data.items.size() > 0 && data.items[data.n].v == 1.0": ("index out of range: 5", "data.items[data.n]"),
    "data.items[0].v.startsWith('a')": (
        "no matching overload for 'startsWith' applied to (double, string)",
        'data.items[0].v.startsWith("a")',
    ),
    "data.l[0] > 1.0": ("no matching overload for '>' applied to (null_type, double)", "data.l[0] > 1.0"),
    "data.m.k > 1.0": ("no matching overload for '>' applied to (null_type, double)", "data.m.k > 1.0"),
    "data.o.p.r == 3.0": ("no such key: 'r'", "data.o.p.r"),
}


def test_an_error_over_variants_in_a_typed_column_is_explained(spark: SparkSession) -> None:
    """Such a column may not travel to be judged, for it would lose something on the way; to be explained it may."""
    frame = spark.sql(TYPED)
    found = {}
    for text in IN_TYPED:
        compiled = compile_filter(text)
        assert (True,) == tuple(frame.select(column(compiled, frame).isNull()).collect()[0])
        rows = with_failures(frame.withColumn("trigger", F.lit("t")), {"t": compiled}, F.lit(True)).collect()
        found[text] = [(r["error"], r["subexpression"]) for r in rows]
    assert {text: [expected] for text, expected in IN_TYPED.items()} == found
