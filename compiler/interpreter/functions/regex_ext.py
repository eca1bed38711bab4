"""The regex extension: RE2 patterns (cel-go `ext.Regex`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...values.cel import ABSENT, CelError, Optional
from ..operators import MAX_SIZE
from ..registry import implements
from .standard import pattern_of

_REWRITE = re.compile(r"([^\\]+)|(\\.?)", re.DOTALL)


@implements("regex_replace_string_string_string", "regex_replace_string_string_string_int")
def _replace(text: str, pattern: str, rewrite: str, limit: int = -1) -> str:
    if limit == 0:
        return text
    compiled = pattern_of(pattern)
    parts: list[str | int] | None = None
    out: list[str] = []
    size, end = len(text), 0
    for count, found in enumerate(_matches(compiled, text)):
        if count == limit:
            break
        if parts is None:
            parts = _rewrite(rewrite, compiled.groups)
        new = [part if isinstance(part, str) else found.group(part) or "" for part in parts]
        size += sum(map(len, new)) - len(found.group())
        if size > MAX_SIZE:
            raise CelError(f"a text of more than {MAX_SIZE:,} code points")
        out += text[end : found.start()], *new
        end = found.end()
    return "".join((*out, text[end:]))


def _matches(compiled: Any, text: str) -> Iterator[Any]:
    """The matches from left to right; an empty one where the one before it ended does not count."""
    end = -1
    for found in compiled.finditer(text):
        if found.start() < found.end() or found.end() != end:
            yield found
        end = found.end()


def _rewrite(text: str, groups: int) -> list[str | int]:
    """The texts and groups that a replacement is made of: `\\1` is a group, `\\0` the match, `\\\\` a backslash.

    Raises:
        CelError: for any other use of the backslash, and for a group that the pattern does not have.
    """
    parts: list[str | int] = []
    for plain, escaped in _REWRITE.findall(text):
        if plain or escaped == "\\\\":
            parts.append(plain or "\\")
        elif escaped == "\\":
            raise CelError(f"invalid replacement string: '{text[:60]}' \\ not allowed at end")
        elif escaped[1] not in "0123456789":
            raise CelError(f"invalid replacement string: '{text[:60]}' \\ must be followed by a digit or \\")
        elif int(escaped[1]) > groups:
            raise CelError(f"replacement string references group {escaped[1]} but regex has only {groups} group(s)")
        else:
            parts.append(int(escaped[1]))
    return parts


def _pattern_of_one_group(pattern: str) -> Any:
    compiled = pattern_of(pattern)
    if compiled.groups > 1:
        raise CelError(f"regular expression has more than one capturing group: {pattern[:60]!r}")
    return compiled


@implements("regex_extract_string_string")
def _extract(text: str, pattern: str) -> Optional:
    compiled = _pattern_of_one_group(pattern)
    found = compiled.search(text)
    if found is None:
        return ABSENT
    if compiled.groups:
        return Optional(found.group(1)) if found.group(1) else ABSENT
    return Optional(found.group())


@implements("regex_extractAll_string_string")
def _extract_all(text: str, pattern: str) -> list[str]:
    compiled = _pattern_of_one_group(pattern)
    if compiled.groups:
        return [found.group(1) for found in _matches(compiled, text) if found.group(1)]
    return [found.group() for found in _matches(compiled, text)]
