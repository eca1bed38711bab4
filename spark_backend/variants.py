"""VARIANT values as CEL reads them, from the bytes that Spark holds them in (Parquet's VariantEncoding.md).

pyspark's own reader takes several times as long, and rounds decimals to 28 digits on the way to a double.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

PRIMITIVE, SHORT_TEXT, OBJECT, ARRAY = range(4)
"""Basic types: the two low bits of a value's first byte."""
_SMALL_METADATA = 4_096
_POWERS = tuple(10**scale for scale in range(39))


class _Texts(list[str]):
    """The texts met so far, and how many parts of lists and objects there may yet be: each takes a byte of its own."""

    left: int


_Read: TypeAlias = Callable[[bytes, int, _Texts], Any]


class UnreadableError(ValueError):
    """A value that has no form in CEL."""


def decoded(value: bytes, metadata: bytes) -> tuple[Any, bool]:
    """The value as JSON has it, and whether one of its texts holds a NUL character.

    Every number is a double, and there is one zero; bytes stay bytes.

    Raises:
        UnreadableError: for what JSON does not have, as a date.
        ValueError, IndexError, struct.error: for what is no VARIANT.
    """
    names = _names(metadata) if len(metadata) <= _SMALL_METADATA else _names.__wrapped__(metadata)
    texts = _Texts(names)
    texts.left = len(value)
    found = _value(value, 0, names, texts)
    return found, "\0" in "".join(texts)


def _value(data: bytes, at: int, names: tuple[str, ...], texts: _Texts) -> Any:
    first = data[at]
    basic, info = first & 3, first >> 2
    if basic == SHORT_TEXT:
        text = _taken(data, at + 1, info).decode()
        texts.append(text)
        return text
    if basic == PRIMITIVE:
        read = _PRIMITIVES.get(info)
        if read is None:
            raise UnreadableError(f"a VARIANT of type {info}")
        return read(data, at + 1, texts)
    if basic == OBJECT:
        keys, offsets, at = _fields(data, at, info)
        _met(texts, len(keys))
        found: dict[str, Any] = {}
        for key, offset in zip(keys, offsets, strict=False):
            place = at + offset
            first = data[place]
            if first & 3 == SHORT_TEXT:  # as above, without a call: most fields are such
                end = place + 1 + (first >> 2)
                if end > len(data):
                    raise UnreadableError("a VARIANT cut short")
                found[names[key]] = text = data[place + 1 : end].decode()
                texts.append(text)
            else:
                found[names[key]] = _value(data, place, names, texts)
        return found
    size, at = _size(data, at + 1, wide=bool(info & 4))
    offsets, at = _numbers(data, at, size + 1, (info & 3) + 1)
    _met(texts, size)
    return [_value(data, at + offsets[i], names, texts) for i in range(size)]


def _met(texts: _Texts, parts: int) -> None:
    texts.left -= parts
    if texts.left < 0:
        raise UnreadableError("a VARIANT that holds one value more than once")


def _fields(data: bytes, at: int, info: int) -> tuple[Sequence[int], Sequence[int], int]:
    """Of an object the numbers of its names, the offsets of its values, and what these count from."""
    if not info:  # each number is a byte
        size = data[at + 1]
        middle, end = at + 2 + size, at + 3 + 2 * size
        if end > len(data):
            raise UnreadableError("a VARIANT cut short")
        return data[at + 2 : middle], data[middle:end], end
    size, at = _size(data, at + 1, wide=bool(info & 16))
    keys, at = _numbers(data, at, size, (info >> 2 & 3) + 1)
    offsets, at = _numbers(data, at, size + 1, (info & 3) + 1)
    return keys, offsets, at


def _number(form: str) -> _Read:
    unpack = struct.Struct(form).unpack_from
    return lambda data, at, _: unpack(data, at)[0] + 0.0


def _decimal(form: str) -> _Read:
    unpack = struct.Struct(form).unpack_from

    def read(data: bytes, at: int, _: _Texts) -> Any:
        scale, unscaled = unpack(data, at)
        return unscaled / _POWERS[scale]  # one division of ints: rounded once

    return read


def _long_decimal(data: bytes, at: int, _: _Texts) -> Any:
    return int.from_bytes(_taken(data, at + 1, 16), "little", signed=True) / _POWERS[data[at]]


def _bytes(data: bytes, at: int, _: _Texts) -> bytes:
    size, at = _size(data, at, wide=True)
    return _taken(data, at, size)


def _text(data: bytes, at: int, texts: _Texts) -> str:
    text = _bytes(data, at, texts).decode()
    texts.append(text)
    return text


_PRIMITIVES: Mapping[int, _Read] = {
    0: lambda *_: None,
    1: lambda *_: True,
    2: lambda *_: False,
    3: _number("<b"),
    4: _number("<h"),
    5: _number("<i"),
    6: _number("<q"),
    7: _number("<d"),
    8: _decimal("<Bi"),
    9: _decimal("<Bq"),
    10: _long_decimal,
    14: _number("<f"),
    15: _bytes,
    16: _text,
}
"""By the format's numbers of primitive types, those that CEL has."""


def _taken(data: bytes, at: int, size: int) -> bytes:
    found = data[at : at + size]
    if len(found) < size:
        raise UnreadableError("a VARIANT cut short")
    return found


def _size(data: bytes, at: int, *, wide: bool) -> tuple[int, int]:
    """A count, and where what follows it begins."""
    return (int.from_bytes(_taken(data, at, 4), "little"), at + 4) if wide else (data[at], at + 1)


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
    return tuple(_taken(metadata, at + ends[i], ends[i + 1] - ends[i]).decode() for i in range(count))
