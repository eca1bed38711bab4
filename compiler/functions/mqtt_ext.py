"""What is asked of MQTT messages."""

from __future__ import annotations

from ..celtypes import BOOL, STRING
from .model import ERROR, Overload, Reads, Steps

MQTT_EXT = (
    Overload(
        "string_matches_filter_string",
        "matchesFilter",
        (STRING, STRING),
        BOOL,
        "Whether a topic filter of MQTT matches the target, a topic: `+` is one level, `#` at the end any number of them. "
        "A filter that begins with either matches nothing that begins with `$`.",
        (
            ("'t/1/state'.matchesFilter('t/+/#')", True),
            ("'t'.matchesFilter('t/#')", True),
            ("'t/1/state'.matchesFilter('t/+')", False),
            ("'$SYS/broker'.matchesFilter('#')", False),
            ("'t/1'.matchesFilter('t' + '+') || false", ERROR),
        ),
        member=True,
        steps=Steps.SEARCHED,
        reads=Reads.SHALLOW,
        topic_filter=1,
    ),
)
