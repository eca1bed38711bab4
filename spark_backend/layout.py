"""Where the roots of an environment live in a DataFrame: recognised from its schema, never configured.

A CloudEvent's attributes are a struct or a map column called `ce` or `attributes`, or flat columns with the
attributes' names; extensions are in a map column `extensions`, or, without one, flat columns too. `data` is JSON
text, a VARIANT, or a typed column. Names are matched case by case, as CEL's are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType, Field, Record
from tricel.compiler.environment import CLOUD_EVENT, CONTEXT_ATTRIBUTES, Environment

from . import sparktypes
from .sparktypes import SparkType, cel_type, spark_type
from .sql import name, text_literal


class LayoutError(ValueError):
    """A DataFrame's columns do not hold the events that a filter is about."""


class Held(StrEnum):
    """How a column holds a root's value."""

    JSON_TEXT = "JSON text"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Column:
    """A place in the schema: its SQL text and Spark type."""

    text: str
    type: SparkType


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of `ce`: columns by attribute name, and a map for every other name.

    `unnameable` are columns whose names hold `${`, which Spark would substitute.
    """

    columns: Mapping[str, Column]
    others: Column | None
    unnameable: frozenset[str] = frozenset()

    def find(self, attribute: str) -> Column | None:
        """The SQL of one attribute, NULL where an event lacks it; None when no event can have it."""
        if attribute in self.columns:
            return self.columns[attribute]
        if attribute in self.unnameable:
            raise LayoutError(f"column '{attribute}' cannot be named: Spark substitutes ${{...}} in SQL; rename it")
        if self.others is None or self.others.type.value is None:
            return None
        return Column(f"try_element_at({self.others.text}, {text_literal(attribute)})", self.others.type.value)


@dataclass(frozen=True, slots=True)
class Root:
    """Any other root. `media_type` is the SQL of the attribute that says whether text is JSON, if there is one."""

    column: Column
    held: Held
    media_type: str | None = None


@dataclass(frozen=True, slots=True)
class Quirks:
    """What a session does otherwise than Spark's newest release as it is set by itself.

    `takes_unpaired_surrogates`: its parser takes JSON that is none, so JSON text is checked first (see `jsontext`).
    `loses_nested_lambdas`: it cannot run a Python UDF among whose arguments one lambda is inside another.
    `keeps_last`: its parser takes an object with a key twice, and keeps the last.
    """

    takes_unpaired_surrogates: bool = False
    loses_nested_lambdas: bool = False
    keeps_last: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything is, in what session. `taken` are column names in lower case, which the SQL's variables avoid."""

    attributes: Attributes | None
    roots: Mapping[str, Root]
    taken: frozenset[str] = frozenset()
    quirks: Quirks = Quirks()

    def environment(self, base: Environment) -> Environment:
        """`base` with the types that the columns have."""
        for root, where in self.roots.items():
            if where.held is Held.VALUE and base.root(root) is not None:
                base = base.with_root(root, cel_type(where.column.type, root))
        ce = base.root("ce")
        if self.attributes is not None and isinstance(ce, Record):
            typed = _typed_attributes(ce, self.attributes)
            base = base if typed is ce else base.with_root("ce", typed)
        return base


def _typed_attributes(ce: Record, attributes: Attributes) -> Record:
    """`ce` with the columns that are no text; `ce` itself where there are none."""
    declared = dict(ce.fields)
    extra = tuple(
        (n, Field(cel_type(c.type, n)))
        for n, c in attributes.columns.items()
        if n not in declared and cel_type(c.type, n) != t.STRING
    )
    return Record(ce.name, fields=(*ce.fields, *extra), others=ce.others) if extra else ce


_CORE: Mapping[str, CelType] = {n: f.type for n, f in CONTEXT_ATTRIBUTES.fields}
DEFAULT = Layout(
    Attributes(
        {
            n: Column(name(n), sparktypes.TIMESTAMP if type_ == t.TIMESTAMP else sparktypes.STRING)
            for n, type_ in _CORE.items()
        },
        Column(name("extensions"), sparktypes.TEXT_MAP),
    ),
    {"data": Root(Column(name("data"), sparktypes.STRING), Held.JSON_TEXT, name("datacontenttype"))},
)
"""Flat columns, an `extensions` map, `data` as JSON text: what `tricel compile` shows."""


def recognise(schema: Any, environment: Environment = CLOUD_EVENT, quirks: Quirks = Quirks()) -> Layout:
    """The layout of a DataFrame with this `pyspark.sql.types.StructType`.

    Raises:
        LayoutError: where a column is ambiguous or of a type that cannot hold its root.
    """
    top = spark_type(schema)
    columns = {n: Column(name(n), s) for n, s in top.fields}
    attributes = _attributes(columns) if environment.root("ce") is not None else None
    roots = {}
    for root, type_ in environment.roots:
        if root != "ce" and root in columns:
            roots[root] = _root(columns[root], type_, attributes)
    return Layout(attributes, roots, frozenset(n.lower() for n in columns), quirks)


def _attributes(columns: Mapping[str, Column]) -> Attributes:
    for holder in ("ce", "attributes"):
        column = columns.get(holder)
        if column is not None and column.type.name == "struct":
            return _flat({n: Column(f"{column.text}.{name(n)}", s) for n, s in column.type.fields})
        if column is not None and column.type.name == "map":
            return Attributes({}, _text_map(holder, column))
    return _flat(columns)


def _flat(columns: Mapping[str, Column]) -> Attributes:
    found = {n: _core_column(n, columns[n], wanted) for n, wanted in _CORE.items() if n in columns}
    if "extensions" in columns:
        return Attributes(found, _text_map("extensions", columns["extensions"]))
    scalar = {n: c for n, c in columns.items() if n != "data" and n not in _CORE and not _container(c.type)}
    unnameable = frozenset(n for n in scalar if "${" in n)
    scalar = {n: c for n, c in scalar.items() if n not in unnameable}
    return Attributes({**found, **scalar}, None, unnameable)


def _core_column(attribute: str, column: Column, wanted: CelType) -> Column:
    accepted = ("string", "timestamp") if wanted == t.TIMESTAMP else ("string",)
    if column.type.name not in accepted:
        raise LayoutError(f"column '{attribute}' is {column.type.name}; a CloudEvent's '{attribute}' is {accepted[-1]}")
    return column


def _text_map(label: str, column: Column) -> Column:
    key, value = column.type.key, column.type.value
    if key is None or value is None or key.name != "string" or value.name != "string":
        raise LayoutError(f"column '{label}' must be map<string,string> to hold attributes, it is {column.type.name}")
    return column


def _container(s: SparkType) -> bool:
    return s.name in ("struct", "map", "array", "variant", "binary")


def _root(column: Column, type_: CelType, attributes: Attributes | None) -> Root:
    if type_ == t.JSON and column.type.name == "string":
        media = attributes.find("datacontenttype") if attributes is not None else None
        return Root(column, Held.JSON_TEXT, media.text if media is not None else None)
    return Root(column, Held.VALUE)
