"""The lists extension (cel-go `ext.Lists`), with `first` and `last` of its optional types."""

from __future__ import annotations

from ...functions import ALL
from ...values.cel import ABSENT, CelError, Duration, Optional, Timestamp, Uint, Value
from ..membership import Members
from ..operators import MAX_SIZE
from ..registry import implements

_COMPARABLE = frozenset({int, Uint, float, bool, Duration, Timestamp, str, bytes})


@implements("list_slice")
def _slice(items: list[Value], start: int, end: int) -> list[Value]:
    if start < 0 or end < 0:
        raise CelError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise CelError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(items):
        raise CelError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


@implements("list_flatten", "list_flatten_int")
def _flatten(items: list[Value], depth: int = 1) -> list[Value]:
    if depth < 0:
        raise CelError("level must be non-negative")
    flat: list[Value] = []
    open_lists = [iter(items)]
    while open_lists:
        item = next(open_lists[-1], _END)
        if item is _END:
            open_lists.pop()
        elif isinstance(item, list) and len(open_lists) <= depth:
            open_lists.append(iter(item))
        elif len(flat) == MAX_SIZE:
            raise CelError(f"a list of more than {MAX_SIZE:,} elements")
        else:
            flat.append(item)
    return flat


_END = object()


@implements(*(row.id for row in ALL if row.function == "sort" and row.member))
def _sort(items: list[Value]) -> list[Value]:
    return sorted_by(items, items)


def sorted_by(items: list[Value], keys: list[Value]) -> list[Value]:
    """The items in the order of their keys, one for each; items of equal keys stay as they are.

    Raises:
        CelError: unless the keys are of one type that has an order, and none is NaN.
    """
    if not items:
        return items
    if type(keys[0]) not in _COMPARABLE:
        raise CelError("list elements must be comparable")
    if any(type(key) is not type(keys[0]) for key in keys):
        raise CelError("list elements must have the same type")
    if any(key != key for key in keys):
        raise CelError("NaN values cannot be ordered")
    return [items[i] for i in sorted(range(len(items)), key=keys.__getitem__)]


@implements("list_distinct")
def _distinct(items: list[Value]) -> list[Value]:
    kept = Members()
    return [item for item in items if kept.add(item)]


@implements("list_reverse")
def _reverse(items: list[Value]) -> list[Value]:
    return items[::-1]


@implements("list_first")
def _first(items: list[Value]) -> Optional:
    return Optional(items[0]) if items else ABSENT


@implements("list_last")
def _last(items: list[Value]) -> Optional:
    return Optional(items[-1]) if items else ABSENT


@implements("lists_range")
def _range(size: int) -> list[Value]:
    if size < 0:
        raise CelError(f"lists.range: size must be non-negative, got {size}")
    if size > MAX_SIZE:
        raise CelError(f"lists.range: size {size} exceeds maximum allowed ({MAX_SIZE})")
    return list(range(size))
