"""The fallback: a CEL engine over Arrow batches, for what Spark has no exact form of.

Only the columns that the expressions read travel. Payloads travel as VARIANT, so that the engine sees what Spark's
own parser made of them, or, from a typed column, as JSON text that is read back by the column's types.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pandas as pd
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf
from tricel.compiler import Requirements
from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType, Record

from .engines import Program
from .layout import Held, Layout
from .lower import body_text, column
from .sparktypes import cel_type

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ATTRIBUTE, _TIME, _EXTENSIONS, _VARIANT, _TYPED = "attribute", "time", "extensions", "variant", "typed"


@dataclass(frozen=True, slots=True)
class Input:
    """One column that travels: what kind it is, the name it has in CEL, its SQL, and for a typed column its type."""

    kind: str
    key: str
    sql: str
    type: CelType = t.STRING


class UnreadableError(ValueError):
    """A value that has no form in CEL."""


def fallback_column(
    programs: tuple[Program, ...], needs: Requirements, layout: Layout, json_extensions: frozenset[str]
) -> Column:
    """BOOLEAN: whether all programs hold, NULL where that is an evaluation error.

    Raises:
        NotNative: where a column that they read cannot travel.
    """
    inputs = tuple(_inputs(needs, layout))
    roots = frozenset(needs.roots)
    evaluator = _evaluator(programs, tuple(Input(i.kind, i.key, "", i.type) for i in inputs), roots, json_extensions)
    columns = [F.expr(i.sql) for i in inputs] or [F.lit("")]
    return pandas_udf(evaluator, "boolean")(*columns)  # type: ignore[call-overload, no-any-return]


def _inputs(needs: Requirements, layout: Layout) -> list[Input]:
    found = []
    attributes = layout.attributes
    if attributes is not None:
        whole = "ce" in needs.whole
        wanted = sorted(needs.attributes | (set(attributes.columns) if whole else set()))
        found = [i for n in wanted if (i := _attribute(n, layout)) is not None]
        if whole and attributes.others is not None:
            found.append(Input(_EXTENSIONS, "", attributes.others.text))
    for root in sorted({str(p[0]) for p in needs.paths}):
        where = layout.roots.get(root)
        if where is None:
            continue
        if where.held is Held.JSON_TEXT:
            found.append(Input(_VARIANT, root, body_text(where)))
        elif where.column.type.name == "variant":
            found.append(Input(_VARIANT, root, where.column.text))
        else:
            found.append(Input(_TYPED, root, f"to_json(struct({where.column.text} AS v))", cel_type(where.column.type)))
    return found


def _attribute(attribute: str, layout: Layout) -> Input | None:
    where = layout.attributes.find(attribute) if layout.attributes is not None else None
    if where is None:
        return None
    if where.type.name == "timestamp":
        return Input(_TIME, attribute, f"unix_micros({where.text})")
    if where.type.name == "string":
        return Input(_ATTRIBUTE, attribute, f"try_validate_utf8({where.text})")
    typed = column(where.text, where.type)
    return Input(_TYPED, attribute, f"to_json(struct({typed.text} AS v))", typed.type)


def _evaluator(
    programs: tuple[Program, ...], inputs: tuple[Input, ...], roots: frozenset[str], json_extensions: frozenset[str]
) -> Callable[..., Any]:
    def evaluate(*columns: pd.Series) -> pd.Series:
        rows = zip(*columns, strict=True)
        outcomes = [outcome(programs, inputs, row, roots, json_extensions) for row in rows]
        return pd.Series(outcomes, dtype=object)

    evaluate.__annotations__ = {"columns": pd.Series, "return": pd.Series}
    return evaluate


def outcome(
    programs: tuple[Program, ...],
    inputs: tuple[Input, ...],
    row: tuple[Any, ...],
    roots: frozenset[str],
    json_extensions: frozenset[str],
) -> bool | None:
    """Whether all programs hold for one row: false outweighs an error, as in CEL's `&&`."""
    try:
        activation = _activation(inputs, row, roots, json_extensions)
    except (ValueError, TypeError, ArithmeticError, RecursionError):
        return None
    found = [program(activation) for program in programs]
    return False if False in found else None if None in found else True


def _activation(
    inputs: tuple[Input, ...], row: tuple[Any, ...], roots: frozenset[str], json_extensions: frozenset[str]
) -> dict[str, Any]:
    ce: dict[str, Any] = {}
    activation: dict[str, Any] = {"ce": ce} if "ce" in roots else {}
    for wanted, value in zip(inputs, row, strict=False):
        if value is None or value is pd.NaT or (isinstance(value, float) and value != value):
            continue
        match wanted.kind:
            case "attribute":
                ce[wanted.key] = _extension(value) if wanted.key in json_extensions else value
            case "time":
                ce[wanted.key] = _rfc3339(int(value))
            case "extensions":
                ce.update(value)
            case "variant":
                activation[wanted.key] = _json(value.toPython())
            case _:
                typed = json.loads(value).get("v")
                holder = ce if wanted.key not in roots else activation
                if typed is not None:
                    holder[wanted.key] = _typed(typed, wanted.type)
    return activation


def _extension(text: str) -> Any:
    from .envelope import plain, read_json

    return plain(read_json(text))


def _rfc3339(micros: int) -> str:
    return (_EPOCH + timedelta(microseconds=micros)).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def _json(value: Any) -> Any:
    """A VARIANT's value as JSON has it: numbers are double; what JSON does not have is an error but for bytes."""
    match value:
        case None | bool() | str() | bytes():
            return value
        case bytearray():
            return bytes(value)
        case int() | float() | Decimal():
            return float(value) + 0.0
        case dict():
            return {k: _json(v) for k, v in value.items()}
        case list():
            return [_json(v) for v in value]
        case _:
            raise UnreadableError(type(value).__name__)


def _typed(value: Any, type_: CelType) -> Any:
    """A value from a typed column's JSON text. An array with a NULL in it is as good as absent."""
    if isinstance(type_, Record):
        types = {n: f.type for n, f in type_.fields}
        read = {k: _typed(v, types[k]) for k, v in value.items()}
        return {k: v for k, v in read.items() if v is not None}
    match type_:
        case CelType(name="list", params=(element,)):
            return None if None in value else [_typed(v, element) for v in value]
        case CelType(name="map", params=(_, element)):
            return {k: _typed(v, element) for k, v in value.items() if v is not None}
        case t.DOUBLE:
            return float(value)
        case t.JSON:
            return _json(value)
        case t.INT | t.BOOL | t.STRING:
            return value
        case _:
            raise UnreadableError(str(type_))
