"""Typed columns mean what `docs/layouts.md` writes down: their own types, and NULL for what is absent."""

from __future__ import annotations

import datetime

import pytest
from filter_sets import Named
from pyspark.sql import SparkSession
from spark_settings import set_to
from tricel.compiler import cloud_event
from tricel.spark_backend import column, fan_out, where
from tricel.spark_backend.compiled_filter import lower_filter
from tricel.spark_backend.sql.layout import LayoutError, recognise

from tricel import CompileError, Environment, TricelWarning, compile_filter

pytestmark = pytest.mark.spark

SCHEMA = """id STRING, source STRING, type STRING, subject STRING, time TIMESTAMP, priority INT, vip BOOLEAN,
  data STRUCT<n: INT, big: BIGINT, d: DOUBLE, f: FLOAT, s: STRING, b: BOOLEAN, t: TIMESTAMP, dec: DECIMAL(10, 2),
              tags: ARRAY<STRING>, lines: ARRAY<STRUCT<sku: STRING, qty: INT>>, m: MAP<STRING, INT>, o: STRUCT<X: INT, x: INT>>"""
TIME = datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
FULL = (
    "1",
    "/s",
    "t",
    "sub",
    TIME,
    5,
    True,
    (7, 2**53 + 1, 1.5, 0.1, "abc", True, TIME, 2, ["a", "b"], [("k", 2), ("l", 3)], {"a": 1}, (1, 2)),
)
EMPTY = ("2", "/s", "t", None, None, None, None, None)
NULLS = ("3", "/s", "t", None, None, None, None, (None,) * 12)
NAN = (
    "4",
    "/s",
    "t",
    None,
    None,
    None,
    None,
    (None, None, float("nan"), None, None, None, None, None, ["a", None], [], {}, None),
)

