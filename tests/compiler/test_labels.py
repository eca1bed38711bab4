"""A label selector means to an event's attributes what it means to a Kubernetes object's labels."""

from __future__ import annotations

import random
import re
from functools import cache
from typing import Any

import pytest
from cel_expr_python import cel
from conftest import conformance
from tricel.compiler import Diagnostic, check_filter, parse
from tricel.compiler.dialects import BY_NAME
from tricel.compiler.dialects.label_selector_cel import WHOLE_NUMBER
from tricel.compiler.interpreter import evaluator
from tricel.compiler.source import Source

from tricel import compile_filter

ROW = BY_NAME["labels"]


@cache
def environment() -> Any:
    return cel.NewEnv(variables={"ce": cel.Type.Map(cel.Type.STRING, cel.Type.STRING)})


def found(selector: object) -> tuple[Diagnostic, ...]:
    return check_filter(selector, dialect="labels")[1]  # type: ignore[arg-type]


def passes(selector: object, labels: dict[str, str]) -> bool:
    """Whether labels pass, as the attributes of an event; an error is no match."""
    checked, problems = check_filter(selector, dialect="labels")  # type: ignore[arg-type]
    assert checked is not None, problems
    result = environment().compile(checked.cel).eval(data={"ce": labels})
    return bool(result.type() == cel.Type.BOOL and result.value())


CASES = conformance("k8s_label_selector_cases.json")


@pytest.mark.parametrize("case", CASES["match"], ids=lambda case: case["selector"])
def test_published_matches(case: dict[str, Any]) -> None:
    assert case["match"] == passes(case["selector"], case["labels"])


@pytest.mark.parametrize("selector", CASES["parse_ok"])
def test_published_selectors_are_read(selector: str) -> None:
    assert [] == [d.code for d in found(selector) if d.severity == "error"]


@pytest.mark.parametrize("selector", CASES["parse_error"])
def test_published_mistakes_are_refused(selector: str) -> None:
    assert [("TRI349", True)] == [(d.code, bool(d.span.end or d.message)) for d in found(selector)]


def kubernetes(key: str, operator: str, values: list[str], labels: dict[str, str]) -> bool:
    """What Kubernetes documents of one requirement."""
    has, value = key in labels, labels.get(key, "")
    match operator:
        case "in":
            return has and value in values
        case "notin":
            return not has or value not in values
        case "exists":
            return has
        case "!":
            return not has
        case _:
            if not has or not re.fullmatch("[-+]?[0-9]+", value) or not -(2**63) <= int(value) < 2**63:
                return False
            return int(value) > int(values[0]) if operator == ">" else int(value) < int(values[0])


def written(key: str, operator: str, values: list[str]) -> str:
    match operator:
        case "in" | "notin" if len(values) == 1 and values[0]:
            return f"{key}{'=' if operator == 'in' else '!='}{values[0]}"
        case "in" | "notin":
            return f"{key} {operator} ({','.join(values)})"
        case "exists":
            return key
        case "!":
            return f"!{key}"
        case _:
            return f"{key}{operator}{values[0]}"


def test_random_selectors_pass_what_kubernetes_passes() -> None:
    chosen = random.Random(7)
    keys = ["env", "app.kubernetes.io/name", "in", "x-y"]
    texts = ["", "a", "b", "notin", "5", "12", "007"]
    signed = ["-3", "+6", "4.5", "99999999999999999999", "9223372036854775807"]
    passed = 0
    for _ in range(600):
        asked = []
        for _ in range(chosen.randint(1, 3)):
            operator = chosen.choice(["in", "notin", "exists", "!", ">", "<"])
            values = (
                [chosen.choice(["0", "5", "12"])] if operator in "<>" else chosen.sample(texts, chosen.randint(1, 3))
            )
            asked.append((chosen.choice(keys), operator, values))
        selector = ",".join(written(*one) for one in asked)
        labels = {key: chosen.choice(texts + signed) for key in keys if chosen.random() < 0.7}
        expected = all(kubernetes(*one, labels) for one in asked)
        assert expected == passes(selector, labels), (selector, labels)
        passed += expected
    assert 50 < passed < 550


