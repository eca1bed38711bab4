"""Names, attributes, fields and elements: what an expression reads, and whether it is there."""

from __future__ import annotations

from tricel.compiler import celtypes as t
from tricel.compiler.nodes import Call, Expr, Ident, Lit

from .. import (
    ERROR,
    Part,
    Scope,
    Typed,
    Written,
    boolean,
    constant_of,
    error,
    field_of,
    function,
    get,
    in_path,
    integer,
    is_not_null,
    null,
    variant,
    when,
)
from ..columns import body_text, typed_column
from ..context import Context
from ..entries import last_value
from ..json_text import parsed
from ..reasons import NotNative, Reason
from . import access, constructors, timestamps


def ident(context: Context, e: Ident, scope: Scope) -> Part:
    """A variable, a root, or the name of a type.

    Raises:
        NotNative: for a root that the events do not have, and for the record of attributes as a whole.
    """
    if e.name in scope and not e.absolute:
        return scope[e.name]
    if context.checked.record.is_it(e):
        raise NotNative(Reason.ALL_ATTRIBUTES)
    if context.checked.environment.root(e.name) is None:
        return constant_of(e.name, t.TYPE)
    return _root(context, e.name)


def _root(context: Context, root: str) -> Typed:
    where = context.layout.roots.get(root)
    if where is None:
        raise NotNative(Reason.NO_COLUMN, root)
    if where.is_document:
        return context.document(root, body_text(where, checked=context.layout.quirks.takes_unpaired_surrogates))
    if where.entries is not None:  # made once, however often it is read
        made = context.document(root, where.column.sql).sql
        return Typed(made, t.map_of(t.STRING, t.STRING), shape=where.column.type)
    if where.type == t.DYN:
        raise NotNative(Reason.BYTES_OR_NULL, root)
    return typed_column(where.column.sql, where.column.type)


def member(context: Context, e: Expr, operand: Expr, key: str, scope: Scope) -> Part:
    """`operand.key`: an attribute of the event, or a field of a value.

    Raises:
        NotNative: where there is no exact form.
    """
    found = context.checked.record.attribute(e, scope)
    if found is not None:
        return attribute(context, found)
    value = entry(context, operand, key, scope)
    if value is not None:
        return value
    return field(context, holder_of(context, operand, scope), key)


def holder_of(context: Context, operand: Expr, scope: Scope) -> Part:
    """The value that a field is selected from; the text of an extension that is selected into is read as JSON."""
    record = context.checked.record
    extension = record.attribute(operand, scope)
    if extension is not None and extension in context.checked.json_extensions:
        text = attribute(context, extension)
        key = f"{record.name}_{len(extension)}_{extension}"
        return context.document(key, parsed(text, checked=context.layout.quirks.takes_unpaired_surrogates))
    return context.parts(operand, scope)


def attribute(context: Context, key: str) -> Typed:
    """An attribute of the event; a text is read as the time that it is to be.

    Raises:
        NotNative: where no event has it, or its column is of another type.
    """
    if context.layout.attributes is None:
        raise NotNative(Reason.NO_ATTRIBUTES)
    where = context.layout.attributes.find(key)
    wanted = context.checked.environment.attribute(key)
    if where is None:
        if wanted is not None and wanted.required:
            raise NotNative(Reason.NO_COLUMN, key)
        type_ = wanted.type if wanted is not None else t.STRING
        return error(type_, "TIMESTAMP" if type_ == t.TIMESTAMP else "STRING")
    found = typed_column(where.sql, where.type)
    if found.type == t.STRING and wanted is not None and wanted.type == t.TIMESTAMP:
        return timestamps.time(context, found)
    if wanted is not None and found.type != wanted.type:
        raise NotNative(Reason.OTHER_TYPE, key, where.type.name, wanted.type)
    return found


def field(context: Context, holder: Part, key: str | int) -> Part:
    """One field of a value, or one element of a list by a constant index.

    Raises:
        NotNative: where there is no exact form.
    """
    return constructors.item(holder, key) if isinstance(holder, Written) else part_of(holder, key)


