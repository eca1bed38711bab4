"""The lists extension: lists made of lists. What sorts or compares elements takes little more time than there are.

Nothing here raises: positions and lengths are looked at before they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tricel.compiler import celtypes as t
from tricel.compiler.functions import ALL
from tricel.compiler.nodes import CONDITIONAL, Call, Comprehension, Expr, Ident, Lit, MacroKind

from . import dynamic, likeness
from .capability import OPTIONAL
from .reasons import NotNative
from .sql import Sql, boolean, deepest

if TYPE_CHECKING:
    from .lower import Lowering
    from .special import Special

MOST_LEVELS = 8
"""Levels that `flatten` takes away in SQL."""
MOST_NUMBERS = 10_000
"""Ints that `lists.range` makes in SQL where the filter writes out how many, and not the size of something."""
MOST_MAPPED = 4
"""Calls of `optMap` in one another, or one after the other, of the end of a list."""
_LONGEST = 10_000_000
"""Ints that `lists.range` makes at most, by its definition."""
SORTED = t.ORDERED - {t.UINT}
"""Types whose values Spark holds, and puts in order as CEL does."""


def listed(lowering: Lowering, e: Expr, scope: dict[str, Sql]) -> Sql:
    """The list that `e` is; NULL where a value of the data is none.

    Raises:
        NotNative: for a value of another type.
    """
    found = lowering.lower(e, scope)
    if found.type == t.JSON:
        return dynamic.read(found, t.JSON_LIST)
    if found.type.name != "list":
        raise NotNative(f"a list made of a value of type '{found.type}'")
    return found


def _once(lowering: Lowering, items: Sql, body: Callable[[Sql], Sql]) -> Sql:
    """`body` of a list that is read once, though the text of reading it may be short enough to be written twice."""
    return lowering.let(replace(items, cheap=False), body)


def _reverse(lowering: Lowering, args: tuple[Expr, ...], scope: dict[str, Sql]) -> Sql:
    """A text's code points or a list's elements from last to first."""
    value = lowering.lower(args[0], scope)
    if value.type == t.STRING:
        return Sql(f"reverse({value.text})", t.STRING, depth=value.depth + 1)
    if value.type == t.JSON:
        return lowering.let(value, _reversed_of_its_kind)
    if value.type.name != "list":
        raise NotNative(f"a value of type '{value.type}' reversed")
    return _like(value, f"reverse({value.text})")


def _reversed_of_its_kind(v: Sql) -> Sql:
    text, items = f"reverse({dynamic.string(v)})", f"reverse({dynamic.list_(v)})"
    branches = f"WHEN {dynamic.is_list(v)} THEN CAST({items} AS VARIANT) ELSE CAST({text} AS VARIANT)"
    return Sql(f"CASE {branches} END", t.JSON, nan=v.nan, from_json=v.from_json, depth=v.depth + 6)


def _like(items: Sql, text: str, depth: int = 1) -> Sql:
    """A list of elements such as those of `items`."""
    shape, json = items.shape, items.from_json
    return Sql(text, items.type, nan=items.nan, from_json=json, depth=items.depth + depth, shape=shape)


def _slice(lowering: Lowering, args: tuple[Expr, ...], scope: dict[str, Sql]) -> Sql:
    items = listed(lowering, args[0], scope)
    start, end = (lowering.lower(a, scope) for a in args[1:])
    if (start.type, end.type) != (t.INT, t.INT):
        raise NotNative("a position whose type is known only at evaluation")

    def cut(o: list[Sql]) -> Sql:
        whole, first, last = o
        fits = f"{first} BETWEEN 0L AND {last} AND {last} <= array_size({whole.text})"
        at, count = f"try_add({first.text}, 1L)", f"try_subtract({last.text}, {first.text})"
        part = f"slice({whole.text}, try_cast({at} AS INT), try_cast({count} AS INT))"
        found = _like(whole, f"CASE WHEN {fits} THEN {part} END")
        return replace(found, depth=deepest(o) + 5)

    return lowering.lets([replace(items, cheap=False), start, end], cut)


def _flatten(lowering: Lowering, args: tuple[Expr, ...], scope: dict[str, Sql]) -> Sql:
    items = listed(lowering, args[0], scope)
    depth = args[1] if len(args) > 1 else None
    if depth is None:
        return _flat(lowering, items)
    if not (isinstance(depth, Lit) and isinstance(depth.value, int)):
        raise NotNative("flattened by a number of levels that is computed")
    if depth.value > MOST_LEVELS:
        raise NotNative(f"flattened by more than {MOST_LEVELS} levels")
    if depth.value < 0:
        return _like(items, f"CASE WHEN FALSE THEN {items.text} END")
    for _ in range(depth.value):
        items = _flat(lowering, items)
    return items


def _flat(lowering: Lowering, items: Sql) -> Sql:
    """One level less of lists."""
    variable, element = lowering.element(items)
    if element.type == t.JSON:
        whole = f"coalesce({dynamic.list_(element)}, array({element.text}))"  # no element is NULL
        return _like(items, f"flatten(transform({items.text}, {variable} -> {whole}))", 5)
    if element.type.name != "list":
        return items
    inner = items.text if element.text == variable else f"transform({items.text}, {variable} -> {element.text})"
    text, depth = f"flatten({inner})", deepest((items, element)) + 4
    return Sql(text, element.type, nan=items.nan, from_json=items.from_json, depth=depth, shape=element.shape)


def _sort(lowering: Lowering, args: tuple[Expr, ...], scope: dict[str, Sql]) -> Sql:
    items = listed(lowering, args[0], scope)
    if items.type == t.JSON_LIST:
        return _once(lowering, items, lambda i: _sorted_of_one_kind(lowering, i))
    return _once(lowering, plain(lowering, items), lambda i: _sorted(lowering, i))


def plain(lowering: Lowering, items: Sql) -> Sql:
    """A list of scalars as CEL has them: ints of 64 bits, texts without a collation.

    Raises:
        NotNative: for a list of anything else.
    """
    variable, element = lowering.element(items)
    if element.type not in SORTED:
        raise NotNative(f"values of type '{element.type}' are not put in order, or compared whole")
    if element.text == variable:
        return replace(items, shape=None)
    text = f"transform({items.text}, {variable} -> {element.text})"
    return Sql(text, t.list_of(element.type), nan=element.nan, depth=deepest((items, element)) + 3)


def _sorted(lowering: Lowering, items: Sql) -> Sql:
    """Scalars of one type. Of doubles `array_sort` keeps 0.0 and -0.0 in their order, as CEL does; they are equal."""
    (element,) = items.type.params
    if element != t.DOUBLE:
        return _like(items, f"sort_array({items.text})")
    found = _like(items, f"array_sort({items.text})")
    if not items.nan:
        return found
    d = lowering.variable()
    text = f"CASE WHEN forall({items.text}, {d} -> NOT isnan({d})) THEN {found.text} END"
    return replace(found, text=text, nan=False, depth=found.depth + 3)


def _sorted_of_one_kind(lowering: Lowering, items: Sql) -> Sql:
    """Values of JSON, all of them numbers, strings or bools; an error of a list of several kinds, or of others."""
    variable, element = lowering.element(items)
    back = lowering.variable()
    branches = []
    for kind in (t.DOUBLE, t.STRING, t.BOOL):
        read = dynamic.read(element, kind)
        fits = f"{read.text} IS NOT NULL"
        if kind == t.DOUBLE and not items.from_json:
            fits += f" AND NOT isnan({read.text})"
        values = f"sort_array(transform({items.text}, {variable} -> {read.text}))"
        values = f"transform({values}, {back} -> CAST({back} AS VARIANT))"
        branches.append(f"WHEN forall({items.text}, {variable} -> {fits}) THEN {values}")
    return replace(_like(items, f"CASE {' '.join(branches)} END", 9), nan=False)


def _distinct(lowering: Lowering, args: tuple[Expr, ...], scope: dict[str, Sql]) -> Sql:
    items = listed(lowering, args[0], scope)
    (element,) = items.type.params
    if element in likeness.PLAIN:
        items = plain(lowering, items)
    return _once(lowering, items, lambda i: _first_of_each(lowering, i))


def _first_of_each(lowering: Lowering, items: Sql) -> Sql:
    """The elements that equal none before them: they are sorted by key and place, and the first of each key is kept."""
    variable, element = lowering.element(items)
    place, one, at = lowering.variable(), lowering.variable(), lowering.variable()
    nan = f"concat('N', CAST({place} AS STRING))"
    key = likeness.key(lowering, element, ints=element.type == t.INT, deep=True, nan=nan)
    pairs = f"sort_array(transform({items.text}, ({variable}, {place}) -> struct({key} AS k, {place} AS i)))"
    keyed = Sql(pairs, t.list_of(t.DYN), depth=items.depth + 6 + 16 * (element.type == t.JSON))

    def firsts(sorted_: Sql) -> Sql:
        before = f"get({sorted_.text}, {at} - 1).k"
        kept = f"filter({sorted_.text}, ({one}, {at}) -> {at} = 0 OR {before} <> {one}.k)"
        places = f"sort_array(transform({kept}, {one} -> {one}.i))"
        text = f"transform({places}, {one} -> get({items.text}, {one}))"
        if element.type == t.JSON and not items.from_json:  # a value that CEL does not have
            text = f"CASE WHEN forall({sorted_.text}, {one} -> {one}.k IS NOT NULL) THEN {text} END"
        return _like(items, text, 8)

    return lowering.let(keyed, firsts)


def _range(lowering: Lowering, args: tuple[Expr, ...], scope: dict[str, Sql]) -> Sql:
    (length,) = args
    if not is_bounded(length):
        raise NotNative(f"over {MOST_NUMBERS:,} ints, or so many that neither the filter nor a size bounds them")

    def numbers(n: Sql) -> Sql:
        made_ = f"WHEN {n} BETWEEN 1L AND {_LONGEST}L THEN sequence(0L, {n} - 1L)"
        text = f"CASE {made_} WHEN {n} = 0L THEN CAST(array() AS ARRAY<BIGINT>) END"
        return Sql(text, t.list_of(t.INT), depth=n.depth + 3)

    return lowering.let(lowering.lower(length, scope), numbers)


def is_bounded(length: Expr) -> bool:
    """Whether `lists.range` of it makes no more than a bound, or than what the event is long."""
    if isinstance(length, Lit):
        return isinstance(length.value, int) and length.value <= MOST_NUMBERS
    return isinstance(length, Call) and length.function == "size"


_PRESENT, _VALUE = "#present", "#value"
"""Names that no filter can write."""


def _optional(
    lowering: Lowering, e: Expr, scope: dict[str, Sql], body: Callable[[Sql, Sql], Sql], mapped_: int = 0
) -> Sql:
    """`body` of whether the optional `e` is present, and of its value, which is an error where it is not.

    `mapped_` is how many `optMap()` are around it: what each writes it writes more than once.

    Raises:
        NotNative: for an optional that is no end of a list, nor made of one.
    """
    match e:
        case Call(function="first" | "last" as end, target=target, args=()) if target is not None:
            return _once(lowering, listed(lowering, target, scope), lambda i: body(*_at_end(lowering, i, end)))
        case Comprehension(macro=MacroKind.OPT_MAP, range=range_, variable=variable, body=mapped):
            if mapped_ >= MOST_MAPPED:
                raise NotNative(f"more than {MOST_MAPPED} optMap() of the end of a list")

            def map_(present: Sql, value: Sql) -> Sql:
                found = lowering.let(value, lambda v: lowering.lower(mapped, {**scope, variable: v}))
                known = f"CASE WHEN {present.text} THEN CASE WHEN {found} IS NOT NULL THEN TRUE END"
                text = f"{known} WHEN NOT {present} THEN FALSE END"
                return body(boolean(text, (present, found)), found)

            return _optional(lowering, range_, scope, map_, mapped_ + 1)
        case _:
            raise NotNative(OPTIONAL)


def _at_end(lowering: Lowering, items: Sql, end: str) -> tuple[Sql, Sql]:
    present = replace(boolean(f"array_size({items.text}) > 0", (items,), infix=True), cheap=True)
    variable, element = lowering.element(items)
    place = "0" if end == "first" else f"array_size({items.text}) - 1"
    if element.text == variable:
        return present, replace(element, text=f"get({items.text}, {place})", cheap=False, depth=items.depth + 3)
    one = f"slice({items.text}, {'1' if end == 'first' else '-1'}, 1)"
    text = f"get(transform({one}, {variable} -> {element.text}), 0)"
    return present, replace(element, text=text, cheap=False, depth=deepest((items, element)) + 4)


def _has_value(lowering: Lowering, args: tuple[Expr, ...], scope: dict[str, Sql]) -> Sql:
    return _optional(lowering, args[0], scope, lambda present, _: present)


def _value(lowering: Lowering, args: tuple[Expr, ...], scope: dict[str, Sql]) -> Sql:
    return _optional(lowering, args[0], scope, lambda _, value: value)


def _or_value(lowering: Lowering, args: tuple[Expr, ...], scope: dict[str, Sql]) -> Sql:
    def choose(present: Sql, value: Sql) -> Sql:
        inner = {**scope, _PRESENT: present, _VALUE: value}
        return lowering.lower(Call(CONDITIONAL, (Ident(_PRESENT), Ident(_VALUE), args[1])), inner)

    return _optional(lowering, args[0], scope, choose)


CALLS: Mapping[str, Special] = {
    "list_reverse": _reverse,
    "string_reverse": _reverse,
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    **{row.id: _sort for row in ALL if row.function == "sort" and row.member},
    "list_distinct": _distinct,
    "lists_range": _range,
    "optional_hasValue": _has_value,
    "optional_value": _value,
    "optional_orValue_value": _or_value,
}
"""By overload id."""
