"""Conversions between types (CEL definition, "Standard Definitions")."""

from __future__ import annotations

from dataclasses import replace

from ..celtypes import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, SHORT, STRING, TIMESTAMP, TYPE, UINT, CelType
from .model import ERROR, Difference, GoesOver, Literal, Overload, Reads, Size, Steps

A = CelType("A")
_T = "timestamp('2020-01-01T00:00:00Z')"


_LENIENT_TIME = "it reads texts that are not of RFC 3339: blanks, single digits, offsets without a colon"


def _to(
    function: str,
    id_: str,
    source: CelType,
    result: CelType,
    doc: str,
    *examples: tuple[str, object],
    size: Size = Size.UNKNOWN,
    steps: Steps = Steps.READ,
    goes_over: GoesOver = GoesOver.ONCE,
    cel_expr: tuple[Difference, ...] = (),
) -> Overload:
    """A conversion, which reads a text once."""
    steps = Steps.UNKNOWN if source in SHORT else steps
    row = Overload(
        id_, function, (source,), result, doc, examples, size=size, steps=steps, goes_over=goes_over, cel_expr=cel_expr
    )
    return replace(row, size=Size.WRITTEN) if result == STRING else row


CONVERSIONS = (
    _to("bool", "bool_to_bool", BOOL, BOOL, "The bool itself.", ("bool(true)", True)),
    _to(
        "bool",
        "string_to_bool",
        STRING,
        BOOL,
        "Reads 1 t true TRUE True, 0 f false FALSE False.",
        ("bool('true')", True),
        ("bool('f')", False),
        ("bool('yes')", ERROR),
        steps=Steps.ONE,
    ),
    _to(
        "bytes",
        "bytes_to_bytes",
        BYTES,
        BYTES,
        "The bytes themselves.",
        ("bytes(b'a') == b'a'", True),
        size=Size.ENCODED,
        steps=Steps.TEXT_MADE,
    ),
    _to(
        "bytes",
        "string_to_bytes",
        STRING,
        BYTES,
        "UTF-8.",
        ("bytes('a') == b'a'", True),
        size=Size.ENCODED,
        steps=Steps.TEXT_MADE,
    ),
    _to("double", "double_to_double", DOUBLE, DOUBLE, "The double itself.", ("double(1.5)", 1.5)),
    _to("double", "int64_to_double", INT, DOUBLE, "The nearest double.", ("double(3)", 3.0)),
    _to("double", "uint64_to_double", UINT, DOUBLE, "The nearest double.", ("double(3u)", 3.0)),
    _to(
        "double",
        "string_to_double",
        STRING,
        DOUBLE,
        "Reads a decimal number, inf or nan.",
        ("double('1e2')", 100.0),
        ("double('')", ERROR),
        ("double('1d')", ERROR),
    ),
    _to(
        "duration",
        "duration_to_duration",
        DURATION,
        DURATION,
        "The duration itself.",
        ("duration(duration('1s')) == duration('1s')", True),
    ),
    _to(
        "duration",
        "string_to_duration",
        STRING,
        DURATION,
        "Reads numbers with units h m s ms us ns.",
        ("duration('1m') == duration('60s')", True),
        ("duration('1y') == duration('1s')", ERROR),
        goes_over=GoesOver.KEPT,  # each of its parts is added up
        cel_expr=(Difference("it keeps fractions of a nanosecond", Literal.DURATION),),
    ),
    Overload(
        "to_dyn",
        "dyn",
        (A,),
        DYN,
        "The value itself, checked at evaluation.",
        (("dyn(1) == 1", True),),
        size=Size.OPERAND,
        steps=Steps.ONE,
        reads=Reads.NOTHING,
        goes_over=GoesOver.ONCE,
        cel_expr=(),
    ),
    _to("int", "int64_to_int64", INT, INT, "The int itself.", ("int(1)", 1)),
    _to("int", "bool_to_int64", BOOL, INT, "1 for true, 0 for false.", ("int(true)", 1)),
    _to("int", "uint64_to_int64", UINT, INT, "The same number; out of range is an error.", ("int(1u)", 1)),
    _to(
        "int",
        "double_to_int64",
        DOUBLE,
        INT,
        "Truncated toward zero; out of range is an error.",
        ("int(1.9)", 1),
        ("int(-1.9)", -1),
        ("int(1e19)", ERROR),
    ),
    _to(
        "int",
        "string_to_int64",
        STRING,
        INT,
        "Reads a decimal number, blanks around it aside.",
        ("int('42')", 42),
        ("int('-1')", -1),
        ("int('1.0')", ERROR),
        ("int('')", ERROR),
    ),
    _to("int", "timestamp_to_int64", TIMESTAMP, INT, "Seconds since 1970.", (f"int({_T})", 1577836800)),
    _to("string", "string_to_string", STRING, STRING, "The string itself.", ("string('a')", "a")),
    _to("string", "bool_to_string", BOOL, STRING, "true or false.", ("string(true)", "true")),
    _to("string", "int64_to_string", INT, STRING, "Decimal digits.", ("string(-1)", "-1")),
    _to("string", "uint64_to_string", UINT, STRING, "Decimal digits.", ("string(1u)", "1")),
    _to("string", "double_to_string", DOUBLE, STRING, "Decimal notation.", ("string(1.5)", "1.5")),
    _to("string", "bytes_to_string", BYTES, STRING, "UTF-8; other bytes are an error.", ("string(b'a')", "a")),
    _to("string", "timestamp_to_string", TIMESTAMP, STRING, "RFC 3339.", (f"string({_T})", "2020-01-01T00:00:00Z")),
    _to(
        "string", "duration_to_string", DURATION, STRING, "Seconds with the unit s.", ("string(duration('1m'))", "60s")
    ),
    _to(
        "timestamp",
        "timestamp_to_timestamp",
        TIMESTAMP,
        TIMESTAMP,
        "The time itself.",
        (f"timestamp({_T}) == {_T}", True),
    ),
    _to(
        "timestamp",
        "string_to_timestamp",
        STRING,
        TIMESTAMP,
        "Reads RFC 3339.",
        ("timestamp('2020-01-01T01:00:00+01:00') == timestamp('2020-01-01T00:00:00Z')", True),
        ("timestamp('2020') == timestamp('2021')", ERROR),
        cel_expr=(Difference(_LENIENT_TIME, Literal.TIME),),
    ),
    _to(
        "timestamp",
        "int64_to_timestamp",
        INT,
        TIMESTAMP,
        "Seconds since 1970.",
        (f"timestamp(1577836800) == {_T}", True),
    ),
    Overload(
        "type",
        "type",
        (A,),
        TYPE,
        "The type of the value.",
        (("type(1) == int", True), ("type('a') == int", False)),
        steps=Steps.ONE,
        reads=Reads.NOTHING,
        goes_over=GoesOver.ONCE,
        cel_expr=(),
    ),
    _to("uint", "uint64_to_uint64", UINT, UINT, "The uint itself.", ("uint(1u) == 1u", True)),
    _to(
        "uint",
        "int64_to_uint64",
        INT,
        UINT,
        "The same number; out of range is an error.",
        ("uint(1) == 1u", True),
        ("uint(-1) == 1u", ERROR),
    ),
    _to("uint", "double_to_uint64", DOUBLE, UINT, "Truncated; out of range is an error.", ("uint(1.9) == 1u", True)),
    _to("uint", "string_to_uint64", STRING, UINT, "Reads a decimal number.", ("uint('1') == 1u", True)),
)
