"""The checker: each wrong filter has its code, its place, its message and its help."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from tricel.compiler import (
    CLOUD_EVENT,
    KAFKA_RECORD,
    MQTT_MESSAGE,
    Diagnostic,
    Environment,
    Source,
    check,
    check_filter,
    check_translation,
    cloud_event,
    errors,
    parse,
    read_manifests,
    schema_type,
)
from tricel.compiler.analysis.requirements import requirements
from tricel.compiler.celtypes import DYN
from tricel.compiler.environments.attribute_names import OWN
from tricel.compiler.environments.cloudevent import CONTEXT_ATTRIBUTES
from tricel.compiler.environments.known import BY_OPTION
from tricel.compiler.suggest import did_you_mean, followed

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
    "text",
    [
        'ce["github.repository"] == "x"',
        'ce.github.repository == "x" && "github.repository" in ce',
        'has(ce.traceparent) && ce.partitionkey == "x" && has(ce.knativearrivaltime)',
        'ce.kid == "x" && ce.uid == "x" && ce.resource == "x" && ce.sequenceid == "x" && ce.mime == "x" && ce.x2 == ""',
        'ce.extensions == "x" && ce.payload.matches("x")',
        'data.Type == "x" && data.extensions.foo == "x" && [{"Type": 1}].exists(ce, ce.Type == data.n)',
        'ce.time > timestamp("2024-01-01T00:00:00Z") - duration("24h")',
        'int(data.n) / 2 == 1 && "a,b".split(",")[1] == data.s && {"a": 1}.a == int(data.n)',
        "type(data.x) == string",
    ],
)
def test_filter_of_which_nothing_is_said(text: str) -> None:
    found, diagnostics = check_filter(text)
    assert diagnostics == ()
    assert found is not None
    assert found.diagnostics == ()


def test_names_of_attributes_in_manifests_are_looked_at_where_they_stand() -> None:
    text = dedent("""\
        apiVersion: eventing.knative.dev/v1
        kind: Trigger
        metadata: {name: t}
        spec:
          broker: default
          filters:
            - exact: {type: a, sorce: b}
            - prefix: {partionkey: p}
          subscriber: {uri: "http://x"}
        """)
    (trigger,), _ = read_manifests(Source(text, "t.yaml"))
    _, found = check_translation(trigger.translation)
    said = [(d.code, position(d), d.help) for d in found]
    assert [("TRI255", (7, 24), "did you mean 'source'?"), ("TRI255", (8, 16), "did you mean 'partitionkey'?")] == said


def test_constants_in_manifests_are_looked_at_where_they_stand() -> None:
    text = dedent("""\
        apiVersion: tricel.dev/v1alpha1
        kind: Trigger
        metadata: {name: t}
        spec:
          broker: default
          filter:
            expression: |
              ce.type == "a" &&
              ce.time > timestamp("2024-01-01")
          subscriber: {uri: "http://x"}
        """)
    (trigger,), _ = read_manifests(Source(text, "t.yaml"))
    found, said = check_translation(trigger.translation)
    assert found is None
    assert [("TRI212", (9, 17))] == [(d.code, position(d)) for d in said]


def position(d: Diagnostic) -> tuple[int, int]:
    """Where a diagnostic points in the file."""
    source, span = d.source.resolve(d.span)
    at = source.position(span.start)
    return at.line, at.column


def test_a_warning_about_a_name_is_given_once_and_an_error_at_each_place() -> None:
    _, warned = check_filter('has(ce.typ) && ce.typ == "a" || ce.typ == "b"')
    _, refused = check_filter('has(ce.Type) && ce.Type == "a"')
    assert ["TRI255"] == [d.code for d in warned]
    assert ["TRI211", "TRI211"] == [d.code for d in refused]


def test_few_constants_are_evaluated() -> None:
    text = " || ".join(f'ce.time > timestamp("{n}")' for n in range(1_000))
    _, found = check_filter(text)
    assert 90 <= len(found) <= 100


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


def test_what_may_be_missing_is_no_tautology() -> None:
    """Every record has a topic; a policy is a column that a table may hold NULL in."""
    codes = {}
    for name in ("topic", "policy"):
        filter_, _ = check_filter(f'{name} == "a" || {name} != "a"', KAFKA_RECORD)
        assert filter_ is not None
        codes[name] = [d.code for d in filter_.diagnostics]
    assert {"topic": ["TRI252"], "policy": []} == codes


def test_the_names_of_attributes_are_those_of_the_record() -> None:
    assert OWN == {name for name, _ in CONTEXT_ATTRIBUTES.fields}
    assert ("ce", "", "") == (CLOUD_EVENT.record, KAFKA_RECORD.record, MQTT_MESSAGE.record)


@pytest.mark.parametrize("environment", BY_OPTION.values(), ids=lambda e: e.name)
def test_each_name_of_an_environment_is_described_and_has_a_place(environment: Environment) -> None:
    roots = [name for name, _ in environment.roots]
    assert roots == [name for name, _ in environment.docs]
    assert all(text.endswith(".") for _, text in environment.docs)
    assert set(roots) >= {name for name, _ in environment.storage}
    assert {name.partition(".")[0] for name in environment.words.aliases.values()} <= set(roots)
    assert not set(roots) & set(environment.words.aliases)


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


def test_what_follows_a_question_is_a_sentence() -> None:
    question = did_you_mean("a")
    assert "did you mean 'a'? The columns are 'b'" == followed(question, "the columns are 'b'")
    assert "cast it; the columns are 'b'" == followed("cast it", "the columns are 'b'")
    assert [question, "it is b", ""] == [followed(question, ""), followed("", "it is b"), followed("", "")]
