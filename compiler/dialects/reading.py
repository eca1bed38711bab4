"""What readers of languages with a grammar share: what was found, how deep and how large a tree is, where its parts are."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from lark import Token

from ..diagnostics import Diagnostic
from ..limits import DEFAULT as LIMITS
from ..limits import MAX_DEPTH, MAX_NODES, over_text
from ..source import Source, Span

_SURROGATE = re.compile("[\ud800-\udfff]")


def unreadable(source: Source) -> tuple[Diagnostic, ...]:
    """Why a text is not read at all: it is too long, or has what is no character. Empty where it is read."""
    too_long = over_text(source, LIMITS)
    if too_long:
        return too_long
    lone = _SURROGATE.search(source.text)
    if lone is None:
        return ()
    return (Diagnostic("TRI103", "a lone surrogate is not a character", source, Span(*lone.span())),)


class Spanned(Protocol):
    """A node that knows where it was written."""

    @property
    def span(self) -> Span:
        """Where that is."""


N = TypeVar("N", bound=Spanned)


class OutgrownError(Exception):
    """The tree has outgrown a limit; nothing more is to be learnt."""


@dataclass
class Run:
    """What one reading has found. The depth of a node is kept by its identity: all nodes live as long as the run.

    `what` is what people call the text, `deepest` the most levels that its tree may have.
    """

    source: Source
    what: str = "expression"
    deepest: int = MAX_DEPTH
    found: list[Diagnostic] = field(default_factory=list)
    depths: dict[int, int] = field(default_factory=dict)
    nodes: list[Any] = field(default_factory=list)

    def report(self, code: str, message: str, span: Span, help_: str = "") -> None:
        """Something is wrong."""
        self.found.append(Diagnostic(code, message, self.source, span, help_))

    def made(self, node: N, *below: Any) -> N:
        """The node, measured. What is below and was not measured is one level.

        Raises:
            OutgrownError: where the tree is too deep or too large; it has been reported.
        """
        depth = 1 + max((self.depths.get(id(child), 1) for child in below), default=0)
        self.depths[id(node)] = depth
        self.nodes.append(node)
        if depth > self.deepest:
            self.report("TRI102", f"the {self.what} is nested deeper than {self.deepest} levels", node.span)
            raise OutgrownError
        if len(self.nodes) > MAX_NODES:
            self.report("TRI102", f"the {self.what} has more than {MAX_NODES:,} parts", node.span)
            raise OutgrownError
        return node


class Active(threading.local):
    """The run of this thread."""

    run: Run


def span_of(parts: Sequence[Any]) -> Span:
    """Where tokens and nodes are, from the first to the last."""
    first, last = parts[0], parts[-1]
    start = first.start_pos if isinstance(first, Token) else first.span.start
    end = last.end_pos if isinstance(last, Token) else last.span.end
    return Span(start or 0, end or 0)


def span_of_token(token: Token) -> Span:
    """Where a token is."""
    return Span(token.start_pos or 0, token.end_pos or 0)
