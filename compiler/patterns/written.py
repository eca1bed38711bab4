"""What is written in a filter as a pattern or a topic filter, and is none."""

from __future__ import annotations

from collections.abc import Sequence

from ..diagnostics import Diagnostic
from ..functions import ALL
from ..literals import places, string_value
from ..nodes import Expr, Lit
from ..source import Source, Span
from .re2_patterns import PATTERN_ARGUMENT, refusal
from .topic_filters import TopicError, check_topic_filter

TOPIC_FILTER_ARGUMENT = {row.function: row.topic_filter for row in ALL if row.topic_filter is not None}
"""The functions that take a topic filter of MQTT, and which argument it is, the receiver counted."""


def texts_that_are_wrong(function: str, args: Sequence[Expr], source: Source) -> list[Diagnostic]:
    """TRI208 and TRI214, at the character that is wrong, for a call with these arguments, the receiver counted."""
    found = []
    pattern = _text(args, PATTERN_ARGUMENT.get(function))
    if pattern is not None:
        found += _pattern(pattern, source)
    filter_ = _text(args, TOPIC_FILTER_ARGUMENT.get(function))
    if filter_ is not None:
        found += _topic_filter(filter_, source)
    return found


def _text(args: Sequence[Expr], number: int | None) -> Lit | None:
    """The argument, where it is a text that is written there."""
    e = args[number] if number is not None and number < len(args) else None
    return e if isinstance(e, Lit) and isinstance(e.value, str) else None


def _pattern(e: Lit, source: Source) -> list[Diagnostic]:
    refused = refusal(str(e.value))
    if refused is None:
        return []
    at = _inside(e, refused.offset, source)
    where = "" if at is not None else f", at character {refused.offset + 1} of the pattern"
    message = f"not an RE2 pattern: {refused.message}{where}"
    help_ = "see RE2's syntax: no look-around, no back-references"
    return [Diagnostic("TRI208", message, source, at or e.span, help_)]


def _topic_filter(e: Lit, source: Source) -> list[Diagnostic]:
    try:
        check_topic_filter(str(e.value))
    except TopicError as wrong:
        at = _inside(e, wrong.offset, source) or e.span
        help_ = "'t/+/state' has any one level for '+', and 't/#' is 't' and all that is below it"
        return [Diagnostic("TRI214", f"not a topic filter: {wrong}", source, at, help_)]
    return []


def _inside(e: Lit, offset: int, source: Source) -> Span | None:
    """Where a character of a string literal stands in the source; None for a literal that is not written there."""
    whole = source.text[e.span.start : e.span.end]
    text = whole.strip("() \t\r\n\f")
    try:
        if string_value(text) != e.value:
            return None
    except ValueError:  # not the text of a string literal
        return None
    begin = e.span.start + whole.index(text)
    found = [begin + place for place in places(text)]
    return Span(found[offset], found[offset + 1]) if offset + 1 < len(found) else None
