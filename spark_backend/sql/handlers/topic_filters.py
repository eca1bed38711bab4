"""Topic filters of MQTT."""

from __future__ import annotations

from tricel.compiler import celtypes as t
from tricel.compiler.nodes import Expr, Lit
from tricel.compiler.patterns import topic_filters

from .. import Scope, Typed, boolean, topics, variant, when
from ..context import Context
from ..functions import handles
from ..reasons import NotNative, Reason


@handles("string_matches_filter_string")
def _matches_filter(context: Context, args: tuple[Expr, ...], scope: Scope) -> Typed:
    topic = text_of(context, args[0], scope)
    if isinstance(args[1], Lit) and isinstance(args[1].value, str) and topic_filters.is_filter(args[1].value):
        written = args[1].value
        return context.let(topic, lambda x: boolean(topics.matches_literal(x, written)))
    return context.typed_lets([topic, text_of(context, args[1], scope)], lambda o: _computed(context, *o))


def _computed(context: Context, topic: Typed, filter_: Typed) -> Typed:
    """By a filter that is not written out: an error where it is none."""
    of_topic, of_filter = (Typed(topics.levels(text), t.list_of(t.STRING)) for text in (topic, filter_))

    def matched(given: list[Typed]) -> Typed:
        return boolean(when(topics.is_filter(filter_), topics.matches(given[0], given[1], topic)))

    return context.typed_lets([of_topic, of_filter], matched)


def text_of(context: Context, e: Expr, scope: Scope) -> Typed:
    """A value as a text; NULL where it is none.

    Raises:
        NotNative: where it is of another type.
    """
    value = context.lower(e, scope)
    if value.type == t.JSON:
        value = variant.read_as(value, t.STRING) or value
    if value.type != t.STRING:
        raise NotNative(Reason.MATCHES_ON, value.type)
    return value
