"""The fallback: the same outcomes as CEL where Spark has no form, and refusals said at compile time."""

from __future__ import annotations

import datetime
import re
import struct
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tricel.compiler import Source, parse
from tricel.compiler.celtypes import DYN
from tricel.spark_backend import column, where
from tricel.spark_backend.compiled_filter import CompiledFilter, lower_filter
from tricel.spark_backend.dataframes import with_outcomes
from tricel.spark_backend.engines import ENGINES, Program, Refusal, prepare
from tricel.spark_backend.fallback.activation import Form, Input, Job, Reader, Runner
from tricel.spark_backend.fallback.evaluation import Columns, each_row
from tricel.spark_backend.frames import layout_of

from tricel import CompileError, compile_filter

TIME = datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
ROWS = [
    ("1", "/s", "aaaa", TIME, {"tier": "gold"}, '{"a": [1, 2], "b": [1.0, 2.0], "n": 3}'),
    ("2", "/s", "ab", None, {}, '{"a": 1, "b": {"x": 1}}'),
    ("3", "/s", "aaa", TIME, None, "not JSON"),
    ("4", "/s", "aa\0", TIME, {"tier": "a"}, "null"),
]
SCHEMA = "id STRING, source STRING, type STRING, time TIMESTAMP, extensions MAP<STRING, STRING>, data STRING"

CASES: list[tuple[str, list[bool | None]]] = [
    ('ce.type.matches("^(a|aa)+$")', [True, False, True, False]),
    ("data.a == data.b", [True, False, None, None]),
    ("data.a == [1, 2]", [True, False, None, None]),
    ("ce.time.getHours() == 3", [True, None, True, True]),
    ('ce.time + duration("1h") > timestamp("2024-01-02T04:00:00Z")', [True, None, True, True]),
    ('ce.type == "aaaa" && data.a == data.b', [True, False, False, False]),
    ("type(data.n) == double", [True, None, None, None]),
    ("size(ce) == 5", [True, False, False, True]),
    ('double(string(data.n)) == 3.0 || ce.type == "ab"', [True, True, None, None]),
]


def as_fallback(
    text: str, frame: DataFrame, engine: str = "cel-expr-python", *, simplify: bool = True
) -> CompiledFilter:
    """The filter for the frame, with nothing native."""
    lowered = lower_filter(compile_filter(text).checked, layout_of(frame), engine, simplify=simplify)
    return replace(lowered, conjuncts=tuple(replace(c, native=False, reason="asked for") for c in lowered.conjuncts))


ODD = "named_struct('l', {l}, 'v', {v}, 's', named_struct('v', parse_json('1')))"
ODD_ROWS = (
    ("array(parse_json('1'), parse_json('null'))", 'parse_json(\'{"a": 1e400, "b": -0.0}\')'),
    ("array(parse_json('1'), NULL)", "CAST(CAST(0.1 AS FLOAT) AS VARIANT)"),
    ("NULL", "CAST(DATE'2024-01-02' AS VARIANT)"),
    ("array(CAST(CAST(0.1 AS FLOAT) AS VARIANT))", "CAST(12345678901234567890123456789.123456789 AS VARIANT)"),
)
ODD_CASES: list[tuple[str, list[bool | None]]] = [
    # a list that holds NULL is as good as absent; JSON null is an element
    ("data.l.exists(i, v, v == null)", [True, None, None, False]),
    ("data.l.exists(i, v, i == 0 && v == 1.0)", [True, None, None, False]),
    ("data.l.exists(i, v, v == 0.10000000149011612)", [False, None, None, True]),
    ("data.v.exists(k, x, k == 'a' && x > 1e308)", [True, None, None, None]),
    ("data.v.exists(k, x, k == 'b' && string(x) == '0')", [True, None, None, None]),
    ("data.v.?a.orValue(0.0) > 1e308", [True, None, None, None]),
    ("string(data.v) == '0.10000000149011612'", [None, True, None, False]),
    ("string(data.v) == '1.2345678901234568e+28'", [None, False, None, True]),
    ("sets.contains([data.s.v], [1.0])", [True, True, True, True]),
]
WHOLE_CASES = [
    ("n: MAP<INT, STRING>", "map(7, 'seven')", "data.n.exists(k, v, k == 7 && v == 'seven')", True),
    ("n: MAP<INT, STRING>", "map(7, 'seven')", "data.n.exists(k, v, type(k) == string)", False),
    ("n: MAP<BOOLEAN, STRING>", "map(true, 'yes')", "data.n.exists(k, v, k == true && v == 'yes')", True),
    ("n: STRUCT<x: FLOAT>", "named_struct('x', CAST(0.1 AS FLOAT))", "[data.n] == [{'x': 0.10000000149011612}]", True),
    ("n: MAP<DATE, STRING>", "map(DATE'2024-01-02', 'x')", "data.n.exists(k, v, k == 'x')", "keys"),
    ("n: STRUCT<v: VARIANT>", "named_struct('v', parse_json('1'))", "sets.contains([data.n], [1])", "VARIANT"),
]


