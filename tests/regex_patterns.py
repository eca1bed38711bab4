"""RE2 patterns and texts for the tests: case tables, random ones, and RE2's own answer."""

from __future__ import annotations

import json
from typing import Any

import re2
from conftest import REPOSITORY
from hypothesis import strategies as st
from tricel.spark_backend.sql.regex import Always, Contains, EndsWith, Equals, Plan, StartsWith

_LITERALS = ("a", "b", "k", "s", "é", "σ", "ß", "😀", "e\u0301", "1", "_", "{", ".", "ab", "a{,3}", "a{1,x}", "=")
_GROUPED = (
    "(?s:.)",
    "(?i:k)",
    "(?i:s)",
    "(?i:ß)",
    "(?i:é)",
    "(?i-s:k.)",
    "(?P<n>a)",
    "(?<m_1>b|1)",
    "(?:)",
    "(?im-s:a.$)",
)
_PLACES = ("^", "$", "\\A", "\\z", "\\b", "\\B", "(?m)^", "(?m)$")
_FLAGS = ("(?i)", "(?m)", "(?s)", "(?U)", "(?-i)")
_NAMED = ("\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "\\pL", "\\PN", "\\p{Lu}", "\\p{Greek}", "\\p{^Greek}", "\\p{Any}")
_ESCAPED = (
    "\\x{2028}",
    "\\x85",
    "\\r",
    "\\n",
    "\\v",
    "\\0",
    "\\12",
    "\\141",
    "\\-",
    "\\.",
    "\\_",
    "\\Qa.\\E",
    "\\Qab\\E*",
)
_CLASSES = (
    *(
        "[ab]",
        "[^a]",
        "[^b\\n]",
        "[a&&b]",
        "[a[b]",
        "[[]",
        "[]a]",
        "[^]a]",
        "[a-]",
        "[\\d-z]",
        "[😀-😂]",
        "[^\\x00-\\x{10FFFF}]",
    ),
    *(
        "[[:alpha:]]",
        "[[:^space:]]",
        "[[:space:]]",
        "[[:word:]-]",
        "[^[:upper:]\\pN]",
        "[a-z]",
        "[\\x{1}-\\x{2029}]",
        "[^\\W_]",
    ),
)
ATOMS = (*_LITERALS, *_GROUPED, *_PLACES, *_FLAGS, *_NAMED, *_ESCAPED, *_CLASSES)
"""Every construct of RE2's syntax that Java reads otherwise, or not at all, beside the ordinary ones."""
COUNTS = ("*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{2,}", "{0,12}", "{2,}?", "{1}?")
CHARACTERS = (
    "a",
    "b",
    "k",
    "s",
    "K",
    "S",
    "1",
    "_",
    "-",
    " ",
    ".",
    "{",
    "é",
    "e\u0301",
    "σ",
    "ς",
    "\u212a",
    "\u017f",
    "ß",
    "ẞ",
    "İ",
    "É",
    "=",
    "[",
    "\0",
)
BREAKS = ("\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029", "\x0b", "\u00a0")
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
    any_ = st.tuples(st.sampled_from(("", "^", "^", "a", "\\b", "(?m)^", "(?i)s")), body, body, ends).map("".join)
    words = st.lists(st.sampled_from(_LITERALS), max_size=3).map("".join)
    listed = st.lists(words, min_size=1, max_size=3).map(lambda found: f"(?:{'|'.join(found)})")
    literal = st.tuples(st.sampled_from(("", "^", "(?i)", ".*")), listed, st.sampled_from(("", "$", "\\z", ".*")))
    return st.one_of(any_, any_, any_, literal.map("".join))


def texts() -> st.SearchStrategy[str]:
    """Short texts of the characters that regular expression engines disagree on."""
    few = st.lists(st.sampled_from(("a", "b", "\n", "😀")), max_size=8)
    many = st.lists(st.sampled_from((*CHARACTERS, *BREAKS, *BEYOND_THE_BMP)), max_size=8)
    return st.one_of(few, many).map("".join)
