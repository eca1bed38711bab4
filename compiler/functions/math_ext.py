"""The math extension (cel-go `ext.Math`, version 2)."""

from __future__ import annotations

from ..celtypes import BOOL, DOUBLE, DYN, INT, UINT, CelType, list_of
from .model import ERROR, Difference, GoesOver, Overload, Reads, Size, Steps, in_cel_expr

_NUMBERS = (INT, UINT, DOUBLE)
_NAN = (Difference("it takes NaN for a number to compare"),)
_LARGE, _SMALL = {INT: "2", UINT: "2u", DOUBLE: "2.0"}, {INT: "1", UINT: "1u", DOUBLE: "1.0"}


def _best(function: str, id_: str, adjective: str, answers: dict[CelType, str]) -> tuple[Overload, ...]:
    one = (
        Overload(
            f"math_@{id_}_{t}",
            function,
            (t,),
            t,
            "The number itself.",
            ((f"{function}({_LARGE[t]}) == 2", True),),
            cel_expr=_NAN,
        )
        for t in _NUMBERS
    )
    two = (
        Overload(
            f"math_@{id_}_{a}_{b}",
            function,
            (a, b),
            a if a == b else DYN,
            f"The {adjective} of two numbers, compared by value; of equal ones the first.",
            ((f"{function}({_LARGE[a]}, {_SMALL[b]}) == {answers[a if id_ == 'max' else b]}", True),),
            size=Size.CONSTANT,
            cel_expr=_NAN,
        )
        for a in _NUMBERS
        for b in _NUMBERS
    )
    many = (
        Overload(
            f"math_@{id_}_list_{t}",
            function,
            (list_of(t),),
            t,
            f"The {adjective} number of a list, or of three arguments or more; an empty list is an error.",
            (
                (f"{function}([{_SMALL[t]}, {_LARGE[t]}]) == {answers[t]}", True),
                (f"{function}({_SMALL[t]}, {_LARGE[t]}, {_SMALL[t]}) == {answers[t]}", True),
            ),
            steps=Steps.EACH,
            reads=Reads.SHALLOW,
            goes_over=GoesOver.KEPT,
            variadic=True,
            cel_expr=_NAN,
        )
        for t in _NUMBERS
    )
    return *one, *two, *many


def _unary(stem: str, t: CelType, result: CelType, doc: str, *examples: tuple[str, object], id_: str = "") -> Overload:
    return Overload(id_ or f"math_{stem}_{t}", f"math.{stem}", (t,), result, doc, examples)


def _bits(stem: str, doc: str, *examples: tuple[int, int, int]) -> tuple[Overload, Overload]:
    function = f"math.{stem}"
    return (
        Overload(
            f"math_{stem}_int_int",
            function,
            (INT, INT),
            INT,
            doc,
            tuple((f"{function}({a}, {b})", c) for a, b, c in examples),
        ),
        Overload(
            f"math_{stem}_uint_uint",
            function,
            (UINT, UINT),
            UINT,
            doc,
            tuple((f"{function}({a}u, {b}u) == {c}u", True) for a, b, c in examples),
        ),
    )


def _shift(stem: str, doc: str, signed: tuple[tuple[str, object], ...], unsigned: str) -> tuple[Overload, Overload]:
    function = f"math.{stem}"
    negative = "A negative number of places is an error."
    return (
        Overload(f"math_{stem}_int_int", function, (INT, INT), INT, f"{doc} {negative}", signed),
        Overload(
            f"math_{stem}_uint_int",
            function,
            (UINT, INT),
            UINT,
            f"{doc} {negative}",
            ((unsigned, True), (f"{function}(1u, -1) == 0u", ERROR)),
        ),
    )


_ABS, _SIGN, _SQRT = (
    "The number without its sign.",
    "-1, 0 or 1, in the number's own type; NaN for NaN.",
    "The square root; NaN of a negative number.",
)

