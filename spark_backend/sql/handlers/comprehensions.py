"""The comprehension macros. A list's elements are tested without short cuts, so that errors are absorbed as in CEL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

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

from .. import (
    Part,
    Scope,
    Sql,
    Typed,
    Variable,
    all_of,
    boolean,
    bound,
    case,
    equal,
    field_of,
    function,
    get,
    integer,
    is_not_null,
    lambda2,
    lambda_,
    not_,
    struct,
    variable,
    variant,
    when,
)
from ..bounds.iterations import Takes, Work, takes, turns
from ..bounds.lookups import with_lookups
from ..context import Context
from ..reasons import NotNative, Reason
from ..spark_types import SparkType
from . import constructors, ranges
from .lists import SORTED
from .ranges import Range, Source

MAX_FORKS = 3
"""Macros in one another that are written once for an object and once for a list: the innermost eight times."""
_REFUSED: Mapping[MacroKind, Reason] = {
    MacroKind.TRANSFORM_MAP: Reason.INT_KEYS,
    MacroKind.TRANSFORM_MAP_ENTRY: Reason.COMPUTED_KEYS,
    MacroKind.OPT_MAP: Reason.OPTIONAL,
    MacroKind.OPT_FLAT_MAP: Reason.OPTIONAL,
}
"""Why a macro has no native form."""


def comprehension(context: Context, e: Comprehension, scope: Scope) -> Typed:
    """The macro `e` over a list, or over the keys or the pairs of an object.

    Raises:
        NotNative: where Spark has no exact form.
    """
    if e.macro in _REFUSED:
        raise NotNative(_REFUSED[e.macro])
    works: tuple[Work, ...] = ()
    if not context.in_turns:  # the outermost macro looks at all that goes on within it
        e = with_lookups(e)
        works = turns(e, TYPE_NAMES - scope.keys() - {name for name, _ in context.checked.environment.roots})
    source = ranges.source(context, e.range, scope, takes(e))
    return context.let(source.value, lambda v: _of_kind(context, e, replace(source, value=v), works, scope))


def _of_kind(context: Context, e: Comprehension, source: Source, works: Sequence[Work], scope: Scope) -> Typed:
    """The macro over its range. Where an int tells from a string, what is dynamic is first asked for its kind."""
    value = source.value
    if value.type != t.JSON or takes(e) is not Takes.PAIR or not _tells_numbers(e.body, e):
        return _guarded(context, e, ranges.over(context, source, takes(e)), works, scope)
    if context.forks >= MAX_FORKS:
        raise NotNative(Reason.KEYS_IN_ONE_ANOTHER)
    context.forks += 1
    try:
        of_object = _guarded(context, e, ranges.over_object(value), works, scope)
        of_list = _guarded(context, e, ranges.over_list(context, value), works, scope)
    finally:
        context.forks -= 1
    if of_object.type != of_list.type or of_object.shape != of_list.shape:
        of_object, of_list = constructors.as_variant(of_object), constructors.as_variant(of_list)
    json, nan = of_object.from_json and of_list.from_json, of_object.nan or of_list.nan
    found = case((variant.is_object(value), of_object), otherwise=of_list)
    return Typed(found, of_list.type, nan=nan, from_json=json, shape=of_list.shape)


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


def _guarded(context: Context, e: Comprehension, over: Range, works: Sequence[Work], scope: Scope) -> Typed:
    """The macro over its range, an error where it and the macros within it may do too much."""
    if not works:
        return _over(context, e, over, scope)

    def guarded(items: Typed) -> Typed:
        given = replace(over, items=items)
        totals = ranges.Totals(context, e.range, takes(e), given)
        with _in_turns(context):  # what is in a range is looked at before the range is
            tests = [test for work in works if (test := totals.within_bounds(work, scope)) is not None]
        found = _over(context, e, given, scope)
        return found.like(when(all_of(list(dict.fromkeys(tests))), found)) if tests else found

    return context.bind(over.items, guarded)


@dataclass(frozen=True, slots=True)
class _Each:
    """What a macro ranges over: the array, the lambda's variable, what is kept of it, and what the macro's stand for."""

    items: Typed
    variable: Variable
    element: Sql
    scope: Scope

    def function(self, name: str, body: Typed | Sql) -> Sql:
        """A function of the array and of the lambda that makes `body` of each element."""
        return function(name, self.items, bound((self.variable,), body))

    def transform(self, value: Typed) -> Typed:
        """The array of `value` for each element."""
        return Typed(self.function("transform", value), t.list_of(value.type))


def _each(e: Comprehension, over: Range, scope: Scope) -> _Each:
    name = variable()
    value = over.value(name)
    if not e.second:
        return _Each(over.items, name, value.sql, {**scope, e.variable: value})
    inner: dict[str, Part] = {**scope, e.second: value}
    if over.key is not None:
        inner[e.variable] = over.key(name)
    return _Each(over.items, name, name, inner)


def _over(context: Context, e: Comprehension, over: Range, scope: Scope) -> Typed:
    with _in_turns(context):
        return _turns(context, e, over, scope)


@contextmanager
def _in_turns(context: Context) -> Iterator[None]:
    """What is lowered meanwhile is within a macro. It ends where that is refused too: a walk may go on elsewhere."""
    around, context.in_turns = context.in_turns, True
    try:
        yield
    finally:
        context.in_turns = around


def _turns(context: Context, e: Comprehension, over: Range, scope: Scope) -> Typed:
    each = _each(e, over, scope)
    match e.macro:
        case MacroKind.ALL:
            return boolean(each.function("forall", context.condition(e.body, each.scope)))
        case MacroKind.EXISTS:
            return boolean(not_(each.function("forall", not_(context.condition(e.body, each.scope)))))
        case MacroKind.EXISTS_ONE:
            return _exists_one(context, each, context.condition(e.body, each.scope))
        case MacroKind.FILTER:
            return _filter(context, each, context.condition(e.body, each.scope))
        case MacroKind.MAP | MacroKind.TRANSFORM_LIST if e.condition is not None:
            kept = _filter(context, each, context.condition(e.condition, each.scope))
            return context.let(kept, lambda k: _map(context, e, replace(over, items=k), scope))
        case MacroKind.MAP | MacroKind.TRANSFORM_LIST:
            return _map(context, e, over, scope)
        case MacroKind.SORT_BY:
            return context.bind(each.items, lambda i: _sort_by(context, e, i, scope))
        case _:
            raise NotNative(Reason.MACRO, e.macro)


def _none_errs(tested: Typed, part: str = "") -> Sql:
    """Whether no element, or none of a field of theirs, is an error."""
    return function("forall", tested, lambda_(lambda x: is_not_null(field_of(x, part) if part else x)))


def _exists_one(context: Context, each: _Each, test: Typed) -> Typed:
    def count(tested: Typed) -> Typed:
        kept = function("array_size", function("filter", tested, lambda_(lambda b: b)))
        return boolean(when(_none_errs(tested), equal(kept, integer(1))))

    return context.let(each.transform(test), count)


def _filter(context: Context, each: _Each, test: Typed) -> Typed:
    """Elements and outcomes go into one array first, so that the test is written, and run, once."""
    pairs = Typed(each.function("transform", struct(x=each.element, ok=test)), t.list_of(t.DYN))

    def keep(tested: Typed) -> Typed:
        passed = function("filter", tested, lambda_(lambda p: field_of(p, "ok")))
        kept = function("transform", passed, lambda_(lambda p: field_of(p, "x")))
        return each.items.like(when(_none_errs(tested, "ok"), kept))

    return context.let(pairs, keep)


def _map(context: Context, e: Comprehension, over: Range, scope: Scope) -> Typed:
    each = _each(e, over, scope)
    value = context.lower(e.body, each.scope)
    shape = None if value.shape is None else SparkType("array", element=value.shape)
    made_ = each.transform(value)
    results = Typed(made_.sql, made_.type, nan=value.nan, from_json=value.from_json, shape=shape)
    return context.let(results, lambda r: r.like(when(_none_errs(r), r)))


def _sort_by(context: Context, e: Comprehension, items: Typed, scope: Scope) -> Typed:
    """The elements in the order of their keys and, of equal keys, of their places. Keys are of one kind, and no NaN."""
    keys = _map(context, e, Range(items, lambda v: context.element(items, v)), scope)
    return context.let(keys, lambda k: _in_order(context, items, k))


def _in_order(context: Context, items: Typed, keys: Typed) -> Typed:
    element = keys.type.params[0]
    if element != t.JSON and element not in SORTED:
        raise NotNative(Reason.UNORDERED, element)
    branches = [
        _ordered(context, items, keys, kind)
        for kind in ((t.DOUBLE, t.STRING, t.BOOL) if element == t.JSON else (None,))
    ]
    return items.like(case(*branches))


def _ordered(context: Context, items: Typed, keys: Typed, kind: CelType | None) -> tuple[Sql, Sql]:
    """Whether all keys are of a kind, and the items in their order; without a kind they are of their one type."""

    def read(v: Variable) -> Typed:
        key = context.element(keys, v)
        return key if kind is None else variant.read(key, kind)

    def fits(v: Variable) -> Sql:
        key = read(v)
        found: Sql = is_not_null(key)
        return found & not_(function("isnan", key)) if key.type == t.DOUBLE and key.nan else found

    def placed(v: Variable, place: Variable) -> Sql:
        key = read(v)
        return struct(k=key + 0.0 if key.type == t.DOUBLE else key, i=place)  # one zero

    order = function("sort_array", function("transform", keys, lambda2(placed)))
    then = function("transform", order, lambda_(lambda pair: get(items, field_of(pair, "i"))))
    return function("forall", keys, lambda_(fits)), then