MAP = "type(data) == map && has(data.m) && type(data.m) == map"
PATH = "data.metadata.labels"


def passes_in_data(selector: str, data: object) -> bool:
    """Whether the labels of a Kubernetes object pass, as the payload of an event. An error fails the test."""
    checked, problems = check_filter({"path": PATH, "selector": selector}, dialect="labels")
    assert checked is not None, problems
    found = evaluator(checked.checked.expr)({"ce": {}, "data": data})  # type: ignore[dict-item]
    assert isinstance(found, bool)
    return found


@pytest.mark.parametrize("case", CASES["match"], ids=lambda case: case["selector"])
def test_published_matches_of_a_map_in_data(case: dict[str, Any]) -> None:
    assert case["match"] == passes_in_data(case["selector"], {"metadata": {"labels": case["labels"]}})


@pytest.mark.parametrize("selector", CASES["parse_ok"])
def test_published_selectors_are_read_of_a_map_in_data(selector: str) -> None:
    assert () == found({"path": PATH, "selector": selector})


@pytest.mark.parametrize("selector", CASES["parse_error"])
def test_published_mistakes_are_refused_of_a_map_in_data(selector: str) -> None:
    assert ["TRI349"] == [d.code for d in found({"path": PATH, "selector": selector})]


WITHOUT_LABELS: list[Any] = [
    *(None, True, 5.0, "a", "", [], ["a"], [{"metadata": {"labels": {"a": "b"}}}], {}, {"a": "b"}),
    *({"metadata": metadata} for metadata in (None, "labels", 1.0, [], ["labels"], {}, {"a": "b"})),
    *({"metadata": {"labels": labels}} for labels in (None, "a", 1.0, False, [], ["a"], [{"a": "b"}], {})),
]


def test_random_selectors_of_a_map_in_data_pass_what_kubernetes_passes() -> None:
    chosen = random.Random(13)
    keys = ["env", "app.kubernetes.io/name", "in", "x-y", "data", "time", "metadata"]
    texts = ["", "a", "b", "notin", "5", "12", "007"]
    odd = ["-3", "+6", "4.5", "99999999999999999999", "9223372036854775807", None, 5.0, True, [], ["a"], {}, {"a": "b"}]
    passed = 0
    for _ in range(600):
        asked = []
        for _ in range(chosen.randint(1, 3)):
            operator = chosen.choice(["in", "notin", "exists", "!", ">", "<"])
            values = (
                [chosen.choice(["0", "5", "12"])] if operator in "<>" else chosen.sample(texts, chosen.randint(1, 3))
            )
            asked.append((chosen.choice(keys), operator, values))
        selector = ",".join(written(*one) for one in asked)
        labels = {key: chosen.choice(texts + odd) for key in keys if chosen.random() < 0.7}
        # Go reads null as the empty text. What no text is written as stands here for a value of another type.
        known = {k: "" if v is None else v if isinstance(v, str) else "no text" for k, v in labels.items()}
        expected = all(kubernetes(*one, known) for one in asked)
        assert expected == passes_in_data(selector, {"metadata": {"labels": labels}}), (selector, labels)
        nothing = all(kubernetes(*one, {}) for one in asked)
        for data in chosen.sample(WITHOUT_LABELS, 5):
            assert nothing == passes_in_data(selector, data), (selector, data)
        passed += expected
    assert 50 < passed < 550


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        *((sign + "0" * zeros + str(number), True) for sign in ("", "+") for zeros in (0, 1, 60) for number in (0, 7, 10**17, 10**18, 2**63 - 1)),
        *(("-" + "0" * zeros + str(number), True) for zeros in (0, 40) for number in (0, 9, 10**18, 2**63 - 1, 2**63)),
        *((sign + "0" * zeros + str(number), False) for sign in ("", "+") for zeros in (0, 40) for number in (2**63, 2**63 + 1, 10**19)),
        *((f"-{number}", False) for number in (2**63 + 1, 10**19, 10**30)),
        *((text, False) for text in ("", "-", "+", "+-1", "--1", "1.0", "0x1", " 1", "1 ", "1\n", "1e3", "١")),
    ],
)  # fmt: skip
def test_what_is_compared_as_a_number(text: str, fits: bool) -> None:
    """What is no number of 64 bits is on neither side of any, and is no error."""
    assert fits == (passes("a>5", {"a": text}) or passes("a<6", {"a": text}))
    checked, _ = check_filter("a<9223372036854775807,a>0", dialect="labels")
    assert checked is not None
    value = fits and 0 < int(text) < 2**63 - 1
    assert value == evaluator(checked.checked.expr)({"ce": {"a": text}, "data": None})


