"""RE2 patterns become comparisons or Java patterns, or are left to RE2; no Spark is needed to decide."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from regex_patterns import cases, compares, patterns, re2_finds, texts
from tricel.spark_backend.sql.regex import Contains, Equals, Fallback, Java, Refused, charset, plan
from tricel.spark_backend.sql.regex.java import chars
from tricel.spark_backend.sql.regex.parse import MAX_LENGTH, MAX_NESTING

SEMANTICS = cases("semantics.json")


def pattern_of(row: dict[str, Any]) -> str:
    return ascii(row["pattern"])


@pytest.mark.parametrize("row", SEMANTICS, ids=pattern_of)
def test_the_table_is_what_re2_answers(row: dict[str, Any]) -> None:
    texts_of_row = [*row["matches"], *row["not"]]
    assert [t in row["matches"] for t in texts_of_row] == [re2_finds(row["pattern"], t) for t in texts_of_row]


@pytest.mark.parametrize("row", SEMANTICS, ids=pattern_of)
def test_the_table_is_planned_and_comparisons_agree(row: dict[str, Any]) -> None:
    found = plan(row["pattern"])
    assert not isinstance(found, Refused | Fallback)
    if not isinstance(found, Java):
        assert [compares(found, t) for t in row["matches"]] == [True] * len(row["matches"])
        assert [compares(found, t) for t in row["not"]] == [False] * len(row["not"])


@pytest.mark.parametrize("row", cases("comparisons.json"), ids=pattern_of)
def test_literal_patterns_need_no_regular_expression(row: dict[str, Any]) -> None:
    found = plan(row["pattern"])
    assert (row["plan"], row.get("values", [])) == (type(found).__name__, list(getattr(found, "values", ())))


@pytest.mark.parametrize("row", cases("refused.json"), ids=pattern_of)
def test_what_re2_rejects_is_refused_with_its_place(row: dict[str, Any]) -> None:
    found = plan(row["pattern"])
    assert isinstance(found, Refused)
    assert (row["offset"], True) == (found.offset, bool(found.message))


def test_a_lone_surrogate_is_refused() -> None:
    assert plan("ab\ud800") == Refused("not a text: it holds half of a surrogate pair", 2)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("a\\C", "one byte"),
        ("\\B", "\\B matches inside"),
        ("\\Ba?", "\\B matches inside"),
        ("^(?:[a-z]+\\.)+com$", "not decided by the next character"),
        ("^(a|aa)+$", "not decided by the next character"),
        ("[^x]foo.*bar", "scan the same text again"),
        ("(?s)foo.*b[^b]*a.*c|x.*(?s:.*)[^a]y.*z", "scan the same text again"),
        ("[ab]{200}x[ab]{100}", "too many ways"),
        ("^(?:[ab]{0,9}[bc]{0,9}){9}x", "not decided by the next character"),
        ("(?:" * (MAX_NESTING + 1) + "a" + ")" * (MAX_NESTING + 1), "nested"),
        ("ab" * MAX_LENGTH, "longer than"),
        ("[ab]" * 1_001, "too large"),
        ("|".join(f"w{n}.*x" for n in range(33)), "too many alternatives"),
    ],
    ids=lambda text: ascii(text[:30]),
)
def test_what_java_cannot_do_exactly_and_safely_is_left_to_re2(pattern: str, reason: str) -> None:
    found = plan(pattern)
    assert isinstance(found, Fallback)
    assert reason in found.reason


@pytest.mark.parametrize("row", cases("hostile.json"), ids=pattern_of)
def test_hostile_patterns_are_planned_as_listed(row: dict[str, Any]) -> None:
    assert row["plan"] == type(plan(row["pattern"])).__name__


@pytest.mark.parametrize(
    "pattern", ["(?:" * 900 + "a" + ")*" * 900, "(a|" * 40 + "b" + ")*" * 40 + "c$", "(?:.*a){8}" * 9]
)
def test_planning_takes_no_time(pattern: str) -> None:
    plan.cache_clear()
    started = time.process_time()
    plan(pattern)
    assert time.process_time() - started < 5


def test_java_patterns_carry_no_flags_and_no_named_classes() -> None:
    found = plan("(?i)^[[:alpha:]]+\\s\\d\\pN\\w.*x(?m)$")
    assert isinstance(found, Java)
    assert found.pattern.isascii()
    assert not any(text in found.pattern for text in ("(?i", "(?m", "[:", "\\s", "\\d", "\\p", "\\w", "$"))


def test_large_alternations_are_one_comparison_up_to_a_limit() -> None:
    words = [f"w{n}" for n in range(64)]
    assert plan(f"^({'|'.join(words)})$") == Equals(tuple(words))
    assert isinstance(plan(f"^({'|'.join(words)}|more)$"), Java)
    assert plan("|".join(words[:8])) == Contains(tuple(words[:8]))


ranges = st.tuples(st.integers(0, 0x10FFFF), st.integers(0, 40)).map(lambda p: (p[0], min(p[0] + p[1], 0x10FFFF)))
sets = st.lists(ranges, max_size=6).map(lambda r: charset.complement(charset.complement(charset.of(r))))


@given(sets, sets)
def test_sets_of_characters_obey_the_laws(a: charset.CharSet, b: charset.CharSet) -> None:
    assert charset.union(a, charset.complement(a)) == charset.ALL
    assert charset.subset(a, charset.union(a, b))
    assert charset.disjoint(a, charset.complement(charset.union(a, b)))
    assert charset.disjoint(a, b) == (not set(expand(a)) & set(expand(b)))
    assert charset.subset(a, b) == (set(expand(a)) <= set(expand(b)))


def expand(s: charset.CharSet) -> list[int]:
    return [c for low, high in s for c in range(low, high + 1)]


def test_long_classes_become_a_tree() -> None:
    letters = charset.ask("\\pL", False)
    assert len(letters) > 500
    assert chars(letters).count("&&") > 20


@given(patterns(), st.lists(texts(), min_size=1, max_size=8))
@settings(max_examples=400, deadline=None)
def test_comparisons_answer_as_re2_does(pattern: str, some: list[str]) -> None:
    found = plan(pattern)
    assert not isinstance(found, Refused)
    answers = [compares(found, t) for t in some]
    assert answers in ([re2_finds(pattern, t) for t in some], [None] * len(some))
