"""Optional values (the `optional` extension of cel-go and cel-cpp). `x.?f` and `x[?k]` make them, too."""

from __future__ import annotations

from ..celtypes import BOOL, CelType, list_of, optional_of
from .model import ERROR, Overload

A = CelType("A")
_OPTIONAL = optional_of(A)

OPTIONALS = (
    Overload(
        "optional_of",
        "optional.of",
        (A,),
        _OPTIONAL,
        "The value, present.",
        (("optional.of(1).hasValue()", True), ("optional.of(null).hasValue()", True)),
    ),
    Overload(
        "optional_ofNonZeroValue",
        "optional.ofNonZeroValue",
        (A,),
        _OPTIONAL,
        "The value; absent when it is null, false, 0, empty text, an empty list or map, or a zero time.",
        (("optional.ofNonZeroValue('').hasValue()", False), ("optional.ofNonZeroValue('a').hasValue()", True)),
    ),
    Overload(
        "optional_none",
        "optional.none",
        (),
        _OPTIONAL,
        "No value.",
        (("optional.none().hasValue()", False),),
    ),
    Overload(
        "optional_hasValue",
        "hasValue",
        (_OPTIONAL,),
        BOOL,
        "Whether there is a value.",
        (("{'a': 1}.?a.hasValue()", True), ("{'a': 1}.?b.hasValue()", False)),
        member=True,
    ),
    Overload(
        "optional_value",
        "value",
        (_OPTIONAL,),
        A,
        "The value; its absence is an error.",
        (("optional.of(1).value()", 1), ("optional.none().value() == 1", ERROR)),
        member=True,
    ),
    Overload(
        "optional_or_optional",
        "or",
        (_OPTIONAL, _OPTIONAL),
        _OPTIONAL,
        "The target if it is present, else the argument, which is evaluated only then.",
        (("optional.none().or(optional.of(2)).value()", 2),),
        member=True,
        strict=False,
    ),
    Overload(
        "optional_orValue_value",
        "orValue",
        (_OPTIONAL, A),
        A,
        "The target's value if it is present, else the argument, which is evaluated only then.",
        (("{'a': 1}.?b.orValue(3)", 3), ("optional.of(1).orValue(1 / 0)", 1)),
        member=True,
        strict=False,
    ),
    Overload(
        "optional_unwrap",
        "optional.unwrap",
        (list_of(_OPTIONAL),),
        list_of(A),
        "The values that are present.",
        (("optional.unwrap([optional.of(1), optional.none()]) == [1]", True),),
    ),
    Overload(
        "optional_unwrapOpt",
        "unwrapOpt",
        (list_of(_OPTIONAL),),
        list_of(A),
        "The values that are present.",
        (("[optional.of(1), optional.none()].unwrapOpt() == [1]", True),),
        member=True,
    ),
)
