"""Lists and maps written in the filter: kept as their parts, and turned into one SQL value only where one is needed.

CEL makes the whole value before it uses any of it, so an error in one part is an error of whatever reads another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType
from tricel.compiler.nodes import Lit, MapExpr

from .reasons import NotNative
from .sparktypes import SparkType
from .sql import Sql, boolean, deepest, text_literal

if TYPE_CHECKING:
    from .lower import Lowering

_EMPTY = "CAST(array() AS ARRAY<VARIANT>)"


def made_list(items: Sequence[Sql]) -> Sql:
    """The list of `items`."""
    types = {i.type for i in items}
    element = types.pop() if len(types) == 1 else t.DYN if types else t.JSON
    cheap = all(i.cheap for i in items)
    return Sql("", t.list_of(element), cheap=cheap, depth=deepest(items) + 1, items=tuple(items))


def made_map(lowering: Lowering, e: MapExpr, scope: dict[str, Sql]) -> Sql:
    """The map that `e` makes.

    Raises:
        NotNative: where a key is not a string written in the filter, or is there twice.
    """
    keys = [entry.key.value if isinstance(entry.key, Lit) else None for entry in e.entries]
    names = tuple(k for k in keys if isinstance(k, str))
    if len(names) < len(keys) or len(set(names)) < len(keys):
        raise NotNative("a map whose keys are not different strings")
    items = tuple(lowering.parts(entry.value, scope) for entry in e.entries)
    cheap = all(i.cheap for i in items)
    return Sql("", t.map_of(t.STRING, t.DYN), cheap=cheap, depth=deepest(items) + 1, items=items, keys=names)


def certain(values: Iterable[Sql]) -> list[str]:
    """Tests that the values are no errors; a literal is none."""
    found = []
    for value in values:
        if value.items is not None:
            found += certain(value.items)
        elif not value.is_literal:
            found.append(f"{value} IS NOT NULL")
    return found


def when_certain(values: Sequence[Sql], then: Sql) -> Sql:
    """`then` where none of the values is an error."""
    tests = certain(values)
    if not tests:
        return then
    text = f"CASE WHEN {' AND '.join(tests)} THEN {then.text} END"
    return replace(
        then,
        text=text,
        infix=False,
        joined_by="",
        cheap=False,
        path=None,
        literal=None,
        depth=deepest((*values, then)) + 1,
        truth="",
    )


def item(lowering: Lowering, made: Sql, key: str | int) -> Sql:
    """The part of a list or map under a constant index or key; an error where there is none."""
    items = made.items or ()
    where = made.keys.index(key) if made.keys is not None and key in made.keys else key if made.keys is None else -1
    if isinstance(where, str) or not 0 <= where < len(items):
        return Sql("CAST(NULL AS VARIANT)", t.JSON, cheap=True, from_json=True)
    chosen = items[where]
    others = [x for i, x in enumerate(items) if i != where]
    if not certain(others):
        return chosen
    if chosen.items is not None:
        raise NotNative("a list within a list made in the filter, beside values that may be errors")
    return when_certain(others, chosen)


def has_key(made: Sql, key: str) -> Sql:
    """`has(made.key)`; an error of a list."""
    known = "CAST(NULL AS BOOLEAN)" if made.keys is None else "TRUE" if key in made.keys else "FALSE"
    return when_certain(made.items or (), boolean(known, ()))


def size(made: Sql) -> Sql:
    """`size(made)`."""
    items = made.items or ()
    return when_certain(items, Sql(f"{len(items)}L", t.INT, depth=made.depth))


def whole(lowering: Lowering, made: Sql) -> Sql:
    """The list or map as one value: an array, or a VARIANT object.

    Raises:
        NotNative: where Spark has no type for it.
    """
    items = [lowering.whole(i) for i in made.items or ()]
    if made.keys is not None:
        return _object(lowering, made.keys, items)
    if not items:
        return Sql(_EMPTY, t.JSON_LIST, cheap=True, from_json=True)
    first = items[0]
    if any(i.type != first.type or i.shape != first.shape for i in items):
        items = [as_variant(i) for i in items]

    text = f"array({', '.join(i.text for i in items)})"
    json, nan = all(i.from_json for i in items), any(i.nan for i in items)
    shape = None if first.shape is None else SparkType("array", element=first.shape)
    found = Sql(text, t.list_of(items[0].type), nan=nan, from_json=json, depth=deepest(items) + 2, shape=shape)
    return _certain(lowering, items, found, lambda a: a)


def _certain(lowering: Lowering, items: Sequence[Sql], made: Sql, of: Callable[[Sql], Sql], parts: str = "{}") -> Sql:
    """`of` what was made where no item is an error. The items are looked at where they are, in its `parts`."""
    if all(i.cheap for i in items):
        return when_certain(items, of(made))
    y = lowering.variable()

    def tested(whole: Sql) -> Sql:
        then = of(whole)
        text = f"CASE WHEN forall({parts.format(whole.text)}, {y} -> {y} IS NOT NULL) THEN {then.text} END"
        return replace(then, text=text, cheap=False, depth=3)

    return lowering.let(made, tested)


def _object(lowering: Lowering, keys: Sequence[str], items: Sequence[Sql]) -> Sql:
    if not keys:
        return Sql("parse_json('{}')", t.JSON, cheap=True, from_json=True)

    items = [as_variant(i) for i in items]
    pairs = ", ".join(f"{text_literal(k)}, {v.text}" for k, v in zip(keys, items, strict=True))
    json = all(v.from_json for v in items)
    entries = Sql(f"map({pairs})", t.JSON_MAP, from_json=json, depth=deepest(items) + 1)

    def build(m: Sql) -> Sql:
        return Sql(f"to_variant_object({m.text})", t.JSON, from_json=json, depth=m.depth + 1)

    return _certain(lowering, items, entries, build, "map_values({})")


def as_variant(x: Sql) -> Sql:
    """A value as a VARIANT.

    Raises:
        NotNative: for what would not be read back as itself: an int would become a double.
    """
    if x.type == t.JSON:
        return x
    if x.type == t.NULL:
        return replace(x, type=t.JSON, from_json=True)
    if _has_variant(x.type) and x.shape is None:
        json = x.from_json if x.type.params else x.type != t.DOUBLE or not x.nan
        return Sql(f"CAST({x.text} AS VARIANT)", t.JSON, from_json=json, depth=x.depth + 1)
    raise NotNative(f"'{x.type}' among values of other types")


def _has_variant(type_: CelType) -> bool:
    if type_.name == "list":
        return _has_variant(type_.params[0])
    return type_ in (t.BOOL, t.DOUBLE, t.STRING, t.JSON)


def concatenated(lowering: Lowering, a: Sql, b: Sql) -> Sql:
    """The list of a's elements and then b's.

    Raises:
        NotNative: where they have no common type.
    """
    if a.items is not None and b.items is not None:
        return made_list([*a.items, *b.items])
    if a.items == () or b.items == ():
        return b if a.items == () else a
    a, b = lowering.whole(a), lowering.whole(b)
    if a.type != b.type or a.shape != b.shape:
        a, b = _of_variants(lowering, a), _of_variants(lowering, b)
    json = a.from_json and b.from_json
    text = f"concat({a.text}, {b.text})"
    return Sql(text, a.type, nan=a.nan or b.nan, from_json=json, depth=deepest((a, b)) + 1, shape=a.shape)


def _of_variants(lowering: Lowering, items: Sql) -> Sql:
    if items.type == t.JSON_LIST:
        return items
    if items.type.name != "list":
        raise NotNative(f"a list and a value of type '{items.type}'")
    variable, element = lowering.element(items)
    each = as_variant(element)
    text = f"transform({items.text}, {variable} -> {each.text})"
    return Sql(text, t.JSON_LIST, from_json=each.from_json, depth=items.depth + 3)
