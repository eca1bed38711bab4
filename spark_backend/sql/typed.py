"""A value of CEL as SQL, and lists and maps that the filter writes out, which are kept as their parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType

from . import tree
from .facts import constant, is_cheap, never_null
from .forms import read_variant
from .spark_types import SparkType
from .tree import Operators, PathKey, Scalar, Sql, function, literal, null

TIME, SPAN = CelType("timestamp to the nanosecond"), CelType("duration to the nanosecond")
"""Times and durations that Spark's own have no room for: decimals."""
SHORT = t.SHORT | {TIME, SPAN}
"""The types of values that are short, whatever they are."""


@dataclass(frozen=True, slots=True)
class Typed(Operators):
    """An SQL expression and what is known of its value in CEL.

    `type` is what the value is in CEL; a dynamic value is a VARIANT. NULL is a CEL error, whatever the type.
    `nan`: a double that may be NaN. `from_json`: a VARIANT that was parsed from JSON text, hence holds no binary, no
    time and no NaN. `shape`: the Spark type behind a typed column.
    `when_true` makes a cheaper condition that is TRUE for the same events, and FALSE or NULL for all others alike.
    """

    sql: Sql
    type: CelType
    nan: bool = True
    from_json: bool = False
    shape: SparkType | None = None
    when_true: Callable[[], Sql] | None = field(default=None, compare=False, repr=False)

    @property
    def cheap(self) -> bool:
        """Whether it may be written more than once."""
        return is_cheap(self.sql)

    @property
    def truth(self) -> Sql:
        """The cheaper condition, where there is one, else the expression."""
        return self.sql if self.when_true is None else self.when_true()

    @property
    def certain(self) -> bool:
        """Whether it is no error, whatever the event is."""
        return never_null(self.sql)

    @property
    def literal(self) -> object:
        """Its value, where that is written in the filter, and is not null; else None."""
        return constant(self.sql)

    def like(self, sql: tree.Operand, type_: CelType | None = None) -> Typed:
        """Another value of which the same is known but for the type."""
        return Typed(sql.sql, type_ or self.type, nan=self.nan, from_json=self.from_json, shape=self.shape)

    def at(self, key: PathKey) -> Typed:
        """The VARIANT one constant key further; this must be a VARIANT."""
        return Typed(read_variant(self, "variant", (key,)), t.JSON, nan=self.nan, from_json=self.from_json)


@dataclass(frozen=True, slots=True)
class Written:
    """A list that the filter writes out, by its `items`; a map by their `keys`, too."""

    items: tuple[Part, ...]
    keys: tuple[str, ...] | None = None

    @property
    def type(self) -> CelType:
        """Its type in CEL."""
        if self.keys is not None:
            return t.map_of(t.STRING, t.DYN)
        types = {i.type for i in self.items}
        return t.list_of(types.pop() if len(types) == 1 else t.DYN if types else t.JSON)

    @property
    def cheap(self) -> bool:
        """Whether its parts may be written more than once."""
        return all(i.cheap for i in self.items)

    def of(self, items: tuple[Part, ...]) -> Written:
        """The same with other items."""
        return Written(items, self.keys)


Part: TypeAlias = Typed | Written
"""What a part of a filter is: a value, or what the filter writes out."""
Scope: TypeAlias = Mapping[str, Part]
"""The variables around an expression, and what they stand for."""

CEL_NULL = Typed(function("parse_json", "null"), t.NULL, nan=False, from_json=True)
"""CEL's null, which is a value: SQL's NULL is an error."""


def constant_of(value: Scalar | bytes, type_: CelType) -> Typed:
    """A literal of one of the scalar types that SQL has."""
    return Typed(literal(value), type_, nan=False)


def boolean(test: tree.Operand, when_true: Callable[[], Sql] | None = None) -> Typed:
    """A condition."""
    return Typed(test.sql, t.BOOL, nan=False, when_true=when_true)


def error(type_: CelType, sql_type: str) -> Typed:
    """An error, as a value of a type."""
    return Typed(null(sql_type), type_, nan=False, from_json=True)


ERROR = error(t.JSON, "VARIANT")
NO_BOOL = error(t.BOOL, "BOOLEAN")


def joined(sign: str, operands: Sequence[Typed]) -> Typed:
    """Conditions joined by AND or OR."""
    join = tree.all_of if sign == "AND" else tree.any_of
    if all(o.when_true is None for o in operands):
        return boolean(join(operands))
    return boolean(join(operands), lambda: join([o.truth for o in operands]))
