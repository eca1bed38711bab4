"""The comprehension macros. A list's elements are tested without short cuts, so that errors are absorbed as in CEL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType
from tricel.compiler.functions import BY_CALL
from tricel.compiler.names import TYPE_NAMES
from tricel.compiler.nodes import (
    EQUALS,
    GREATER,
    GREATER_EQUALS,
    IN,
    INDEX,
    LESS,
    LESS_EQUALS,
    NOT_EQUALS,
    Call,
    Comprehension,
    Expr,
    Ident,
    MacroKind,
    children,
    variables,
)

from . import dynamic, made, ranges
from .capability import OPTIONAL
from .keyed import with_lookups
from .lists import SORTED
from .ranges import Range
from .reasons import NotNative
from .sparktypes import SparkType
from .sql import Sql, boolean, deepest
from .turns import Takes, Work, takes, turns

if TYPE_CHECKING:
    from .lower import Lowering

MAX_FORKS = 3
"""Macros in one another that are written once for an object and once for a list: the innermost eight times."""
_LAMBDA_DEPTH = 3
_REFUSED: Mapping[MacroKind, str] = {
    MacroKind.TRANSFORM_MAP: "of a list it makes a map whose keys are ints, and Spark's objects have texts alone",
    MacroKind.TRANSFORM_MAP_ENTRY: "keys are computed: Spark ends the query where one comes twice, which is an error here",
    MacroKind.OPT_MAP: OPTIONAL,
    MacroKind.OPT_FLAT_MAP: OPTIONAL,
}
"""Why a macro has no native form."""


def comprehension(lowering: Lowering, e: Comprehension, scope: dict[str, Sql]) -> Sql:
    """The macro `e` over a list, or over the keys or the pairs of an object.

    Raises:
        NotNative: where Spark has no exact form.
    """
    if e.macro in _REFUSED:
        raise NotNative(_REFUSED[e.macro])
    works: tuple[Work, ...] = ()
    if not lowering.in_turns:  # the outermost macro looks at all that goes on within it
        e = with_lookups(e)
        works = turns(e, TYPE_NAMES - scope.keys() - {name for name, _ in lowering.checked.environment.roots})
    source = ranges.source(lowering, e.range, scope, takes(e))
    return lowering.let(source, lambda s: _of_kind(lowering, e, s, works, scope))


def _of_kind(lowering: Lowering, e: Comprehension, source: Sql, works: Sequence[Work], scope: dict[str, Sql]) -> Sql:
    """The macro over its range. Where an int tells from a string, what is dynamic is first asked for its kind."""
    if source.type != t.JSON or takes(e) is not Takes.PAIR or not _tells_numbers(e.body, e):
        return _guarded(lowering, e, ranges.over(lowering, source, takes(e)), works, scope)
    if lowering.forks >= MAX_FORKS:
        raise NotNative("macros in one another with the indexes or keys of what may be lists or objects")
    lowering.forks += 1
    try:
        of_object = _guarded(lowering, e, ranges.over_object(source), works, scope)
        of_list = _guarded(lowering, e, ranges.over_list(lowering, source), works, scope)
    finally:
        lowering.forks -= 1
    if of_object.type != of_list.type or of_object.shape != of_list.shape:
        of_object, of_list = made.as_variant(of_object), made.as_variant(of_list)
    return replace(
        of_list,
        text=f"CASE WHEN {dynamic.is_object(source)} THEN {of_object.text} ELSE {of_list.text} END",
        infix=False,
        joined_by="",
        truth="",
        cheap=False,
        nan=of_object.nan or of_list.nan,
        from_json=of_object.from_json and of_list.from_json,
        depth=deepest((of_object, of_list, source)) + 2,
    )


_ALIKE = frozenset({EQUALS, NOT_EQUALS, LESS, LESS_EQUALS, GREATER, GREATER_EQUALS})
"""Operators to which an int and a double of the same small whole number are the same."""
_NUMBERED = frozenset({t.INT, t.UINT, t.DOUBLE, t.DYN, t.JSON})


def _tells_numbers(e: Expr, macro: Comprehension) -> bool:
    """Whether the index is used in `e`, or the condition, where a double of its value would not do as well."""
    parts = (e,) if macro.condition is None else (e, macro.condition)
    return any(_tells(part, macro.variable) for part in parts)


def _tells(e: Expr, name: str) -> bool:
    if isinstance(e, Ident):
        return e.name == name and not e.absolute
    below = children(e)
    if name in variables(e):
        below = below[:1]
    if isinstance(e, Call):
        below = tuple(c for i, c in enumerate(below) if not (isinstance(c, Ident) and _takes_alike(e, i)))
    return any(_tells(c, name) for c in below)


def _takes_alike(e: Call, place: int) -> bool:
    """Whether a call takes an int in a place as it takes a double: as the same number, or not at all."""
    if e.function in _ALIKE or (e.function, place) in ((IN, 0), (INDEX, 1)):
        return True
    rows = BY_CALL.get((e.function, e.target is not None), ())
    taken: set[CelType] = {row.params[place] for row in rows if place < len(row.params)}
    return bool(taken) and not any(p in _NUMBERED or p.is_parameter for p in taken)


def _guarded(lowering: Lowering, e: Comprehension, over: Range, works: Sequence[Work], scope: dict[str, Sql]) -> Sql:
    """The macro over its range, an error where it and the macros within it may do too much."""
    if not works:
        return _over(lowering, e, over, scope)

    def guarded(i: Sql) -> Sql:
        given = replace(over, items=i)
        totals = ranges.Totals(lowering, e.range, takes(e), given)
        with _in_turns(lowering):  # what is in a range is looked at before the range is
            tests = [test for work in works if (test := totals.within_bounds(work, scope))]
        found = _over(lowering, e, given, scope)
        if not tests:
            return found
        text = f"CASE WHEN {' AND '.join(dict.fromkeys(tests))} THEN {found.text} END"
        depth = max(found.depth, totals.depth) + 3
        return replace(found, text=text, infix=False, joined_by="", truth="", cheap=False, depth=depth)

    return lowering.let(replace(over.items, cheap=False), guarded)


@dataclass(frozen=True, slots=True)
class _Each:
    """What a macro ranges over: the array, the lambda's variable, what is kept of it, and what the macro's stand for."""

    items: Sql
    variable: str
    element: str
    bound: Mapping[str, Sql]

    def transform(self, value: Sql) -> Sql:
        """The array of `value` for each element."""
        text = f"transform({self.items.text}, {self.variable} -> {value.text})"
        return Sql(text, t.list_of(value.type), depth=deepest((self.items, value)) + _LAMBDA_DEPTH)


def _each(lowering: Lowering, e: Comprehension, over: Range) -> _Each:
    variable = lowering.variable()
    value = over.value(variable)
    if not e.second:
        return _Each(over.items, variable, value.text, {e.variable: value})
    bound = {e.second: value}
    if over.key is not None:
        bound[e.variable] = over.key(variable)
    return _Each(over.items, variable, variable, bound)


def _over(lowering: Lowering, e: Comprehension, over: Range, scope: dict[str, Sql]) -> Sql:
    with _in_turns(lowering):
        return _turns(lowering, e, over, scope)


@contextmanager
def _in_turns(lowering: Lowering) -> Iterator[None]:
    """What is lowered meanwhile is within a macro. It ends where that is refused too: a walk may go on elsewhere."""
    around, lowering.in_turns = lowering.in_turns, True
    try:
        yield
    finally:
        lowering.in_turns = around


def _turns(lowering: Lowering, e: Comprehension, over: Range, scope: dict[str, Sql]) -> Sql:
    each = _each(lowering, e, over)
    inner = {**scope, **each.bound}
    match e.macro:
        case MacroKind.ALL:
            test = lowering.condition(e.body, inner)
            return _boolean(f"forall({each.items.text}, {each.variable} -> {test.text})", each.items, test)
        case MacroKind.EXISTS:
            test = lowering.condition(e.body, inner)
            return replace(
                _boolean(f"NOT forall({each.items.text}, {each.variable} -> NOT {test})", each.items, test), infix=True
            )
        case MacroKind.EXISTS_ONE:
            return _exists_one(lowering, each, lowering.condition(e.body, inner))
        case MacroKind.FILTER:
            return _filter(lowering, each, lowering.condition(e.body, inner))
        case MacroKind.MAP | MacroKind.TRANSFORM_LIST if e.condition is not None:
            kept = _filter(lowering, each, lowering.condition(e.condition, inner))
            return lowering.let(kept, lambda k: _map_kept(lowering, e, replace(over, items=k), scope))
        case MacroKind.MAP | MacroKind.TRANSFORM_LIST:
            return _map(lowering, each, lowering.lower(e.body, inner))
        case MacroKind.SORT_BY:
            return lowering.let(replace(each.items, cheap=False), lambda i: _sort_by(lowering, e, i, scope))
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
    pairs = each.transform(Sql(f"struct({each.element} AS x, {test.text} AS ok)", t.DYN, depth=test.depth + 1))
    p = lowering.variable()

    def keep(tested: Sql) -> Sql:
        kept = f"transform(filter({tested}, {p} -> {p}.ok), {p} -> {p}.x)"
        text = f"CASE WHEN forall({tested}, {p} -> {p}.ok IS NOT NULL) THEN {kept} END"
        return Sql(text, items.type, nan=items.nan, from_json=items.from_json, depth=3, shape=items.shape)

    return lowering.let(pairs, keep)


def _map_kept(lowering: Lowering, e: Comprehension, kept: Range, scope: dict[str, Sql]) -> Sql:
    each = _each(lowering, e, kept)
    return _map(lowering, each, lowering.lower(e.body, {**scope, **each.bound}))


def _map(lowering: Lowering, each: _Each, value: Sql) -> Sql:
    y = lowering.variable()
    shape = None if value.shape is None else SparkType("array", element=value.shape)

    def certain(results: Sql) -> Sql:
        text = f"CASE WHEN forall({results}, {y} -> {y} IS NOT NULL) THEN {results.text} END"
        return Sql(text, t.list_of(value.type), nan=value.nan, from_json=value.from_json, depth=2, shape=shape)

    return lowering.let(each.transform(value), certain)


def _sort_by(lowering: Lowering, e: Comprehension, items: Sql, scope: dict[str, Sql]) -> Sql:
    """The elements in the order of their keys and, of equal keys, of their places. Keys are of one kind, and no NaN."""
    each = _each(lowering, e, Range(items, lambda v: lowering.element_of(items, v)))
    keys = _map(lowering, each, lowering.lower(e.body, {**scope, **each.bound}))
    return lowering.let(keys, lambda k: _in_order(lowering, items, k))


def _in_order(lowering: Lowering, items: Sql, keys: Sql) -> Sql:
    variable, key = lowering.element(keys)
    place, pair = lowering.variable(), lowering.variable()
    dynamic_ = key.type == t.JSON
    if not dynamic_ and key.type not in SORTED:
        raise NotNative(f"values of type '{key.type}' are not put in order")
    kinds = [dynamic.read(key, kind) for kind in (t.DOUBLE, t.STRING, t.BOOL)] if dynamic_ else [key]
    branches = []
    for read in kinds:
        text = f"{read} + 0D" if read.type == t.DOUBLE else read.text  # one zero
        fits = f"{read} IS NOT NULL" + (f" AND NOT isnan({read})" if read.type == t.DOUBLE and read.nan else "")
        order = f"sort_array(transform({keys.text}, ({variable}, {place}) -> struct({text} AS k, {place} AS i)))"
        then = f"transform({order}, {pair} -> get({items.text}, {pair}.i))"
        branches.append(f"WHEN forall({keys.text}, {variable} -> {fits}) THEN {then}")
    return replace(items, text=f"CASE {' '.join(branches)} END", cheap=False, depth=deepest(kinds) + 8)
