"""Topic filters of MQTT as SQL: a topic and a filter as texts, or as the levels that they have."""

from __future__ import annotations

from tricel.compiler.patterns.topic_filters import LONGEST, ONE, REST, pattern_of

from . import regex
from .forms import equal, get, is_in, is_null, lambda2, lambda_, unequal
from .tree import Operand, Sql, all_of, any_of, function, integer, literal, not_, operator

EXACT = "="
"""The first item of a filter that has as many levels as its topics; of another it is `REST`: see `parameter`."""
MOST_SEARCHED = 16
"""Levels of a filter that is a pattern; one of more would be a long one, and is compared level by level."""
_ODD = rf"[^/][+#]|[+#][^/]|{REST}/|\x00"
"""What no topic filter has in it, for Java: a wildcard that is no level of its own, `#` that is not last, U+0000."""


def levels(text: Operand) -> Sql:
    """The levels of a topic, or of a filter."""
    return function("split", text, "/")


def matches_literal(topic: Operand, filter_: str) -> Sql:
    """Whether a filter that is written out, and right, matches a topic, which may be written twice."""
    words = filter_.split("/")
    if filter_ == REST:
        return not_(function("startswith", topic, "$"))
    if ONE not in words:
        if words[-1] != REST:
            return equal(topic, filter_)
        parent = filter_.removesuffix(f"/{REST}")
        return any_of([equal(topic, parent), function("startswith", topic, f"{parent}/")])
    start = "".join(f"{word}/" for word in words[: words.index(ONE)])
    planned = regex.plan(pattern_of(filter_)) if len(words) <= MOST_SEARCHED else None
    if isinstance(planned, regex.Java):
        found: Sql = function("rlike", topic, planned.pattern)
    else:
        found = matches(levels(topic), levels(literal(filter_)), topic)
    return all_of([function("startswith", topic, start), found]) if start else found


def matches(of_topic: Operand, of_filter: Operand, topic: Operand) -> Sql:
    """Whether a filter matches a topic, by the levels of both: both may be written several times."""
    several = operator("-", function("array_size", of_filter), integer(1))
    is_open = is_in(get(of_filter, 0), [ONE, REST])
    last = get(of_filter, several)
    sizes = any_of(
        [
            equal(function("array_size", of_topic), function("array_size", of_filter)),
            all_of([equal(last, REST), operator(">=", function("array_size", of_topic), several)]),
        ]
    )
    # The lists are paired up to the longer one: what has no level of the filter beside it is below a `#`.
    alike = lambda2(lambda word, level: any_of([is_null(word), is_in(word, [ONE, REST]), equal(word, level)]))
    each = function("forall", function("zip_with", of_filter, of_topic, alike), lambda_(lambda same: same))
    return all_of([sizes, not_(all_of([is_open, function("startswith", topic, "$")])), each])


def is_filter(text: Operand) -> Sql:
    """Whether a text is a topic filter, which is not that of a shared subscription."""
    short = operator("<=", function("octet_length", text), integer(LONGEST))
    return all_of([unequal(text, ""), short, not_(function("rlike", text, _ODD))])


def parameter(filter_: str) -> tuple[str | None, ...]:
    """A filter as a parameter of `matches_parameter`: what kind it is, and its levels, with None for `+`; no `#` alone."""
    words = filter_.split("/")
    kind = REST if words[-1] == REST else EXACT
    return (kind, *(None if word == ONE else word for word in (words[:-1] if kind == REST else words)))


def matches_parameter(of_topic: Operand, filter_: Operand, most: int) -> Sql:
    """Whether a filter of at most so many levels matches a topic: both are columns of the levels, as `parameter` has them."""
    size = operator("+", function("array_size", of_topic), integer(1))
    sizes = any_of(
        [
            equal(size, function("array_size", filter_)),
            all_of([equal(get(filter_, 0), REST), operator(">", size, function("array_size", filter_))]),
        ]
    )
    hidden = all_of([is_null(get(filter_, 1)), function("startswith", get(of_topic, 0), "$")])
    each = [any_of([is_null(get(filter_, i + 1)), equal(get(filter_, i + 1), get(of_topic, i))]) for i in range(most)]
    return all_of([sizes, *each, not_(hidden)])
