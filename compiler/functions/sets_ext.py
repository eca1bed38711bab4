"""The sets extension: lists as sets (cel-go `ext.Sets`). Elements are the same when `==` holds between them."""

from __future__ import annotations

from ..celtypes import BOOL, CelType, list_of
from .model import GoesOver, Overload, Reads, Steps

_LIST = list_of(CelType("A"))


def _test(stem: str, doc: str, *examples: tuple[str, object]) -> Overload:
    return Overload(
        f"list_sets_{stem}_list",
        f"sets.{stem}",
        (_LIST, _LIST),
        BOOL,
        doc,
        examples,
        steps=Steps.PAIRED,
        reads=Reads.DEEP,
        goes_over=GoesOver.KEYED,
    )


SETS_EXT = (
    _test(
        "contains",
        "True when the first list holds every element of the second.",
        ("sets.contains([1, 2, 3], [3, 1.0])", True),
        ("sets.contains([1], [1, 2])", False),
        ("sets.contains([], [])", True),
    ),
    _test(
        "equivalent",
        "True when each list holds every element of the other.",
        ("sets.equivalent([1, 2], [2, 1, 1u])", True),
        ("sets.equivalent([1, 2], [1])", False),
    ),
    _test(
        "intersects",
        "True when some element is in both lists.",
        ("sets.intersects([1, 2], [2, 3])", True),
        ("sets.intersects([1], [])", False),
    ),
)
