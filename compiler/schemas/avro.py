"""Avro schemas (Avro 1.11), as JSON values that are parsed already.

An enum is its symbol, a string; a fixed is bytes; `int` and `long` are int, `float` and `double` double. A union with
null is a value that may be absent. The instants `timestamp-millis` and `timestamp-micros` are timestamps; of every other
logical type but `decimal` a value is what stands in the bytes: a `date` is an int, the days since 1970.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from . import avro_values as values
from .avro_values import Read
from .shapes import BOOL, BYTES, DOUBLE, INT, MOST_DIGITS, STRING, Kind, SchemaError, Shape


class Described(NamedTuple):
    """What a schema describes: the shape of a value, what reads one, and whether it may be absent, as null."""

    shape: Shape
    read: Read
    absent: bool = False


_PRIMITIVES = {
    "boolean": Described(BOOL, values.read_bool),
    "int": Described(INT, values.read_int),
    "long": Described(INT, values.read_long),
    "float": Described(DOUBLE, values.read_float),
    "double": Described(DOUBLE, values.read_double),
    "bytes": Described(BYTES, values.read_bytes),
    "string": Described(STRING, values.read_string),
}
_INSTANTS = {"timestamp-millis": (Kind.MILLISECONDS, 1000), "timestamp-micros": (Kind.MICROSECONDS, 1)}
_NAMED = ("record", "error", "enum", "fixed")
_POLYNOMIAL = 0xC15D213AA4D7A795


def read_avro_schema(schema: object, name: str) -> Described:
    """What a value of the schema is, and what reads its bytes. `name` is what the value is called in messages.

    Raises:
        SchemaError: for what CEL has no exact type for, and what is no schema.
    """
    return _Reader().read(schema, name, "")


def fingerprint(schema: object) -> bytes:
    """The CRC-64-AVRO of the parsing canonical form, the lowest byte first, as the header of a single object has it."""
    table = []
    for i in range(256):
        entry = i
        for _ in range(8):
            entry = (entry >> 1) ^ (_POLYNOMIAL if entry & 1 else 0)
        table.append(entry)
    found = _POLYNOMIAL
    for byte in json.dumps(_canonical(schema, ""), ensure_ascii=False, separators=(",", ":")).encode():
        found = (found >> 8) ^ table[(found ^ byte) & 255]
    return found.to_bytes(8, "little")


def _canonical(schema: object, namespace: str) -> object:
    """The schema with full names, and nothing that says more than how a value is written."""
    match schema:
        case str():
            return schema if schema in _PRIMITIVES or schema == "null" else _full_name(schema, namespace)
        case Mapping() if schema.get("type") in _NAMED:
            full = _full_name(str(schema["name"]), str(schema.get("namespace", namespace)))
            found: dict[str, object] = {"name": full, "type": schema["type"]}
            if "fields" in schema:
                inner, fields = full.rpartition(".")[0], schema["fields"]
                found["fields"] = [{"name": f["name"], "type": _canonical(f["type"], inner)} for f in fields]
            return found | {k: schema[k] for k in ("symbols", "size") if k in schema}
        case Mapping():
            parts = {k: _canonical(schema[k], namespace) for k in ("items", "values") if k in schema}
            return {"type": schema["type"], **parts} if parts else _canonical(schema.get("type"), namespace)
        case Sequence():
            return [_canonical(s, namespace) for s in schema]
        case _:
            return schema


@dataclass
class _Reader:
    """The named types that were met, and those that are being read."""

    known: dict[str, Described] = field(default_factory=dict)
    within: set[str] = field(default_factory=set)

    def read(self, schema: object, where: str, namespace: str) -> Described:
        """What a schema describes."""
        match schema:
            case str():
                return self._called(schema, where, namespace)
            case Mapping():
                return self._complex(schema, where, namespace)
            case Sequence():
                return self._union(schema, where, namespace)
            case _:
                raise SchemaError(where, f"is no schema: {schema!r}")

    def _called(self, name: str, where: str, namespace: str) -> Described:
        if name in _PRIMITIVES:
            return _PRIMITIVES[name]
        if name == "null":
            raise SchemaError(where, "is always null")
        full = _full_name(name, namespace)
        if full in self.within:
            raise SchemaError(where, f"holds itself: '{full}' is recursive")
        if full not in self.known:
            raise SchemaError(where, f"is of the type '{name}', which the schema does not define")
        return self.known[full]

    def _complex(self, schema: Mapping[str, object], where: str, namespace: str) -> Described:
        type_ = schema.get("type")
        if type_ in _NAMED:
            return self._defined(schema, where, namespace)
        if type_ == "array":
            element = self._part(schema.get("items"), f"{where}[]", namespace)
            return Described(Shape(Kind.LIST, element=element.shape), values.reads_list(element.read))
        if type_ == "map":
            element = self._part(schema.get("values"), f"{where}[]", namespace)
            return Described(Shape(Kind.MAP, element=element.shape, key=STRING), values.reads_map(element.read))
        return _logical(schema, self.read(type_, where, namespace), where)

    def _part(self, schema: object, where: str, namespace: str) -> Described:
        """An element of a list or map, which cannot be null."""
        found = self.read(schema, where, namespace)
        if found.absent:
            raise SchemaError(where, "may be null, and an element of a list or map cannot be absent")
        return found

    def _union(self, schemas: Sequence[object], where: str, namespace: str) -> Described:
        found = [
            Described(STRING, values.read_null, True) if s == "null" else self.read(s, where, namespace)
            for s in schemas
        ]
        shapes = [d.shape for d in found if not d.absent]
        if not shapes:
            raise SchemaError(where, "is always null")
        if any(shape != shapes[0] for shape in shapes):
            raise SchemaError(where, "is of one of several types")
        return Described(shapes[0], values.reads_union([d.read for d in found]), any(d.absent for d in found))

    def _defined(self, schema: Mapping[str, object], where: str, namespace: str) -> Described:
        name, own = schema.get("name"), schema.get("namespace", namespace)
        if not isinstance(name, str) or not isinstance(own, str):
            raise SchemaError(where, "is a type without a name")
        full = _full_name(name, own)
        self.within.add(full)
        found = self._content(schema, where, full.rpartition(".")[0])
        self.within.remove(full)
        self.known[full] = found
        return found

    def _content(self, schema: Mapping[str, object], where: str, namespace: str) -> Described:
        if schema["type"] == "enum":
            symbols = schema.get("symbols")
            if not isinstance(symbols, Sequence) or not all(isinstance(s, str) for s in symbols):
                raise SchemaError(where, "is an enum without symbols")
            return Described(STRING, values.reads_symbol(symbols))
        if schema["type"] == "fixed":
            size = schema.get("size")
            if not isinstance(size, int) or size < 1:
                raise SchemaError(where, "is of no size")
            return _logical(schema, Described(BYTES, values.reads_fixed(size)), where)
        fields = schema.get("fields")
        if not isinstance(fields, Sequence) or not fields:
            raise SchemaError(where, "is a record without fields")
        found = {}
        for f in fields:
            if not isinstance(f, Mapping) or not isinstance(f.get("name"), str) or f["name"] in found:
                raise SchemaError(where, "has a field without a name of its own")
            found[f["name"]] = self.read(f.get("type"), f"{where}.{f['name']}", namespace)
        shape = Shape(Kind.RECORD, fields=tuple((n, d.shape) for n, d in found.items()))
        return Described(shape, values.reads_record(tuple((n, d.read) for n, d in found.items())))


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _logical(schema: Mapping[str, object], found: Described, where: str) -> Described:
    """The type with the logical one that the schema adds; one that does not fit is passed over, as Avro demands."""
    logical = schema.get("logicalType")
    if schema.get("type") == "long" and logical in _INSTANTS:
        kind, factor = _INSTANTS[str(logical)]
        return Described(Shape(kind), values.reads_instant(factor))
    if schema.get("type") in ("bytes", "fixed") and logical == "decimal":
        precision, scale = schema.get("precision"), schema.get("scale", 0)
        if not isinstance(precision, int) or not isinstance(scale, int) or not 0 <= scale <= precision:
            return found
        if precision > MOST_DIGITS:
            raise SchemaError(where, f"is a decimal of {precision} digits, and a double tells {MOST_DIGITS} apart")
        return Described(Shape(Kind.DECIMAL), values.reads_decimal(found.read, scale, precision))
    return found
