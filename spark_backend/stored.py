"""How an event is stored, as CEL sees it: typed columns as CEL values, and JSON text as a document parsed once."""

from __future__ import annotations

from tricel.compiler import celtypes as t

from .jsontext import is_plain, marked, may_be_infinite, parsed
from .layout import Root
from .reasons import NotNative
from .sparktypes import SparkType, cel_type
from .sql import Sql, text_literal

_JSON_MEDIA_TYPE = text_literal(r"(?i)\A[^;]*[/+]json[ \t]*(?:;|\z)")


def document_variable(key: str, taken: frozenset[str]) -> str:
    """The variable that stands for a parsed JSON text; none of the columns `taken`, which are in lower case.

    Spark does not tell capitals, so they are spelled out.
    """
    variable = "doc"
    if key != "data":
        variable += "_" + "".join(c if c.isascii() and (c.islower() or c.isdigit()) else f"_{ord(c):x}_" for c in key)
    while variable in taken:
        variable += "_"
    return variable


def body_text(where: Root, *, checked: bool = False) -> str:
    """The SQL that parses an event's payload: JSON by its media type or in its absence, else a string.

    A media type is JSON when its subtype is `json` or ends with `+json` (CloudEvents JSON format 1.0.2, section 3.1).
    `checked` is that of `parsed`.
    """
    text = where.column.text
    value = parsed(_uncollated(where) if checked else text, checked=checked)
    if where.media_type is None:
        return value
    return f"CASE WHEN {_is_json(where.media_type)} THEN {value} ELSE CAST({text} AS VARIANT) END"


def payload_text(where: Root, body: str) -> str:
    """The SQL of an event's payload as JSON text, for `jsonvalues.read_payload`. `body` is what `body_text` says.

    It is the text as it is where that is plain (see `jsontext.is_plain`), and after a blank where the value may hold
    infinity, which Spark writes as it writes a text, and older releases as what is no JSON; elsewhere what Spark writes
    of what its parser made of it.
    """
    text, written = _uncollated(where), f"to_json({body})"
    infinite = f"{may_be_infinite(text)} AND contains({written}, 'Infinity')"
    plain = f"CASE WHEN {is_plain(text)} THEN {text} WHEN {infinite} THEN {marked(text)} ELSE {written} END"
    return (
        plain if where.media_type is None else f"CASE WHEN {_is_json(where.media_type)} THEN {plain} ELSE {written} END"
    )


def _uncollated(where: Root) -> str:
    text = where.column.text
    return f"collate({text}, 'UTF8_BINARY')" if where.column.type.collated else text


def _is_json(media_type: str) -> str:
    return f"{media_type} IS NULL OR {media_type} = 'application/json' OR rlike({media_type}, {_JSON_MEDIA_TYPE})"


def is_bytes(variant: str) -> str:
    """The SQL that says whether a VARIANT holds bytes.

    Strings, too, can be had as binary. Only a scalar is asked for its schema: schema_of_variant walks the whole value.
    """
    binary = f"try_variant_get({variant}, '$', 'binary')"
    return f"(CASE WHEN {binary} IS NULL THEN FALSE ELSE schema_of_variant({variant}) = 'BINARY' END)"


def column(text: str, s: SparkType, depth: int = 0) -> Sql:
    """A typed column, or a field of one, as a CEL value."""
    type_ = cel_type(s)
    match s.name:
        case "byte" | "short" | "integer":
            return Sql(f"CAST({text} AS BIGINT)", type_, cheap=True, depth=depth + 1)
        case "float" | "decimal":
            return Sql(f"CAST({text} AS DOUBLE)", type_, cheap=True, depth=depth + 1, nan=s.name == "float")
        case "string" if s.collated:
            return Sql(f"collate({text}, 'UTF8_BINARY')", type_, cheap=True, depth=depth + 1)
        case "array":
            whole = f"CASE WHEN array_size(array_compact({text})) = array_size({text}) THEN {text} END"
            return Sql(whole, type_, cheap=True, depth=depth + 3, shape=s)
        case "struct":
            return Sql(text, type_, cheap=True, depth=depth, shape=s)
        case "map":
            present = f"map_filter({text}, (k, v) -> v IS NOT NULL)"
            return Sql(present, type_, cheap=True, depth=depth + 2, shape=s)
        case _:
            if type_ == t.DYN:
                raise NotNative(f"a column of type {s.name}")
            return Sql(text, type_, cheap=True, depth=depth)