# expression, then the outcomes for FULL, EMPTY, NULLS, NAN
ROWS: list[tuple[str, bool | None, bool | None, bool | None, bool | None]] = [
    ("data.n + 1 == 8", True, None, None, None),
    ("data.n > 300.0", False, None, None, None),
    ("dyn(data).absent == 1", None, None, None, None),
    ("has(dyn(data).absent)", False, None, False, False),
    ("dyn(data.o).absent == 1 || data.n == 7", True, None, None, None),
    ("data.n == 7.0", True, None, None, None),
    ("data.big == 9007199254740993", True, None, None, None),
    ("data.d > 1.0", True, None, None, False),
    ("data.d < 1.0", False, None, None, False),
    ("data.d == data.d", True, None, None, False),
    ("data.d != data.d", False, None, None, True),
    ("data.f < 0.1", False, None, None, None),
    ("data.f > 0.1", True, None, None, None),
    ('data.s.startsWith("a")', True, None, None, None),
    ("data.b", True, None, None, None),
    ('data.t == timestamp("2024-01-02T03:04:05Z")', True, None, None, None),
    ("data.dec == 2.0", True, None, None, None),
    ('"a" in data.tags', True, None, None, None),
    ("size(data.tags) == 2", True, None, None, None),
    ('data.lines.exists(l, l.sku == "l" && l.qty > 2)', True, None, None, False),
    ("data.lines[1].qty == 3", True, None, None, None),
    ('data.m["a"] == 1', True, None, None, None),
    ("has(data.m.a)", True, None, None, False),
    ("has(data.n)", True, None, False, False),
    ("data.o.X == 1 && data.o.x == 2", True, None, None, None),
    ('data.tags == ["a", "b"]', True, None, None, None),
    ('data.tags != ["a"]', True, None, None, None),
    ("data.tags == data.tags", True, None, None, None),
    ('["b"] in [data.tags, ["b"]]', True, None, None, None),
    ('data.tags + ["c"] == ["a", "b", "c"]', True, None, None, None),
    ('data.tags[data.n - 6] == "b"', True, None, None, None),
    ("data.tags[data.n] == 'b'", None, None, None, None),
    ("data.tags[size(data.tags) - 1] == 'b'", True, None, None, None),
    ("data.tags[4294967296] == 'a'", None, None, None, None),
    ("data.lines[data.n - 6].qty == 3", True, None, None, None),
    ("data.lines.map(l, l.qty) == [2, 3]", True, None, None, False),
    ("data.lines.map(l, l).exists(l, l.qty == 3)", True, None, None, False),
    ("data.lines.filter(l, l.qty > 2).map(l, l.sku) == ['l']", True, None, None, False),
    ("data.lines.exists_one(l, l.qty > 2)", True, None, None, False),
    ("data.lines.map(l, l.qty > 2, l.sku) == ['l']", True, None, None, False),
    ("'a' in data.m", True, None, None, False),
    ("data.s in data.m", False, None, None, None),
    ("data.m.exists(k, k == 'a' && data.m[k] == 1)", True, None, None, False),
    ("data.m.all(k, data.m[k] > 1)", False, None, None, True),
    ("data.m[data.tags[0]] == 1", True, None, None, None),
    ("data.tags.exists(i, t, i == 1 && t == 'b')", True, None, None, None),
    ("data.tags.all(i, t, data.tags[i] == t)", True, None, None, None),
    ("data.tags.transformList(i, t, t + string(i)) == ['a0', 'b1']", True, None, None, None),
    ("data.lines.existsOne(i, l, l.qty > i + 1)", False, None, None, False),
    ("data.lines.transformList(i, l, i == 1, l.sku) == ['l']", True, None, None, False),
    ("data.lines.transformList(i, l, l.qty + i) == [2, 4]", True, None, None, False),
    ("data.lines.transformList(i, l, l).exists(l, l.qty == 3)", True, None, None, False),
    ("data.lines.exists(i, l, data.tags[i] == 'b' && l.sku == 'l')", True, None, None, False),
    ("data.m.all(k, v, k == 'a' && v == 1)", True, None, None, True),
    ("data.m.exists(k, v, v == size(k))", True, None, None, False),
    ("data.m.transformList(k, v, v + 1) == [2]", True, None, None, False),
    ("data.m.map(k, data.m[k]) == [1]", True, None, None, False),
    ("data.m.exists(k, data.lines.exists(l, l.qty == data.m[k] + 1))", True, None, None, False),
    ("data.tags.exists(t, data.m[t] == 1)", True, None, None, None),
    ("data.tags.exists(t, cel.bind(n, data.m[t], n == 1 || n == 2))", True, None, None, None),
    ("size(data.m) == 1", True, None, None, False),
    ("type(data.n) == int", True, None, None, None),
    ("type(data.d) == double && type(data.s) == string", True, None, None, None),
    ("type(data.tags) == list", True, None, None, None),
    ("data.d in [1.5, data.f]", True, None, None, None),
    ("[data.d] == [data.d]", True, None, None, False),
    ("[data.n, data.n + 1] == [7, 8]", True, None, None, None),
    ("{'abc': data.n}[data.s] == 7", True, None, None, None),
    ("ce.priority > 4", True, None, None, None),
    ("ce.vip", True, None, None, None),
    ("has(ce.subject)", True, False, False, False),
    ('ce.time > timestamp("2024-01-01T00:00:00Z")', True, None, None, None),
    ("has(ce.priority) && ce.priority == 5", True, False, False, False),
    ("math.abs(data.n - 9) == 2", True, None, None, None),
    ("math.bitAnd(data.big, 1) == 1", True, None, None, None),
    ("math.bitShiftRight(-data.n, 60) == 15", True, None, None, None),
    ("math.greatest(data.n, 5) == 7", True, None, None, None),
    ("math.greatest(data.n, data.big) == 9007199254740993", True, None, None, None),
    ("math.greatest(data.d, 1.0) == 1.5", True, None, None, None),
    ("math.greatest(data.d) == 1.5", True, None, None, False),
    ("math.greatest([data.d]) == 1.5", True, None, None, False),
    ("math.greatest(data.lines.map(l, l.qty)) == 3", True, None, None, None),
    ("math.least(data.d, 2) < 2.0", True, None, None, None),
    ("math.isNaN(data.d)", False, None, None, True),
    ("math.isFinite(data.d)", True, None, None, False),
    ("math.round(data.d) == 2.0", True, None, None, False),
    ("math.sign(data.d) == 1.0", True, None, None, False),
    ("base64.encode(bytes(data.s)) == 'YWJj'", True, None, None, None),
    ("base64.decode(data.s).size() == 2", True, None, None, None),
    ("data.t < timestamp('2024-01-02T03:04:05.000000001Z')", True, None, None, None),
    ("data.t == timestamp('2024-01-02T03:04:0' + string(data.n - 2) + 'Z')", True, None, None, None),
    ("data.t - timestamp('2024-01-02T03:04:0' + string(data.n) + 'Z') < duration('-1s')", True, None, None, None),
    ("data.t >= timestamp(data.s)", None, None, None, None),
    ("duration(string(data.n) + 'us') == duration('7us')", True, None, None, None),
    ('sets.contains(data.tags, ["b", "a", "a"])', True, None, None, None),
    ('sets.contains(["a"], data.tags)', False, None, None, None),
    ("sets.equivalent(data.lines.map(l, l.qty), [3, 2])", True, None, None, False),
    ("sets.equivalent(data.lines.map(l, l.qty), [3.0, 2u])", True, None, None, False),
    ("sets.intersects([data.n, 1], data.lines.map(l, l.qty + 5))", True, None, None, None),
    ("sets.contains([data.big], [9007199254740992])", False, None, None, None),
    ("sets.contains([data.big], [9007199254740992.0])", True, None, None, None),
    ("sets.contains([data.d], [data.d])", True, None, None, False),
    ("sets.intersects([data.d, 1.0], [data.d, 2.0])", True, None, None, False),
    ("sets.intersects([data.t], [ce.time])", True, None, None, None),
    ("sets.contains([data.b, true], [true])", True, None, None, None),
    ('data.tags.reverse() == ["b", "a"]', True, None, None, None),
    ("data.lines.reverse()[0].qty == 3", True, None, None, None),
    ("data.lines.slice(1, 2).exists(l, l.sku == 'l')", True, None, None, None),
    ("data.lines.slice(0, data.n - 6).exists(l, l.sku == 'l')", False, None, None, None),
    ("data.tags.slice(data.n - 7, 2) == data.tags", True, None, None, None),
    ("data.tags.slice(1, data.n) == []", None, None, None, None),
    ('[data.tags, ["c"]].flatten() == ["a", "b", "c"]', True, None, None, None),
    ("data.lines.map(l, [l.qty, l.qty + 1]).flatten() == [2, 3, 3, 4]", True, None, None, False),
    ("data.lines.map(l, -l.qty).sort() == [-3, -2]", True, None, None, False),
    ("data.tags.reverse().sort() == data.tags", True, None, None, None),
    ("[data.d, 1.0].sort()[0] == 1.0", True, None, None, None),
    ("1.0 / [0.0, -0.0 * data.d].sort()[0] > 0.0", True, None, None, None),
    ("1.0 / [-0.0 * data.d, 0.0].sort()[0] < 0.0", True, None, None, None),
    ("[data.t, timestamp('1970-01-01T00:00:00Z')].sort()[1] == ce.time", True, None, None, None),
    ("[data.d, data.d, 1.5].distinct().size() == 1", True, None, None, False),
    ("[data.d, data.d, 1.5].distinct().size() == 3", False, None, None, True),
    ("[data.n, 7, 8].distinct() == [7, 8]", True, None, None, None),
    ("data.tags.distinct() == data.tags", True, None, None, None),
    ("data.tags.last().orValue('z') == 'b'", True, None, None, None),
    ("data.lines.first().orValue(data.lines[0]).qty == 2", True, None, None, None),
    ("data.lines.map(l, l.qty).last().orValue(9) == 9", False, None, None, True),
    ("data.lines.last().optMap(l, l.qty).orValue(9) == 3", True, None, None, False),
    ("data.lines.first().hasValue()", True, None, None, False),
    ("lists.range(size(data.lines)).all(i, data.lines[i].qty == i + 2)", True, None, None, True),
    *(
        OPTIONALS := [
            ("data.?n.hasValue()", True, None, False, False),
            ("data.?n.orValue(0) > 5", True, None, False, False),
            ("data.?n.orValue(9) + 1 == 10", False, None, True, True),
            ("data.?n.orValue(data.?big.orValue(3)) == 3", False, None, True, True),
            ("data.?o.x.orValue(2) == 2", True, None, True, True),
            ("data.?o.?X.hasValue()", True, None, False, False),
            ("data.?m.a.orValue(5) == 5", False, None, True, True),
            ("data.?m.?b.orValue(1) == 1", True, None, True, True),
            ('data.?s.orValue("") == ""', False, None, True, True),
            ("data.?d.orValue(1.0) >= 1.0", True, None, True, False),
            ("data.?b.orValue(true)", True, None, True, True),
            ("data.?t.orValue(ce.time) == ce.time", True, None, None, None),
            ('data.?dec.value() == 2.0 || data.?s == optional.of("abc")', True, None, None, None),
            ("data.?n == optional.none()", False, None, True, True),
            ('"a" in data.?tags.orValue([])', True, None, False, False),
            ("data.?lines.orValue([]).all(l, l.?qty.orValue(3) > 1)", True, None, True, True),
            ("data.lines.exists(l, l.?sku.orValue('') == 'k')", True, None, None, False),
            ('ce.?subject.orValue("none") == "none"', False, True, True, True),
            ("ce.?priority.orValue(1) < 3", False, True, True, True),
            ("ce.?vip.orValue(false) || ce.?time.hasValue()", True, False, False, False),
        ]
    ),
]


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_each_column_means_its_own_type(spark: SparkSession, ansi: str) -> None:
    with set_to(spark, {"spark.sql.ansi.enabled": ansi, "spark.sql.caseSensitive": "true"}):
        from decimal import Decimal

        full = (*FULL[:7], (*FULL[7][:7], Decimal(2), *FULL[7][8:]))  # type: ignore[index]
        frame = spark.createDataFrame([full, EMPTY, NULLS, NAN], SCHEMA)
        filters = [compile_filter(text, environment_of(frame)) for text, *_ in ROWS]
        columns = [column(frame, f).alias(f"c{i}") for i, f in enumerate(filters)]
        rows = sorted(frame.select("id", *columns).collect())
    wrong = [
        (text, tuple(r[i + 1] for r in rows))
        for i, (text, *expected) in enumerate(ROWS)
        if [r[i + 1] for r in rows] != expected
    ]
    assert wrong == []


