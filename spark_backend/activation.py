"""What an engine is given for one event, made from the columns that travelled. It runs inside Spark's Python workers."""

from __future__ import annotations

import base64
import datetime
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, TypeAlias

from tricel.compiler import celtypes as t
from tricel.compiler import rfc3339
from tricel.compiler.celtypes import CelType, Record
from tricel.compiler.interpreter.values import Timestamp, as_key

from .engines import Program
from .engines.cel_expr import MAX_DATA_DEPTH, unfit
from .envelope import time_text, with_json
from .jsontext import INFINITY
from .jsonvalues import allow_nesting, plain, read_payload, read_written
from .variants import UnreadableError, decoded

_JSON_OPTIONS = "map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
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

    `attribute`: the name is that of an attribute of `ce`, not of a variable.
    """

    kind: Form
    key: str
    sql: str
    type: CelType = t.STRING
    attribute: bool = False

    @property
    def bare(self) -> Input:
        """The same without SQL, for the workers."""
        return replace(self, sql="")

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
    def travels(self) -> str:
        """The SQL of the column that travels."""
        match self.kind:
            case Form.JSON | Form.KEYS:
                return f"to_json({self.sql})"
            case Form.INFINITE:
                whole = replace(self, sql="x").where_infinite("to_json(x)")
                return f"get(transform(array({self.sql}), x -> {whole}), 0)"
            case Form.TYPED:
                return f"to_json(struct({self.sql} AS v), {_JSON_OPTIONS})"
            case _:
                return self.sql

    def where_infinite(self, text: str) -> str:
        """The SQL of the value, NULL unless its JSON text, the SQL `text`, may stand for infinity."""
        return f"CASE WHEN contains({text}, {INFINITY}) THEN {self.sql} END"


_SHALLOW = 3 * MAX_DATA_DEPTH
"""Bytes of a VARIANT that cannot be nested too deep: each level takes four."""
_UNREADABLE = (ValueError, TypeError, ArithmeticError, LookupError, RecursionError, struct.error)
Activation: TypeAlias = dict[str, Any]
Put: TypeAlias = Callable[[Any, dict[str, Any]], bool]
"""Puts a value where its name is looked up, and says whether every engine may be given it."""


@dataclass(frozen=True, slots=True)
class Job:
    """What one filter evaluates. `json_extensions` are the extension attributes whose text it reads as JSON."""

    programs: tuple[Program, ...]
    json_extensions: frozenset[str] = frozenset()


class Reader:
    """Makes activations from the inputs' columns; made once in each process that reads them."""

    def __init__(self, inputs: Sequence[Input], *, attributes: bool, whole: bool = False) -> None:
        """`attributes`: the programs read `ce`. `whole`: one value that has no form in CEL leaves the row without any."""
        allow_nesting()
        self._put = [(_putter(i), i.attribute or i.kind is Form.EXTENSIONS) for i in inputs]
        self._attributes = attributes
        self._whole = whole

    def each(self, columns: Sequence[Sequence[Any]], count: int) -> tuple[list[Activation | None], list[bool]]:
        """The activations of `count` rows, and whether every engine may be given them.

        A value that has no form in CEL is missing, which errs where it is used; an attribute, of which a filter may
        ask whether it is missing, makes the activation None.
        """
        ce: list[dict[str, Any]] = [{} for _ in range(count)]
        given: list[Activation | None] = [{"ce": c} for c in ce] if self._attributes else [{} for _ in range(count)]
        fit = [True] * count
        lost = set()
        for (put, attribute), column in zip(self._put, columns, strict=False):
            if column.count(None) == count:
                continue
            for i, (value, into) in enumerate(zip(column, ce if attribute else given, strict=True)):
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

    `attributes`: its programs read `ce`.
    """

    job: Job
    inputs: tuple[Input, ...]
    positions: tuple[int, ...]
    attributes: bool

    def reader(self) -> Callable[[Sequence[Sequence[Any]], int], tuple[list[Activation | None], list[bool]]]:
        """What makes the job's activations from the columns of such rows: see `Reader.each`; made once in each process."""
        read, positions = Reader(self.inputs, attributes=self.attributes), self.positions
        return lambda columns, count: read.each([columns[i] for i in positions], count)


