"""What to say of text that is not CloudEvents SQL."""

from __future__ import annotations

import re

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from ...source import Span

_SIGNS = {
    "==": "write '=': x = 'a'",
    "=": "write one '='",
    "&&": "write AND",
    "&": "write AND",
    "||": "write OR",
    "|": "write OR",
    "!": "write NOT (...), or x != 'a'",
    "=~": "there are no patterns but those of LIKE: x LIKE 'a%'",
    "~": "there are no patterns but those of LIKE: x LIKE 'a%'",
    ".": "attributes have no parts, and CloudEvents SQL does not see the payload: a CEL expression does",
    "[": "a set is written in parentheses: x IN ('a', 'b')",
    ";": "a filter is one expression, without ';'",
    "`": "names are written without quotes",
}
_WORDS = {
    "IS": "ask for presence with EXISTS x, or NOT EXISTS x",
    "NULL": "ask for presence with EXISTS x, or NOT EXISTS x",
    "BETWEEN": "write x >= 1 AND x <= 5",
    "ILIKE": "write LOWER(x) LIKE 'a%'",
    "RLIKE": "there are no patterns but those of LIKE: x LIKE 'a%'",
    "REGEXP": "there are no patterns but those of LIKE: x LIKE 'a%'",
    "MATCHES": "there are no patterns but those of LIKE: x LIKE 'a%'",
    "NOTIN": "write NOT IN",
    "EQ": "write '='",
}
_TYPOGRAPHIC = "\u2018\u2019\u201c\u201d"
_OPERANDS = frozenset({"NAME", "STRING", "INT"})
_NEXT = re.compile(r"[A-Za-z0-9_]+|==|&&|\|\||=~|.", re.DOTALL)


def syntax_problem(text: str, e: UnexpectedInput) -> tuple[str, Span, str]:
    """The message, its place, and how to mend it."""
    expected: frozenset[str]
    if isinstance(e, UnexpectedCharacters):
        return _character(text, e.pos_in_stream or 0)
    if isinstance(e, UnexpectedToken) and e.token.type != "$END":
        start = e.token.start_pos or 0
        expected = frozenset(e.expected)
        return _token(text, Span(start, start + len(e.token)), e.token.type, expected)
    end = len(text.rstrip(" \t\r\n"))
    if not end:
        return "the expression is empty", Span(0, 0), "write a condition, such as type = 'order.created'"
    expected = frozenset(getattr(e, "expected", ()))
    return f"the expression ends too early{_wanted(expected)}", Span(end - 1, end), _unclosed(text)


def _character(text: str, at: int) -> tuple[str, Span, str]:
    c, span = text[at], Span(at, at + 1)
    if c in "'\"":
        return "the string is not closed", Span(at, len(text)), f"end it with {c}; inside it, {c} is written \\{c}"
    if c in _TYPOGRAPHIC:
        return "a typographic quote is no quote here", span, "use ' or \""
    found = _NEXT.match(text, at)
    sign = found[0] if found is not None else c
    sign = sign if sign in _SIGNS else c
    shown = sign if sign.isprintable() else f"U+{ord(c):04X}"
    return f"unexpected '{shown}'", Span(at, at + len(sign)), _SIGNS.get(sign, "")


def _token(text: str, span: Span, type_: str, expected: frozenset[str]) -> tuple[str, Span, str]:
    word = text[span.start : span.end]
    shown = word if len(word) <= 40 else word[:37] + "..."
    return f"unexpected '{shown}'{_wanted(expected)}", span, _help(text, span, type_, expected)


def _help(text: str, span: Span, type_: str, expected: frozenset[str]) -> str:
    word = text[span.start : span.end]
    before = re.search(r"([A-Za-z0-9_]+|[^\sA-Za-z0-9_])\s*\Z", text[max(span.start - 40, 0) : span.start])
    previous = before[1].upper() if before else ""
    if type_ == "INT" and "OPERATOR" in expected and word[0] in "+-":
        return f"a sign before a digit belongs to the number: write '{word[0]} {word[1:]}'"
    if previous == "LIKE":
        return "the pattern of LIKE is a string: x LIKE 'a%'"
    if previous == "IN":
        return "a set is written in parentheses: x IN ('a', 'b')"
    if previous == "EXISTS":
        return "EXISTS takes the name of an attribute"
    if word == "=" and previous == "=":
        return _SIGNS["=="]
    if word == ")" and previous == "(":
        return "a set has at least one value" if "STRING" in expected else ""
    if previous in _WORDS:
        return _WORDS[previous]
    if word == ")" and text.count("(", 0, span.start) <= text.count(")", 0, span.start):
        return "no '(' is open here"
    return _WORDS.get(word.upper(), "")


def _wanted(expected: frozenset[str]) -> str:
    if expected >= _OPERANDS:
        return ": a value is expected"
    if "OPERATOR" in expected:
        return ": an operator is expected"
    return ""


def _unclosed(text: str) -> str:
    written = re.sub(r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"", lambda found: " " * len(found[0]), text)
    open_: list[int] = []
    for found in re.finditer(r"[()]", written):
        if found[0] == "(":
            open_.append(found.start())
        elif open_:
            open_.pop()
    return f"'(' at column {open_[-1] + 1} is not closed" if open_ and "\n" not in text else ""
