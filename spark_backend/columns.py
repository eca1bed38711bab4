"""Filters on DataFrames, for classic Spark and Spark Connect."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from tricel.compiler import CompileError, Diagnostic

from .engines import Refusal, prepare
from .fallback import fallback_column
from .layout import recognise
from .lowered import CompiledFilter, lower_filter
from .reasons import NotNative

OnError: TypeAlias = Literal["drop", "deliver", "fail"]


def where(
    df: DataFrame, compiled: CompiledFilter, on_error: OnError = "drop", *, engine: str | None = None
) -> DataFrame:
    """The events that the filter lets pass. The layout is recognised from the DataFrame's schema.

    An event on which the filter errs is dropped, delivered, or fails the query, by `on_error`.

    Raises:
        CompileError: where the filter does not fit the columns' types.
        LayoutError: where the columns do not hold events.
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
    layout = recognise(df.schema, compiled.checked.checked.environment)
    wanted = engine or compiled.engine
    if (layout, wanted) == (compiled.layout, compiled.engine):
        return compiled
    return lower_filter(compiled.checked, layout, wanted)


def _condition(compiled: CompiledFilter, native_sql: str) -> Column:
    native = F.expr(native_sql) if native_sql else None
    if not compiled.residual:
        return native if native is not None else F.lit(True)
    checked = compiled.checked.checked
    programs = []
    for conjunct in compiled.residual:
        program = prepare(conjunct.expr, compiled.engine, dict(checked.environment.roots))
        if isinstance(program, Refusal):
            raise _refused(compiled, program.reason)
        programs.append(program)
    try:
        rest = fallback_column(
            tuple(programs), compiled.residual_requirements, compiled.layout, checked.json_extensions
        )
    except NotNative as e:
        raise _refused(compiled, e.reason) from e
    return rest if native is None else native & rest


def _refused(compiled: CompiledFilter, reason: str) -> CompileError:
    expr, source = compiled.checked.checked.expr, compiled.checked.source
    return CompileError(
        (Diagnostic("TRI401", f"neither Spark nor {compiled.engine} can evaluate this: {reason}", source, expr.span),)
    )
