"""Names, attributes, fields and elements: what an expression reads, and whether it is there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import Record
from tricel.compiler.check import extension_name
from tricel.compiler.nodes import Call, Expr, Ident, Lit

from . import access, dynamic, made, nanos
from .jsontext import parsed
from .layout import Held
from .reasons import NotNative
from .sql import Sql, boolean, in_path, literal, name, text_literal
from .stored import body_text, column

if TYPE_CHECKING:
    from .lower import Lowering


def ident(lowering: Lowering, e: Ident, scope: dict[str, Sql]) -> Sql:
    """A variable, a root, or the name of a type.

    Raises:
        NotNative: for a root that the events do not have, and for all of `ce`.
    """
    if e.name in scope and not e.absolute:
        return scope[e.name]
    if e.name == "ce":
        raise NotNative("all attributes as one map")
    if lowering.checked.environment.root(e.name) is None:
        return literal(e.name, t.TYPE)
    return _root(lowering, e.name)


def _root(lowering: Lowering, root: str) -> Sql:
    where = lowering.layout.roots.get(root)
    if where is None:
        raise NotNative(f"the events have no column '{root}'")
    if where.held is Held.JSON_TEXT:
        return lowering.document(root, body_text(where, checked=lowering.layout.quirks.takes_unpaired_surrogates))
    return column(where.column.text, where.column.type)


def member(lowering: Lowering, e: Expr, operand: Expr, key: str, scope: dict[str, Sql]) -> Sql:
    """`operand.key`: an attribute of the event, or a field of a value.

    Raises:
        NotNative: where there is no exact form.
    """
    if (found := extension_name(e)) is not None and "ce" not in scope:
        return attribute(lowering, found)
    return field(lowering, holder_of(lowering, operand, scope), key)


def holder_of(lowering: Lowering, operand: Expr, scope: dict[str, Sql]) -> Sql:
    """The value that a field is selected from; the text of an extension that is selected into is read as JSON."""
    extension = extension_name(operand)
    if extension is not None and extension in lowering.checked.json_extensions and "ce" not in scope:
        text = attribute(lowering, extension).text
        key = f"ce_{len(extension)}_{extension}"
        return lowering.document(key, parsed(text, checked=lowering.layout.quirks.takes_unpaired_surrogates))
    return lowering.parts(operand, scope)


def attribute(lowering: Lowering, key: str) -> Sql:
    """An attribute of the event; a text is read as the time that it is to be.

    Raises:
        NotNative: where no event has it, or its column is of another type.
    """
    if lowering.layout.attributes is None:
        raise NotNative("the events have no attributes")
    where = lowering.layout.attributes.find(key)
    declared = lowering.checked.environment.root("ce")
    wanted = declared.field(key) if isinstance(declared, Record) else None
    if where is None:
        if wanted is not None and wanted.required:
            raise NotNative(f"the events have no column '{key}'")
        type_ = wanted.type if wanted is not None else t.STRING
        return Sql(f"CAST(NULL AS {'TIMESTAMP' if type_ == t.TIMESTAMP else 'STRING'})", type_, cheap=True)
    found = column(where.text, where.type)
    if found.type == t.STRING and wanted is not None and wanted.type == t.TIMESTAMP:
        return nanos.time(lowering, found)
    if wanted is not None and found.type != wanted.type:
        raise NotNative(f"'{key}' is a {where.type.name} column, to be read as '{wanted.type}'")
    return found


def field(lowering: Lowering, holder: Sql, key: str | int) -> Sql:
    """One field of a value, or one element of a list by a constant index.

    Raises:
        NotNative: where there is no exact form.
    """
    if holder.items is not None:
        return made.item(lowering, holder, key)
    if holder.type == t.JSON:
        if in_path(key):
            return holder.at(key)
        if isinstance(key, int):
            return Sql("CAST(NULL AS VARIANT)", t.JSON, cheap=True)
        entries = dynamic.entries(holder)
        return replace(
            holder, text=f"try_element_at({entries}, {text_literal(key)})", path=None, depth=holder.depth + 2
        )
    shape = holder.shape
    if shape is not None and shape.name == "struct" and isinstance(key, str):
        if "${" in key:
            raise NotNative("a field's name that Spark would substitute")
        return column(f"{holder}.{name(key)}", dict(shape.fields)[key], holder.depth)
    if shape is not None and shape.value is not None and shape.has_string_keys and isinstance(key, str):
        return column(f"try_element_at({holder.text}, {text_literal(key)})", shape.value, holder.depth + 1)
    if holder.type.name == "list" and isinstance(key, int):
        return _element(holder, key)
    raise NotNative(f"a field of a value of type '{holder.type}'")


def _element(holder: Sql, number: int) -> Sql:
    text = f"get({holder.text}, {number if 0 <= number < 2**31 else 'CAST(NULL AS INT)'})"
    if holder.shape is not None and holder.shape.element is not None:
        return column(text, holder.shape.element, holder.depth + 1)
    return Sql(text, holder.type.params[0], cheap=holder.cheap, from_json=holder.from_json, depth=holder.depth + 1)


def has(lowering: Lowering, operand: Expr, key: str, scope: dict[str, Sql]) -> Sql:
    """`has(operand.key)`."""
    if isinstance(operand, Ident) and operand.name == "ce" and "ce" not in scope:
        return has_attribute(lowering, key)
    holder = holder_of(lowering, operand, scope)
    if holder.items is not None:
        return made.has_key(holder, key)
    if holder.type == t.JSON:
        return lowering.let(holder, lambda v: _has_dynamic(lowering, v, key))
    if holder.shape is None:
        raise NotNative(f"has() on a value of type '{holder.type}'")

    def test(v: Sql) -> Sql:
        found = field(lowering, v, key)
        if holder.shape is not None and holder.shape.name == "map":
            present = f"array_contains(map_keys({v}), {text_literal(key)})"
        else:
            present = f"{found} IS NOT NULL"
        return boolean(f"CASE WHEN {v} IS NOT NULL THEN {present} END", (found,))

    return lowering.let(holder, test)


def _has_dynamic(lowering: Lowering, v: Sql, key: str) -> Sql:
    found = field(lowering, v, key)
    return boolean(f"CASE WHEN {dynamic.is_object(v)} THEN {found} IS NOT NULL END", (found,))


def has_attribute(lowering: Lowering, key: str) -> Sql:
    """Whether the event has the attribute."""
    if lowering.layout.attributes is None:
        raise NotNative("the events have no attributes")
    where = lowering.layout.attributes.find(key)
    if where is None:
        return literal(False, t.BOOL)
    return boolean(f"{where.text} IS NOT NULL", (), infix=True)


def index(lowering: Lowering, e: Call, args: tuple[Expr, ...], scope: dict[str, Sql]) -> Sql:
    """`holder[key]`; a key that is written out is a field."""
    key = args[1]
    if isinstance(key, Lit) and isinstance(key.value, str):
        return member(lowering, e, args[0], key.value, scope)
    if isinstance(args[0], Ident) and args[0].name == "ce" and "ce" not in scope:
        raise NotNative("a computed attribute name: attributes differ in type")
    holder = holder_of(lowering, args[0], scope)
    if isinstance(key, Lit) and isinstance(key.value, int) and not isinstance(key.value, bool):
        return field(lowering, holder, key.value)
    return lowering.lets([holder, lowering.lower(key, scope)], lambda o: access.computed(lowering, *o))
