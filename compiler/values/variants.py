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

    __slots__ = ("left",)
    left: int


_Read: TypeAlias = Callable[[bytes, int, Sequence[str], _Texts], Any]
"""Reads the value whose first byte is at a place, given the names of fields by number."""


class UnreadableError(ValueError):
    """A value that has no form in CEL."""


def decoded(value: bytes, metadata: bytes) -> tuple[Any, bool]:
    """The value as JSON has it, and whether one of its texts, or bytes in it, hold NUL.

    Every number is a double, and there is one zero; bytes stay bytes.

    Raises:
        UnreadableError: for what JSON does not have, as a date.
        ValueError, IndexError, struct.error: for what is no VARIANT.
    """
    names, nul = _names(metadata) if len(metadata) <= _SMALL_METADATA else _names.__wrapped__(metadata)
    texts = _Texts()
    texts.left = len(value)
    found = _READ[value[0]](value, 0, names, texts)
    return found, nul or "\0" in "".join(texts)


def _small_object(data: bytes, at: int, names: Sequence[str], texts: _Texts) -> dict[str, Any]:
    """An object in which each number is a byte, as most are."""
    size = data[at + 1]
    middle = at + 2 + size
    end = middle + size + 1
    if end > len(data):
        raise UnreadableError("a VARIANT cut short")
    _met(texts, size)
    found: dict[str, Any] = {}
    for key, offset in zip(data[at + 2 : middle], data[middle:end], strict=False):
        place = end + offset
        first = data[place]
        if first & 3 == SHORT_TEXT:  # as `_short_text`, without a call: most fields are such
            length, place = first >> 2, place + 1
            part = data[place : place + length]
            if len(part) < length:
                raise UnreadableError("a VARIANT cut short")
            found[names[key]] = text = part.decode()
            texts.append(text)
        else:
            found[names[key]] = _READ[first](data, place, names, texts)
    return found


def _object(data: bytes, at: int, names: Sequence[str], texts: _Texts) -> dict[str, Any]:
    info = data[at] >> 2
    size, at = _size(data, at + 1, wide=bool(info & 16))
    keys, at = _numbers(data, at, size, (info >> 2 & 3) + 1)
    offsets, at = _numbers(data, at, size + 1, (info & 3) + 1)
    _met(texts, size)
    found: dict[str, Any] = {}
    for key, offset in zip(
        keys, offsets, strict=False
    ):  # a comprehension takes a frame of its own, and values are deep
        found[names[key]] = _READ[data[at + offset]](data, at + offset, names, texts)
    return found


def _array(data: bytes, at: int, names: Sequence[str], texts: _Texts) -> list[Any]:
    info = data[at] >> 2
    size, at = _size(data, at + 1, wide=bool(info & 4))
    offsets, at = _numbers(data, at, size + 1, (info & 3) + 1)
    _met(texts, size)
    places = [at + offsets[i] for i in range(size)]
    return [_READ[data[place]](data, place, names, texts) for place in places]


def _met(texts: _Texts, parts: int) -> None:
    texts.left -= parts
    if texts.left < 0:
        raise UnreadableError("a VARIANT that holds one value more than once")


def _number(form: str) -> _Read:
    unpack = struct.Struct(form).unpack_from
    return lambda data, at, _, __: unpack(data, at + 1)[0] + 0.0


def _decimal(form: str) -> _Read:
    unpack = struct.Struct(form).unpack_from

    def read(data: bytes, at: int, _: Sequence[str], __: _Texts) -> Any:
        scale, unscaled = unpack(data, at + 1)
        return unscaled / _POWERS[scale]  # one division of ints: rounded once

    return read


def _long_decimal(data: bytes, at: int, *_: object) -> Any:
    return int.from_bytes(_taken(data, at + 2, 16), "little", signed=True) / _POWERS[data[at + 1]]


def _noted_bytes(data: bytes, at: int, _: Sequence[str], texts: _Texts) -> bytes:
    """Bytes; those that hold NUL are noted as a text that does."""
    found = _bytes(data, at)
    if b"\0" in found:
        texts.append("\0")
    return found


def _bytes(data: bytes, at: int) -> bytes:
    size, at = _size(data, at + 1, wide=True)
    return _taken(data, at, size)


def _short_text(data: bytes, at: int, _: Sequence[str], texts: _Texts) -> str:
    text = _taken(data, at + 1, data[at] >> 2).decode()
    texts.append(text)
    return text


def _text(data: bytes, at: int, _: Sequence[str], texts: _Texts) -> str:
    text = _bytes(data, at).decode()
    texts.append(text)
    return text


def _unreadable(data: bytes, at: int, *_: object) -> None:
    raise UnreadableError(f"a VARIANT of type {data[at] >> 2}")


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
    15: _noted_bytes,
    16: _text,
}
"""By the format's numbers of primitive types, those that CEL has."""


def _reader(first: int) -> _Read:
    basic, info = first & 3, first >> 2
    match basic:
        case _ if basic == PRIMITIVE:
            return _PRIMITIVES.get(info, _unreadable)
        case _ if basic == SHORT_TEXT:
            return _short_text
        case _ if basic == ARRAY:
            return _array
        case _:
            return _object if info else _small_object


_READ: Sequence[_Read] = [_reader(first) for first in range(256)]
"""What reads a value, by its first byte."""


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
def _names(metadata: bytes) -> tuple[tuple[str, ...], bool]:
    """The names of fields, by number, and whether one holds a NUL character. The events of a stream share few sets."""
    width = (metadata[0] >> 6) + 1
    count = int.from_bytes(metadata[1 : 1 + width], "little")
    ends, at = _numbers(metadata, 1 + width, count + 1, width)
    names = tuple(_taken(metadata, at + ends[i], ends[i + 1] - ends[i]).decode() for i in range(count))
    return names, "\0" in "".join(names)
