"""CEL literals: their text to their value, and back."""

from __future__ import annotations

import re
import unicodedata

_INT_MAX, _UINT_MAX = 2**63 - 1, 2**64 - 1
_SIMPLE = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_SIMPLE |= {c: ord(c) for c in "\\?\"'`"}
_ESCAPE = re.compile(
    r"\\(?:([xX][0-9a-fA-F]{2})|(u[0-9a-fA-F]{4})|(U[0-9a-fA-F]{8})|([0-3][0-7]{2})|(.|\n|\Z))", re.DOTALL
)
_NEWLINES = re.compile(r"\r\n?")
_RAW = re.compile(r"\r\n|.", re.DOTALL)
_COOKED = re.compile(rf"{_ESCAPE.pattern}|\r\n|.", re.DOTALL)


INT_RANGE = "an int is at least -9223372036854775808 and at most 9223372036854775807"


class BadLiteral(ValueError):
    """A literal without a value: `start` and `end` are where in its text, the message says why."""

    def __init__(self, message: str, start: int = 0, end: int | None = None) -> None:
        super().__init__(message)
        self.start, self.end = start, end


def int_value(text: str) -> int:
    """An int literal's value.

    Raises:
        BadLiteral: out of the range of int64.
    """
    value = _whole(text)
    if value > _INT_MAX:
        raise BadLiteral(INT_RANGE)
    return value


def is_int_min(text: str) -> bool:
    """Whether the literal is 2^63, which only a minus before it makes an int."""
    return _whole(text) == _INT_MAX + 1


def _whole(text: str) -> int:
    hexadecimal = text[:2].lower() == "0x"
    digits = (text[2:] if hexadecimal else text).lstrip("0") or "0"
    return int(digits, 16 if hexadecimal else 10) if len(digits) <= 20 else _UINT_MAX + 1


def uint_value(text: str) -> int:
    """A uint literal's value.

    Raises:
        BadLiteral: out of the range of uint64.
    """
    value = _whole(text[:-1])
    if value > _UINT_MAX:
        raise BadLiteral("a uint is at most 18446744073709551615")
    return value


def string_value(text: str) -> str:
    """A string literal's value; text is the literal with prefix and quotes.

    Raises:
        BadLiteral: for an escape that CEL does not have, or one that is no Unicode scalar value.
    """
    prefix, start, end = _parts(text)
    body = text[start:end]
    if "\r" in body:
        body = _NEWLINES.sub("\n", body)
    if "r" in prefix or "\\" not in body:
        return body
    out = []
    at = 0
    for found in _ESCAPE.finditer(body):
        out.append(body[at : found.start()])
        out.append(chr(_code_point(found, start)))
        at = found.end()
    return "".join((*out, body[at:]))


def places(text: str) -> tuple[int, ...]:
    """Where each code point of a string literal's value begins in its text, and where the last one ends."""
    prefix, start, end = _parts(text)
    token = _RAW if "r" in prefix else _COOKED
    return (*(found.start() for found in token.finditer(text, start, end)), end)


def bytes_value(text: str) -> bytes:
    """A bytes literal's value: escapes \\x and octal are bytes, everything else UTF-8.

    Raises:
        BadLiteral: for an escape that CEL does not have, and for \\u and \\U.
    """
    prefix, start, end = _parts(text)
    body = _NEWLINES.sub("\n", text[start:end])
    if "r" in prefix:
        return body.encode()
    out = bytearray()
    at = 0
    for found in _ESCAPE.finditer(body):
        out += body[at : found.start()].encode()
        if found[2] or found[3]:
            raise BadLiteral("bytes have no \\u or \\U escapes", start + found.start(), start + found.end())
        out.append(_code_point(found, start))
        at = found.end()
    return bytes(out + body[at:].encode())


def _parts(text: str) -> tuple[str, int, int]:
    quote = min(i for i in (text.find("'"), text.find('"')) if i >= 0)
    width = 3 if text[quote : quote + 3] in ("'''", '"""') and len(text) >= quote + 6 else 1
    return text[:quote].lower(), quote + width, len(text) - width


def _code_point(found: re.Match[str], start: int) -> int:
    at = (start + found.start(), start + found.end())
    hexadecimal = found[1] or found[2] or found[3]
    if hexadecimal:
        value = int(hexadecimal[1:], 16)
    elif found[4]:
        value = int(found[4], 8)
    elif found[5] in _SIMPLE and found[5]:
        return _SIMPLE[found[5]]
    else:
        raise BadLiteral(f"there is no escape '\\{found[5]}'", *at)
    if 0xD800 <= value <= 0xDFFF or value > 0x10FFFF:
        raise BadLiteral("the escape is not a Unicode scalar value", *at)
    return value


_ESCAPES = {7: "\\a", 8: "\\b", 12: "\\f", 10: "\\n", 13: "\\r", 9: "\\t", 11: "\\v", 92: "\\\\", 34: '\\"'}


def quoted(value: str) -> str:
    """A string as a CEL literal in which every character is visible and in its place."""
    return '"' + "".join(map(_shown, value)) + '"'


def quoted_bytes(value: bytes) -> str:
    """Bytes as a CEL literal."""
    shown = (_ESCAPES.get(b) or (chr(b) if 32 <= b < 127 else f"\\x{b:02x}") for b in value)
    return 'b"' + "".join(shown) + '"'


def _shown(c: str) -> str:
    code = ord(c)
    if code in _ESCAPES:
        return _ESCAPES[code]
    if 32 <= code < 127 or (code > 160 and unicodedata.category(c)[0] not in "CZ"):
        return c
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
