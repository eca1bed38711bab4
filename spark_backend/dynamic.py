"""Reading a VARIANT as one CEL kind: the value where it is of that kind, else NULL.

Spark's `try_variant_get` coerces ("1", 1.9 and true all become 1), so every read is guarded. The guards are shallow:
`schema_of_variant` walks a whole value and can overflow the JVM's stack on a deep one, so it is asked of scalars only.
"""

from __future__ import annotations

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType

from .reasons import NotNative
from .sql import Sql

_NUMBER_TYPES = "('BIGINT', 'DOUBLE', 'FLOAT')"


def exists(v: Sql) -> str:
    """Whether there is a value; JSON null is one."""
    return f"{v} IS NOT NULL"


def string(v: Sql) -> str:
    """A string's text. Only strings and binary cast to binary, and JSON has no binary."""
    if v.from_json:
        return f"CAST({v.read('binary')} AS STRING)"
    text = _if_schema(v, "= 'STRING'", v.read("string"))
    return f"CASE WHEN {v.read('binary')} IS NOT NULL THEN {text} END"


def double(v: Sql) -> str:
    """A number, as a double. There is one zero: of all the ways to write it in JSON, Spark keeps `-0e0` negative."""
    number = f"{v.read('double')} + 0D"
    if v.from_json:
        guarded = _if_schema(v, "NOT IN ('STRING', 'BOOLEAN')", number)
    else:
        guarded = f"CASE WHEN {is_number_kind(f'schema_of_variant({v})')} THEN {number} END"
    return f"CASE WHEN {v.read('double')} IS NOT NULL THEN {guarded} END"


def string_holds(v: Sql, test: str) -> str:
    """Whether it is a string for which `test`, an operator and an operand, holds; the kind is asked for last."""
    matches = f"CAST({v.read('binary')} AS STRING) {test}"
    return matches if v.from_json else f"CASE WHEN {matches} THEN schema_of_variant({v}) = 'STRING' END"


def double_holds(v: Sql, test: str) -> str:
    """Whether it is a number for which `test`, an operator and a literal, holds; the kind is asked for last."""
    read = v.read("double")
    if v.from_json:
        return f"CASE WHEN {read} {test} THEN schema_of_variant({v}) NOT IN ('STRING', 'BOOLEAN') END"
    nan = f" AND NOT isnan({read})" if test[0] == ">" else ""
    return f"CASE WHEN {read} {test}{nan} THEN {is_number_kind(f'schema_of_variant({v})')} END"


def bool_(v: Sql) -> str:
    """A truth value."""
    guarded = _if_schema(v, "= 'BOOLEAN'", v.read("boolean"))
    return f"CASE WHEN {v.read('boolean')} IS NOT NULL THEN {guarded} END"


def list_(v: Sql) -> str:
    """The elements of a list, as ARRAY<VARIANT>."""
    return v.read("array<variant>")


def entries(v: Sql) -> str:
    """The entries of an object, as MAP<STRING, VARIANT>."""
    return v.read("map<string,variant>")


def is_object(v: Sql) -> str:
    """Whether it is an object; TRUE or FALSE, never NULL."""
    return f"{v.read('struct<>')} IS NOT NULL"


def is_list(v: Sql) -> str:
    """Whether it is a list; TRUE or FALSE, never NULL. The elements are not read."""
    return f"{v.read('array<struct<>>')} IS NOT NULL"


def is_container(v: Sql) -> str:
    """Whether it is a list or an object; TRUE or FALSE, never NULL."""
    return f"({is_list(v)} OR {is_object(v)})"


def is_number_kind(kind: str) -> str:
    """Whether a scalar's schema, as SQL text, is a number's."""
    return f"{kind} IN {_NUMBER_TYPES} OR startswith({kind}, 'DECIMAL')"


def is_number_or_bool(v: Sql) -> str:
    """Whether it is a number or a truth value; TRUE or FALSE, never NULL."""
    return f"({double(v)} IS NOT NULL OR {bool_(v)} IS NOT NULL)"


def type_name(v: Sql) -> str:
    """The name that CEL's `type()` gives to the value's type."""
    kind = f"schema_of_variant({v})"
    scalars = (
        "WHEN 'STRING' THEN 'string' WHEN 'BOOLEAN' THEN 'bool' WHEN 'VOID' THEN 'null_type' WHEN 'BINARY' THEN 'bytes'"
    )
    number = "'double'" if v.from_json else f"CASE WHEN {is_number_kind(kind)} THEN 'double' END"
    branches = f"WHEN {is_list(v)} THEN 'list' WHEN {is_object(v)} THEN 'map'"
    return f"CASE {branches} WHEN {exists(v)} THEN CASE {kind} {scalars} ELSE {number} END END"


def is_null(v: Sql) -> str:
    """Whether it is JSON null; NULL where there is no value."""
    return f"CASE WHEN {exists(v)} THEN is_variant_null({v}) END"


def read_as(v: Sql, type_: CelType) -> Sql | None:
    """The VARIANT as a CEL type, NULL where it is not one; None for a type that JSON does not have."""
    match type_:
        case t.STRING:
            text = string(v)
        case t.DOUBLE:
            text = double(v)
        case t.BOOL:
            text = bool_(v)
        case CelType(name="list", params=(element,)) if t.is_dynamic(element) or element.is_parameter:
            return Sql(list_(v), t.JSON_LIST, cheap=v.cheap, from_json=v.from_json, depth=v.depth + 1)
        case CelType(name="map"):
            return Sql(entries(v), t.JSON_MAP, cheap=v.cheap, from_json=v.from_json, depth=v.depth + 1)
        case _:
            return None
    return Sql(text, type_, cheap=v.cheap, nan=not v.from_json, from_json=v.from_json, depth=v.depth + 3)


def read(v: Sql, wanted: CelType) -> Sql:
    """The VARIANT as a CEL type, NULL where it is not one.

    Raises:
        NotNative: for a type that JSON does not have.
    """
    found = read_as(v, wanted)
    if found is None:
        raise NotNative(f"a dynamic value as '{wanted}'")
    return found


def _if_schema(v: Sql, test: str, then: str) -> str:
    return f"CASE WHEN schema_of_variant({v}) {test} THEN {then} END"
