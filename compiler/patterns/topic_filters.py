"""MQTT topic filters: which topics each matches, and what two of them have in common (MQTT 5.0, section 4.7).

A topic is levels, separated by `/`. In a filter `+` stands for any one level, and `#`, which is last, for any number of
levels, none included. A filter that begins with either matches no topic that begins with `$`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

ONE, REST = "+", "#"
"""The wildcards: one level, and all that follows."""
LONGEST = 65_535
"""Bytes of a topic name or filter (MQTT 5.0, section 4.7.3)."""
_SHARE, _QUEUE = "$share", "$queue"


class TopicError(ValueError):
    """A text that is no topic name, or no topic filter. `offset` is the code point that is wrong."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Subscription:
    """A topic filter, and the group of subscribers that share its messages; empty where it is not shared."""

    filter: str
    group: str = ""


def check_topic_name(text: str) -> None:
    """Checks a topic name: what a message is published to.

    Raises:
        TopicError: where it is none.
    """
    _check_text(text, "a topic")
    wildcard = re.search(r"[+#]", text)
    if wildcard is not None:
        raise TopicError(f"a topic has no '{wildcard[0]}', which only a filter may have", wildcard.start())


def subscription(text: str) -> Subscription:
    """The filter and the group of what a client subscribes to: `$share/g/t/#` is `t/#`, shared by the group `g`.

    EMQX has `$queue/t`, too, for the group `$queue` (MQTT 5.0, section 4.8.2; EMQX, "Shared Subscription").

    Raises:
        TopicError: where it is no topic filter.
    """
    first, slash, rest = text.partition("/")
    if not slash or first not in (_SHARE, _QUEUE):
        check_topic_filter(text)
        return Subscription(text)
    if first == _QUEUE:
        group, at = _QUEUE, len(_QUEUE) + 1
    else:
        group, slash, rest = rest.partition("/")
        at = len(_SHARE) + len(group) + 2
        if not slash:
            raise TopicError("a shared subscription is '$share/GROUP/FILTER', and the filter is missing", len(text))
        if rest and not group:
            raise TopicError("the group of a shared subscription is empty", len(_SHARE) + 1)
        wildcard = re.search(r"[+#]", group)
        if wildcard is not None:
            at -= 1 + len(group) - wildcard.start()
            raise TopicError(f"the group of a shared subscription has no '{wildcard[0]}'", at)
    if not rest:
        raise TopicError("the filter of a shared subscription is empty", at)
    if rest.split("/", 1)[0] == _SHARE:
        raise TopicError("a shared subscription is not shared again", at)
    try:
        check_topic_filter(rest)
    except TopicError as e:
        raise TopicError(str(e), at + e.offset) from None
    return Subscription(rest, group)


def check_topic_filter(text: str) -> None:
    """Checks a topic filter that is not one of a shared subscription.

    Raises:
        TopicError: where it is none.
    """
    _check_text(text, "a topic filter")
    levels, at = text.split("/"), 0
    for number, level in enumerate(levels, 1):
        for wildcard in (ONE, REST):
            if wildcard in level and level != wildcard:
                message = f"'{wildcard}' is a level of its own in a topic filter, as in 'a/{wildcard}'"
                raise TopicError(message, at + level.index(wildcard))
        if level == REST and number < len(levels):
            raise TopicError("'#' is the last level of a topic filter", at)
        at += len(level) + 1


def _check_text(text: str, what: str) -> None:
    if not text:
        raise TopicError(f"{what} is not empty")
    if "\0" in text:
        raise TopicError(f"{what} has no character U+0000", text.index("\0"))
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > LONGEST:
        raise TopicError(f"{what} has at most {LONGEST:,} bytes, this has {size:,}", len(text))


def matches(topic: str, filter_: str) -> bool:
    """Whether a topic is one that a filter matches. The filter is one without a group, and not checked."""
    return _pattern(filter_).match(topic) is not None


def pattern_of(filter_: str, end: str = r"\z") -> str:
    """A pattern that finds something in the topics that the filter matches; `end` is how the end of a text is written.

    So it is one of RE2, and of Python with the other `end`.
    """
    levels = filter_.split("/")
    rest = levels[-1] == REST
    words = levels[:-1] if rest else levels
    if not words:
        return rf"\A(?:[^$]|{end})"
    parts = ["[^/]*" if word == ONE else _SIGNS.sub(r"\\\g<0>", word) for word in words]
    if words[0] == ONE:
        parts[0] = "(?:[^/$][^/]*)?"
    return rf"\A{'/'.join(parts)}{f'(?:/|{end})' if rest else end}"


_SIGNS = re.compile(r"[\\.*?()|\[\]{}^$]")
"""What means something in a pattern, and may stand in a level."""


@lru_cache(maxsize=4096)
def _pattern(filter_: str) -> re.Pattern[str]:
    return re.compile(pattern_of(filter_, r"\Z"))


def is_filter(text: str) -> bool:
    """Whether the text is a topic filter, which is not that of a shared subscription."""
    try:
        check_topic_filter(text)
    except TopicError:
        return False
    return True


def is_wild(filter_: str) -> bool:
    """Whether a topic filter has a wildcard; without one it matches the topic that it is."""
    return ONE in filter_ or REST in filter_


def includes(wider: str, filter_: str) -> bool:
    """Whether a filter matches all that another matches."""
    return _includes(wider.split("/"), filter_.split("/")) and not (_is_open(wider) and filter_.startswith("$"))


def _includes(wider: Sequence[str], levels: Sequence[str]) -> bool:
    for number, word in enumerate(wider):
        if word == REST:
            return True
        if number >= len(levels):
            return False
        if levels[number] == REST:  # it has fewer levels, too, unless what is wider has any number of them there
            return number == 0 and word == ONE and wider[1:] == [REST]
        if word not in (ONE, levels[number]):
            return False
    return len(levels) == len(wider)


def intersection(a: str, b: str) -> str | None:
    """The filter that matches what both match; None where there is no such topic."""
    if (_is_open(a) and b.startswith("$")) or (_is_open(b) and a.startswith("$")):
        return None
    one, other = a.split("/"), b.split("/")
    found: list[str] = []
    for number in range(max(len(one), len(other)) + 1):
        left, right = (levels[number] if number < len(levels) else None for levels in (one, other))
        if REST in (left, right):
            return "/".join(found + (other if left == REST else one)[number:])
        if left is None or right is None:
            return "/".join(found) if left is right else None
        if left != right and ONE not in (left, right):
            return None
        found.append(right if left == ONE else left)
    return None


def union(filters: Iterable[str]) -> list[str]:
    """The filters, sorted, without those whose topics another one matches, too."""
    kept: list[str] = []
    for filter_ in filters:
        if any(includes(known, filter_) for known in kept):
            continue
        kept = [known for known in kept if not includes(filter_, known)]
        kept.append(filter_)
    return sorted(kept)


def _is_open(filter_: str) -> bool:
    """Whether a filter begins with a wildcard, and so matches nothing that begins with `$`."""
    return filter_.startswith((ONE, REST))
