"""Operators: logic, equality, ordering, arithmetic, membership and index (CEL definition, "Standard Definitions")."""

from __future__ import annotations

from ..celtypes import BOOL, BYTES, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UINT, CelType, list_of, map_of
from ..nodes import (
    ADD,
    AND,
    CONDITIONAL,
    DIVIDE,
    EQUALS,
    GREATER,
    GREATER_EQUALS,
    IN,
    INDEX,
    LESS,
    LESS_EQUALS,
    MODULO,
    MULTIPLY,
    NEGATE,
    NOT,
    NOT_EQUALS,
    OR,
    SUBTRACT,
)
from .model import ERROR, GoesOver, Overload, Reads, Size, Steps, in_cel_expr

A, K, V = CelType("A"), CelType("K"), CelType("V")

LOGIC = (
    Overload(
        "logical_and",
        AND,
        (BOOL, BOOL),
        BOOL,
        "True when every operand is; one false outweighs an error.",
        (("true && false", False), ("false && 1 / 0 == 1", False), ("true && 1 / 0 == 1", ERROR)),
        strict=False,
        cel_python=True,
    ),
    Overload(
        "logical_or",
        OR,
        (BOOL, BOOL),
        BOOL,
        "True when any operand is; one true outweighs an error.",
        (("false || true", True), ("true || 1 / 0 == 1", True), ("false || 1 / 0 == 1", ERROR)),
        strict=False,
        cel_python=True,
    ),
    Overload(
        "logical_not",
        NOT,
        (BOOL,),
        BOOL,
        "The opposite truth value.",
        (("!true", False), ("!false", True)),
        cel_python=True,
    ),
    Overload(
        "conditional",
        CONDITIONAL,
        (BOOL, A, A),
        A,
        "The second operand when the first is true, else the third.",
        (("true ? 1 : 2", 1), ("false ? 1 : 2", 2)),
        strict=False,
        size=Size.OPERAND,
        steps=Steps.ONE,
        reads=Reads.NOTHING,
        goes_over=GoesOver.ONCE,
    ),
)

EQUALITY = (
    Overload(
        "equals",
        EQUALS,
        (A, A),
        BOOL,
        "Equal by value; numbers of different types compare as numbers.",
        (("1 == 1", True), ("dyn(1) == 1.0", True), ("dyn(1) == '1'", False), ("[1] == [1]", True)),
        steps=Steps.COMPARED,
        reads=Reads.COMPARED,
        goes_over=GoesOver.ONCE,
        cel_python=True,
        total=True,
    ),
    Overload(
        "not_equals",
        NOT_EQUALS,
        (A, A),
        BOOL,
        "Not equal by value.",
        (("1 != 2", True), ("dyn(1) != '1'", True), ("'a' != 'a'", False)),
        steps=Steps.COMPARED,
        reads=Reads.COMPARED,
        goes_over=GoesOver.ONCE,
        cel_python=True,
        total=True,
    ),
)

_NAMES = {
    BOOL: "bool",
    INT: "int64",
    UINT: "uint64",
    DOUBLE: "double",
    STRING: "string",
    BYTES: "bytes",
    TIMESTAMP: "timestamp",
    DURATION: "duration",
}
_LOW_HIGH = {
    BOOL: ("false", "true"),
    INT: ("1", "2"),
    UINT: ("1u", "2u"),
    DOUBLE: ("1.0", "2.0"),
    STRING: ("'a'", "'b'"),
    BYTES: ("b'a'", "b'b'"),
    TIMESTAMP: ("timestamp('2020-01-01T00:00:00Z')", "timestamp('2021-01-01T00:00:00Z')"),
    DURATION: ("duration('1s')", "duration('2s')"),
}
_PAIRS = (*((t, t) for t in _NAMES), *((a, b) for a in (INT, UINT, DOUBLE) for b in (INT, UINT, DOUBLE) if a != b))


