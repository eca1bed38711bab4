"""How an event is stored, as CEL sees it: typed columns as CEL values, and JSON text as a document parsed once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias

from tricel.compiler import celtypes as t

from . import (
    CEL_NULL,
    Operand,
    Sql,
    Typed,
    Variable,
    case,
    cast,
    equal,
    function,
    is_not_null,
    is_null,
    lambda2,
    named,
    read_variant,
    variable,
    when,
)
from .json_text import is_plain, marked, may_be_infinite, parsed
from .layout import Held, Root
from .reasons import NotNative, Reason
from .spark_types import SparkType, cel_type

_JSON_MEDIA_TYPE = r"(?i)\A[^;]*[/+]json[ \t]*(?:;|\z)"


def document_variable(key: str, taken: frozenset[str]) -> str:
    """The name of what stands for a parsed JSON text; none of the columns `taken`, which are in lower case.

    Spark does not tell capitals, so they are spelled out.
    """
    name = "doc"
    if key != "data":
        name += "_" + "".join(c if c.isascii() and (c.islower() or c.isdigit()) else f"_{ord(c):x}_" for c in key)
    while name in taken:
        name += "_"
    return name


def document(name: str) -> Variable:
    """The variable of a document, the same wherever it is read."""
    return variable(name)


Documents: TypeAlias = tuple[tuple[str, Sql], ...]
"""JSON texts that are parsed once, each by the name of the variable that stands for what is in it."""


def around(value: Operand, documents: Iterable[tuple[str, Sql]]) -> Sql:
    """The value with each JSON text bound, parsed, to its variable."""
    found = value.sql
    for name, text in documents:
        found = named(text, document(name), found)
    return found


@lru_cache(maxsize=64)
def body_text(where: Root, *, checked: bool = False) -> Sql:
    """What parses an event's payload: JSON by its media type or in its absence, else a string.

    A media type is JSON when its subtype is `json` or ends with `+json` (CloudEvents JSON format 1.0.2, section 3.1).
    `checked` is that of `parsed`.
    """
    text = where.column.sql
    if where.held is Held.TEXT:
        return _or_null(where, cast(text, "VARIANT"))
    value = parsed(_uncollated(where) if checked else text, checked=checked)
    if where.media_type is None:
        return _or_null(where, value)
    return case((_is_json(where.media_type), value), otherwise=cast(text, "VARIANT"))


def _or_null(where: Root, value: Sql) -> Sql:
    """The value, or CEL's null where the root can be that."""
    return value if where.null is None else case((is_null(where.null), CEL_NULL), otherwise=value)


def payload_text(where: Root, body: Sql) -> Sql:
    """An event's payload as JSON text, for `json_values.read_payload`. `body` is what `body_text` says.

    It is the text as it is where that is plain (see `json_text.is_plain`), and after a blank where the value may hold
    infinity, which Spark writes as it writes a text, and older releases as what is no JSON; elsewhere what Spark writes
    of what its parser made of it.
    """
    text, written = _uncollated(where), function("to_json", body)
    if where.held is Held.TEXT:
        return written
    infinite = may_be_infinite(text) & function("contains", written, "Infinity")
    plain = case((is_plain(text), text), (infinite, marked(text)), otherwise=written)
    return plain if where.media_type is None else case((_is_json(where.media_type), plain), otherwise=written)


def _uncollated(where: Root) -> Sql:
    return uncollated(where.column.sql) if where.column.type.collated else where.column.sql


def uncollated(text: Operand) -> Sql:
    """A text that is compared by its bytes."""
    return function("collate", text, "UTF8_BINARY")


def _is_json(media_type: Sql) -> Sql:
    known = is_null(media_type) | equal(media_type, "application/json")
    return known | function("rlike", media_type, _JSON_MEDIA_TYPE)


def is_bytes(v: Operand) -> Sql:
    """Whether a VARIANT holds bytes.

    Strings, too, can be had as binary. Only a scalar is asked for its schema: schema_of_variant walks the whole value.
    """
    holds = equal(function("schema_of_variant", v), "BINARY")
    return case((is_null(read_variant(v, "binary")), False), otherwise=holds)


def typed_column(node: Operand, s: SparkType) -> Typed:
    """A typed column, or a field of one, as a CEL value.

    Raises:
        NotNative: for a type that CEL does not have.
    """
    type_ = cel_type(s)
    match s.name:
        case "byte" | "short" | "integer":
            return Typed(cast(node, "BIGINT"), type_)
        case "float" | "decimal":
            return Typed(cast(node, "DOUBLE"), type_, nan=s.name == "float")
        case "string" if s.collated:
            return Typed(uncollated(node), type_)
        case "array":
            whole = equal(function("array_size", function("array_compact", node)), function("array_size", node))
            return Typed(when(whole, node), type_, shape=s)
        case "struct":
            return Typed(node.sql, type_, shape=s)
        case "map":
            present = function("map_filter", node, lambda2(lambda _, value: is_not_null(value)))
            return Typed(present, type_, shape=s)
        case _:
            if type_ == t.DYN:
                raise NotNative(Reason.COLUMN_TYPE, s.name)
            return Typed(node.sql, type_)
