"""Patterns of LIKE (specification, section 3.4.3) as tests of a text."""

from __future__ import annotations

import re
from enum import StrEnum

from ...nodes import EQUALS, NOT, NOT_EQUALS, Call, Expr, string
from ...source import Span
from ..predicates import quote_pattern
from .logic import FALSE, TRUE

_TOKEN = re.compile(r"\\[%_]|[%_]|(?:[^%_\\]|\\(?![%_]))+", re.DOTALL)


class Sign(StrEnum):
    """What stands for any one character, and for any number of them."""

    ONE = "."
    ANY = ".*"


def like_test(subject: Expr, pattern: str, span: Span, literal: Span) -> tuple[Expr, Expr]:
    """That a text matches, and that it does not."""
    match parts_of(pattern):
        case []:
            return _both(Call(EQUALS, (subject, string("", literal)), span=span))
        case [str(text)] if not isinstance(text, Sign):
            return _both(Call(EQUALS, (subject, string(text, literal)), span=span))
        case [Sign.ANY]:
            return TRUE, FALSE
        case [str(text), Sign.ANY] if not isinstance(text, Sign):
            return _both(Call("startsWith", (string(text, literal),), subject, span=span))
        case [Sign.ANY, str(text)] if not isinstance(text, Sign):
            return _both(Call("endsWith", (string(text, literal),), subject, span=span))
        case [Sign.ANY, str(text), Sign.ANY] if not isinstance(text, Sign):
            return _both(Call("contains", (string(text, literal),), subject, span=span))
        case parts:
            body = "".join(part if isinstance(part, Sign) else quote_pattern(part) for part in parts)
            return _both(Call("matches", (string(f"(?s)^{body}$", literal),), subject, span=span))


def _both(test: Call) -> tuple[Expr, Expr]:
    if test.function == EQUALS:
        return test, Call(NOT_EQUALS, test.args, span=test.span)
    return test, Call(NOT, (test,), span=test.span)


def parts_of(pattern: str) -> list[str]:
    """The texts and signs of a pattern; texts are joined, and signs in a row have ANY once, at their end."""
    parts: list[str] = []
    for found in _TOKEN.finditer(pattern):
        sign = {"%": Sign.ANY, "_": Sign.ONE}.get(found[0])
        if sign is None:
            text = found[0][1:] if found[0] in ("\\%", "\\_") else found[0]
            if parts and not isinstance(parts[-1], Sign):
                parts[-1] += text
            else:
                parts.append(text)
        elif parts and parts[-1] is Sign.ANY:
            if sign is Sign.ONE:
                parts.insert(-1, sign)
        else:
            parts.append(sign)
    return parts


def pattern_of(parts: list[str]) -> str:
    """The pattern of LIKE with these parts."""
    signs = {Sign.ONE: "_", Sign.ANY: "%"}
    return "".join(signs[part] if isinstance(part, Sign) else re.sub(r"[%_]", r"\\\g<0>", part) for part in parts)
