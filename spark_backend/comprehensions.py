"""The comprehension macros. A list's elements are tested without short cuts, so that errors are absorbed as in CEL."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from tricel.compiler import celtypes as t
from tricel.compiler.nodes import Comprehension, Expr, MacroKind

from . import dynamic
from .reasons import NotNative
from .sql import Sql, boolean, deepest

if TYPE_CHECKING:
    from .lower import Lowering

_LAMBDA_DEPTH = 3


def comprehension(lowering: Lowering, e: Comprehension, scope: dict[str, Sql]) -> Sql:
    """The macro `e` over a list, or over the keys of an object.

    Raises:
        NotNative: where Spark has no exact form.
    """
    source = lowering.lower(e.range, scope)
    return lowering.let(source, lambda s: _over(lowering, e, _items(lowering, s), scope))


def _items(lowering: Lowering, source: Sql) -> Sql:
    """The elements that a macro ranges over, as an array."""
    if source.type == t.JSON:
        key = lowering.variable()
        keys = f"transform(map_keys({dynamic.entries(source)}), {key} -> CAST({key} AS VARIANT))"
        text = f"CASE WHEN {dynamic.is_object(source)} THEN {keys} ELSE {dynamic.list_(source)} END"
        return Sql(text, t.JSON_LIST, from_json=source.from_json, depth=source.depth + 4)
    if source.type.name == "list":
        return source
    if source.type.name == "map" and source.shape is not None:
        return Sql(f"map_keys({source.text})", t.list_of(t.STRING), depth=source.depth + 1)
    raise NotNative(f"a comprehension over a value of type '{source.type}'")


def _over(lowering: Lowering, e: Comprehension, items: Sql, scope: dict[str, Sql]) -> Sql:
    element = lowering.element(items)
    inner = {**scope, e.variable: element}
    match e.macro:
        case MacroKind.ALL:
            test = lowering.condition(e.body, inner)
            return _boolean(f"forall({items.text}, {element.text} -> {test.text})", items, test)
        case MacroKind.EXISTS:
            test = lowering.condition(e.body, inner)
            return replace(_boolean(f"NOT forall({items.text}, {element.text} -> NOT {test})", items, test), infix=True)
        case MacroKind.EXISTS_ONE:
            return _exists_one(lowering, items, element, lowering.condition(e.body, inner))
        case MacroKind.FILTER:
            return _filter(lowering, items, element, lowering.condition(e.body, inner))
        case MacroKind.MAP:
            return _map(lowering, e.condition, items, element, e.body, inner)
        case _:
            assert_never(e.macro)


def _boolean(text: str, *operands: Sql) -> Sql:
    found = boolean(text, operands)
    return replace(found, depth=found.depth + _LAMBDA_DEPTH)


def _exists_one(lowering: Lowering, items: Sql, element: Sql, test: Sql) -> Sql:
    outcomes = _transform(items, element, test)
    b = lowering.variable()

    def count(tested: Sql) -> Sql:
        text = f"array_size(filter({tested}, {b} -> {b})) = 1"
        return boolean(f"CASE WHEN forall({tested}, {b} -> {b} IS NOT NULL) THEN {text} END", (tested,))

    return lowering.let(outcomes, count)


def _filter(lowering: Lowering, items: Sql, element: Sql, test: Sql) -> Sql:
    """Elements and outcomes go into one array first, so that the test is written, and run, once."""
    pairs = _transform(
        items, element, Sql(f"struct({element.text} AS x, {test.text} AS ok)", t.DYN, depth=test.depth + 1)
    )
    p = lowering.variable()

    def keep(tested: Sql) -> Sql:
        kept = f"transform(filter({tested}, {p} -> {p}.ok), {p} -> {p}.x)"
        text = f"CASE WHEN forall({tested}, {p} -> {p}.ok IS NOT NULL) THEN {kept} END"
        return Sql(text, items.type, from_json=items.from_json, depth=3, shape=items.shape)

    return lowering.let(pairs, keep)


def _map(
    lowering: Lowering, condition: Expr | None, items: Sql, element: Sql, body: Expr, scope: dict[str, Sql]
) -> Sql:
    if condition is not None:
        kept = _filter(lowering, items, element, lowering.condition(condition, scope))
        again = lowering.element(kept)
        scope = {k: (again if v is element else v) for k, v in scope.items()}
        return lowering.let(kept, lambda k: _map(lowering, None, k, again, body, scope))
    value = lowering.lower(body, scope)
    if value.shape is not None:
        raise NotNative("a list of columns' containers")
    y = lowering.variable()

    def certain(made: Sql) -> Sql:
        text = f"CASE WHEN forall({made}, {y} -> {y} IS NOT NULL) THEN {made.text} END"
        return Sql(text, t.list_of(value.type), nan=value.nan, from_json=value.from_json, depth=2)

    return lowering.let(_transform(items, element, value), certain)


def _transform(items: Sql, element: Sql, value: Sql) -> Sql:
    text = f"transform({items.text}, {element.text} -> {value.text})"
    return Sql(text, t.list_of(value.type), depth=deepest((items, value)) + _LAMBDA_DEPTH)
