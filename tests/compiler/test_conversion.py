"""Filters in another dialect mean what they meant, and what cannot be said is pointed at."""

from __future__ import annotations

import itertools
from dataclasses import replace
from random import Random
from typing import cast

import pytest
import yaml
from conftest import REPOSITORY
from hypothesis import given, settings
from hypothesis import strategies as st
from random_cel import DYNAMIC, filters
from tricel.compiler import CompileError, check_filter, convert, errors, parse, unparse
from tricel.compiler.conversion.convert import unequal
from tricel.compiler.conversion.forms import forms, normal
from tricel.compiler.conversion.said import said
from tricel.compiler.dialects import BY_NAME, DIALECTS
from tricel.compiler.dialects.given import place_of
from tricel.compiler.dialects.model import LAST
from tricel.compiler.interpreter import CelError, evaluate
from tricel.compiler.nodes import Expr
from tricel.compiler.source import Source
from tricel.compiler.values.cel import Timestamp, Value

import tricel

WRITTEN = tuple(row for row in DIALECTS if row.from_cel is not None)
_TEXTS = ("a", "ab", "b", "5")
_ABSENT = object()
EVENTS: tuple[dict[str, Value], ...] = tuple(
    {
        "ce": {"id": "1", "source": source, "type": type_, **{k: v for k, v in (("x", x), ("y", y)) if v is not _ABSENT}},
        "data": data,
    }
    for type_, source, x, y, data in (
        *itertools.product(("a", "ab", "b"), ("a", "5"), (_ABSENT, "", "a", "ab", "5"), (_ABSENT, "b"), ({},)),
        *(("a", "b", "a", "b", data) for data in ({"x": 1.0}, {"x": "a"}, {"x": True}, {"x": ["a"]}, None, "a")),
    )
)  # fmt: skip


_MORE: dict[str, Value] = {"time": Timestamp(0), "subject": "a"}


def parsed(text: str) -> Expr:
    expr, found = parse(Source(text))
    assert expr is not None, found
    return expr


def outcome(e: Expr, event: dict[str, Value]) -> object:
    """What a filter comes to: true, false, or an error, as no bool is one."""
    try:
        value = evaluate(e, event)
    except CelError:
        return "error"
    return value if isinstance(value, bool) else "error"


def same_on(first: Expr, second: Expr, events: tuple[dict[str, Value], ...] = EVENTS) -> None:
    for event in events:
        assert outcome(first, event) == outcome(second, event), (unparse(first), unparse(second), event)


