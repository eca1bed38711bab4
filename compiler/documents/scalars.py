"""Scalars: the value of a plain one of YAML, and where in the file each of its characters stands."""

from __future__ import annotations

import re

from ..source import Span
from .hocon_strings import triple

_TRUE = frozenset({"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"})
_FALSE = frozenset({"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"})
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_INT = re.compile(r"[-+]?(?:0b[01_]+|0o?[0-7_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9][0-9_]*|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_NOT_A_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def plain_value(text: str) -> str | int | float | bool | None:
    """The value of a plain scalar. A number too long to be one in Kubernetes is read as a double."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _NOT_A_NUMBER.fullmatch(text):
        return float(text.replace(".", "", 1))
    digits = text.replace("_", "")
    if _INT.fullmatch(text) and len(text) < 100:
        return _integer(digits)
    return float(digits) if _FLOAT.fullmatch(text) else text


def offsets(value: str, style: str, span: Span, text: str) -> tuple[int, ...] | None:
    """Where in `text` every code point of a scalar stands, and its end; None when that is not one to one."""
    start, end = span.start, span.end
    match style:
        case "|":
            return _literal_offsets(value, span, text)
        case "" if text[start:end] == value:
            return tuple(range(start, end + 1))
        case "'" | '"' if text[start + 1 : end - 1] == value:
            return tuple(range(start + 1, end))
        case '"""':
            return triple(text, start, end)[1]
        case _:
            return None


def _integer(text: str) -> int:
    sign, body = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if body[:1] != "0":
        return sign * int(body)
    base = {"b": 2, "x": 16}.get(body[1:2], 8)
    return sign * int(body[2 if body[1:2] in ("b", "o", "x") else 1 :] or "0", base)


def _literal_offsets(value: str, span: Span, text: str) -> tuple[int, ...] | None:
    header = text.find("\n", span.start)
    if header < 0 or not value.strip("\n"):
        return None
    end = text.find("\n", span.end)
    lines = text[header + 1 : len(text) if end < 0 else end + 1].splitlines(keepends=True)
    written = next((line for line in lines if line.strip(" \r\n")), "")
    read = next(line for line in value.split("\n") if line.strip(" ") or not written)
    indent = (len(written) - len(written.lstrip(" "))) - (len(read) - len(read.lstrip(" ")))
    places: list[int] = []
    content: list[str] = []
    start = header + 1
    for line in lines:
        body = line.rstrip("\r\n")[max(indent, 0) :]
        places.extend(range(start + indent, start + indent + len(body)))
        places.append(start + len(line.rstrip("\r\n")))
        content.append(body + "\n")
        start += len(line)
    size = len(value)
    if "".join(content)[:size] != value:
        return None
    return (*places[:size], places[size] if size < len(places) else min(start, len(text)))
