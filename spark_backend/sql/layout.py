"""Where the roots of an environment live in a DataFrame: recognised from its schema, never configured.

Attributes are a struct or a map column, or flat columns with the attributes' names; those that are not declared are in a
map column, or, without one, flat columns too. The environment names those columns, and the columns of other roots (see
`compiler.environments.model.Storage`). Names are matched case by case, as CEL's are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType, Field, Record
from tricel.compiler.diagnostics import Diagnostic
from tricel.compiler.environments import model
from tricel.compiler.environments.attributes import record_of
from tricel.compiler.environments.cloudevent import CLOUD_EVENT
from tricel.compiler.environments.model import Environment, Form, Storage

from . import CEL_NULL, Sql, between, case, cast, field_of, function, is_null, lambda2, spark_types, when
from . import column as named
from .entries import last_entries
from .spark_types import BINARY, STRING, TEXT_MAP, VARIANT, SparkType, cel_type, default_type, spark_type


class LayoutError(ValueError):
    """A DataFrame's columns do not hold the events that a filter is about.

    `diagnostics` hold every column that filters read and the events lack; none where a column is of a wrong type.
    """

    def __init__(self, message: str, diagnostics: Iterable[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


_MILLISECONDS = (-62_135_596_800_000, 253_402_300_799_999)
"""The first and last that are a time in CEL, of the years 1 to 9999."""


class Held(StrEnum):
    """How a column holds a root's value."""

    JSON_TEXT = "JSON text"
    TEXT = "text"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Column:
    """A place in the schema: its SQL and Spark type."""

    sql: Sql
    type: SparkType


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes: columns by attribute name, and a map for every other name.

    `unnameable` are columns whose names hold `${`, which Spark would substitute. `holder` is the one column that all
    attributes are in, if there is one. The map holds extensions alone, unless it `holds_all`. `required` are the
    attributes that every event has, and `times` those that are times.
    """

    columns: Mapping[str, Column]
    others: Column | None
    unnameable: frozenset[str] = frozenset()
    holder: str = ""
    holds_all: bool = False
    required: frozenset[str] = frozenset()
    times: frozenset[str] = frozenset()

    def find(self, attribute: str) -> Column | None:
        """The SQL of one attribute, NULL where an event lacks it; None when no event can have it."""
        if attribute in self.columns:
            return self.columns[attribute]
        if attribute in self.unnameable:
            raise LayoutError(f"column '{attribute}' cannot be named: Spark substitutes ${{...}} in SQL; rename it")
        if self.others is None or self.others.type.value is None or (attribute in self.required and not self.holds_all):
            return None
        return Column(function("try_element_at", self.others.sql, attribute), self.others.type.value)


@dataclass(frozen=True, slots=True)
class Root:
    """Any other root. `media_type` is the SQL of the attribute that says whether text is JSON, if there is one.

    `null` is NULL where the value is CEL's null, if it can be. `type` is the type in CEL where that is not the column's.
    `entries` is the array of keys and values of which the column is the map.
    """

    column: Column
    held: Held
    media_type: Sql | None = None
    null: Sql | None = None
    type: CelType | None = None
    entries: Column | None = None

    @property
    def is_document(self) -> bool:
        """Whether it is text, of which a VARIANT is made."""
        return self.held is not Held.VALUE


@dataclass(frozen=True, slots=True)
class Quirks:
    """What a session does otherwise than Spark's newest release as it is set by itself.

    `takes_unpaired_surrogates`: its parser takes JSON that is none, so JSON text is checked first (see `json_text`).
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
                base = base.with_root(root, where.type or cel_type(where.column.type, root))
        record = base.record_type
        if self.attributes is not None and record is not None:
            typed = _typed_attributes(record, self.attributes)
            base = base if typed is record else base.with_root(base.record, typed)
        return base


def _typed_attributes(record: Record, attributes: Attributes) -> Record:
    """The record with the columns that are no text; the record itself where there are none."""
    declared = dict(record.fields)
    extra = tuple(
        (n, Field(cel_type(c.type, n)))
        for n, c in attributes.columns.items()
        if n not in declared and cel_type(c.type, n) != t.STRING
    )
    return Record(record.name, fields=(*record.fields, *extra), others=record.others) if extra else record


_HEADERS = SparkType("array", element=SparkType("struct", fields=(("key", STRING), ("value", BINARY))))
_CORE: Mapping[str, CelType] = {n: f.type for n, f in CLOUD_EVENT.record_type.fields} if CLOUD_EVENT.record_type else {}

