"""The comprehension macros. A list's elements are tested without short cuts, so that errors are absorbed as in CEL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tricel.compiler import celtypes as t
from tricel.compiler.names import TYPE_NAMES
from tricel.compiler.nodes import Comprehension, MacroKind

from . import ranges
from .reasons import NotNative
from .sparktypes import SparkType
from .sql import Sql, boolean, deepest
from .turns import Work, turns

if TYPE_CHECKING:
    from .lower import Lowering

_LAMBDA_DEPTH = 3
_NATIVE = frozenset({MacroKind.ALL, MacroKind.EXISTS, MacroKind.EXISTS_ONE, MacroKind.FILTER, MacroKind.MAP})


def comprehension(lowering: Lowering, e: Comprehension, scope: dict[str, Sql]) -> Sql:
    """The macro `e` over a list, or over the keys of an object.

    Raises:
        NotNative: where Spark has no exact form.
    """
    if e.second or e.macro not in _NATIVE:
        raise NotNative(f"the macro '{e.macro}' with {'two variables' if e.second else 'its own kind of result'}")
    works: tuple[Work, ...] = ()
    if not lowering.in_turns:  # the outermost macro looks at all that goes on within it
        works = turns(e, TYPE_NAMES - scope.keys() - {name for name, _ in lowering.checked.environment.roots})
    source = ranges.source(lowering, e.range, scope)
    return lowering.let(source, lambda s: _guarded(lowering, e, s, works, scope))


def _guarded(lowering: Lowering, e: Comprehension, source: Sql, works: Sequence[Work], scope: dict[str, Sql]) -> Sql:
    """The macro over its range, an error where it and the macros within it may do too much."""
    items = ranges.items(lowering, source)
    if not works:
        return _over(lowering, e, items, scope)

    def guarded(i: Sql) -> Sql:
        totals = ranges.Totals(lowering, e.range, i)
        with _in_turns(lowering):  # what is in a range is looked at before the range is
            tests = [test for work in works if (test := totals.within_bounds(work, scope))]
        over = _over(lowering, e, i, scope)
        if not tests:
            return over
        text = f"CASE WHEN {' AND '.join(dict.fromkeys(tests))} THEN {over.text} END"
        depth = max(over.depth, totals.depth) + 3
        return replace(over, text=text, infix=False, joined_by="", truth="", cheap=False, depth=depth)

    return lowering.let(replace(items, cheap=False), guarded)


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
    with _in_turns(lowering):
        return _turns(lowering, e, items, scope)


@contextmanager
def _in_turns(lowering: Lowering) -> Iterator[None]:
    """What is lowered meanwhile is within a macro. It ends where that is refused too: a walk may go on elsewhere."""
    around, lowering.in_turns = lowering.in_turns, True
    try:
        yield
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