def test_optional_selections_of_columns_are_native(spark: SparkSession) -> None:
    frame = spark.createDataFrame([EMPTY], SCHEMA)
    environment, layout = environment_of(frame), recognise(frame.schema)
    for text, *_ in OPTIONALS:
        lowered = lower_filter(compile_filter(text, environment).checked, layout)
        assert [] == [c.reason for c in lowered.residual], text


def test_a_macro_names_a_variant_beside_columns(spark: SparkSession) -> None:
    """What lies in a typed column with a VARIANT cannot travel to an engine, so it must be native."""
    frame = spark.sql(
        "SELECT '1' AS id, named_struct('v', parse_json('{\"k\": \"b\", \"r\": 2}'), 'l', array('a', 'b')) AS data "
        "UNION ALL SELECT '2', named_struct('v', parse_json('{\"k\": [1]}'), 'l', array('a'))"
    )
    rows = {
        "data.l.exists(x, cel.bind(v, data.v.k, v == x))": [True, False],
        "data.l.all(x, cel.bind(v, data.v, v.?k.orValue('') != x))": [False, True],
        "data.l.exists(x, cel.bind(n, double(size(x)) * data.v.r, n == 2.0 || n > 5.0))": [True, None],
        "data.l.exists(x, cel.bind(n, data.v.r, n == 2.0 && n > 1.0))": [True, None],
    }
    filters = {f"c{i}": compile_filter(text, environment_of(frame)) for i, text in enumerate(rows)}
    found = sorted(frame.select("id", *(column(frame, f).alias(c) for c, f in filters.items())).collect())
    assert list(rows.values()) == [[row[i + 1] for row in found] for i in range(len(rows))]


