"""The grammars, and the parser made from each."""

from __future__ import annotations

from importlib import resources
from typing import Any

__all__ = ["cel_parser", "cesql_parser", "rule_sql_parser"]


def cel_parser(transformer: Any) -> Any:
    """The LALR parser of CEL, a `lark.Lark` that calls `transformer` at each reduction with all tokens."""
    return _parser("cel.lark", transformer)


def cesql_parser(transformer: Any) -> Any:
    """The parser of CloudEvents SQL, of the same kind."""
    return _parser("cesql.lark", transformer)


def rule_sql_parser(transformer: Any) -> Any:
    """The parser of EMQX's rule SQL, of the same kind."""
    return _parser("rule_sql.lark", transformer)


def _parser(grammar: str, transformer: Any) -> Any:
    from lark import Lark

    from .lexer import StateLexer

    text = resources.files(__package__).joinpath(grammar).read_text("utf-8")
    return Lark(
        text, parser="lalr", lexer=StateLexer, transformer=transformer, keep_all_tokens=True, maybe_placeholders=False
    )
