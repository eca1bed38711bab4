"""How columns travel to the fallback: attributes, payloads and typed columns.

A payload that is JSON text travels as it is where Python's parser reads it as Spark's does, and else as the JSON text that
Spark writes of what its own parser made of it, so that the engine sees what the native path sees. A VARIANT column may
hold more than JSON and travels as it is, and a typed column as JSON text that is read back by its types.
"""

from __future__ import annotations

from tricel.compiler import Requirements
from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType

from .activation import Form, Input
from .layout import Held, Layout, Quirks, Root
from .reasons import NotNative
from .sparktypes import SINGLE, VARIANT, SparkType, cel_type
from .stored import body_text, column, payload_text

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
        whole = "ce" in needs.whole
        wanted = sorted(needs.attributes | (set(attributes.columns) if whole else set()))
        found = [i for n in wanted if (i := _attribute(n, layout)) is not None]
        if whole and attributes.others is not None:
            present = f"map_filter({attributes.others.text}, (k, v) -> v IS NOT NULL)"
            valid = f"transform_values({present}, (k, v) -> try_validate_utf8(v))"
            found.append(Input(Form.EXTENSIONS, "", valid))
    for root in sorted({str(p[0]) for p in needs.paths}):
        found.extend(_payload(root, layout))
    for given in found if exact else ():
        why = lost(given.type) if given.kind is Form.TYPED else ""
        if why:
            raise NotNative(f"{why}, and '{given.key}' would have to travel whole")
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
    if where.held is Held.JSON_TEXT:
        return list(payload_inputs(root, where, layout.quirks))
    column_ = where.column
    if column_.type == _VARIANTS:
        whole = f"CASE WHEN forall({column_.text}, x -> x IS NOT NULL) THEN CAST({column_.text} AS VARIANT) END"
        return [Input(Form.VARIANT, root, whole)]
    if column_.type.name != "variant":
        return [Input(Form.TYPED, root, column_.text, cel_type(column_.type, single=SINGLE))]
    return [Input(Form.VARIANT, root, where.column.text)]


def _attribute(attribute: str, layout: Layout) -> Input | None:
    where = layout.attributes.find(attribute) if layout.attributes is not None else None
    if where is None:
        return None
    if where.type.name == "timestamp" and attribute == "time":
        # as text: pandas, of which older releases send columns, makes doubles of integers among NULLs
        return Input(Form.TIME, attribute, f"CAST(unix_micros({where.text}) AS STRING)", attribute=True)
    if where.type.name == "string":
        # engines take more than RFC 3339 for a time
        kind = Form.TIME_TEXT if attribute == "time" else Form.TEXT
        return Input(kind, attribute, f"try_validate_utf8({where.text})", attribute=True)
    typed = column(where.text, where.type)
    return Input(Form.TYPED, attribute, typed.text, typed.type, attribute=True)
