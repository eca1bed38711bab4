"""Lists made of lists, and lists as sets: what JSON does not have, what is bounded, and what is left to the fallback.

What all events have in common with JSON is compared by the families `lists_ext` and `sets_ext` of `test_differential`.
"""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession
from spark_settings import set_to
from tricel.compiler import cloud_event
from tricel.compiler.interpreter import CelError, evaluator
from tricel.spark_backend.compiled_filter import lower_filter
from tricel.spark_backend.dataframes import with_outcomes
from tricel.spark_backend.sql.layout import recognise

from tricel import CompiledFilter, Limits, compile_filter

VARIANTS = (
    "array(CAST('NaN' AS DOUBLE), CAST('NaN' AS DOUBLE), 1D)",
    "array(3, 1, 2, 1)",
    "array(X'61', X'62', X'61')",
    "array(TIMESTAMP'2024-01-02 03:04:05', TIMESTAMP'2024-01-02 03:04:05')",
    "array(array(CAST('NaN' AS DOUBLE)), array(CAST('NaN' AS DOUBLE)), array(1D))",
    "array(-0D, 0D, CAST(2 AS FLOAT))",
)
# expression, then the outcome for each: doubles with NaN, ints, bytes, times, lists with NaN, zeros
VARIANT_CASES: list[tuple[str, list[bool | None]]] = [
    ("sets.contains(data.l, [1.0])", [True, True, False, False, False, False]),
    ("sets.contains(data.l, data.l)", [False, True, True, None, False, True]),
    ("sets.intersects(data.l, data.l)", [True, True, True, None, True, True]),
    ("sets.equivalent(data.l, data.l.reverse())", [False, True, True, None, False, True]),
    ('sets.intersects(data.l, [b"b", "b"])', [False, False, True, False, False, False]),
    ("data.l.distinct().size() == 3", [True, True, False, None, True, False]),
    ("data.l.distinct().size() == 2", [False, False, True, None, False, True]),
    ("data.l.sort()[0] <= 1.0", [None, True, None, None, None, True]),
    ("data.l.sort().reverse() == [3.0, 2.0, 1.0, 1.0]", [None, True, None, None, None, False]),
    ("data.l.flatten().size() == 3", [True, False, True, False, True, True]),
    ("data.l.last().orValue(0.0) == 1.0", [True, True, False, False, False, False]),
    ("data.l.slice(1, 3).size() == 2", [True, True, True, None, True, True]),
]


@pytest.mark.spark
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_variants_that_were_no_json(spark: SparkSession, ansi: str) -> None:
    selects = [f"SELECT '{i}' AS id, to_variant_object(named_struct('l', {v})) AS data" for i, v in enumerate(VARIANTS)]
    frame = spark.sql(" UNION ALL ".join(selects)).coalesce(1)
    layout = recognise(frame.schema)
    filters = {f"c{i}": lower_filter(compile_filter(t).checked, layout) for i, (t, _) in enumerate(VARIANT_CASES)}
    assert [] == [f.cel for f in filters.values() if f.residual]
    with set_to(spark, {"spark.sql.ansi.enabled": ansi}):
        found = sorted(with_outcomes(frame, filters).select("id", *filters).collect())
    wrong = [
        (text, expected, [row[c] for row in found])
        for (text, expected), c in zip(VARIANT_CASES, filters, strict=True)
        if expected != [row[c] for row in found]
    ]
    assert wrong == []


COLLATED: list[tuple[str, bool]] = [
    ('sets.contains(data.l, ["a"])', False),
    ('sets.contains(data.l, ["A", "é", "b"])', True),
    ('sets.intersects(["É"], data.l)', False),
    ("data.l.distinct().size() == 4", True),
    ('data.l.sort() == ["A", "b", "b ", "é"]', True),
    ('data.l.reverse()[0] == "B"', False),
    ('data.l.first().orValue("") == "É"', False),
]


