"""The lists extension (cel-go `ext.Lists`, version 3), with `first` and `last` of its optional types."""

from __future__ import annotations

from functools import partial

from ..celtypes import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, CelType, list_of, optional_of
from .model import ERROR, GoesOver, Overload, Reads, Size, Steps, method

A = CelType("A")
_LIST = list_of(A)
_method = partial(method, goes_over=GoesOver.KEPT)
"""The row of a method; none makes keys of the parts of its list, but where it says so."""


def _sort(t: CelType, small: str, large: str) -> Overload:
    return _method(
        f"list_{t}_sort",
        "sort",
        (list_of(t),),
        list_of(t),
        "The elements from the least to the greatest; an error unless all are of one type that has an order.",
        (f"[{large}, {small}].sort() == [{small}, {large}]", True),
        size=Size.REORDERED,
        steps=Steps.SORTED,
        reads=Reads.SHALLOW,
        goes_over=GoesOver.KEYED,
    )


LISTS_EXT = (
    _method(
        "list_slice",
        "slice",
        (_LIST, INT, INT),
        _LIST,
        "The elements from the first position up to, not including, the second.",
        ("[1, 2, 3, 4].slice(1, 3) == [2, 3]", True),
        ("[1, 2].slice(2, 2) == []", True),
        ("[1, 2].slice(1, 3) == []", ERROR),
        size=Size.SELECTED,
        steps=Steps.COPIED,
        reads=Reads.SHALLOW,
    ),
    _method(
        "list_flatten",
        "flatten",
        (list_of(_LIST),),
        _LIST,
        "The elements of the lists in the target, and the elements that are no lists.",
        ("[[1, 2], [3]].flatten() == [1, 2, 3]", True),
        size=Size.FLATTENED,
        steps=Steps.PARTS_MADE,
        reads=Reads.DEEP,
    ),
    _method(
        "list_flatten_int",
        "flatten",
        (list_of(DYN), INT),
        list_of(DYN),
        "The same for so many levels of lists; a negative number is an error.",
        ("[1, [2, [3, [4]]]].flatten(2) == [1, 2, 3, [4]]", True),
        ("[[1]].flatten(0) == [[1]]", True),
        ("[[1]].flatten(-1) == []", ERROR),
        size=Size.FLATTENED,
        steps=Steps.PARTS_MADE,
        reads=Reads.DEEP,
    ),
    _sort(INT, "1", "2"),
    _sort(UINT, "1u", "2u"),
    _sort(DOUBLE, "1.0", "2.0"),
    _sort(BOOL, "false", "true"),
    _sort(DURATION, "duration('1s')", "duration('2s')"),
    _sort(TIMESTAMP, "timestamp('2020-01-01T00:00:00Z')", "timestamp('2021-01-01T00:00:00Z')"),
    _sort(STRING, "'a'", "'b'"),
    _sort(BYTES, "b'a'", "b'b'"),
    _method(
        "list_distinct",
        "distinct",
        (_LIST,),
        _LIST,
        "The elements that equal none before them.",
        ("[1, 2, 1, 3].distinct() == [1, 2, 3]", True),
        ("size([1, 1.0, '1', true].distinct())", 3),
        size=Size.SELECTED,
        steps=Steps.PAIRED,
        reads=Reads.DEEP,
        goes_over=GoesOver.KEYED,
    ),
    _method(
        "list_reverse",
        "reverse",
        (_LIST,),
        _LIST,
        "The elements from last to first.",
        ("[1, 2, 3].reverse() == [3, 2, 1]", True),
        size=Size.REORDERED,
        steps=Steps.COPIED,
        reads=Reads.SHALLOW,
    ),
    _method(
        "list_first",
        "first",
        (_LIST,),
        optional_of(A),
        "The first element; absent when there is none.",
        ("[1, 2].first().value()", 1),
        ("[].first().hasValue()", False),
        size=Size.ELEMENT,
        steps=Steps.ONE,
        reads=Reads.NOTHING,
    ),
    _method(
        "list_last",
        "last",
        (_LIST,),
        optional_of(A),
        "The last element; absent when there is none.",
        ("[1, 2].last().value()", 2),
        ("[].last().hasValue()", False),
        size=Size.ELEMENT,
        steps=Steps.ONE,
        reads=Reads.NOTHING,
    ),
    Overload(
        "lists_range",
        "lists.range",
        (INT,),
        list_of(INT),
        "The ints from 0 up to, not including, the number, which is at most 10,000,000.",
        (("lists.range(3) == [0, 1, 2]", True), ("lists.range(-1) == []", ERROR)),
        size=Size.RANGE,
        steps=Steps.PARTS_MADE,
    ),
)
