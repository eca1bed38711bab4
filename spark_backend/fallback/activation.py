"""What an engine is given for one event, made from the columns that travelled. It runs inside Spark's Python workers."""

from __future__ import annotations

import base64
import datetime
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any, TypeAlias

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType, Record
from tricel.compiler.values import rfc3339
from tricel.compiler.values.cel import Timestamp, as_key
from tricel.compiler.values.cloudevents import time_text, with_json
from tricel.compiler.values.json_values import allow_nesting, plain, read_payload, read_written
from tricel.compiler.values.variants import UnreadableError, decoded

from ..engines import Program
from ..engines.cel_expr import MAX_DATA_DEPTH, unfit
from ..sql import Operand, Sql, function, named, variable, when
from ..sql import struct as sql_struct
from ..sql.json_text import INFINITY

_JSON_OPTIONS = function("map", "timeZone", "UTC", "timestampFormat", "yyyy-MM-dd HH:mm:ss.SSSSSS")
_EPOCH = datetime.datetime(1970, 1, 1)


class Form(StrEnum):
    """How a value travels."""

    TEXT = "text"
    BOOL = "a truth value"
    INT = "digits"
    DOUBLE = "a double's text"
    TIME = "an instant in microseconds"
    TIME_TEXT = "an instant's text, of RFC 3339 or not"
    BINARY = "bytes"
    EXTENSIONS = "a map of attributes"
    JSON = "JSON text that Spark wrote"
    PAYLOAD = "the JSON text of a payload, written by Spark or not"
    KEYS = "JSON text of an object's keys"
    INFINITE = "a VARIANT, only where its JSON text cannot tell infinity from text"
    VARIANT = "a VARIANT"
    TYPED = "JSON text of a typed column"


@dataclass(frozen=True, slots=True)
class Input:
    """One value that travels: how, the name it has in CEL, its SQL, and for a typed column its type.

    `attribute`: the name is that of an attribute of the event, not of a variable.
    """

    kind: Form
    key: str
    sql: Sql | None
    type: CelType = t.STRING
    attribute: bool = False

    @property
    def bare(self) -> Input:
        """The same without SQL, for the workers."""
        return replace(self, sql=None)

    @property
    def field(self) -> str:
        """The name of its field, where values travel in a struct."""
        match self.kind:
            case Form.INFINITE:
                return f"{self.key}_infinite"
            case Form.KEYS:
                return f"{self.key}_keys"
            case _:
                return self.key

    @property
    def travels(self) -> Sql:
        """The SQL of the column that travels."""
        sql = self._sql
        match self.kind:
            case Form.JSON | Form.KEYS:
                return function("to_json", sql)
            case Form.INFINITE:
                value = variable()
                return named(sql, value, where_infinite(value, function("to_json", value)))
            case Form.TYPED:
                return function("to_json", sql_struct(v=sql), _JSON_OPTIONS)
            case _:
                return sql

    def where_infinite(self, text: Operand) -> Sql:
        """The value, NULL unless its JSON text may stand for infinity."""
        return where_infinite(self._sql, text)

    @property
    def _sql(self) -> Sql:
        if self.sql is None:
            raise ValueError("an input without its SQL, for the workers")
        return self.sql


def where_infinite(value: Operand, text: Operand) -> Sql:
    """The value, NULL unless its JSON text may stand for infinity."""
    return when(function("contains", text, INFINITY), value)


_SHALLOW = 3 * MAX_DATA_DEPTH
"""Bytes of a VARIANT that cannot be nested too deep: each level takes four."""
_UNREADABLE = (ValueError, TypeError, ArithmeticError, LookupError, RecursionError, struct.error)
Activation: TypeAlias = dict[str, Any]
Put: TypeAlias = Callable[[Any, dict[str, Any]], bool]
"""Puts a value where its name is looked up, and says whether every engine may be given it."""


@dataclass(frozen=True, slots=True)
class Job:
    """What one filter evaluates. `json_extensions` are the attributes of `record` whose text it reads as JSON."""

    programs: tuple[Program, ...]
    json_extensions: frozenset[str] = frozenset()
    record: str = ""


