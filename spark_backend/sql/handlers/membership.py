"""The operator `in`."""

from __future__ import annotations

from collections.abc import Callable

from tricel.compiler import celtypes as t
from tricel.compiler.nodes import Expr, Lit

from .. import (
    CEL_NULL,
    NO_BOOL,
    Operand,
    Part,
    Scope,
    Sql,
    Typed,
    Written,
    boolean,
    case,
    constant_of,
    function,
    is_in,
    is_not_null,
    joined,
    lambda_,
    not_,
    variant,
    when,
)
from ..context import Context
from ..reasons import NotNative, Reason
from . import access, constructors, equality, selection


def contains(context: Context, item: Expr, holder: Expr, scope: Scope) -> Typed:
    """`item in holder`: a list or a map's keys.

    Raises:
        NotNative: where Spark has no exact form.
    """
    name = item.value if isinstance(item, Lit) and isinstance(item.value, str) else None
    if context.checked.record.is_it(holder, scope):
        if name is not None:
            return selection.has_attribute(context, name)
        return context.let(context.lower(item, scope), lambda name: access.in_attributes(context, name))
    found = None if name is None else selection.entry(context, holder, name, scope)
    if found is not None:
        return boolean(is_not_null(found))
    value, held = context.parts(item, scope), context.parts(holder, scope)
    is_map = isinstance(held, Typed) and held.shape is not None and held.shape.name == "map"
    if isinstance(held, Typed) and held.type != t.JSON and held.type.name != "list" and not is_map:
        raise NotNative(Reason.MEMBERSHIP, held.type)
    return context.lets([value, held], lambda o: _contains(context, *o))


def _contains(context: Context, value: Part, held: Part) -> Typed:
    if isinstance(held, Written):
        return _in_made(context, value, held)
    if held.type == t.JSON:
        return _in_dynamic(context, value, held)
    return _in_list(context, value, held) if held.type.name == "list" else _in_map(value, held)


def _in_made(context: Context, value: Part, held: Written) -> Typed:
    """In a list or map written in the filter."""
    options = held.items
    if held.keys is not None:
        return constructors.unless_null(options, _in_keys(value, held.keys))
    values = [o for o in options if isinstance(o, Typed) and (o.literal is not None or o == CEL_NULL)]
    if len(values) == len(options) and isinstance(value, Typed):
        return _in_literals(context, value, values)
    tests = [equality.equals(context, value, o) for o in options]
    found = joined("OR", tests) if tests else constant_of(False, t.BOOL)
    return constructors.unless_null([value, *options], found)


def _in_keys(value: Part, keys: tuple[str, ...]) -> Typed:
    return _by_key(value, lambda name: is_in(name, keys) if keys else when(is_not_null(name), False))


def _in_map(value: Part, held: Typed) -> Typed:
    """In a map column."""
    shape = held.shape
    if shape is None or not shape.has_string_keys:
        raise NotNative(Reason.MEMBERSHIP, held.type)
    found = _by_key(value, lambda name: function("array_contains", function("map_keys", held), name))
    return boolean(when(is_not_null(held), found))


def _by_key(value: Part, test: Callable[[Operand], Operand]) -> Typed:
    """Whether a string is a key, by `test`; a number or a bool is none, and nothing else can be asked for."""
    if isinstance(value, Written):
        return NO_BOOL
    if value.type == t.STRING:
        return boolean(test(value))
    if value.type in t.NUMBERS | {t.BOOL}:
        return boolean(when(is_not_null(value), False))
    if value.type != t.JSON:  # no other type can be a key
        return NO_BOOL
    name = variant.string(value)
    return boolean(case((is_not_null(name), test(name)), (variant.is_number_or_bool(value), False)))


def _in_literals(context: Context, value: Typed, options: list[Typed]) -> Typed:
    if not options:
        return boolean(when(is_not_null(value), False))
    if value.type == t.JSON:
        return _dynamic_in_literals(value, options)
    same = [o for o in options if o.type == value.type]
    if len(same) == len(options) and value.type in (t.STRING, t.INT, t.DOUBLE, t.BOOL):
        return boolean(is_in(value, options))
    return joined("OR", [equality.equals(context, value, o) for o in options])


def _dynamic_in_literals(value: Typed, options: list[Typed]) -> Typed:
    """One test for each kind among the options; a value of another kind is in none of them."""
    if not value.from_json and any(o.type == t.BYTES for o in options):
        raise NotNative(Reason.VARIANT_BYTES)
    tests: list[Sql] = []
    by_type: dict[str, list[Typed]] = {}
    for option in options:
        exact = equality.exact_double(option) if option.type in (t.INT, t.UINT) else option
        by_type.setdefault(exact.type.name, []).append(exact)
    for group in by_type.values():
        if group[0].type == t.NULL:
            tests.append(variant.is_null(value))
            continue
        read = variant.read_as(value, group[0].type)
        if read is not None:
            tests.append(is_in(read, group))
    return boolean(case(*((test, True) for test in tests), (is_not_null(value), False)))


def _in_dynamic(context: Context, value: Part, held: Typed) -> Typed:
    in_list = _in_list(context, value, variant.list_of(held))
    in_map = _by_key(value, lambda name: function("array_contains", function("map_keys", variant.entries(held)), name))
    return boolean(case((variant.is_list(held), in_list), (variant.is_object(held), in_map)))


def _in_list(context: Context, value: Part, items: Typed) -> Typed:
    def differs(v: Operand) -> Sql:
        return not_(equality.equals(context, context.element(items, v), value))

    try:
        found = not_(function("forall", items, lambda_(differs)))
    except NotNative as e:
        raise NotNative(Reason.IN_A_LIST, e.reason) from e
    return constructors.unless_null([value, items], boolean(found))