def environment_of(frame: object) -> Environment:
    """The environment with the types that the frame's columns have."""
    return recognise(frame.schema).environment(cloud_event())  # type: ignore[attr-defined]


def test_a_filter_that_does_not_fit_the_columns_is_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame([], "id STRING, source STRING, type STRING, data STRUCT<n: INT>")
    with pytest.raises(CompileError, match="TRI202"):
        where(frame, compile_filter("data.m == 1"))


def test_the_layouts_of_attributes_agree(spark: SparkSession) -> None:
    flat = spark.createDataFrame([("1", "/s", "t", "n1")], "id STRING, source STRING, type STRING, tenant STRING")
    layouts = [
        flat,
        flat.selectExpr("id", "source", "type", "map('tenant', tenant) AS extensions"),
        flat.selectExpr("struct(*) AS ce"),
        flat.selectExpr("struct(id, source, type, map('tenant', tenant) AS extensions) AS attributes"),
        flat.selectExpr("map('id', id, 'source', source, 'type', type, 'tenant', tenant) AS ce"),
    ]
    text = 'ce.type == "t" && ce.source.startsWith("/") && ce.tenant == "n1" && !has(ce.subject) && !("other" in ce)'
    with pytest.warns(TricelWarning, match="no (column|field) '(subject|other)'") as told:
        assert [1] * len(layouts) == [where(frame, compile_filter(text)).count() for frame in layouts]
    assert 2 * 2 == len(told)  # of the two layouts that have no map