def test_numbers_near_the_largest_are_compared_as_they_are() -> None:
    chosen = random.Random(17)
    top = 2**63 - 1
    for _ in range(400):
        number = chosen.choice(
            [top - chosen.randint(-600, 600), -top - 1 + chosen.randint(-600, 600), chosen.randint(-(10**20), 10**20)]
        )
        limit = max(0, min(top, abs(number) + chosen.randint(-3, 3)))
        for operator in "<>":
            assert kubernetes("a", operator, [str(limit)], {"a": str(number)}) == passes(
                f"a{operator}{limit}", {"a": str(number)}
            )


def test_what_an_object_passes() -> None:
    selector = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "NotIn", "values": ["d"]}]}
    assert passes(selector, {"a": "b"})
    assert passes(selector, {"a": "b", "c": "e"})
    assert not passes(selector, {"a": "b", "c": "d"})
    assert not passes(selector, {})


@pytest.mark.parametrize(
    ("cel_text", "selector"),
    [
        ('has(ce.a) && ce.a == "b" && has(ce.c)', "a=b,c"),
        ('ce.type == "t" && !has(ce.c)', "type=t,!c"),
        ('!(has(ce.a) && ce.a in ["b", "c"])', "a notin (b,c)"),
        ('!(has(ce.a) && ce.a == "")', "a!="),
        ('has(ce.a) && ce.a in ["", "c"]', "a in (,c)"),
        (f'has(ce.a) && ce.a.matches("{WHOLE_NUMBER}") && int(ce.a) < 5', "a<5"),
        ('has(ce.a) && ce.a.matches("^[-+]?[0-9]+$") && int(ce.a) < 5', None),
        ("true", ""),
        ('ce.a == "b"', None),
        ('has(ce.a) && ce.b == "c"', None),
        ('has(ce.a) && ce.a == "b c"', None),
        ('has(ce.a) && ce.a in ["c", "b"]', None),
        ("has(ce.a) && int(ce.a) < 5", None),
        (f'has(ce.a) && ce.b.matches("{WHOLE_NUMBER}") && int(ce.a) < 5', None),
        (f'has(ce.a) && ce.a.matches("{WHOLE_NUMBER}") && int(ce.a) < -5', None),
        (f'{MAP} && has(data.m.a) && data.m.a == "b"', {"path": "data.m", "selector": "a=b"}),
        (f'{MAP} && has(data.m.a) && data.m.a in ["", "b", null]', {"path": "data.m", "selector": "a in (,b)"}),
        (
            f'{MAP} && has(data.m.a) && data.m.a in ["", null] && !has(data.m.b)',
            {"path": "data.m", "selector": "a=,!b"},
        ),
        (f'!({MAP} && (has(data.m.a) || "x-y" in data.m))', {"path": "data.m", "selector": "!a,!x-y"}),
        (f'!({MAP} && has(data.m.a) && data.m.a == "b")', {"path": "data.m", "selector": "a!=b"}),
        (
            f'{MAP} && has(data.m.a) && type(data.m.a) == string && data.m.a.matches("{WHOLE_NUMBER}") && int(data.m.a) > 5',
            {"path": "data.m", "selector": "a>5"},
        ),
        (f'{MAP} && has(data.m.a) && data.m.a in ["", "b"]', None),
        (f'{MAP} && has(data.n.a) && data.n.a == "b"', None),
        (f'{MAP} && has(data.m.a) && data.m.a == "b" && has(ce.a)', None),
        ('type(data) == map && has(data.m) && has(data.m.a) && data.m.a == "b"', None),
        (MAP, None),
        ('has(data.m.a) && data.m.a == "b"', None),
        ('!(has(ce.a) || ce.type == "t")', None),
        ("data.x > 1.0", None),
    ],
)
def test_cel_as_a_selector(cel_text: str, selector: str | None) -> None:
    expr, problems = parse(Source(cel_text))
    assert expr is not None, problems
    assert ROW.from_cel is not None
    assert selector == ROW.from_cel(expr)


