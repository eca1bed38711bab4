"""Values in Avro's binary encoding (Avro 1.11), read without any library.

Lengths and counts are held against the bytes that are there: no message makes a reader allocate beyond its own size.
Every value that is read takes a byte at least, and a schema that is read here does not hold itself.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

Read: TypeAlias = Callable[[bytes, int], tuple[Any, int]]
"""Reads a value at an offset: the value, and the offset after it."""
MICROSECONDS = (-62_135_596_800_000_000, 253_402_300_799_999_999)
"""The first and the last that is a time in CEL, of the years 1 to 9999."""
NOT_A_TIME = "a timestamp is not within the years 1 to 9999"
NOT_UTF8 = "a string is not UTF-8"
_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")
_INTS = range(-(2**31), 2**31)


class NotDecodedError(ValueError):
    """Why bytes are no value of a schema."""


def whole(message: bytes, at: int, read: Read) -> Any:
    """The one value from an offset to the end.

    Raises:
        NotDecodedError: where the bytes are not exactly one value.
    """
    try:
        value, end = read(message, at)
    except UnicodeDecodeError:
        raise NotDecodedError(NOT_UTF8) from None
    except (IndexError, struct.error):
        raise NotDecodedError("it ends too early") from None
    if end != len(message):
        raise NotDecodedError("bytes follow the value")
    return value


def read_null(message: bytes, at: int) -> tuple[None, int]:
    """Nothing."""
    return None, at


def read_bool(message: bytes, at: int) -> tuple[bool, int]:
    """A byte that is 0 or 1."""
    byte = message[at]
    if byte > 1:
        raise NotDecodedError("a boolean is neither 0 nor 1")
    return byte == 1, at + 1


def read_long(message: bytes, at: int) -> tuple[int, int]:
    """Zigzag, seven bits in each byte, the lowest first."""
    byte = message[at]
    at += 1
    number, shift = byte & 127, 7
    while byte > 127:
        byte = message[at]
        at += 1
        number |= (byte & 127) << shift
        shift += 7
        if shift > 70 or number >> 64:
            raise NotDecodedError("a number has more than 64 bits")
    return (number >> 1) ^ -(number & 1), at


def read_int(message: bytes, at: int) -> tuple[int, int]:
    """As a long, of 32 bits."""
    number, at = read_long(message, at)
    if number not in _INTS:
        raise NotDecodedError("an int has more than 32 bits")
    return number, at


def read_float(message: bytes, at: int) -> tuple[float, int]:
    """Four bytes, the lowest first."""
    return _FLOAT.unpack_from(message, at)[0], at + 4


def read_double(message: bytes, at: int) -> tuple[float, int]:
    """Eight bytes, the lowest first."""
    return _DOUBLE.unpack_from(message, at)[0], at + 8


def read_bytes(message: bytes, at: int) -> tuple[bytes, int]:
    """Bytes, with their number before them."""
    length, at = read_long(message, at)
    end = at + length
    if length < 0 or end > len(message):
        raise NotDecodedError("a length is beyond the end")
    return message[at:end], end


def read_string(message: bytes, at: int) -> tuple[str, int]:
    """Bytes that are UTF-8."""
    found, at = read_bytes(message, at)
    return found.decode(), at


def reads_fixed(size: int) -> Read:
    """Reads so many bytes."""

    def read(message: bytes, at: int) -> tuple[bytes, int]:
        if at + size > len(message):
            raise IndexError
        return message[at : at + size], at + size

    return read


def reads_symbol(symbols: Sequence[str]) -> Read:
    """Reads the number of a symbol, as the symbol."""

    def read(message: bytes, at: int) -> tuple[str, int]:
        number, at = read_int(message, at)
        if not 0 <= number < len(symbols):
            raise NotDecodedError("an enum has no symbol of that number")
        return symbols[number], at

    return read


def reads_union(branches: Sequence[Read]) -> Read:
    """Reads the number of a branch, then its value."""

    def read(message: bytes, at: int) -> tuple[Any, int]:
        number, at = read_long(message, at)
        if not 0 <= number < len(branches):
            raise NotDecodedError("a union has no branch of that number")
        return branches[number](message, at)

    return read


def reads_list(element: Read) -> Read:
    """Reads blocks of elements."""

    def read(message: bytes, at: int) -> tuple[list[Any], int]:
        found = []
        count, at = read_count(message, at)
        while count:
            for _ in range(count):
                value, at = element(message, at)
                found.append(value)
            count, at = read_count(message, at)
        return found, at

    return read


def reads_map(element: Read) -> Read:
    """Reads blocks of keys and values, as pairs."""
    pairs = reads_list(reads_record((("key", read_string), ("value", element))))

    def read(message: bytes, at: int) -> tuple[list[tuple[str, Any]], int]:
        found, at = pairs(message, at)
        made = {pair["key"]: pair["value"] for pair in found}
        if len(made) < len(found):
            raise NotDecodedError("a map has a key twice")
        return list(made.items()), at

    return read


def reads_record(fields: Sequence[tuple[str, Read]]) -> Read:
    """Reads fields in their order."""

    def read(message: bytes, at: int) -> tuple[dict[str, Any], int]:
        found = {}
        for name, value in fields:
            found[name], at = value(message, at)
        return found, at

    return read


def reads_decimal(content: Read, scale: int, precision: int) -> Read:
    """Reads a big-endian number, to be divided by a power of ten, as the double that is nearest."""
    most = 10**precision

    def read(message: bytes, at: int) -> tuple[float, int]:
        found, at = content(message, at)
        number = int.from_bytes(found, "big", signed=True)
        if abs(number) >= most:
            raise NotDecodedError(f"a decimal has more than {precision} digits")
        return float(Decimal(number).scaleb(-scale)), at

    return read


def reads_instant(factor: int) -> Read:
    """Reads a long that is a number of so many microseconds since 1970, as microseconds."""

    def read(message: bytes, at: int) -> tuple[int, int]:
        number, at = read_long(message, at)
        if not MICROSECONDS[0] <= number * factor <= MICROSECONDS[1]:
            raise NotDecodedError(NOT_A_TIME)
        return number * factor, at

    return read


def read_count(message: bytes, at: int) -> tuple[int, int]:
    """How many values are in the next block, which may say its size, too."""
    count, at = read_long(message, at)
    if count < 0:
        size, at = read_long(message, at)
        if size < 0:
            raise NotDecodedError("a block has a negative size")
    return abs(count), at