def part_of(holder: Typed, key: str | int) -> Typed:
    """`field` of a value that is not written in the filter."""
    if holder.type == t.JSON:
        if in_path(key):
            return holder.at(key)
        return ERROR if isinstance(key, int) else holder.like(function("try_element_at", variant.entries(holder), key))
    shape = holder.shape
    if shape is not None and shape.name == "struct" and isinstance(key, str):
        if "${" in key:
            raise NotNative(Reason.SUBSTITUTED)
        fields = dict(shape.fields)
        if key not in fields:  # the checker knows no fields of what is `dyn`
            raise NotNative(Reason.NO_FIELD, key)
        return typed_column(field_of(holder, key), fields[key])
    if shape is not None and shape.value is not None and shape.has_string_keys and isinstance(key, str):
        return typed_column(function("try_element_at", holder, key), shape.value)
    if holder.type.name == "list" and isinstance(key, int):
        return _element(holder, key)
    raise NotNative(Reason.FIELD_OF, holder.type)


def _element(holder: Typed, number: int) -> Typed:
    found = get(holder, integer(number) if 0 <= number < 2**31 else null("INT"))
    if holder.shape is not None and holder.shape.element is not None:
        return typed_column(found, holder.shape.element)
    return Typed(found, holder.type.params[0], from_json=holder.from_json)


def has(context: Context, operand: Expr, key: str, scope: Scope) -> Typed:
    """`has(operand.key)`."""
    if context.checked.record.is_it(operand, scope):
        return has_attribute(context, key)
    value = entry(context, operand, key, scope)
    if value is not None:
        return boolean(is_not_null(value))
    holder = holder_of(context, operand, scope)
    if isinstance(holder, Written):
        return constructors.has_key(holder, key)
    if holder.type == t.JSON:
        return context.let(holder, lambda v: _has_dynamic(v, key))
    if holder.shape is None:
        raise NotNative(Reason.HAS_ON, holder.type)
    is_map = holder.shape.name == "map"

    def test(v: Typed) -> Typed:
        found = part_of(v, key)
        present = function("array_contains", function("map_keys", v), key) if is_map else is_not_null(found)
        return boolean(when(is_not_null(v), present))

    return context.let(holder, test)


def _has_dynamic(v: Typed, key: str) -> Typed:
    return boolean(when(variant.is_object(v), is_not_null(part_of(v, key))))


def entry(context: Context, holder: Expr, key: str, scope: Scope) -> Typed | None:
    """The value of one key, where the holder is a root that is held as an array of keys and values; None elsewhere."""
    if not isinstance(holder, Ident) or (holder.name in scope and not holder.absolute):
        return None
    where = context.layout.roots.get(holder.name)
    if where is None or where.entries is None:
        return None
    return Typed(last_value(where.entries.sql, where.entries.type, key), t.STRING)


def has_attribute(context: Context, key: str) -> Typed:
    """Whether the event has the attribute."""
    if context.layout.attributes is None:
        raise NotNative(Reason.NO_ATTRIBUTES)
    where = context.layout.attributes.find(key)
    return constant_of(False, t.BOOL) if where is None else boolean(is_not_null(where.sql))


def index(context: Context, e: Call, args: tuple[Expr, ...], scope: Scope) -> Part:
    """`holder[key]`; a key that is written out is a field."""
    key = args[1]
    if isinstance(key, Lit) and isinstance(key.value, str):
        return member(context, e, args[0], key.value, scope)
    if context.checked.record.is_it(args[0], scope):
        raise NotNative(Reason.COMPUTED_ATTRIBUTE)
    holder = holder_of(context, args[0], scope)
    if isinstance(key, Lit) and isinstance(key.value, int) and not isinstance(key.value, bool):
        return field(context, holder, key.value)
    computed = context.lower(key, scope)
    return context.lets([holder, computed], lambda o: access.computed(context, o[0], context.materialize(o[1])))
