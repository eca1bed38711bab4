"""RE2 patterns and texts for the tests: case tables, random ones, and RE2's own answer."""

from __future__ import annotations

import json
from typing import Any

import re2
from conftest import REPOSITORY
from hypothesis import strategies as st
from tricel.spark_backend.regex import Always, Contains, EndsWith, Equals, Plan, StartsWith

ATOMS = (
    *("a", "b", "k", "s", "é", "σ", "😀", "e\u0301", "1", "_", "{", ".", "ab", "(?s:.)", "(?i:k)", "(?i:s)"),
    *(
        "\\d",
        "\\w",
        "\\W",
        "\\s",
        "\\S",
        "\\b",
        "\\B",
        "^",
        "$",
        "\\A",
        "\\z",
        "(?m)^",
        "(?m)$",
        "(?i)",
        "(?m)",
        "(?s)",
    ),
    *(
        "[ab]",
        "[^a]",
        "[^b\\n]",
        "[a&&b]",
        "[😀-😂]",
        "[[:alpha:]]",
        "[[:^space:]]",
        "\\pL",
        "\\x{2028}",
        "\\r",
        "\\Qa.\\E",
    ),
)
COUNTS = ("*", "+", "?", "*?", "{2}", "{1,3}", "{2,}", "{0,12}")
CHARACTERS = ("a", "b", "k", "s", "K", "S", "1", "_", "-", " ", ".", "{", "é", "e\u0301", "σ", "ς", "\u212a", "\u017f")
BREAKS = ("\n", "\r", "\u0085", "\u2028", "\x0b", "\u00a0")
BEYOND_THE_BMP = ("😀", "😂", "\U00010437")


def cases(name: str) -> list[dict[str, Any]]:
    """The rows of one table in tests/cases/regex."""
    rows: list[dict[str, Any]] = json.loads((REPOSITORY / "tests/cases/regex" / name).read_text(encoding="utf-8"))
    return rows


def re2_finds(pattern: str, text: str) -> bool:
    """What RE2 answers with its default options, which are CEL's."""
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options=options).search(text) is not None


def compares(plan: Plan, text: str) -> bool | None:
    """What a plan that needs no regular expression answers; None for the others."""
    match plan:
        case Always():
            return True
        case Equals(values):
            return text in values
        case StartsWith(values):
            return text.startswith(values)
        case EndsWith(values):
            return text.endswith(values)
        case Contains(values):
            return any(value in text for value in values)
        case _:
            return None


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    row = st.lists(inner, min_size=2, max_size=4).map("".join)
    choice = st.lists(st.one_of(inner, st.just("")), min_size=1, max_size=3).map(lambda b: f"({'|'.join(b)})")
    repeated = st.tuples(inner, st.sampled_from(COUNTS)).map(lambda p: f"(?:{p[0]}){p[1]}")
    return st.one_of(row, choice, repeated)


def patterns() -> st.SearchStrategy[str]:
    """Patterns that RE2 accepts, about half of them anchored."""
    body = st.recursive(st.sampled_from(ATOMS), _larger, max_leaves=6)
    ends = st.sampled_from(("", "", "$", "b", "(?m)$"))
    return st.tuples(st.sampled_from(("", "^", "^", "a", "\\b", "(?m)^", "(?i)s")), body, body, ends).map("".join)


def texts() -> st.SearchStrategy[str]:
    """Short texts of the characters that regular expression engines disagree on."""
    few = st.lists(st.sampled_from(("a", "b", "\n", "😀")), max_size=8)
    many = st.lists(st.sampled_from((*CHARACTERS, *BREAKS, *BEYOND_THE_BMP)), max_size=8)
    return st.one_of(few, many).map("".join)
