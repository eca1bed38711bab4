"""Whether pairs fit a table that is there."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from ..failure import RunError


def check_columns(pairs: DataFrame, table: StructType, place: str, added: tuple[str, ...] = ()) -> None:
    """Raises RunError (TRI614) where the table lacks a column of the pairs, or one that is `added` to them, or has it with
    another type. A column that only the table has is NULL."""
    types = {f.name.lower(): f.dataType for f in table.fields}
    for name, wanted in [*((f.name, f.dataType) for f in pairs.schema.fields), *((name, None) for name in added)]:
        there = types.get(name.lower())
        if there is None:
            help_ = "add the column to the table, or choose another table"
            raise RunError("TRI614", f"the table has no column '{name}'", place, help_)
        if wanted is not None and there.simpleString() != wanted.simpleString():
            message = f"the column '{name}' is {there.simpleString()}, and that of the pairs {wanted.simpleString()}"
            raise RunError("TRI614", message, place, "choose another table")
