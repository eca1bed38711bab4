"""The strings extension: positions count code points, from 0 (cel-go `ext.Strings`)."""

from __future__ import annotations

import string

from ...values.cel import CelError, Value, kind
from ..operators import MAX_SIZE
from ..registry import implements
from .formatting import format_text

_WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
"""White_Space of Unicode; Python's own `strip` takes U+001C to U+001F as well."""
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)
_ESCAPES = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


def _bounded(length: int) -> None:
    """Refuses a text before it is made.

    Raises:
        CelError: for more than `MAX_SIZE` code points.
    """
    if length > MAX_SIZE:
        raise CelError(f"a text of more than {MAX_SIZE:,} code points")


def _within(text: str, position: int) -> int:
    if 0 <= position <= len(text):
        return position
    raise CelError(f"index out of range: {position}")


@implements("string_char_at_int")
def _char_at(text: str, position: int) -> str:
    start = _within(text, position)
    return text[start : start + 1]


@implements("string_index_of_string", "string_index_of_string_int")
def _index_of(text: str, part: str, start: int = 0) -> int:
    return text.find(part, _within(text, start))


@implements("string_last_index_of_string")
def _last_index_of(text: str, part: str) -> int:
    return text.rfind(part)


@implements("string_last_index_of_string_int")
def _last_index_of_from(text: str, part: str, start: int) -> int:
    # `start` is the last position at which the part may begin.
    return text.rfind(part, 0, _within(text, start) + len(part))


@implements("string_lower_ascii")
def _lower_ascii(text: str) -> str:
    return text.translate(_LOWER)


@implements("string_upper_ascii")
def _upper_ascii(text: str) -> str:
    return text.translate(_UPPER)


@implements("string_replace_string_string", "string_replace_string_string_int")
def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    found = text.count(old)
    times = found if limit < 0 else min(found, limit)
    _bounded(len(text) + times * (len(new) - len(old)))
    return text.replace(old, new, times)


@implements("string_reverse")
def _reverse(text: str) -> str:
    return text[::-1]


@implements("string_split_string", "string_split_string_int")
def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


@implements("string_substring_int")
def _substring_from(text: str, start: int) -> str:
    return text[_within(text, start) :]


@implements("string_substring_int_int")
def _substring(text: str, start: int, end: int) -> str:
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    return text[_within(text, start) : _within(text, end)]


@implements("string_trim")
def _trim(text: str) -> str:
    return text.strip(_WHITE)


@implements("list_join", "list_join_string")
def _join(parts: list[Value], separator: str = "") -> str:
    for part in parts:
        if not isinstance(part, str):
            raise CelError(f"no such overload: join of a list that holds a value of type {kind(part)}")
    _bounded(sum(map(len, parts)) + len(separator) * max(0, len(parts) - 1))
    return separator.join(parts)


@implements("strings_quote")
def _quote(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


implements("string_format")(format_text)
