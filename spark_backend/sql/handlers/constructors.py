"""Lists and maps written in the filter: kept as their parts, and turned into one SQL value only where one is needed.

CEL makes the whole value before it uses any of it, so an error in one part is an error of whatever reads another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType
from tricel.compiler.nodes import Lit, MapExpr

from .. import (
    ERROR,
    NO_BOOL,
    Operator,
    Part,
    Scope,
    Sql,
    Typed,
    Written,
    all_of,
    array,
    cast,
    constant_of,
    function,
    is_not_null,
    lambda_,
    literal,
    when,
)
from ..context import Context
from ..reasons import NotNative, Reason
from ..spark_types import SparkType

_EMPTY = Typed(cast(function("array"), "ARRAY<VARIANT>"), t.JSON_LIST, from_json=True)


def made_map(context: Context, e: MapExpr, scope: Scope) -> Written:
    """The map that `e` makes.

    Raises:
        NotNative: where a key is not a string written in the filter, or is there twice.
    """
    keys = [entry.key.value if isinstance(entry.key, Lit) else None for entry in e.entries]
    names = tuple(k for k in keys if isinstance(k, str))
    if len(names) < len(keys) or len(set(names)) < len(keys):
        raise NotNative(Reason.MAP_KEYS)
    return Written(tuple(context.parts(entry.value, scope) for entry in e.entries), names)


def null_tests(values: Iterable[Part]) -> list[Operator]:
    """Tests that the values are no errors; what is written in the filter is none."""
    found = []
    for value in values:
        if isinstance(value, Written):
            found += null_tests(value.items)
        elif not value.certain:
            found.append(is_not_null(value))
    return found


def unless_null(values: Sequence[Part], then: Typed) -> Typed:
    """`then` where none of the values is an error."""
    tests = null_tests(values)
    return then.like(when(all_of(tests), then)) if tests else then


def item(made: Written, key: str | int) -> Part:
    """The part of a list or map under a constant index or key; an error where there is none."""
    where = made.keys.index(key) if made.keys is not None and key in made.keys else key if made.keys is None else -1
    if isinstance(where, str) or not 0 <= where < len(made.items):
        return ERROR
    chosen = made.items[where]
    others = [x for i, x in enumerate(made.items) if i != where]
    if not null_tests(others):
        return chosen
    if isinstance(chosen, Written):
        raise NotNative(Reason.LISTS_BESIDE_ERRORS)
    return unless_null(others, chosen)


def has_key(made: Written, key: str) -> Typed:
    """`has(made.key)`; an error of a list."""
    return unless_null(made.items, NO_BOOL if made.keys is None else constant_of(key in made.keys, t.BOOL))


def size(made: Written) -> Typed:
    """`size(made)`."""
    return unless_null(made.items, constant_of(len(made.items), t.INT))


def materialize(context: Context, made: Written) -> Typed:
    """The list or map as one value: an array, or a VARIANT object.

    Raises:
        NotNative: where Spark has no type for it.
    """
    items = [context.materialize(i) for i in made.items]
    if made.keys is not None:
        return _object(context, made.keys, items)
    if not items:
        return _EMPTY
    first = items[0]
    if any(i.type != first.type or i.shape != first.shape for i in items):
        items = [as_variant(i) for i in items]
    json, nan = all(i.from_json for i in items), any(i.nan for i in items)
    shape = None if first.shape is None else SparkType("array", element=first.shape)
    found = Typed(array(items), t.list_of(items[0].type), nan=nan, from_json=json, shape=shape)
    return _certain(context, items, found, lambda a: a, lambda a: a.sql)


def _certain(
    context: Context,
    items: Sequence[Typed],
    made: Typed,
    of: Callable[[Typed], Typed],
    parts: Callable[[Typed], Sql],
) -> Typed:
    """`of` what was made where no item is an error. The items are looked at where they are, in its `parts`."""
    if all(i.cheap for i in items):
        return unless_null(items, of(made))

    def tested(whole: Typed) -> Typed:
        then = of(whole)
        return then.like(when(function("forall", parts(whole), lambda_(is_not_null)), then))

    return context.bind(made, tested)


def _object(context: Context, keys: Sequence[str], items: Sequence[Typed]) -> Typed:
    if not keys:
        return Typed(function("parse_json", "{}"), t.JSON, from_json=True)
    items = [as_variant(i) for i in items]
    pairs = [x for pair in zip(map(literal, keys), items, strict=True) for x in pair]
    json = all(v.from_json for v in items)
    entries = Typed(function("map", *pairs), t.JSON_MAP, from_json=json)

    def build(m: Typed) -> Typed:
        return Typed(function("to_variant_object", m), t.JSON, from_json=json)

    return _certain(context, items, entries, build, lambda m: function("map_values", m))


def as_variant(x: Typed) -> Typed:
    """A value as a VARIANT.

    Raises:
        NotNative: for what would not be read back as itself: an int would become a double.
    """
    if x.type == t.JSON:
        return x
    if x.type == t.NULL:
        return Typed(x.sql, t.JSON, nan=x.nan, from_json=True)
    if _has_variant(x.type) and x.shape is None:
        json = x.from_json if x.type.params else x.type != t.DOUBLE or not x.nan
        return Typed(cast(x, "VARIANT"), t.JSON, from_json=json)
    raise NotNative(Reason.AMONG_OTHERS, x.type)


def _has_variant(type_: CelType) -> bool:
    if type_.name == "list":
        return _has_variant(type_.params[0])
    return type_ in (t.BOOL, t.DOUBLE, t.STRING, t.JSON)


def concatenated(context: Context, first: Part, second: Part) -> Part:
    """The list of the first's elements and then the second's.

    Raises:
        NotNative: where they have no common type.
    """
    if isinstance(first, Written) and isinstance(second, Written):
        return Written((*first.items, *second.items))
    for one, other in ((first, second), (second, first)):
        if isinstance(one, Written) and not one.items:
            return other
    a, b = context.materialize(first), context.materialize(second)
    if a.type != b.type or a.shape != b.shape:
        a, b = _of_variants(context, a), _of_variants(context, b)
    json, nan = a.from_json and b.from_json, a.nan or b.nan
    return Typed(function("concat", a, b), a.type, nan=nan, from_json=json, shape=a.shape)


def _of_variants(context: Context, items: Typed) -> Typed:
    if items.type == t.JSON_LIST:
        return items
    if items.type.name != "list":
        raise NotNative(Reason.LIST_AND_OTHER, items.type)
    each = context.each(items, as_variant)
    return Typed(each.sql, t.JSON_LIST, from_json=each.from_json)