def test_names_are_matched_case_by_case(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("1", "/s", "t", "v")], "id STRING, source STRING, type STRING, Tenant STRING")
    compiled = compile_filter('ce.tenant == "v"')
    with pytest.warns(TricelWarning, match="no column 'tenant'.*did you mean 'Tenant'"):
        assert where(frame, compiled).count() == 0
    assert where(frame, compile_filter('ce.Tenant == "v"')).count() == 1


def test_collation_does_not_change_equality(spark: SparkSession) -> None:
    frame = spark.sql("SELECT '1' AS id, '/s' AS source, 'ABC' COLLATE UNICODE_CI AS type")
    assert where(frame, compile_filter('ce.type == "abc"')).count() == 0
    assert where(frame, compile_filter('ce.type == "ABC"')).count() == 1


COLLATED_KEYS, INT_KEYS = "map('X' COLLATE UTF8_LCASE, 'v')", "map(7, 'v')"


@pytest.mark.parametrize(
    ("column_", "text", "expected"),
    [
        (COLLATED_KEYS, "has(data.n.x)", False),
        (COLLATED_KEYS, "data.n.X == 'v'", True),
        (COLLATED_KEYS, "data.n['x'] == 'v'", None),
        (COLLATED_KEYS, "'x' in data.n", False),
        (COLLATED_KEYS, "data.n.?x.orValue('w') == 'w'", True),
        (INT_KEYS, "data.n['x'] == 'v'", None),
        (INT_KEYS, "data.n[7] == 'v'", True),
        ("map(DATE'2024-01-02', 'v')", "size(data.n) == 1", True),
    ],
)
def test_maps_whose_keys_are_no_plain_strings(
    spark: SparkSession, column_: str, text: str, expected: bool | None
) -> None:
    frame = spark.sql(f"SELECT '1' AS id, '/s' AS source, 't' AS type, named_struct('n', {column_}) AS data")
    assert [expected] == [row[0] for row in frame.select(column(frame, compile_filter(text))).collect()]


def test_a_column_that_cannot_hold_an_attribute_is_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame([], "id STRING, source STRING, type INT")
    with pytest.raises(LayoutError, match="'type' is integer"):
        recognise(frame.schema)


@pytest.mark.parametrize("held", ["data", "parse_json(data) AS data"])
def test_columns_may_be_called_as_the_variables_of_the_sql(spark: SparkSession, held: str) -> None:
    row = ("1", "/s", "t", "a", "b", "c", '{"doc": "a", "items": [1, 2]}')
    schema = "id STRING, source STRING, type STRING, doc STRING, DOC_ STRING, v1 STRING, data STRING"
    df = spark.createDataFrame([row], schema).selectExpr("id", "source", "type", "doc", "DOC_", "v1", held)
    for expression in (
        "data.doc == ce.doc",
        'data.doc != "b" && ce.doc == "a" && ce.v1 == "c"',
        'data.items.exists(i, i == 2 && ce.v1 == "c" && ce.doc == data.doc)',
    ):
        compiled = compile_filter(expression)
        assert [True] == [r[0] for r in df.select(column(df, compiled)).collect()], expression
        many = [Named(str(i), compile_filter(f'ce.type == "t" && {expression}')) for i in range(20)]
        assert 20 == fan_out(df, many).count(), expression
