"""Equality of whole JSON values: each is written out level by level as text, and the texts are compared.

Spark cannot compare VARIANTs. Here a value becomes an ARRAY<ARRAY<STRING>>, one array for each level of nesting: a
scalar is its kind and its text, a list is its length, an object is its keys in order. Since that says which values
belong together, two values are equal exactly when their arrays are. SQL cannot recurse, so the levels are walked by
`aggregate`, in stages that are skipped once nothing is left; every step looks one level down and no further, which
keeps the JVM's stack shallow on a deep payload.
"""

from __future__ import annotations

from dataclasses import dataclass

from tricel.compiler import celtypes as t

from . import (
    Operand,
    Scalar,
    Sql,
    Typed,
    array,
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
    read_variant,
    struct,
    variant,
    when,
)

_STAGES = (4, 8, 20, 50, 125, 310, 560)
"""Levels walked by each stage: most values end in the first, and Spark's JSON parser takes 1,000 levels.

A stage is walked to its end, some twenty microseconds a level: no more than twice as many as a value has.
"""


def same(a: Typed, b: Typed) -> Sql:
    """Whether two VARIANTs are equal as CEL values; NULL where either is none."""
    json = a.from_json and b.from_json
    left, right = _Writer(json, "N"), _Writer(json, "M")  # two marks: NaN equals nothing
    one, other = variant.is_container(a), variant.is_container(b)
    whole = case((other, equal(left.levels(a), right.levels(b))), otherwise=False)
    scalars = equal(left.scalar(a), right.scalar(b))
    return when(is_not_null(a) & is_not_null(b), case((one, whole), (other, False), otherwise=scalars))


def key(v: Typed, nan: Operand | str) -> Sql:
    """A text that two VARIANTs share exactly where they are equal as CEL values; NULL for what CEL does not have.

    `nan` is the text of NaN, which equals nothing: another for each value that it must differ from.
    """
    writer = _Writer(v.from_json, nan)

    def measured(part: Operand) -> Sql:
        return function("concat", cast(function("octet_length", part), "STRING"), ":", part)

    def counted(level: Operand) -> Sql:
        size = cast(function("array_size", level), "STRING")
        return function("concat", array([size]), function("transform", level, lambda_(measured)))

    levels = function("flatten", function("transform", writer.levels(v), lambda_(counted)))
    whole = function("concat", "c", function("array_join", levels, ","))
    return case((variant.is_container(v), whole), otherwise=writer.scalar(v))


def scalar_key(v: Typed, nan: Operand | str) -> Sql:
    """The same for scalars, to be compared with those of scalars: a text of no scalar for any other value."""
    scalar: Sql = _Writer(v.from_json, nan).scalar(v)
    if not v.from_json:
        scalar = function("coalesce", scalar, "c")
    return case((variant.is_container(v), "c"), otherwise=scalar)


@dataclass(frozen=True)
class _Writer:
    """`json`: the values come from JSON text, so Spark has put the keys in order and there is no NaN and no binary."""

    json: bool
    nan: Operand | Scalar

    def levels(self, v: Typed) -> Sql:
        """The value's levels; NULL where one holds what CEL does not have."""
        none = cast(function("array"), "ARRAY<ARRAY<STRING>>")
        start = struct(v=array([self._node(v)]), o=none)
        return function(
            "aggregate", array([integer(n) for n in _STAGES]), start, lambda2(self._stage), lambda_(self._end)
        )

    def _stage(self, walked: Operand, count: Operand) -> Sql:
        """So many levels more, unless nothing is left."""
        left = function("array_size", field_of(walked, "v"))
        times = case((equal(left, integer(0)), integer(0)), otherwise=count)
        return function("aggregate", function("array_repeat", integer(0), times), walked, lambda2(self._level))

    def _level(self, walked: Operand, _: Operand) -> Sql:
        nodes = field_of(walked, "v")
        children = function("flatten", function("transform", nodes, lambda_(self._children)))
        below = function("transform", children, lambda_(lambda item: self._node(self._variant(item))))
        written = function("flatten", function("transform", nodes, lambda_(self._signature)))
        return struct(v=below, o=function("concat", field_of(walked, "o"), array([written])))

    def _end(self, walked: Operand) -> Sql:
        levels = field_of(walked, "o")
        certain: Sql = equal(function("array_size", field_of(walked, "v")), integer(0))
        if not self.json:
            certain = certain & function("forall", levels, lambda_(_whole))
        return when(certain, levels)

    def _variant(self, node: Operand) -> Typed:
        return Typed(node.sql, t.JSON, from_json=self.json)

    def _node(self, x: Typed) -> Sql:
        """The value read once: as a list, as an object's entries, or as a scalar's text."""
        scalar = when(not_(variant.is_container(x)), self.scalar(x))
        return struct(l=variant.list_(x), m=variant.entries(x), s=scalar)

    def _children(self, node: Operand) -> Sql:
        items, entries = field_of(node, "l"), field_of(node, "m")
        none = cast(function("array"), "ARRAY<VARIANT>")
        return case((is_not_null(items), items), (is_not_null(entries), self._values(entries)), otherwise=none)

    def _signature(self, node: Operand) -> Sql:
        items, entries = field_of(node, "l"), field_of(node, "m")
        size = function("concat", "l", cast(function("array_size", items), "STRING"))
        keys = function("map_keys", entries)
        if not self.json:
            keys = function("array_sort", keys)
        marked = function("transform", keys, lambda_(lambda key: function("concat", "k", key)))
        named = function("concat", array(["o"]), marked)
        scalar = array([field_of(node, "s")])
        return case((is_not_null(items), array([size])), (is_not_null(entries), named), otherwise=scalar)

    def _values(self, entries: Operand) -> Sql:
        """An object's values in the order of their keys."""
        if self.json:
            return function("map_values", entries)

        def order(m: Operand, n: Operand) -> Sql:
            one, other = field_of(m, "key"), field_of(n, "key")
            return case((one < other, integer(-1)), (one > other, integer(1)), otherwise=integer(0))

        pairs = function("array_sort", function("map_entries", entries), lambda2(order))
        return function("transform", pairs, lambda_(lambda pair: field_of(pair, "value")))

    def scalar(self, x: Typed) -> Sql:
        """A scalar's kind and text; numbers as doubles, with one zero."""
        kind, double = variant.schema(x), read_variant(x, "double")
        text = read_variant(x, "string")
        named = (("STRING", function("concat", "s", text)), ("VOID", "n"), ("BOOLEAN", function("concat", "b", text)))
        number = function("concat", "d", cast(double + 0.0, "STRING"))
        if self.json:
            return case(*named, subject=kind, otherwise=number)
        number_or_nan = case((function("isnan", double), self.nan), otherwise=number)
        binary = ("BINARY", function("concat", "x", function("hex", read_variant(x, "binary"))))
        known = variant.is_number_kind(kind)
        return case(*named, binary, subject=kind, otherwise=when(known, number_or_nan))


def _whole(level: Operand) -> Sql:
    return is_not_null(level) & function("forall", level, lambda_(is_not_null))
