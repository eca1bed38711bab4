"""Gradual typing: which argument types an overload takes, and the type that covers several."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from .celtypes import DYN, FREE, INT, JSON, JSON_KINDS, NUMBERS, STRING, CelType, Record, is_dynamic
from .functions import BY_CALL, Overload
from .nodes import EQUALS, NOT_EQUALS

_JSON_SCALARS = frozenset(k for k in JSON_KINDS if not k.params)


def compatible(wanted: CelType, given: CelType) -> bool:
    """Whether a value of type `given` may be a `wanted`."""
    return _unify(wanted, given, {})


@lru_cache(maxsize=1024)
def matching(function: str, member: bool, types: tuple[CelType, ...]) -> tuple[tuple[Overload, CelType], ...]:
    """The overloads of a call that take arguments of `types`, each with its result type."""
    rows = BY_CALL.get((function, member), ())
    return tuple((row, result) for row in rows if (result := match_overload(row, types)) is not None)


def match_overload(row: Overload, types: Sequence[CelType]) -> CelType | None:
    """The result type when `row` takes arguments of `types`; None when it cannot."""
    if len(row.params) != len(types):
        return None
    if row.function in (EQUALS, NOT_EQUALS):
        return row.result
    if row.id == "in_list":
        return row.result if types[1].name == "list" or is_dynamic(types[1]) else None
    if row.id == "index_list" and types[1] == JSON:
        return match_overload(row, (types[0], INT))
    if row.id == "in_map":
        return row.result if types[1].name == "map" or is_dynamic(types[1]) else None
    if row.id == "conditional":
        return join(types[1:]) if compatible(row.params[0], types[0]) else None
    bound: dict[str, CelType] = {}
    for wanted, given in zip(row.params, types, strict=True):
        if not _unify(wanted, given, bound):
            return None
    unbound = DYN if row.params else FREE  # what takes nothing holds nothing: optional.none()
    return _substitute(row.result, bound, unbound)


def _unify(wanted: CelType, given: CelType, bound: dict[str, CelType]) -> bool:
    if wanted.is_parameter:
        seen = bound.get(wanted.name)
        bound[wanted.name] = given if seen is None else join((seen, given))
        return True
    if wanted in (given, DYN) or given in (DYN, FREE):
        return True
    if wanted == JSON:
        return given in _JSON_SCALARS or (
            given.name in ("list", "map") and all(compatible(JSON, p) for p in given.params[-1:])
        )
    if given == JSON:
        return _json_as(wanted, bound)
    if isinstance(given, Record):
        return wanted.name == "map" and _unify_all(wanted.params, (STRING, DYN), bound)
    return wanted.name == given.name and _unify_all(wanted.params, given.params, bound)


def _unify_all(wanted: Sequence[CelType], given: Sequence[CelType], bound: dict[str, CelType]) -> bool:
    return len(wanted) == len(given) and all(_unify(w, g, bound) for w, g in zip(wanted, given, strict=True))


def _json_as(wanted: CelType, bound: dict[str, CelType]) -> bool:
    if wanted.name == "list":
        return _unify_all(wanted.params, (JSON,), bound)
    if wanted.name == "map":
        return _unify_all(wanted.params, (STRING, JSON), bound)
    return wanted in _JSON_SCALARS


def _substitute(type_: CelType, bound: dict[str, CelType], unbound: CelType) -> CelType:
    if type_.is_parameter:
        return bound.get(type_.name, unbound)
    if type_.params:
        return CelType(type_.name, tuple(_substitute(p, bound, unbound) for p in type_.params))
    return type_


def join(types: Sequence[CelType]) -> CelType:
    """The narrowest type that holds values of all `types`: `list(int)` for lists of int and empty ones.

    Lists of different types have no list in common: `[[1], ['a']]` is a `list(dyn)`, as in the official checkers.
    """
    return _common(types) or DYN


def _common(types: Sequence[CelType]) -> CelType | None:
    """The type that holds values of all `types`; None where there is none but `DYN`, and none of them is dynamic."""
    given = [x for x in types if x != FREE] or [FREE]
    first = given[0]
    if all(x == first for x in given):
        return first
    if all(x == JSON or x in _JSON_SCALARS for x in given) and JSON in given:
        return JSON
    if any(map(is_dynamic, given)):
        return DYN
    if first.params and all(x.name == first.name and len(x.params) == len(first.params) for x in given):
        params = [_common(column) for column in zip(*(x.params for x in given), strict=True)]
        return None if None in params else CelType(first.name, tuple(p for p in params if p is not None))
    return None


def never_equal(a: CelType, b: CelType) -> bool:
    """Whether no value of type `a` equals any value of type `b`."""
    if a == b or (is_dynamic(a) and is_dynamic(b)) or DYN in (a, b) or FREE in (a, b):
        return False
    if JSON in (a, b):
        other = b if a == JSON else a
        return (
            other not in _JSON_SCALARS | NUMBERS and other.name not in ("list", "map") and not isinstance(other, Record)
        )
    if a in NUMBERS and b in NUMBERS:
        return False
    containers = {"list", "map"}
    names = {"map" if isinstance(x, Record) else x.name for x in (a, b)}
    return len(names) > 1 or not names <= containers
