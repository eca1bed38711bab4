"""The strings of HOCON: what stands between quotes, and where each of its characters is in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?|(.))")
_INDENTED = re.compile(r"~\r?\n")


@dataclass(frozen=True)
class Problem:
    """What is wrong with an escape, and where. `kept` says that it stands for itself, as EMQX takes it."""

    start: int
    end: int
    written: str
    kept: bool


def unescaped(text: str, start: int, end: int) -> tuple[str, list[Problem]]:
    """The string between the double quotes at `start` and `end - 1`; a lone surrogate is a problem and is left out."""
    body = text[start + 1 : end - 1]
    if "\\" not in body:
        return body, []
    problems: list[Problem] = []

    def value(match: re.Match[str]) -> str:
        at = start + 1 + match.start()
        code, low, letter = match.groups()
        if letter is not None:
            if letter not in _ESCAPES:
                problems.append(Problem(at, at + 2, match[0], kept=True))
            return _ESCAPES.get(letter, match[0])
        number = int(code, 16)
        if 0xD800 <= number < 0xDC00 and low is not None:
            return chr(0x10000 + ((number - 0xD800) << 10) + int(low, 16) - 0xDC00)
        if 0xD800 <= number < 0xE000 or low is not None:  # half a pair alone is no character
            problems.append(Problem(at, at + len(match[0]), match[0], kept=False))
            return ""
        return chr(number)

    return _ESCAPE.sub(value, body), problems


def triple(text: str, start: int, end: int) -> tuple[str, tuple[int, ...]]:
    """The string between three double quotes, and the offset of each of its characters, and of its end.

    After `~` and a line break it is EMQX's indented form: the spaces that all lines have in common are left out, and a
    `~` before the last quotes.
    """
    first, last = start + 3, end - 3
    body = text[first:last]
    if not body.startswith("~"):
        return body, tuple(range(first, last + 1))
    if body.endswith("~") and len(body) > 1:
        last -= 1
    begun = _INDENTED.match(body)
    if begun is None:
        return text[first + 1 : last], tuple(range(first + 1, last + 1))
    return _dedented(text, first + begun.end(), last)


def _dedented(text: str, first: int, last: int) -> tuple[str, tuple[int, ...]]:
    lines = text[first:last].split("\n")
    counted = [line for line in lines if line.strip(" \r")]
    indent = min((len(line) - len(line.lstrip(" ")) for line in counted), default=0)
    parts: list[str] = []
    places: list[int] = []
    at = first
    for number, line in enumerate(lines, 1):
        spaces = len(line) - len(line.lstrip(" "))
        cut = min(indent, spaces)
        ended = "\n" if number < len(lines) else ""
        parts.append(line[cut:] + ended)
        places.extend(range(at + cut, at + len(line) + len(ended)))
        at += len(line) + 1
    return "".join(parts), (*places, last)
