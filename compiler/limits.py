"""How large a filter may be, and how large its events are taken to be. What is over a limit is refused."""

from __future__ import annotations

from dataclasses import dataclass

from .diagnostics import Diagnostic
from .nodes import Expr, ListExpr, MapExpr, children, walk
from .source import Source, Span

MAX_TEXT = 100_000
"""Code points in one expression."""
MAX_DEPTH = 100
"""Levels of the syntax tree: nested calls, conditions, selections."""
MAX_NODES = 20_000
"""Nodes of the syntax tree."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one filter may be, and the sizes that its cost is estimated from.

    `text`, `depth` and `nodes` bound the expression (code points, levels, parts). The latter two can only be made
    stricter than their defaults, which keep the parser from recursing too far. `items` bounds one list or map written in
    it.
    `cost` bounds the estimated steps for one event, and `built` the characters and parts of one value that the filter
    makes from it. `assumed_payload`, `assumed_text` and `assumed_items` are the characters of one payload, of one
    string, and the elements of one list, where nothing more is known. They are not enforced on events.
    """

    text: int = MAX_TEXT
    depth: int = MAX_DEPTH
    nodes: int = MAX_NODES
    items: int = 10_000
    cost: int = 20_000_000_000
    built: int = 250_000_000
    assumed_payload: int = 1_000_000
    assumed_text: int = 100_000
    assumed_items: int = 2_000


DEFAULT = Limits()


def over_text(source: Source, limits: Limits) -> tuple[Diagnostic, ...]:
    """TRI102 where a text is longer than the limits allow, before any of it is read."""
    if len(source.text) <= limits.text:
        return ()
    message = f"the expression has {len(source.text):,} characters; at most {limits.text:,} are read"
    return (Diagnostic("TRI102", message, source, Span(0, 1)),)


def over_size(e: Expr, source: Source, limits: Limits) -> tuple[Diagnostic, ...]:
    """TRI102 where an expression is larger than the limits allow; at most one."""
    text = e.span.end - e.span.start
    if text > limits.text:
        return (_refused(f"the expression has {text:,} characters; at most {limits.text:,} are read", e, source),)
    levels, level = [], [e]
    while level:
        levels.append(level)
        level = [child for node in level for child in children(node)]
    if sum(map(len, levels)) > limits.nodes:
        return (_refused(f"the expression has more than {limits.nodes:,} parts", e, source),)
    if len(levels) > limits.depth:
        deep = levels[limits.depth][0]
        return (_refused(f"the expression is nested deeper than {limits.depth} levels", deep, source),)
    if any(len(level) > limits.items for level in levels):  # else there is no such list
        return _over_long(e, source, limits)
    return ()


def _over_long(e: Expr, source: Source, limits: Limits) -> tuple[Diagnostic, ...]:
    """TRI102 for the first list or map of too many items."""
    for node in walk(e):
        parts = node.items if isinstance(node, ListExpr) else node.entries if isinstance(node, MapExpr) else ()
        if len(parts) > limits.items:
            message = f"a list or map of {len(parts):,} items is written out; the limit is {limits.items:,}"
            return (_refused(message, node, source),)
    return ()


def _refused(message: str, at: Expr, source: Source) -> Diagnostic:
    return Diagnostic("TRI102", message, source, at.span)
