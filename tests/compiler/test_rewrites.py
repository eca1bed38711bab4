"""Rewrites keep the value of every filter on every event, and which events err."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from cel_vectors import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from tricel.compiler import CLOUD_EVENT, errors, parse, unparse
from tricel.compiler.analysis.cost import estimate
from tricel.compiler.analysis.findings import analyse
from tricel.compiler.celtypes import DYN
from tricel.compiler.check import Checked, check
from tricel.compiler.interpreter import MAX_STEPS, CelError, evaluate, evaluator, same
from tricel.compiler.interpreter.frame import Frame
from tricel.compiler.names import resolve
from tricel.compiler.nodes import Expr, renumber, walk
from tricel.compiler.rewrites import PIPELINE, rewrite, simplified
from tricel.compiler.source import Source
from tricel.compiler.values.cel import Value
from tricel.compiler.versions import NEXT

CASES = Path(__file__).parent.parent / "cases" / "rewrites"


def checked(text: str) -> Checked:
    """A filter, checked; one that is an error for every event too, which `check_filter` refuses."""
    found = if_checked(text)
    assert not errors(found.diagnostics), found.diagnostics
    return found


def if_checked(text: str) -> Checked:
    source = Source(text)
    parsed, diagnostics = parse(source)
    assert parsed is not None, diagnostics
    return check(resolve(renumber(parsed), CLOUD_EVENT), CLOUD_EVENT, source, version=NEXT)


def rows() -> Iterator[tuple[str, str]]:
    for path in sorted(CASES.glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                before, _, after = line.partition(" => ")
                yield before, after or before


def value(e: Expr, event: dict[str, Value]) -> object:
    """The value with its type, or the fact that there is none."""
    try:
        found = evaluate(e, event)
    except CelError:
        return "error"
    return type(found).__name__, repr(found)


_SCALARS: tuple[Value, ...] = (None, True, False, 1.0, 2.0, 3.5, "a", "ab", "b", "", [1.0], [], {"p": 1.0}, {})
EVENTS: tuple[dict[str, Value], ...] = (
    {"ce": {}, "data": {}},
    {"ce": {"x": "a"}, "data": "text"},
    {"ce": {"x": "", "y": "a"}, "data": None},
    {"ce": {"x": "c"}, "data": {"x": 1.0, "y": True, "z": "a", "l": [{"p": 1.0}, {"p": 3.0}]}},
    {"ce": {"y": "b"}, "data": {"x": True, "y": False, "l": [1.0, "a", None]}},
    *({"ce": {"x": "b"}, "data": {"x": v, "y": 1.0, "l": []}} for v in _SCALARS),
    *({"ce": {"x": "ab"}, "data": {"y": v, "x": "a"}} for v in _SCALARS),
    *(
        {"ce": {"x": t, "y": "t/+"}, "data": {"x": t}}
        for t in ("t", "t/", "t/1", "t/1/s", "T/1\n", "/s", "$t/s", "t/1/s/2")
    ),
)


@pytest.mark.parametrize(("before", "after"), list(rows()), ids=lambda text: text[:60])
def test_case(before: str, after: str) -> None:
    given_ = checked(before)
    found = simplified(given_, Source(before), spelled=True).expr if "matchesFilter" in before else rewrite(given_)
    assert unparse(checked(after).expr) == unparse(found)
    for event in EVENTS:
        assert value(given_.expr, event) == value(found, event), event


def test_every_pass_has_its_cases() -> None:
    assert sorted(["topics", *(name for name, *_ in PIPELINE)]) == sorted(path.stem for path in CASES.glob("*.txt"))


TERMS = (
    "true",
    "false",
    "1 / 0 == 1",
    "data.x",
    "data.y",
    "data.x == 1",
    "data.x == 1.0",
    "data.x == 2",
    '"a" == data.x',
    "data.x == null",
    "data.x != 1",
    'data.x != "a"',
    "data.x in [1]",
    'data.x in [1, "a"]',
    "data.x in []",
    "data.x > 1",
    "data.x <= 1",
    'data.x.startsWith("a")',
    "has(data.x)",
    "has(data.x.p)",
    "data.y == 1",
    "has(ce.x)",
    'ce.x == "a"',
    'ce.x == "b"',
    'ce.x < "b"',
    'ce.x >= "b"',
    'ce.x.startsWith("a")',
    "data.l.exists(i, i.p == 1 || i.p == 2)",
    "data.l.all(i, i.p > 1 && true)",
    "size(data.l) > 1",
    "1 + 1 == 2",
    '"a" + "b" == data.x',
    'ce.type.startsWith("a")',
)
FILTERS = st.recursive(
    st.sampled_from(TERMS),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=4).map(lambda parts: "(" + " && ".join(parts) + ")"),
        st.lists(inner, min_size=2, max_size=4).map(lambda parts: "(" + " || ".join(parts) + ")"),
        inner.map(lambda part: f"!({part})"),
        st.tuples(inner, inner, inner).map(lambda parts: "({} ? {} : {})".format(*parts)),
        st.tuples(inner, inner).map(lambda parts: "(({}) == ({}))".format(*parts)),
        inner.map(lambda part: f"cel.bind(v, {part}, v || !v)"),
    ),
    max_leaves=12,
)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(FILTERS)
def test_meaning_is_kept(text: str) -> None:
    before = if_checked(text)
    if errors(before.diagnostics):  # the checker sees that it never is a bool
        return
    after, again = rewrite(before), simplified(before, Source(text))
    for event in EVENTS:
        expected = value(before.expr, event)
        assert expected == value(after, event), (unparse(after), event)
        assert expected == value(again.expr, event), (unparse(again.expr), event)
    assert unparse(after) == unparse(rewrite(again)) or again is before


_STEPS = (".?p", ".p", '[?"p"]', '["p"]', ".?x", ".x", '[?"x y"]', ".?q")
_LITERALS = ("0", "1", "1.0", '"a"', "true", "false", "null", "[]", "{}", "[1.0]", "data.y", "ce.x", "1 / 0")
_TESTS = (
    *("{} == 1", '{} == "a"', "{} != null", "{} > 0", "0.5 < {}", "{}", "!{}", '"a" in {}', "{}.exists(i, i == 1.0)"),
    *('{}.startsWith("a")', "size({}) > 0", "{}.all(i, i == data.x)", "{} + 1.0 > 1.5", "{} == data.x", "{} < data.y"),
    *("type({}) == string", '{}.upperAscii().contains("A")', "{} in [1, 2.0]", "({} ? data.y : true)", "{}.p == 1.0"),
)
_ROOTS = ("data", "data", "data.x", "data.y", "data.l[0]", "ce", '{"p": data.x}', "data.?x.orValue({})", "[data][0]")


@st.composite
def optional_values(draw: st.DrawFn, depth: int = 2) -> str:
    """An optional, whose outermost step is one that makes it so."""
    kind = draw(st.integers(0, 9)) if depth else 0
    if kind <= 5:
        root, steps = draw(st.sampled_from(_ROOTS)), draw(st.lists(st.sampled_from(_STEPS), max_size=3))
        return f"{root}{draw(st.sampled_from(_STEPS[::2]))}{''.join(steps)}"
    inner = draw(optional_values(depth - 1))
    match kind:
        case 6:
            return f"{inner}.or({draw(optional_values(depth - 1))})"
        case 7:
            return f"{inner}.optMap(v{depth}, {draw(st.sampled_from(_TESTS)).format(f'v{depth}')})"
        case 8:
            return f"{inner}.optFlatMap(data, {draw(optional_values(depth - 1))})"
        case _:
            return draw(st.sampled_from(("optional.none()", "optional.of(data.x)", 'optional.of("a")')))


@st.composite
def optional_uses(draw: st.DrawFn) -> str:
    """A filter that uses optionals up, or does not."""
    of = draw(optional_values())
    test = draw(st.sampled_from(_TESTS))
    match draw(st.integers(0, 8)):
        case 0:
            return f"{of}.hasValue()"
        case 1:
            return test.format(f"{of}.value()")
        case 2:
            other = draw(st.sampled_from(("optional.none()", "optional.of(1.0)", 'optional.of("a")', of)))
            return f"{of} {draw(st.sampled_from(('==', '!=')))} {other}"
        case 3:
            return (
                f"cel.bind(o, {of}, {test.format('o.orValue(1.0)')} || o.hasValue() && [1.0].exists(w, w == o.value()))"
            )
        case 4:
            return f"has({of}.p)"
        case 5:
            return f"data.l.exists(data, {test.format(f'{of}.orValue(1.0)')})"
        case _:
            return test.format(f"{of}.orValue({draw(st.sampled_from(_LITERALS))})")


NESTED: tuple[dict[str, Value], ...] = tuple(
    {"ce": {"x": "a", "p": "b"} if i % 2 else {"type": "c"}, "data": data}
    for i, data in enumerate(
        (
            *({"x": {"p": v}, "y": 1.0, "l": [{"p": "a"}, 1.0]} for v in _SCALARS),
            *({"x": {"p": {"p": v, "x": 1.0}, "x y": v}, "l": [{"x": {"p": v}}]} for v in (None, "a", 1.0, [], {})),
            *({"p": v, "y": {"p": 1.0}, "x y": "a"} for v in _SCALARS),
        )
    )
)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(optional_uses())
def test_optionals_keep_their_meaning(text: str) -> None:
    before = if_checked(text)
    if errors(before.diagnostics):
        return
    after, again = rewrite(before), simplified(before, Source(text))
    for event in (*EVENTS, *NESTED):
        expected = value(before.expr, event)
        assert expected == value(after, event), (unparse(after), event)
        assert expected == value(again.expr, event), (unparse(again.expr), event)


@pytest.mark.parametrize(
    "text",
    [
        "data" + ".?a" * 95 + ".hasValue()",
        " && ".join(["data" + ".?a" * 6 + ".orValue(1) == 2"] * 900),
        " && ".join(["data" + ".a" * 60 + ".?b" * 6 + ".hasValue()"] * 250),
        "data" + ".?a.orValue(data.b)" * 45 + ".?c.hasValue()",
        "data" + ".?a.orValue({})" * 45 + ".?c.hasValue()",
        "data.?a" + ".or(data.?b)" * 90 + ".orValue(1) == 2",
        "data.?a.or(" * 45 + "data.?b" + ")" * 45 + ".orValue(1) == 2",
        "data.?a.orValue(" * 45 + "1" + ")" * 45 + " == 2",
        "data.?a" + "".join(f".optFlatMap(v{i}, v{i}.?a" for i in range(40)) + ")" * 40 + ".hasValue()",
        "data.?a.optFlatMap(v, v.?b)" + ".or(data.?c.optFlatMap(v, v.?b))" * 40 + ".orValue(1) == 2",
        "data.?a.optMap(v, " + " || ".join(["v == 1"] * 4_000) + ").orValue(true)",
        "cel.bind(o, data.?a.?b, " * 40 + "o.?a.orValue(1) == 2" + ")" * 40,
        "cel.bind(o, data.a.?b, " + " || ".join(["o.?a.orValue(1) == 2"] * 1_500) + ")",
    ],
    ids=lambda text: text[:40],
)
def test_optionals_grow_with_the_filter_alone(text: str) -> None:
    before = checked(text)
    nodes = sum(1 for _ in walk(before.expr))
    assert sum(1 for _ in walk(rewrite(before))) < 8 * nodes + 100


def test_a_rewritten_filter_is_checked_again() -> None:
    before = checked('ce.x == "a" || ce.x == "b"')
    after = simplified(before, Source(""))
    assert after.overloads[after.expr.id][0].function == "@in"
    assert simplified(checked("data.x == 1"), Source("")).expr == checked("data.x == 1").expr


def test_what_the_checker_then_refuses_stays() -> None:
    before = checked("(true ? 1 : data.x) + 1.5 == data.y")
    assert simplified(before, Source("")) is before


def test_large_constants_stay() -> None:
    text = '"' + "a" * 200 + '"'
    for _ in range(6):
        text = f"({text} + {text})"
    before = checked(f"{text} == data.x")
    assert len(unparse(rewrite(before))) < 30_000


def test_published_cases_keep_their_values() -> None:
    """The conformance suite, rewritten: same value or still an error; and what is said about each filter is so."""
    changed = 0
    for case in cases():
        source = Source(case.text, case.id)
        parsed, _ = parse(source)
        if parsed is None or not case.checked or case.check_only:
            continue
        before = check(resolve(renumber(parsed), case.environment), case.environment, source, DYN)
        if errors(before.diagnostics):
            continue
        after = rewrite(before)
        run, rewritten = Run(case.bindings, before.expr), Run(case.bindings, after)
        changed += after != before.expr
        assert run.same_as(rewritten), (case.id, unparse(after))
        assert run.steps <= estimate(before).cost.max + 1, case.id
        for said in analyse(before, source):
            assert run.value is not True or "never matches" not in said.message, (case.id, said.message)
            assert run.value is True or "matches every event" not in said.message, (case.id, said.message)
    assert changed > 300


class Run:
    """One evaluation: its value or `CelError`, and the steps it took."""

    def __init__(self, roots: Mapping[str, Value], e: Expr) -> None:
        compiled = evaluator(e)
        frame = Frame(roots, [None] * compiled.variables, MAX_STEPS)
        self.value: Value = CelError
        with suppress(CelError):
            self.value = compiled.run(frame)
        self.steps = MAX_STEPS - frame.steps

    def same_as(self, other: Run) -> bool:
        """Whether both erred, or have the same value of the same type."""
        if CelError in (self.value, other.value):
            return self.value is other.value
        return type(self.value) is type(other.value) and same(self.value, other.value)
