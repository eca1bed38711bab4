"""What a table, and a topic of Kafka, may be called."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..failure import RunError
from .options import PlaceOptions
from .place import Place, Use

_PART = r"(?:\w+|`(?:[^`]|``)+`)"
_TABLE = re.compile(rf"{_PART}(?:\.{_PART})*")
_TOPIC = re.compile(r"[a-zA-Z0-9._-]+")
_LONGEST_TOPIC = 249


def check_tables(places: Sequence[Place], options: PlaceOptions, use: Use) -> None:
    """Raises RunError (TRI613) for what is no name of a table: parts with dots between them, each a word or quoted."""
    for place in places:
        if not _TABLE.fullmatch(place.name):
            help_ = "write table:NAME, with the catalog's and the schema's name before it, parts of other signs in backquotes"
            raise RunError("TRI613", f"'{place.name}' is not a name of a table", place.text, help_)


def topics_of(place: Place) -> tuple[str, ...]:
    """The topics that a place names.

    Raises:
        RunError: TRI613 where none is named, for what no topic of Kafka is called, or a topic that is named twice.
    """
    if not place.name:
        help_ = "write kafka:TOPIC or kafka:TOPIC,TOPIC; kafka: alone is for --out with --topic-from"
        raise RunError("TRI613", f"nothing follows '{place.kind}:'", place.text, help_)
    topics = tuple(place.name.split(","))
    for i, topic in enumerate(topics):
        why = _unfit(topic)
        if not why and topic in topics[:i]:
            why = f"topic '{topic}' is named twice"
        if why:
            raise RunError("TRI613", why, place.text, "write kafka:TOPIC or kafka:TOPIC,TOPIC without spaces")
    return topics


def _unfit(topic: str) -> str:
    """Why no topic is called so; empty where one may be."""
    if not topic:
        return "the name of a topic is empty"
    if topic in (".", ".."):
        return f"no topic is called '{topic}'"
    if len(topic) > _LONGEST_TOPIC:
        return f"the name of a topic has {len(topic)} characters, and at most {_LONGEST_TOPIC} are allowed"
    if not _TOPIC.fullmatch(topic):
        return f"'{topic}' is not a name of a topic: letters of ASCII, digits, '.', '_' and '-' are allowed"
    return ""
