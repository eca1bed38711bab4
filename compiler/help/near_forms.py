"""Times and durations as people write them elsewhere, in the forms that CEL takes."""

from __future__ import annotations

import re

from ..values import durations, rfc3339

_TIME = re.compile(
    r"(\d{4})(?:(?:([-/.])(\d{1,2})(?:\2(\d{1,2}))?|(\d\d)(\d\d))"
    r"(?:(?:[Tt]|\s+)(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:[.,](\d{0,9}))?)?)?"
    r"\s*(Z|z|UTC|GMT|[+-]\d{1,2}(?::?\d\d)?)?)?)?",
    re.ASCII,
)
_SECONDS, _MILLISECONDS = 10, 13
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zµμ]+)\s*,?\s*(?:and\s+)?")
_ISO = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.ASCII)
_UNITS = {
    "w": "w week weeks",
    "d": "d day days",
    "h": "h hr hrs hour hours",
    "m": "m min mins minute minutes",
    "s": "s sec secs second seconds",
    "ms": "ms msec msecs milli millis millisecond milliseconds",
    "us": "us µs μs micro micros microsecond microseconds",
    "ns": "ns nano nanos nanosecond nanoseconds",
}
_UNIT_OF = {word: unit for unit, words in _UNITS.items() for word in words.split()}
_HOURS = {"w": 7 * 24, "d": 24}


def near_time(text: str) -> str:
    """The argument that `timestamp()` takes for the time that is probably meant; empty where that is unknown.

    A time without a zone is taken to be in UTC, a date to begin at midnight, and a number to count seconds or
    milliseconds since 1970.
    """
    text = text.strip()
    if text.isdecimal() and text.isascii() and len(text) in (_SECONDS, _MILLISECONDS):
        return text[:_SECONDS]
    found = _TIME.fullmatch(text)
    if found is None:
        return ""
    year, _, month, day, month_, day_, hour, minute, second, fraction, zone = found.groups()
    date = (year, *(f"{int(part or 1):02d}" for part in (month or month_, day or day_)))
    clock = (f"{int(part or 0):02d}" for part in (hour, minute, second))
    near = f"{'-'.join(date)}T{':'.join(clock)}" + (f".{fraction}" if fraction else "") + _offset(zone or "Z")
    return f'"{near}"' if rfc3339.nanoseconds(near) is not None else ""


def _offset(zone: str) -> str:
    if zone[0] not in "+-":
        return "Z"
    hours, minutes = zone[1:].replace(":", ""), "00"
    if len(hours) > len("00"):
        hours, minutes = hours[:-2], hours[-2:]
    return f"{zone[0]}{int(hours):02d}:{minutes}"


def near_duration(text: str) -> str:
    """The text that `duration()` takes for what is probably meant; empty where that is unknown."""
    text = text.strip()
    sign = "-" if text.startswith("-") else ""
    near = _from_iso(text.lstrip("+-")) or _from_words(text.lstrip("+-").strip().lower())
    return sign + near if near and durations.nanoseconds(sign + near) is not None else ""


def _from_iso(text: str) -> str:
    """`P1DT12H`, as Knative's delivery has it."""
    found = _ISO.fullmatch(text)
    if found is None:
        return ""
    weeks, days, hours, minutes, seconds = found.groups()
    given = sum(int(n or 0) * scale for n, scale in ((weeks, _HOURS["w"]), (days, _HOURS["d"]), (hours, 1)))
    return "".join(f"{n}{unit}" for n, unit in ((given, "h"), (minutes, "m"), (seconds, "s")) if n)


def _from_words(text: str) -> str:
    """`1 day`, `90 minutes`, `1h 30m`; a number alone is of seconds."""
    if re.fullmatch(r"\d+(?:\.\d+)?", text, re.ASCII):
        return f"{text}s"
    near, at = "", 0
    while at < len(text):
        found = _PART.match(text, at)
        unit = _UNIT_OF.get(found[2]) if found else None
        if found is None or unit is None:
            return ""
        number, at = found[1], found.end()
        near += f"{_times(number, _HOURS[unit])}h" if unit in _HOURS else number + unit
    return near


def _times(number: str, hours: int) -> str:
    return f"{float(number) * hours:g}" if "." in number else str(int(number) * hours)
