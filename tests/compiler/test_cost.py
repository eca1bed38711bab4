"""The cost bound: ordinary filters pass, exponential ones are refused, and no evaluation takes more than estimated."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tricel.compiler import CLOUD_EVENT, check_filter, cloud_event, schema_type
from tricel.compiler.analysis.cost import _Run, estimate
from tricel.compiler.check import check
from tricel.compiler.functions import ALL, Steps
from tricel.compiler.interpreter import CelError, evaluator
from tricel.compiler.interpreter.frame import Frame
from tricel.compiler.limits import DEFAULT
from tricel.compiler.nodes import renumber
from tricel.compiler.parse import parse
from tricel.compiler.source import Source
from tricel.compiler.values.cel import Value

from tricel import CompileError, Limits, compile_filter

ORDINARY = (
    "true",
    'ce.type == "a" && ce.source.startsWith("/b") && ce.subject.matches("^[a-z]+(/[0-9]+)*$")',
    'data.items.exists(i, i.price > 10.0 && i.name.matches("^[a-z]+(foo|bar)[0-9]{2,}$") && i.state == "open")',
    "data.x.exists(i, data.y.exists(j, i.sku == j.sku))",
    'data.x.exists(i, data.y.exists(j, i.sku == j.sku && j.name.matches("^[a-z]+(foo|bar)baz$")))',
    "data.x.exists(i, data.y.exists(j, i.name.contains(j.name)))",
    "data.orders.exists(o, o.lines.exists(l, l.parts.exists(p, p.id == 1)))",
    "data.a.contains(data.b) && data.a.matches(data.pattern) && data.a == data.b",
    "data.x.filter(i, i.p > 1).map(i, i.q).exists(q, q == 1)",
    'data.items.map(i, data.prefix + i).exists(x, x == "ab")',
    "data.x.map(i, data.x.map(j, j == i).exists(b, b)).all(b, b)",
    "data.x.exists(i, data.y.exists(j, (i.p * 2.0 - j.p) / 3.0 > 1.0))",
    'data.s.split(",").map(p, p.trim().lowerAscii()).exists(p, p == "a")',
    'regex.replace(data.s, "a+", "b").startsWith("b") && data.s.replace("a", "b") == "b"',
    'data.?x.orValue("a") == "a" && math.greatest(data.n, 1.0) > 2.0 && ce.time.getHours("Europe/Berlin") > 8',
    'data.tags.join(",").contains("a,b") && "%s-%d".format([ce.id, 1]) == "a-1" && sets.intersects(data.l, [1, 2])',
    "data.x in [" + ", ".join(map(str, range(5000))) + "]",
)


def doubled(times: int) -> str:
    return '["x"]' + ".map(a, a + a)" * times + '[0] == "y"'


def nested(levels: int) -> str:
    text = 'data.x == "y"'
    for level in range(levels):
        text = f"[1, 2, 3].all(v{level}, {text})"
    return text


def bound(levels: int) -> str:
    text = "size(v) > 3"
    for _ in range(levels):
        text = f"cel.bind(v, v + v, {text})"
    return f"cel.bind(v, data.x, {text})"


REFUSED = (
    ("data.x.exists(i, data.y.exists(j, data.z.exists(k, i + j == k)))", "steps"),
    ("data.x.exists(i, data.y.exists(j, data.z.exists(k, k)))", "steps"),
    (doubled(40), "steps"),
    (doubled(28), "characters"),
    (nested(30), "steps"),
    (bound(30), "steps"),
    (bound(13), "characters"),
    ("data.x.map(i, data.y.map(j, i + j)).size() > 3", "characters"),
    ("data.x" + ".map(a, data.x.map(b, [a, b]))" * 2 + ".size() == 3", "characters"),
)


@pytest.mark.parametrize("text", ORDINARY, ids=lambda text: text[:60])
def test_ordinary_filters_pass(text: str) -> None:
    checked, diagnostics = check_filter(text)
    assert checked is not None, diagnostics


@pytest.mark.parametrize(("text", "what"), REFUSED, ids=lambda text: text[:60])
def test_costly_filters_are_refused(text: str, what: str) -> None:
    checked, diagnostics = check_filter(text)
    assert checked is None
    assert ["TRI210"] == [d.code for d in diagnostics]
    assert what in diagnostics[0].message
    assert diagnostics[0].help


@pytest.mark.parametrize(
    ("text", "dearest"),
    [
        (
            'ce.type == "a" && data.x.exists(i, data.y.exists(j, data.z.exists(k, i == k)))',
            "data.x.exists(i, data.y.exists(j, data.z.exists(k, i == k)))",
        ),
        ("!(data.l.exists(i, i.all(j, data.l.all(k, k == j))) && size(data.x) > 1)",) * 2,
    ],
)
def test_the_diagnostic_points_at_the_dearest_part(text: str, dearest: str) -> None:
    _, (problem,) = check_filter(text, limits=Limits(cost=1_000_000))
    expected = dearest.removeprefix("!(").removesuffix(" && size(data.x) > 1)")
    assert expected == text[problem.span.start : problem.span.end]
    assert f"the limit is {1_000_000:,}" in problem.message


@pytest.mark.parametrize(
    ("text", "hint"), [("data.a.all(x, x > 1.0)", "comprehensions"), ('data.a.contains("b")', "shorter values")]
)
def test_the_hint_is_about_what_costs(text: str, hint: str) -> None:
    _, (problem,) = check_filter(text, limits=Limits(cost=10))
    assert hint in problem.help


def test_declared_sizes_are_shared_too() -> None:
    environment = cloud_event(schema_type({"orders": [{"lines": [{"sku": "string"}]}]}))
    checked, diagnostics = check_filter('data.orders.exists(o, o.lines.exists(l, l.sku == "x"))', environment)
    assert checked is not None, diagnostics
    text = "data.orders.exists(a, data.orders.exists(b, data.orders.exists(c, a == b && b == c)))"
    assert ["TRI210"] == [d.code for d in check_filter(text, environment)[1]]


def test_limits_are_a_choice() -> None:
    text = "data.x.exists(i, i.p == 1)"
    assert check_filter(text, limits=Limits(cost=1000))[0] is None
    assert check_filter(text, limits=Limits(cost=1000, assumed_items=50))[0] is not None
    with pytest.raises(CompileError, match="TRI210"):
        compile_filter(text, limits=Limits(cost=1000))
    assert compile_filter(text).checked.cel == text


@pytest.mark.parametrize(
    ("text", "limits", "message"),
    [
        ('data.x == "aaaaaaaaaa"', Limits(text=20), "22 characters"),
        ("data.x == 1 && data.y == 2", Limits(nodes=5), "more than 5 parts"),
        ("data.a.b.c.d == 1", Limits(depth=4), "deeper than 4 levels"),
        ("data.x in [1, 2, 3, 4]", Limits(items=3), "4 items"),
        ('data.x == {"a": 1, "b": 2}', Limits(items=1), "2 items"),
    ],
)
def test_sizes_are_limited(text: str, limits: Limits, message: str) -> None:
    checked, diagnostics = check_filter(text, limits=limits)
    assert checked is None
    assert ["TRI102"] == [d.code for d in diagnostics]
    assert message in diagnostics[0].message
    assert check_filter(text)[0] is not None


def doubling(name: str, leaf: str, levels: int) -> str:
    """Variables, each of which holds the one before twice: as key and as value."""
    made = "".join(f"cel.bind({name}{i}, {{{name}{i - 1}: {name}{i - 1}}}, " for i in range(1, levels))
    return f"cel.bind({name}0, {leaf}, {made}"


@pytest.mark.parametrize("leaf", ['"a"', '"ab"', '{"a": 1}', "data.x", "[data.x]"])
def test_values_that_hold_others_many_times_are_measured_once(leaf: str) -> None:
    text = doubling("v", '"a"', 45) + doubling("w", leaf, 45) + "(data.y ? v44 : w44) == data.z" + ")" * 90
    started = time.process_time()
    check_filter(text, limits=Limits(cost=10**19, built=10**19))
    assert time.process_time() - started < 5


def test_every_function_has_its_cost() -> None:
    assert [] == [row.id for row in ALL if row.steps is Steps.UNKNOWN]


def test_one_more_level_costs_its_factor() -> None:
    costs = []
    for levels in (1, 2, 3):
        checked, _ = check_filter(nested(levels))
        assert checked is not None
        costs.append(estimate(checked.checked).cost.max)
    assert costs[1] > 2.5 * costs[0]
    assert costs[2] > 2.5 * costs[1]


LISTS = st.recursive(
    st.sampled_from(
        ("data.x", "data.y", "[1, 2, 3]", '["a", "bc"]', "data.x + data.y", '"a-b-c".split("-")', "data.x.reverse()")
    ),
    lambda inner: st.one_of(
        inner.map(lambda r: f"{r}.map(v, [v, v])"),
        inner.map(lambda r: f"{r}.filter(v, v != 1)"),
        inner.map(lambda r: f"{r}.map(v, v == 2, v)"),
        st.tuples(inner, inner).map(lambda p: f"{p[0]}.map(a, {p[1]}.map(b, [a, b]))"),
        inner.map(lambda r: f"cel.bind(w, {r}, w + w)"),
        inner.map(lambda r: f"[{r}, {r}]"),
        st.tuples(inner, inner).map(lambda p: "(true ? {} : {})".format(*p)),
    ),
    max_leaves=5,
)
FILTERS = st.one_of(
    LISTS.map(lambda r: f"{r}.exists(e, e == 99)"),
    LISTS.map(lambda r: f"size({r}) > 1"),
    st.tuples(LISTS, LISTS).map(lambda p: "{}.all(e, {}.exists(f, e == f || e != f))".format(*p)),
    st.tuples(LISTS, LISTS).map(lambda p: "{} == {} || {}.exists_one(e, e == 1)".format(*p, p[0])),
)
DATA: tuple[Value, ...] = (
    {"x": [1.0, 2.0, "a"], "y": ["b", [1.0, 2.0], None, "c"]},
    {"x": list("abcdefghij"), "y": [float(n) for n in range(10)]},
    {"x": [], "y": []},
)


def size_of(value: Value) -> int:
    """Characters and parts, counted as the estimate counts them."""
    if isinstance(value, str):
        return len(value)
    return len(value) + sum(map(size_of, value)) if isinstance(value, list) else 1


@settings(max_examples=200, deadline=None, derandomize=True)
@given(FILTERS)
def test_no_evaluation_takes_more_steps_than_estimated(text: str) -> None:
    checked, _ = check_filter(text, limits=Limits(cost=10**30, built=10**30))
    if checked is None:  # one of the functions is not known to this version
        return
    small = replace(DEFAULT, assumed_payload=400, assumed_items=10)
    estimated = estimate(checked.checked, small).cost.max
    run = evaluator(checked.checked.expr)
    for data in DATA:
        frame = Frame({"ce": {}, "data": data}, [None] * run.variables, 10**9)
        try:
            run.run(frame)
        except CelError:
            continue
        assert 10**9 - frame.steps <= estimated, (text, data)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(LISTS)
def test_no_value_is_larger_than_estimated(text: str) -> None:
    source = Source(text)
    parsed, _ = parse(source)
    assert parsed is not None
    checked = check(renumber(parsed), CLOUD_EVENT, source)
    small = replace(DEFAULT, assumed_payload=400, assumed_items=10)
    _, extent = _Run(checked.types, CLOUD_EVENT.root, small).visit(checked.expr, {})
    for data in DATA:
        try:
            found = evaluator(checked.expr)({"ce": {}, "data": data})
        except CelError:
            continue
        assert len(found) <= extent.count, (text, data)
        assert size_of(found) <= extent.weight, (text, data)