OPTIONALS: list[tuple[str, str, bool | None]] = [
    ('{"a": {"x": 1}, "b": 2}', "data.?a.x.orValue(0.0) == 1.0", True),
    ('{"b": 2}', "data.?a.x.orValue(0.0) == 0.0", True),
    ('{"a": null}', "data.?a.hasValue() && data.?a.orValue(1.0) == null", True),
    ('{"a": 1e400}', "data.?a.orValue(0.0) > 1e308", True),
    ('{"a": "Infinity"}', "data.?a.orValue(0.0) == 'Infinity'", True),
    ('{"a": -0.0}', "string(data.?a.orValue(1.0)) == '0'", True),
    ('{"it s": 5}', "data[?'it s'].orValue(0.0) == 5.0", True),
    ("[1]", "data.?a.hasValue()", None),
    ("null", "data.?a.hasValue()", None),
    ("not JSON", "data.?a.hasValue()", None),
    ('{"a": {"b": {}}}', "data.a.?b.c.hasValue()", False),
    ('{"a": 5}', "data.a.?b.hasValue()", None),
    ('{"b": 5}', "data.a.?b.hasValue()", None),
]


@pytest.mark.spark
@pytest.mark.parametrize("layout", ["JSON text", "VARIANT"])
def test_an_optional_selection_needs_its_field_alone(spark: SparkSession, layout: str) -> None:
    frame = spark.createDataFrame(
        [(str(i), body) for i, (body, _, _) in enumerate(OPTIONALS)], "id STRING, data STRING"
    )
    if layout == "VARIANT":
        frame = frame.withColumn("data", F.try_parse_json("data"))
    filters = {f"c{i}": as_fallback(text, frame, simplify=False) for i, (_, text, _) in enumerate(OPTIONALS)}
    rows = {r["id"]: r for r in with_outcomes(frame, filters).collect()}
    assert [expected for _, _, expected in OPTIONALS] == [rows[str(i)][f"c{i}"] for i in range(len(OPTIONALS))]


@pytest.mark.spark
def test_an_optional_selection_reads_an_extension_as_json(spark: SparkSession) -> None:
    bodies = ['{"x": 2}', "{}", '{"x": null}', "[1]", "gold", None]
    frame = spark.createDataFrame(
        [(str(i), {} if body is None else {"tier": body}) for i, body in enumerate(bodies)],
        "id STRING, extensions MAP<STRING, STRING>",
    )
    text = "ce.tier.?x.orValue(1.0) != 2.0"
    native, fallback = compile_filter(text), as_fallback(text, frame, simplify=False)
    assert not native.residual
    found = sorted(frame.select("id", column(frame, native), column(frame, fallback)).collect())
    assert [(x, x) for x in (False, True, True, None, None, None)] == [(row[1], row[2]) for row in found]


@pytest.mark.spark
def test_variants_in_typed_columns(spark: SparkSession) -> None:
    frame = spark.sql(
        " UNION ALL ".join(
            f"SELECT '{i}' AS id, {ODD.format(l=f'CAST({list_} AS ARRAY<VARIANT>)', v=v)} AS data"
            for i, (list_, v) in enumerate(ODD_ROWS)
        )
    )
    filters = {f"c{i}": compile_filter(text) for i, (text, _) in enumerate(ODD_CASES)}
    found = sorted(with_outcomes(frame, filters).select("id", *filters).collect())
    wrong = [
        (text, e, [r[i + 1] for r in found]) for i, (text, e) in enumerate(ODD_CASES) if [r[i + 1] for r in found] != e
    ]
    assert wrong == []


