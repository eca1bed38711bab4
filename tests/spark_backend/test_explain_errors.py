"""Why a filter erred: the text and the subexpression, for exactly the events on which it does."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest
from filter_sets import Trigger
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from samples import sample
from spark_settings import set_to
from tricel.compiler import schema_type
from tricel.compiler.celtypes import JSON, STRING
from tricel.spark_backend import column
from tricel.spark_backend.run.evaluation import Judge
from tricel.spark_backend.run.explain_errors import ErrorContext, with_failures
from tricel.spark_backend.run.pipeline import run

from tricel import CLOUD_EVENT, CompiledFilter, Environment, compile_filter

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class InEnvironment(Trigger):
    """A trigger of an environment."""

    environment: Environment = CLOUD_EVENT

    @property
    def compiled(self) -> CompiledFilter:
        """The filter."""
        return compile_filter(self.text, self.environment)


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
        erring = frame.where(column(frame, f).isNull()).withColumn("trigger", F.lit(id_))
        pairs = erring if pairs is None else pairs.unionAll(erring)
    assert pairs is not None
    pairs = pairs.unionAll(frame.withColumn("trigger", F.lit("fine")))
    explained = with_failures(pairs, filters, F.col("trigger") != "fine")
    assert 0 == explained.where("trigger = 'fine' AND (error IS NOT NULL OR subexpression IS NOT NULL)").count()
    assert EXPECTED == told(explained.where("trigger != 'fine'"))


def told(explained: DataFrame) -> dict[tuple[str, str], tuple[str, str]]:
    """What is said of each pair that erred."""
    rows = explained.select("trigger", "id", "error", "subexpression").collect()
    return {(r["trigger"], r["id"]): (r["error"], r["subexpression"]) for r in rows}


def errors_of(spark: SparkSession, triggers: list[Trigger], events: DataFrame, out: Path, **how: str) -> DataFrame:
    """What a run says of the pairs that erred."""
    run(spark, triggers, events, str(out), **how)  # type: ignore[arg-type]
    if how["format"] == "parquet":
        return spark.read.option("inferSchema", "false").parquet(str(out / "errors"))
    return spark.read.schema("trigger STRING, id STRING, error STRING, subexpression STRING, event STRING").json(
        str(out / "errors")
    )


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("layout", "partition", "format_"),
    sample([*product(("JSON text", "VARIANT"), ("trigger", "subscriber", "none"), ("parquet", "jsonl"))], 5),
)
def test_a_run_says_the_same_of_what_it_has_written(
    spark: SparkSession, tmp_path: Path, layout: str, partition: str, format_: str
) -> None:
    frame = spark.createDataFrame(ROWS, SCHEMA)
    if layout == "VARIANT":
        frame = frame.withColumn("data", F.expr("try_parse_json(data)"))
    triggers = [Trigger(id_, text, "deliver" if id_ == "item" else "") for id_, text in FILTERS.items()]
    found = errors_of(spark, triggers, frame, tmp_path / "out", format=format_, partition=partition)
    assert EXPECTED == told(found)
    assert len(EXPECTED) == found.count()


ODD = {
    "a text like a number's": ('{"x": "Infinity"}', "data.x > 1.0", "applied to (string, double)"),
    "a text like JSON's end": ('{"x": "\\n\\"}]\\u2028"}', "data.x > 1.0", "applied to (string, double)"),
    "beyond an int": ("[12345678901234567890]", "data[0] != 12345678901234567890.0 || data[1] > 1.0", "range: 1"),
    "deep": ("[" * 400 + "]" * 400, "data > 1.0", "applied to (list, double)"),
    "as a text beyond what parsers take": ('["' + '\\"' * 7_000_000 + '"]', "data[1] > 1.0", "range: 1"),
}


@pytest.mark.parametrize("format_", ["parquet", "jsonl"])
def test_what_is_odd_is_explained_after_it_was_written(spark: SparkSession, tmp_path: Path, format_: str) -> None:
    rows = [(name, "/s", "t", data) for name, (data, *_) in ODD.items()]
    events = spark.createDataFrame(rows, "id STRING, source STRING, type STRING, data STRING")
    triggers = [Trigger(name, f'ce.id == "{name}" && ({text})') for name, (_, text, _) in ODD.items()]
    found = told(errors_of(spark, triggers, events, tmp_path / "out", format=format_))
    assert {(name, name) for name in ODD} == set(found)
    assert [] == [found[name, name] for name, (*_, says) in ODD.items() if not found[name, name][0].endswith(says)]


NO_VALUE = "the event holds a value that CEL does not have"
BEYOND_JSON = {
    "bytes": ("CAST(X'0001' AS VARIANT)", "data.x == 1.0", "type 'bytes' has no fields: 'x'"),
    "bytes within": (
        "to_variant_object(named_struct('b', X'01'))",
        "data.b.x == 1.0",
        "type 'bytes' has no fields: 'x'",
    ),
    "a date": ("to_variant_object(named_struct('d', DATE'2020-01-02'))", "data.d > 1.0", NO_VALUE),
    "infinity": ("parse_json('[1e400]')", 'data[0] < "a"', "no matching overload for '<' applied to (double, string)"),
    "infinity, beside a text": ("parse_json('[1e400, \"a\"]')", "data[0] < data[1]", "applied to (double, string)"),
    "infinity in a text": ("'[1e400]'", 'data[0] < "a"', "no matching overload for '<' applied to (double, string)"),
}


@pytest.mark.parametrize("name", BEYOND_JSON)
def test_what_json_does_not_tell_is_explained_as_it_is(spark: SparkSession, tmp_path: Path, name: str) -> None:
    data, text, says = BEYOND_JSON[name]
    one = f"SELECT '1' AS id, '/s' AS source, 't' AS type, {data} AS data"
    events = spark.sql(one).unionAll(spark.sql(one.replace(data, "parse_json('{}')" if "(" in data else "'{}'", 1)))
    triggers = [Trigger("t", text), Trigger("kept", text, "deliver"), Trigger("other", "data == 1.0")]
    found = errors_of(spark, triggers, events, tmp_path / "out", format="parquet")
    texts = sorted(row["error"] for row in found.where("trigger = 't'").collect())
    assert (2, True) == (len(texts), any(t.endswith(says) for t in texts)), texts
    assert 2 == spark.read.parquet(str(tmp_path / "out" / "delivered" / "trigger=kept")).count()


def test_an_attribute_of_a_name_that_no_json_parser_takes(spark: SparkSession, tmp_path: Path) -> None:
    events = spark.sql("""SELECT '1' AS id, '/s' AS source, 't' AS type, map('a', 'x', repeat('k', 60000), 'y')
        AS extensions, '{}' AS data""")
    text = 'ce.exists(k, k == "nobody") || data.y == 1.0'
    found = errors_of(spark, [Trigger("t", text)], events, tmp_path / "out", format="parquet")
    assert {("t", "1"): ("no such key: 'y'", "data.y")} == told(found)


def test_a_column_of_the_evidence_is_none_of_corrupt_records(spark: SparkSession, tmp_path: Path) -> None:
    """A session may name any column so; Spark's JSON parser leaves that one empty where the text is sound."""
    with set_to(spark, {"spark.sql.columnNameOfCorruptRecord": "input0"}):
        frame = spark.createDataFrame(ROWS, SCHEMA)
        found = told(errors_of(spark, [Trigger("total", FILTERS["total"])], frame, tmp_path / "out", format="parquet"))
    assert {pair: why for pair, why in EXPECTED.items() if pair[0] == "total"} == found