@pytest.mark.spark
@pytest.mark.parametrize("collation", ["UNICODE_CI", "UTF8_LCASE"])
def test_a_collation_changes_nothing(spark: SparkSession, collation: str) -> None:
    listed = ", ".join(f"'{x}' COLLATE {collation}" for x in ("é", "A", "b ", "b"))
    frame = spark.sql(f"SELECT '1' AS id, named_struct('l', array({listed})) AS data")
    layout = recognise(frame.schema)
    environment = layout.environment(cloud_event())
    filters = {
        f"c{i}": lower_filter(compile_filter(t, environment).checked, layout) for i, (t, _) in enumerate(COLLATED)
    }
    assert [] == [f.cel for f in filters.values() if f.residual]
    row = with_outcomes(frame, filters).select(*filters).collect()[0]  # Spark 4.0 loses rows with collated elements
    assert [expected for _, expected in COLLATED] == [row[c] for c in filters]


def allowed(text: str) -> CompiledFilter:
    """The filter, whatever it may cost."""
    return compile_filter(text, limits=Limits(cost=10**19, built=10**19))


BOMBS: list[tuple[str, list[bool | None]]] = [
    ("data.l.exists(x, data.l.sort()[0] == x + 1.0)", [None, False]),
    ("data.l.exists(x, data.l.reverse()[0] == x + 0.5)", [None, False]),
    ("data.l.exists(x, data.w.distinct().size() == 1)", [None, False]),
    ("data.l.exists(x, sets.contains(data.w, [x]))", [None, False]),
    ("data.l.exists(x, sets.intersects([x, 'z'], data.w))", [None, False]),
    ("data.l.exists(x, data.w.first().orValue('') == 'z')", [None, False]),
    ("data.l.map(x, data.w.slice(0, size(data.w))).size() == 1", [None, False]),
    ("data.l.map(x, lists.range(size(data.l))).size() == 1", [None, False]),
    ("data.l.exists(x, lists.range(1000).exists(y, x == double(y) - 5000.0))", [None, False]),
    ("lists.range(10000).exists(a, lists.range(10000).exists(b, a + b < 0))", [None, None]),
    ("lists.range(size(data.l)).exists(i, lists.range(size(data.l)).exists(j, i + j < 0))", [None, False]),
    ("lists.range(size(data.l)).exists(i, data.l[i] < 0.0)", [False, False]),
    ("data.l.distinct().exists(x, data.l.distinct().exists(y, x + y < 0.0))", [None, False]),
    ("[data.l, data.w].flatten().exists(x, data.l.exists(y, x == 'z' && y == 'z'))", [None, False]),
    ("data.sq.flatten().exists(x, data.w.exists(y, x == y))", [None, False]),
    ("data.sq.exists(x, x.sort().exists(y, x.reverse().exists(z, y + z < 0.0)))", [None, False]),
    ("data.sq.exists(x, x.sort().exists(y, y < 0.0))", [False, False]),
    ("data.sq.exists(x, sets.contains(x, [-1.0]))", [False, False]),
    ("data.sq.exists(x, x.distinct().size() == 1)", [False, False]),
    ("data.sq.exists(x, lists.range(size(x)).exists(i, i < 0))", [False, False]),
    ("sets.equivalent(data.l, data.l.reverse())", [True, True]),
    ("sets.intersects(data.l, data.w)", [False, False]),
    ("sets.contains(data.nested, [[-1.0]])", [False, False]),
    ("data.nested.distinct().size() == 1", [False, False]),
    ("data.same.distinct().size() == 1", [True, True]),
    ("data.l.sort() == data.l", [True, True]),
]


