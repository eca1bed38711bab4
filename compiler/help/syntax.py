"""What to say of text that is not CEL: what was found, what could have stood there, and the likely slip."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..source import Span
from ..suggest import did_you_mean
from .names import after, infix_help, path_help

RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
"""Names that only a field may have."""
_KEYWORDS = frozenset({"true", "false", "null", "in"})
_SMART_QUOTES = "\u2018\u2019\u201c\u201d"
_PAIRS = {")": "(", "]": "[", "}": "{"}
_OPEN = {v: k for k, v in _PAIRS.items()}
_LOGIC = {"and": "&&", "or": "||", "not": "!"}
_WORDS = {
    **_LOGIC,
    **{"xor": "!=", "eq": "==", "equals": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "in": "in"},
}
"""Operators that other languages write as words, in lower case."""
_SIGNS = {"=": "==", "===": "==", ":=": "==", "!==": "!=", "<>": "!=", "=<": "<=", "=>": ">=", "&": "&&", "|": "||"}
_FORMS = {
    "=~": 'write x.matches("a pattern")',
    "!~": 'write !x.matches("a pattern")',
    "~": 'write x.matches("a pattern")',
    "??": "write has(a.b) ? a.b : otherwise, or a.?b.orValue(otherwise)",
    "is": "write x == null or x != null; whether a.b is there at all, has(a.b) says",
    "not in": "write !(x in [a, b])",
}
"""How to write what has no operator in CEL."""
_RUN = re.compile(r"[=!<>~?&|:]+")
_NEAR = 40
"""Characters before a mistake among which a slip is looked for."""
_SKIP = re.compile(
    r"//[^\n]*|[rRbB]{0,2}(?:\"\"\"(?:.|\n)*?\"\"\"|'''(?:.|\n)*?'''|\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?)|[()\[\]{}]"
)


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    """A message, its place, and how to mend it."""

    message: str
    span: Span
    help: str = ""


def unclosed_string(text: str, start: int, quotes: int = 1) -> SyntaxProblem:
    """A string that begins at `start`, with one quote or three, and does not end."""
    end = text.find("\n", start)
    place = Span(start, end if end >= 0 else len(text))
    shown = "the quote" if quotes == 1 else "the three quotes"
    return SyntaxProblem("the string is not closed", place, f"end it with {shown} that it begins with")


def unexpected_character(text: str, at: int) -> SyntaxProblem:
    """A character that begins nothing in CEL."""
    c, span = text[at], Span(at, at + 1)
    if c in "\"'" or text[at : at + 2].lower() in ("b'", 'b"', "r'", 'r"'):
        return unclosed_string(text, at)
    if c in _SMART_QUOTES:
        return SyntaxProblem("a typographic quote is not a quote in CEL", span, "use ' or \"")
    found = _sign(text, at)
    if found is not None:
        return found
    if c in _SIGNS:
        return SyntaxProblem(f"unexpected '{c}'", span, did_you_mean(_SIGNS[c]))
    if c == "$":
        return SyntaxProblem("unexpected character '$'", span, path_help(after(text, at + 1)))
    shown = c if c.isprintable() else f"U+{ord(c):04X}"
    return SyntaxProblem(f"unexpected character '{shown}'", span)


def unexpected_token(text: str, span: Span, expected: frozenset[str]) -> SyntaxProblem:
    """A word or sign that cannot stand where it does; an empty span is the end of the text."""
    word = text[span.start : span.end]
    wanted = _wanted(expected)
    unclosed = _unclosed(text)
    if not word:
        if not text.strip():
            return SyntaxProblem(
                "the expression is empty", Span(0, 0), 'write a condition, such as ce.type == "order.created"'
            )
        message = f"the expression ends too early{wanted}"
        help_ = _opened(text, unclosed) or _chained(text)
        return SyntaxProblem(message, Span(max(span.start - 1, 0), span.end), help_)
    if word in _PAIRS:
        return SyntaxProblem(f"unexpected '{word}'{wanted}", span, _closed_too_much(text, span.start))
    if word in _KEYWORDS and expected & {"IDENT", "SELECTOR"}:
        help_ = f'for a field of that name write data["{word}"]; for has() and fields of messages, `{word}`'
        return SyntaxProblem(f"'{word}' is a reserved word{wanted}", span, help_)
    found = _sign(text, span.start)
    if found is not None:
        return found
    return SyntaxProblem(f"unexpected '{_short(word)}'{wanted}", span, _slip(text, span, expected))


def _sign(text: str, at: int) -> SyntaxProblem | None:
    """An operator of other languages; None where the signs there are none."""
    runs = [(run[0], run.start()) for run in _RUN.finditer(text, max(at - len("==="), 0)) if run.end() > at][:1]
    for sign, start in runs:
        if start <= at and (sign in _SIGNS or sign in _FORMS):
            help_ = did_you_mean(_SIGNS.get(sign, "")) or _FORMS[sign]
            return SyntaxProblem(f"unexpected '{sign}'", Span(start, start + len(sign)), help_)
    return None


def _slip(text: str, span: Span, expected: frozenset[str]) -> str:
    """Help for a word that cannot stand where it does, or after the one before it."""
    word = text[span.start : span.end].lower()
    if word == "," and (open_ := _unclosed(text[: span.start])) and re.search(r"\bin\s*$", text[: open_[-1]]):
        return 'a list is written in brackets: x in ["a", "b"]'
    if word == "not" and re.match(r"\s+in\b", text[span.end :], re.IGNORECASE):
        return _FORMS["not in"]
    previous = re.search(r"(\w+)\s*$", text[max(span.start - _NEAR, 0) : span.start])
    slip = _WORDS.get(word) or _LOGIC.get(previous[1].lower() if previous else "")
    if slip:
        return f"did you mean '{slip}'?"
    return _FORMS.get(word) or infix_help(word) if "OPERATOR" in expected else ""


def _chained(text: str) -> str:
    """Help for `a?.b`, of which a `:` is missed only at the end."""
    written = _SKIP.sub("", text)
    found = re.search(r"(\w+)\?\.(\w+)", written)
    return f"did you mean '{found[1]}.?{found[2]}'?" if found and ":" not in written else ""


def _short(word: str) -> str:
    return word if len(word) <= 40 else word[:37] + "..."


def _wanted(expected: frozenset[str]) -> str:
    if expected & {"IDENT", "SELECTOR"} and "RPAR" not in expected:
        return ": a value is expected" if "INT" in expected else ": a name is expected"
    if "OPERATOR" in expected:
        return ": an operator is expected"
    return ""


def _unclosed(text: str) -> list[int]:
    """Where the brackets are that nothing closes."""
    open_: list[int] = []
    for found in _SKIP.finditer(text):
        sign = found[0]
        if sign in _OPEN:
            open_.append(found.start())
        elif sign in _PAIRS and open_ and text[open_[-1]] == _PAIRS[sign]:
            open_.pop()
    return open_


def _opened(text: str, unclosed: list[int]) -> str:
    if not unclosed:
        return ""
    at = unclosed[-1]
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return f"'{text[at]}' was opened at {line}:{column} and is not closed"


def _closed_too_much(text: str, at: int) -> str:
    open_ = _unclosed(text[:at])
    if not open_:
        return f"no '{_PAIRS[text[at]]}' is open here"
    if text[open_[-1]] == _PAIRS[text[at]]:
        return ""
    return _opened(text, open_)
