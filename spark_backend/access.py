"""Access by a computed index or key.

A list is indexed by a whole number of any type; a JSON object by a string. Anything else is an error.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tricel.compiler import celtypes as t

from . import dynamic, made
from .reasons import NotNative
from .sql import Sql, boolean, deepest, literal, text_literal
from .stored import column

if TYPE_CHECKING:
    from .lower import Lowering

_NO_INDEX = "CAST(NULL AS INT)"


def computed(lowering: Lowering, holder: Sql, key: Sql) -> Sql:
    """`holder[key]`; both must be cheap.

    Raises:
        NotNative: where Spark has no exact form.
    """
    if holder.keys is not None and len({i.type for i in holder.items or ()}) == 1:
        return _of_made_map(lowering, holder, key)
    holder = lowering.whole(holder)
    depth = deepest((holder, key)) + 4
    if holder.type == t.JSON:
        return _dynamic(holder, key, depth)
    shape = holder.shape
    if holder.type.name == "list":
        text = f"get({holder.text}, {_index(key)})"
        if shape is not None and shape.element is not None:
            return column(text, shape.element, depth)
        return Sql(text, holder.type.params[0], nan=holder.nan, from_json=holder.from_json, depth=depth)
    if shape is not None and shape.name == "map" and shape.value is not None and shape.key is not None:
        name = dynamic.string(key) if key.type == t.JSON else key.text
        if not shape.has_string_keys or key.type not in (t.STRING, t.JSON):
            raise NotNative(f"a key of type '{key.type}' in a column of type '{holder.type}'")
        return replace(column(f"try_element_at({holder.text}, {name})", shape.value, depth), cheap=False)
    raise NotNative(f"a computed key of a value of type '{holder.type}'")


def _of_made_map(lowering: Lowering, holder: Sql, key: Sql) -> Sql:
    """A table written in the filter whose values are of one type."""
    items = [lowering.whole(i) for i in holder.items or ()]
    if key.type not in (t.STRING, t.JSON) or any(i.shape != items[0].shape for i in items):
        raise NotNative(f"a key of type '{key.type}' in a map made in the filter")
    name = dynamic.string(key) if key.type == t.JSON else key.text
    rows = " ".join(f"WHEN {text_literal(k)} THEN {i.text}" for k, i in zip(holder.keys or (), items, strict=True))
    json, nan = all(i.from_json for i in items), any(i.nan for i in items)
    depth = deepest((key, *items)) + 1
    found = Sql(f"CASE {name} {rows} END", items[0].type, nan=nan, from_json=json, depth=depth, shape=items[0].shape)
    return made.when_certain(items, found)


def _dynamic(holder: Sql, key: Sql, depth: int) -> Sql:
    element = f"get({dynamic.list_(holder)}, {_index(key)})"
    if key.type not in (t.STRING, t.JSON):
        text = element
    else:
        name = dynamic.string(key) if key.type == t.JSON else key.text
        entry = f"try_element_at({dynamic.entries(holder)}, {name})"
        text = entry if key.type == t.STRING else f"CASE WHEN {dynamic.is_list(holder)} THEN {element} ELSE {entry} END"
    return Sql(text, t.JSON, from_json=holder.from_json, depth=depth)


def _index(key: Sql) -> str:
    """The key as INT; NULL where it is no whole number in range. A list has no more than 2^31 - 1 elements."""
    if isinstance(key.literal, int) and not isinstance(key.literal, bool):
        return str(key.literal) if 0 <= key.literal < 2**31 else _NO_INDEX
    match key.type:
        case t.INT:
            return f"try_cast({key.text} AS INT)"
        case t.DOUBLE:
            return _whole(str(key))
        case t.JSON:
            return _whole(dynamic.double(key))
        case _:
            return _NO_INDEX


def _whole(number: str) -> str:
    return f"CASE WHEN try_cast({number} AS INT) = {number} THEN try_cast({number} AS INT) END"


def in_attributes(lowering: Lowering, name: Sql) -> Sql:
    """`name in ce` for a computed name, which must be cheap.

    Raises:
        NotNative: where the name of a column cannot be written.
    """
    attributes = lowering.layout.attributes
    if attributes is None or attributes.unnameable:
        raise NotNative("a computed name among attributes that Spark cannot name")
    text = dynamic.string(name) if name.type == t.JSON else name.text
    if name.type in t.NUMBERS | {t.BOOL}:
        return boolean(f"CASE WHEN {name} IS NOT NULL THEN FALSE END", (name,))
    if name.type not in (t.STRING, t.JSON):
        return Sql("CAST(NULL AS BOOLEAN)", t.BOOL)
    known = [f"WHEN {text_literal(n)} THEN {c.text} IS NOT NULL" for n, c in sorted(attributes.columns.items())]
    others = "FALSE" if attributes.others is None else f"try_element_at({attributes.others.text}, {text}) IS NOT NULL"
    found = f"CASE {text} {' '.join(known)} ELSE {others} END" if known else others
    none = "" if name.type == t.STRING else f" WHEN {dynamic.is_number_or_bool(name)} THEN FALSE"
    return boolean(f"CASE WHEN {text} IS NOT NULL THEN {found}{none} END", (name, literal(True, t.BOOL)))
