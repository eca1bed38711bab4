"""Schemas of payloads from files: Avro, and messages of Protocol Buffers. What a payload is, and what reads its bytes.

    avro:FILE                  one value in Avro's binary encoding, as FILE.avsc describes it
    avro+single-object:FILE    the same behind the header of a single object: two bytes, and the schema's fingerprint
    avro+confluent:FILE#ID     the same behind Confluent's header: a zero byte, and the schema's id in a registry
    protobuf:FILE#MESSAGE      a message of this full name, of the FileDescriptorSet in FILE

A header is held against the schema: a payload that another schema has written is not read by this one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tricel.compiler import Environment
from tricel.compiler.schemas.avro import fingerprint, read_avro_schema
from tricel.compiler.schemas.avro_values import MICROSECONDS, NOT_A_TIME, NOT_UTF8, NotDecodedError, whole
from tricel.compiler.schemas.protobuf import ProtoField, ProtoMessage, protobuf_shape
from tricel.compiler.schemas.shapes import Kind, SchemaError, Shape, type_of
from tricel.compiler.suggest import nearest

from .failure import RunError

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor
    from google.protobuf.message import Message

AVRO, SINGLE_OBJECT, CONFLUENT, PROTOBUF = "avro", "avro+single-object", "avro+confluent", "protobuf"
FORMATS = {AVRO: "", SINGLE_OBJECT: "", CONFLUENT: "ID", PROTOBUF: "MESSAGE"}
"""What payloads may be declared to be, each with what stands behind the file."""
_SINGLE, _MAGIC = b"\xc3\x01", b"\x00"
_MOST_INT = 2**63 - 1
_ID = re.compile(r"[0-9]{1,10}", re.ASCII)

Decode = Callable[[bytes], Any]
"""Reads the bytes of a payload: dicts for records, lists, pairs for maps, microseconds for times."""


class Declaration(NamedTuple):
    """What is said of a payload: the format, the file of its schema, and what stands behind that."""

    format: str
    file: str
    detail: str


class Payload(NamedTuple):
    """What a payload is, and what reads one; that raises NotDecodedError for other bytes."""

    shape: Shape
    decode: Decode


def declaration(text: str) -> Declaration | None:
    """The declaration in a text as `avro:orders.avsc`; None where it is none of a schema.

    Raises:
        RunError: TRI624 where a part of it is missing, or too many are there.
    """
    format_, colon, rest = text.partition(":")
    if not colon or format_ not in FORMATS:
        return None
    behind = FORMATS[format_]
    file, _, detail = rest.rpartition("#") if behind else (rest, "", "")
    if not file or bool(detail) != bool(behind) or (format_ == CONFLUENT and not _ID.fullmatch(detail)):
        wanted = f"{format_}:FILE" + (f"#{behind}" if behind else "")
        raise RunError("TRI624", f"'{text}' is not {wanted}", "--decode", _HELP[format_])
    return Declaration(format_, file, detail)


_HELP = {
    AVRO: "name the file of the schema, as in avro:orders.avsc",
    SINGLE_OBJECT: "name the file of the schema, as in avro+single-object:orders.avsc",
    CONFLUENT: "name the id that the registry gave the schema, as in avro+confluent:orders.avsc#7",
    PROTOBUF: "name the message in full, as in protobuf:shop.pb#shop.Order",
}


@dataclass(frozen=True)
class PayloadSchema:
    """A schema as it is in its file: plain data, which travels to Spark's workers. `file` is what it is called."""

    format: str
    content: bytes
    detail: str = ""
    file: str = "schema"

    def payload(self, name: str = "data") -> Payload:
        """What a payload of the schema is. `name` is what filters call it.

        Raises:
            RunError: TRI624 where the content is no such schema, TRI625 for what CEL has no exact type for, TRI626
                where a message is not in the set.
        """
        try:
            return _protobuf(self, name) if self.format == PROTOBUF else _avro(self, name)
        except SchemaError as e:
            help_ = "leave the field out of the schema, or declare the payload to be bytes"
            raise RunError("TRI625", f"no exact type in CEL: {e}", self.file, help_) from None


def with_schema(environment: Environment, root: str, schema: PayloadSchema) -> Environment:
    """The environment with a root whose bytes are of a schema: its fields are known, and checked.

    Raises:
        RunError: see `PayloadSchema.payload`.
        ValueError: for a root that holds no payload.
    """
    return environment.holding(root, type_of(schema.payload(root).shape, root))


def _avro(schema: PayloadSchema, name: str) -> Payload:
    try:
        value = json.loads(schema.content)
    except (ValueError, RecursionError) as e:
        raise RunError("TRI624", f"not the JSON of an Avro schema: {e}", schema.file, _HELP[AVRO]) from None
    described = read_avro_schema(value, name)
    read = described.read
    if schema.format == SINGLE_OBJECT:
        return Payload(described.shape, _after(_SINGLE + fingerprint(value), "another schema's fingerprint", read))
    if schema.format == CONFLUENT:
        header = _MAGIC + int(schema.detail).to_bytes(5, "big")[-4:]
        return Payload(described.shape, _after(header, f"not the header of the schema {schema.detail}", read))
    return Payload(described.shape, lambda message: whole(message, 0, read))


def _after(header: bytes, other: str, read: Callable[[bytes, int], tuple[Any, int]]) -> Decode:
    """Reads a value behind a header."""

    def decode(message: bytes) -> Any:
        if not message.startswith(header):
            raise NotDecodedError(f"it begins with {other}" if len(message) >= len(header) else "it ends too early")
        return whole(message, len(header), read)

    return decode


