"""What a macro goes over, as an array, and what its turns come to, looked at before the first of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from tricel.compiler import celtypes as t
from tricel.compiler.nodes import Expr

from .. import (
    Operand,
    Scope,
    Sql,
    Typed,
    Variable,
    Written,
    array,
    bound,
    case,
    cast,
    constant_of,
    field_of,
    function,
    get,
    integer,
    lambda2,
    lambda_,
    literal,
    struct,
    variable,
    variant,
    when,
)
from ..bounds.iterations import MAX_READ, MAX_TURNS, Loop, Takes, Use, Work, weight
from ..columns import typed_column
from ..context import Context
from ..reasons import NotNative, Reason
from ..spark_types import SparkType, cel_type
from . import access, constructors


@dataclass(frozen=True, slots=True)
class Range:
    """An array that a macro goes over. `key` and `value` are those of the pair that a variable stands for.

    Without `key` the elements are no pairs.
    """

    items: Typed
    value: Callable[[Variable], Typed]
    key: Callable[[Variable], Typed] | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """The value that a macro goes over. `keys` are those of a map that the filter writes out, of which it is the values."""

    value: Typed
    keys: tuple[str, ...] | None = None


def source(context: Context, e: Expr, scope: Scope, takes: Takes) -> Source:
    """The value that a macro goes over.

    Of a map that the filter writes out it is the keys for a macro that takes those, else the values.

    Raises:
        NotNative: where Spark has no exact form.
    """
    found = context.parts(e, scope)
    if not isinstance(found, Written) or found.keys is None:
        return Source(context.materialize(found))
    if takes is Takes.ELEMENT:
        keys = Written(tuple([constant_of(k, t.STRING) for k in found.keys]))
        return Source(context.materialize(constructors.unless_null(found.items, context.materialize(keys))))
    return Source(context.materialize(Written(found.items)), found.keys or None)


def over(context: Context, source: Source, takes: Takes) -> Range:
    """What a macro goes over, of a `source`. The index or key of dynamic data is dynamic too: a number or a string.

    Raises:
        NotNative: for a type that has no elements.
    """
    value = source.value
    if takes not in (Takes.PAIR, Takes.LOOKED_UP):
        found = items(context, value, takes)
        return Range(found, lambda v: context.element(found, v))
    if value.type == t.JSON:
        return _dynamic_pairs(context, value, takes)
    if value.type.name != "list":
        return _mapped(value)
    if takes is Takes.LOOKED_UP and source.keys is None:
        return _looked_up(context, value)
    return _listed(context, value, source.keys)


def _pair(key: Operand, value: Operand) -> Sql:
    return struct(key=key, value=value)


def _key(pair: Operand) -> Sql:
    return field_of(pair, "key")


def _value(pair: Operand) -> Sql:
    return field_of(pair, "value")


def _dynamic_pairs(context: Context, value: Typed, takes: Takes) -> Range:
    of_map = over_object(value)
    if takes is Takes.LOOKED_UP:
        of_list: Sql = _looked_up(context, variant.list_of(value)).items.sql
    else:
        number = lambda_(lambda q: _pair(cast(cast(_key(q), "DOUBLE"), "VARIANT"), _value(q)))
        of_list = function("transform", over_list(context, value).items, number)
    keyed = function("transform", of_map.items, lambda_(lambda p: _pair(cast(_key(p), "VARIANT"), _value(p))))
    pairs = case((variant.is_object(value), keyed), otherwise=of_list)
    return Range(Typed(pairs, t.list_of(t.DYN)), of_map.value, lambda p: _part(_key(p), t.JSON, value))


def _looked_up(context: Context, value: Typed) -> Range:
    """The elements of a list, each with the element of which it is the index: none, or one again and again.

    All of that together is no longer than what may be read, or it is an error.
    """

    def pairs(items: Typed) -> Typed:
        def pair(v: Variable) -> Sql:
            return _pair(v, access.computed_of(items, context.element(items, v)))

        each = function("transform", items, lambda_(pair))
        size = cast(function("array_size", items), "DOUBLE")
        most = size * function("octet_length", function("to_json", items)) <= integer(MAX_READ)
        return Typed(when(most, each), t.list_of(t.DYN))

    return Range(
        context.bind(value, pairs),
        lambda p: context.element(value, _value(p)),
        lambda p: context.element(value, _key(p)),
    )


def over_object(value: Typed) -> Range:
    """The pairs of a dynamic value that is an object: its keys are strings."""
    entries = Typed(function("map_entries", variant.entries(value)), t.list_of(t.DYN))
    return Range(entries, lambda p: _part(_value(p), t.JSON, value), lambda p: Typed(_key(p), t.STRING))


def over_list(context: Context, value: Typed) -> Range:
    """The pairs of a dynamic value that is a list: its indexes are ints."""
    return _listed(context, variant.list_of(value))


def _part(node: Sql, type_: t.CelType, like: Typed) -> Typed:
    return Typed(node, type_, nan=like.nan, from_json=like.from_json)


def _listed(context: Context, value: Typed, keys: tuple[str, ...] | None = None) -> Range:
    """The elements of a list with their indexes, or with the `keys` of a map written in the filter."""

    def pair(v: Variable, i: Variable) -> Sql:
        return _pair(cast(i, "BIGINT") if keys is None else get(array(keys), i), v)

    pairs = Typed(function("transform", value, lambda2(pair)), t.list_of(t.DYN))
    of = t.INT if keys is None else t.STRING
    return Range(pairs, lambda p: context.element(value, _value(p)), lambda p: Typed(_key(p), of, nan=False))


def _mapped(value: Typed) -> Range:
    """The entries of a map column."""
    shape = value.shape
    if value.type.name != "map" or shape is None or shape.key is None or shape.value is None:
        raise NotNative(Reason.RANGE_OF, value.type)
    _check_keys(shape.key)
    key, held = shape.key, shape.value
    entries = Typed(function("map_entries", value), t.list_of(t.DYN))
    return Range(entries, lambda p: typed_column(_value(p), held), lambda p: typed_column(_key(p), key))


def _check_keys(key: SparkType | None) -> None:
    if key is not None and cel_type(key) not in (t.STRING, t.INT, t.BOOL):
        raise NotNative(Reason.MAP_KEY_TYPE, key.name)


def items(context: Context, value: Typed, takes: Takes) -> Typed:
    """The elements of a list, or the keys or the values of a map, as an array.

    Raises:
        NotNative: for a type that has none.
    """
    of_keys = takes is Takes.ELEMENT
    if value.type == t.JSON:
        entries = variant.entries(value)
        held = function("map_values", entries)
        if of_keys:
            held = function("transform", function("map_keys", entries), lambda_(lambda key: cast(key, "VARIANT")))
        found = case((variant.is_object(value), held), otherwise=variant.list_(value))
        return Typed(found, t.JSON_LIST, from_json=value.from_json)
    if value.type.name == "list":
        return value
    shape = value.shape
    if value.type.name == "map" and shape is not None:
        _check_keys(shape.key)
        name, element = ("map_keys", shape.key) if of_keys else ("map_values", shape.value)
        held_type = t.list_of(value.type.params[0 if of_keys else 1])
        return Typed(function(name, value), held_type, shape=SparkType("array", element=element))
    raise NotNative(Reason.RANGE_OF, value.type)


@dataclass
class Totals:
    """Sums over the elements of an event. `given` is the range of the loop over `first` that `takes` the same of it."""

    context: Context
    first: Expr
    takes: Takes
    given: Range

    def within_bounds(self, work: Work, scope: Scope) -> Sql | None:
        """Whether the work is within its bound: TRUE or FALSE; None where it is in any case.

        Raises:
            NotNative: where Spark has no exact form for what is gone over or read.
        """
        total = self._product(work, "", scope)
        if total is None:
            return None
        if (written := work.written()) != 1:
            total = literal(float(written)) * total
        return total <= integer(MAX_READ if work.values else MAX_TURNS)

    def _product(self, work: Work, of: str, scope: Scope) -> Sql | None:
        """What goes on for one element of a loop; None where it is nothing to speak of."""
        factors: list[Sql | None] = []
        if work.values and work.of == of:
            factors.append(self._read(work, scope))
        factors += [self._sum(work, loop, scope) for loop in work.counted() if loop.of == of]
        known = [f for f in factors if f is not None]
        return reduce(lambda a, b: a * b, known) if known and len(known) == len(factors) else None

    def _read(self, work: Work, scope: Scope) -> Sql | None:
        """What one turn reads; None where it is nothing to speak of."""
        weights: Counter[Sql] = Counter()
        for (value, use), times in Counter(work.values).items():
            found = self._weight(value, use, scope)
            if found is not None:
                weights[found] += times
        terms = [w if times == 1 else literal(float(times)) * w for w, times in weights.items()]
        return reduce(lambda a, b: a + b, terms) if terms else None

    def _weight(self, e: Expr, use: Use, scope: Scope) -> Sql | None:
        """How much reading a value costs; None where it is nothing to speak of."""
        if self.context.checked.record.is_it(e, scope):  # asked for a name, which reads nothing
            return None
        return weight(self.context.lower(e, scope), use)

    def _sum(self, work: Work, loop: Loop, scope: Scope) -> Sql | None:
        """Over the elements of a loop, the sum of what goes on for each; None where it is nothing to speak of."""
        ranged = self._range(loop, scope)
        if ranged is None:
            return literal(1.0)
        items = ranged.items
        if work.of != loop.variable and all(inner.of != loop.variable for inner in work.counted()):
            return function("coalesce", cast(function("array_size", items), "DOUBLE"), 0.0)
        sum_, name = variable(), variable()
        inner_scope = {**scope, loop.variable: ranged.value(name)}
        if ranged.key is not None:
            inner_scope[loop.key] = ranged.key(name)
        each = self._product(work, loop.variable, inner_scope)
        if each is None:
            return None
        return function("coalesce", function("aggregate", items, 0.0, bound((sum_, name), sum_ + each)), 0.0)

    def _range(self, loop: Loop, scope: Scope) -> Range | None:
        """What a loop goes over; None for what has no elements by its type, or has them by that."""
        if self.context.checked.record.is_it(loop.range, scope):
            return None
        if not loop.of and loop.range == self.first and loop.takes is self.takes:
            return self.given
        value = source(self.context, loop.range, scope, loop.takes)
        try:
            return over(self.context, value, loop.takes)
        except NotNative:
            return None