def _ordering(function: str, stem: str, sign: str, doc: str, *, when_less: bool) -> tuple[Overload, ...]:
    rows = []
    for left, right in _PAIRS:
        name = _NAMES[left] if left == right else f"{_NAMES[left]}_{_NAMES[right]}"
        low, high = _LOW_HIGH[left][0], _LOW_HIGH[right][1]
        rows.append(
            Overload(
                f"{stem}_{name}",
                function,
                (left, right),
                BOOL,
                doc,
                ((f"{low} {sign} {high}", when_less),),
                steps=Steps.ORDERED,
                total=True,
            )
        )
    return tuple(rows)


ORDERING = (
    *_ordering(LESS, "less", "<", "True when the first is smaller; strings by code point.", when_less=True),
    *_ordering(LESS_EQUALS, "less_equals", "<=", "True when the first is smaller or equal.", when_less=True),
    *_ordering(GREATER, "greater", ">", "True when the first is larger; strings by code point.", when_less=False),
    *_ordering(GREATER_EQUALS, "greater_equals", ">=", "True when the first is larger or equal.", when_less=False),
)


def _concatenation(id_: str, type_: CelType, *examples: tuple[str, object]) -> Overload:
    return Overload(
        id_,
        ADD,
        (type_, type_),
        type_,
        "Concatenation.",
        examples,
        size=Size.SUM,
        steps=Steps.TEXT_MADE | Steps.PARTS_MADE,
        reads=Reads.SHALLOW,
        goes_over=GoesOver.ONCE,
    )


ARITHMETIC = (
    Overload(
        "add_int64",
        ADD,
        (INT, INT),
        INT,
        "Sum; overflow is an error.",
        (("1 + 2", 3), ("9223372036854775807 + 1", ERROR)),
    ),
    Overload("add_uint64", ADD, (UINT, UINT), UINT, "Sum; overflow is an error.", (("1u + 2u == 3u", True),)),
    Overload("add_double", ADD, (DOUBLE, DOUBLE), DOUBLE, "Sum by IEEE 754.", (("0.5 + 1.0", 1.5),)),
    _concatenation("add_string", STRING, ("'a' + 'b'", "ab"), ("'' + ''", "")),
    _concatenation("add_bytes", BYTES, ("b'a' + b'b' == b'ab'", True)),
    _concatenation("add_list", list_of(A), ("[1] + [2] == [1, 2]", True)),
    Overload(
        "add_timestamp_duration",
        ADD,
        (TIMESTAMP, DURATION),
        TIMESTAMP,
        "The later time.",
        (("timestamp('2020-01-01T00:00:00Z') + duration('1s') == timestamp('2020-01-01T00:00:01Z')", True),),
    ),
    Overload(
        "add_duration_timestamp",
        ADD,
        (DURATION, TIMESTAMP),
        TIMESTAMP,
        "The later time.",
        (("duration('1s') + timestamp('2020-01-01T00:00:00Z') == timestamp('2020-01-01T00:00:01Z')", True),),
    ),
    Overload(
        "add_duration_duration",
        ADD,
        (DURATION, DURATION),
        DURATION,
        "Sum.",
        (("duration('1s') + duration('2s') == duration('3s')", True),),
    ),
    Overload(
        "subtract_int64",
        SUBTRACT,
        (INT, INT),
        INT,
        "Difference; overflow is an error.",
        (("3 - 2", 1), ("-9223372036854775807 - 2", ERROR)),
    ),
    Overload(
        "subtract_uint64",
        SUBTRACT,
        (UINT, UINT),
        UINT,
        "Difference; below zero is an error.",
        (("3u - 2u == 1u", True), ("1u - 2u == 0u", ERROR)),
    ),
    Overload("subtract_double", SUBTRACT, (DOUBLE, DOUBLE), DOUBLE, "Difference by IEEE 754.", (("1.5 - 1.0", 0.5),)),
    Overload(
        "subtract_timestamp_timestamp",
        SUBTRACT,
        (TIMESTAMP, TIMESTAMP),
        DURATION,
        "The time between.",
        (("timestamp('2020-01-01T00:00:01Z') - timestamp('2020-01-01T00:00:00Z') == duration('1s')", True),),
    ),
    Overload(
        "subtract_timestamp_duration",
        SUBTRACT,
        (TIMESTAMP, DURATION),
        TIMESTAMP,
        "The earlier time.",
        (("timestamp('2020-01-01T00:00:01Z') - duration('1s') == timestamp('2020-01-01T00:00:00Z')", True),),
    ),
    Overload(
        "subtract_duration_duration",
        SUBTRACT,
        (DURATION, DURATION),
        DURATION,
        "Difference.",
        (("duration('3s') - duration('2s') == duration('1s')", True),),
    ),
    Overload(
        "multiply_int64",
        MULTIPLY,
        (INT, INT),
        INT,
        "Product; overflow is an error.",
        (("2 * 3", 6), ("9223372036854775807 * 2", ERROR)),
    ),
    Overload(
        "multiply_uint64", MULTIPLY, (UINT, UINT), UINT, "Product; overflow is an error.", (("2u * 3u == 6u", True),)
    ),
    Overload("multiply_double", MULTIPLY, (DOUBLE, DOUBLE), DOUBLE, "Product by IEEE 754.", (("1.5 * 2.0", 3.0),)),
    Overload(
        "divide_int64",
        DIVIDE,
        (INT, INT),
        INT,
        "Quotient, truncated toward zero; by zero is an error.",
        (("7 / 2", 3), ("-7 / 2", -3), ("1 / 0", ERROR)),
    ),
    Overload("divide_uint64", DIVIDE, (UINT, UINT), UINT, "Quotient; by zero is an error.", (("7u / 2u == 3u", True),)),
    Overload(
        "divide_double",
        DIVIDE,
        (DOUBLE, DOUBLE),
        DOUBLE,
        "Quotient by IEEE 754: by zero is infinite or NaN.",
        (("1.0 / 4.0", 0.25), ("1.0 / 0.0 > 1e300", True)),
    ),
    Overload(
        "modulo_int64",
        MODULO,
        (INT, INT),
        INT,
        "Remainder with the sign of the dividend; by zero is an error.",
        (("7 % 2", 1), ("-7 % 2", -1), ("1 % 0", ERROR)),
    ),
    Overload(
        "modulo_uint64", MODULO, (UINT, UINT), UINT, "Remainder; by zero is an error.", (("7u % 2u == 1u", True),)
    ),
    Overload("negate_int64", NEGATE, (INT,), INT, "The opposite; of the smallest int an error.", (("-(1 + 1)", -2),)),
    Overload("negate_double", NEGATE, (DOUBLE,), DOUBLE, "The opposite.", (("-(1.0 + 1.0)", -2.0),)),
)