class _Logic:
    """Random logic over tests of attributes, in the many ways that people write them."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def make(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.2:
            return self.guarded(self.random.choice(("type", "source", "x", "y")))
        inner = [self.make(depth - 1) for _ in range(self.random.randint(1, 3))]
        match self.random.randrange(4):
            case 0:
                return f"!({inner[0]})"
            case 1:
                return "(" + " || ".join(inner) + ")"
            case _:
                return "(" + " && ".join(inner) + ")"

    def guarded(self, name: str) -> str:
        test = self.test(name)
        if name in ("type", "source"):
            return test
        return self.random.choice((
            f"(has(ce.{name}) && {test})", f"(has(ce.{name}) && ({test} || {self.test(name)}))", f"(!has(ce.{name}) || {test})",
            f"(has(ce.{name}) && {test})", f"({test} && has(ce.{name}))", f"has(ce.{name})", f"!has(ce.{name})", test,
        ))  # fmt: skip

    def test(self, name: str) -> str:
        path = self.random.choice((f"ce.{name}", f"ce.{name}", f'ce["{name}"]'))
        text = f'"{self.random.choice(_TEXTS)}"'
        items = ", ".join(f'"{t}"' for t in self.random.sample(_TEXTS, self.random.randint(1, 3)))
        return self.random.choice((
            f"{path} == {text}", f"{text} == {path}", f"{path} != {text}", f'{path} != ""', f"{path}.startsWith({text})",
            f"{path}.endsWith({text})", f"{path} in [{items}]", f"!({path} in [{items}])", f"!({path} == {text})",
        ))  # fmt: skip


logic = st.randoms(use_true_random=True).map(lambda random: _Logic(random).make(random.randint(0, 3)))
each_written = pytest.mark.parametrize("row", WRITTEN, ids=lambda row: row.name)


@given(logic)
@settings(max_examples=300, deadline=None)
def test_every_form_of_an_expression_has_its_value_on_every_event(text: str) -> None:
    e = parsed(text)
    for form in (normal(e), *forms(e)):
        same_on(e, form)


@given(filters(DYNAMIC, depth=4))
@settings(max_examples=150, deadline=None)
def test_every_form_of_any_expression_has_its_value(text: str) -> None:
    e = parsed(text)
    events = tuple({**event, "ce": {**cast("dict[str, Value]", event["ce"]), **_MORE}} for event in EVENTS[-8:])
    for form in (normal(e), *forms(e)):
        same_on(e, form, events)


@each_written
def test_what_is_written_has_the_same_value_on_every_event(row) -> None:
    """Of random logic: what a dialect says of it is read again as the same, by its CEL and on events."""
    random = Random(f"conversion {row.name}")
    written = 0
    for _ in range(400):
        text = _Logic(random).make(random.randint(0, 2))
        result, found = convert(text, to=row.name)
        if result is None:
            assert {"TRI371"} == {d.code for d in errors(found)}, (text, found)
            continue
        again, found = check_filter(result.value, dialect=row.name)  # type: ignore[arg-type]
        assert again is not None, found
        same_on(parsed(text), again.checked.expr)
        back, found = convert(result.value, to=row.name, dialect=row.name)  # type: ignore[arg-type]
        assert back is not None, found
        assert result.value == back.value, text
        written += 1
    assert written > 3, "the events and filters tell nothing of this dialect"


def test_the_cases_of_every_dialect_are_written_in_every_other_that_can_say_them() -> None:
    said_by: dict[str, int] = {}
    for path in sorted((REPOSITORY / "tests/cases/dialects").glob("*/*.yaml")):
        for case in yaml.safe_load(path.read_text(encoding="utf-8")):
            for row in WRITTEN if "cel" in case else ():
                expr = parsed(case["cel"])
                value = said(row, expr)
                if value is not None:
                    place, found = place_of(row, value, "<written>")
                    assert place is not None, found
                    again = row.to_cel(place).expr
                    assert again is not None
                    assert () == unequal(expr, again, Source(case["cel"])), (row.name, case["cel"], value)
                    said_by[row.name] = said_by.get(row.name, 0) + 1
    assert {row.name for row in WRITTEN} == set(said_by)
    assert min(said_by.values()) > 1


def test_expressions_that_differ_are_not_taken_for_equal() -> None:
    """Of all pairs of small expressions: those of one normal form have the same value everywhere."""
    random = Random(7)
    texts = {_Logic(random).make(1) for _ in range(250)}
    by_form: dict[str, list[Expr]] = {}
    for e in map(parsed, sorted(texts)):
        by_form.setdefault(unparse(normal(e)), []).append(e)
    assert any(len(equal) > 1 for equal in by_form.values())
    for equal in by_form.values():
        for other in equal[1:]:
            same_on(equal[0], other)


@pytest.mark.parametrize(
    ("text", "to", "value"),
    [
        ('"a" == ce.type', "attributes", {"type": "a"}),
        ('ce["type"] == "a"', "attributes", {"type": "a"}),
        ('has(ce.x) && has(ce.y) && ce.x == "a" && ce.y == "b"', "attributes", {"x": "a", "y": "b"}),
        ('ce.x == "a" && has(ce.x)', "attributes", {"x": "a"}),
        ('ce.x != "" && has(ce.x)', "attributes", {"x": ""}),
        ('ce.type != "a"', "not", {"exact": {"type": "a"}}),
        ('ce.type != "a"', "labels", "type!=a"),
        ('!has(ce.x) || ce.x != "v"', "filters", [{"not": {"exact": {"x": "v"}}}]),
        ('has(ce.x) && ce.x != "v"', "labels", "x,x!=v"),
        ('ce.type in ["b", "a"]', "any", [{"exact": {"type": "b"}}, {"exact": {"type": "a"}}]),
        ('ce.type == "b" || ce.type == "a"', "labels", "type in (a,b)"),
        ('has(ce.x) && (ce.x == "a" || ce.x.startsWith("b"))', "any", [{"exact": {"x": "a"}}, {"prefix": {"x": "b"}}]),
        ('has(ce.x) && ce.x.startsWith("a") && ce.x.endsWith("b")', "filters", [{"prefix": {"x": "a"}}, {"suffix": {"x": "b"}}]),
        ('ce.type == "a" && ce.id == "b" && ce.source == "c"', "labels", "type=a,id=b,source=c"),
        ('ce.source.match("/s*")', "prefix", {"source": "/s"}),
        ("true", "labels", ""),
        ('ce.type == "t"', "simplest", {"type": "t"}),
        ('ce.type.startsWith("t")', "simplest", {"type": "t"}),
        ('ce.type == "t" && ce.source.endsWith("t")', "simplest", [{"exact": {"type": "t"}}, {"suffix": {"source": "t"}}]),
        ("data.x > 1.0", "simplest", "data.x > 1.0"),
    ],
)  # fmt: skip
def test_what_people_write_is_said(text: str, to: str, value: object) -> None:
    result, found = convert(text, to=to)
    assert result is not None, found
    assert value == result.value


@pytest.mark.parametrize(
    ("text", "to", "parts", "says"),
    [
        ('ce.type == "a" && data.total > 5.0', "attributes", ["data.total > 5.0"], "'cel' can say all of the filter"),
        ('ce.x == "a" && ce.type == "t"', "attributes", ['ce.x == "a"'], 'write has(ce.x) && ce.x == "a"'),
        ('ce.type == "a" || ce.id == "b"', "attributes", ['ce.type == "a" || ce.id == "b"'], "'filters' can say all"),
        ('ce.type == "a" || data.n == 1.0', "filters", ["data.n == 1.0"], "'cel'"),
        ('ce.type == "a" && !(ce.id == "1" || size(data) > 1)', "filters", ["size(data) > 1"], "'cel'"),
        ('ce.type == "a" && ce.type == "b"', "attributes", ['ce.type == "a" && ce.type == "b"'], "'labels'"),
        ('has(ce.x) && (ce.x == "a" || ce.x > "b")', "filters", ['ce.x > "b"'], "'cel'"),
        ('has(ce.x) && ce.type == "a"', "filters", ["has(ce.x)"], "'labels'"),
        ('data.a == 1.0 && data.b == 2.0', "labels", ["data.a == 1.0", "data.b == 2.0"], "'cel'"),
        ('ce.type.startsWith("a")', "labels", ['ce.type.startsWith("a")'], "'prefix'"),
        ('data.l.exists(ce, "x" in ce)', "labels", ['data.l.exists(ce, "x" in ce)'], "'cel'"),
    ],
)  # fmt: skip
def test_the_part_that_cannot_be_said_is_pointed_at(text: str, to: str, parts: list[str], says: str) -> None:
    result, found = convert(text, to=to)
    assert result is None
    assert ["TRI371"] * len(parts) == [d.code for d in found]
    assert parts == [text[d.span.start : d.span.end] for d in found]
    for d, part in zip(found, parts, strict=True):
        assert f"{to} cannot say '{part}'" == d.message
        assert says in d.help


@pytest.mark.parametrize("text", ['data.l.exists(ce, "x" in ce)', 'ce.?x.orValue("a") == "a"', 'data["x"] == "a"'])
def test_what_only_looks_like_an_attribute_is_none(text: str) -> None:
    assert parsed(text) == normal(parsed(text))


def test_a_filter_that_is_wrong_is_not_converted() -> None:
    result, found = convert('ce.typ() == "a" && user == 1', to="attributes")
    assert result is None
    assert {"TRI201", "TRI203"} == {d.code for d in errors(found)}


def test_a_filter_that_would_mean_another_thing_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    liar = replace(BY_NAME["attributes"], from_cel=lambda expr: {"type": "other"})
    monkeypatch.setitem(cast("dict[str, object]", BY_NAME), "attributes", liar)
    result, (fault,) = convert('ce.type == "a"', to="attributes")
    assert result is None
    assert "TRI901" == fault.code
    assert 'ce.type == "other"' in fault.message


@pytest.mark.parametrize(
    ("to", "says"),
    [
        ("sourceAndType", "no filter is written in the dialect 'sourceAndType': write 'attributes'"),
        ("atributes", "did you mean 'attributes'"),
    ],
)
def test_what_nothing_is_written_in_is_refused(to: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        convert("true", to=to)


def test_the_simplest_is_tried_in_the_order_of_the_rows() -> None:
    ordered = [row.name for row in sorted(WRITTEN, key=lambda row: row.order) if row.order < LAST]
    assert ["attributes", "exact", "prefix", "suffix", "labels", "filters", "all", "any", "not", "cesql", "cel", "expression"] == ordered  # fmt: skip


def test_the_face_has_it() -> None:
    assert tricel.compiler.convert is convert  # type: ignore[attr-defined]
    assert issubclass(CompileError, ValueError)
