"""Access by a computed index or key.

A list is indexed by a whole number of any type; a JSON object by a string. Anything else is an error.
"""

from __future__ import annotations

from tricel.compiler import celtypes as t

from .. import (
    NO_BOOL,
    Operand,
    Part,
    Sql,
    Typed,
    Written,
    boolean,
    case,
    equal,
    function,
    get,
    integer,
    is_not_null,
    literal,
    null,
    try_cast,
    variant,
    when,
)
from ..columns import typed_column
from ..context import Context
from ..reasons import NotNative, Reason
from . import constructors

_NO_INDEX = null("INT")


def computed(context: Context, holder: Part, key: Typed) -> Typed:
    """`holder[key]`; both must be cheap.

    Raises:
        NotNative: where Spark has no exact form.
    """
    if isinstance(holder, Written) and holder.keys is not None and len({i.type for i in holder.items}) == 1:
        return _of_made_map(context, holder, key)
    return computed_of(context.materialize(holder), key)


def computed_of(holder: Typed, key: Typed) -> Typed:
    """`computed` of a value that is not written in the filter."""
    if holder.type == t.JSON:
        return _dynamic(holder, key)
    shape = holder.shape
    if holder.type.name == "list":
        found = get(holder, _index(key))
        if shape is not None and shape.element is not None:
            return typed_column(found, shape.element)
        return Typed(found, holder.type.params[0], nan=holder.nan, from_json=holder.from_json)
    if shape is not None and shape.name == "map" and shape.value is not None and shape.key is not None:
        if not shape.has_string_keys or key.type not in (t.STRING, t.JSON):
            raise NotNative(Reason.COLUMN_KEY, key.type, holder.type)
        return typed_column(function("try_element_at", holder, _name(key)), shape.value)
    raise NotNative(Reason.COMPUTED_KEY, holder.type)


def _name(key: Typed) -> Sql:
    """The key as a text."""
    return variant.string(key) if key.type == t.JSON else key.sql


def _of_made_map(context: Context, holder: Written, key: Typed) -> Typed:
    """A table written in the filter whose values are of one type."""
    items = [context.materialize(i) for i in holder.items]
    if key.type not in (t.STRING, t.JSON) or any(i.shape != items[0].shape for i in items):
        raise NotNative(Reason.MADE_MAP_KEY, key.type)
    rows = list(zip(holder.keys or (), items, strict=True))
    json, nan = all(i.from_json for i in items), any(i.nan for i in items)
    found = case(*rows, subject=_name(key))
    return constructors.unless_null(items, Typed(found, items[0].type, nan=nan, from_json=json, shape=items[0].shape))


def _dynamic(holder: Typed, key: Typed) -> Typed:
    found: Sql = get(variant.list_(holder), _index(key))
    if key.type in (t.STRING, t.JSON):
        entry = function("try_element_at", variant.entries(holder), _name(key))
        found = entry if key.type == t.STRING else case((variant.is_list(holder), found), otherwise=entry)
    return Typed(found, t.JSON, from_json=holder.from_json)


def _index(key: Typed) -> Sql:
    """The key as INT; NULL where it is no whole number in range. A list has no more than 2^31 - 1 elements."""
    if isinstance(key.literal, int) and not isinstance(key.literal, bool):
        return integer(key.literal) if 0 <= key.literal < 2**31 else _NO_INDEX
    match key.type:
        case t.INT:
            return try_cast(key, "INT")
        case t.DOUBLE:
            return _whole(key)
        case t.JSON:
            return _whole(variant.double(key))
        case _:
            return _NO_INDEX


def _whole(number: Operand) -> Sql:
    whole = try_cast(number, "INT")
    return when(equal(whole, number), whole)


def in_attributes(context: Context, name: Typed) -> Typed:
    """`name in ce` for a computed name, which must be cheap.

    Raises:
        NotNative: where the name of a column cannot be written.
    """
    attributes = context.layout.attributes
    if attributes is None or attributes.unnameable:
        raise NotNative(Reason.UNNAMEABLE)
    if name.type in t.NUMBERS | {t.BOOL}:
        return boolean(when(is_not_null(name), False))
    if name.type not in (t.STRING, t.JSON):
        return NO_BOOL
    text = _name(name)
    known = [(n, is_not_null(c.sql)) for n, c in sorted(attributes.columns.items())]
    others: Sql = literal(False)
    if attributes.others is not None:
        others = is_not_null(function("try_element_at", attributes.others.sql, text))
    found = case(*known, subject=text, otherwise=others) if known else others
    none = [] if name.type == t.STRING else [(variant.is_number_or_bool(name), False)]
    return boolean(case((is_not_null(text), found), *none))
