"""CEL equality: heterogeneous, numbers across types, NaN equal to nothing."""

from __future__ import annotations

from collections.abc import Sequence

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType, Record

from .. import (
    Part,
    Sql,
    Typed,
    Written,
    all_of,
    boolean,
    case,
    cast,
    constant_of,
    equal,
    function,
    integer,
    is_not_null,
    joined,
    json_equality,
    lambda2,
    lambda_,
    not_,
    variant,
    when,
)
from ..context import Context
from ..reasons import NotNative, Reason
from ..spark_types import cel_type
from . import constructors, selection, timestamps

_SQL_SCALARS = t.SCALARS - {t.UINT}
EXACT_DOUBLE = 2**53
"""Ints up to this size, either sign, are doubles exactly."""


def equals(context: Context, a: Part, b: Part) -> Typed:
    """`a == b`; both must be cheap unless literal or of one scalar type.

    Raises:
        NotNative: where Spark has no exact form.
    """
    if t.DYN in (a.type, b.type):
        raise NotNative(Reason.DYN)
    if isinstance(a, Written):
        return _made_equals(context, a, b)
    if isinstance(b, Written):
        return _made_equals(context, b, a)
    if a.type == t.JSON and b.type == t.JSON:
        return boolean(json_equality.same(a, b))
    if b.type == t.JSON:
        a, b = b, a
    if a.type == t.JSON:
        return _dynamic_equals(context, a, b)
    if a.type.name == "list" and b.type.name == "list":
        return _lists_equal(context, a, b)
    return _static_equals(a, b)


def _made_equals(context: Context, parts: Written, other: Part) -> Typed:
    """A list or map written in the filter and any value: the same size, and part by part."""
    if isinstance(other, Written):
        return _both_made_equal(context, parts, other)
    kind = "list" if parts.keys is None else "map"
    if other.type != t.JSON and other.type.name != kind and not isinstance(other.type, Record):
        return constructors.unless_null((parts, other), constant_of(False, t.BOOL))
    if isinstance(other.type, Record) or (kind == "map" and other.type != t.JSON and not _is_flat_map(other)):
        raise NotNative(Reason.MAP_AND_COLUMNS)
    found = [selection.part_of(other, k) for k in parts.keys or range(len(parts.items))]
    tests: list[Sql] = [equal(function("array_size", _held(other, kind)), integer(len(parts.items)))]
    tests += [is_not_null(f) for f in found] if kind == "map" else []
    same = _all_equal(context, list(zip(found, parts.items, strict=True)))
    return constructors.unless_null((other, parts), boolean(case((all_of(tests), same), otherwise=False)))


def _both_made_equal(context: Context, a: Written, b: Written) -> Typed:
    pairs: list[tuple[Part, Part]]
    if a.keys is not None and b.keys is not None and set(a.keys) == set(b.keys):
        pairs = [(x, b.items[b.keys.index(k)]) for k, x in zip(a.keys, a.items, strict=True)]
    elif (a.keys, b.keys) == (None, None) and len(a.items) == len(b.items):
        pairs = list(zip(a.items, b.items, strict=True))
    else:
        return constructors.unless_null((a, b), constant_of(False, t.BOOL))
    return constructors.unless_null((a, b), _all_equal(context, pairs))


def _is_flat_map(v: Typed) -> bool:
    """Whether this is a map column from text to scalars."""
    shape = v.shape
    if shape is None or shape.key is None or shape.value is None:
        return False
    return shape.has_string_keys and cel_type(shape.value) in t.SCALARS


def _held(other: Typed, kind: str) -> Sql:
    """What to count: the elements of a list, or the keys of an object; NULL for a value of another kind."""
    if other.type != t.JSON:
        return other.sql if kind == "list" else function("map_keys", other)
    return variant.list_(other) if kind == "list" else function("map_keys", variant.entries(other))


def _all_equal(context: Context, pairs: Sequence[tuple[Part, Part]]) -> Typed:
    tests = [equals(context, a, b) for a, b in pairs]
    return joined("AND", tests) if tests else constant_of(True, t.BOOL)


def _lists_equal(context: Context, a: Typed, b: Typed) -> Typed:
    """Two arrays: the same size, and element by element."""
    same = lambda2(lambda x, y: equals(context, context.element(a, x), context.element(b, y)))
    each = function("forall", function("zip_with", a, b, same), lambda_(lambda z: z))
    sizes = equal(function("array_size", a), function("array_size", b))
    return boolean(case((sizes, each), (is_not_null(a) & is_not_null(b), False)))


