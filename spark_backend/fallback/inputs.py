"""How columns travel to the fallback: attributes, payloads and typed columns.

A payload that is JSON text travels as it is where Python's parser reads it as Spark's does, and else as the JSON text that
Spark writes of what its own parser made of it, so that the engine sees what the native path sees. A VARIANT column may
hold more than JSON and travels as it is, and a typed column as JSON text that is read back by its types.
"""

from __future__ import annotations

from tricel.compiler import Requirements
from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType

from ..sql import Operand, Sql, cast, function, is_not_null, lambda2, lambda_, when
from ..sql.columns import body_text, payload_text, typed_column
from ..sql.layout import Layout, Quirks, Root
from ..sql.reasons import NotNative, Reason
from ..sql.spark_types import SINGLE, VARIANT, SparkType, cel_type
from .activation import Form, Input

_KEYS = (t.STRING, t.INT, t.BOOL)
_VARIANTS = SparkType("array", element=VARIANT)


def inputs_of(needs: Requirements, layout: Layout, *, exact: bool = True) -> tuple[Input, ...]:
    """The columns that travel.

    `exact`: a column in whose values something would be lost on the way must not travel. Otherwise the values are near
    enough to say why an event erred, not to judge it.

    Raises:
        NotNative: for a column that cannot; only where `exact`.
    """
    found: list[Input] = []
    attributes = layout.attributes
    if attributes is not None:
        whole = needs.all_attributes
        wanted = sorted(needs.attributes | (set(attributes.columns) if whole else set()))
        found = [i for n in wanted if (i := _attribute(n, layout)) is not None]
        if whole and attributes.others is not None:
            present = function("map_filter", attributes.others.sql, lambda2(lambda _, value: is_not_null(value)))
            valid = function("transform_values", present, lambda2(lambda _, value: _valid(value)))
            found.append(Input(Form.EXTENSIONS, "", valid))
    for root in sorted({str(p[0]) for p in needs.paths}):
        found.extend(_payload(root, layout))
    for given in found if exact else ():
        why = lost(given.type) if given.kind is Form.TYPED else ""
        if why:
            raise NotNative(Reason.LOST_BY_TRAVEL, why, given.key)
    return tuple(found)


def lost(type_: CelType) -> str:
    """What JSON text does not tell of the values of a typed column; empty where it tells all."""
    if type_ == t.JSON:
        return "JSON text does not tell a VARIANT in a typed column from NULL, text and other numbers"
    if type_.name == "map" and type_.params[0] not in _KEYS:
        return f"a map's keys of type '{type_.params[0]}' are no keys in CEL"
    return next((why for part in t.parts(type_) if (why := lost(part))), "")


def payload_inputs(name: str, where: Root, quirks: Quirks) -> tuple[Input, ...]:
    """What travels under a name for a payload that is JSON text."""
    body = body_text(where, checked=quirks.takes_unpaired_surrogates)
    if quirks.keeps_last:
        return Input(Form.JSON, name, body), Input(Form.INFINITE, name, body)
    return (Input(Form.PAYLOAD, name, payload_text(where, body)),)


def _payload(root: str, layout: Layout) -> list[Input]:
    where = layout.roots.get(root)
    if where is None:
        return []
    if where.is_document:
        return list(payload_inputs(root, where, layout.quirks))
    column_ = where.column
    if column_.type == _VARIANTS:
        whole = when(function("forall", column_.sql, lambda_(is_not_null)), cast(column_.sql, "VARIANT"))
        return [Input(Form.VARIANT, root, whole)]
    if column_.type.name != "variant":
        return [Input(Form.TYPED, root, column_.sql, cel_type(column_.type, single=SINGLE))]
    return [Input(Form.VARIANT, root, where.column.sql)]


def _attribute(attribute: str, layout: Layout) -> Input | None:
    attributes = layout.attributes
    where = attributes.find(attribute) if attributes is not None else None
    if attributes is None or where is None:
        return None
    is_time = attribute in attributes.times
    if where.type.name == "timestamp" and is_time:
        # as text: pandas, of which older releases send columns, makes doubles of integers among NULLs
        return Input(Form.TIME, attribute, cast(function("unix_micros", where.sql), "STRING"), attribute=True)
    if where.type.name == "string":
        # engines take more than RFC 3339 for a time
        kind = Form.TIME_TEXT if is_time else Form.TEXT
        return Input(kind, attribute, _valid(where.sql), attribute=True)
    typed = typed_column(where.sql, where.type)
    return Input(Form.TYPED, attribute, typed.sql, typed.type, attribute=True)


def _valid(text: Operand) -> Sql:
    """The text, NULL where its bytes are no UTF-8."""
    return function("try_validate_utf8", text)
