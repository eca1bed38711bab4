"""The grammars, and the parser made from each."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

__all__ = ["cel_parser", "cesql_parser", "hocon_lexer", "rule_sql_parser"]


def cel_parser(transformer: Any) -> Any:
    """The LALR parser of CEL, a `lark.Lark` that calls `transformer` at each reduction with all tokens."""
    return _parser("cel.lark", transformer)


def cesql_parser(transformer: Any) -> Any:
    """The parser of CloudEvents SQL, of the same kind."""
    return _parser("cesql.lark", transformer)


def rule_sql_parser(transformer: Any) -> Any:
    """The parser of EMQX's rule SQL, of the same kind."""
    return _parser("rule_sql.lark", transformer)


@cache
def hocon_lexer() -> Any:
    """A `lark.Lark` whose `lex` gives the tokens of HOCON; every text has some."""
    from lark import Lark

    return Lark(_text("hocon.lark"), parser=None, lexer="basic")


def _parser(grammar: str, transformer: Any) -> Any:
    from lark import Lark

    from .lexer import StateLexer

    text = _text(grammar)
    return Lark(
        text, parser="lalr", lexer=StateLexer, transformer=transformer, keep_all_tokens=True, maybe_placeholders=False
    )


def _text(grammar: str) -> str:
    return resources.files(__package__).joinpath(grammar).read_text("utf-8")
