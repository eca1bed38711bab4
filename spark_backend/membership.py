"""The operator `in`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tricel.compiler import celtypes as t
from tricel.compiler.nodes import Expr, Ident, ListExpr, Lit

from . import dynamic, equality
from .reasons import NotNative
from .sql import Sql, boolean, joined

if TYPE_CHECKING:
    from .lower import Lowering


def contains(lowering: Lowering, item: Expr, holder: Expr, scope: dict[str, Sql]) -> Sql:
    """`item in holder`: a list or a map's keys.

    Raises:
        NotNative: where Spark has no exact form.
    """
    if isinstance(holder, Ident) and holder.name == "ce" and "ce" not in scope:
        if isinstance(item, Lit) and isinstance(item.value, str):
            return lowering.has_attribute(item.value)
        raise NotNative("a computed attribute name")
    value = lowering.lower(item, scope)
    if isinstance(holder, ListExpr):
        options = [lowering.lower(i, scope) for i in holder.items]
        if any(o.literal is None and o.type != t.NULL for o in options):
            raise NotNative("a list with computed elements")
        return lowering.let(value, lambda v: _in_literals(v, options))
    held = lowering.lower(holder, scope)
    if held.type == t.JSON:
        return lowering.lets([value, held], lambda o: _in_dynamic(lowering, *o))
    if held.type.name == "list":
        return lowering.lets([value, held], lambda o: _in_list(lowering, *o))
    raise NotNative(f"membership in a value of type '{held.type}'")


def _in_literals(value: Sql, options: list[Sql]) -> Sql:
    if not options:
        return boolean(f"CASE WHEN {value} IS NOT NULL THEN FALSE END", (value,))
    if value.type == t.JSON:
        return _dynamic_in_literals(value, options)
    same = [o for o in options if o.type == value.type]
    if len(same) == len(options) and value.type in (t.STRING, t.INT, t.DOUBLE, t.BOOL):
        return boolean(f"{value} IN ({', '.join(o.text for o in options)})", (value,), infix=True)
    tests = [equality.equals(value, o) for o in options]
    return joined("OR", tests)


def _dynamic_in_literals(value: Sql, options: list[Sql]) -> Sql:
    """One test for each kind among the options; a value of another kind is in none of them."""
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
    if value.type == t.STRING:
        in_map = f"array_contains(map_keys({dynamic.entries(held)}), {value.text})"
    elif value.type in t.NUMBERS | {t.BOOL}:
        in_map = f"CASE WHEN {value} IS NOT NULL THEN FALSE END"
    else:
        in_map = "CAST(NULL AS BOOLEAN)"
    text = f"CASE WHEN {dynamic.list_(held)} IS NOT NULL THEN {in_list.text} WHEN {dynamic.is_object(held)} THEN {in_map} END"
    return boolean(text, (value, held, in_list))


def _in_list(lowering: Lowering, value: Sql, items: Sql) -> Sql:
    if value.type == t.JSON or items.type.name != "list":
        raise NotNative("a dynamic value looked for in a list")
    element = lowering.element(items)
    try:
        same = equality.equals(element, value)
    except NotNative as e:
        raise NotNative(f"in a list, {e.reason}") from e
    guard = f"{items} IS NOT NULL" if value.literal is not None else f"{value} IS NOT NULL AND {items} IS NOT NULL"
    found = f"NOT forall({items.text}, {element.text} -> NOT {same})"
    return boolean(f"CASE WHEN {guard} THEN {found} END", (value, items, same))
