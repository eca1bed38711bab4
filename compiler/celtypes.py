"""CEL types, and which may stand where another is wanted."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CelType:
    """A type by name, with parameters for `list(T)` and `map(K, V)`. A name of one capital letter is a parameter."""

    name: str
    params: tuple[CelType, ...] = ()

    def __eq__(self, other: object) -> bool:
        # As a dataclass compares, with a short cut: most types are the constants below.
        if self is other:
            return True
        if not isinstance(other, CelType) or other.__class__ is not self.__class__:
            return NotImplemented
        return self.name == other.name and self.params == other.params

    def __str__(self) -> str:
        if self.params:
            return f"{self.name}({', '.join(map(str, self.params))})"
        return "dyn" if self.name == "free" else self.name

    @property
    def is_parameter(self) -> bool:
        """Whether this stands for any one type within a signature."""
        return len(self.name) == 1


NULL = CelType("null_type")
BOOL = CelType("bool")
INT = CelType("int")
UINT = CelType("uint")
DOUBLE = CelType("double")
STRING = CelType("string")
BYTES = CelType("bytes")
TIMESTAMP = CelType("timestamp")
DURATION = CelType("duration")
TYPE = CelType("type")
DYN = CelType("dyn")
"""Any value; nothing is known before evaluation."""
JSON = CelType("json")
"""A JSON value: null, bool, double, string, list of json or map from string to json. Never an int: CEL reads JSON
numbers as double (protobuf `Value`), which is how `data.n + 1` is known to be an error before any event is seen."""


FREE = CelType("free")
"""The type of the elements of an empty list, and the like: there are none, so they are of any type it is joined with.
It stands only within another type; what is read from there is `DYN`."""

MOST_LEVELS = 8
"""Levels of a list or map in another of which the checker knows the types."""


def list_of(element: CelType) -> CelType:
    """`list(element)`."""
    return CelType("list", (element,))


def map_of(key: CelType, value: CelType) -> CelType:
    """`map(key, value)`."""
    return CelType("map", (key, value))


def optional_of(value: CelType) -> CelType:
    """`optional_type(value)`."""
    return CelType("optional_type", (value,))


JSON_LIST = list_of(JSON)
JSON_MAP = map_of(STRING, JSON)
JSON_KINDS = (NULL, BOOL, DOUBLE, STRING, JSON_LIST, JSON_MAP)
NUMBERS = frozenset({INT, UINT, DOUBLE})
SHORT = NUMBERS | {NULL, BOOL, TIMESTAMP, DURATION, TYPE}
"""Types whose values take little room, whatever they are."""
SCALARS = SHORT | {STRING, BYTES}
"""Types whose values hold no others."""
ORDERED = SCALARS - {NULL, TYPE}
"""Types whose values have an order."""
TOTALLY_ORDERED = ORDERED - {DOUBLE}
"""Types of which two values are equal or one is before the other: all but the type of NaN."""


@dataclass(frozen=True, slots=True)
class Field:
    """A declared field: its type, and whether every value has it."""

    type: CelType
    required: bool = False
    doc: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Record(CelType):
    """A map from string with declared fields. `others` types every field not declared; None: there are no others."""

    fields: tuple[tuple[str, Field], ...] = ()
    others: CelType | None = None

    def __str__(self) -> str:
        return self.name

    def field(self, name: str) -> Field | None:
        """The field called `name`, declared or among the others; None where there can be none."""
        return self.declared(name) or (None if self.others is None else Field(self.others))

    def declared(self, name: str) -> Field | None:
        """The declared field called `name`."""
        for known, declared in self.fields:
            if known == name:
                return declared
        return None


def parts(t: CelType) -> tuple[CelType, ...]:
    """The types inside a type: those of a record's declared fields, or the parameters of any other."""
    return tuple(f.type for _, f in t.fields) if isinstance(t, Record) else t.params


def is_dynamic(t: CelType) -> bool:
    """Whether the type of a value is known only at evaluation."""
    return t in (DYN, JSON, FREE)


def settled(type_: CelType) -> CelType:
    """The type with `DYN` for all that is still free in it."""
    if type_ == FREE:
        return DYN
    if isinstance(type_, Record) or not type_.params:
        return type_
    params = tuple([settled(p) for p in type_.params])
    return type_ if all(a is b for a, b in zip(params, type_.params, strict=True)) else CelType(type_.name, params)


def shallow(type_: CelType, levels: int = MOST_LEVELS) -> CelType:
    """The type with what is nested deeper than so many levels left open. A type may hold another twice, and so on."""
    if isinstance(type_, Record) or not type_.params:
        return type_
    if not levels:
        return DYN
    params = tuple([shallow(p, levels - 1) for p in type_.params])
    return type_ if all(a is b for a, b in zip(params, type_.params, strict=True)) else CelType(type_.name, params)
