"""The sets extension: lists as sets, by CEL's `==` (cel-go `ext.Sets`)."""

from __future__ import annotations

from ...values.cel import Value
from ..membership import Members
from ..registry import implements


@implements("list_sets_contains_list")
def _contains(items: list[Value], part: list[Value]) -> bool:
    return _holds(items, part)


@implements("list_sets_equivalent_list")
def _equivalent(a: list[Value], b: list[Value]) -> bool:
    return _holds(a, b) and _holds(b, a)


def _holds(items: list[Value], part: list[Value]) -> bool:
    members = Members(items)
    return all(item in members for item in part)


@implements("list_sets_intersects_list")
def _intersects(a: list[Value], b: list[Value]) -> bool:
    members = Members(a)
    return any(item in members for item in b)
