"""The comprehension macros. A list's elements are tested without short cuts, so that errors are absorbed as in CEL."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tricel.compiler import celtypes as t
from tricel.compiler.names import TYPE_NAMES
from tricel.compiler.nodes import Comprehension, Expr, Ident, MacroKind

from . import dynamic, made
from .reasons import NotNative
from .sparktypes import SparkType
from .sql import Sql, boolean, deepest, literal
from .turns import MAX_READ, MAX_TURNS, MAX_WRITTEN, PART, Again, Loops, Turns, names, turns, weight

if TYPE_CHECKING:
    from .lower import Lowering

_LAMBDA_DEPTH = 3
_EVENT = Ident("ce")
_NATIVE = frozenset({MacroKind.ALL, MacroKind.EXISTS, MacroKind.EXISTS_ONE, MacroKind.FILTER, MacroKind.MAP})


def comprehension(lowering: Lowering, e: Comprehension, scope: dict[str, Sql]) -> Sql:
    """The macro `e` over a list, or over the keys of an object.

    Raises:
        NotNative: where Spark has no exact form.
    """
    if e.second or e.macro not in _NATIVE:
        raise NotNative(f"the macro '{e.macro}' with {'two variables' if e.second else 'its own kind of result'}")
    found = turns(e, TYPE_NAMES - scope.keys() - {name for name, _ in lowering.checked.environment.roots})
    if lowering.in_turns:  # the macros around this one look at all that is not of their own elements
        reads = tuple(again for again in found.read if names(again.value) & scope.keys())
        found = Turns(tuple(x for x in found.loops if sum(1 for r in x.ranges if names(r) & scope.keys()) > 1), reads)
    source = _range(lowering, e.range, scope)
    return lowering.let(source, lambda s: _guarded(lowering, e, s, found, scope))


def _guarded(lowering: Lowering, e: Comprehension, source: Sql, found: Turns, scope: dict[str, Sql]) -> Sql:
    """The macro over its range, an error where it and the macros within it may do too much."""
    items = _items(lowering, source)
    if not found.loops and not found.read:
        return _over(lowering, e, items, scope)

    def guarded(i: Sql) -> Sql:
        few = (_few_turns(lowering, e, i, loops, scope) for loops in found.loops)
        little = (_little(lowering, e, i, again, scope) for again in found.read)
        tests = [test for test in dict.fromkeys([*few, *little]) if test]
        over = _over(lowering, e, i, scope)
        if not tests:
            return over
        text = f"CASE WHEN {' AND '.join(tests)} THEN {over.text} END"
        return replace(over, text=text, infix=False, joined_by="", truth="", cheap=False, depth=over.depth + 3)

    return lowering.let(replace(items, cheap=False), guarded)


def _range(lowering: Lowering, e: Expr, scope: dict[str, Sql]) -> Sql:
    source = lowering.parts(e, scope)
    if source.keys is not None:
        names = made.made_list([literal(k, t.STRING) for k in source.keys])
        source = made.when_certain(source.items or (), lowering.whole(names))
    return lowering.whole(source)


def _few_turns(lowering: Lowering, e: Comprehension, items: Sql, loops: Loops, scope: dict[str, Sql]) -> str:
    """Whether macros in one another take no more than `MAX_TURNS` turns; empty where they can take none."""
    factors = [f"{loops.written}D"] if loops.written > 1 else []
    for i, over in enumerate(loops.ranges):
        ranged = items.text if over is e.range else _ranged(lowering, over, scope)
        if not ranged:
            return ""
        size = f"CAST(array_size({ranged}) AS DOUBLE)"
        parts = f"{size} + octet_length(to_json({ranged})) / {PART}D" if i in loops.nested else size
        factors.append(f"coalesce({parts}, 0D)")
    return f"{' * '.join(factors)} <= {MAX_TURNS}"


def _little(lowering: Lowering, e: Comprehension, items: Sql, again: Again, scope: dict[str, Sql]) -> str:
    """Whether a value that turns read again is little, all turns together; empty where it is short in any case."""
    if (not again.ranges and again.written <= MAX_WRITTEN) or (again.value == _EVENT and "ce" not in scope):
        # read as often as a list written in the filter has elements; or asked for a name, which reads nothing
        return ""
    size = weight(items if again.value is e.range else lowering.lower(again.value, scope), again.use)
    if not size:
        return ""
    tests = [size] if again.written == 1 else [size, f"{again.written}D"]
    for i, over in enumerate(again.ranges):
        ranged = items.text if over is e.range else _ranged(lowering, over, scope)
        count = f"octet_length(to_json({ranged}))" if i in again.nested else f"array_size({ranged})"
        if ranged:
            tests.append(f"coalesce(CAST({count} AS DOUBLE), 0D)")
    return f"{' * '.join(tests)} <= {MAX_READ}"


def _ranged(lowering: Lowering, e: Expr, scope: dict[str, Sql]) -> str:
    """The elements or keys that are gone over, as an array; empty for what has none, or has them by its type."""
    try:
        return _items(lowering, _range(lowering, e, scope)).text
    except NotNative:
        return ""


def _items(lowering: Lowering, source: Sql) -> Sql:
    """The elements that a macro ranges over, as an array."""
    if source.type == t.JSON:
        key = lowering.variable()
        keys = f"transform(map_keys({dynamic.entries(source)}), {key} -> CAST({key} AS VARIANT))"
        text = f"CASE WHEN {dynamic.is_object(source)} THEN {keys} ELSE {dynamic.list_(source)} END"
        return Sql(text, t.JSON_LIST, from_json=source.from_json, depth=source.depth + 4)
    if source.type.name == "list":
        return source
    shape = source.shape
    if source.type.name == "map" and shape is not None:
        keys_shape = SparkType("array", element=shape.key)
        return Sql(
            f"map_keys({source.text})", t.list_of(source.type.params[0]), depth=source.depth + 1, shape=keys_shape
        )
    raise NotNative(f"a comprehension over a value of type '{source.type}'")


@dataclass(frozen=True, slots=True)
class _Each:
    """What a macro ranges over: the array, the lambda's variable, and the element that the variable stands for."""

    items: Sql
    variable: str
    element: Sql

    def transform(self, value: Sql) -> Sql:
        """The array of `value` for each element."""
        text = f"transform({self.items.text}, {self.variable} -> {value.text})"
        return Sql(text, t.list_of(value.type), depth=deepest((self.items, value)) + _LAMBDA_DEPTH)