class Reader:
    """Makes activations from the inputs' columns; made once in each process that reads them."""

    def __init__(self, inputs: Sequence[Input], *, record: str, whole: bool = False) -> None:
        """`record`: the record of attributes, where the programs read it.

        `whole`: one value that has no form in CEL leaves the row without any.
        """
        allow_nesting()
        self._put = [(_putter(i), i.attribute or i.kind is Form.EXTENSIONS) for i in inputs]
        self._record = record
        self._whole = whole

    def each(self, columns: Sequence[Sequence[Any]], count: int) -> tuple[list[Activation | None], list[bool]]:
        """The activations of `count` rows, and whether every engine may be given them.

        A value that has no form in CEL is missing, which errs where it is used; an attribute, of which a filter may
        ask whether it is missing, makes the activation None.
        """
        record = self._record
        attributes: list[dict[str, Any]] = [{} for _ in range(count)]
        given: list[Activation | None] = [{record: a} if record else {} for a in attributes]
        fit = [True] * count
        lost = set()
        for (put, attribute), column in zip(self._put, columns, strict=False):
            if column.count(None) == count:
                continue
            for i, (value, into) in enumerate(zip(column, attributes if attribute else given, strict=True)):
                if value is None:
                    continue
                try:
                    if not put(value, into):  # type: ignore[arg-type]
                        fit[i] = False
                except _UNREADABLE:
                    if attribute or self._whole:
                        lost.add(i)
        for i in lost:
            given[i], fit[i] = None, False
        return given, fit


class Runner:
    """The programs of a job, compiled; made once in each process that runs them."""

    def __init__(self, job: Job) -> None:
        """Compiles the programs."""
        self._lots = [program.lots() for program in job.programs]
        self._job = job

    def each(self, given: Sequence[Activation | None], fit: Sequence[bool | None]) -> list[bool | None]:
        """Whether all programs of a filter hold for each event: false outweighs an error, as in CEL's `&&`.

        `fit`: whether every engine may be given the values; None: to be found out. None as the activation is an error.
        """
        outcomes: list[bool | None] = [None if g is None else True for g in given]
        events = {i: g for i, g in enumerate(given) if g is not None}
        if self._job.json_extensions:
            events = {i: as_seen(self._job, g) for i, g in events.items()}
            fit = [None] * len(fit)  # it was asked of their text
        for lots in self._lots:
            numbers = [i for i in events if outcomes[i] is not False]
            found = lots([events[i] for i in numbers], [fit[i] for i in numbers])
            for i, outcome in zip(numbers, found, strict=True):
                if outcome is not True:
                    outcomes[i] = outcome
        return outcomes

    def __call__(self, given: Activation | None, *, fit: bool | None = None) -> bool | None:
        """The outcome for one event, as in `each`."""
        return self.each([given], [fit])[0]


@dataclass(frozen=True, slots=True)
class Task:
    """A job over rows that hold more than it reads: its inputs, and where in a row they are.

    `record`: the record of attributes, where its programs read it.
    """

    job: Job
    inputs: tuple[Input, ...]
    positions: tuple[int, ...]
    record: str

    def reader(self) -> Callable[[Sequence[Sequence[Any]], int], tuple[list[Activation | None], list[bool]]]:
        """What makes the job's activations from the columns of such rows: see `Reader.each`; made once in each process."""
        read, positions = Reader(self.inputs, record=self.record), self.positions
        return lambda columns, count: read.each([columns[i] for i in positions], count)


def as_seen(job: Job, given: Activation) -> Activation:
    """The activation as a filter sees it: with the extension attributes that it selects into read as JSON."""
    if not job.json_extensions:
        return given
    return {**given, job.record: with_json(given[job.record], job.json_extensions)}


def _putter(wanted: Input) -> Put:
    if wanted.kind is Form.TYPED:
        unfit_type = _holds_times(wanted.type) or _holds_bool_keys(wanted.type)
        return partial(_put_bytes if _holds_bytes(wanted.type) else _put_typed, wanted.key, wanted.type, unfit_type)
    return partial(_PUTTERS[wanted.kind], wanted.key)


def _put_text(key: str, value: Any, into: dict[str, Any]) -> bool:
    into[key] = value
    return "\0" not in value


def _put_bool(key: str, value: Any, into: dict[str, Any]) -> bool:
    into[key] = bool(value)
    return True


def _put_int(key: str, value: Any, into: dict[str, Any]) -> bool:
    into[key] = int(value)
    return True


def _put_double(key: str, value: Any, into: dict[str, Any]) -> bool:
    into[key] = float(value)
    return True


def _put_time(key: str, value: Any, into: dict[str, Any]) -> bool:
    into[key] = time_text(int(value))
    return True


def _put_time_text(key: str, value: Any, into: dict[str, Any]) -> bool:
    nanos = rfc3339.cut_to_nanoseconds(value)
    into[key] = f"no time: {value}" if nanos is None else rfc3339.text_of(nanos)
    return "\0" not in value


def _put_extensions(key: str, value: Any, into: dict[str, Any]) -> bool:
    entries = dict(value)
    into.update(entries)
    return not any("\0" in k or "\0" in v for k, v in entries.items())


