"""The operator `in`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tricel.compiler import celtypes as t
from tricel.compiler.nodes import Expr, Ident, Lit

from . import access, dynamic, equality, made, selection
from .reasons import NotNative
from .sql import Sql, boolean, joined, text_literal

if TYPE_CHECKING:
    from .lower import Lowering


def contains(lowering: Lowering, item: Expr, holder: Expr, scope: dict[str, Sql]) -> Sql:
    """`item in holder`: a list or a map's keys.

    Raises:
        NotNative: where Spark has no exact form.
    """
    if isinstance(holder, Ident) and holder.name == "ce" and "ce" not in scope:
        if isinstance(item, Lit) and isinstance(item.value, str):
            return selection.has_attribute(lowering, item.value)
        return lowering.let(lowering.lower(item, scope), lambda name: access.in_attributes(lowering, name))
    value = lowering.parts(item, scope)
    held = lowering.parts(holder, scope)
    if held.items is not None:
        return lowering.lets([value, held], lambda o: _in_made(lowering, *o))
    if held.type == t.JSON:
        return lowering.lets([value, held], lambda o: _in_dynamic(lowering, *o))
    if held.type.name == "list":
        return lowering.lets([value, held], lambda o: _in_list(lowering, *o))
    if held.shape is not None and held.shape.name == "map":
        return lowering.lets([value, held], lambda o: _in_map(*o))
    raise NotNative(f"membership in a value of type '{held.type}'")


def _in_made(lowering: Lowering, value: Sql, held: Sql) -> Sql:
    """In a list or map written in the filter."""
    options = held.items or ()
    if held.keys is not None:
        return made.when_certain(options, _in_keys(value, held.keys))
    if all(o.is_literal for o in options) and value.items is None:
        return _in_literals(lowering, value, list(options))
    tests = [equality.equals(lowering, value, o) for o in options]
    return made.when_certain([value, *options], joined("OR", tests) if tests else boolean("FALSE", ()))


def _in_keys(value: Sql, keys: tuple[str, ...]) -> Sql:
    listed = ", ".join(map(text_literal, keys))

    def test(name: str) -> str:
        return f"{name} IN ({listed})" if keys else f"CASE WHEN {name} IS NOT NULL THEN FALSE END"

    return _by_key(value, test)


def _in_map(value: Sql, held: Sql) -> Sql:
    """In a typed map column; only one whose keys are strings."""
    if held.type.params[0] != t.STRING or (held.shape is not None and not held.shape.has_string_keys):
        raise NotNative(f"membership in a value of type '{held.type}'")
    found = _by_key(value, lambda name: f"array_contains(map_keys({held}), {name})")
    return boolean(f"CASE WHEN {held} IS NOT NULL THEN {found.text} END", (found, held))


def _by_key(value: Sql, test: Callable[[str], str]) -> Sql:
    """Whether a string is a key, by `test`; a number or a bool is none, and nothing else can be asked for."""
    if value.type == t.STRING:
        return boolean(test(str(value)), (value,), infix=True)
    if value.type in t.NUMBERS | {t.BOOL}:
        return boolean(f"CASE WHEN {value} IS NOT NULL THEN FALSE END", (value,))
    if value.type != t.JSON:  # no other type can be a key
        return Sql("CAST(NULL AS BOOLEAN)", t.BOOL)
    name = dynamic.string(value)
    text = f"CASE WHEN {name} IS NOT NULL THEN {test(name)} WHEN {dynamic.is_number_or_bool(value)} THEN FALSE END"
    return boolean(text, (value,))


def _in_literals(lowering: Lowering, value: Sql, options: list[Sql]) -> Sql:
    if not options:
        return boolean(f"CASE WHEN {value} IS NOT NULL THEN FALSE END", (value,))
    if value.type == t.JSON:
        return _dynamic_in_literals(value, options)
    same = [o for o in options if o.type == value.type]
    if len(same) == len(options) and value.type in (t.STRING, t.INT, t.DOUBLE, t.BOOL):
        return boolean(f"{value} IN ({', '.join(o.text for o in options)})", (value,), infix=True)
    tests = [equality.equals(lowering, value, o) for o in options]
    return joined("OR", tests)


def _dynamic_in_literals(value: Sql, options: list[Sql]) -> Sql:
    """One test for each kind among the options; a value of another kind is in none of them."""
    if not value.from_json and any(o.type == t.BYTES for o in options):
        raise NotNative("a VARIANT may hold bytes, which are not read from it")
    tests = []
    by_type: dict[str, list[Sql]] = {}
    for option in options:
        exact = equality.exact_double(option) if option.type in (t.INT, t.UINT) else option
        by_type.setdefault(exact.type.name, []).append(exact)
    for group in by_type.values():
        if group[0].type == t.NULL:
            tests.append(dynamic.is_null(value))
            continue
        read = dynamic.read_as(value, group[0].type)
        if read is not None:
            tests.append(f"{read.text} IN ({', '.join(o.text for o in group)})")
    branches = " ".join(f"WHEN {test} THEN TRUE" for test in tests)
    return boolean(f"CASE {branches} WHEN {dynamic.exists(value)} THEN FALSE END", (value, *options))


def _in_dynamic(lowering: Lowering, value: Sql, held: Sql) -> Sql:
    in_list = _in_list(lowering, value, Sql(dynamic.list_(held), t.JSON_LIST, from_json=held.from_json))
    in_map = _by_key(value, lambda name: f"array_contains(map_keys({dynamic.entries(held)}), {name})")
    branches = f"WHEN {dynamic.is_list(held)} THEN {in_list.text} WHEN {dynamic.is_object(held)} THEN {in_map.text}"
    return boolean(f"CASE {branches} END", (value, held, in_list, in_map))


def _in_list(lowering: Lowering, value: Sql, items: Sql) -> Sql:
    variable, element = lowering.element(items)
    try:
        same = equality.equals(lowering, element, value)
    except NotNative as e:
        raise NotNative(f"in a list, {e.reason}") from e
    guard = " AND ".join(made.certain([value, items]))
    found = f"NOT forall({items.text}, {variable} -> NOT {same})"
    return boolean(f"CASE WHEN {guard} THEN {found} END", (value, items, same))
