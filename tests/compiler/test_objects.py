"""Python data becomes the document that its JSON text is, whichever way it is made."""

from __future__ import annotations

import json
from enum import IntEnum, StrEnum
from typing import Any

import pytest
from admission_vectors import HOSTILE, SOUND, published
from hypothesis import given, settings
from hypothesis import strategies as st
from tricel.compiler.documents.document import MAX_DEPTH
from tricel.compiler.documents.objects import from_python, laid_out, read_back

ODD_TEXT = st.text(
    st.characters() | st.sampled_from("\x00\x07\x7f\x85\xa0\u2028\ufeff\ufffe\U0010ffff\"'\\/\n\t<&*"), max_size=9
)
ODD_NUMBERS = (
    st.integers() | st.floats() | st.sampled_from([2**64, -(2**64), 10**98, 10**99, 10**100, 1e16, 1e-5, -0.0])
)
SCALARS = st.none() | st.booleans() | ODD_NUMBERS | ODD_TEXT
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_TEXT, inner, max_size=3), max_leaves=12
)


def nested(depth: int, *, in_lists: bool) -> dict[str, Any]:
    value: Any = []
    for _ in range(depth - 2):
        value = [value] if in_lists else {"a": value}
    return {"a": value}


def check(value: Any) -> bool:
    """Both ways make the same document, where there are both; whether there are."""
    document, found = read_back(value, "x")
    straight = laid_out(value, "x")
    if straight is None:
        return False
    assert document is not None
    assert () == found == document.diagnostics
    assert document.source.text == straight.source.text
    # 1, 1.0 and True are equal, and print differently.
    assert repr(document.value) == repr(straight.value)
    return True


@settings(max_examples=500, deadline=None)
@given(st.dictionaries(ODD_TEXT, VALUES, max_size=4))
def test_both_ways_make_the_same_document(value: dict[str, Any]) -> None:
    check(value)


def test_triggers_are_laid_out_at_once() -> None:
    triggers = [case["trigger"] for case in published()] + [value for _, value in SOUND]
    assert [True] * len(triggers) == [check(value) for value in triggers]
    hostile = [value for _, _, value in HOSTILE if isinstance(value, dict)]
    assert 20 < sum(map(check, hostile)) < len(hostile)


@pytest.mark.parametrize("in_lists", [False, True])
@pytest.mark.parametrize(("depth", "plain"), [(MAX_DEPTH, True), (MAX_DEPTH + 1, False), (2_000, False)])
def test_how_deep(depth: int, plain: bool, in_lists: bool) -> None:
    value = nested(depth, in_lists=in_lists)
    assert plain == check(value)
    assert plain == (from_python(value)[0] is not None)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({}, True),
        ({"": [{}, [], ""]}, True),
        ({"<<": 1, "~": None, "y": "no", "1": "1"}, True),
        ({"k" * 998: 1}, True),
        ({"k" * 2_000: 1}, False),
        ({"\n" * 499: 1}, True),
        ({"\n" * 500: 1}, False),
        ({"a": "\x7f"}, False),
        ({"a": "\u2028"}, False),
        ({"a": "\ud800"}, False),
        ({"\ufeff": "a"}, False),
        ({"a": (1, 2)}, False),
        ({"a": StrEnum("Word", "one").one}, False),  # type: ignore[attr-defined]
        ({"a": IntEnum("Number", "one").one}, False),  # type: ignore[attr-defined]
        ({"a": float("inf")}, False),
        ({"a": 2**64 - 1, "b": -(2**63), "c": 2**64}, False),
        ({"a": 2**64 - 1, "b": -(2**63), "c": 0}, True),
        ({1: "a"}, False),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_out_of_the_ordinary_is_read_back(value: Any, plain: bool) -> None:
    assert plain == check(value)


def test_places_are_those_of_the_text() -> None:
    value = json.loads('{"a": {"b": ["x\\ty", 1.50, true]}}')
    document, _ = from_python(value)
    assert document is not None
    ((key, inner),) = document.value.entries  # type: ignore[union-attr]
    text = document.source.text
    assert ('"a"', text[text.index(": ") + 2 : -2]) == tuple(
        text[each.span.start : each.span.end] for each in (key, inner)
    )
