"""The checker: each wrong filter has its code, its place, its message and its help."""

from __future__ import annotations

from pathlib import Path

import pytest
from tricel.compiler import (
    CLOUD_EVENT,
    KAFKA_RECORD,
    MQTT_MESSAGE,
    Source,
    check,
    check_filter,
    cloud_event,
    errors,
    parse,
    schema_type,
)
from tricel.compiler.celtypes import DYN
from tricel.compiler.requirements import requirements

CASES = Path(__file__).parent.parent / "cases" / "check"


def _rows(name: str) -> list[list[str]]:
    lines = [line for line in (CASES / name).read_text().splitlines() if line and not line.startswith("#")]
    return [[part.strip() for part in line.split(" | ")] + [""] * (5 - len(line.split(" | "))) for line in lines]


@pytest.mark.parametrize(("text", "code", "place", "message", "help_"), _rows("errors.txt"), ids=lambda x: x[:40])
def test_wrong_filter(text: str, code: str, place: str, message: str, help_: str) -> None:
    _, diagnostics = check_filter(text)
    found = [d for d in diagnostics if d.code == code]
    assert found, [(d.code, d.message) for d in diagnostics]
    first = found[0]
    position = first.source.position(first.span.start)
    assert place == f"{position.line}:{position.column}"
    assert message.removesuffix(" |") in first.message
    assert help_.removesuffix(" |") in first.help


def test_every_problem_is_reported_at_once() -> None:
    _, diagnostics = check_filter('user.id == 1 && ce.type.startWith("x") && data.n + 1 == 2.0 && ce.type.matches("(")')
    assert ["TRI201", "TRI203", "TRI204", "TRI208"] == sorted(d.code for d in diagnostics)


@pytest.mark.parametrize(
    "text",
    [
        "data",
        "data.x",
        "data.a.b.c[0].d > 1",
        "data.latency > 300 || data.latency > 300.0",
        'ce["a.b"] == "x"',
        'ce.github.repository == "x"',
        'has(ce.subject) && ce.subject.startsWith("x")',
        'ce.time > timestamp("2020-01-01T00:00:00Z")',
        "size(ce) > 3",
        'ce.exists(k, k == "subject")',
        "int(data.n) + 1 == 2",
        'data.tags.map(t, t + "x").exists(t, t == "ax")',
        "type(data.x) == string",
        '{"a": true}.a',
        "[1, 2.0].exists(x, x == 1)",
        "ce.time.getHours() < 8",
        "data.x ? data.y : true",
    ],
)
def test_good_filter(text: str) -> None:
    checked, diagnostics = check_filter(text)
    assert errors(diagnostics) == ()
    assert checked is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # what is empty holds values of any type
        ("[]", "list(dyn)"),
        ("{}", "map(dyn, dyn)"),
        ("optional.none()", "optional_type(dyn)"),
        ("[[], [1]]", "list(list(int))"),
        ("[{'a': []}, {'a': [1]}]", "list(map(string, list(int)))"),
        ("[[[[]]], [], [[]]]", "list(list(list(list(dyn))))"),
        ("[] + [1]", "list(int)"),
        ("true ? {} : {'a': 1}", "map(string, int)"),
        ("[optional.none(), optional.of(1)]", "list(optional_type(int))"),
        ("[[].first(), [1].first()]", "list(optional_type(int))"),
        ("cel.bind(x, [], [x, ['a']])", "list(list(string))"),
        ("[][0]", "dyn"),
        ("[][0].a + 1", "int"),
        ("{}.?a.b.c", "optional_type(dyn)"),
        ("{}.exists(k, k.a == 1)", "bool"),
        # lists of different types have no list in common, dynamic ones have
        ("[1, 'a']", "list(dyn)"),
        ("[[1], ['a']]", "list(dyn)"),
        ("[{1: 1}, {'a': 1}]", "list(dyn)"),
        ("[optional.of(1), optional.of('a')]", "list(dyn)"),
        ("[[1], [dyn(1)]]", "list(list(dyn))"),
        ("[[1], ['a'], [dyn(1)]]", "list(list(dyn))"),
        ("true ? [dyn(1)] : [1]", "list(dyn)"),
        ("[data.a, 'x', 1.0, null]", "list(json)"),
        ("[data.a, 1]", "list(dyn)"),
    ],
)
def test_deduced_type(text: str, expected: str) -> None:
    source = Source(text)
    expr, diagnostics = parse(source)
    assert diagnostics == ()
    assert expr is not None
    checked = check(expr, CLOUD_EVENT, source, DYN)
    assert errors(checked.diagnostics) == ()
    assert expected == str(checked.type_of(expr))


