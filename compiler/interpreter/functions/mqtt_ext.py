"""What is asked of MQTT messages."""

from __future__ import annotations

from functools import lru_cache

from ...patterns.topic_filters import TopicError, check_topic_filter, matches
from ...values.cel import CelError
from ..registry import implements


@implements("string_matches_filter_string")
def _matches_filter(topic: str, filter_: str) -> bool:
    wrong = _wrong(filter_)
    if wrong:
        raise CelError(f"not a topic filter: {wrong}")
    return matches(topic, filter_)


@lru_cache(maxsize=1024)
def _wrong(filter_: str) -> str:
    try:
        check_topic_filter(filter_)
    except TopicError as e:
        return str(e)
    return ""
