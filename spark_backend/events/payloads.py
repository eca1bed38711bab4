"""Payloads that a schema describes, read to the struct of their fields in Arrow batches. Nothing is lost.

A payload that is no value of the schema is a malformed row, with its bytes and the reason.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn
from tricel.compiler.schemas.avro_values import NotDecodedError
from tricel.compiler.schemas.shapes import Kind, Shape, type_of

from ..failure import RunError
from ..fallback.batches import Evaluate
from ..fallback.worker import worker_column
from ..payload_schemas import PayloadSchema
from ..sql import quoted, text_literal
from ..sql.spark_types import SparkType, default_type

_WORDS = {"long": "BIGINT", "integer": "INT"}
_SCALARS = {
    Kind.BOOL: pa.bool_(),
    Kind.INT: pa.int64(),
    Kind.UNSIGNED: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.DECIMAL: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.BYTES: pa.binary(),
    Kind.SECONDS: pa.timestamp("us", "UTC"),
    Kind.MILLISECONDS: pa.timestamp("us", "UTC"),
    Kind.MICROSECONDS: pa.timestamp("us", "UTC"),
    Kind.EMPTY: pa.map_(pa.string(), pa.string()),
}


def decode_payloads(rows: DataFrame, root: str, schema: PayloadSchema) -> DataFrame:
    """`rows` with what the bytes in the column `root` say, in its place; NULL stays NULL.

    The bytes are in a column `ROOT_bytes`. In a column of VARIANT those are read that are bytes; JSON is malformed.
    Where `malformed` is there, so that rows are events, it says why a payload is none of the schema, all of its other
    columns but those about the text are NULL then, and `raw` has the bytes of the payload.

    Raises:
        RunError: see `PayloadSchema.payload`, and TRI627 on a Spark that has no Arrow functions.
    """
    if not hasattr(fn, "arrow_udf"):
        help_ = "install pyspark 4.1 or later, or declare the payload to be bytes"
        raise RunError("TRI627", "payloads are not read by a schema on this release of Spark", schema.file, help_)
    shape = schema.payload(root).shape
    type_ = ddl(default_type(type_of(shape, root)))
    name, held = quoted(root), rows.schema[root].dataType.typeName()
    bytes_ = f"CAST({name} AS BINARY)"
    if held == "variant":
        bytes_ = f"CASE WHEN schema_of_variant({name}) = 'BINARY' THEN variant_get({name}, '$', 'binary') END"
    read = worker_column(_decoder, (schema, root), [fn.expr(bytes_)], f"STRUCT<value: {type_}, reason: STRING>")
    kept = [c for c in rows.columns if c not in (root, f"{root}_bytes")]
    others = rows.withColumns({"tricel_bytes": fn.expr(bytes_), "tricel_read": read})
    unread = text_literal(f"'{root}' is not bytes")
    reason = f"CASE WHEN {name} IS NOT NULL AND tricel_bytes IS NULL THEN {unread} ELSE tricel_read.reason END"
    if "malformed" not in rows.columns:
        return others.selectExpr(
            *map(quoted, kept), f"tricel_read.value AS {name}", f"tricel_bytes AS {quoted(f'{root}_bytes')}"
        )
    about = {"event": "event", "file": "file", "record": "record"}
    about["malformed"] = "coalesce(malformed, tricel_reason)"
    about["raw"] = "CASE WHEN tricel_reason IS NOT NULL THEN tricel_bytes ELSE raw END"
    columns = {c: about.get(c, f"CASE WHEN tricel_reason IS NULL THEN {quoted(c)} END") for c in kept}
    columns[root] = "tricel_read.value"
    columns[f"{root}_bytes"] = "CASE WHEN tricel_reason IS NULL THEN tricel_bytes END"
    marked = others.withColumn("tricel_reason", fn.expr(reason))
    metadata = rows.schema["event"].metadata if "event" in rows.columns else {}
    found = marked.selectExpr(*(f"{sql} AS {quoted(c)}" for c, sql in columns.items()))
    return found.withMetadata("event", metadata) if metadata else found


def ddl(type_: SparkType) -> str:
    """The type as Spark's DDL writes it."""
    match type_:
        case SparkType(name="struct", fields=fields):
            return f"STRUCT<{', '.join(f'{quoted(n)}: {ddl(f)}' for n, f in fields)}>"
        case SparkType(name="array", element=SparkType() as element):
            return f"ARRAY<{ddl(element)}>"
        case SparkType(name="map", key=SparkType() as key, value=SparkType() as value):
            return f"MAP<{ddl(key)}, {ddl(value)}>"
        case _:
            return _WORDS.get(type_.name, type_.name.upper())


def _arrow_type(shape: Shape) -> pa.DataType:
    match shape:
        case Shape(kind=Kind.RECORD, fields=fields):
            return pa.struct([(n, _arrow_type(s)) for n, s in fields])
        case Shape(kind=Kind.LIST, element=Shape() as element):
            return pa.list_(_arrow_type(element))
        case Shape(kind=Kind.MAP, element=Shape() as element, key=Shape() as key):
            return pa.map_(_arrow_type(key), _arrow_type(element))
        case _:
            return _SCALARS[shape.kind]


def _decoder(schema: PayloadSchema, root: str) -> Evaluate:
    """What reads a batch of payloads in a worker."""
    shape, decode = schema.payload(root)
    type_ = _arrow_type(shape)

    def evaluate(column: pa.Array) -> pa.Array:
        values: list[Any] = []
        reasons: list[str | None] = []
        for message in column.to_pylist():
            value, reason = None, None
            if message is not None:
                try:
                    value = decode(message)
                except NotDecodedError as e:
                    reason = f"'{root}' is not of its schema: {e}"
            values.append(value)
            reasons.append(reason)
        found = [pa.array(values, type_), pa.array(reasons, pa.string())]
        return pa.StructArray.from_arrays(found, ["value", "reason"])

    return evaluate