ACCESS = (
    Overload(
        "in_list",
        IN,
        (A, list_of(A)),
        BOOL,
        "True when the list has an equal element.",
        (("1 in [1, 2]", True), ("3 in [1, 2]", False), ("1 in []", False)),
        steps=Steps.MEMBER,
        reads=Reads.MEMBER,
        goes_over=GoesOver.ONCE,
        total=True,
    ),
    Overload(
        "in_map",
        IN,
        (K, map_of(K, V)),
        BOOL,
        "True when the map has the key.",
        (("'a' in {'a': 1}", True), ("'b' in {'a': 1}", False)),
        steps=Steps.MEMBER,
        reads=Reads.MEMBER,
        goes_over=GoesOver.ONCE,
    ),
    Overload(
        "index_list",
        INDEX,
        (list_of(A), INT),
        A,
        "The element at a position from 0; outside is an error.",
        (("[1, 2][1]", 2), ("[1][1]", ERROR), ("[1][-1]", ERROR)),
        size=Size.ELEMENT,
        steps=Steps.ONE,
        reads=Reads.NOTHING,
        goes_over=GoesOver.ONCE,
    ),
    Overload(
        "index_map",
        INDEX,
        (map_of(K, V), K),
        V,
        "The value of a key; a key the map lacks is an error.",
        (("{'a': 1}['a']", 1), ("{'a': 1}['b']", ERROR)),
        size=Size.ELEMENT,
        steps=Steps.ONE,
        reads=Reads.NOTHING,
        goes_over=GoesOver.ONCE,
    ),
)

OPERATORS = in_cel_expr((*LOGIC, *EQUALITY, *ORDERING, *ARITHMETIC, *ACCESS))