DEFAULT = Layout(
    Attributes(
        {
            n: Column(named(n), spark_types.TIMESTAMP if type_ == t.TIMESTAMP else spark_types.STRING)
            for n, type_ in _CORE.items()
        },
        Column(named("extensions"), spark_types.TEXT_MAP),
        required=CLOUD_EVENT.required,
        times=frozenset({"time"}),
    ),
    {"data": Root(Column(named("data"), spark_types.STRING), Held.JSON_TEXT, named("datacontenttype"))},
)
"""Flat columns, an `extensions` map, `data` as JSON text: what `tricel compile` shows of a filter on CloudEvents."""


def recognise(schema: Any, environment: Environment = CLOUD_EVENT, quirks: Quirks = Quirks()) -> Layout:
    """The layout of a DataFrame with this `pyspark.sql.types.StructType`.

    Raises:
        LayoutError: where a column is ambiguous or of a type that cannot hold its root.
    """
    return _recognised(dict(spark_type(schema).fields), environment, quirks)


def _recognised(types: Mapping[str, SparkType], environment: Environment, quirks: Quirks = Quirks()) -> Layout:
    columns = {n: Column(named(n), s) for n, s in types.items()}
    attributes = _attributes(columns, environment) if environment.record else None
    roots = {}
    for root, _ in environment.roots:
        stored = environment.stored(root)
        column = None if root == environment.record else _first(columns, stored.columns)
        if column is not None:
            roots[root] = _root(root, column, environment, attributes)
    return Layout(attributes, roots, frozenset(n.lower() for n in columns), quirks)


@lru_cache(maxsize=256)
def default_layout(environment: Environment) -> Layout:
    """The layout of a table that nobody has described: what previews are for."""
    if environment.attributes == CLOUD_EVENT.attributes:
        payload, type_ = environment.payload, environment.root(environment.payload)
        if type_ is None or environment.stored(payload).form is not Form.TYPED:
            return DEFAULT
        return replace(DEFAULT, roots={payload: Root(Column(named(payload), default_type(type_)), Held.VALUE)})
    found: dict[str, SparkType] = {}
    for root, type_ in environment.roots:
        stored = environment.stored(root)
        if root == environment.record:
            found |= {n: default_type(f.type) for n, f in type_.fields} if isinstance(type_, Record) else {}
        elif not any(name in found for name in stored.columns):
            found[stored.columns[0]] = _default_column(type_, stored)
    return _recognised(found, environment)


def _default_column(type_: CelType, stored: Storage) -> SparkType:
    if stored.form in (Form.LAST_ENTRIES, Form.ENTRIES):
        return SparkType("array", element=SparkType("struct", fields=(("key", STRING), ("value", BINARY))))
    return SparkType(stored.default) if stored.default else default_type(type_)


def _first(columns: Mapping[str, Column], names: Iterable[str]) -> Column | None:
    """The first of the columns that is there; a dot selects a field of a struct."""
    for name in names:
        holder, _, field = name.partition(".")
        if name in columns:
            return columns[name]
        if holder in columns and field in dict(columns[holder].type.fields):
            return Column(field_of(columns[holder].sql, field), dict(columns[holder].type.fields)[field])
    return None


def _attributes(columns: Mapping[str, Column], environment: Environment) -> Attributes:
    stored = environment.attributes or model.Attributes((environment.record,))
    for holder in stored.holders:
        column = columns.get(holder)
        if column is not None and column.type.name == "struct":
            inner = {n: Column(field_of(column.sql, n), s) for n, s in column.type.fields}
            return replace(_flat(inner, environment, stored), holder=holder)
        if column is not None and column.type.name == "map":
            all_ = _text_map(holder, column)
            return Attributes({}, all_, holder=holder, holds_all=True, times=record_of(environment).times)
    return _flat(columns, environment, stored)


def _flat(columns: Mapping[str, Column], environment: Environment, stored: model.Attributes) -> Attributes:
    record, required, times = environment.record_type, environment.required, record_of(environment).times
    fields = () if record is None else record.fields
    core = {n: f.type for n, f in fields if f.type == t.STRING or n in times}  # others are what columns make them
    found = {n: _core_column(n, columns[n], wanted, environment.name) for n, wanted in core.items() if n in columns}
    if stored.others in columns:
        return Attributes(found, _text_map(stored.others, columns[stored.others]), required=required, times=times)
    scalar = {
        n: c
        for n, c in columns.items()
        if n not in core and (environment.root(n) is None or n == environment.record) and not _container(c.type)
    }
    unnameable = frozenset(n for n in scalar if "${" in n)
    scalar = {n: c for n, c in scalar.items() if n not in unnameable}
    return Attributes({**found, **scalar}, None, unnameable, required=required, times=times)


