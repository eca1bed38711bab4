"""What a payload's schema describes, whatever its language, and the type that it has in CEL.

| shape | CEL | in Spark |
|---|---|---|
| bool, int, double, string, bytes | the same | BOOLEAN, BIGINT, DOUBLE, STRING, BINARY |
| an unsigned 64-bit number | int, where it fits | BIGINT |
| a decimal of at most 15 digits | double, which tells any two of them apart | DOUBLE |
| an instant | timestamp, cut to microseconds | TIMESTAMP |
| a list, a map, a record | list, map, a record with these fields | ARRAY, MAP, STRUCT |

What has no exact type in CEL is refused with its reason: a type that holds itself, a value of one of several types, null
in a list or a map, a decimal of more digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .. import celtypes as t
from ..celtypes import CelType, Field, Record

MOST_DIGITS = 15
"""Digits of a decimal of which each is another double."""


class Kind(StrEnum):
    """What a value is."""

    BOOL = "bool"
    INT = "int"
    UNSIGNED = "unsigned"
    """An unsigned number of 64 bits."""
    DOUBLE = "double"
    DECIMAL = "decimal"
    """A number of a fixed number of digits, as the double that is nearest."""
    STRING = "string"
    BYTES = "bytes"
    SECONDS = "seconds"
    """An instant, in seconds and nanoseconds; the next two are counts of what they are named for."""
    MILLISECONDS = "milliseconds"
    MICROSECONDS = "microseconds"
    LIST = "list"
    MAP = "map"
    RECORD = "record"
    EMPTY = "empty"
    """A record without fields."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of value. `fields` are a record's, each of which may be absent; `element` is that of a list or map.

    `key` is that of a map.
    """

    kind: Kind
    fields: tuple[tuple[str, Shape], ...] = ()
    element: Shape | None = None
    key: Shape | None = None


BOOL, INT, UNSIGNED = Shape(Kind.BOOL), Shape(Kind.INT), Shape(Kind.UNSIGNED)
DOUBLE, STRING, BYTES = Shape(Kind.DOUBLE), Shape(Kind.STRING), Shape(Kind.BYTES)

_SCALARS = {
    Kind.BOOL: t.BOOL,
    Kind.INT: t.INT,
    Kind.UNSIGNED: t.INT,
    Kind.DOUBLE: t.DOUBLE,
    Kind.DECIMAL: t.DOUBLE,
    Kind.STRING: t.STRING,
    Kind.BYTES: t.BYTES,
    Kind.SECONDS: t.TIMESTAMP,
    Kind.MILLISECONDS: t.TIMESTAMP,
    Kind.MICROSECONDS: t.TIMESTAMP,
    Kind.EMPTY: t.map_of(t.STRING, t.STRING),
}


class SchemaError(ValueError):
    """A part of a schema that CEL has no exact type for. `where` is the path to it."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"'{where}' {reason}")
        self.where, self.reason = where, reason


def type_of(shape: Shape, name: str) -> CelType:
    """The type of a value of that shape; `name` is what it is called, as `data` or `data.order`."""
    match shape:
        case Shape(kind=Kind.RECORD, fields=fields):
            return Record(name, fields=tuple((n, Field(type_of(s, f"{name}.{n}"))) for n, s in fields))
        case Shape(kind=Kind.LIST, element=Shape() as element):
            return t.list_of(type_of(element, f"{name}[]"))
        case Shape(kind=Kind.MAP, element=Shape() as element, key=Shape() as key):
            return t.map_of(type_of(key, name), type_of(element, f"{name}[]"))
        case _:
            return _SCALARS[shape.kind]