@pytest.mark.spark
@pytest.mark.parametrize(("schema", "sql", "text", "expected"), WHOLE_CASES)
def test_typed_columns_travel_whole_or_not_at_all(
    spark: SparkSession, schema: str, sql: str, text: str, expected: bool | str
) -> None:
    frame = spark.sql(f"SELECT '1' AS id, named_struct('n', {sql}) AS data")
    if isinstance(expected, str):
        with pytest.raises(CompileError, match=expected):
            column(frame, compile_filter(text))
    else:
        assert expected is frame.select(column(frame, as_fallback(text, frame))).collect()[0][0]


AB: list[bool | None] = [False, True, False, False]


@pytest.mark.spark
def test_outcomes(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, SCHEMA).repartition(3)
    filters = [as_fallback(text, frame) for text, _ in CASES]
    found = sorted(frame.select("id", *(column(frame, f).alias(f"c{i}") for i, f in enumerate(filters))).collect())
    wrong = [
        (text, e, [r[i + 1] for r in found]) for i, (text, e) in enumerate(CASES) if [r[i + 1] for r in found] != e
    ]
    assert wrong == []


@pytest.mark.spark
def test_several_residuals_share_one_pass(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, SCHEMA).repartition(3)
    mixed = [('ce.type == "aaaa" && data.a == data.b', [True, False, False, False]), ('ce.type == "ab"', AB)]
    several = [*CASES, *mixed, ('data.nothing == 1.0 && ce.type == "ab"', [False, None, False, False])] * 4
    filters = [as_fallback(text, frame) for text, _ in several]
    filters[9::11] = [lower_filter(f.checked, layout_of(frame)) for f in filters[9::11]]
    selected = with_outcomes(frame.select("*"), {f"c{i}": f for i, f in enumerate(filters)})
    selected = selected.select("id", *(f"c{i}" for i in range(len(filters))))
    found = sorted(selected.collect())
    wrong = [
        (text, e, [r[i + 1] for r in found]) for i, (text, e) in enumerate(several) if [r[i + 1] for r in found] != e
    ]
    assert wrong == []
    plan = selected._jdf.queryExecution().executedPlan().toString()
    assert 2 == len(set(re.findall(r"pythonUDF\d+#\d+", plan))), "44 filters are two packs"


@pytest.mark.parametrize(("different", "judged"), [(10, 10), (400, 400), (10_000, 10_000)])
def test_rows_that_a_batch_repeats_are_judged_once(different: int, judged: int) -> None:
    seen: list[int] = []

    def judge(columns: Columns, count: int) -> list[int]:
        seen.append(count)
        return [n * 2 for n in columns[0]]

    columns = [[i % different for i in range(10_000)]]
    for once in (True, False):
        assert [n * 2 for n in columns[0]] == each_row(columns, judge, once=once)
    assert judged + 10_000 == sum(seen)


@pytest.mark.spark
@pytest.mark.parametrize(("on_error", "ids"), [("drop", ["1"]), ("deliver", ["1", "3", "4"])])
def test_on_error(spark: SparkSession, on_error: str, ids: list[str]) -> None:
    frame = spark.createDataFrame(ROWS, SCHEMA)
    kept = where(frame, compile_filter("data.a == data.b"), on_error=on_error)  # type: ignore[arg-type]
    assert ids == sorted(r["id"] for r in kept.collect())


@pytest.mark.spark
def test_on_error_fail_ends_the_query(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, SCHEMA)
    with pytest.raises(Exception, match="cannot be evaluated"):
        where(frame, compile_filter("data.a == data.b"), on_error="fail").collect()


@pytest.mark.spark
def test_what_is_not_there_to_choose_is_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, SCHEMA)
    with pytest.raises(ValueError, match="no such on_error: 'Drop'"):
        where(frame, compile_filter("data.a == data.b"), on_error="Drop")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no such engine: 'cel'; there are cel-expr-python, cel-python"):
        where(frame, compile_filter("data.a == data.b"), engine="cel")


@pytest.mark.spark
def test_native_conjuncts_run_below_the_fallback(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, SCHEMA)
    plan = where(frame, compile_filter('ce.type == "aaaa" && data.a == data.b'))._jdf.queryExecution().optimizedPlan()
    text = plan.toString()
    assert text.index("ArrowEvalPython") < text.index("(type#") if "ArrowEvalPython" in text else "aaaa" in text