def _core_column(attribute: str, column: Column, wanted: CelType, name: str) -> Column:
    accepted = ("string", "timestamp") if wanted == t.TIMESTAMP else ("string",)
    if column.type.name not in accepted:
        raise LayoutError(f"column '{attribute}' is {column.type.name}; a {name}'s '{attribute}' is {accepted[-1]}")
    return column


def _text_map(label: str, column: Column) -> Column:
    key, value = column.type.key, column.type.value
    if key is None or value is None or key.name != "string" or value.name != "string":
        raise LayoutError(f"column '{label}' must be map<string,string> to hold attributes, it is {column.type.name}")
    return column


def _container(s: SparkType) -> bool:
    return s.name in ("struct", "map", "array", "variant", "binary")


def _root(root: str, column: Column, environment: Environment, attributes: Attributes | None) -> Root:
    stored, type_, kind = environment.stored(root), environment.root(root), column.type.name
    match stored.form:
        case Form.JSON | Form.TEXT | Form.BYTES if stored.nullable and kind == "variant":
            value = case((is_null(column.sql), CEL_NULL), otherwise=column.sql)
            return Root(Column(value, VARIANT), Held.VALUE)
        case Form.JSON | Form.TEXT if root in environment.decodable and kind in ("binary", "string"):
            return _decoded(column, stored)
        case Form.JSON if type_ == t.JSON and kind == "string":
            media = environment.attributes.media_type if environment.attributes is not None else ""
            said = attributes.find(media) if attributes is not None and media else None
            return Root(column, Held.JSON_TEXT, said.sql if said is not None else None)
        case Form.BYTES if kind in ("binary", "string"):
            held = column.sql if kind == "binary" else cast(column.sql, "BINARY")
            if not stored.nullable:
                return Root(Column(held, BINARY), Held.VALUE)
            value = case((is_null(column.sql), CEL_NULL), otherwise=cast(held, "VARIANT"))
            return Root(Column(value, VARIANT), Held.VALUE, type=t.DYN)
        case Form.MILLISECONDS if kind in ("byte", "short", "integer", "long"):
            instant = when(between(column.sql, *_MILLISECONDS), function("timestamp_millis", column.sql))
            return Root(Column(instant, spark_types.TIMESTAMP), Held.VALUE)
        case Form.LAST_ENTRIES | Form.ENTRIES if (array := _entries(column)) is not None:
            if stored.form is Form.LAST_ENTRIES:
                return Root(Column(last_entries(array.sql, array.type), TEXT_MAP), Held.VALUE, entries=array)
            return Root(array, Held.VALUE, type=type_ if array.type == _HEADERS else None)
        case Form.LAST_ENTRIES if kind == "map" and column.type.value == BINARY:
            text = function("transform_values", column.sql, lambda2(lambda _, v: _text(Column(v.sql, BINARY)).sql))
            return Root(Column(text, replace(column.type, value=STRING)), Held.VALUE)
        case _:
            return Root(column, Held.VALUE)


def _decoded(column: Column, stored: Storage) -> Root:
    """Text, or bytes that are UTF-8, of a value that is JSON or the text itself; an error where it is neither."""
    text, null = _text(column), column.sql if stored.nullable else None
    if stored.form is Form.JSON:
        return Root(text, Held.JSON_TEXT, null=null)
    return Root(text, Held.TEXT, null=null) if stored.nullable else Root(text, Held.VALUE)


def _text(column: Column) -> Column:
    """The text in a column of text or bytes; NULL where it is no UTF-8."""
    text = cast(column.sql, "STRING") if column.type.name == "binary" else column.sql
    if column.type.collated:
        text = function("collate", text, "UTF8_BINARY")
    return Column(function("try_validate_utf8", text), STRING)


def _entries(column: Column) -> Column | None:
    """An array of keys and values, empty where the column is NULL; None for a column of another type."""
    element = column.type.element
    if column.type.name != "array" or element is None or element.name != "struct":
        return None
    fields = dict(element.fields)
    if set(fields) != {"key", "value"} or fields["key"] != STRING or fields["value"] not in (BINARY, STRING):
        return None
    return Column(function("coalesce", column.sql, function("array")), column.type)
