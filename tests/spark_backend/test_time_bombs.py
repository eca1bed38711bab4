"""Filters and payloads made to take for ever, or all memory: refused, or answered, or an error outcome, and soon."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from pyspark.sql import SparkSession
from samples import sample
from tricel.compiler import check_filter
from tricel.compiler.interpreter.work import making, per_element, reading
from tricel.spark_backend.dataframes import with_outcomes
from tricel.spark_backend.engines import OWN_ENGINE, Program, prepare
from tricel.spark_backend.sql.handlers import ranges
from tricel.spark_backend.sql.layout import DEFAULT
from tricel.spark_backend.sql.lower import Lowering
from tricel.spark_backend.sql.reasons import NotNative

from tricel import compile_filter

ELEMENTS = 100_000
DATA = f"""
n = {ELEMENTS}
data = {{
    "l": [float(i) for i in range(n)], "w": [f"w{{i}}" for i in range(n)], "s": "a" * 900_000, "t": "a" * 1000 + "b",
    "m": {{str(i): float(i) for i in range(n)}}, "csv": ",".join("x" * n), "digits": "1" * 400_000,
    "fmt": "%s" * 50_000, "p": "(?:a|b)*c", "counted": "((a{{100}}){{100}}){{100}}", "ll": [[1.0] * 300] * 300,
}}
deep = 1.0
for _ in range(400):
    deep = [deep]
data["deep"] = deep
"""
REFUSED = (
    "data.l.all(a, data.l.all(b, data.l.all(c, a + b + c >= 0.0)))",
    "data.l.map(x, data.s + data.s).size() == 1",
    '["x"]' + ".map(a, a + a)" * 40 + '[0] == "y"',
    "data.s.replace('a', data.s).size() > 1",
    'data.csv.split(",").join(data.s).size() > 1',
    "data.l.all(x, data.s.contains(data.t))",
    "data.l.all(x, data.t.matches(data.p))",
    "regex.replace(data.s, 'a', data.s).size() > 1",
    "lists.range(1000000).distinct().size() == 1",
    "cel.bind(v, data.x, " + "cel.bind(v, v + v, " * 30 + "size(v) > 3" + ")" * 31,
    "!" * 200 + "data.x",
    "data.x == " + "[" * 200 + "]" * 200,
    "data.s.matches('((a{100}){100}){100}')",
)
STEPS, WORK, LONG = "too many steps", "reads or makes too much", "more than 10,000,000"
BOMBS: tuple[tuple[str, bool | str], ...] = (
    ("data.l.all(a, data.l.all(b, a + b >= 0.0))", STEPS),
    ("size(data.l.map(x, data.l.map(y, y))) > 1", STEPS),
    ("lists.range(1000000).map(x, -x).sort()[0] < 0", STEPS),
    ("data.l.map(x, data.l.filter(y, y == x)).size() > 1", STEPS),
    ("data.m.all(k, data.m.exists(j, j == k))", STEPS),
    ("data.w.map(x, data.s + x).size() == 1", WORK),
    ('data.l.all(x, data.s + "a" != data.s)', WORK),
    ("data.l.all(x, x in data.l)", WORK),
    ("data.l.all(x, data.l != data.w)", WORK),
    ("data.l.all(x, [data.l, data.l] == [data.l, data.l])", WORK),
    ("data.l.map(x, lists.range(100000)).size() > 1", WORK),
    ("data.w.join(data.s).size() > 1", LONG),
    ("'" + "%s" * 14 + "'.format([" + ", ".join(["data.s"] * 14) + "]).size() > 1", LONG),
    ("cel.bind(a, data.s + data.s, cel.bind(b, a + a, cel.bind(c, b + b + b, cel.bind(d, c + c, size(d) > 1))))", LONG),
    ("data.s" + ".replace('a', 'aaaaaaaaaa')" * 2 + " == 'b'", LONG),
    ("data.w.exists(x, data.s.replace('a', x) == 'b')", WORK),
    ("data.w.transformMapEntry(i, v, {v: data.s + v}).size() > 1", WORK),
    ("data.l.exists(x, data.l.sort()[0] == x + 1.0)", WORK),
    ("lists.range(1000).exists(a, lists.range(1000).exists(b, lists.range(1000).exists(c, a + b + c < 0)))", STEPS),
    ("data.fmt.format([data.s]).size() > 1", "out of range"),
    ("data.t.matches(data.counted)", "invalid regular expression"),
    ("int(data.digits) == 1", "not an int"),
    ("data.s.matches(data.p)", False),
    ('data.s.matches("^(?:[a-z]+[.])+com$")', False),
    ("lists.range(1000000).sort().size() == 1000000", True),
    ("data.l.sort().size() == 100000", True),
    ("data.w.distinct().size() == 100000", True),
    ("sets.equivalent(data.ll, data.ll)", True),
    ("[data.l, data.l, data.l].flatten().size() == 300000", True),
    ("data.deep == data.deep", True),
    ("data.m == data.m", True),
    ("data.l.exists_one(x, x == data.l[99999])", True),
)
RUN = f"""
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
from tricel.compiler import check_filter
from tricel.spark_backend.engines import DEFAULT_ENGINE, OWN_ENGINE, Failure, prepare
{DATA}
for text in json.load(sys.stdin):
    checked, diagnostics = check_filter(text)
    assert checked is not None, (text, diagnostics)
    roots = dict(checked.checked.environment.roots)
    program = prepare(checked.checked.expr, OWN_ENGINE, roots)
    found = program.compiled()({{"data": data}}, None)
    chosen = prepare(checked.checked.expr, DEFAULT_ENGINE, roots).engine
    print("ROW", json.dumps([found.text if isinstance(found, Failure) else found, chosen]), flush=True)
