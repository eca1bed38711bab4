"""The grammars, and the parser made from each."""

from __future__ import annotations

from importlib import resources
from typing import Any

__all__ = ["cel_parser"]


def cel_parser(transformer: Any) -> Any:
    """The LALR parser of CEL, a `lark.Lark` that calls `transformer` at each reduction with all tokens."""
    from lark import Lark

    from .lexer import StateLexer

    text = resources.files(__package__).joinpath("cel.lark").read_text("utf-8")
    return Lark(
        text, parser="lalr", lexer=StateLexer, transformer=transformer, keep_all_tokens=True, maybe_placeholders=False
    )