@pytest.mark.spark
def test_every_engine_gives_the_same_outcomes_where_it_may(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, SCHEMA)
    text = 'ce.type.matches("^(a|aa)+$") && has(ce.tier)'
    for engine in ENGINES:
        found = frame.select(column(frame, as_fallback(text, frame, engine))).collect()
        assert [True, False, False, False] == [r[0] for r in found], engine


@pytest.mark.parametrize(
    "text", ["data.a == data.b", "size(ce) == 5", "ce.time.getHours() == 3", "type(data.x) == int"]
)
def test_cel_python_refuses_what_it_answers_differently(text: str) -> None:
    checked = compile_filter(text).checked.checked
    assert isinstance(prepare(checked.expr, "cel-python", dict(checked.environment.roots)), Refusal)


def program_of(text: str, engine: str = "cel-expr-python") -> Program:
    """The whole filter as a program."""
    checked = compile_filter(text).checked.checked
    program = prepare(checked.expr, engine, dict(checked.environment.roots))
    assert isinstance(program, Program)
    return program


def test_a_string_with_nul_goes_to_the_evaluator_that_does_not_cut_it() -> None:
    program = program_of('ce.type == "admin"')
    assert program.engine == "cel-expr-python"
    assert program({"ce": {"type": "admin"}}) is True
    assert program({"ce": {"type": "admin\0evil"}}) is False
    assert program_of('ce.type == "admin\\u0000evil"')({"ce": {"type": "admin\0evil"}}) is True


def test_deep_data_does_not_reach_the_engine() -> None:
    deep: object = 1.0
    for _ in range(5_000):
        deep = [deep]
    program = program_of("data.x == data.y")
    assert program({"data": {"x": deep, "y": 1.0}}) is False
    assert program({"data": {"x": deep, "y": deep}}) is None
    assert "nested too deeply" in str(program.failure({"data": {"x": deep, "y": deep}}))


@pytest.mark.parametrize(
    "text",
    [
        "data.x.exists(i, v, i == 1 && v == 2.0)",
        "data.x.transformList(i, v, v * 2.0) == [2.0, 4.0]",
        "(" * 40 + "data.x[0] == 1.0" + " || false)" * 40,
        "data.?z.orValue(1.0) == 1.0",
        "ce.?time.hasValue() && ce.time.getFullYear() == 2024",
    ],
)
def test_what_the_engine_lacks_is_evaluated_all_the_same(text: str) -> None:
    activation = {"ce": {"time": "2024-01-02T03:04:05Z"}, "data": {"x": [1.0, 2.0]}}
    assert program_of(text)(activation) is True
    assert program_of(text, "tricel")(activation) is True


T1970 = "timestamp('1970-01-01T00:00:00Z')"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((f"timestamp(data.{name}) == {T1970}", None) for name in ("blank", "short", "colon", "leap")),
        (f"timestamp(data.fine) == {T1970}", True),
        (f"timestamp(' 1970-01-01T00:00:00Z') == {T1970}", None),
        ("duration(data.half) == duration('1ns')", True),
        ("duration('1.5ns') == duration('1ns')", True),
        *((f"ce.time.getHours(data.{name}) == 0", None) for name in ("local", "fixed", "seconds")),
        ("ce.time.getHours('Fixed/UTC+05:00:00') == 0", None),
        ("data.list[?data.one].orValue(0.0) == 2.0", True),
        ("data[?data.list].hasValue()", None),
    ],
)
def test_what_the_engine_answers_otherwise_is_not_asked_of_it(text: str, expected: bool | None) -> None:
    data = {
        "blank": " 1970-01-01T00:00:00Z",
        "short": "1970-1-1T0:0:0Z",
        "colon": "1970-01-01T00:00:00+0000",
        "leap": "1969-12-31T23:59:60Z",
        "fine": "1970-01-01T00:00:00.0000000001Z",
        "half": "1.5ns",
        "local": "libc:localtime",
        "fixed": "Fixed/UTC+05:00:00",
        "seconds": "01:30:00",
        "one": 1.0,
        "list": [1.0, 2.0],
    }
    program = program_of(text)
    assert program.engine == "tricel"
    assert program({"ce": {"time": "2024-01-02T03:04:05Z"}, "data": data}) is expected


