"""What to say of text that is not rule SQL."""

from __future__ import annotations

import re

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from ...source import Span

_SIGNS = {
    "==": "write '=': a = 'x'",
    "&&": "write AND",
    "||": "write OR",
    "!": "write NOT, or a != 'x'",
    "%": "write mod(a, b)",
    ";": "a check is one SELECT, without ';'",
    "`": "a name that is no plain word is written in double quotes",
}
_WORDS = {
    "IS": "ask with is_null(x) or is_not_null(x)",
    "NULL": "ask with is_null(x) or is_not_null(x)",
    "LIKE": "there is no LIKE: regex_match(x, '^a')",
    "BETWEEN": "write x >= 1 AND x <= 5",
    "GROUP": "a check is asked of one message: there is no GROUP BY",
    "ORDER": "a check is asked of one message: there is no ORDER BY",
    "LIMIT": "a check is asked of one message: there is no LIMIT",
}
_NEXT = re.compile(r"[A-Za-z][A-Za-z0-9_]*|==|&&|\|\||=~|.", re.DOTALL)


def syntax_problem(text: str, e: UnexpectedInput) -> tuple[str, Span, str]:
    """The message, its place, and how to mend it."""
    if isinstance(e, UnexpectedCharacters):
        at = e.pos_in_stream or 0
        if text[at] in "'\"":
            quoted = "strings have no escapes, and cannot hold their quote"
            return "the string is not closed", Span(at, len(text)), f"end it with {text[at]}: {quoted}"
        return _unexpected(text, at)
    if isinstance(e, UnexpectedToken) and e.token.type != "$END":
        return _unexpected(text, e.token.start_pos or 0)
    end = len(text.rstrip())
    if not end:
        return "the check is empty", Span(0, 0), "write SELECT * WHERE payload.value > 10"
    help_ = "write a condition, such as payload.value > 10" if text[:end].upper().endswith("WHERE") else ""
    return "the check ends too early", Span(end - 1, end), help_


def _unexpected(text: str, at: int) -> tuple[str, Span, str]:
    found = _NEXT.match(text, at)
    word = found[0] if found is not None else text[at]
    two = text[max(at - 1, 0) : at + 1]
    help_ = _SIGNS.get(word, "") or _WORDS.get(word.upper(), "") or (_SIGNS["=="] if two == "==" else "")
    before = re.search(r"(\.|[A-Za-z]+)\s*\Z", text[max(at - 40, 0) : at])
    if not help_ and before is not None:
        plain = re.fullmatch(r"[A-Za-z]+", word) is not None
        help_ = (
            f'write ."{word}": the word is a keyword'
            if before[1] == "." and plain
            else _WORDS.get(before[1].upper(), "")
        )
    if not help_ and not text[:at].strip():
        help_ = "a check begins with SELECT: SELECT * WHERE payload.value > 10"
    shown = word if word.isprintable() else f"U+{ord(word[0]):04X}"
    return f"unexpected '{shown[:40]}'", Span(at, at + len(word)), help_