def test_a_declared_schema_is_checked() -> None:
    environment = cloud_event(schema_type({"n": "int", "order": {"lines": [{"sku": "string"}]}}))
    good, _ = check_filter('data.n + 1 == 2 && data.order.lines.exists(l, l.sku == "x")', environment)
    _, wrong = check_filter('data.order.line.exists(l, l.sku == "x")', environment)
    assert good is not None
    assert ["TRI202"] == [d.code for d in wrong]
    assert "did you mean 'lines'?" == wrong[0].help


@pytest.mark.parametrize(
    ("environment", "text"),
    [
        (KAFKA_RECORD, 'topic == "orders" && headers["trace"] == "1" && value.total > 5.0 && partition < 3'),
        (MQTT_MESSAGE, 'topic.startsWith("plant/") && payload.t > 20.0 && qos == 1 && !retain'),
    ],
)
def test_other_environments_are_data(environment: object, text: str) -> None:
    checked, diagnostics = check_filter(text, environment)  # type: ignore[arg-type]
    assert diagnostics == ()
    assert checked is not None


@pytest.mark.parametrize(
    ("text", "attributes", "paths", "whole"),
    [
        ('ce.type == "a" && has(ce.x)', {"type", "x"}, set(), set()),
        ("data.a.b[0] > 1.0 && data.c", set(), {("data", "a", "b", 0), ("data", "c")}, set()),
        ("size(ce) > 1 && data == 1", set(), {("data",)}, {"ce", "data"}),
        ("data.l.exists(data, data.x == 1)", set(), {("data", "l")}, set()),
        ('"x" in ce && ce.a.b == 1', {"x", "a"}, set(), set()),
        ('ce.?x.hasValue() && data.?a.b[?"c"][0].hasValue()', {"x"}, {("data", "a", "b", "c", 0)}, set()),
        ("data.?a.orValue({}).?b.hasValue() && ce[?data.k].hasValue()", set(), {("data", "a"), ("data", "k")}, {"ce"}),
    ],
)
def test_requirements(text: str, attributes: set[str], paths: set[tuple[object, ...]], whole: set[str]) -> None:
    checked, _ = check_filter(text)
    assert checked is not None
    found = requirements((checked.checked.expr,), CLOUD_EVENT)
    assert attributes == found.attributes
    assert paths == found.paths
    assert whole == found.whole


@pytest.mark.parametrize("tail", ["size({}) == 1", "{} == 1", "{} + 1 == 2", "size([{}, {}]) == 1"])
def test_types_that_hold_one_another_twice_are_not_walked_out(tail: str) -> None:
    """Each level would double the work, and there are forty."""
    levels = [f"cel.bind(v{i}, {{'a': v{i - 1}, 'b': v{i - 1}}}, " for i in range(1, 41)]
    text = f"cel.bind(v0, 1, {''.join(levels)}{tail.format('v40', 'v39')}" + ")" * 41
    _, diagnostics = check_filter(text)
    assert {d.code for d in diagnostics} <= {"TRI204", "TRI210", "TRI250"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a" * 90_000 + " == ==", "TRI101"),
        ("1 1 '" + "\\'" * 45_000, "TRI101"),
        ("ce.id.matches('" + "(" * 90_000 + "')", "TRI208"),
    ],
    ids=["name", "quotes", "pattern"],
)
def test_long_mistakes_are_found_in_one_go(text: str, code: str) -> None:
    _, diagnostics = check_filter(text)
    assert [code] == [d.code for d in diagnostics]
