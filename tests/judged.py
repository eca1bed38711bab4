"""What filters find: on our own evaluator, and in columns of a DataFrame, native or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from tricel.compiler import Environment, check_filter
from tricel.compiler.interpreter import CelError, evaluator
from tricel.spark_backend import column
from tricel.spark_backend.compiled_filter import CompiledFilter, lower_filter
from tricel.spark_backend.frames import layout_of


def own(text: str, environment: Environment, given: Mapping[str, Any]) -> bool | None:
    """The outcome on our own evaluator."""
    checked, diagnostics = check_filter(text, environment)
    assert checked is not None, diagnostics
    try:
        found = evaluator(checked.checked.expr)(given)
    except CelError:
        return None
    return found if isinstance(found, bool) else None


def unlowered(compiled: CompiledFilter, frame: DataFrame) -> CompiledFilter:
    """The filter with nothing native."""
    checked = compiled.checked
    found = lower_filter(checked, layout_of(frame, checked.checked.environment), compiled.engine, simplify=False)
    return replace(found, conjuncts=tuple(replace(c, native=False, reason="asked for") for c in found.conjuncts))


def outcomes(frame: DataFrame, filters: Sequence[CompiledFilter]) -> list[list[bool | None]]:
    """The outcomes of each filter on each row."""
    found: list[list[bool | None]] = []
    for start in range(0, len(filters), 10):
        part = [column(frame, f).alias(f"f{i}") for i, f in enumerate(filters[start : start + 10])]
        rows = frame.select("row", *part).orderBy("row").collect()
        found += [[row[f"f{i}"] for row in rows] for i in range(len(part))]
    return found
