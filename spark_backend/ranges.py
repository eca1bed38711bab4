"""What a macro goes over, as an array, and what its turns come to, looked at before the first of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tricel.compiler import celtypes as t
from tricel.compiler.nodes import Expr, Ident

from . import dynamic, made
from .reasons import NotNative
from .sparktypes import SparkType
from .sql import Sql, literal
from .turns import MAX_READ, MAX_TURNS, Loop, Use, Work, weight

if TYPE_CHECKING:
    from .lower import Lowering

_EVENT = Ident("ce")
_LAMBDA_DEPTH = 4


def source(lowering: Lowering, e: Expr, scope: dict[str, Sql]) -> Sql:
    """The value that a macro goes over; the keys of a map that the filter writes out.

    Raises:
        NotNative: where Spark has no exact form.
    """
    found = lowering.parts(e, scope)
    if found.keys is not None:
        keys = made.made_list([literal(k, t.STRING) for k in found.keys])
        found = made.when_certain(found.items or (), lowering.whole(keys))
    return lowering.whole(found)


def items(lowering: Lowering, value: Sql) -> Sql:
    """The elements, or the keys, of what a macro goes over, as an array.

    Raises:
        NotNative: for a type that has none.
    """
    if value.type == t.JSON:
        key = lowering.variable()
        keys = f"transform(map_keys({dynamic.entries(value)}), {key} -> CAST({key} AS VARIANT))"
        text = f"CASE WHEN {dynamic.is_object(value)} THEN {keys} ELSE {dynamic.list_(value)} END"
        return Sql(text, t.JSON_LIST, from_json=value.from_json, depth=value.depth + 4)
    if value.type.name == "list":
        return value
    shape = value.shape
    if value.type.name == "map" and shape is not None:
        keys_shape = SparkType("array", element=shape.key)
        return Sql(f"map_keys({value.text})", t.list_of(value.type.params[0]), depth=value.depth + 1, shape=keys_shape)
    raise NotNative(f"a comprehension over a value of type '{value.type}'")


@dataclass
class Totals:
    """Sums over the elements of an event. `given` are the elements of the range `first`.

    `depth` are the levels of nesting in the SQL so far.
    """

    lowering: Lowering
    first: Expr
    given: Sql
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
            weights = [self._weight(value, use, scope) for value, use in work.values]
            read = " + ".join(w for w in dict.fromkeys(weights) if w)
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
        ranged = self._items(loop, scope)
        if ranged is None:
            return "1D"
        self.depth = max(self.depth, ranged.depth + _LAMBDA_DEPTH)
        if work.of != loop.variable and all(inner.of != loop.variable for inner in work.counted()):
            return f"coalesce(CAST(array_size({ranged.text}) AS DOUBLE), 0D)"
        variable, element = self.lowering.element(ranged)
        sum_ = self.lowering.variable()
        factors = self._product(work, loop.variable, {**scope, loop.variable: element})
        self.depth += _LAMBDA_DEPTH
        each = " * ".join(factors)
        return each and f"coalesce(aggregate({ranged.text}, 0D, ({sum_}, {variable}) -> {sum_} + {each}), 0D)"

    def _items(self, loop: Loop, scope: dict[str, Sql]) -> Sql | None:
        """The elements that a loop goes over; None for what has none by its type, or has them by that."""
        if loop.range == _EVENT and "ce" not in scope:
            return None
        if not loop.of and loop.range == self.first:
            return self.given
        value = source(self.lowering, loop.range, scope)
        try:
            return items(self.lowering, value)
        except NotNative:
            return None
