"""An event of an environment that is no CloudEvent, as a line of JSON: an object with a member for each root.

Bytes are base64, times RFC 3339 or milliseconds since 1970. What may be declared to be JSON, text or bytes is a member
as it is declared, or its bytes are one, as in `value` or `value_bytes`. A member that is null, or not there, is NULL in a
table: CEL's null where the root can be that, else missing.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from . import celtypes as t
from .celtypes import CelType, Record
from .environments.model import Environment, Form
from .values.cel import Timestamp
from .values.cloudevents import Event, Malformed, read_event
from .values.json_values import Int, Number, plain, read_json
from .values.malformed import NOT_JSON, NOT_OBJECT, NOT_UTF8
from .values.rfc3339 import cut_to_nanoseconds

_INTS = range(-(2**63), 2**63)
_SECONDS = range(-62_135_596_800, 253_402_300_800)
"""Those that are a time in CEL."""
_A_SECOND, _A_MILLISECOND = 1_000_000_000, 1_000_000


def read_line(line: bytes, environment: Environment) -> Event | Malformed:
    """The event on a line of JSON text, or why there is none."""
    if environment.record:
        return read_event(line)
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Malformed(NOT_UTF8)
    try:
        value = read_json(text)
    except ValueError as e:
        return Malformed(NOT_JSON, str(e))
    if not isinstance(value, dict):
        return Malformed(NOT_OBJECT)
    try:
        return Event(_activation({k: v for k, v in value.items() if v is not None}, environment))
    except ValueError as e:
        return Malformed(str(e))


def _activation(given: Mapping[str, Any], environment: Environment) -> dict[str, Any]:
    """The roots that are there."""
    found: dict[str, Any] = {}
    for root, type_ in environment.roots:
        form = environment.stored(root).form
        if root in environment.decodable:
            found |= _decoded(root, given, environment)
        elif form is Form.ENTRIES:
            found |= _entries(root, given, environment)
        elif root in given and form is not Form.LAST_ENTRIES and not root.endswith("_bytes"):
            found[root] = _read(given[root], type_, root)
    return found


def _decoded(root: str, given: Mapping[str, Any], environment: Environment) -> dict[str, Any]:
    """A root that is JSON, text or bytes, and beside it its bytes; those of JSON are known where they are given."""
    bytes_, stored = f"{root}_bytes", environment.stored(root)
    if root in given and bytes_ in given:
        raise ValueError(f"both '{root}' and '{bytes_}'")
    if bytes_ in given:
        content = _bytes(given[bytes_], bytes_)
        found: dict[str, Any] = {bytes_: content}
        with suppress(ValueError):  # an error where a filter reads it
            found[root] = _content(content, stored.form)
        return found
    if root not in given:
        return {root: None} if stored.nullable else {}
    match stored.form:
        case Form.TEXT:
            text = _read(given[root], t.STRING, root)
            return {root: text, bytes_: text.encode()}
        case Form.BYTES:
            content = _bytes(given[root], root)
            return {root: content, bytes_: content}
        case _:
            return {root: plain(given[root])}


def _content(content: bytes, form: Form) -> Any:
    match form:
        case Form.TEXT:
            return content.decode()
        case Form.BYTES:
            return content
        case _:
            return plain(read_json(content.decode(), trailing=True))


def _entries(root: str, given: Mapping[str, Any], environment: Environment) -> dict[str, Any]:
    """A list of keys and values, and the map in which the last value of a key counts; one of the two is given."""
    column = environment.stored(root).columns
    same = [n for n, s in environment.storage if s.columns == column and s.form is Form.LAST_ENTRIES]
    texts = {n: given[n] for n in same if n in given}
    if root in given and texts:
        raise ValueError(f"both '{root}' and '{next(iter(texts))}'")
    if root in given:
        listed = _read(given[root], environment.root(root) or t.DYN, root)
    else:
        pairs = [_read(value, t.map_of(t.STRING, t.STRING), name) for name, value in texts.items()]
        listed = [{"key": k, "value": v.encode()} for pair in pairs for k, v in pair.items()]
    last = {entry["key"]: entry.get("value") for entry in listed if "key" in entry}
    kept = {k: text for k, v in last.items() if (text := _text(v)) is not None}
    return {root: listed, **dict.fromkeys(same, kept)}


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _bytes(value: Any, where: str) -> bytes:
    try:
        if isinstance(value, str):
            return base64.b64decode(value, validate=True)
    except binascii.Error:
        pass
    raise ValueError(f"'{where}' is not base64")


def _read(value: Any, type_: CelType, where: str) -> Any:
    """A value of a type, from JSON.

    Raises:
        ValueError: for a value of another type.
    """
    match type_:
        case t.JSON | t.DYN:
            return plain(value)
        case t.STRING if isinstance(value, str):
            return value
        case t.BOOL if isinstance(value, bool):
            return value
        case t.INT if isinstance(value, Int) and int(value.text) in _INTS:
            return int(value.text)
        case t.DOUBLE if isinstance(value, Number):
            return float(value)
        case t.BYTES:
            return _bytes(value, where)
        case t.TIMESTAMP:
            return _time(value, where)
        case Record(fields=fields) if isinstance(value, dict):
            lacking = [n for n, f in fields if f.required and value.get(n) is None]
            if lacking:
                raise ValueError(f"'{where}' has no '{lacking[0]}'")
            types = {n: f.type for n, f in fields}
            return {k: _read(v, types[k], f"{where}.{k}") for k, v in value.items() if k in types and v is not None}
        case CelType(name="list", params=(element,)) if isinstance(value, list):
            return [_read(v, element, f"{where}[{i}]") for i, v in enumerate(value)]
        case CelType(name="map", params=(_, element)) if isinstance(value, dict):
            return {k: _read(v, element, f"{where}.{k}") for k, v in value.items() if v is not None}
    raise ValueError(f"'{where}' is not of type {type_}")


def _time(value: Any, where: str) -> Timestamp:
    if isinstance(value, Int) and int(value.text) // 1000 in _SECONDS:
        return Timestamp(int(value.text) * _A_MILLISECOND)
    nanos = cut_to_nanoseconds(value) if isinstance(value, str) else None
    if nanos is None or nanos // _A_SECOND not in _SECONDS:
        raise ValueError(f"'{where}' is not a time")
    return Timestamp(nanos)
