"""What a macro goes over, as an array, and what its turns come to, looked at before the first of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tricel.compiler import celtypes as t
from tricel.compiler.nodes import Expr, Ident

from . import access, dynamic, made
from .reasons import NotNative
from .sparktypes import SparkType, cel_type
from .sql import Sql, literal, text_literal
from .stored import column
from .turns import MAX_READ, MAX_TURNS, Loop, Takes, Use, Work, weight

if TYPE_CHECKING:
    from .lower import Lowering

_EVENT = Ident("ce")
_LAMBDA_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Range:
    """An array that a macro goes over. `key` and `value` are those of the pair that a variable stands for.

    Without `key` the elements are no pairs.
    """

    items: Sql
    value: Callable[[str], Sql]
    key: Callable[[str], Sql] | None = None


def source(lowering: Lowering, e: Expr, scope: dict[str, Sql], takes: Takes) -> Sql:
    """The value that a macro goes over.

    Of a map that the filter writes out it is the keys for a macro that takes those, else the values, with `keys`.

    Raises:
        NotNative: where Spark has no exact form.
    """
    found = lowering.parts(e, scope)
    if found.keys is None:
        return lowering.whole(found)
    if takes is Takes.ELEMENT:
        keys = made.made_list([literal(k, t.STRING) for k in found.keys])
        return lowering.whole(made.when_certain(found.items or (), lowering.whole(keys)))
    return replace(lowering.whole(made.made_list(found.items or ())), keys=found.keys or None)


def over(lowering: Lowering, value: Sql, takes: Takes) -> Range:
    """What a macro goes over, of a `source`. The index or key of dynamic data is dynamic too: a number or a string.

    Raises:
        NotNative: for a type that has no elements.
    """
    if takes not in (Takes.PAIR, Takes.LOOKED_UP):
        return _of_elements(lowering, items(lowering, value, takes))
    if value.type == t.JSON:
        return _dynamic_pairs(lowering, value, takes)
    if value.type.name != "list":
        return _mapped(value)
    return _looked_up(lowering, value) if takes is Takes.LOOKED_UP and value.keys is None else _listed(lowering, value)


def _dynamic_pairs(lowering: Lowering, value: Sql, takes: Takes) -> Range:
    of_map = over_object(value)
    if takes is Takes.LOOKED_UP:
        array = Sql(dynamic.list_(value), t.JSON_LIST, from_json=value.from_json, depth=value.depth + 1)
        of_list = _looked_up(lowering, array).items
    else:
        of_list, q = over_list(lowering, value).items, lowering.variable()
        number = f"CAST(CAST({q}.key AS DOUBLE) AS VARIANT)"
        of_list = replace(
            of_list, text=f"transform({of_list.text}, {q} -> struct({number} AS key, {q}.value AS value))"
        )
    p = lowering.variable()
    keyed = f"transform({of_map.items.text}, {p} -> struct(CAST({p}.key AS VARIANT) AS key, {p}.value AS value))"
    text = f"CASE WHEN {dynamic.is_object(value)} THEN {keyed} ELSE {of_list.text} END"
    pairs = Sql(text, t.list_of(t.DYN), depth=max(value.depth + 4, of_list.depth) + _LAMBDA_DEPTH)
    return Range(pairs, of_map.value, lambda p: _named(f"{p}.key", t.JSON, value))


def _looked_up(lowering: Lowering, value: Sql) -> Range:
    """The elements of a list, each with the element of which it is the index: none, or one again and again.

    All of that together is no longer than what may be read, or it is an error.
    """

    def pairs(array: Sql) -> Sql:
        v, element = lowering.element(array)
        found = access.computed(lowering, array, element)
        each = f"transform({array.text}, {v} -> struct({v} AS key, {found.text} AS value))"
        most = f"CAST(array_size({array.text}) AS DOUBLE) * octet_length(to_json({array.text})) <= {MAX_READ}"
        return Sql(f"CASE WHEN {most} THEN {each} END", t.list_of(t.DYN), depth=found.depth + _LAMBDA_DEPTH + 1)

    found = lowering.let(replace(value, cheap=False), pairs)
    return Range(
        found,
        lambda p: lowering.element_of(value, f"{p}.value"),
        lambda p: lowering.element_of(value, f"{p}.key"),
    )


def over_object(value: Sql) -> Range:
    """The pairs of a dynamic value that is an object: its keys are strings."""
    entries = Sql(f"map_entries({dynamic.entries(value)})", t.list_of(t.DYN), depth=value.depth + 2)
    return Range(
        entries, lambda p: _named(f"{p}.value", t.JSON, value), lambda p: Sql(f"{p}.key", t.STRING, cheap=True)
    )


def over_list(lowering: Lowering, value: Sql) -> Range:
    """The pairs of a dynamic value that is a list: its indexes are ints."""
    return _listed(lowering, Sql(dynamic.list_(value), t.JSON_LIST, from_json=value.from_json, depth=value.depth + 1))


def _named(text: str, type_: t.CelType, like: Sql) -> Sql:
    return Sql(text, type_, cheap=True, nan=like.nan, from_json=like.from_json)


def _of_elements(lowering: Lowering, array: Sql) -> Range:
    return Range(array, lambda v: lowering.element_of(array, v))


def _listed(lowering: Lowering, value: Sql) -> Range:
    """The elements of a list with their indexes, or with the `keys` of a map written in the filter."""
    v, i = lowering.variable(), lowering.variable()
    if value.keys is None:
        of, key = t.INT, f"CAST({i} AS BIGINT)"
    else:
        of, key = t.STRING, f"get(array({', '.join(map(text_literal, value.keys))}), {i})"
    text = f"transform({value.text}, ({v}, {i}) -> struct({key} AS key, {v} AS value))"
    pairs = Sql(text, t.list_of(t.DYN), depth=value.depth + _LAMBDA_DEPTH)
    return Range(
        pairs, lambda p: lowering.element_of(value, f"{p}.value"), lambda p: Sql(f"{p}.key", of, cheap=True, nan=False)
    )


def _mapped(value: Sql) -> Range:
    """The entries of a map column."""
    shape = value.shape
    if value.type.name != "map" or shape is None or shape.key is None or shape.value is None:
        raise NotNative(f"a comprehension over a value of type '{value.type}'")
    _check_keys(shape.key)
    key, held = shape.key, shape.value
    entries = Sql(f"map_entries({value.text})", t.list_of(t.DYN), depth=value.depth + 1)
    return Range(entries, lambda p: column(f"{p}.value", held), lambda p: column(f"{p}.key", key))


def _check_keys(key: SparkType | None) -> None:
    if key is not None and cel_type(key) not in (t.STRING, t.INT, t.BOOL):
        raise NotNative(f"a map's keys of type '{key.name}' are no keys in CEL")


def items(lowering: Lowering, value: Sql, takes: Takes) -> Sql:
    """The elements of a list, or the keys or the values of a map, as an array.

    Raises:
        NotNative: for a type that has none.
    """
    of_keys = takes is Takes.ELEMENT
    if value.type == t.JSON:
        entries = dynamic.entries(value)
        key = lowering.variable()
        held = (
            f"transform(map_keys({entries}), {key} -> CAST({key} AS VARIANT))" if of_keys else f"map_values({entries})"
        )
        text = f"CASE WHEN {dynamic.is_object(value)} THEN {held} ELSE {dynamic.list_(value)} END"
        return Sql(text, t.JSON_LIST, from_json=value.from_json, depth=value.depth + 4)
    if value.type.name == "list":
        return replace(value, keys=None)
    shape = value.shape
    if value.type.name == "map" and shape is not None:
        _check_keys(shape.key)
        function, element = ("map_keys", shape.key) if of_keys else ("map_values", shape.value)
        held_type = t.list_of(value.type.params[0 if of_keys else 1])
        array_shape = SparkType("array", element=element)
        return Sql(f"{function}({value.text})", held_type, depth=value.depth + 1, shape=array_shape)
    raise NotNative(f"a comprehension over a value of type '{value.type}'")


@dataclass
class Totals:
    """Sums over the elements of an event. `given` is the range of the loop over `first` that `takes` the same of it.

    `depth` are the levels of nesting in the SQL so far.
    """

    lowering: Lowering
    first: Expr
    takes: Takes
    given: Range
    depth: int = 0

    def within_bounds(self, work: Work, scope: dict[str, Sql]) -> str:
        """Whether the work is within its bound, as SQL: TRUE or FALSE; empty where it is in any case.

        Raises:
            NotNative: where Spark has no exact form for what is gone over or read.
        """
        factors = self._product(work, "", scope)
        if not factors:
            return ""
        if (written := work.written()) != 1:
            factors = [f"{written}D", *factors]
        return f"{' * '.join(factors)} <= {MAX_READ if work.values else MAX_TURNS}"

    def _product(self, work: Work, of: str, scope: dict[str, Sql]) -> list[str]:
        """The factors of what goes on for one element of a loop; none where it is nothing to speak of."""
        factors = []
        if work.values and work.of == of:
            weights: Counter[str] = Counter()
            for (value, use), times in Counter(work.values).items():
                weights[self._weight(value, use, scope)] += times
            read = " + ".join(w if times == 1 else f"{times}D * {w}" for w, times in weights.items() if w)
            factors = [f"({read})" if " + " in read else read]
        factors += [self._sum(work, loop, scope) for loop in work.counted() if loop.of == of]
        return [] if "" in factors else factors

    def _weight(self, e: Expr, use: Use, scope: dict[str, Sql]) -> str:
        """How much reading a value costs, as SQL; empty where it is nothing to speak of."""
        if e == _EVENT and "ce" not in scope:  # asked for a name, which reads nothing
            return ""
        value = self.lowering.lower(e, scope)
        self.depth = max(self.depth, value.depth + 5)
        return weight(value, use)

    def _sum(self, work: Work, loop: Loop, scope: dict[str, Sql]) -> str:
        """Over the elements of a loop, the sum of what goes on for each; empty where it is nothing to speak of."""
        ranged = self._range(loop, scope)
        if ranged is None:
            return "1D"
        array = ranged.items
        self.depth = max(self.depth, array.depth + _LAMBDA_DEPTH)
        if work.of != loop.variable and all(inner.of != loop.variable for inner in work.counted()):
            return f"coalesce(CAST(array_size({array.text}) AS DOUBLE), 0D)"
        variable, sum_ = self.lowering.variable(), self.lowering.variable()
        inner_scope = {**scope, loop.variable: ranged.value(variable)}
        if ranged.key is not None:
            inner_scope[loop.key] = ranged.key(variable)
        factors = self._product(work, loop.variable, inner_scope)
        self.depth += _LAMBDA_DEPTH
        each = " * ".join(factors)
        return each and f"coalesce(aggregate({array.text}, 0D, ({sum_}, {variable}) -> {sum_} + {each}), 0D)"

    def _range(self, loop: Loop, scope: dict[str, Sql]) -> Range | None:
        """What a loop goes over; None for what has no elements by its type, or has them by that."""
        if loop.range == _EVENT and "ce" not in scope:
            return None
        if not loop.of and loop.range == self.first and loop.takes is self.takes:
            return self.given
        value = source(self.lowering, loop.range, scope, loop.takes)
        try:
            return over(self.lowering, value, loop.takes)
        except NotNative:
            return None
