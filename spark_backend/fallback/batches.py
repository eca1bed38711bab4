"""A batch of Spark's columns in a Python worker: Arrow arrays, as lists of values and back.

A Spark without Arrow functions sends pandas columns, which are made Arrow arrays first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

Evaluate: TypeAlias = Callable[..., pa.Array]
"""What evaluates a batch: an Arrow array for each column, and one of the results."""

_VARIANT = ("value", "metadata")
_VARIANT_TYPE = pa.struct([(name, pa.binary()) for name in _VARIANT])


def answered(evaluate: Evaluate, columns: Sequence[Any]) -> Any:
    """What `evaluate` says of columns, in their form: an Arrow array, or for pandas columns a Series or DataFrame."""
    if isinstance(columns[0], pa.Array):
        return evaluate(*columns)
    found = evaluate(*map(_array, columns))
    whole = pa.types.is_struct(found.type)
    return pa.RecordBatch.from_struct_array(found).to_pandas() if whole else found.to_pandas()


def lists(columns: Sequence[pa.Array]) -> list[list[Any]]:
    """The values of columns, a struct's fields as columns of their own. All of them can be told to be the same.

    A VARIANT is a pair of the bytes of its value and of its metadata, a map a tuple of pairs.
    """
    found: list[list[Any]] = []
    for column in columns:
        if column.null_count == len(column) and not pa.types.is_struct(column.type):
            found.append([None] * len(column))
        elif _is_variant(column.type):
            parts = (column.field(name).to_pylist() for name in _VARIANT)
            pairs = zip(column.is_valid().to_pylist(), *parts, strict=True)
            found.append([(value, metadata) if valid else None for valid, value, metadata in pairs])
        elif pa.types.is_struct(column.type):
            found.extend(lists(column.flatten()))
        elif pa.types.is_map(column.type):
            found.append([None if pairs is None else tuple(pairs) for pairs in column.to_pylist()])
        else:
            found.append(column.to_pylist())
    return found


def those_with(first: pa.Array, *others: pa.Array) -> tuple[list[int], list[list[Any]]]:
    """The numbers of the rows in which a column holds a value, and the values of that one and of others there."""
    rows = first.is_valid().to_numpy(zero_copy_only=False).nonzero()[0]
    return rows.tolist(), lists([column.take(pa.array(rows)) for column in (first, *others)])


def _is_variant(type_: pa.DataType) -> bool:
    return pa.types.is_struct(type_) and {type_.field(i).name for i in range(type_.num_fields)} == set(_VARIANT)


def _array(column: Any) -> pa.Array:
    """A pandas column as an Arrow array."""
    if column.ndim > 1:
        return pa.StructArray.from_arrays([_array(column[name]) for name in column.columns], list(column.columns))
    some = next((value for value in column if value is not None), None)
    if isinstance(some, dict):
        pairs = [None if value is None else list(value.items()) for value in column]
        return pa.array(pairs, pa.map_(pa.string(), pa.string()))
    if all(hasattr(some, name) for name in _VARIANT):
        parts = [None if value is None else {name: getattr(value, name) for name in _VARIANT} for value in column]
        return pa.array(parts, _VARIANT_TYPE)
    return pa.Array.from_pandas(column)
