"""VARIANT values as CEL reads them, from the bytes that Spark holds them in (Parquet's VariantEncoding.md).

pyspark's own reader takes several times as long, and rounds decimals to 28 digits on the way to a double.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

PRIMITIVE, SHORT_TEXT, OBJECT, ARRAY = range(4)
"""Basic types: the two low bits of a value's first byte."""
_NULL, _TRUE, _FALSE, _DOUBLE, _FLOAT, _BINARY, _TEXT = 0, 1, 2, 7, 14, 15, 16
_INTS = {3: 1, 4: 2, 5: 4, 6: 8}
_DECIMALS = {8: 4, 9: 8, 10: 16}
_SMALL_METADATA = 4_096
_read_double, _read_float = struct.Struct("<d").unpack_from, struct.Struct("<f").unpack_from


class UnreadableError(ValueError):
    """A value that has no form in CEL."""


def decoded(value: bytes, metadata: bytes) -> Any:
    """The value as JSON has it: every number is a double, and there is one zero; bytes stay bytes.

    Raises:
        UnreadableError: for what JSON does not have, as a date.
        ValueError, IndexError, struct.error: for what is no VARIANT.
    """
    names = _names(metadata) if len(metadata) <= _SMALL_METADATA else _names.__wrapped__(metadata)
    return _value(value, 0, names)


def _value(data: bytes, at: int, names: tuple[str, ...]) -> Any:
    first = data[at]
    basic, info = first & 3, first >> 2
    if basic == SHORT_TEXT:
        return data[at + 1 : at + 1 + info].decode()
    if basic == OBJECT:
        size, at = _size(data, at + 1, wide=bool(info & 16))
        keys, at = _numbers(data, at, size, (info >> 2 & 3) + 1)
        offsets, at = _numbers(data, at, size + 1, (info & 3) + 1)
        return {names[k]: _value(data, at + o, names) for k, o in zip(keys, offsets, strict=False)}
    if basic == ARRAY:
        size, at = _size(data, at + 1, wide=bool(info & 4))
        offsets, at = _numbers(data, at, size + 1, (info & 3) + 1)
        return [_value(data, at + offsets[i], names) for i in range(size)]
    return _primitive(data, at + 1, info)


def _primitive(data: bytes, at: int, info: int) -> Any:
    if info == _DOUBLE:
        return _read_double(data, at)[0] + 0.0
    if info in _INTS:
        return float(int.from_bytes(data[at : at + _INTS[info]], "little", signed=True))
    if info in _DECIMALS:
        unscaled = int.from_bytes(data[at + 1 : at + 1 + _DECIMALS[info]], "little", signed=True)
        return unscaled / 10 ** data[at] + 0.0  # one division of ints: rounded once
    if info in (_TRUE, _FALSE):
        return info == _TRUE
    if info == _NULL:
        return None
    if info == _FLOAT:
        return _read_float(data, at)[0] + 0.0
    if info in (_TEXT, _BINARY):
        size, at = _size(data, at, wide=True)
        held = data[at : at + size]
        return held.decode() if info == _TEXT else held
    raise UnreadableError(f"a VARIANT of type {info}")


def _size(data: bytes, at: int, *, wide: bool) -> tuple[int, int]:
    """A count, and where what follows it begins."""
    return (int.from_bytes(data[at : at + 4], "little"), at + 4) if wide else (data[at], at + 1)


def _numbers(data: bytes, at: int, count: int, width: int) -> tuple[Sequence[int], int]:
    """Unsigned numbers of `width` bytes, and where what follows them begins."""
    end = at + count * width
    if end > len(data):
        raise UnreadableError("a VARIANT cut short")
    if width == 1:
        return data[at:end], end
    if width == 3:
        return [int.from_bytes(data[i : i + 3], "little") for i in range(at, end, 3)], end
    return struct.unpack_from(f"<{count}{'H' if width == 2 else 'I'}", data, at), end


@lru_cache(maxsize=512)
def _names(metadata: bytes) -> tuple[str, ...]:
    """The names of fields, by number. The events of a stream share few sets of them."""
    width = (metadata[0] >> 6) + 1
    count = int.from_bytes(metadata[1 : 1 + width], "little")
    ends, at = _numbers(metadata, 1 + width, count + 1, width)
    return tuple(metadata[at + ends[i] : at + ends[i + 1]].decode() for i in range(count))
