"""A CloudEvent in structured JSON, read without Spark and exactly as `events` reads it (CloudEvents 1.0.2, JSON format)."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

from tricel.compiler.environments.attribute_names import PAYLOAD, READABLE, RECORD
from tricel.compiler.values.rfc3339 import microseconds

from .json_values import MAX_DEPTH, Int, Number, plain, read_json, utf16
from .malformed import (
    EXTENSION_ARRAY,
    EXTENSION_NAME,
    EXTENSION_NUMBER,
    NOT_BASE64,
    NOT_JSON,
    NOT_OBJECT,
    NOT_TIME,
    NOT_UTF8,
    NOT_VERSION,
    OPTIONAL,
    REQUIRED,
    TWO_DATA,
    empty,
    missing,
    not_string,
)

_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}", re.ASCII)
_CONTROL = re.compile(r"\\\\|\\u00[01][0-9a-f]")
_DIGITS_38 = Context(prec=38)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WRAPPED = MAX_DEPTH - 1  # the reader puts the text into a list, to see what follows it


@dataclass(frozen=True, slots=True)
class Event:
    """What a filter sees of an event: `ce` and, where there is a payload, `data`."""

    activation: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Malformed:
    """Why a line is no CloudEvent: one of `malformed.REASONS`. `detail` is what the JSON parser says; empty where it read the line."""

    reason: str
    detail: str = field(default="", compare=False)

    def __str__(self) -> str:
        """The reason with its detail."""
        return f"{self.reason}: {self.detail}" if self.detail else self.reason


class _NotAnEventError(ValueError):
    """The reason that a line is no event."""


def is_blank(line: bytes) -> bool:
    """Whether a line holds nothing: no event, and nothing malformed."""
    return not line.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r\n")


def read_event(line: bytes) -> Event | Malformed:
    """The event on a line of JSON text, or why there is none."""
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Malformed(NOT_UTF8)
    try:
        value = read_json(text, _WRAPPED)
    except ValueError as e:
        return Malformed(NOT_JSON, _said(e, text))
    try:
        return Event(_activation(value))
    except _NotAnEventError as e:
        return Malformed(str(e))


def _said(e: ValueError, text: str) -> str:
    if not isinstance(e, json.JSONDecodeError):
        return str(e)
    said = e.msg[:1].lower() + e.msg[1:].removesuffix(" at")
    return f"{said} at column {min(e.pos, len(text.rstrip())) + 1}"


def _activation(event: Any) -> dict[str, Any]:
    """The rules in the order of the Spark reader's, so that an event that breaks two is told the same one."""
    if not isinstance(event, dict):
        raise _NotAnEventError(NOT_OBJECT)
    given = {k: v for k, v in event.items() if v is not None}
    _check_context(given)
    time = microseconds(given["time"]) if "time" in given else None
    if "time" in given and time is None:
        raise _NotAnEventError(NOT_TIME)
    others = {k: v for k, v in given.items() if k not in (*REQUIRED, *OPTIONAL, "data", "data_base64")}
    ce = {n: given[n] for n in (*REQUIRED, *OPTIONAL) if n in given} | _extensions(others)
    if time is not None:
        ce["time"] = time_text(time[0])
    if "data" in given and "data_base64" in given:
        raise _NotAnEventError(TWO_DATA)
    activation: dict[str, Any] = {RECORD: ce}
    if "data" in given:
        activation[PAYLOAD] = plain(given["data"])
    elif "data_base64" in given:
        activation[PAYLOAD] = _decoded(given["data_base64"], ce.get("datacontenttype"))
    return activation


def _check_context(given: dict[str, Any]) -> None:
    for name in REQUIRED:
        if name not in given:
            raise _NotAnEventError(missing(name))
        if not isinstance(given[name], str):
            raise _NotAnEventError(not_string(name))
        if not given[name]:
            raise _NotAnEventError(empty(name))
        if name == "specversion" and given[name] != "1.0":
            raise _NotAnEventError(NOT_VERSION)
    for name in OPTIONAL:
        if name in given and not isinstance(given[name], str):
            raise _NotAnEventError(not_string(name))


def _extensions(others: dict[str, Any]) -> dict[str, str]:
    if not all(map(READABLE.fullmatch, others)):
        raise _NotAnEventError(EXTENSION_NAME)
    if any(isinstance(v, list) for v in others.values()):
        raise _NotAnEventError(EXTENSION_ARRAY)
    return {k: _extension(v) for k, v in others.items()}


def _extension(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case Int() if -(2**31) <= value < 2**31:
            return str(int(value))
        case dict():
            return "".join(_written(value))
        case _:
            raise _NotAnEventError(EXTENSION_NUMBER)


def _written(value: Any) -> Iterator[str]:
    """JSON text as Spark writes a VARIANT: keys in the order of UTF-16, numbers without needless zeros."""
    match value:
        case dict():
            for i, key in enumerate(sorted(value, key=utf16)):
                yield "," if i else "{"
                yield f"{_quoted(key)}:"
                yield from _written(value[key])
            yield "}" if value else "{}"
        case list():
            for i, item in enumerate(value):
                yield "," if i else "["
                yield from _written(item)
            yield "]" if value else "[]"
        case str():
            yield _quoted(value)
        case Number():
            yield _number_text(value)
        case _:
            yield json.dumps(value)


def _quoted(text: str) -> str:
    shown = json.dumps(text, ensure_ascii=False)
    return _CONTROL.sub(lambda m: m[0][:2] + m[0][2:].upper(), shown) if "\\u00" in shown else shown


def _number_text(number: Number) -> str:
    """Up to 38 digits are a decimal, as they were written but for zeros at the end; the others are a double."""
    whole, _, fraction = number.text.lstrip("-").partition(".")
    if (whole + fraction).isdigit() and len(fraction) <= 38 and len((whole + fraction).lstrip("0")) <= 38:
        decimal = Decimal(number.text)
        return f"{decimal.normalize(_DIGITS_38):f}" if decimal else "0"
    return _double_text(float(number.text))


def _double_text(value: float) -> str:
    """A double as Java writes it: without an exponent from 10^-3 up to 10^7, and always with a fraction."""
    if value in (float("inf"), float("-inf")):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    if value == 0:
        return "-0.0" if str(value).startswith("-") else "0.0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    shown = "".join(map(str, digits))
    point = len(shown) + int(exponent)
    if -3 < point <= 7:
        whole, fraction = (shown[:point].ljust(point, "0"), shown[point:]) if point > 0 else ("0", "0" * -point + shown)
        text = f"{whole}.{fraction or '0'}"
    else:
        text = f"{shown[0]}.{shown[1:] or '0'}E{point - 1}"
    return "-" + text if sign else text


def with_json(ce: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The attributes, with those of these names read as the JSON in their text; what is none stays text."""
    read = dict(ce)
    for name in names:
        if name in ce:
            with suppress(ValueError):
                read[name] = plain(read_json(ce[name], trailing=True))
    return read


def time_text(micros: int) -> str:
    """The RFC 3339 text, always of the same length, that engines are given for a time."""
    return (_EPOCH + timedelta(microseconds=micros)).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def _decoded(text: Any, media_type: str | None) -> Any:
    if not isinstance(text, str) or not _BASE64.fullmatch(text) or len(text) % 4:
        raise _NotAnEventError(NOT_BASE64)
    content = base64.b64decode(text)
    media = "/json" if media_type is None else media_type.partition(";")[0].strip(" ").lower()
    if media.endswith(("/json", "+json")):
        try:
            return plain(read_json(content.decode(), _WRAPPED))
        except ValueError:
            return content
    return content