def as_seen(job: Job, given: Activation) -> Activation:
    """The activation as a filter sees it: with the extension attributes that it selects into read as JSON."""
    return {**given, "ce": with_json(given["ce"], job.json_extensions)} if job.json_extensions else given


def _putter(wanted: Input) -> Put:
    key, type_ = wanted.key, wanted.type
    match wanted.kind:
        case Form.TEXT:

            def put(value: Any, into: dict[str, Any]) -> bool:
                into[key] = value
                return "\0" not in value

        case Form.BOOL:

            def put(value: Any, into: dict[str, Any]) -> bool:
                into[key] = bool(value)
                return True

        case Form.INT:

            def put(value: Any, into: dict[str, Any]) -> bool:
                into[key] = int(value)
                return True

        case Form.DOUBLE:

            def put(value: Any, into: dict[str, Any]) -> bool:
                into[key] = float(value)
                return True

        case Form.TIME:

            def put(value: Any, into: dict[str, Any]) -> bool:
                into[key] = time_text(int(value))
                return True

        case Form.TIME_TEXT:

            def put(value: Any, into: dict[str, Any]) -> bool:
                nanos = rfc3339.cut_to_nanoseconds(value)
                into[key] = f"no time: {value}" if nanos is None else rfc3339.text_of(nanos)
                return "\0" not in value

        case Form.EXTENSIONS:

            def put(value: Any, into: dict[str, Any]) -> bool:
                entries = dict(value)
                into.update(entries)
                return not any("\0" in k or "\0" in v for k, v in entries.items())

        case Form.JSON:

            def put(value: Any, into: dict[str, Any]) -> bool:
                into[key] = found = read_written(value)
                return _fits(value, found)

        case Form.PAYLOAD:

            def put(value: Any, into: dict[str, Any]) -> bool:
                try:
                    into[key] = found = read_payload(value)
                except ValueError:  # no JSON to Spark, either
                    return True
                return _fits(value, found)

        case Form.KEYS:

            def put(value: Any, into: dict[str, Any]) -> bool:
                into[key] = json.loads(value)
                return "\\u0000" not in value

        case Form.VARIANT | Form.INFINITE:

            def put(value: Any, into: dict[str, Any]) -> bool:
                found, nul = decoded(*value)
                into[key] = found
                return not nul and (len(value[0]) <= _SHALLOW or not unfit(found))

        case Form.BINARY:

            def put(value: Any, into: dict[str, Any]) -> bool:
                into[key] = found = bytes(value)
                return b"\0" not in found

        case Form.TYPED:
            unfit_type = _holds_times(type_) or _holds_bool_keys(type_)

            def put(value: Any, into: dict[str, Any]) -> bool:
                typed = json.loads(value).get("v")
                if typed is not None:
                    into[key] = _typed(typed, type_)
                return not unfit_type and "\\u0000" not in value

    return put


def _fits(text: str, value: Any) -> bool:
    """Whether every engine may be given the value of a JSON text."""
    shallow = len(text) <= 2 * MAX_DATA_DEPTH or text.count("[") + text.count("{") <= MAX_DATA_DEPTH
    return (shallow and "\\u0000" not in text) or not unfit(value)


def _holds_times(type_: CelType) -> bool:
    """Whether a value of the type may hold a timestamp, which not every engine may be given."""
    return type_ == t.TIMESTAMP or any(map(_holds_times, t.parts(type_)))


_KEYS: Mapping[CelType, Callable[[str], Any]] = {t.INT: int, t.BOOL: lambda key: as_key(key == "true")}
"""What JSON text makes texts of."""


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
