"""What an engine is given for one event, made from the columns that travelled. It runs inside Spark's Python workers."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeAlias

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType, Record
from tricel.compiler.interpreter.values import Timestamp

from .engines import Program
from .engines.cel_expr import MAX_DATA_DEPTH, unfit
from .envelope import time_text, with_json
from .sql import text_literal

_JSON_OPTIONS = "map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
# Spark writes a number that is too large for a double, such as 1e400, as it writes a text.
_INFINITY = text_literal('Infinity"')
_EPOCH = datetime.datetime(1970, 1, 1)


class Form(StrEnum):
    """How a value travels."""

    TEXT = "text"
    BOOL = "a truth value"
    INT = "digits"
    DOUBLE = "a double's text"
    TIME = "an instant in microseconds"
    BINARY = "bytes"
    EXTENSIONS = "a map of attributes"
    JSON = "JSON text"
    INFINITE = "a VARIANT, only where its JSON text cannot tell infinity from text"
    VARIANT = "a VARIANT"
    TYPED = "JSON text of a typed column"


@dataclass(frozen=True, slots=True)
class Input:
    """One value that travels: how, the name it has in CEL, its SQL, and for a typed column its type.

    `attribute`: the name is that of an attribute of `ce`, not of a variable.
    """

    kind: Form
    key: str
    sql: str
    type: CelType = t.STRING
    attribute: bool = False

    @property
    def field(self) -> str:
        """The name of its field, where values travel in a struct."""
        return f"{self.key}_infinite" if self.kind is Form.INFINITE else self.key

    @property
    def travels(self) -> str:
        """The SQL of the column that travels."""
        match self.kind:
            case Form.JSON:
                return f"to_json({self.sql})"
            case Form.INFINITE:
                infinite = f"contains(to_json(x), {_INFINITY})"
                return f"get(transform(array({self.sql}), x -> CASE WHEN {infinite} THEN x END), 0)"
            case Form.TYPED:
                return f"to_json(struct({self.sql} AS v), {_JSON_OPTIONS})"
            case _:
                return self.sql


class UnreadableError(ValueError):
    """A value that has no form in CEL."""


Activation: TypeAlias = dict[str, Any]
Put: TypeAlias = Callable[[Any, Activation], bool]
"""Puts a value into the activation and says whether every engine may be given it."""


@dataclass(frozen=True, slots=True)
class Job:
    """What one filter evaluates. `json_extensions` are the extension attributes whose text it reads as JSON."""

    programs: tuple[Program, ...]
    json_extensions: frozenset[str] = frozenset()


class Reader:
    """Makes activations from rows of the inputs' columns; made once in each process that reads them."""

    def __init__(self, inputs: Sequence[Input], *, attributes: bool) -> None:
        """`attributes`: the programs read `ce`."""
        self._put = [_putter(i) for i in inputs]
        self._attributes = attributes

    def __call__(self, row: Sequence[Any]) -> tuple[Activation | None, bool]:
        """The activation, and whether every engine may be given it; None where a value has no form in CEL."""
        given: Activation = {"ce": {}} if self._attributes else {}
        fit = True
        try:
            for put, value in zip(self._put, row, strict=False):
                if value is not None and value == value:
                    fit = put(value, given) and fit
        except (ValueError, TypeError, ArithmeticError, RecursionError):
            return None, False
        return given, fit


class Runner:
    """The programs of a job, compiled; made once in each process that runs them."""

    def __init__(self, job: Job) -> None:
        """Compiles the programs."""
        self._evaluators = [program.compiled() for program in job.programs]
        self._job = job

    def __call__(self, given: Activation | None, *, fit: bool | None = None) -> bool | None:
        """Whether all programs of a filter hold: false outweighs an error, as in CEL's `&&`.

        `fit`: whether every engine may be given the values; None: to be found out. None as the activation is an error.
        """
        if given is None:
            return None
        seen = as_seen(self._job, given)
        outcome: bool | None = True
        for evaluate in self._evaluators:
            found = evaluate(seen, fit)
            if found is False:
                return False
            if found is not True:
                outcome = None
        return outcome


def as_seen(job: Job, given: Activation) -> Activation:
    """The activation as a filter sees it: with the extension attributes that it selects into read as JSON."""
    return {**given, "ce": with_json(given["ce"], job.json_extensions)} if job.json_extensions else given


def _putter(wanted: Input) -> Put:
    key, type_ = wanted.key, wanted.type

    def holder(given: Activation) -> Activation:
        found: Activation = given["ce"] if wanted.attribute else given
        return found

    match wanted.kind:
        case Form.TEXT:

            def put(value: Any, given: Activation) -> bool:
                holder(given)[key] = value
                return "\0" not in value

        case Form.BOOL:

            def put(value: Any, given: Activation) -> bool:
                holder(given)[key] = bool(value)
                return True

        case Form.INT:

            def put(value: Any, given: Activation) -> bool:
                holder(given)[key] = int(value)
                return True

        case Form.DOUBLE:

            def put(value: Any, given: Activation) -> bool:
                holder(given)[key] = float(value)
                return True

        case Form.TIME:

            def put(value: Any, given: Activation) -> bool:
                holder(given)[key] = time_text(int(value))
                return True

        case Form.EXTENSIONS:

            def put(value: Any, given: Activation) -> bool:
                entries = dict(value)
                given["ce"].update(entries)
                return not any("\0" in k or "\0" in v for k, v in entries.items())

        case Form.JSON:

            def put(value: Any, given: Activation) -> bool:
                given[key] = found = _read(value)
                shallow = value.count("[") + value.count("{") <= MAX_DATA_DEPTH
                return not unfit(found) if not shallow or "\\u0000" in value else True

        case Form.VARIANT | Form.INFINITE:

            def put(value: Any, given: Activation) -> bool:
                given[key] = found = _json(value.toPython())
                return not unfit(found)

        case Form.BINARY:

            def put(value: Any, given: Activation) -> bool:
                holder(given)[key] = found = bytes(value)
                return b"\0" not in found

        case Form.TYPED:
            timed = _holds_times(type_)

            def put(value: Any, given: Activation) -> bool:
                typed = json.loads(value).get("v")
                if typed is not None:
                    holder(given)[key] = _typed(typed, type_)
                return not timed and "\\u0000" not in value

    return put


def _read(text: str) -> Any:
    """JSON text that Spark wrote, numbers as doubles. There is one zero."""
    if "-0" in text:
        return json.loads(text, parse_int=_double, parse_float=_double)
    return json.loads(text, parse_int=float)


def _double(text: str) -> float:
    return float(text) + 0.0


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


def _holds_times(type_: CelType) -> bool:
    """Whether a value of the type may hold a timestamp, which not every engine may be given."""
    parts = [f.type for _, f in type_.fields] if isinstance(type_, Record) else list(type_.params)
    return type_ == t.TIMESTAMP or any(map(_holds_times, parts))


def _instant(text: str) -> Timestamp:
    since = datetime.datetime.fromisoformat(text) - _EPOCH
    return Timestamp(((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) * 1_000)


def _typed(value: Any, type_: CelType) -> Any:
    """A value from a typed column's JSON text. An array with a NULL in it is as good as absent."""
    if isinstance(type_, Record):
        types = {n: f.type for n, f in type_.fields}
        read = {k: _typed(v, types[k]) for k, v in value.items()}
        return {k: v for k, v in read.items() if v is not None or types[k] == t.JSON}
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
        case t.TIMESTAMP:
            return _instant(value)
        case t.BYTES:
            return base64.b64decode(value)
        case _:
            raise UnreadableError(str(type_))
