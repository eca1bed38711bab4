"""Topic filters that are written in the filter, as comparisons and patterns: what indexes and Spark know.

Exact with errors: of a value that is no text the pattern errs as the topic filter does.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace

from ..celtypes import STRING, CelType
from ..limits import Limits, over_size
from ..nodes import EQUALS, NOT, Call, Expr, Ident, Lit, Select, conjunction, disjunction, string, transform
from ..patterns.topic_filters import ONE, REST, is_filter, pattern_of
from ..patterns.written import TOPIC_FILTER_ARGUMENT
from ..source import Source

_SIZES = Limits(text=sys.maxsize, items=sys.maxsize)


def topics(e: Expr, types: Mapping[int, CelType]) -> Expr:
    """`e` without topic filters that are known; as it is, where that would have more parts or levels than a filter."""
    changed = transform(e, lambda node: _change(node, types))
    return e if over_size(changed, Source(""), _SIZES) else changed


def _change(e: Expr, types: Mapping[int, CelType]) -> Expr:
    match e:
        case Call(function=function, target=topic, args=(Lit(value=str(filter_)),)) if (
            topic is not None and function in TOPIC_FILTER_ARGUMENT and is_filter(filter_)
        ):
            plain = types.get(topic.id) == STRING and isinstance(topic, (Ident, Select))
            return _compared(e, topic, filter_) if plain else _matched(e, topic, filter_)
        case _:
            return e


def _compared(e: Call, topic: Expr, filter_: str) -> Expr:
    """Of a text that may be written several times."""
    words = filter_.split("/")
    rest = words[-1] == REST
    if filter_ == REST:
        return replace(e, function=NOT, target=None, args=(_begins(e, topic, "$"),), id=0)
    plain = words[: words.index(ONE)] if ONE in words else words[:-1] if rest else words
    if plain == words:
        return _equals(e, topic, filter_)
    if rest and len(plain) == len(words) - 1:
        start = "/".join(plain)
        return disjunction((_equals(e, topic, start), _begins(e, topic, f"{start}/")), e.span)
    matched = _matched(e, topic, filter_)
    start = "/".join([*plain, ""])
    return conjunction((_begins(e, topic, start), matched), e.span) if plain else matched


def _equals(e: Call, topic: Expr, text: str) -> Call:
    return Call(EQUALS, (topic, string(text, e.span)), span=e.span)


def _begins(e: Call, topic: Expr, text: str) -> Call:
    return Call("startsWith", (string(text, e.span),), topic, span=e.span)


def _matched(e: Call, topic: Expr, filter_: str) -> Call:
    return Call("matches", (string(pattern_of(filter_), e.span),), topic, span=e.span)