def _put_json(key: str, value: Any, into: dict[str, Any]) -> bool:
    into[key] = found = read_written(value)
    return _fits(value, found)


def _put_payload(key: str, value: Any, into: dict[str, Any]) -> bool:
    try:
        into[key] = found = read_payload(value)
    except ValueError:  # no JSON to Spark, either
        return True
    return _fits(value, found)


def _put_keys(key: str, value: Any, into: dict[str, Any]) -> bool:
    into[key] = json.loads(value)
    return "\\u0000" not in value


def _put_variant(key: str, value: Any, into: dict[str, Any]) -> bool:
    found, nul = decoded(*value)
    into[key] = found
    return not nul and (len(value[0]) <= _SHALLOW or not unfit(found))


def _put_binary(key: str, value: Any, into: dict[str, Any]) -> bool:
    into[key] = found = bytes(value)
    return b"\0" not in found


def _put_typed(key: str, type_: CelType, unfit_type: bool, value: Any, into: dict[str, Any]) -> bool:
    typed = json.loads(value).get("v")
    if typed is not None:
        into[key] = _typed(typed, type_)
    return not unfit_type and "\\u0000" not in value


def _put_bytes(key: str, type_: CelType, unfit_type: bool, value: Any, into: dict[str, Any]) -> bool:
    """As `_put_typed`, where bytes may be in it: only they themselves tell whether NUL is."""
    return _put_typed(key, type_, unfit_type, value, into) and not unfit(into.get(key))


_PUTTERS: Mapping[Form, Callable[[str, Any, dict[str, Any]], bool]] = {
    Form.TEXT: _put_text,
    Form.BOOL: _put_bool,
    Form.INT: _put_int,
    Form.DOUBLE: _put_double,
    Form.TIME: _put_time,
    Form.TIME_TEXT: _put_time_text,
    Form.EXTENSIONS: _put_extensions,
    Form.JSON: _put_json,
    Form.PAYLOAD: _put_payload,
    Form.KEYS: _put_keys,
    Form.VARIANT: _put_variant,
    Form.INFINITE: _put_variant,
    Form.BINARY: _put_binary,
}
"""How a value is put into an activation, by the form that it travels in; each says whether every engine may be given it.
One of a declared type has its own."""


def _fits(text: str, value: Any) -> bool:
    """Whether every engine may be given the value of a JSON text."""
    shallow = len(text) <= 2 * MAX_DATA_DEPTH or text.count("[") + text.count("{") <= MAX_DATA_DEPTH
    return (shallow and "\\u0000" not in text) or not unfit(value)


def _holds_times(type_: CelType) -> bool:
    """Whether a value of the type may hold a timestamp, which not every engine may be given."""
    return type_ == t.TIMESTAMP or any(map(_holds_times, t.parts(type_)))


_KEYS: Mapping[CelType, Callable[[str], Any]] = {t.INT: int, t.BOOL: lambda key: as_key(key == "true")}
"""What JSON text makes texts of."""


def _holds_bytes(type_: CelType) -> bool:
    return type_ == t.BYTES or any(map(_holds_bytes, t.parts(type_)))


def _holds_bool_keys(type_: CelType) -> bool:
    return (type_.name == "map" and type_.params[:1] == (t.BOOL,)) or any(map(_holds_bool_keys, t.parts(type_)))


def _instant(text: str) -> Timestamp:
    since = datetime.datetime.fromisoformat(text) - _EPOCH
    return Timestamp(((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) * 1_000)


def _typed(value: Any, type_: CelType) -> Any:
    """A value from a typed column's JSON text. An array with a NULL in it is as good as absent.

    In a list or map of VARIANTs, NULL and JSON's null are one: such a column travels to explain an error and no more.
    """
    if isinstance(type_, Record):
        types = {n: f.type for n, f in type_.fields}
        read = {k: _typed(v, types[k]) for k, v in value.items()}
        return {k: v for k, v in read.items() if v is not None or types[k] == t.JSON}
    match type_:
        case CelType(name="list", params=(element,)):
            return None if None in value and element != t.JSON else [_typed(v, element) for v in value]
        case CelType(name="map", params=(key, element)):
            read_key = _KEYS.get(key, str)
            return {read_key(k): _typed(v, element) for k, v in value.items() if v is not None or element == t.JSON}
        case t.DOUBLE:
            return float(value)
        case CelType(name="single"):
            return struct.unpack("<f", struct.pack("<f", float(value)))[0]
        case t.JSON:
            return plain(value)
        case t.INT | t.BOOL | t.STRING:
            return value
        case t.TIMESTAMP:
            return _instant(value)
        case t.BYTES:
            return base64.b64decode(value)
        case _:
            raise UnreadableError(str(type_))
