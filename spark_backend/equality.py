"""CEL equality: heterogeneous, numbers across types, NaN equal to nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType, Record

from . import canonical, dynamic, made, nanos, selection
from .reasons import UINT, NotNative
from .sparktypes import cel_type
from .sql import Sql, boolean, deepest, joined, literal

if TYPE_CHECKING:
    from .lower import Lowering

_SQL_SCALARS = t.SCALARS - {t.UINT}
EXACT_DOUBLE = 2**53
"""Ints up to this size, either sign, are doubles exactly."""


def equals(lowering: Lowering, a: Sql, b: Sql) -> Sql:
    """`a == b`; both must be cheap unless literal or of one scalar type.

    Raises:
        NotNative: where Spark has no exact form.
    """
    if t.DYN in (a.type, b.type):
        raise NotNative("a value of type dyn")
    if a.items is not None:
        return _made_equals(lowering, a, b)
    if b.items is not None:
        return _made_equals(lowering, b, a)
    if a.type == t.JSON and b.type == t.JSON:
        found = boolean(canonical.same(a, b, lowering.variable), (a, b))
        return replace(found, depth=found.depth + canonical.DEPTH)
    if b.type == t.JSON:
        a, b = b, a
    if a.type == t.JSON:
        return _dynamic_equals(lowering, a, b)
    if a.type.name == "list" and b.type.name == "list":
        return _lists_equal(lowering, a, b)
    return _static_equals(a, b)


def _made_equals(lowering: Lowering, parts: Sql, other: Sql) -> Sql:
    """A list or map written in the filter and any value: the same size, and part by part."""
    items = parts.items or ()
    kind = "map" if parts.keys is not None else "list"
    if other.items is not None:
        if parts.keys is not None and other.keys is not None and set(parts.keys) == set(other.keys):
            pairs = [(x, other.items[other.keys.index(k)]) for k, x in zip(parts.keys, items, strict=True)]
        elif (parts.keys, other.keys) == (None, None) and len(items) == len(other.items):
            pairs = list(zip(items, other.items, strict=True))
        else:
            return made.when_certain((parts, other), literal(False, t.BOOL))
        return made.when_certain((parts, other), _all_equal(lowering, pairs))
    if other.type != t.JSON and other.type.name != kind and not isinstance(other.type, Record):
        return made.when_certain((parts, other), literal(False, t.BOOL))
    if isinstance(other.type, Record) or (kind == "map" and other.type != t.JSON and not _is_flat_map(other)):
        raise NotNative("a map written in the filter, and columns")
    found = [selection.field(lowering, other, k) for k in parts.keys or range(len(items))]
    tests = [f"array_size({_held(other, kind)}) = {len(items)}"]
    tests += [f"{f} IS NOT NULL" for f in found] if kind == "map" else []
    same = _all_equal(lowering, list(zip(found, items, strict=True)))
    text = f"CASE WHEN {' AND '.join(tests)} THEN {same.text} ELSE FALSE END"
    return made.when_certain((other, parts), boolean(text, (other, parts, same)))


def _is_flat_map(v: Sql) -> bool:
    """Whether this is a map column from text to scalars."""
    shape = v.shape
    if shape is None or shape.key is None or shape.value is None:
        return False
    return shape.has_string_keys and cel_type(shape.value) in t.SCALARS


def _held(other: Sql, kind: str) -> str:
    """What to count: the elements of a list, or the keys of an object; NULL for a value of another kind."""
    if other.type != t.JSON:
        return other.text if kind == "list" else f"map_keys({other})"
    return dynamic.list_(other) if kind == "list" else f"map_keys({dynamic.entries(other)})"


def _all_equal(lowering: Lowering, pairs: list[tuple[Sql, Sql]]) -> Sql:
    tests = [equals(lowering, a, b) for a, b in pairs]
    return tests[0] if len(tests) == 1 else joined("AND", tests) if tests else literal(True, t.BOOL)


def _lists_equal(lowering: Lowering, a: Sql, b: Sql) -> Sql:
    """Two arrays: the same size, and element by element."""
    (x_name, x), (y_name, y), z = lowering.element(a), lowering.element(b), lowering.variable()
    same = equals(lowering, x, y)
    each = f"forall(zip_with({a.text}, {b.text}, ({x_name}, {y_name}) -> {same.text}), {z} -> {z})"
    sizes = f"array_size({a.text}) = array_size({b.text})"
    text = f"CASE WHEN {sizes} THEN {each} WHEN {a} IS NOT NULL AND {b} IS NOT NULL THEN FALSE END"
    return replace(boolean(text, (a, b)), depth=deepest((a, b, same)) + 6)


def _static_equals(a: Sql, b: Sql) -> Sql:
    if _is_container(a.type) and _is_container(b.type):
        raise NotNative("columns' maps or structs are compared whole")
    if {a.type, b.type} <= t.NUMBERS and a.type != b.type:
        a, b = comparable(a, b)
        if a.type != b.type:
            raise NotNative(UINT)
    if a.type == t.NULL and b.type == t.NULL:
        return made.when_certain((a, b), literal(True, t.BOOL))
    same = nanos.compared("=", a, b)
    if same is not None:
        return same
    if a.type == b.type and a.type in _SQL_SCALARS:
        guard = f" AND NOT (isnan({a}) AND isnan({b}))" if a.type == t.DOUBLE and a.nan and b.nan else ""
        return boolean(f"{a} = {b}{guard}", (a, b), infix=True)
    if a.type == b.type == t.UINT and (a.literal is None or b.literal is None):
        raise NotNative(UINT)
    if a.type == b.type == t.UINT:
        return literal(a.literal == b.literal, t.BOOL)
    if a.type in t.SCALARS or b.type in t.SCALARS:
        return made.when_certain((a, b), literal(False, t.BOOL))
    raise NotNative(f"equality of '{a.type}' and '{b.type}'")


def _dynamic_equals(lowering: Lowering, v: Sql, other: Sql) -> Sql:
    if other.type == t.NULL:
        return made.when_certain((other,), boolean(dynamic.is_null(v), (v,)))
    if other.type.name == "list":
        items = Sql(dynamic.list_(v), t.JSON_LIST, from_json=v.from_json, depth=v.depth + 1)
        same = _lists_equal(lowering, items, other)
        text = f"CASE WHEN {dynamic.is_list(v)} THEN {same.text} WHEN {v} IS NOT NULL AND {other} IS NOT NULL THEN FALSE END"
        return boolean(text, (v, same))
    if _is_container(other.type):
        raise NotNative("columns' maps or structs are compared whole")
    if other.type == t.BYTES and not v.from_json:
        raise NotNative("a VARIANT may hold bytes, which are not read from it")
    other = _as_double(other)
    read = dynamic.read_as(v, other.type)
    certain = [dynamic.exists(v), *made.certain((other,))]
    if read is None:
        return boolean(f"CASE WHEN {' AND '.join(certain)} THEN FALSE END", (v, other))
    same = _static_equals(read, other)
    found = boolean(f"CASE WHEN {same.text} THEN TRUE WHEN {' AND '.join(certain)} THEN FALSE END", (same, other))
    if other.type == t.DOUBLE and other.literal is not None:
        return replace(found, truth=dynamic.double_holds(v, f"= {other.text}"))
    return replace(found, truth=dynamic.string_holds(v, f"= {other}") if other.type == t.STRING else same.text)


def comparable(a: Sql, b: Sql) -> tuple[Sql, Sql]:
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


def exact_double(x: Sql) -> Sql:
    """A number written in the filter as the double that CEL compares it as."""
    return literal(float(x.literal), t.DOUBLE) if isinstance(x.literal, int) else x


def _as_double(x: Sql) -> Sql:
    if x.type not in (t.INT, t.UINT):
        return x
    if isinstance(x.literal, int):
        return exact_double(x)
    return Sql(f"CAST({x.text} AS DOUBLE)", t.DOUBLE, cheap=x.cheap, nan=False, depth=x.depth + 1)


def _whole_double(x: Sql) -> Sql | None:
    """A double literal as an int, where no int but that one is rounded to it."""
    value = x.literal
    if x.type == t.DOUBLE and isinstance(value, float) and value.is_integer() and abs(value) < EXACT_DOUBLE:
        return literal(int(value), t.INT)
    return None


def _as_int(x: Sql) -> Sql:
    if x.type == t.UINT and isinstance(x.literal, int) and x.literal < 2**63:
        return literal(x.literal, t.INT)
    return x


def _is_container(type_: CelType) -> bool:
    return isinstance(type_, Record) or type_.name in ("list", "map")