def test_times_of_the_right_form_are_asked_of_the_engine() -> None:
    for text in ("ce.time.getHours('Europe/Paris') == 4", f"ce.time - duration('1.5h') > {T1970}"):
        program = program_of(text)
        assert program.engine == "cel-expr-python"
        assert program({"ce": {"time": "2024-01-02T03:04:05Z"}}) is True


GIVEN = {
    "ce": {"id": "1", "source": "s", "type": "t", "time": "2024-01-02T03:04:05Z"},
    "data": {"key": "time", "list": [1.0], "none": None},
}
AT = 'timestamp("2024-01-02T03:04:05Z")'


@pytest.mark.parametrize(
    "text",
    [
        f'ce[?"time"].value() == {AT}',
        f"ce[data.key] == {AT}",
        f"cel.bind(c, ce, c.time == {AT})",
        f"[ce].all(x, x.time == {AT})",
        f"dyn(ce).time == {AT}",
        f"data.list.all(ce, .ce.time == {AT})",
        f"data.list.all(ce, .ce[data.key] == {AT})",
        f'ce == {{"id": "1", "source": "s", "type": "t", "time": {AT}}}',
        f"ce.map(k, ce[k]).exists(v, v == {AT})",
    ],
)
def test_the_time_is_no_text_wherever_it_is_read(text: str) -> None:
    assert program_of(text)(GIVEN) is True


@pytest.mark.parametrize("text", ["size(ce) == 4", '"time" in ce && has(ce.time)', "ce.all(k, k != 'x')"])
def test_attributes_that_do_not_give_the_time_stay_with_the_engine(text: str) -> None:
    program = program_of(text)
    assert ("cel-expr-python", True) == (program.engine, program(GIVEN))


@pytest.mark.parametrize("text", ["--data.key == data.key", "!!data.key == data.key", "--ce.time == ce.time"])
def test_two_negations_are_two(text: str) -> None:
    expr, _ = parse(Source(text))
    assert expr is not None
    program = prepare(expr, "cel-expr-python", {"ce": DYN, "data": DYN})
    assert isinstance(program, Program)
    assert program(GIVEN) is None


@pytest.mark.parametrize("field", ["none", "list", "key"])
def test_an_evaluation_that_the_engine_ends_is_begun_again(field: str) -> None:
    program = program_of(f"data.?{field}.x.hasValue() || data.key == 'time'")
    assert ("cel-expr-python", True) == (program.engine, program(GIVEN))
    assert program_of(f"data.?{field}.x.hasValue()")(GIVEN) is None


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        ("data.?one[0] == 1.0", "tricel"),
        ("1.0 == data.?one['a']", "tricel"),
        ("[data.?one][0][0] == true", "tricel"),
        ("cel.bind(o, data.?one, o[0] == true)", "tricel"),
        ("[data.?one].all(o, o[0] == true)", "tricel"),
        ("optional.of(data.?one).optMap(o, o[0] == true).orValue(true)", "tricel"),
        ("data.?one.orValue([])[0] == 1.0", "cel-expr-python"),
        ("data.?one.optMap(o, o[0] == 1.0).value()", "cel-expr-python"),
    ],
)
def test_an_index_into_no_list_is_an_error_in_an_optional_too(text: str, engine: str) -> None:
    program = program_of(text)
    assert (engine, None) == (program.engine, program({"ce": {}, "data": {"one": 1.0}}))


def test_an_empty_batch_has_no_outcomes() -> None:
    assert [] == each_row([[], []], lambda columns, count: [True] * count, once=True)


@pytest.mark.parametrize(("value", "expected"), [('{"a": "x\\u0000y"}', False), ('{"a": "x"}', True)])
def test_what_is_in_the_json_of_an_attribute_may_not_fit_the_engine(value: str, expected: bool) -> None:
    job = Job((program_of('ce.e.a == "x"'),), frozenset({"e"}), "ce")
    read = Reader((Input(Form.TEXT, "e", None, attribute=True),), record="ce")
    assert [expected] * 40 == Runner(job).each(*read.each([[value] * 40], 40))


