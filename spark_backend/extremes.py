"""The greatest or least of numbers: of arguments, of a list written in the filter, or of a list that is data.

Spark's own functions skip NULL, which is an error here, and order NaN, which CEL does not: both are looked for first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tricel.compiler import celtypes as t
from tricel.compiler.nodes import Call, Expr

from . import dynamic, equality, made
from .lists import plain
from .reasons import UINT, NotNative
from .sql import Sql, deepest

if TYPE_CHECKING:
    from .lower import Lowering

FUNCTIONS = {"math.greatest": ("greatest", "array_max"), "math.least": ("least", "array_min")}
"""For each of the functions Spark's own, of several values and of an array."""


def extreme(lowering: Lowering, e: Call, scope: dict[str, Sql]) -> Sql:
    """`math.greatest` or `math.least`.

    Raises:
        NotNative: where the result would be an int for one event and a double for another.
    """
    return _extreme(lowering, e, scope, compared=False)


def compared(lowering: Lowering, e: Expr, scope: dict[str, Sql]) -> Sql:
    """`e` as an operand of a comparison, which does not tell an int from a double of the same value."""
    if isinstance(e, Call) and e.function in FUNCTIONS:
        return _extreme(lowering, e, scope, compared=True)
    return lowering.parts(e, scope)


def _extreme(lowering: Lowering, e: Call, scope: dict[str, Sql], *, compared: bool) -> Sql:
    operands = [_operand(lowering, a, scope, compared) for a in e.args]
    if len(operands) == 1:
        (only,) = operands
        if only.items is None:
            return _of_one(lowering, e.function, only)
        if only.keys is not None:
            raise NotNative(f"a map is given to {e.function}()")
        operands = [lowering.whole(i) for i in only.items]
    numbers = _of_one_type(operands, compared=compared)
    if not numbers:
        return Sql("CAST(NULL AS DOUBLE)", t.DOUBLE)
    if len(numbers) == 1:
        return numbers[0]
    if all(n.cheap and n.type == t.INT for n in numbers):  # of doubles Spark takes 0.0, -0.0 and -0.0, 0.0 for the same
        return _of_values(e.function, numbers)
    nan = any(n.nan for n in numbers)
    text = f"array({', '.join(n.text for n in numbers)})"
    array = Sql(text, t.list_of(numbers[0].type), nan=nan, depth=deepest(numbers) + 1)
    return lowering.let(array, lambda xs: _of_array(lowering, e.function, xs))


def _operand(lowering: Lowering, e: Expr, scope: dict[str, Sql], within_comparison: bool) -> Sql:
    return compared(lowering, e, scope) if within_comparison else lowering.parts(e, scope)


def _of_one(lowering: Lowering, function: str, x: Sql) -> Sql:
    """Of a list, or a number, which is its own."""
    if x.type in (t.INT, t.DOUBLE):
        return x
    if x.type == t.JSON:
        return lowering.let(x, lambda v: _of_dynamic(lowering, function, v))
    if x.type.name == "list" and x.type.params[0] in (t.INT, t.DOUBLE):
        return lowering.let(plain(lowering, x), lambda xs: _of_array(lowering, function, xs))
    if x.type == t.JSON_LIST:
        return _of_dynamic_list(lowering, function, x)
    raise NotNative(f"{function}() of a value of type '{x.type}'")


def _of_dynamic(lowering: Lowering, function: str, v: Sql) -> Sql:
    items = Sql(dynamic.list_(v), t.JSON_LIST, from_json=v.from_json, depth=v.depth + 1)
    best = _of_dynamic_list(lowering, function, items)
    number = dynamic.read(v, t.DOUBLE)
    text = f"CASE WHEN {dynamic.is_list(v)} THEN {best.text} ELSE {number.text} END"
    return Sql(text, t.DOUBLE, nan=not v.from_json, depth=deepest((best, number)) + 1)


def _of_dynamic_list(lowering: Lowering, function: str, items: Sql) -> Sql:
    name, each = lowering.element(items)
    number = dynamic.read(each, t.DOUBLE)
    text = f"transform({items.text}, {name} -> {number.text})"
    numbers = Sql(text, t.list_of(t.DOUBLE), nan=number.nan, depth=items.depth + number.depth + 2)
    return lowering.let(numbers, lambda xs: _of_array(lowering, function, xs))


def _of_one_type(operands: Sequence[Sql], *, compared: bool) -> list[Sql]:
    """The numbers as ints or as doubles.

    Of one int written in the filter nothing is lost as a double, where the result is compared.

    Raises:
        NotNative: where they are both, or no numbers.
    """
    if any(x.type == t.UINT for x in operands):
        raise NotNative(UINT)
    numbers = [dynamic.read(x, t.DOUBLE) if x.type == t.JSON else x for x in operands]
    types = {x.type for x in numbers}
    if not types <= {t.INT, t.DOUBLE}:
        raise NotNative("the greatest or least of what are no numbers")
    if len(types) < 2:
        return numbers
    if not compared or not all(map(_is_small_or_double, numbers)):
        raise NotNative("a number that is an int for one event and a double for another, which no column is")
    return [equality.exact_double(x) if x.type == t.INT else x for x in numbers]


def _is_small_or_double(x: Sql) -> bool:
    if x.type == t.DOUBLE:
        return True
    return isinstance(x.literal, int) and abs(x.literal) < equality.EXACT_DOUBLE


def _of_values(function: str, numbers: Sequence[Sql]) -> Sql:
    text = f"{FUNCTIONS[function][0]}({', '.join(n.text for n in numbers)})"
    return made.when_certain(numbers, Sql(text, numbers[0].type, nan=False, depth=deepest(numbers) + 3))


def _of_array(lowering: Lowering, function: str, xs: Sql) -> Sql:
    """Of an array that may be written twice. One of an empty array is NULL; the one number of a list may be NaN."""
    name = lowering.variable()
    (element,) = xs.type.params
    nan = element == t.DOUBLE and xs.nan
    best = f"{FUNCTIONS[function][1]}({xs.text})"
    sound = f"{name} IS NOT NULL" + (f" AND NOT isnan({name})" if nan else "")
    text = f"CASE WHEN forall({xs.text}, {name} -> {sound}) THEN {best} END"
    if nan:
        text = f"CASE WHEN array_size({xs.text}) = 1 THEN get({xs.text}, 0) ELSE {text} END"
    return replace(xs, text=text, type=element, nan=nan, cheap=False, shape=None, path=None, depth=xs.depth + 5)
