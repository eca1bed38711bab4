"""The greatest or least of numbers: of arguments, of a list written in the filter, or of a list that is data.

Spark's own functions skip NULL, which is an error here, and order NaN, which CEL does not: both are looked for first.
"""

from __future__ import annotations

from collections.abc import Sequence

from tricel.compiler import celtypes as t
from tricel.compiler.functions import ALL
from tricel.compiler.nodes import Call, Expr

from .. import (
    Operand,
    Part,
    Scope,
    Sql,
    Typed,
    array,
    case,
    equal,
    error,
    function,
    get,
    integer,
    is_not_null,
    lambda_,
    not_,
    variant,
    when,
)
from ..context import Context
from ..functions import Handler, handles
from ..functions.unlowered import UNSIGNED
from ..reasons import NotNative, Reason
from . import constructors, equality
from .lists import plain

_PREFIXES = {"math_@max_": ("greatest", "array_max"), "math_@min_": ("least", "array_min")}
"""By how the ids of the overloads begin, Spark's own functions, of several values and of an array."""
FUNCTIONS = {row.function: names for row in ALL for prefix, names in _PREFIXES.items() if row.id.startswith(prefix)}


def compared(context: Context, e: Expr, scope: Scope) -> Part:
    """`e` as an operand of a comparison, which does not tell an int from a double of the same value."""
    if isinstance(e, Call) and e.function in FUNCTIONS:
        return _extreme(context, e.function, e.args, scope, compared=True)
    return context.parts(e, scope)


def _extreme(context: Context, name: str, args: tuple[Expr, ...], scope: Scope, *, compared: bool) -> Typed:
    """`math.greatest` or `math.least`.

    Raises:
        NotNative: where the result would be an int for one event and a double for another.
    """
    operands = [_operand(context, a, scope, compared) for a in args]
    if len(operands) == 1:
        (only,) = operands
        if isinstance(only, Typed):
            return _of_one(context, name, only)
        if only.keys is not None:
            raise NotNative(Reason.EXTREME_OF_MAP, name)
        operands = [context.materialize(i) for i in only.items]
    numbers = _of_one_type(operands, compared=compared)
    if not numbers:
        return error(t.DOUBLE, "DOUBLE")
    if len(numbers) == 1:
        return numbers[0]
    if all(n.cheap and n.type == t.INT for n in numbers):  # of doubles Spark takes 0.0, -0.0 and -0.0, 0.0 for the same
        return _of_values(name, numbers)
    whole = Typed(array(numbers), t.list_of(numbers[0].type), nan=any(n.nan for n in numbers))
    return context.let(whole, lambda xs: _of_array(name, xs))


def _operand(context: Context, e: Expr, scope: Scope, within_comparison: bool) -> Part:
    return compared(context, e, scope) if within_comparison else context.parts(e, scope)


def _of_one(context: Context, name: str, x: Typed) -> Typed:
    """Of a list, or a number, which is its own."""
    if x.type in (t.INT, t.DOUBLE):
        return x
    if x.type == t.JSON:
        return context.let(x, lambda v: _of_dynamic(context, name, v))
    if x.type.name == "list" and x.type.params[0] in (t.INT, t.DOUBLE):
        return context.let(plain(context, x), lambda xs: _of_array(name, xs))
    if x.type == t.JSON_LIST:
        return _of_dynamic_list(context, name, x)
    raise NotNative(Reason.EXTREME_OF, name, x.type)


def _of_dynamic(context: Context, name: str, v: Typed) -> Typed:
    best = _of_dynamic_list(context, name, variant.list_of(v))
    either = case((variant.is_list(v), best), otherwise=variant.read(v, t.DOUBLE))
    return Typed(either, t.DOUBLE, nan=not v.from_json)


def _of_dynamic_list(context: Context, name: str, items: Typed) -> Typed:
    numbers = context.each(items, lambda x: variant.read(x, t.DOUBLE))
    return context.let(numbers, lambda xs: _of_array(name, xs))


def _of_one_type(operands: Sequence[Part], *, compared: bool) -> list[Typed]:
    """The numbers as ints or as doubles.

    Of one int written in the filter nothing is lost as a double, where the result is compared.

    Raises:
        NotNative: where they are both, or no numbers.
    """
    if any(x.type == t.UINT for x in operands):
        raise NotNative(Reason.UNSIGNED)
    values = [x for x in operands if isinstance(x, Typed)]
    numbers = [variant.read(x, t.DOUBLE) if x.type == t.JSON else x for x in values]
    types = {x.type for x in numbers}
    if len(values) < len(operands) or not types <= {t.INT, t.DOUBLE}:
        raise NotNative(Reason.NO_NUMBERS)
    if len(types) < 2:
        return numbers
    if not compared or not all(map(_is_small_or_double, numbers)):
        raise NotNative(Reason.INT_OR_DOUBLE)
    return [equality.exact_double(x) if x.type == t.INT else x for x in numbers]


def _is_small_or_double(x: Typed) -> bool:
    if x.type == t.DOUBLE:
        return True
    return isinstance(x.literal, int) and abs(x.literal) < equality.EXACT_DOUBLE


def _of_values(name: str, numbers: Sequence[Typed]) -> Typed:
    best = function(FUNCTIONS[name][0], *numbers)
    return constructors.unless_null(numbers, Typed(best, numbers[0].type, nan=False))


def _of_array(name: str, xs: Typed) -> Typed:
    """Of an array that may be written twice. One of an empty array is NULL; the one number of a list may be NaN."""
    (element,) = xs.type.params
    nan = element == t.DOUBLE and xs.nan

    def is_sound(v: Operand) -> Sql:
        certain = is_not_null(v)
        return certain & not_(function("isnan", v)) if nan else certain

    best = when(function("forall", xs, lambda_(is_sound)), function(FUNCTIONS[name][1], xs))
    if nan:
        best = case((equal(function("array_size", xs), integer(1)), get(xs, 0)), otherwise=best)
    return Typed(best, element, nan=nan, from_json=xs.from_json)


def _handler(name: str) -> Handler:
    def lower(context: Context, args: tuple[Expr, ...], scope: Scope) -> Part:
        return _extreme(context, name, args, scope, compared=False)

    return lower


_HANDLERS = {name: _handler(name) for name in FUNCTIONS}
_OF_ONE_TYPE = "where the result is an int for all events or a double for all, or is compared"
for _row in ALL:
    if _row.function in FUNCTIONS:
        _reason = Reason.UNSIGNED if _row.id in UNSIGNED else None
        handles(_row.id, condition="" if _reason else _OF_ONE_TYPE, reason=_reason)(_HANDLERS[_row.function])
