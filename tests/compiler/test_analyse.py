"""What the compiler says about a filter before any event is so for every event."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tricel.compiler import check_filter
from tricel.compiler.analysis.findings import _pushed, _Run, analyse
from tricel.compiler.check import Checked
from tricel.compiler.interpreter import CelError, evaluator
from tricel.compiler.nodes import AND, OR, Bind, Call, Comprehension, Expr, conjunction, disjunction, walk
from tricel.compiler.source import Source
from tricel.compiler.values.cel import Value

CASES = Path(__file__).parent.parent / "cases" / "analysis"


def checked(text: str) -> Checked:
    found, diagnostics = check_filter(text)
    assert found is not None, diagnostics
    return found.checked


def rows() -> list[list[str]]:
    lines = (CASES / "findings.txt").read_text(encoding="utf-8").splitlines()
    parts = [[p.strip() for p in line.split(" | ")] for line in lines if line and not line.startswith("#")]
    return [row + [""] * (4 - len(row)) for row in parts]


@pytest.mark.parametrize(("text", "code", "place", "message"), rows(), ids=lambda x: x[:60])
def test_finding(text: str, code: str, place: str, message: str) -> None:
    found = analyse(checked(text), Source(text))
    assert [c for c in (code,) if c] == [d.code for d in found], found
    for d in found:
        assert place == text[d.span.start : d.span.end]
        assert message in d.message


def outcomes(e: Expr) -> list[bool | None]:
    """True, false or None for an error, for each event."""
    run = evaluator(e)

    def outcome(event: dict[str, Value]) -> bool | None:
        try:
            found = run(event)
        except CelError:
            return None
        return found if isinstance(found, bool) else None

    return [outcome(event) for event in EVENTS]


_VALUES: tuple[Value, ...] = (
    *(None, True, False, "", "a", "b", "ab", "abc", "abcd", "ba", "xab"),
    *(-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5, 6, float("nan"), float("inf")),
    *([], [1.0], ["a", "b"], {}, {"p": 1.0}, {"p": "a"}, {"p": None}),
)
_CE = {"id": "i", "source": "s", "specversion": "1.0", "type": "a"}
EVENTS: tuple[dict[str, Value], ...] = (
    {"ce": _CE, "data": "text"},
    {"ce": _CE, "data": {}},
    *({"ce": {**_CE, "type": "ab"}, "data": {"x": v}} for v in _VALUES),
    *({"ce": {**_CE, "type": v, "x": v}, "data": {"y": 1.0}} for v in _VALUES if isinstance(v, str)),
    *({"ce": {**_CE, "x": "a"}, "data": {"x": v, "y": v, "l": [v, {"p": v}]}} for v in _VALUES),
)

_SUBJECTS = ("data.x", "ce.x", "ce.type", "data.x.p")
_TESTS = (
    '{} == "a"',
    '{} == "ab"',
    '{} != "a"',
    '"b" != {}',
    '{} in ["a", "abc"]',
    '!({} in ["a", "b"])',
    '{}.startsWith("a")',
    '{}.startsWith("ab")',
    '{}.endsWith("b")',
    '{}.contains("a")',
    '{}.contains("xa")',
    '{}.matches("^a+$")',
    "size({}) == 1",
    "size({}) < 2",
    "{}.size() >= 3",
    "size({}) != 2",
    '{} < "ab"',
    '{} >= "ab"',
    '{} <= "a"',
    '{} > "abb"',
    '{} != "ab"',
    '{}.startsWith("")',
    "size({}) >= 0",
)
_DATA = (
    *("data.x == 1", "data.x == 1.5", "data.x != 2", "data.x in [1, 2, 3]", "data.x > 1", "data.x > 2.0"),
    *("data.x <= 1", "data.x < 3", "2.0 < data.x", "data.x == null", "data.x != null", "data.x", "data.y"),
    *("int(data.x) > 1", "int(data.x) < 2", "int(data.x) == 5", "has(data.x)", "has(data.x.p)", "has(ce.x)"),
    *(
        "data.x == data.y",
        "data.x != data.y",
        "data.x == true",
        "data.x == false",
        "data.l.exists(i, i == 1 && i == 2)",
    ),
    *("data.x in []", "data.x.p == 1", "1 == 1", "1 == 2", "data.x[0] == 1", "size(data.x) < 0", "data.x in [true, 1]"),
)
TERMS = (*_DATA, *(test.format(subject) for test in _TESTS for subject in _SUBJECTS))


FILTERS = st.recursive(
    st.sampled_from(TERMS),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=4).map(lambda parts: "(" + " && ".join(parts) + ")"),
        st.lists(inner, min_size=2, max_size=4).map(lambda parts: "(" + " || ".join(parts) + ")"),
        inner.map(lambda part: f"!({part})"),
        st.tuples(inner, inner, inner).map(lambda parts: "({} ? {} : {})".format(*parts)),
    ),
    max_leaves=8,
)
COUNTED = {"never": 0, "always": 0, "redundant": 0}


def claims_hold(run: _Run, e: Expr) -> None:
    """Holds what is said about `e` against all events."""
    found = outcomes(e)
    if run.never(_pushed(e), ()) is not None:
        COUNTED["never"] += 1
        assert True not in found, (e, EVENTS[found.index(True)])
    if run.never(_pushed(e, negated=True), ()) is not None:
        assert False not in found, (e, EVENTS[found.index(False)])
    if run.always(_pushed(e), frozenset()) is not None:
        COUNTED["always"] += 1
        assert {True} == set(found), e
    if isinstance(e, Call) and e.function in (AND, OR):
        for term, by in run.redundant(e):
            COUNTED["redundant"] += 1
            rest = tuple(a for a in e.args if a is not term)
            without = (conjunction if e.function == AND else disjunction)(rest)
            assert found == outcomes(without), (term, by)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(FILTERS)
def test_claims_hold_for_random_filters(text: str) -> None:
    found = checked(text)
    run = _Run(found.types, found.environment, left=10**9)
    for node in walk(found.expr):
        if isinstance(node, Comprehension | Bind):
            return
        if isinstance(node, Call):
            claims_hold(run, node)


@pytest.mark.parametrize("subject", ["data.", "ce.x", "ce.type", "data.x"])
def test_claims_hold_for_every_pair_of_terms(subject: str) -> None:
    own = [term for term in TERMS if subject in term][:45]
    found = checked(" || ".join(f"({term})" for term in own))
    assert isinstance(found.expr, Call)
    assert len(found.expr.args) == len(own)
    run = _Run(found.types, found.environment, left=10**9)
    counted = dict(COUNTED)
    for a, b in combinations(found.expr.args, 2):
        claims_hold(run, Call(AND, (a, b)))
        claims_hold(run, Call(OR, (a, b)))
    assert COUNTED["never"] > counted["never"] + 20
    assert COUNTED["redundant"] > counted["redundant"] + 20
    assert COUNTED["always"] > counted["always"] or subject != "ce.type"


def test_many_terms_are_left_alone() -> None:
    text = " || ".join(f"data.x == {n} && data.y == {n}" for n in range(900))
    assert analyse(checked(text), Source(text)) == ()
