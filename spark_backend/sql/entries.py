"""Arrays of keys and values, as a Kafka record's headers are: as a map in which the last value of a key counts, as text.

A value that is NULL or no UTF-8 is no text, and its key is not in the map.
"""

from __future__ import annotations

from . import (
    Operand,
    Sql,
    all_of,
    case,
    cast,
    equal,
    field_of,
    function,
    integer,
    is_not_null,
    lambda2,
    lambda_,
    not_,
    operator,
    struct,
)
from .spark_types import SparkType


def last_entries(entries: Sql, type_: SparkType) -> Sql:
    """The map, as MAP<STRING, STRING>, without NULL.

    The keys are told apart in time that is nearly linear: sorted by key and place, the last of each is before another.
    No key is in the map twice, on which Spark would end the query.
    """
    placed = function("transform", entries, lambda2(lambda e, place: _placed(e, place)))
    in_order = function("array_sort", placed)
    after = function("slice", in_order, integer(2), integer(2**31 - 1))
    last = function("zip_with", in_order, after, lambda2(lambda e, other: _if_last(e, other, type_)))
    return function("map_from_entries", function("array_compact", last))


def last_value(entries: Sql, type_: SparkType, key: str) -> Sql:
    """The value of one key, as STRING; NULL where it is not there or no text."""
    alike = function("filter", entries, lambda_(lambda e: equal(field_of(e, "key"), key)))
    return _text(field_of(function("try_element_at", alike, integer(-1)), "value"), type_)


def _placed(e: Operand, place: Operand) -> Sql:
    return struct(key=field_of(e, "key"), place=place, value=field_of(e, "value"))


def _if_last(e: Operand, other: Operand, type_: SparkType) -> Sql:
    key = field_of(e, "key")
    differs = not_(operator("<=>", key, field_of(other, "key")))
    text = _text(field_of(e, "value"), type_)
    return case((all_of([is_not_null(key), differs, is_not_null(text)]), struct(key=key, value=text)))


def _text(value: Operand, type_: SparkType) -> Sql:
    fields = dict(type_.element.fields) if type_.element is not None else {}
    is_bytes = "value" in fields and fields["value"].name == "binary"
    return function("try_validate_utf8", cast(value, "STRING") if is_bytes else value)
