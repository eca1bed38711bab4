"""Reading a VARIANT as one CEL kind: the value where it is of that kind, else NULL.

Spark's `try_variant_get` coerces ("1", 1.9 and true all become 1), so every read is guarded. The guards are shallow:
`schema_of_variant` walks a whole value and can overflow the JVM's stack on a deep one, so it is asked of scalars only.
"""

from __future__ import annotations

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType

from . import (
    Case,
    Operand,
    Operator,
    Scalar,
    Sql,
    Typed,
    case,
    cast,
    equal,
    function,
    is_in,
    is_not_null,
    not_,
    operator,
    read_variant,
    when,
)
from .reasons import NotNative, Reason

_NUMBER_TYPES = ("BIGINT", "DOUBLE", "FLOAT")
_NO_NUMBER = ("STRING", "BOOLEAN")


def schema(v: Operand) -> Sql:
    """The name of a scalar's type."""
    return function("schema_of_variant", v)


def string(v: Typed) -> Sql:
    """A string's text. Only strings and binary cast to binary, and JSON has no binary."""
    binary = read_variant(v, "binary")
    if v.from_json:
        return cast(binary, "STRING")
    return when(is_not_null(binary), when(equal(schema(v), "STRING"), read_variant(v, "string")))


def double(v: Typed) -> Sql:
    """A number, as a double. There is one zero: of all the ways to write it in JSON, Spark keeps `-0e0` negative."""
    read = read_variant(v, "double")
    is_number = operator("NOT IN", schema(v), *_NO_NUMBER) if v.from_json else is_number_kind(schema(v))
    return when(is_not_null(read), when(is_number, read + 0.0))


def string_holds(v: Typed, text: Operand | Scalar) -> Sql:
    """Whether it is a string that equals a text; the kind is asked for last."""
    matches = equal(cast(read_variant(v, "binary"), "STRING"), text)
    return matches if v.from_json else when(matches, equal(schema(v), "STRING"))


def double_holds(v: Typed, sign: str, number: Operand | Scalar) -> Sql:
    """Whether it is a number for which a comparison with a literal holds; the kind is asked for last."""
    read = read_variant(v, "double")
    test: Sql = operator(sign, read, number)
    if v.from_json:
        return when(test, operator("NOT IN", schema(v), *_NO_NUMBER))
    if sign.startswith(">"):
        test = test & not_(function("isnan", read))
    return when(test, is_number_kind(schema(v)))


def bool_(v: Typed) -> Sql:
    """A truth value."""
    read = read_variant(v, "boolean")
    return when(is_not_null(read), when(equal(schema(v), "BOOLEAN"), read))


def list_(v: Operand) -> Sql:
    """The elements of a list, as ARRAY<VARIANT>."""
    return read_variant(v, "array<variant>")


def entries(v: Operand) -> Sql:
    """The entries of an object, as MAP<STRING, VARIANT>."""
    return read_variant(v, "map<string,variant>")


def is_object(v: Operand) -> Operator:
    """Whether it is an object; TRUE or FALSE, never NULL."""
    return is_not_null(read_variant(v, "struct<>"))


def is_list(v: Operand) -> Operator:
    """Whether it is a list; TRUE or FALSE, never NULL. The elements are not read."""
    return is_not_null(read_variant(v, "array<struct<>>"))


def is_container(v: Operand) -> Sql:
    """Whether it is a list or an object; TRUE or FALSE, never NULL."""
    return is_list(v) | is_object(v)


def is_number_kind(kind: Sql) -> Sql:
    """Whether a scalar's schema is a number's."""
    return is_in(kind, _NUMBER_TYPES) | function("startswith", kind, "DECIMAL")


def is_number_or_bool(v: Typed) -> Sql:
    """Whether it is a number or a truth value; TRUE or FALSE, never NULL."""
    return is_not_null(double(v)) | is_not_null(bool_(v))


def type_name(v: Typed) -> Sql:
    """The name that CEL's `type()` gives to the value's type."""
    kind = schema(v)
    number = "double" if v.from_json else when(is_number_kind(kind), "double")
    names = (("STRING", "string"), ("BOOLEAN", "bool"), ("VOID", "null_type"), ("BINARY", "bytes"))
    scalar = case(*names, subject=kind, otherwise=number)
    return case((is_list(v), "list"), (is_object(v), "map"), (is_not_null(v), scalar))


def is_null(v: Operand) -> Case:
    """Whether it is JSON null; NULL where there is no value."""
    return when(is_not_null(v), function("is_variant_null", v))


def read_as(v: Typed, type_: CelType) -> Typed | None:
    """The VARIANT as a CEL type, NULL where it is not one; None for a type that JSON does not have."""
    match type_:
        case t.STRING:
            found = string(v)
        case t.DOUBLE:
            found = double(v)
        case t.BOOL:
            found = bool_(v)
        case CelType(name="list", params=(element,)) if t.is_dynamic(element) or element.is_parameter:
            return list_of(v)
        case CelType(name="map"):
            return Typed(entries(v), t.JSON_MAP, from_json=v.from_json)
        case _:
            return None
    return Typed(found, type_, nan=not v.from_json, from_json=v.from_json)


def list_of(v: Typed) -> Typed:
    """The VARIANT as a list, NULL where it is none."""
    return Typed(list_(v), t.JSON_LIST, from_json=v.from_json)


def read(v: Typed, wanted: CelType) -> Typed:
    """The VARIANT as a CEL type, NULL where it is not one.

    Raises:
        NotNative: for a type that JSON does not have.
    """
    found = read_as(v, wanted)
    if found is None:
        raise NotNative(Reason.READ_AS, wanted)
    return found
