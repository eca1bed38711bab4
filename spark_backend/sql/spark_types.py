"""Spark types as the lowering sees them, without pyspark; and the CEL type of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType, Field, Record

_SCALARS = {
    "string": t.STRING,
    "char": t.STRING,
    "varchar": t.STRING,
    "byte": t.INT,
    "short": t.INT,
    "integer": t.INT,
    "long": t.INT,
    "float": t.DOUBLE,
    "double": t.DOUBLE,
    "decimal": t.DOUBLE,
    "boolean": t.BOOL,
    "timestamp": t.TIMESTAMP,
    "binary": t.BYTES,
    "variant": t.JSON,
}


@dataclass(frozen=True, slots=True)
class SparkType:
    """A Spark type by name (`string`, `long`, `struct`, ...), with the parts of a container.

    `fields` are a struct's, by name; `element` an array's; `key` and `value` a map's. `collated`: a string that
    Spark would compare by a collation rather than by its bytes.
    """

    name: str
    fields: tuple[tuple[str, SparkType], ...] = ()
    element: SparkType | None = None
    key: SparkType | None = None
    value: SparkType | None = None
    collated: bool = False

    @property
    def has_string_keys(self) -> bool:
        """Whether it is a map whose keys CEL can name: texts, told apart by every character."""
        return self.key is not None and self.key.name == "string" and not self.key.collated


STRING = SparkType("string")
TIMESTAMP = SparkType("timestamp")
BINARY = SparkType("binary")
VARIANT = SparkType("variant")
TEXT_MAP = SparkType("map", key=STRING, value=STRING)


def spark_type(data_type: Any) -> SparkType:
    """A `pyspark.sql.types.DataType` read by its shape, so that this module needs no pyspark."""
    kind = data_type.typeName()
    match kind:
        case "struct":
            return SparkType("struct", fields=tuple((f.name, spark_type(f.dataType)) for f in data_type.fields))
        case "array":
            return SparkType("array", element=spark_type(data_type.elementType))
        case "map":
            return SparkType("map", key=spark_type(data_type.keyType), value=spark_type(data_type.valueType))
        case "string":
            return SparkType("string", collated=getattr(data_type, "collation", "UTF8_BINARY") != "UTF8_BINARY")
        case _:
            return SparkType(kind.split("(")[0].split(" ")[0])


SINGLE = CelType("single")
"""A float of 32 bits where it must be told from a double: its JSON text is the text of another double."""


def cel_type(s: SparkType, label: str = "data", *, single: CelType = t.DOUBLE) -> CelType:
    """The CEL type of a Spark type: `decimal` reads as double, an unknown type as dyn, which nothing lowers.

    `single` is the type of a `float`.
    """
    match s.name:
        case "struct":
            fields = tuple((n, Field(cel_type(f, f"{label}.{n}", single=single))) for n, f in s.fields)
            return Record(label, fields=fields)
        case "array" if s.element is not None:
            return t.list_of(cel_type(s.element, f"{label}[]", single=single))
        case "map" if s.key is not None and s.value is not None:
            return t.map_of(cel_type(s.key, label), cel_type(s.value, f"{label}[]", single=single))
        case "float":
            return single
        case _:
            return _SCALARS.get(s.name, t.DYN)


_NAMES = {t.STRING: "string", t.INT: "long", t.DOUBLE: "double", t.BOOL: "boolean", t.TIMESTAMP: "timestamp"}
_NAMES[t.BYTES] = "binary"


def default_type(type_: CelType) -> SparkType:
    """The Spark type that a value of a CEL type is most simply held in; JSON is held as text."""
    if isinstance(type_, Record):
        return SparkType("struct", fields=tuple((n, default_type(f.type)) for n, f in type_.fields))
    match type_:
        case CelType(name="list", params=(element,)):
            return SparkType("array", element=default_type(element))
        case CelType(name="map", params=(key, value)):
            return SparkType("map", key=default_type(key), value=default_type(value))
        case _:
            return SparkType(_NAMES.get(type_, "string"))
