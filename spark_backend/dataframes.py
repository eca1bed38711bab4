"""Filters on DataFrames, for classic Spark and Spark Connect."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Literal, TypeAlias, overload

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from tricel.compiler import CheckedFilter, Environment, Source, union

from .arguments import frame_and_filter, frame_and_filters
from .compiled_filter import CompiledFilter, lower_filter
from .failure import Warn, warn_user
from .fallback.evaluation import ERROR, FALSE, MOST_JOBS, TRUE, fallback_column, fallback_outcomes
from .fallback.jobs import Residual, refused, residual_of
from .frames import expression, layouts_of
from .sql import Sql, case, function, literal, quoted
from .sql.layout import Layout
from .sql.names import names_beside
from .sql.pushdown import is_pushed
from .sql.reasons import NotNative

OnError: TypeAlias = Literal["drop", "deliver", "fail"]


def where(
    df: DataFrame, compiled: CompiledFilter, on_error: OnError = "drop", *, engine: str | None = None
) -> DataFrame:
    """The events that the filter lets pass. The layout is recognised from the DataFrame's schema.

    An event on which the filter errs is dropped, delivered, or fails the query, by `on_error`. An optional attribute
    that the filter reads and no event can have is a TricelWarning.

    Raises:
        CompileError: where the filter does not fit the columns' types.
        LayoutError: where the columns do not hold events, or lack what the filter reads.
        TypeError: where the arguments are not a DataFrame and a compiled filter.
        ValueError: where `on_error` is none of the three.
    """
    frame_and_filter("where", df, compiled)
    return passing(df, _fitted(df, [compiled], engine)[0], on_error)


def passing(df: DataFrame, fitted: CompiledFilter, on_error: OnError) -> DataFrame:
    """What `where` gives, of a filter that is lowered for the layout of `df`."""
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


@overload
def column(df: DataFrame, compiled: CompiledFilter, *, engine: str | None = None) -> Column: ...


@overload
def column(df: CompiledFilter, compiled: DataFrame, *, engine: str | None = None) -> Column: ...


def column(
    df: DataFrame | CompiledFilter, compiled: CompiledFilter | DataFrame, *, engine: str | None = None
) -> Column:
    """The filter as a BOOLEAN column of `df`; NULL where the expression errs.

    An optional attribute that the filter reads and no event can have is a TricelWarning. The two arguments in the other
    order are taken, too, with a DeprecationWarning.

    Raises:
        CompileError: where the filter does not fit the columns' types.
        LayoutError: where the columns do not hold events, or lack what the filter reads.
        TypeError: where the arguments are not a DataFrame and a compiled filter.
    """
    if isinstance(df, CompiledFilter) and isinstance(compiled, DataFrame):
        said = "column(compiled, df) is deprecated: write column(df, compiled), as with where()"
        warnings.warn(said, DeprecationWarning, stacklevel=2)
        df, compiled = compiled, df
    frame_and_filter("column", df, compiled)
    assert isinstance(df, DataFrame)
    assert isinstance(compiled, CompiledFilter)
    (fitted,) = _fitted(df, [compiled], engine)
    return _condition(fitted, fitted.native_sql)


def prefilter(df: DataFrame, filters: Sequence[CompiledFilter], *, max_nodes: int | None = 1_000) -> DataFrame:
    """The rows of `df` that any of the filters delivers or errs on, and maybe more: what no reader need hand on is gone.

    The condition is the filters' union (`tricel.compiler.union`), of text tests of attribute columns alone, so that
    Spark pushes all of it into a Parquet scan. `max_nodes` bounds its size; None for no bound. An optional attribute
    that a filter reads and no event can have is a TricelWarning.

    Raises:
        CompileError: where a filter does not fit the columns' types.
        LayoutError: where the columns do not hold events, or lack what a filter reads.
        TypeError: where the arguments are not a DataFrame and compiled filters.
        ValueError: where the filters are on different kinds of events, or on events without a record of attributes.
    """
    frame_and_filters("prefilter", df, filters)
    fitted = _fitted(df, filters, None)
    if not fitted:
        return df.where(F.lit(False))
    layout, record = fitted[0].layout, fitted[0].checked.checked.record
    checked = [f.checked for f in fitted]
    found = union(checked, max_nodes, complete=False, says=lambda e: is_pushed(e, layout, record))
    condition = lower_filter(CheckedFilter(found.checked, Source(found.cel), "cel", ()), layout)
    if condition.residual or found.cel == "true":
        return df
    return df.where(F.expr(condition.native_sql))


def _fitted(
    df: DataFrame, filters: Sequence[CompiledFilter], engine: str | None, warn: Warn = warn_user
) -> list[CompiledFilter]:
    """The filters lowered for the layout of `df`; each as it is where that is its layout already."""
    layouts = layouts_of(df, [f.checked for f in filters], warn)
    return [fitted_to(layouts[f.checked.checked.environment], f, engine) for f in filters]


def fitted_to(layout: Layout, compiled: CompiledFilter, engine: str | None = None) -> CompiledFilter:
    """The filter lowered for a layout; as it is where that is its layout already."""
    wanted = engine or compiled.engine
    if (layout, wanted) == (compiled.layout, compiled.engine):
        return compiled
    return lower_filter(compiled.checked, layout, wanted)


def with_outcomes(df: DataFrame, filters: Mapping[str, CompiledFilter], *, engine: str | None = None) -> DataFrame:
    """`df` with a BOOLEAN column for each filter, by its name; NULL where it errs.

    What Spark cannot evaluate of the filters shares one pass over the batches.

    Raises:
        CompileError: where a filter does not fit the columns' types.
        LayoutError: where the columns do not hold events, or lack what a filter reads.
    """
    return outcomes_of(df, dict(zip(filters, _fitted(df, list(filters.values()), engine), strict=True)))


def outcomes_of(df: DataFrame, fitted: Mapping[str, CompiledFilter]) -> DataFrame:
    """What `with_outcomes` gives, of filters that are lowered for the layout of `df`."""
    left: dict[Environment, list[str]] = {}
    for name, f in fitted.items():
        if f.residual:
            left.setdefault(f.checked.checked.environment, []).append(name)
    outcomes = {name: _condition(f, f.native_sql) for name, f in fitted.items() if not f.residual}
    packed, own = df, names_beside(c.lower() for c in (*df.columns, *fitted))
    packs = [names[i : i + MOST_JOBS] for names in left.values() for i in range(0, len(names), MOST_JOBS)]
    for number, shared in enumerate(packs):
        pack = own.of(f"pack{number}")
        together = [fitted[name] for name in shared]
        coded = reduce(lambda a, b: a + b, [_coded(f.native, i) for i, f in enumerate(together)])
        native = expression(coded, df.columns)
        # a column of its own: it is looked at again for each value that travels
        packed = packed.withColumn(f"{pack}_native", native).withColumn(pack, _packed(together, f"{pack}_native"))
        for i, name in enumerate(shared):
            code = F.shiftright(F.col(pack), 2 * i).bitwiseAND(3)
            outcomes[name] = F.when(code != ERROR, code == TRUE)
    return packed.select(*(F.col(quoted(c)) for c in df.columns), *(outcomes[n].alias(n) for n in fitted))


def _packed(filters: Sequence[CompiledFilter], native: str) -> Column:
    """The outcomes of filters of one environment with a residual, by one Arrow pass; `native` is the column of their native parts'."""
    try:
        return fallback_outcomes([_residual(f) for f in filters], F.col(native), filters[0].layout)
    except NotNative as e:
        raise refused(filters[0], e.reason) from e


def _coded(native: Sql | None, position: int) -> Sql:
    """The native part's outcome in the two bits of its position."""
    is_true, is_error = literal(TRUE << 2 * position), literal(ERROR << 2 * position)
    if native is None:
        return is_true
    outcomes = ((True, is_true), (False, literal(FALSE)))
    return function("coalesce", case(*outcomes, subject=native), is_error)


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