def test_what_is_wrong_has_its_place() -> None:
    text = "a=b,\n  c in (d, _e)"
    (problem,) = found(text)
    assert "_e" == text[problem.span.start : problem.span.end]
    assert (2, 12) == (
        problem.source.position(problem.span.start).line,
        problem.source.position(problem.span.start).column,
    )
    (problem,) = found("matchExpressions:\n- {key: a, operator: Exist, values: [b]}")
    assert (problem.help, problem.source.position(problem.span.start).line) == ("did you mean 'Exists'?", 2)


def test_a_selector_runs_on_spark_without_a_fallback() -> None:
    compiled = compile_filter("env in (a,b), tier notin (x), !c, d, app.io/e=f, n > 5", dialect="labels")
    assert [] == [conjunct.reason for conjunct in compiled.residual]


def test_a_long_selector_is_read_in_a_moment() -> None:
    assert [] == [d.code for d in found(",".join(f"k{i} in (a,b,c)" for i in range(2_000))) if d.severity == "error"]
    assert ["TRI349"] == [d.code for d in found("a in (" + "," * 50_000)]


def test_no_text_makes_the_reader_raise() -> None:
    chosen = random.Random(11)
    parts = ["a", "b-", "in", "notin", "x.y/z", "5", "=", "==", "!", "!=", "(", ")", ",", "<", ">", " ", "\t", "\n", "{", ":", "\0", "\ud800", "é", '"']  # fmt: skip
    read = 0
    for _ in range(3_000):
        text = "".join(chosen.choices(parts, k=chosen.randint(1, 9)))
        checked, problems = check_filter(text, dialect="labels")
        assert (checked is None) == any(d.severity == "error" for d in problems), text
        assert "TRI901" not in {d.code for d in problems}, text
        if checked is not None and ROW.from_cel is not None:
            again = ROW.from_cel(checked.checked.expr)
            assert isinstance(again, str) or "false" in checked.cel, text
            read += 1
    assert read > 100


def test_a_name_that_is_nearly_the_dialect() -> None:
    with pytest.raises(ValueError, match="no dialect 'label': did you mean 'labels'"):
        compile_filter("a=b", dialect="label")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("matchLabels:app=web", "TRI310"),
        ("matchExpressions:[]", "TRI310"),
        ("{a, b", "TRI301"),
        ("matchLabels: {1: b}", "TRI303"),
        ("matchLabels: {true: b}", "TRI303"),
        ("matchLabels: {<<: {a: b}}", "TRI304"),
        ('{"matchLabels": {"a": "b"}, "matchLabels": {"c": "d"}}', "TRI302"),
        ("{matchLabels: {a: b, a: c}}", "TRI302"),
    ],
)
def test_a_selector_that_is_written_wrong_is_no_selector_of_all(text: str, code: str) -> None:
    checked, diagnostics = check_filter(text, dialect="labels")
    assert checked is None
    assert code in {d.code for d in diagnostics}
