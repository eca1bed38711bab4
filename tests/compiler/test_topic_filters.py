"""MQTT topic filters against published cases, and against a matcher written from the specification."""

from __future__ import annotations

from itertools import product

import pytest
import re2
from conftest import conformance
from hypothesis import given
from hypothesis import strategies as st
from tricel.compiler import check_filter
from tricel.compiler.patterns.topic_filters import (
    TopicError,
    check_topic_name,
    includes,
    intersection,
    matches,
    pattern_of,
    subscription,
    union,
)
from tricel.compiler.versions import NEXT

CASES = conformance("topic_match_cases.json")


def levels_match(topic: list[str], words: list[str]) -> bool:
    """The rules of MQTT 5.0, section 4.7.1, level by level."""
    if words == ["#"]:
        return True
    if not topic or not words:
        return topic == words
    return words[0] in ("+", topic[0]) and levels_match(topic[1:], words[1:])


def matched(topic: str, filter_: str) -> bool:
    """The rule of section 4.7.2 before them."""
    hidden = topic.startswith("$") and filter_[0] in "+#"
    return not hidden and levels_match(topic.split("/"), filter_.split("/"))


WORDS = st.sampled_from(["a", "b", "", "$a", ".", "a+b".replace("+", "\\"), "é\n", "$", "(x|y)*"])
TOPICS = st.lists(WORDS, min_size=1, max_size=4).map("/".join)
FILTERS = st.builds(
    lambda words, rest: "/".join([*words, *rest]) or "#",
    st.lists(st.one_of(WORDS, st.just("+")), max_size=4),
    st.sampled_from([[], ["#"]]),
)


def test_published_matches() -> None:
    wrong = [c for c in CASES["match"] if matches(c["topic"], c["filter"]) is not c["match"]]
    assert [] == wrong
    for case in CASES["index"]:
        found = [i for i, f in enumerate(case["filters"], 1) if f and matches(case["topic"], f)]
        assert case["matching_1based"] == found, case


def test_published_sets() -> None:
    wrong = [c for c in CASES["intersection"] if intersection(c["a"], c["b"]) != c["intersection"]]
    assert [] == wrong
    assert [] == [c for c in CASES["intersection"] if intersection(c["b"], c["a"]) != c["intersection"]]
    assert [] == [c for c in CASES["union"] if union(c["input"]) != c["union_sorted"]]


def test_published_checks() -> None:
    for case in CASES["validate"]:
        check = check_topic_name if case["kind"] == "name" else subscription
        if case["valid"]:
            check(case["topic"])
        else:
            with pytest.raises(TopicError):
                check(case["topic"])


def test_published_subscriptions() -> None:
    for case in CASES["shared_subscription_parse"]:
        if "error" in case:
            with pytest.raises(TopicError):
                subscription(case["sub"])
        else:
            found = subscription(case["sub"])
            assert (case["filter"], case["group"] or "") == (found.filter, found.group)


@pytest.mark.parametrize(
    ("text", "offset", "words"),
    [
        ("", 0, "not empty"),
        ("a/b+", 3, "a level of its own"),
        ("a/#/b", 2, "the last level"),
        ("a\0b", 1, "U.0000"),
        ("$share/g/a/x#", 12, "a level of its own"),
        ("$share/g+/a", 8, "the group"),
        ("$share//a", 7, "is empty"),
        ("$share/g", 8, "missing"),
        ("$share/g/", 9, "is empty"),
        ("$queue/", 7, "is empty"),
        ("a" * 65_536, 65_536, "65,535 bytes"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, offset: int, words: str) -> None:
    with pytest.raises(TopicError, match=words) as found:
        subscription(text)
    assert offset == found.value.offset


@given(TOPICS, FILTERS)
def test_matches_are_those_of_the_specification(topic: str, filter_: str) -> None:
    assert matched(topic, filter_) is matches(topic, filter_)
    assert matched(topic, filter_) is (re2.search(pattern_of(filter_), topic) is not None)


EVERY = ["/".join(levels) for n in range(1, 4) for levels in product(["a", "b", "", "$a"], repeat=n)]
"""Topics that tell filters of few levels and words apart."""
FEW = st.builds(
    lambda words, rest: "/".join([*words, *rest]) or "#",
    st.lists(st.sampled_from(["a", "b", "+", "$a"]), max_size=2),
    st.sampled_from([[], ["#"]]),
)


@given(FEW, FEW)
def test_sets_are_those_of_their_topics(a: str, b: str) -> None:
    ours, theirs = ({t for t in EVERY if matched(t, f)} for f in (a, b))
    both = intersection(a, b)
    assert (ours & theirs) == ({t for t in EVERY if matched(t, both)} if both else set())
    assert includes(a, b) is (theirs <= ours)


@given(st.lists(FEW, max_size=5))
def test_a_union_matches_the_same_with_no_filter_too_many(filters: list[str]) -> None:
    found = union(filters)
    assert {t for f in filters for t in EVERY if matched(t, f)} == {t for f in found for t in EVERY if matched(t, f)}
    assert not any(includes(a, b) for a in found for b in found if a != b)


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ('ce.x.matchesFilter("a/b+")', 24, "a level of its own"),
        ('ce.x.matchesFilter("a/#/b")', 23, "the last level"),
        ('ce.x.matchesFilter("")', 20, "not empty"),
    ],
)
def test_a_written_filter_is_checked(text: str, column: int, words: str) -> None:
    _, (found,) = check_filter(text, version=NEXT)
    assert ("TRI214", column) == (found.code, found.source.position(found.span.start).column)
    assert words in found.message