@pytest.mark.spark
def test_hostile_events_are_bounded(spark: SparkSession) -> None:
    rows = []
    for n in (5_000, 50):
        numbers = [float(i) for i in range(n)]
        payload = {
            "l": numbers, "w": [f"w{i}" for i in range(n)], "sq": [numbers[: n // 10]] * 25, "same": ["a"] * n,
            "nested": [[i, {"a": [i]}] for i in range(n)],
        }  # fmt: skip
        rows.append((str(n), json.dumps(payload)))
    frame = spark.createDataFrame(rows, "id STRING, data STRING").coalesce(1)
    filters = {f"c{i}": allowed(text) for i, (text, _) in enumerate(BOMBS)}
    assert [] == [text for (text, _), f in zip(BOMBS, filters.values(), strict=True) if f.residual]
    found = {row["id"]: row for row in with_outcomes(frame, filters).collect()}
    wrong = [
        (text, expected, [found["5000"][c], found["50"][c]])
        for (text, expected), c in zip(BOMBS, filters, strict=True)
        if expected != [found["5000"][c], found["50"][c]]
    ]
    assert wrong == []


def test_the_outcomes_of_small_events_are_those_of_the_evaluator() -> None:
    """What the table above says of fifty elements is what the definition says."""
    numbers = [float(i) for i in range(50)]
    data = {
        "l": numbers, "w": [f"w{i}" for i in range(50)], "sq": [numbers[:5]] * 25, "same": ["a"] * 50,
        "nested": [[float(i), {"a": [float(i)]}] for i in range(50)],
    }  # fmt: skip

    def answer(text: str) -> bool | None:
        try:
            return bool(evaluator(allowed(text).checked.checked.expr)({"ce": {}, "data": data}))
        except CelError:
            return None

    assert [(text, outcomes[1]) for text, outcomes in BOMBS] == [(text, answer(text)) for text, _ in BOMBS]


DEEP = 900


@pytest.mark.spark
def test_elements_nested_as_deep_as_json_is_read(spark: SparkSession) -> None:
    deep = "[" * DEEP + "1" + "]" * DEEP
    other = "[" * DEEP + "2" + "]" * DEEP
    frame = spark.createDataFrame(
        [("1", f'{{"a": [{deep}], "b": [{deep}, {other}, {deep}]}}')], "id STRING, data STRING"
    )
    rows = {
        "sets.contains(data.b, data.a)": True,
        "sets.contains(data.a, data.b)": False,
        "data.b.distinct().size() == 2": True,
        "sets.contains(data.a, [1.0])": False,
    }
    filters = {f"c{i}": compile_filter(text) for i, text in enumerate(rows)}
    assert [] == [f.cel for f in filters.values() if f.residual]
    assert list(rows.values()) == [with_outcomes(frame, filters).collect()[0][c] for c in filters]


@pytest.mark.parametrize(
    ("text", "event"),
    [
        (f"data.l.sortBy(x, {' + '.join(['data.s'] * 8)}).size() == 1", {"l": [1] * 20_000, "s": "x" * 2_000}),
        ("data.l.all(x, sets.contains(data.l, [x]) && sets.intersects(data.l, [x]))", {"l": [[]] * 700}),
    ],
    ids=["keys of sortBy are held", "what is read several times is counted several times"],
)
def test_what_small_events_may_take(spark: SparkSession, text: str, event: object) -> None:
    frame = spark.createDataFrame(
        [("1", "/s", "t", json.dumps(event))], "id STRING, source STRING, type STRING, data STRING"
    )
    compiled = compile_filter(text)
    assert not compiled.residual
    assert [None] == [row[0] for row in with_outcomes(frame, {"c": compiled}).select("c").collect()]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("data.x.flatten(int(data.s)) == []", "a number of levels that is computed"),
        ("data.x.flatten(9) == []", "more than 8 levels"),
        ("lists.range(10001).exists(i, i == data.x)", "neither the filter nor a size bounds them"),
        ("lists.range(int(data.n)) == []", "neither the filter nor a size bounds them"),
        ("data.x.first() == data.x.last()", "an optional has no form in SQL"),
        ("data.x.first()" + ".optMap(i, i)" * 22 + ".hasValue()", "more than 4 optMap()"),
        ("data.x.map(i, size(i)).exists(i, sets.contains([data.x], [[i]]))", "'list(int)' among values of other types"),
        ("sets.contains([size(data.x), data.y], [size(data.y), data.x])", "equality of the three is not transitive"),
    ],
)
def test_what_is_left_to_the_fallback_has_its_reason(text: str, reason: str) -> None:
    (conjunct,) = compile_filter(text).residual
    assert reason in conjunct.reason


@pytest.mark.parametrize(
    ("text", "native"),
    [
        ("data.s.reverse().reverse() + data.s.reverse() == 'a'", True),
        ("lists.range(size(data.s)).size() == 1", True),
        ("[" + ", ".join(["lists.range(size(data.s))"] * 7) + "].flatten() == data.k", False),
        ("[" + ", ".join(["data.l"] * 51) + "].flatten().size() == 1", False),
        ("[" + ", ".join(["data.l"] * 9) + "].flatten().size() == 1", True),
        ("[data.l, data.l].flatten().exists(x, x == 'a')", False),
    ],
    ids=lambda value: value[:60] if isinstance(value, str) else None,
)
def test_what_is_made_is_bounded_by_the_data(text: str, native: bool) -> None:
    assert native is not bool(compile_filter(text).residual)