def _over(lowering: Lowering, e: Comprehension, items: Sql, scope: dict[str, Sql]) -> Sql:
    around, lowering.in_turns = lowering.in_turns, True
    try:
        return _turns(lowering, e, items, scope)
    finally:
        lowering.in_turns = around


def _turns(lowering: Lowering, e: Comprehension, items: Sql, scope: dict[str, Sql]) -> Sql:
    each = _Each(items, *lowering.element(items))
    inner = {**scope, e.variable: each.element}
    match e.macro:
        case MacroKind.ALL:
            test = lowering.condition(e.body, inner)
            return _boolean(f"forall({items.text}, {each.variable} -> {test.text})", items, test)
        case MacroKind.EXISTS:
            test = lowering.condition(e.body, inner)
            return replace(
                _boolean(f"NOT forall({items.text}, {each.variable} -> NOT {test})", items, test), infix=True
            )
        case MacroKind.EXISTS_ONE:
            return _exists_one(lowering, each, lowering.condition(e.body, inner))
        case MacroKind.FILTER:
            return _filter(lowering, each, lowering.condition(e.body, inner))
        case MacroKind.MAP if e.condition is not None:
            kept = _filter(lowering, each, lowering.condition(e.condition, inner))
            return lowering.let(kept, lambda k: _map_kept(lowering, e, k, scope))
        case MacroKind.MAP:
            return _map(lowering, each, lowering.lower(e.body, inner))
        case _:
            raise NotNative(f"the macro '{e.macro}'")


def _boolean(text: str, *operands: Sql) -> Sql:
    found = boolean(text, operands)
    return replace(found, depth=found.depth + _LAMBDA_DEPTH)


def _exists_one(lowering: Lowering, each: _Each, test: Sql) -> Sql:
    b = lowering.variable()

    def count(tested: Sql) -> Sql:
        text = f"array_size(filter({tested}, {b} -> {b})) = 1"
        return boolean(f"CASE WHEN forall({tested}, {b} -> {b} IS NOT NULL) THEN {text} END", (tested,))

    return lowering.let(each.transform(test), count)


def _filter(lowering: Lowering, each: _Each, test: Sql) -> Sql:
    """Elements and outcomes go into one array first, so that the test is written, and run, once."""
    items = each.items
    pairs = each.transform(Sql(f"struct({each.element.text} AS x, {test.text} AS ok)", t.DYN, depth=test.depth + 1))
    p = lowering.variable()

    def keep(tested: Sql) -> Sql:
        kept = f"transform(filter({tested}, {p} -> {p}.ok), {p} -> {p}.x)"
        text = f"CASE WHEN forall({tested}, {p} -> {p}.ok IS NOT NULL) THEN {kept} END"
        return Sql(text, items.type, nan=items.nan, from_json=items.from_json, depth=3, shape=items.shape)

    return lowering.let(pairs, keep)


def _map_kept(lowering: Lowering, e: Comprehension, kept: Sql, scope: dict[str, Sql]) -> Sql:
    each = _Each(kept, *lowering.element(kept))
    return _map(lowering, each, lowering.lower(e.body, {**scope, e.variable: each.element}))


def _map(lowering: Lowering, each: _Each, value: Sql) -> Sql:
    y = lowering.variable()
    shape = None if value.shape is None else SparkType("array", element=value.shape)

    def certain(results: Sql) -> Sql:
        text = f"CASE WHEN forall({results}, {y} -> {y} IS NOT NULL) THEN {results.text} END"
        return Sql(text, t.list_of(value.type), nan=value.nan, from_json=value.from_json, depth=2, shape=shape)

    return lowering.let(each.transform(value), certain)
