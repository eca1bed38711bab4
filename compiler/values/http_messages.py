"""Captures of HTTP messages that carry CloudEvents: binary, structured and batched content mode (HTTP binding 1.0.2).

A capture is the message's headers as JSON (an object whose values are texts or lists of texts, or a list of objects with
`name` and `value`), and its body as bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from .event_text import Attribute, Data, Json, NotAnEventError, event_text, is_json
from .malformed import (
    EXTENSION_NAME,
    HTTP_HEADER_TWICE,
    MEDIA_TYPE_TWICE,
    NOT_CAPTURE,
    NOT_PERCENT,
)

_PREFIX = "ce-"
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_BROKEN = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CLOUDEVENTS = re.compile(r"application/cloudevents(-batch)?(?:\+([a-z0-9.+-]+))?[ \t]*(?:;|$)", re.ASCII)


@dataclass(frozen=True, slots=True)
class EventFormat:
    """The event format that a content type names: `json`, `avro`, `protobuf`, ..., and whether it is of a batch."""

    name: str
    batch: bool


def format_of(content_type: str | None) -> EventFormat | None:
    """The event format of a message in structured or batched mode; None for one in binary mode.

    Of a type that only begins as one of CloudEvents the name is empty: no format has it.
    """
    if content_type is None:
        return None
    media = content_type.strip(" \t").lower()
    if not media.startswith("application/cloudevents"):
        return None
    found = _CLOUDEVENTS.match(media)
    if found is None:
        return EventFormat("", False)
    return EventFormat(found[2] or "json", found[1] is not None)


def read_headers(text: str | None) -> dict[str, list[str]]:
    """The headers by their names in lower case, each with its values.

    Raises:
        NotAnEventError: where the text is none of the forms of headers.
    """
    try:
        given = json.loads(text or "")
    except (ValueError, RecursionError):
        raise NotAnEventError(NOT_CAPTURE) from None
    found: dict[str, list[str]] = {}
    for name, value in _pairs(given):
        if value is not None:
            found.setdefault(name.lower(), []).extend(_values(value))
    return found


def content_type(headers: dict[str, list[str]]) -> str | None:
    """The value of the header `Content-Type`.

    Raises:
        NotAnEventError: where there are two.
    """
    return _only(headers, "content-type")


def binary_event(headers: dict[str, list[str]], body: bytes | None) -> str:
    """The JSON text of an event in binary mode: attributes in headers that begin with `ce-`, data in the body.

    Raises:
        NotAnEventError: for headers that say no attribute, or two of them the same.
    """
    attributes: dict[str, Attribute] = {}
    for header in headers:
        if header.startswith(_PREFIX):
            value = _only(headers, header)
            name = header.removeprefix(_PREFIX)
            if not name:
                raise NotAnEventError(EXTENSION_NAME)
            if value is not None:
                attributes[name] = decoded(value)
    media = content_type(headers)
    if "datacontenttype" in attributes:
        raise NotAnEventError(MEDIA_TYPE_TWICE)
    if media is not None:
        attributes["datacontenttype"] = media
    return event_text(attributes, _data(body, media))


def _data(body: bytes | None, media: str | None) -> Data:
    """The body; a text where the media type says so, as in records of Kafka."""
    if not body:
        return None
    if media is not None and media.lstrip(" \t").lower().startswith("text/") and not is_json(media):
        with suppress(UnicodeDecodeError):
            return Json(body.decode())
    return body


def decoded(value: str) -> str:
    """The text in a header: without the quotes around parts of it, then percent-decoded once (section 3.1.3.2).

    Raises:
        NotAnEventError: for what decodes to no UTF-8.
    """
    text = value.strip(" \t")
    if '"' in text:
        text = _QUOTED.sub(lambda m: _ESCAPED.sub(r"\1", m[1]), text)
    if "%" not in text:
        return text
    if _BROKEN.search(text):
        raise NotAnEventError(NOT_PERCENT)
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise NotAnEventError(NOT_PERCENT) from None


def _only(headers: dict[str, list[str]], name: str) -> str | None:
    values = headers.get(name, [])
    if len(values) > 1:
        raise NotAnEventError(HTTP_HEADER_TWICE)
    return values[0] if values else None


def _pairs(given: Any) -> Iterator[tuple[str, Any]]:
    match given:
        case dict():
            yield from given.items()
        case list():
            for entry in given:
                match entry:
                    case {"name": str(name), "value": value} | {"key": str(name), "value": value}:
                        yield name, value
                    case [str(name), value]:
                        yield name, value
                    case _:
                        raise NotAnEventError(NOT_CAPTURE)
        case _:
            raise NotAnEventError(NOT_CAPTURE)


def _values(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case bool():
            return ["true" if value else "false"]
        case int():
            return [str(value)]
        case list() if all(isinstance(item, str) for item in value):
            return value
        case _:
            raise NotAnEventError(NOT_CAPTURE)