def _static_equals(a: Typed, b: Typed) -> Typed:
    if _is_container(a.type) and _is_container(b.type):
        raise NotNative(Reason.COMPARED_WHOLE)
    if {a.type, b.type} <= t.NUMBERS and a.type != b.type:
        a, b = comparable(a, b)
        if a.type != b.type:
            raise NotNative(Reason.UNSIGNED)
    if a.type == t.NULL and b.type == t.NULL:
        return constructors.unless_null((a, b), constant_of(True, t.BOOL))
    same = timestamps.compared("=", a, b)
    if same is not None:
        return same
    if a.type == b.type and a.type in _SQL_SCALARS:
        found: Sql = equal(a, b)
        if a.type == t.DOUBLE and a.nan and b.nan:
            found = found & not_(function("isnan", a) & function("isnan", b))
        return boolean(found)
    if a.type == b.type == t.UINT and (a.literal is None or b.literal is None):
        raise NotNative(Reason.UNSIGNED)
    if a.type == b.type == t.UINT:
        return constant_of(a.literal == b.literal, t.BOOL)
    if a.type in t.SCALARS or b.type in t.SCALARS:
        return constructors.unless_null((a, b), constant_of(False, t.BOOL))
    raise NotNative(Reason.EQUALITY, a.type, b.type)


def _dynamic_equals(context: Context, v: Typed, other: Typed) -> Typed:
    if other.type == t.NULL:
        return constructors.unless_null((other,), boolean(variant.is_null(v)))
    if other.type.name == "list":
        same = _lists_equal(context, variant.list_of(v), other)
        return boolean(case((variant.is_list(v), same), (is_not_null(v) & is_not_null(other), False)))
    if _is_container(other.type):
        raise NotNative(Reason.COMPARED_WHOLE)
    if other.type == t.BYTES and not v.from_json:
        raise NotNative(Reason.VARIANT_BYTES)
    other = _as_double(other)
    read = variant.read_as(v, other.type)
    certain = all_of([is_not_null(v), *constructors.null_tests((other,))])
    if read is None:
        return boolean(when(certain, False))
    same = _static_equals(read, other)
    found = case((same, True), (certain, False))
    if other.type == t.DOUBLE and other.certain and not other.nan:
        return boolean(found, lambda: variant.double_holds(v, "=", other))
    return boolean(found, lambda: variant.string_holds(v, other) if other.type == t.STRING else same.sql)


def comparable(a: Typed, b: Typed) -> tuple[Typed, Typed]:
    """Two numbers of different types in one: an int or uint against a double is rounded to a double, as CEL has it.

    (CEL conformance suite, "comparisons": 9223372036854775807 >= 9223372036854775808.0.) A double written in the
    filter becomes an int where that decides alike, so that a column stays bare.
    """
    kinds = {t.DOUBLE if x.type == t.JSON else x.type for x in (a, b)}
    if not kinds <= t.NUMBERS or len(kinds) == 1:
        return a, b
    if t.DOUBLE in kinds:
        whole = [_whole_double(x) for x in (a, b)]
        if a.type == t.INT and a.literal is None and whole[1] is not None:
            return a, whole[1]
        if b.type == t.INT and b.literal is None and whole[0] is not None:
            return whole[0], b
        return _as_double(a), _as_double(b)
    return _as_int(a), _as_int(b)


def exact_double(x: Typed) -> Typed:
    """A number written in the filter as the double that CEL compares it as."""
    return constant_of(float(x.literal), t.DOUBLE) if isinstance(x.literal, int) else x


def _as_double(x: Typed) -> Typed:
    if x.type not in (t.INT, t.UINT):
        return x
    if isinstance(x.literal, int):
        return exact_double(x)
    return Typed(cast(x, "DOUBLE"), t.DOUBLE, nan=False)


def _whole_double(x: Typed) -> Typed | None:
    """A double literal as an int, where no int but that one is rounded to it."""
    value = x.literal
    if x.type == t.DOUBLE and isinstance(value, float) and value.is_integer() and abs(value) < EXACT_DOUBLE:
        return constant_of(int(value), t.INT)
    return None


def _as_int(x: Typed) -> Typed:
    if x.type == t.UINT and isinstance(x.literal, int) and x.literal < 2**63:
        return constant_of(x.literal, t.INT)
    return x


def _is_container(type_: CelType) -> bool:
    return isinstance(type_, Record) or type_.name in ("list", "map")
