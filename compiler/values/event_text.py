"""A CloudEvent of any encoding as JSON text of the JSON format: what follows reads events of all encodings by one set of rules.

An attribute is a value of Python: bool, int, str, bytes, or an `Instant`. Bytes become base64 and an instant RFC 3339,
which are their canonical texts (CloudEvents 1.0.2, section 3.1).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from .malformed import (
    EXTENSION_NAME,
    EXTENSION_TIME,
    NAMED_DATA,
    NOT_JSON_NUMBER,
    NOT_TIME,
    OPTIONAL,
    REQUIRED,
    TOO_DEEP,
    TOO_LARGE,
    not_string,
)
from .rfc3339 import text_of

MOST_BYTES = 15_000_000
"""Bytes of data of which Spark's JSON parser takes the base64: it takes 20,000,000 characters in a text."""

_CONTEXT = frozenset((*REQUIRED, *OPTIONAL))
_FIRST, _LAST = -62_135_596_800 * 10**9, 253_402_300_800 * 10**9  # the years 1 to 9999 in nanoseconds
_WRITE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class NotAnEventError(ValueError):
    """The reason that a message is no event: one of `malformed.REASONS`."""


@dataclass(frozen=True, slots=True)
class Instant:
    """A time as nanoseconds since 1970."""

    nanoseconds: int


@dataclass(frozen=True, slots=True)
class Json:
    """Data that is a JSON value."""

    value: Any


Attribute: TypeAlias = bool | int | str | bytes | Instant
Data: TypeAlias = bytes | Json | None


def is_json(media_type: str | None) -> bool:
    """Whether data of this media type is JSON; an event without one has JSON, where its bytes are (JSON format, 3.1)."""
    if media_type is None:
        return True
    return media_type.partition(";")[0].strip(" ").lower().endswith(("/json", "+json"))


def event_text(attributes: Mapping[str, Attribute], data: Data) -> str:
    """The JSON text of an event.

    Raises:
        NotAnEventError: for what JSON text could not say of it.
    """
    event: dict[str, Any] = {name: _written(name, value) for name, value in attributes.items()}
    if isinstance(data, bytes):
        if len(data) > MOST_BYTES:
            raise NotAnEventError(TOO_LARGE)
        event["data_base64"] = base64.b64encode(data).decode()
    elif data is not None:
        event["data"] = data.value
    try:
        return _WRITE(event)
    except RecursionError:
        raise NotAnEventError(TOO_DEEP) from None
    except ValueError:
        raise NotAnEventError(NOT_JSON_NUMBER) from None


def _written(name: str, value: Attribute) -> bool | int | str:
    if name in ("data", "data_base64"):
        raise NotAnEventError(NAMED_DATA if name == "data" else EXTENSION_NAME)
    if isinstance(value, bytes):
        if name in _CONTEXT:
            raise NotAnEventError(not_string(name))
        return base64.b64encode(value).decode()
    if isinstance(value, Instant):
        if name in _CONTEXT and name != "time":
            raise NotAnEventError(not_string(name))
        if not _FIRST <= value.nanoseconds < _LAST:
            raise NotAnEventError(NOT_TIME if name == "time" else EXTENSION_TIME)
        return text_of(value.nanoseconds)
    return value
