"""How an operator's function name is written in an expression."""

from __future__ import annotations

_SPELLINGS = {"@in": "in", "_[_]": "[]", "_?_:_": "?:", "_[?_]": "[?]"}


def spelling(function: str) -> str:
    """`_==_` as `==`, `@in` as `in`; a function's name as it is."""
    return _SPELLINGS.get(function) or function.strip("_") or function