def _protobuf(schema: PayloadSchema, name: str) -> Payload:
    try:
        from google.protobuf.message import DecodeError
        from google.protobuf.message_factory import GetMessageClass
    except ImportError:
        help_ = "pip install 'tricel[spark]'"
        raise RunError("TRI627", "messages of Protocol Buffers need protobuf", schema.file, help_) from None

    descriptor = _descriptor(schema)
    messages: dict[str, ProtoMessage] = {}
    _collect(descriptor, messages)
    shape = protobuf_shape(messages, schema.detail, name)
    class_, fit = GetMessageClass(descriptor), _fits_message(descriptor, shape)

    def decode(message: bytes) -> Any:
        try:
            found = class_.FromString(message)
            if not found.IsInitialized():
                raise NotDecodedError("a required field is missing")
            return fit(found)
        except DecodeError:
            raise NotDecodedError(f"not a message '{schema.detail}'") from None
        except UnicodeDecodeError:
            raise NotDecodedError(NOT_UTF8) from None

    return Payload(shape, decode)


@lru_cache(maxsize=16)
def _descriptor(schema: PayloadSchema) -> Descriptor:
    """The message's descriptor, in a pool of its own."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import DecodeError

    help_ = "write it with: protoc --include_imports --descriptor_set_out=FILE"
    try:
        files = FileDescriptorSet.FromString(schema.content)
    except DecodeError:
        raise RunError("TRI624", "not a FileDescriptorSet of Protocol Buffers", schema.file, help_) from None
    pool = DescriptorPool()
    named: list[str] = []
    try:
        for file in files.file:
            pool.Add(file)
            named += _names(file, file.package)
        if schema.detail not in named:
            likely = nearest(schema.detail, named)
            said = f"did you mean '{likely}'?" if likely else "the messages are " + ", ".join(sorted(named)[:10])
            raise RunError("TRI626", f"there is no message '{schema.detail}' in the set", schema.file, said)
        return pool.FindMessageTypeByName(schema.detail)
    except (TypeError, KeyError, ValueError) as e:  # a file that another one imports is not there
        message = f"the FileDescriptorSet is not complete: {' '.join(str(e).split())}"
        raise RunError("TRI624", message, schema.file, help_) from None


def _names(holder: Any, prefix: str) -> Iterator[str]:
    """The full names of the messages in a file or a message."""
    for message in holder.nested_type if hasattr(holder, "nested_type") else holder.message_type:
        full = f"{prefix}.{message.name}" if prefix else message.name
        yield full
        yield from _names(message, full)


def _type_name(field: FieldDescriptor) -> str:
    for name, value in vars(type(field)).items():
        if name.startswith("TYPE_") and value == field.type:
            return str(name).removeprefix("TYPE_").lower()
    raise KeyError(field.type)


def _collect(descriptor: Descriptor, found: dict[str, ProtoMessage]) -> None:
    """The message and those in it, as plain values."""
    if descriptor.full_name in found:
        return
    fields = [
        ProtoField(f.name, _type_name(f), f.message_type.full_name if f.message_type else "", f.is_repeated)
        for f in descriptor.fields
    ]
    found[descriptor.full_name] = ProtoMessage(fields, descriptor.GetOptions().map_entry)
    for f in descriptor.fields:
        if f.message_type is not None:
            _collect(f.message_type, found)


Fit = Callable[[Any], Any]


def _fits_message(descriptor: Descriptor, shape: Shape) -> Fit:
    """What makes a message of that descriptor the value of its shape."""
    if shape.kind is Kind.SECONDS:
        return _micros
    if shape.kind is Kind.EMPTY:
        return lambda message: []
    if shape.kind is not Kind.RECORD:  # a wrapper
        wrapped = _fits_scalar(shape)
        return lambda message: wrapped(message.value)
    shapes = dict(shape.fields)
    parts = [(f.name, f.has_presence, _fits_field(f, shapes[f.name])) for f in descriptor.fields]

    def fit(message: Message) -> dict[str, Any]:
        return {
            name: fits(getattr(message, name)) if not presence or message.HasField(name) else None
            for name, presence, fits in parts
        }

    return fit


def _fits_field(field: FieldDescriptor, shape: Shape) -> Fit:
    if shape.kind is Kind.MAP and shape.element is not None:
        value = _fits_one(field.message_type.fields_by_name["value"], shape.element)
        return lambda entries: [(k, value(entries[k])) for k in entries]
    if shape.kind is Kind.LIST and shape.element is not None:
        element = _fits_one(field, shape.element)
        return lambda elements: [element(e) for e in elements]
    return _fits_one(field, shape)


def _fits_one(field: FieldDescriptor, shape: Shape) -> Fit:
    return _fits_scalar(shape) if field.message_type is None else _fits_message(field.message_type, shape)


def _fits_scalar(shape: Shape) -> Fit:
    return _signed if shape.kind is Kind.UNSIGNED else _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _signed(value: int) -> int:
    if value > _MOST_INT:
        raise NotDecodedError("an unsigned number is larger than an int")
    return value


def _micros(timestamp: Any) -> int:
    micros = int(timestamp.seconds * 1_000_000 + timestamp.nanos // 1000)
    if not MICROSECONDS[0] <= micros <= MICROSECONDS[1] or not 0 <= timestamp.nanos < 10**9:
        raise NotDecodedError(NOT_A_TIME)
    return micros
