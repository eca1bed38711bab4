"""What the library's calls are given: a wrong argument is a TypeError that says what was expected and how to have it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from .compiled_filter import CompiledFilter

_FILTER = "a CompiledFilter, as compile_filter gives"
_TRIGGER = "a trigger, which has an id and a compiled filter, as load_triggers gives"


def frame_and_filter(call: str, df: object, compiled: object) -> None:
    """Raises TypeError where the two are not a DataFrame and a compiled filter, in this order."""
    if isinstance(df, CompiledFilter) and isinstance(compiled, DataFrame):
        raise TypeError(f"{call}() takes the DataFrame first and then the filter: {call}(df, compiled)")
    frame(call, df)
    if not isinstance(compiled, CompiledFilter):
        raise TypeError(f"{call}() takes {_FILTER}, not {type(compiled).__name__}{_filter_help(compiled)}")


def frame_and_filters(call: str, df: object, filters: object) -> None:
    """Raises TypeError where the two are not a DataFrame and a sequence of compiled filters, in this order."""
    frame(call, df)
    if isinstance(filters, str) or not isinstance(filters, Sequence):
        raise TypeError(f"{call}() takes a list of filters, not {type(filters).__name__}{_filter_help(filters)}")
    for i, one in enumerate(filters):
        if not isinstance(one, CompiledFilter):
            raise TypeError(f"{call}() takes {_FILTER}; item {i} is {type(one).__name__}{_filter_help(one)}")


def frame(call: str, df: object) -> None:
    """Raises TypeError for what is no DataFrame."""
    if not isinstance(df, DataFrame):
        raise TypeError(f"{call}() takes a DataFrame first, not {type(df).__name__}")


def triggers_of(call: str, given: object) -> None:
    """Raises TypeError for what is not a sequence of triggers."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        hint = "; put it in a list" if _is_trigger(given) else _trigger_help(given)
        raise TypeError(f"{call}() takes a list of triggers, not {type(given).__name__}{hint}")
    for i, one in enumerate(given):
        if not _is_trigger(one):
            raise TypeError(f"{call}() takes {_TRIGGER}; item {i} is {type(one).__name__}{_trigger_help(one)}")


def _is_trigger(value: Any) -> bool:
    return hasattr(value, "id") and isinstance(getattr(value, "compiled", None), CompiledFilter)


def _filter_help(value: Any) -> str:
    if isinstance(value, str | dict):
        return ": compile it with compile_filter(...)"
    return ": give its .compiled" if _is_trigger(value) else ""


def _trigger_help(value: object) -> str:
    return ": where(df, compiled) takes a filter without a name" if isinstance(value, CompiledFilter) else ""
