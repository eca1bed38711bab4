"""Patterns of `matches` and of the regex extension: RE2's syntax, and what RE2 refuses, with the place in the pattern.

CEL's patterns are RE2's (CEL definition, "Regular Expressions"), https://github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

from ..functions import ALL

PATTERN_ARGUMENT = {row.function: row.pattern for row in ALL if row.pattern is not None}
"""The functions that take a pattern, and which argument it is, the receiver counted."""
_MOST_PLACES = 32
_GROUPS = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|[()]", re.DOTALL)
_TOKENS = re.compile(rf"{_GROUPS.pattern}|\|", re.DOTALL)
_LITERAL = re.compile(r"[^.+*?()|\[\]{}^$\\]|\\[!-/:-@\[-`{-~]", re.DOTALL)
"""A character that stands for itself, or a sign after a backslash."""


@dataclass(frozen=True, slots=True)
class Refused:
    """RE2 rejects the pattern: `message` is its reason, `offset` the code point of the pattern that is wrong."""

    message: str
    offset: int


@dataclass(frozen=True, slots=True)
class Literal:
    """The text that a pattern begins with, after `^` where it is `anchored`, and the rest of the pattern."""

    anchored: bool
    text: str
    rest: str


@lru_cache(maxsize=1024)
def literal_of(pattern: str) -> Literal | None:
    """What a pattern begins with; None where it has alternatives, so that a match may begin otherwise."""
    at = int(pattern.startswith("^"))
    found = ""
    while one := _LITERAL.match(pattern, at):
        found, at = found + one[0][-1], one.end()
    rest = pattern[at:]
    if rest[:1] in ("?", "*", "+", "{") and rest:
        found = found[:-1]
    depth = 0
    for token in _TOKENS.finditer(rest):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if token[0] == "|" and depth == 0:
            return None
    return Literal(pattern.startswith("^"), found, rest)


def compile_re2(pattern: str) -> Any:
    """The compiled pattern, with the options CEL uses: RE2's defaults.

    Raises `re2.error` where RE2 refuses the pattern, and UnicodeEncodeError for a lone surrogate.
    """
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options=options)


def searcher(pattern: str) -> Callable[[str], bool]:
    """Whether the pattern matches somewhere in a text. Without groups, and on bytes, this is RE2's quickest search.

    Raises what `compile_re2` raises.
    """
    options = re2.Options()
    options.log_errors, options.never_capture = False, True
    search = re2.compile(pattern.encode(), options=options).search
    return lambda text: search(text.encode()) is not None


@lru_cache(maxsize=128)
def refusal(pattern: str) -> Refused | None:
    """Why RE2 refuses the pattern and where; None for one that it takes."""
    try:
        compile_re2(pattern)
    except UnicodeEncodeError as error:
        return Refused("not a text: it holds half of a surrogate pair", error.start)
    except re2.error as error:
        message = _message(error)
        return Refused(message, _offset(pattern, message))
    return None


def _message(error: Exception) -> str:
    text = error.args[0] if error.args else ""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)


def _offset(pattern: str, message: str) -> int:
    """Where the pattern is wrong. RE2 names a fragment: its place is the first where a prefix fails likewise."""
    kind, _, fragment = message.partition(": ")
    if kind == "missing )":
        return _open_group(pattern)
    if kind.startswith("trailing"):
        return len(pattern) - 1
    if kind == "unexpected )":
        fragment = ")"
    places = [i for i in range(len(pattern)) if pattern.startswith(fragment, i)] if fragment else []
    for i in places[:_MOST_PLACES]:
        try:
            compile_re2(pattern[: i + len(fragment)])
        except re2.error as error:
            if _message(error).partition(": ")[0] == kind:
                return i
    return places[0] if len(places) == 1 else 0


def _open_group(pattern: str) -> int:
    """The last parenthesis that is never closed."""
    opened: list[int] = []
    for found in _GROUPS.finditer(pattern):
        if found[0] == "(":
            opened.append(found.start())
        elif found[0] == ")" and opened:
            opened.pop()
    return opened[-1] if opened else len(pattern) - 1
