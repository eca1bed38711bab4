"""Functions on strings, and `size` (CEL definition, "Standard Definitions")."""

from __future__ import annotations

from ..celtypes import BOOL, BYTES, INT, STRING, CelType, list_of, map_of
from .model import Difference, GoesOver, Overload, Reads, Size, Steps, TextTest, in_cel_expr

A, K, V = CelType("A"), CelType("K"), CelType("V")


def _size(id_: str, type_: CelType, doc: str, text: str, value: int) -> tuple[Overload, Overload]:
    def row(name: str, call: str, *, member: bool) -> Overload:
        return Overload(
            name,
            "size",
            (type_,),
            INT,
            doc,
            ((call, value),),
            member=member,
            size=Size.CONSTANT,
            steps=Steps.READ,
            reads=Reads.NOTHING,
            goes_over=GoesOver.ONCE,
            length=True,
            total=True,
        )

    return row(f"size_{id_}", f"size({text})", member=False), row(f"{id_}_size", f"{text}.size()", member=True)


_COMPILES = (Difference("it compiles the pattern again for every event"),)

_ROWS = (
    *_size("string", STRING, "The number of code points.", "'a\U0001f600'", 2),
    *_size("bytes", BYTES, "The number of bytes.", "b'abc'", 3),
    *_size("list", list_of(A), "The number of elements.", "[1, 2]", 2),
    *_size("map", map_of(K, V), "The number of entries.", "{'a': 1}", 1),
    Overload(
        "starts_with_string",
        "startsWith",
        (STRING, STRING),
        BOOL,
        "True when the target begins with the prefix.",
        (("'abc'.startsWith('a')", True), ("'abc'.startsWith('')", True), ("'a'.startsWith('ab')", False)),
        member=True,
        steps=Steps.AFFIX,
        test=TextTest.PREFIX,
        cel_python=True,
        total=True,
    ),
    Overload(
        "ends_with_string",
        "endsWith",
        (STRING, STRING),
        BOOL,
        "True when the target ends with the suffix.",
        (("'abc'.endsWith('bc')", True), ("'abc'.endsWith('')", True), ("'abc'.endsWith('b')", False)),
        member=True,
        steps=Steps.AFFIX,
        test=TextTest.SUFFIX,
        cel_python=True,
        total=True,
    ),
    Overload(
        "contains_string",
        "contains",
        (STRING, STRING),
        BOOL,
        "True when the target holds the text.",
        (("'abc'.contains('b')", True), ("'abc'.contains('')", True), ("'abc'.contains('d')", False)),
        member=True,
        steps=Steps.SEARCHED,
        test=TextTest.CONTAINS,
        cel_python=True,
        total=True,
    ),
    Overload(
        "matches",
        "matches",
        (STRING, STRING),
        BOOL,
        "True when the RE2 pattern is found in the text.",
        (("matches('abc', 'b.')", True), ("matches('abc', '^b')", False)),
        steps=Steps.MATCHED,
        pattern=1,
        test=TextTest.MATCHES,
        cel_expr=_COMPILES,
        cel_python=True,
        total=True,
    ),
    Overload(
        "matches_string",
        "matches",
        (STRING, STRING),
        BOOL,
        "True when the RE2 pattern is found in the target.",
        (("'abc'.matches('b.')", True), ("'abc'.matches('^b')", False)),
        member=True,
        steps=Steps.MATCHED,
        pattern=1,
        test=TextTest.MATCHES,
        cel_expr=_COMPILES,
        cel_python=True,
        total=True,
    ),
)

STRINGS = in_cel_expr(_ROWS)
