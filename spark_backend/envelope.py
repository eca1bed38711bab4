"""A CloudEvent in structured JSON, read without Spark (CloudEvents 1.0.2, JSON format)."""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import Any

from tricel.compiler.environment import CONTEXT_ATTRIBUTES
from tricel.compiler.rfc3339 import microseconds

_NAME = re.compile(r"[a-z0-9.]+", re.ASCII)
_JSON_MEDIA = re.compile(r"[^;]*(?:/|\+)json\s*(?:;.*)?", re.IGNORECASE | re.DOTALL)
_REQUIRED = tuple(n for n, f in CONTEXT_ATTRIBUTES.fields if f.required)
_TEXTS = frozenset(n for n, _ in CONTEXT_ATTRIBUTES.fields)
_SURROGATE = re.compile("[\ud800-\udfff]")
MAX_NUMBER = 1000
"""Characters of a number in JSON, as Spark's parser bounds them."""


@dataclass(frozen=True, slots=True)
class Event:
    """What a filter sees of an event: `ce` and, where there is a payload, `data`."""

    activation: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Malformed:
    """Why a line is no CloudEvent."""

    reason: str


class _NotAnEventError(ValueError):
    """The reason that a line is no event."""


def read_event(line: bytes) -> Event | Malformed:
    """The event on a line of JSON text, or why there is none."""
    try:
        return Event(_activation(read_json(line.decode("utf-8-sig"))))
    except UnicodeDecodeError:
        return Malformed("not UTF-8")
    except RecursionError:
        return Malformed("nested too deeply")
    except _NotAnEventError as e:
        return Malformed(str(e))
    except ValueError as e:
        return Malformed(f"not JSON: {e}")


def read_json(text: str) -> Any:
    """A JSON value as CEL has it: numbers are double, and there is one zero.

    Raises:
        ValueError: for what is not JSON: a key twice, NaN, a lone surrogate, a number over `MAX_NUMBER` characters.
    """
    value = json.loads(text, parse_int=_int, parse_float=_float, parse_constant=_constant, object_pairs_hook=_object)
    if "\\u" in text and _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        raise ValueError("a lone surrogate")
    return value


class _Int(float):
    """A double that was written without fraction or exponent, as an integer attribute is."""

    text: str


def _int(text: str) -> float:
    found = _Int(_float(text))
    found.text = text
    return found


def _float(text: str) -> float:
    if len(text) > MAX_NUMBER:
        raise ValueError("a number that is too long")
    return float(text) + 0.0


def _constant(text: str) -> None:
    raise ValueError(f"{text} is not a JSON number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in an object")
    return found


def _activation(event: Any) -> dict[str, Any]:
    if not isinstance(event, dict):
        raise _NotAnEventError("not an object")
    given = {k: v for k, v in event.items() if v is not None}
    if "data" in given and "data_base64" in given:
        raise _NotAnEventError("both data and data_base64")
    ce = {k: _attribute(k, v) for k, v in given.items() if k not in ("data", "data_base64")}
    for name in _REQUIRED:
        if not ce.get(name):
            raise _NotAnEventError(f"no {name}")
    if ce["specversion"] != "1.0":
        raise _NotAnEventError("specversion is not 1.0")
    activation: dict[str, Any] = {"ce": ce}
    if "data" in given:
        activation["data"] = plain(given["data"])
    elif "data_base64" in given:
        activation["data"] = _decoded(given["data_base64"], ce.get("datacontenttype"))
    return activation


def _attribute(name: str, value: Any) -> str:
    if name in _TEXTS:
        if not isinstance(value, str):
            raise _NotAnEventError(f"{name} is not a string")
        if name == "time" and microseconds(value) is None:
            raise _NotAnEventError("time is not RFC 3339")
        return value
    if not _NAME.fullmatch(name):
        raise _NotAnEventError("an attribute name that is not lower-case letters and digits")
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case _Int() if -(2**31) <= value < 2**31:
            return str(int(value))
        case dict():
            return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        case _:
            raise _NotAnEventError("an extension attribute that is no string, boolean or 32-bit integer")


def plain(value: Any) -> Any:
    """A payload whose numbers are doubles and nothing more: engines look at the exact type."""
    match value:
        case _Int():
            return float(value)
        case dict():
            return {k: plain(v) for k, v in value.items()}
        case list():
            return [plain(v) for v in value]
        case _:
            return value


def _decoded(text: Any, media_type: str | None) -> Any:
    if not isinstance(text, str):
        raise _NotAnEventError("data_base64 is not a string")
    try:
        content = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise _NotAnEventError("data_base64 is not base64") from None
    if media_type is None or _JSON_MEDIA.fullmatch(media_type):
        try:
            return plain(read_json(content.decode()))
        except ValueError:
            return content
    return content
