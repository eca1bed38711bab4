r"""Characters written as two `\u` escapes, as JSON writes those beyond U+FFFF: "\ud83d\ude00" is one character.

YAML has no such pairs, and its reader refuses each half. So before a text is read the halves are masked as escapes of
other characters, of the same length, which the text does not have; in the values that were read they are put back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..source import Span

_ESCAPE = re.compile(r"\\(?:u([dD][89a-fA-F])|.)", re.DOTALL)
_USED = re.compile(r"\\(?:u|U0000)([0-9a-fA-F]{2})")
_HALF = re.compile("[\ud800-\udfff]")
_WRITTEN = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_BLOCKS = (*range(0xE0, 0xF9), *range(0x30, 0xD8))
"""Blocks of 256 characters that halves may be masked as, those of private use first; their escapes are all valid."""


@dataclass(frozen=True, slots=True)
class Mask:
    """How the halves of a text are masked. `prefixes` has for two digits of an escape those that stand for them."""

    text: str
    prefixes: Mapping[str, str]

    def unmasked(self, value: str, style: str) -> str:
        r"""A scalar's value as it is without the mask, with pairs joined; of a style without escapes `\u` is text."""
        if value.isascii() if style == '"' else "\\u" not in value:
            return value
        for prefix, mask in self.prefixes.items():
            if style == '"':
                block = int(mask, 16) << 8
                found = re.compile(f"[{chr(block)}-{chr(block + 0xFF)}]")
                high = int(prefix, 16) << 8
                value = found.sub(lambda c, high=high: chr(high | (ord(c[0]) & 0xFF)), value)  # type: ignore[misc]
            else:
                value = value.replace(f"\\u{mask}", f"\\u{prefix}")
        return joined(value) if style == '"' else value


def masked(text: str) -> Mask | None:
    """The mask for a text; None where it has no halves, or has characters of all blocks, so that none is left."""
    if "\\u" not in text:
        return None
    prefixes = sorted(set(_ESCAPE.findall(text)) - {""})
    if not prefixes:
        return None
    used = {ord(c) >> 8 for c in set(text)} | {int(digits, 16) for digits in _USED.findall(text)}
    free = [f"{block:02x}" for block in _BLOCKS if block not in used]
    if len(free) < len(prefixes):
        return None
    masks = dict(zip(prefixes, free, strict=False))
    return Mask(_ESCAPE.sub(lambda found: f"\\u{masks[found[1]]}" if found[1] else found[0], text), masks)


def joined(value: str) -> str:
    """The value with each pair of halves as the character that it stands for; a half without the other stays."""
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass") if halved(value) else value


def halved(value: str) -> bool:
    """Whether there is a half in the value."""
    return _HALF.search(value) is not None


def lone(text: str, start: int = 0, end: int | None = None) -> Span | None:
    r"""Where the first escape of a half without the other is, in a part of a text whose `\` begin escapes."""
    halves = _WRITTEN.finditer(text, start, len(text) if end is None else end)
    return next((Span(found.start(), found.end()) for found in halves if found[1]), None)