def test_only_what_erred_is_explained(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    explained_by = Judge.explained_by

    def counting(self: Judge[Trigger], pairs: DataFrame, evidence: ErrorContext, text: Column) -> DataFrame:
        asked.append(pairs.count())
        return explained_by(self, pairs, evidence, text)

    monkeypatch.setattr(Judge, "explained_by", counting)
    frame = spark.createDataFrame(ROWS, SCHEMA)
    run(spark, [Trigger("fine", FILTERS["fine"])], frame, str(tmp_path / "fine"))
    assert [] == asked
    run(spark, [Trigger("subject", FILTERS["subject"])], frame, str(tmp_path / "subject"))
    assert [1] == asked


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
        assert (True,) == tuple(frame.select(column(frame, compiled).isNull()).collect()[0])
        rows = with_failures(frame.withColumn("trigger", F.lit("t")), {"t": compiled}, F.lit(True)).collect()
        found[text] = [(r["error"], r["subexpression"]) for r in rows]
    assert {text: [expected] for text, expected in IN_TYPED.items()} == found


ORDER = Environment("order", (("payload", schema_type({"total": "double"})), ("data", JSON), ("key", STRING)))
IN_TWO = {
    "event": (CLOUD_EVENT, 'data.x == 1.0 && ce.type == "t"', ("no such key: 'x'", "data.x")),
    "order": (ORDER, "payload.total > 1.0 && data.y == 1.0", ("no such key: 'total'", "payload.total")),
    "key": (ORDER, "key.matches(data.pattern)", ("no such key: 'pattern'", "data.pattern")),
    "plain": (CLOUD_EVENT, "ce.subject == 's'", ("no such key: 'subject'", "ce.subject")),
}


@pytest.mark.parametrize("more", [0, 40], ids=["conditions", "fan-out"])
def test_each_filter_is_judged_and_explained_in_its_own_environment(
    spark: SparkSession, tmp_path: Path, more: int
) -> None:
    schema = f"{SCHEMA}, payload STRUCT<total: DOUBLE>, key STRING"
    frame = spark.createDataFrame([("1", "/s", "t", None, {}, "{}", (None,), "k")], schema)
    triggers = [InEnvironment(id_, text, environment=e) for id_, (e, text, _) in IN_TWO.items()]
    triggers += [InEnvironment(f"m{i}", f"ce.id == '{i}'") for i in range(more)]
    triggers += [InEnvironment("found", "key.matches(data.size() == 0 ? 'k' : 'x')", environment=ORDER)]
    out = tmp_path / "out"
    report = run(spark, triggers, frame, str(out))
    found = {
        (row["trigger"]): (row["error"], row["subexpression"]) for row in spark.read.parquet(f"{out}/errors").collect()
    }
    assert {id_: expected for id_, (_, _, expected) in IN_TWO.items()} == found
    assert {"found", *(["m1"] if more else [])} == {t.trigger for t in report.triggers if t.delivered}