@pytest.mark.parametrize("levels", [100, 490, 1_000])
def test_payloads_are_read_as_deep_as_spark_reads_them(levels: int) -> None:
    null, metadata = b"\0", b"\1\0\0"
    nested = null
    for _ in range(levels):
        nested = bytes([3 | 3 << 2, 1]) + struct.pack("<II", 0, len(nested)) + nested
    texts, variants = (Reader((Input(form, "data", None),), record="") for form in (Form.JSON, Form.VARIANT))
    (found,), _ = texts.each([["[" * levels + "null" + "]" * levels]], 1)
    (again,), _ = variants.each([[(nested, metadata)]], 1)
    for given in (found, again):
        assert given is not None
        value = given["data"]
        for _ in range(levels):
            (value,) = value
        assert value is None


def test_a_failure_names_the_subexpression_that_erred() -> None:
    failure = program_of("ce.id != ce.type || data.total / 2.0 > data.items[7].price")
    found = failure.failure({"ce": {"id": "1", "type": "1"}, "data": {"total": 1.0, "items": []}})
    assert found is not None
    assert ("index out of range: 7", "data.items[7]") == (found.text, found.subexpression)


def test_a_value_that_cannot_be_read_errs_where_it_is_used_and_nowhere_else(spark: SparkSession) -> None:
    """Filters that share a pass over few triggers, one of which reads every attribute."""
    rows = (
        "map('x', CAST(X'FF' AS STRING))",
        "map('x', CAST(NULL AS STRING), 'y', 'z')",
        "map('time_is_odd', 'a')",
        "CAST(NULL AS MAP<STRING, STRING>)",
    )
    selects = [
        f"SELECT '{i}' AS id, '/s' AS source, 't' AS type, 'aa' AS subject, "
        f"{'timestamp_seconds(400000000000)' if i == 2 else 'CAST(NULL AS TIMESTAMP)'} AS time, {row} AS extensions"
        for i, row in enumerate(rows)
    ]
    frame = spark.sql(" UNION ALL ".join(selects))
    filters = {
        "all": compile_filter("size(ce) > 3"),
        "one": compile_filter('ce.subject.matches("^(a|aa)+$")'),
        "absent": compile_filter('!has(ce.x) && ce.subject.matches("^(a|aa)+$")'),
    }
    alone = {
        name: [r[0] for r in frame.orderBy("id").select(column(frame, f)).collect()] for name, f in filters.items()
    }
    assert [True] * 4 == alone["one"]
    assert [None, True, None, True] == alone["all"]
    together = with_outcomes(frame, filters).orderBy("id").select(*filters).collect()
    assert alone == {name: [row[name] for row in together] for name in filters}


def test_extensions_that_differ_in_capitals_are_two(spark: SparkSession) -> None:
    entries = """map('fooBar', '{"x": 1}', 'foobar', '{"x": 2}')"""
    frame = spark.sql(f"SELECT '1' AS id, '/s' AS source, 't' AS type, {entries} AS extensions")
    assert 1 == where(frame, compile_filter("ce.fooBar.x == 1.0 && ce.foobar.x == 2.0")).count()
    assert 1 == where(frame, compile_filter("ce.fooBar.x < ce.foobar.x")).count()


@pytest.mark.parametrize(
    ("filter_", "dialect"),
    [
        ("subject LIKE '" + "%a" * 45_000 + "b'", "cesql"),
        ("ce.subject.matches('" + "\x01+" * 20_000 + "')", "cel"),
    ],
    ids=["LIKE", "escapes"],
)
def test_a_filter_that_is_longer_as_cel_than_a_filter_may_be(filter_: str, dialect: str) -> None:
    (residual,) = compile_filter(filter_, dialect=dialect, language="next").residual
    program = prepare(residual.expr, residual.engine, {"ce": DYN})
    assert isinstance(program, Program)
    assert len(program.text) > 100_000
    assert program.compiled()({"ce": {"subject": "x"}}, None) is False


def test_topic_filters_do_not_make_a_filter_too_large(spark: SparkSession) -> None:
    frame = spark.sql("SELECT '1' AS id, '/s' AS source, 'b' AS type, '7/x/a' AS subject")
    some = " || ".join(f"ce.subject.matchesFilter('{i}/+/a')" for i in range(300))
    for text in (f"ce.id.matchesFilter(ce.type) || {some}", "!ce.subject.matchesFilter('" + "+/" * 20_000 + "#')"):
        filter_ = compile_filter(text, language="next")
        assert () == filter_.residual
        assert 1 == where(frame, filter_).count()
