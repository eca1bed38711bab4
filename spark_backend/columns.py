"""Filters on DataFrames, for classic Spark and Spark Connect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from .fallback import ERROR, FALSE, MOST_JOBS, TRUE, fallback_column, fallback_outcomes
from .fanout.names import names_beside
from .frames import layout_of
from .jobs import Residual, refused, residual_of
from .lowered import CompiledFilter, lower_filter
from .reasons import NotNative
from .sql import name as quoted

OnError: TypeAlias = Literal["drop", "deliver", "fail"]


def where(
    df: DataFrame, compiled: CompiledFilter, on_error: OnError = "drop", *, engine: str | None = None
) -> DataFrame:
    """The events that the filter lets pass. The layout is recognised from the DataFrame's schema.

    An event on which the filter errs is dropped, delivered, or fails the query, by `on_error`.

    Raises:
        CompileError: where the filter does not fit the columns' types.
        LayoutError: where the columns do not hold events.
        ValueError: where `on_error` is none of the three.
    """
    fitted = _fitted(df, compiled, engine)
    condition = _condition(fitted, fitted.native_sql if on_error != "drop" else fitted.native_truth)
    match on_error:
        case "drop":
            return df.where(condition)
        case "deliver":
            return df.where(F.coalesce(condition, F.lit(True)))
        case "fail":
            message = F.lit(f"the filter cannot be evaluated on an event: {fitted.cel}")
            return df.where(F.coalesce(condition, F.raise_error(message).cast("boolean")))
        case _:
            raise ValueError(f"no such on_error: {on_error!r}")


def column(compiled: CompiledFilter, df: DataFrame, *, engine: str | None = None) -> Column:
    """The filter as a BOOLEAN column of `df`; NULL where the expression errs.

    Raises:
        CompileError: where the filter does not fit the columns' types.
        LayoutError: where the columns do not hold events.
    """
    fitted = _fitted(df, compiled, engine)
    return _condition(fitted, fitted.native_sql)


def _fitted(df: DataFrame, compiled: CompiledFilter, engine: str | None) -> CompiledFilter:
    """The filter lowered for the layout of `df`; as it is where that is its layout already."""
    environment = compiled.checked.checked.environment
    layout = layout_of(df, environment)
    wanted = engine or compiled.engine
    if (layout, wanted) == (compiled.layout, compiled.engine):
        return compiled
    return lower_filter(compiled.checked, layout, wanted)


def with_outcomes(df: DataFrame, filters: Mapping[str, CompiledFilter], *, engine: str | None = None) -> DataFrame:
    """`df` with a BOOLEAN column for each filter, by its name; NULL where it errs.

    What Spark cannot evaluate of the filters shares one pass over the batches.

    Raises:
        CompileError: where a filter does not fit the columns' types.
        LayoutError: where the columns do not hold events.
    """
    fitted = {name: _fitted(df, f, engine) for name, f in filters.items()}
    left = [name for name, f in fitted.items() if f.residual]
    outcomes = {name: _condition(f, f.native_sql) for name, f in fitted.items() if not f.residual}
    packed, own = df, names_beside(c.lower() for c in (*df.columns, *filters))
    for number, start in enumerate(range(0, len(left), MOST_JOBS)):
        pack, shared = own.of(f"pack{number}"), left[start : start + MOST_JOBS]
        together = [fitted[name] for name in shared]
        native = F.expr(" + ".join(_coded(f.native_sql, i) for i, f in enumerate(together)))
        # a column of its own: it is looked at again for each value that travels
        packed = packed.withColumn(f"{pack}_native", native).withColumn(pack, _packed(together, f"{pack}_native"))
        for i, name in enumerate(shared):
            code = F.shiftright(F.col(pack), 2 * i).bitwiseAND(3)
            outcomes[name] = F.when(code != ERROR, code == TRUE)
    return packed.select(*(F.col(quoted(c)) for c in df.columns), *(outcomes[n].alias(n) for n in filters))


def _packed(filters: Sequence[CompiledFilter], native: str) -> Column:
    """The outcomes of filters with a residual, by one Arrow pass; `native` is the column of their native parts'."""
    try:
        return fallback_outcomes([_residual(f) for f in filters], F.col(native), filters[0].layout)
    except NotNative as e:
        raise refused(filters[0], e.reason) from e


def _coded(native_sql: str, position: int) -> str:
    """The native part's outcome in the two bits of its position."""
    if not native_sql:
        return f"{TRUE << 2 * position}L"
    is_true, is_error = TRUE << 2 * position, ERROR << 2 * position
    return f"coalesce(CASE ({native_sql}) WHEN TRUE THEN {is_true}L WHEN FALSE THEN {FALSE}L END, {is_error}L)"


def _condition(compiled: CompiledFilter, native_sql: str) -> Column:
    native = F.expr(native_sql) if native_sql else None
    if not compiled.residual:
        return native if native is not None else F.lit(True)
    try:
        rest = fallback_column(_residual(compiled), compiled.layout)
    except NotNative as e:
        raise refused(compiled, e.reason) from e
    return rest if native is None else native & rest


def _residual(compiled: CompiledFilter) -> Residual:
    return residual_of(compiled, [c.expr for c in compiled.residual])