"""


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:60])
def test_what_must_take_too_long_is_refused(text: str) -> None:
    checked, diagnostics = check_filter(text)
    assert checked is None
    assert {"TRI102", "TRI208", "TRI210"} & {d.code for d in diagnostics}


def test_what_may_take_too_long_is_bounded() -> None:
    """In a process of 4 GiB, on a payload of three megabytes: every evaluation ends, with the outcome listed."""
    texts = json.dumps([text for text, _ in BOMBS])
    done = subprocess.run([sys.executable, "-c", RUN], input=texts, capture_output=True, text=True, timeout=500)
    found: list[Any] = [json.loads(line[4:]) for line in done.stdout.splitlines() if line.startswith("ROW ")]
    assert len(BOMBS) == len(found), done.stderr[-2000:]
    wrong = []
    for (text, expected), (outcome, _) in zip(BOMBS, found, strict=True):
        right = expected in outcome if isinstance(expected, str) and isinstance(outcome, str) else expected is outcome
        if not right:
            wrong.append((text, expected, outcome))
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("data.w.map(x, data.s + x).size() == 1", True),
        ("data.w.map(x, [x].join(data.s)).size() == 1", True),
        ("data.w.map(x, x.reverse() + x).size() == 1", True),
        ("data.l.map(x, x + 1.0).size() == 1", False),
        ("data.w.exists(x, data.s + x == 'b')", True),
        ("data.l.all(x, data.g == data.g)", True),
        ("data.l.all(x, x in data.l)", True),
        ("data.l.all(x, x in [1.0, 2.0])", False),
        ("data.l.exists(x, x == data.k)", True),
        ("data.l.exists(x, x.sku == 'a' && x.name.contains('b'))", False),
        ("data.l.all(x, size(data.s) > 1)", True),
        ("data.l.all(x, size(x) > 1)", False),
        ("data.l.all(x, data.s.indexOf('b') == -1)", True),
        ("data.l.all(x, x.items.exists(y, y.n + 'a' == 'ba'))", False),
        ("data.l.all(x, x.items.exists(y, x.s.trim() != ''))", True),
        ("data.l.all(x, {data.s: 1}.size() == 1)", True),
        ("cel.bind(v, data.s, data.l.all(x, v.size() > 1))", True),
        ("data.l.all(x, cel.bind(v, x.s, v.size() > 1))", False),
        ("cel.bind(v, data.s + data.s, v + v != 'a')", True),
        ("data.s.contains(data.t)", True),
        ("data.l.map(x, data.s).all(y, y == y)", True),
        ("data.l.map(x, [x.n, data.s]).all(y, y == y)", True),
        ("data.l.map(x, x.s).all(y, y == y)", False),
        ("data.l.map(x, data.n * x).all(y, y > 0.0)", False),
        ("cel.bind(a, [data.l, data.l], cel.bind(b, [a, a], b == b))", True),
        ("[data.l].map(x, {'a': x, 'b': x}) == []", True),
        ("cel.bind(a, [data.l, data.l], a == a)", False),
        ("data.l.map(x, [x.s, 'a']) == []", False),
        ("data.s.contains('b')", False),
        ("data.?a.optMap(v, v + 1.0).orValue(2.0) > 1.0", False),
        ("data.s" + ".replace('a', 'aaaaaaaaaa')" * 2 + " == 'b'", True),
        ("data.s.replace('a', 'bb').replace('b', 'ccc') == 'b'", False),
        ("data.l.exists(x, x.replace('a', x) == 'b')", True),
        ("[" + ", ".join(["data.s + data.t"] * 30) + "] == data.k", True),
        ("data.?s.optMap(v, " + " + ".join("v" * 60) + ").orValue('') == 'b'", True),
    ],
)
def test_what_an_engine_does_not_bound_is_left_to_the_evaluator_that_does(text: str, own: bool) -> None:
    checked, _ = check_filter(text)
    assert checked is not None
    program = prepare(checked.checked.expr, "cel-expr-python", dict(checked.checked.environment.roots))
    assert isinstance(program, Program)
    assert own is (program.engine == OWN_ENGINE)


def test_what_patterns_find_is_work_for_each_match() -> None:
    """A match takes some microseconds, whatever its length: 2,000,000,000 are then some twenty seconds."""
    parts = ["a"] * 1_000
    found = making(per_element("regex.extractAll"), (), parts)
    split = making(per_element("split"), (), parts)
    assert 10 * split > found > 5 * split
    read = reading("regex.replace")(("a" * 1_000, "a", "b"), 10**9)
    assert read > 100 * reading("replace")(("a" * 1_000,), 10**9)


@pytest.mark.parametrize("engine", ["cel-expr-python", OWN_ENGINE])
def test_a_list_longer_than_the_engine_takes_is_answered(engine: str) -> None:
    checked, _ = check_filter("data.l.all(x, x >= 0.0)")
    assert checked is not None
    program = prepare(checked.checked.expr, engine, dict(checked.checked.environment.roots))
    assert isinstance(program, Program)
    assert program.engine == engine
    assert program({"data": {"l": [1.0] * 20_000}}) is True


NATIVE_BOMBS: list[tuple[str, list[bool | None]]] = [
    ("data.l.exists(x, data.l.exists(y, x + y < 0.0))", [None, False]),
    ("data.l.all(x, x in data.l)", [None, True]),
    ("data.m.all(k, data.l.exists(y, y == 1.0 && k != 'z'))", [None, True]),
    ("cel.bind(v, data.l, v.all(x, v.exists(y, x == y)))", [None, True]),
    ("data.l.all(x, x >= 0.0)", [True, True]),
    ("data.ll.exists(x, x.exists(y, y < 0.0))", [False, False]),
    ("data.l.exists(x, data.m != data.m)", [None, False]),
    ("data.l.exists(x, data.b == data.c)", [None, True]),
    ("data.l.exists(x, data.s == 'b')", [None, False]),
    ("data.w.map(x, data.s + x).size() == 1", [None, False]),
    ("data.l.map(x, data.l).size() == 1", [None, False]),
    ("data.ll.exists(x, x.exists(y, data.s.startsWith('b')))", [None, False]),
    ("data.m.all(k, data.m[k] >= 1.0)", [True, True]),
    ("data.m.all(k, data.m[k + ''] >= 1.0)", [None, True]),
    ("data.l.all(k, data.l[k] >= 0.0)", [True, True]),
    ("data.zeros.exists(k, data.zeros[k].exists(y, y == 1.0))", [None, True]),
    ("data.mm.exists(k, data.mm[k].exists(j, data.mm[k][j] < 0.0))", [False, False]),
    ("data.m.exists(k, data.l.exists(y, data.m[k] == y))", [None, True]),
    ("data.l.sortBy(x, -x)[0] == 1.0", [False, False]),
    ("data.l.sortBy(x, data.s == 'b').size() == 1", [None, False]),
    ("data.w.sortBy(x, data.s + x).size() == 1", [None, False]),
    ("data.l.sortBy(x, -x).exists(x, data.l.sortBy(y, y).exists(z, x + z < 0.0))", [None, False]),
    ("data.l.exists(x, x == data.m)", [None, False]),
    ("data.few.exists(x, data.few.exists(y, x == y))", [True, True]),
    ("data.o.items.exists(y, y == data.o.s)", [None, False]),
    ("data.few.exists(x, data.l.exists(y, x == y))", [None, False]),
    ("data.w.join(data.s) != ''", [None, True]),
    ("data.l.exists(x, x == data.k)", [False, False]),
    ("data.ll.exists(x, x.exists(y, y == data.k))", [False, False]),
    ("data.m.all(k, k != data.k && k in data.m)", [None, True]),
    ("data.l.exists(x, ce.id == 'b' || x == 1.0)", [True, True]),
    ("data.l.exists(x, cel.bind(v, data.s, x == v))", [None, False]),
    ("data.l.exists(x, cel.bind(v, data.m, v == x))", [None, False]),
    ("data.few.exists(x, cel.bind(v, data.m, v == x))", [False, False]),
    ("data.l.exists(x, cel.bind(v, data.k, v == 'z'))", [False, False]),
    ("data.l.exists(x, cel.bind(v, data, x == v.k))", [False, False]),
    ("data.l.exists(x, cel.bind(v, data.l, v.exists(y, x + y < 0.0)))", [None, False]),
    ("data.l.exists(x, cel.bind(v, data, v.l.exists(y, x + y < 0.0)))", [None, False]),
    ("data.l.exists(x, cel.bind(v, data.l, x in v && x < 0.0))", [None, False]),
    ("data.l.exists(x, cel.bind(v, data.l.filter(y, y > -1.0), v.exists(z, z + x < 0.0)))", [None, False]),
    ("data.l.exists(x, cel.bind(v, data.l, cel.bind(w, v + v, w.exists(y, x + y < 0.0))))", [None, False]),
    ("data.l.exists(x, cel.bind(v, data.s, cel.bind(w, v + v, w == 'b' || w == x)))", [None, False]),
    ("data.l.exists(x, cel.bind(x, data.l, x.exists(y, y < 0.0)))", [None, False]),
    ("data.l.exists(x, cel.bind(v, x * data.l[1], v < 0.0 || v == -1.0))", [False, False]),
    ("data.l.exists(x, cel.bind(v, x in data.l, !v))", [None, False]),
    ("data.ll.exists(x, cel.bind(v, x.filter(y, y > 5.0), v.exists(z, z < 0.0)))", [False, False]),
    ("data.l.exists(x, cel.bind(string, data.s, x == string))", [None, False]),
    ("data.ll.exists(string, string.exists(y, data.s.startsWith('b')))", [None, False]),
    ("data.l.exists(int, cel.bind(map, data.l, map.exists(y, y + int < 0.0)))", [None, False]),
    ("data.l.exists(data, .data.s == data)", [None, False]),
    ("data.l.exists(x, has(data.m) && cel.bind(v, x, v < 0.0))", [False, False]),
    # what goes on within elements is summed: 25 elements of 500 are 6.25 million turns, of 5 it is 625
    ("data.sq.exists(x, x.exists(y, x.exists(z, y + z < 0.0)))", [None, False]),
    ("data.sq.exists(x, x.exists(y, y < 0.0))", [False, False]),
    ("data.sq.exists(x, x.exists(y, y in x && y < 0.0))", [None, False]),
    ("data.sq.exists(x, x.filter(y, y > -1.0).exists(z, x.exists(w, w + z < 0.0)))", [None, False]),
    ("data.sq.exists(x, cel.bind(v, x.filter(y, y > -1.0), v.exists(z, v.exists(w, w + z < 0.0))))", [None, False]),
    ("data.sq.exists(x, [x, data.k].exists(v, v == 'z'))", [False, False]),
    ("data.sq.map(x, x.map(y, x.map(z, z))).size() == 1", [None, False]),
    ("data.sq.exists(x, x.exists(x, x < 0.0))", [False, False]),
    ("data.sq.exists(x, data.sq.exists(y, x == y && x == [1.0]))", [False, False]),
    ("data.ll.exists(x, data.ll.exists(y, x == y && x == [1.0]))", [None, False]),
    ("data.sq.exists(x, x.exists(y, data.few.exists(z, y == z)))", [None, False]),
    # a part of an element that is read for each other part of it
    ("data.o2.exists(x, x.items.exists(y, x.s == y))", [None, False]),
    ("data.o2.exists(x, x.items.exists(y, x.k == y))", [False, False]),
    ("data.o2.exists(x, cel.bind(v, x.s, x.items.exists(y, v == y)))", [None, False]),
    ("data.o2.exists(x, cel.bind(v, x.s + 'a', x.items.exists(y, v == y)))", [None, False]),
    ("data.o2.exists(x, x.s in x.items)", [None, False]),
    ("data.o2.exists(x, x.texts.join(x.s) == 'b')", [None, False]),
    ("data.o2.exists(x, [x.s, x.k].exists(v, x.items.exists(y, v == y)))", [None, False]),
    ("data.o2.exists(x, data.w.exists(y, [x.s, y].exists(v, v == 'z')))", [None, False]),
    # with an index or key
    ("data.l.exists(i, x, data.l.exists(j, y, x + y < 0.0))", [None, False]),
    ("data.l.all(i, x, x in data.l)", [None, True]),
    ("data.m.all(k, v, data.l.exists(i, y, y == 1.0 && k != 'z'))", [None, True]),
    ("data.m.all(k, v, data.m.exists(j, w, j == k))", [None, True]),
    ("data.m.all(k, v, v >= 1.0)", [True, True]),
    ("data.l.transformList(i, x, data.l).size() == 1", [None, False]),
    ("data.w.transformList(i, x, data.s + x).size() == 1", [None, False]),
    ("data.sq.exists(i, x, x.exists(j, y, x.exists(z, y + z < 0.0)))", [None, False]),
    ("data.sq.exists(i, x, x.exists(j, y, y < 0.0 || i + j < 0))", [False, False]),
    ("data.l.exists(i, x, i + 1 < 0 || data.l.exists(j, y, i + j < 0))", [None, False]),
    ("data.o2.exists(i, x, x.exists(k, v, k == 's' && x.items.exists(y, v == y)))", [None, False]),
    # each turn chooses what another macro goes over, or what it gives a name
    ("data.l.exists(x, data.b[x * 0.0].exists(y, x + y < 0.0))", [None, False]),
    ("data.w.exists(x, data.o[x == 'w0' ? 'items' : 'items'].exists(y, y < 0.0))", [None, False]),
    ("data.few.exists(x, cel.bind(v, data.b[x == 'q' ? 0 : 0], v.exists(y, y < 0.0)))", [False, False]),
    ("data.l.exists(x, cel.bind(n, size(data.k) * size([x]) - 1, data.b[n].exists(y, y + x < 0.0)))", [None, False]),
    ("data.l.exists(x, cel.bind(v, data.s + (x == 1.0 ? 'a' : 'b'), v == 'q' || v == 'r'))", [None, False]),
    ("data.few.exists(x, data.o2[0][x == 'q' ? 'k' : 's'].contains('b'))", [False, False]),
    ("data.l.exists(x, (x == 1.0 ? data.b : data.c).exists(y, y[0] < 0.0))", [None, False]),
]


@pytest.mark.spark
@pytest.mark.sampled
def test_macros_in_one_another_are_bounded_in_spark_too(spark: SparkSession) -> None:
    """Five thousand elements would be twenty-five million turns."""
    bombs = sample(NATIVE_BOMBS, 3)
    rows = []
    for n in (5_000, 50):
        numbers = [float(i) for i in range(n)]
        text = "a" * 20 * n
        payload = {
            "l": numbers, "m": {f"k{i}": 1 for i in range(n)}, "ll": [[1.0] * 10] * n, "k": "?", "s": text,
            "w": [f"w{i}" for i in range(n)], "b": [numbers], "c": [numbers], "few": [[text]] * 30,
            "o": {"items": numbers, "s": [text]}, "sq": [numbers[: n // 10]] * 25,
            "zeros": [numbers, *[0.0] * n], "mm": {f"k{i}": {f"j{j}": 1.0 for j in range(10)} for i in range(n // 10)},
            "o2": [{"s": text, "k": "?", "items": numbers, "texts": ["a"] * n}] * 2,
        }  # fmt: skip
        rows.append((str(n), json.dumps(payload)))
    frame = spark.createDataFrame(rows, "id STRING, data STRING").coalesce(1)
    filters = {f"c{i}": compile_filter(text) for i, (text, _) in enumerate(bombs)}
    assert [] == [text for (text, _), f in zip(bombs, filters.values(), strict=True) if f.residual]
    found = {row["id"]: row for row in with_outcomes(frame, filters).collect()}
    outcomes = [[found["5000"][c], found["50"][c]] for c in filters]
    assert bombs == [(text, outcome) for (text, _), outcome in zip(bombs, outcomes, strict=True)]


SMALL: tuple[object, ...] = (
    {},
    {"l": [], "sq": [], "o2": [], "few": []},
    {
        "l": [1, -1],
        "sq": [[1, -2], [], ["a"]],
        "few": ["a", [1]],
        "k": "z",
        "s": "b",
        "w": ["z"],
        "m": {"k": 1, "z": 2},
    },
    {"l": {"a": 1}, "sq": {"a": 1}, "ll": [[0], {"k": -1}], "k": 1, "s": "b", "b": [1], "c": [1], "o": {"items": []}},
    {"sq": [[1, 2], 5], "o2": [{"s": "b", "k": "b", "items": ["b"], "texts": ["", ""]}, {"s": "c", "items": {"c": 1}}]},
    {"sq": [[[1], [2]], [None]], "o2": [{"items": [1], "texts": ["a", 1], "k": 1}, 3], "few": [], "w": [1, "z"]},
    {
        "l": "text",
        "sq": None,
        "o2": [None],
        "few": [[]],
        "ll": [[5], [-5, None]],
        "m": {},
        "o": {"items": ["x"], "s": "x"},
    },
)


@pytest.mark.spark
def test_small_events_are_answered_as_the_evaluator_answers_them(spark: SparkSession) -> None:
    texts = [text for text, _ in NATIVE_BOMBS]
    filters = {f"c{i}": compile_filter(text) for i, text in enumerate(texts)}
    rows = [(str(i), json.dumps(payload)) for i, payload in enumerate(SMALL)]
    frame = spark.createDataFrame(rows, "id STRING, data STRING").coalesce(1)
    found = {row["id"]: row for row in with_outcomes(frame, filters).collect()}
    wrong = []
    for i, (id_, data) in enumerate(rows):
        event = {"ce": {"id": id_}, "data": json.loads(data, parse_int=float)}
        for (c, compiled), text in zip(filters.items(), texts, strict=True):
            own = prepare(compiled.checked.checked.expr, OWN_ENGINE, dict(compiled.checked.checked.environment.roots))
            assert isinstance(own, Program)
            if (expected := own(event)) is not found[id_][c]:
                wrong.append((text, SMALL[i], expected, found[id_][c]))
    assert wrong == []


SUMS: tuple[tuple[str, list[int], int], ...] = (
    ("data.l.exists(x, x.exists(y, x.exists(z, y == z && z == 'b')))", [6, 8], 36 + 64),
    ("data.l.exists(x, data.l.exists(y, x == y && y == 'b'))", [1, 1, 1], 9),
    ("data.l.exists(x, x.exists(y, data.l.exists(z, z == 'b' && y == 'b')))", [2, 0, 3], (2 + 0 + 3) * 3),
    ("data.l.exists(x, x.filter(y, y == 'a').exists(z, x.exists(w, w == 'b')))", [2, 3], 4 + 9),
    ("data.l.exists(x, [x[0], x[1]].exists(y, y == 'b'))", [2, 3, 4], 2 * 3),
    ("data.l.exists(x, cel.bind(v, x.filter(y, y == 'a'), v.exists(z, v.exists(w, w == 'b'))))", [2, 3], 4 + 9),
    ("data.l.exists(x, x.exists(y, y in x && y == 'b'))", [2, 5], 4 + 25),
    ("data.l.exists(x, x.exists(x, data.l.exists(y, x == 'b')))", [2, 5], 7 * 2),
    ("data.l.exists(i, x, x.exists(j, y, x.exists(z, y == z && z == 'b')))", [6, 8], 36 + 64),
    ("data.l.exists(i, x, i + 1 < 0 || x.exists(j, y, data.l.exists(z, y == 'b')))", [2, 5], 7 * 2),
    ("data.l.exists(x, data.l[size(x) - size(x)].exists(y, y == 'b'))", [3, 2], 2 * 3),
    ("data.l.exists(x, data.l[size(x) - 2].exists(y, x.exists(z, z == 'b')))", [2, 4, 3], 2 * 2 + 4 * 3 + 3 * 4),
)


@pytest.mark.spark
@pytest.mark.parametrize(("text", "sizes", "turns"), SUMS, ids=[text[:60] for text, _, _ in SUMS])
def test_turns_are_counted_exactly(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, text: str, sizes: list[int], turns: int
) -> None:
    """As many as are allowed are taken; of one less, the event is an error."""
    frame = spark.createDataFrame(
        [("1", json.dumps({"l": [["a"] * n for n in sizes]}))], "id STRING, data STRING"
    ).coalesce(1)
    for most, expected in ((turns, False), (turns - 1, None)):
        monkeypatch.setattr(ranges, "MAX_TURNS", most)
        compiled = compile_filter(text)
        assert not compiled.residual
        assert with_outcomes(frame, {"c": compiled}).first()["c"] is expected


def listed(*items: str) -> str:
    return f"[{', '.join(items)}]"


def doubled(times: int) -> str:
    """A text that is doubled so many times."""
    binds = "".join(f"cel.bind(v{i}, v{i - 1} + v{i - 1}, " for i in range(1, times))
    return f"cel.bind(v0, data.s + data.s, {binds}v{times - 1} == 'b'{')' * times}"


NUMBERS = listed(*(f"{i}.0" for i in range(200)))


@pytest.mark.parametrize(
    ("text", "guards"),
    [
        (f"data.l.exists(x, {NUMBERS}.exists(q, {NUMBERS}.exists(r, x == q * r + 0.5)))", ["200.0D", "40000.0D"]),
        (f"data.l.exists(x, {NUMBERS}.exists(q, x == q))", ["200.0D"]),
        (f"{NUMBERS}.exists(q, data.l.exists(x, x == q))", ["200.0D"]),
        (f"data.l.exists(x, x.a.exists(y, {NUMBERS}.exists(q, y == q)))", ["200.0D"]),
        (f"data.l.exists(x, cel.bind(n, {NUMBERS}, n.exists(q, x == q)))", ["200.0D"]),
        (f"data.l.exists(x, {listed(*(f'x * {i}.0' for i in range(20)))}.exists(q, q == 3.0))", ["20.0D"]),
        (f"{NUMBERS}.exists(q, data.x == q)", []),
        ("data.l.exists(x, x.a.exists(y, y == 1.0))", []),
        ('[data.a, data.b].exists(x, x == "a")', []),
        ('[data.a, data.b].exists(x, x.exists(y, y == "a"))', []),
        ('["a/", "b/"].exists(p, data.x.startsWith(p))', []),
    ],
)
def test_lists_written_in_the_filter_multiply_turns(text: str, guards: list[str]) -> None:
    compiled = compile_filter(text)
    assert not compiled.residual
    written = " ".join(compiled.native_sql.split())
    assert all(f"{factor} * coalesce(" in written for factor in guards)
    assert bool(guards) is ("<= 1000000 " in written)


def test_what_a_turn_looks_for_in_the_event_is_guarded_where_spark_copies_it() -> None:
    assert "<= 200000000" in compile_filter("data.l.exists(x, has(data.big.x))").native_sql
    assert "<= 200000000" not in compile_filter("data.l.exists(x, has(x.big.x) && has(ce.subject))").native_sql


@pytest.mark.parametrize(
    ("text", "native"),
    [
        (f"{NUMBERS}.exists(a, {NUMBERS}.exists(b, {NUMBERS}.exists(c, a * b == c * data.x)))", False),
        ("data.l" + f".map(x, {listed(*'x' * 10)})" * 3 + ".exists(a, a.exists(b, b.exists(c, c == 'z')))", False),
        (listed(*["data.l"] * 90) + ".exists(x, x.exists(y, y == 'z'))", False),
        ("cel.bind(a, [data.x, 1.0], cel.bind(b, [a, data.x], b.exists(x, x == 'z')))", False),
        (f"data.l.exists(x, cel.bind(a, {listed(*'x' * 10)}, a.exists(b, b.exists(c, c == 'z'))))", False),
        ("data.l.filter(x, x.ok).exists(x, [x.a, x.b].exists(v, v == 1.0))", True),
        ("data.l.map(x, x.lines).exists(x, [x.a, x.b].exists(v, v == 1.0))", True),
        ("cel.bind(v, data, [v.a, v.b].exists(x, x == 1.0))", True),
        ('["a/" + data.x, "b/" + data.x].exists(p, ce.subject.startsWith(p))', True),
        ("data.l.exists(x, [x, x] == data.k)", True),
        ("data.l" + ".map(x, x + 1.0)" * 10 + ".exists(x, x > 3.0)", True),
        ("data.l" + ".map(x, x + 1.0)" * 30 + ".exists(x, x > 3.0)", False),
        ("data.l.map(x, x + x).exists(x, x.exists(y, y == 1.0))", False),
        ("data.l.exists(x, (x + [x]).exists(y, y == 1.0))", False),
        ("data.l.exists(x, cel.bind(a, x.s + x.s, cel.bind(b, a + a, b == 'z')))", False),
        ("data.l.exists(x, (x.a + x.b).exists(y, y == 1.0))", True),
        ("data.l.exists(x, x.n + x.n > 3.0)", True),
        ("data.l.map(x, x.a + 'z').exists(y, y == 'az')", True),
        ("data.l.exists(x, x.tags.filter(t, t in data.k).exists(t, t == 'a'))", True),
        ("data.a.exists(x, data.b.exists(y, (x + y).exists(z, z == 'a')))", False),
        ("data.a.exists(x, data.b.exists(y, [x, y].exists(z, z.exists(w, w == 'a'))))", False),
        (doubled(5), True),
        (doubled(6), False),
        ("data.s.replace('a', '" + "b" * 50 + "') == 'b'", True),
        ("data.s.replace('a', '" + "b" * 51 + "') == 'b'", False),
        ("data.s.replace('', '" + "b" * 50 + "') == 'b'", False),
        ("data.l.join('" + "b" * 100 + "') == 'b'", True),
        ("data.l.join('" + "b" * 101 + "') == 'b'", False),
        ("data.l.exists(x, x.replace('a', x) == 'b')", False),
        ("+".join(["data.s"] * 8) + " == 'b'", True),
        (listed(*["data.s + data.t"] * 26) + " == data.k", False),
        (listed(*(f'"com.acme.t{i}"' for i in range(1_000))) + ".exists(t, ce.type.startsWith(t))", True),
        (listed(*(f"data.a{i}" for i in range(350))) + '.exists(t, t == "a")', True),
        (listed(*(f'data.?a{i}.orValue("x")' for i in range(250))) + ".exists(t, t == data.k)", True),
        (listed(*(f'data.?a{i}.orValue("x")' for i in range(350))) + ".exists(t, t == data.k)", True),
        (listed(*(f'data.?a{i}.orValue("x")' for i in range(1_500))) + ".exists(t, t == data.k)", False),
        (" || ".join(f"data.a{i} == data.b{i}" for i in range(20)), True),
        (" || ".join(f"data.a{i} == data.b{i}" for i in range(60)), False),
        ('"q" in ' + listed(*(f'data.?a{i}.orValue("x")' for i in range(1_000))), False),
        ('"q" in ' + listed(*(f'data.?a{i}.orValue("x")' for i in range(10))), True),
    ],
    ids=lambda value: value[:70] if isinstance(value, str) else None,
)
def test_what_spark_would_not_bound_is_left_to_the_fallback(text: str, native: bool) -> None:
    assert native is not bool(compile_filter(text).residual)


@pytest.mark.spark
def test_as_many_lambdas_as_are_native_are_resolved(spark: SparkSession) -> None:
    """The longest chains and the deepest nests that are lowered, on an event."""
    texts = [
        '"x" in ' + listed(*(f'data.?a{i}.orValue("x")' for i in range(14))),
        "data.l" + ".map(x, x + 1.0)" * 17 + ".exists(x, x > 18.0)",
        listed(*(f'data.?a{i}.orValue("x")' for i in range(250))) + '.exists(t, t == "x")',
        '{"a": data.s + "a", "b": data.?c.orValue("x")} == data.o && '
        + f"data.l.exists(x, {NUMBERS}.exists(q, x == q))",
    ]
    filters = {f"c{i}": compile_filter(text) for i, text in enumerate(texts)}
    assert [] == [f.cel for f in filters.values() if f.residual]
    payload = json.dumps({"l": [1.0, 2.0], "s": "s", "o": {"a": "sa", "b": "x"}})
    frame = spark.createDataFrame([("1", payload)], "id STRING, data STRING")
    assert [True] * len(texts) == [with_outcomes(frame, {c: f}).first()[c] for c, f in filters.items()]


def test_what_is_made_of_elements_of_several_macros_has_no_name_in_spark() -> None:
    assert compile_filter(
        "data.a.exists(x, data.b.exists(y, cel.bind(v, data.k[x == y], v == 'q' || v == 'r')))"
    ).residual
    assert not compile_filter(
        "data.a.exists(x, x.b.exists(y, cel.bind(v, data.k[x.s == y], v == 'q' || v == 'r')))"
    ).residual


@pytest.mark.parametrize(
    "text",
    [
        "data.l.exists(x, cel.bind(v, string(x + data.n), v == 'a' || v == data.k))",  # refused where turns are counted
        "data.l.exists(i, x, string(i * 1.0) == 'a')",  # refused within a macro, of one kind of range
    ],
)
def test_a_macro_that_is_refused_leaves_nothing_behind(text: str) -> None:
    checked, _ = check_filter(text)
    assert checked is not None
    walk = Lowering(checked.checked, DEFAULT)
    with pytest.raises(NotNative):
        walk.condition(checked.checked.expr, {})
    assert (False, 0) == (walk.in_turns, walk.forks)