_ROWS = (
    *_best("math.greatest", "max", "greater", _LARGE),
    *_best("math.least", "min", "lesser", _SMALL),
    _unary(
        "ceil", DOUBLE, DOUBLE, "The least whole number not below.", ("math.ceil(1.2)", 2.0), ("math.ceil(-1.2)", -1.0)
    ),
    _unary(
        "floor",
        DOUBLE,
        DOUBLE,
        "The greatest whole number not above.",
        ("math.floor(1.2)", 1.0),
        ("math.floor(-1.2)", -2.0),
    ),
    _unary(
        "round",
        DOUBLE,
        DOUBLE,
        "The nearest whole number; a half goes away from zero.",
        ("math.round(1.5)", 2.0),
        ("math.round(-1.5)", -2.0),
        ("math.round(0.49999999999999994)", 0.0),
    ),
    _unary(
        "trunc",
        DOUBLE,
        DOUBLE,
        "The number without its fraction.",
        ("math.trunc(1.9)", 1.0),
        ("math.trunc(-1.9)", -1.0),
    ),
    _unary(
        "isNaN",
        DOUBLE,
        BOOL,
        "Whether this is not a number.",
        ("math.isNaN(0.0 / 0.0)", True),
        ("math.isNaN(1.0)", False),
    ),
    _unary(
        "isInf",
        DOUBLE,
        BOOL,
        "Whether this is an infinity.",
        ("math.isInf(-1.0 / 0.0)", True),
        ("math.isInf(1.0)", False),
    ),
    _unary(
        "isFinite",
        DOUBLE,
        BOOL,
        "Whether this is a number and not an infinity.",
        ("math.isFinite(1.0)", True),
        ("math.isFinite(1.0 / 0.0)", False),
    ),
    _unary("abs", DOUBLE, DOUBLE, _ABS, ("math.abs(-1.5)", 1.5)),
    _unary("abs", INT, INT, _ABS, ("math.abs(-11)", 11), ("math.abs(-9223372036854775808) == 0", ERROR)),
    _unary("abs", UINT, UINT, _ABS, ("math.abs(1u) == 1u", True)),
    _unary("sign", DOUBLE, DOUBLE, _SIGN, ("math.sign(-0.5)", -1.0), ("math.sign(0.0)", 0.0)),
    _unary("sign", INT, INT, _SIGN, ("math.sign(-11)", -1), ("math.sign(0)", 0)),
    _unary("sign", UINT, UINT, _SIGN, ("math.sign(11u) == 1u", True)),
    _unary("sqrt", DOUBLE, DOUBLE, _SQRT, ("math.sqrt(2.25)", 1.5), ("math.isNaN(math.sqrt(-1.0))", True)),
    _unary("sqrt", INT, DOUBLE, _SQRT, ("math.sqrt(81)", 9.0)),
    _unary("sqrt", UINT, DOUBLE, _SQRT, ("math.sqrt(81u)", 9.0)),
    *_bits("bitAnd", "The bits that both have.", (6, 3, 2)),
    *_bits("bitOr", "The bits that either has.", (6, 3, 7)),
    *_bits("bitXor", "The bits that one of the two has.", (6, 3, 5)),
    _unary("bitNot", INT, INT, "The other bits.", ("math.bitNot(1)", -2), id_="math_bitNot_int_int"),
    _unary(
        "bitNot",
        UINT,
        UINT,
        "The other bits.",
        ("math.bitNot(1u) == 18446744073709551614u", True),
        id_="math_bitNot_uint_uint",
    ),
    *_shift(
        "bitShiftLeft",
        "The bits moved to the left by a number of places, 64 or more give 0.",
        (("math.bitShiftLeft(1, 2)", 4), ("math.bitShiftLeft(1, 64)", 0), ("math.bitShiftLeft(1, -1) == 0", ERROR)),
        "math.bitShiftLeft(1u, 2) == 4u",
    ),
    *_shift(
        "bitShiftRight",
        "The bits moved to the right by a number of places, with zeros from the left, so that 64 or more give 0.",
        (("math.bitShiftRight(1024, 2)", 256), ("math.bitShiftRight(-1024, 3)", 2305843009213693824)),
        "math.bitShiftRight(1024u, 2) == 256u",
    ),
)

MATH_EXT = in_cel_expr(_ROWS)
