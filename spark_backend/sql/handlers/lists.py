"""The lists extension: lists made of lists. What sorts or compares elements takes little more time than there are.

Nothing here raises: positions and lengths are looked at before they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType
from tricel.compiler.functions import LENGTHS
from tricel.compiler.nodes import CONDITIONAL, Call, Comprehension, Expr, Ident, Lit, MacroKind

from .. import (
    Scope,
    Sql,
    Typed,
    Variable,
    array,
    between,
    boolean,
    bound,
    case,
    cast,
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
    try_cast,
    unequal,
    variable,
    variant,
    when,
)
from ..context import Context
from ..functions import handles
from ..reasons import NotNative, Reason
from . import equality_keys

MOST_LEVELS = 8
"""Levels that `flatten` takes away in SQL."""
MOST_NUMBERS = 10_000
"""Ints that `lists.range` makes in SQL where the filter writes out how many, and not the size of something."""
MOST_MAPPED = 4
"""Calls of `optMap` in one another, or one after the other, of the end of a list."""
_LONGEST = 10_000_000
"""Ints that `lists.range` makes at most, by its definition."""
SORTED = t.ORDERED - {t.UINT}
"""Types whose values Spark holds, and puts in order as CEL does."""


def listed(context: Context, e: Expr, scope: Scope) -> Typed:
    """The list that `e` is; NULL where a value of the data is none.

    Raises:
        NotNative: for a value of another type.
    """
    found = context.lower(e, scope)
    if found.type == t.JSON:
        return variant.read(found, t.JSON_LIST)
    if found.type.name != "list":
        raise NotNative(Reason.LIST, found.type)
    return found


def _reverse(context: Context, args: tuple[Expr, ...], scope: Scope) -> Typed:
    """A text's code points or a list's elements from last to first."""
    value = context.lower(args[0], scope)
    if value.type == t.STRING:
        return Typed(function("reverse", value), t.STRING)
    if value.type == t.JSON:
        return context.let(value, _reversed_of_its_kind)
    if value.type.name != "list":
        raise NotNative(Reason.REVERSED, value.type)
    return value.like(function("reverse", value))


def _reversed_of_its_kind(v: Typed) -> Typed:
    text, items = function("reverse", variant.string(v)), function("reverse", variant.list_(v))
    either = case((variant.is_list(v), cast(items, "VARIANT")), otherwise=cast(text, "VARIANT"))
    return Typed(either, t.JSON, nan=v.nan, from_json=v.from_json)


def _slice(context: Context, args: tuple[Expr, ...], scope: Scope) -> Typed:
    items = listed(context, args[0], scope)
    start, end = (context.lower(a, scope) for a in args[1:])
    if (start.type, end.type) != (t.INT, t.INT):
        raise NotNative(Reason.POSITION)

    def cut(whole: Typed, first: Typed, last: Typed) -> Typed:
        fits = between(first, 0, last) & (last <= function("array_size", whole))
        at, count = function("try_add", first, 1), function("try_subtract", last, first)
        part = function("slice", whole, try_cast(at, "INT"), try_cast(count, "INT"))
        return whole.like(when(fits, part))

    return context.bind(items, lambda whole: context.typed_lets([start, end], lambda o: cut(whole, *o)))


def _flatten(context: Context, args: tuple[Expr, ...], scope: Scope) -> Typed:
    items = listed(context, args[0], scope)
    depth = args[1] if len(args) > 1 else None
    if depth is None:
        return _flat(context, items)
    if not (isinstance(depth, Lit) and isinstance(depth.value, int)):
        raise NotNative(Reason.COMPUTED_LEVELS)
    if depth.value > MOST_LEVELS:
        raise NotNative(Reason.LEVELS, MOST_LEVELS)
    if depth.value < 0:
        return items.like(when(False, items))
    for _ in range(depth.value):
        items = _flat(context, items)
    return items


def _flat(context: Context, items: Typed) -> Typed:
    """One level less of lists."""
    one = variable()
    element = context.element(items, one)
    if element.type == t.JSON:
        inner = function("coalesce", variant.list_(element), array([element]))  # no element is NULL
        return items.like(function("flatten", function("transform", items, bound((one,), inner))))
    if element.type.name != "list":
        return items
    lists = items.sql if element.sql is one else function("transform", items, bound((one,), element))
    found = function("flatten", lists)
    return Typed(found, element.type, nan=items.nan, from_json=items.from_json, shape=element.shape)


def _sort(context: Context, args: tuple[Expr, ...], scope: Scope) -> Typed:
    items = listed(context, args[0], scope)
    if items.type == t.JSON_LIST:
        return context.bind(items, lambda i: _sorted_of_one_kind(context, i))
    return context.bind(plain(context, items), _sorted)


def plain(context: Context, items: Typed) -> Typed:
    """A list of scalars as CEL has them: ints of 64 bits, texts without a collation.

    Raises:
        NotNative: for a list of anything else.
    """
    one = variable()
    element = context.element(items, one)
    if element.type not in SORTED:
        raise NotNative(Reason.UNORDERED_OR_WHOLE, element.type)
    return replace(items, shape=None) if element.sql is one else context.each(items, lambda x: x)


def _sorted(items: Typed) -> Typed:
    """Scalars of one type. Of doubles `array_sort` keeps 0.0 and -0.0 in their order, as CEL does; they are equal."""
    (element,) = items.type.params
    if element != t.DOUBLE:
        return items.like(function("sort_array", items))
    found = function("array_sort", items)
    if not items.nan:
        return items.like(found)
    numbers = function("forall", items, lambda_(lambda d: not_(function("isnan", d))))
    return replace(items.like(when(numbers, found)), nan=False)


def _sorted_of_one_kind(context: Context, items: Typed) -> Typed:
    """Values of JSON, all of them numbers, strings or bools; an error of a list of several kinds, or of others."""

    def branch(kind: CelType) -> tuple[Sql, Sql]:
        one = variable()
        read = variant.read(context.element(items, one), kind)
        fits: Sql = is_not_null(read)
        if kind == t.DOUBLE and not items.from_json:
            fits = fits & not_(function("isnan", read))
        values = function("sort_array", function("transform", items, bound((one,), read)))
        back = lambda_(lambda v: cast(v, "VARIANT"))
        return function("forall", items, bound((one,), fits)), function("transform", values, back)

    return replace(items.like(case(*map(branch, (t.DOUBLE, t.STRING, t.BOOL)))), nan=False)


def _distinct(context: Context, args: tuple[Expr, ...], scope: Scope) -> Typed:
    items = listed(context, args[0], scope)
    (element,) = items.type.params
    if element in equality_keys.PLAIN:
        items = plain(context, items)
    return context.bind(items, lambda i: _first_of_each(context, i))


def _first_of_each(context: Context, items: Typed) -> Typed:
    """The elements that equal none before them: they are sorted by key and place, and the first of each key is kept."""
    (element,) = items.type.params

    def pair(one: Variable, place: Variable) -> Sql:
        nan = function("concat", "N", cast(place, "STRING"))
        key = equality_keys.key(context.element(items, one), ints=element == t.INT, deep=True, nan=nan)
        return struct(k=key, i=place)

    keyed = Typed(function("sort_array", function("transform", items, lambda2(pair))), t.list_of(t.DYN))

    def firsts(pairs: Typed) -> Typed:
        def is_first(one: Variable, at: Variable) -> Sql:
            before = field_of(get(pairs, at - integer(1)), "k")
            return equal(at, integer(0)) | unequal(before, field_of(one, "k"))

        kept = function("filter", pairs, lambda2(is_first))
        places = function("sort_array", function("transform", kept, lambda_(lambda one: field_of(one, "i"))))
        found: Sql = function("transform", places, lambda_(lambda place: get(items, place)))
        if element == t.JSON and not items.from_json:  # a value that CEL does not have
            keys = function("forall", pairs, lambda_(lambda one: is_not_null(field_of(one, "k"))))
            found = when(keys, found)
        return items.like(found)

    return context.let(keyed, firsts)


def _range(context: Context, args: tuple[Expr, ...], scope: Scope) -> Typed:
    (length,) = args
    if not is_bounded(length):
        raise NotNative(Reason.RANGE, MOST_NUMBERS)

    def numbers(n: Typed) -> Typed:
        made = function("sequence", 0, n - 1)
        none = cast(function("array"), "ARRAY<BIGINT>")
        return Typed(case((between(n, 1, _LONGEST), made), (equal(n, 0), none)), t.list_of(t.INT))

    return context.let(context.lower(length, scope), numbers)


def is_bounded(length: Expr) -> bool:
    """Whether `lists.range` of it makes no more than a bound, or than what the event is long."""
    if isinstance(length, Lit):
        return isinstance(length.value, int) and length.value <= MOST_NUMBERS
    return isinstance(length, Call) and length.function in LENGTHS


_PRESENT, _VALUE = "#present", "#value"
"""Names that no filter can write."""


def _optional(
    context: Context, e: Expr, scope: Scope, body: Callable[[Typed, Typed], Typed], mapped_: int = 0
) -> Typed:
    """`body` of whether the optional `e` is present, and of its value, which is an error where it is not.

    `mapped_` is how many `optMap()` are around it: what each writes it writes more than once.

    Raises:
        NotNative: for an optional that is no end of a list, nor made of one.
    """
    match e:
        case Call(function="first" | "last" as end, target=target, args=()) if target is not None:
            return context.bind(listed(context, target, scope), lambda i: body(*_at_end(context, i, end)))
        case Comprehension(macro=MacroKind.OPT_MAP, range=range_, variable=name, body=mapped):
            if mapped_ >= MOST_MAPPED:
                raise NotNative(Reason.MAPPED, MOST_MAPPED)

            def map_(present: Typed, value: Typed) -> Typed:
                found = context.let(value, lambda v: context.lower(mapped, {**scope, name: v}))
                known = case((present, when(is_not_null(found), True)), (not_(present), False))
                return body(boolean(known), found)

            return _optional(context, range_, scope, map_, mapped_ + 1)
        case _:
            raise NotNative(Reason.OPTIONAL)


def _at_end(context: Context, items: Typed, end: str) -> tuple[Typed, Typed]:
    size = function("array_size", items)
    one = variable()
    element = context.element(items, one)
    if element.sql is one:
        value = get(items, 0 if end == "first" else size - integer(1))
    else:
        last = function("slice", items, integer(1 if end == "first" else -1), integer(1))
        value = get(function("transform", last, bound((one,), element)), 0)
    return boolean(size > integer(0)), element.like(value)


def _has_value(context: Context, args: tuple[Expr, ...], scope: Scope) -> Typed:
    return _optional(context, args[0], scope, lambda present, _: present)


def _value(context: Context, args: tuple[Expr, ...], scope: Scope) -> Typed:
    return _optional(context, args[0], scope, lambda _, value: value)


def _or_value(context: Context, args: tuple[Expr, ...], scope: Scope) -> Typed:
    def choose(present: Typed, value: Typed) -> Typed:
        inner: Scope = {**scope, _PRESENT: present, _VALUE: value}
        return context.lower(Call(CONDITIONAL, (Ident(_PRESENT), Ident(_VALUE), args[1])), inner)

    return _optional(context, args[0], scope, choose)


def _kept(context: Context, args: tuple[Expr, ...], scope: Scope) -> Typed:
    """An optional that nothing uses up."""
    for arg in args:
        context.lower(arg, scope)
    raise NotNative(Reason.OPTIONAL)


_NONE_KEPT = "where no optional is kept"
_OF_FIELDS = "of a field, or a key written out, and where no optional is kept"
handles("list_reverse", "string_reverse")(_reverse)
handles("list_slice")(_slice)
handles("list_flatten")(_flatten)
handles("list_flatten_int", condition="a number of levels written out, at most 8")(_flatten)
handles("list_distinct", condition="all but structs, maps and lists of typed columns compared whole")(_distinct)
handles("lists_range", condition="a number written out, at most 10,000, or a size()")(_range)
handles("list_first", "list_last", condition=_NONE_KEPT)(_kept)
handles("optional_of", "optional_none", "optional_or_optional", condition=_OF_FIELDS)(_kept)
handles("optional_hasValue", condition=_OF_FIELDS)(_has_value)
handles("optional_value", condition=_OF_FIELDS)(_value)
handles("optional_orValue_value", condition=_OF_FIELDS)(_or_value)
for _type in ("int", "double", "bool", "string", "bytes", "timestamp", "duration"):
    handles(f"list_{_type}_sort")(_sort)
handles("list_uint_sort", reason=Reason.UNSIGNED)(_sort)
