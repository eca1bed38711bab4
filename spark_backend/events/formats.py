"""What a worker makes of bytes that hold events: a list of `Outcome`s for each row, whatever the bytes are.

Nothing here raises: what cannot be read is an outcome with its reason.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import pyarrow as pa
from tricel.compiler.values.avro import read_avro, read_compact
from tricel.compiler.values.event_text import NotAnEventError
from tricel.compiler.values.http_messages import EventFormat, binary_event, content_type, format_of, read_headers
from tricel.compiler.values.malformed import NO_BYTES, NOT_BODY, NOT_UTF8, UNKNOWN_FORMAT

from ..fallback.batches import Evaluate
from .protobuf_format import read_protobuf, split_batch


class Outcome(NamedTuple):
    """One event, or what is none.

    `event` is JSON text: of one event or, where `many`, of a batch. `fault` is the reason why there is none. `part` are the bytes
    of one event of several that a row holds.
    """

    event: str | None
    fault: str | None = None
    part: bytes | None = None
    many: bool = False


OUTCOMES = "array<struct<event:string,fault:string,part:binary,many:boolean>>"
"""The type of what a worker answers for a row."""
_FIELDS = (("event", pa.string()), ("fault", pa.string()), ("part", pa.binary()), ("many", pa.bool_()))

OUTCOMES_TYPE = pa.list_(pa.struct(list(_FIELDS)))
"""`OUTCOMES`, as Arrow has it."""

Read: TypeAlias = Callable[[bytes], str]
FORMATS: dict[str, Read] = {"avro": read_avro, "avro-compact": read_compact, "protobuf": read_protobuf}
"""The event formats that are no JSON, by what follows `application/cloudevents+`."""
BATCHES: dict[str, Callable[[bytes], Iterator[bytes]]] = {"protobuf": split_batch}
"""Those that define a batch: what splits one into the bytes of its events."""


def in_format(format_: EventFormat, message: bytes | None) -> list[Outcome]:
    """The events in bytes of a known or unknown event format."""
    if message is None:
        return [Outcome(None, NO_BYTES)]
    if format_.name == "json":
        try:
            return [Outcome(message.decode("utf-8-sig"), many=format_.batch)]
        except UnicodeDecodeError:
            return [Outcome(None, NOT_UTF8)]
    read, split = FORMATS.get(format_.name), BATCHES.get(format_.name)
    if read is None or (format_.batch and split is None):
        return [Outcome(None, UNKNOWN_FORMAT)]
    if split is None or not format_.batch:
        return [_one(read, message)]
    try:
        parts = list(split(message))
    except NotAnEventError as e:
        return [Outcome(None, str(e))]
    return [_one(read, part)._replace(part=part) for part in parts]


def in_capture(headers: str | None, body: bytes | None, base64: bool | None) -> list[Outcome]:
    """The events in the capture of an HTTP message; `base64` says that the body is base64 text."""
    try:
        given = read_headers(headers)
        media = content_type(given)
        if base64 and body is not None:
            body = b64decode(body, validate=True)
        format_ = format_of(media)
        if format_ is None:
            return [Outcome(binary_event(given, body))]
    except NotAnEventError as e:
        return [Outcome(None, str(e))]
    except (binascii.Error, ValueError):
        return [Outcome(None, NOT_BODY)]
    return in_format(format_, body)


def _one(read: Read, message: bytes) -> Outcome:
    try:
        return Outcome(read(message))
    except NotAnEventError as e:
        return Outcome(None, str(e))


def evaluate_format(name: str, batch: bool) -> Evaluate:
    """What evaluates a column of BINARY whose rows are all of one event format."""
    format_ = EventFormat(name, batch)
    return lambda values: _answer([in_format(format_, v) for v in values.to_pylist()])


def evaluate_structured() -> Evaluate:
    """What evaluates columns of content types and of BINARY; no outcome for what is not in structured or batched mode."""

    def outcomes(types: pa.Array, values: pa.Array) -> pa.Array:
        formats = {t: format_of(t) for t in set(types.to_pylist())}
        rows = zip(types.to_pylist(), values.to_pylist(), strict=True)
        return _answer([in_format(f, v) if (f := formats[t]) else [] for t, v in rows])

    return outcomes


def evaluate_captures() -> Evaluate:
    """What evaluates columns of headers as JSON text, bodies as BINARY, and whether those are base64."""

    def outcomes(headers: pa.Array, bodies: pa.Array, base64: pa.Array) -> pa.Array:
        rows = zip(headers.to_pylist(), bodies.to_pylist(), base64.to_pylist(), strict=True)
        return _answer([in_capture(*row) for row in rows])

    return outcomes


def _answer(rows: Sequence[Sequence[Outcome]]) -> pa.Array:
    """Outcomes of rows as an Arrow array of lists."""
    offsets = [0]
    for row in rows:
        offsets.append(offsets[-1] + len(row))
    flat = [outcome for row in rows for outcome in row]
    columns = [pa.array([o[i] for o in flat], type_) for i, (_, type_) in enumerate(_FIELDS)]
    items = pa.StructArray.from_arrays(columns, [name for name, _ in _FIELDS])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items)
