"""The macros: which turns each takes over its range, and what it makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from ..nodes import MacroKind
from ..values.cel import ABSENT, CelError, Optional, Value, as_key, from_key, kind
from .frame import Frame, Step
from .functions.lists_ext import sorted_by
from .logic import decided, is_present, truth

Turns: TypeAlias = Callable[[Frame], Iterator[tuple[Value, Value]]]
"""Takes each turn: sets the variables in the frame, and gives the index or key with the element."""


def turns(range_: Step, condition: Step | None, place: int, second: int | None) -> Turns:
    """The turns of a macro over a range, whose variables have these places; `second` is that of the second, if any."""

    def run(frame: Frame) -> Iterator[tuple[Value, Value]]:
        """Each index or key with its element, set in the frame; what the condition turns down is left out."""
        items = range_(frame)
        if second is not None:
            pairs = list(_pairs(items))
        elif type(items) is list:
            pairs = [(None, item) for item in items]
        else:
            pairs = [(None, key) for key, _ in _pairs(items)]
        for key, item in pairs:
            frame.step()
            if second is not None:
                frame.variables[place], frame.variables[second] = key, item
            else:
                frame.variables[place] = item
            if condition is None or truth(condition(frame)):
                yield key, item

    return run


def _pairs(items: Value) -> Iterator[tuple[Value, Value]]:
    """Indexes with elements, or keys with values."""
    if type(items) is list:
        return enumerate(items)
    if type(items) is dict:
        return ((from_key(k), v) for k, v in items.items())
    raise CelError(f"no matching overload: a '{kind(items)}' cannot be ranged over")


def _quantifier(turns: Turns, body: Step, *, absorbing: bool) -> Step:
    return lambda frame: decided((body for _ in turns(frame)), frame, absorbing=absorbing)


def _all(turns: Turns, body: Step) -> Step:
    return _quantifier(turns, body, absorbing=False)


def _exists(turns: Turns, body: Step) -> Step:
    return _quantifier(turns, body, absorbing=True)


def _exists_one(turns: Turns, body: Step) -> Step:
    return lambda frame: sum(truth(body(frame)) for _ in turns(frame)) == 1


def _filter(turns: Turns, body: Step) -> Step:
    return lambda frame: [item for _, item in turns(frame) if truth(body(frame))]


def _transform_list(turns: Turns, body: Step) -> Step:
    return lambda frame: [body(frame) for _ in turns(frame)]


def _transform_map(turns: Turns, body: Step) -> Step:
    return lambda frame: {as_key(key): body(frame) for key, _ in turns(frame)}


def _transform_map_entry(turns: Turns, body: Step) -> Step:
    def run(frame: Frame) -> Value:
        found: dict[Value, Value] = {}
        for _ in turns(frame):
            entry = body(frame)
            if type(entry) is not dict:
                raise CelError(f"no matching overload: '{kind(entry)}' where a map is needed")
            for key, value in entry.items():
                if key in found:
                    raise CelError("failed with repeated key")
                found[key] = value
        return found

    return run


def _sort_by(turns: Turns, body: Step) -> Step:
    def run(frame: Frame) -> Value:
        keyed = [(body(frame), item) for _, item in turns(frame)]
        return sorted_by([item for _, item in keyed], [key for key, _ in keyed])

    return run


MACROS: Mapping[MacroKind, Callable[[Turns, Step], Step]] = {
    MacroKind.ALL: _all,
    MacroKind.EXISTS: _exists,
    MacroKind.EXISTS_ONE: _exists_one,
    MacroKind.FILTER: _filter,
    MacroKind.MAP: _transform_list,
    MacroKind.TRANSFORM_LIST: _transform_list,
    MacroKind.TRANSFORM_MAP: _transform_map,
    MacroKind.TRANSFORM_MAP_ENTRY: _transform_map_entry,
    MacroKind.SORT_BY: _sort_by,
}


def opt_map(target: Step, place: int, body: Step, *, flat: bool) -> Step:
    """`target.optMap(variable, body)`, or `optFlatMap` when flat: that gives its body as it is, optional or not."""

    def run(frame: Frame) -> Value:
        found = target(frame)
        if not is_present(found):
            return ABSENT
        frame.variables[place] = found.value
        made = body(frame)
        return made if flat else Optional(made)

    return run
