"""What a filter may name: roots and their types, and where each is in a table. An environment is data, not code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from ..celtypes import BOOL, BYTES, DOUBLE, DYN, INT, JSON, STRING, TIMESTAMP, CelType, Field, Record, list_of


class Form(StrEnum):
    """How a column holds the value of a root."""

    TYPED = "typed"
    """The column's type is the value's."""
    JSON = "json"
    """Text, or bytes of UTF-8, that is read as JSON."""
    TEXT = "text"
    """Text, or bytes that are read as UTF-8."""
    BYTES = "bytes"
    """Bytes, or the UTF-8 of text."""
    LAST_ENTRIES = "last entries"
    """An array of keys and values, as bytes: a map in which the last value of a key counts, as text."""
    ENTRIES = "entries"
    """The same array as it is."""
    MILLISECONDS = "milliseconds"
    """A timestamp, or a number of milliseconds since 1970."""


DECODINGS = (Form.JSON, Form.TEXT, Form.BYTES)
"""What bytes may be declared to be."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Where a root is: the `columns` that may hold it, the first that is there counts; a dot selects a field of a struct.

    `default` is the Spark type of the first column in a table that nobody has described; by the form where it is empty.
    `nullable`: a column that holds NULL is CEL's null. `optional`: not every event has the root.
    `advice` is said where no column holds it.
    """

    columns: tuple[str, ...]
    form: Form = Form.TYPED
    default: str = ""
    nullable: bool = False
    optional: bool = False
    advice: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Attributes:
    """Where the attributes of the record are, other than in a column each.

    `holders` are columns that may hold all of them, as a struct or a map, `others` the column of a map of those that are
    not declared. `media_type` is the attribute that says whether the payload's text is JSON, and `times` are those that
    are times, whose text engines read.
    """

    holders: tuple[str, ...]
    others: str = ""
    media_type: str = ""
    times: tuple[str, ...] = ()


class NameProblem(NamedTuple):
    """What is wrong with a name: a code, a message, and what was probably meant (empty where that is unknown)."""

    code: str
    message: str
    likely: str


@dataclass(frozen=True, slots=True)
class Words:
    """How people speak of the events of an environment.

    `one` and `many` are what an event is called. `whole` are names that people give to all of it, and `aliases` names
    that they give to a root or to something in one, all in lower case. `attributes` are names of attributes of the
    record; `problem` says what is wrong with another one.
    """

    one: str = "event"
    many: str = "events"
    whole: frozenset[str] = frozenset()
    aliases: Mapping[str, str] = field(default_factory=dict)
    attributes: frozenset[str] = frozenset()
    problem: Callable[[str], NameProblem | None] = lambda name: None


@dataclass(frozen=True)
class Environment:
    """The names that a filter may use, each with its type. A name may have dots; `container` qualifies the others.

    A root whose type is a record with fields that are not declared is the record of attributes. `payload` is the root
    that holds what the event carries. `storage` says where roots are, where that is not a column of their name.
    """

    name: str
    roots: tuple[tuple[str, CelType], ...]
    container: str = ""
    attributes: Attributes | None = None
    payload: str = ""
    storage: tuple[tuple[str, Storage], ...] = ()
    words: Words = field(default=Words(), compare=False, repr=False)
    docs: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)

    def root(self, name: str) -> CelType | None:
        """The type of a root; None when there is no such root."""
        return self._types.get(name)

    def with_root(self, name: str, type_: CelType) -> Environment:
        """This environment with one root typed anew."""
        return replace(self, roots=tuple((n, type_ if n == name else t) for n, t in self.roots))

    @cached_property
    def _types(self) -> dict[str, CelType]:
        return dict(self.roots)

    @cached_property
    def record(self) -> str:
        """The root that is the record of attributes; empty where there is none."""
        return next((name for name, type_ in self.roots if is_open(type_)), "")

    @cached_property
    def record_type(self) -> Record | None:
        """The type of the record of attributes."""
        return next((type_ for _, type_ in self.roots if isinstance(type_, Record) and is_open(type_)), None)

    def attribute(self, name: str) -> Field | None:
        """The attribute of that name, declared or not; None where there is no record."""
        record = self.record_type
        return None if record is None else record.field(name)

    @cached_property
    def required(self) -> frozenset[str]:
        """The attributes that every event has."""
        record = self.record_type
        return frozenset() if record is None else frozenset(n for n, f in record.fields if f.required)

    def stored(self, root: str) -> Storage:
        """Where a root is: in a column of its name, unless something else is said."""
        found = dict(self.storage).get(root)
        return found or Storage((root,), Form.JSON if self.root(root) == JSON else Form.TYPED)

    def decoded(self, root: str, form: Form) -> Environment:
        """This environment with a root whose bytes are declared to be JSON, text or bytes.

        Raises:
            ValueError: for a root that is no such thing.
        """
        stored = self.stored(root)
        if (
            self.root(root) is None
            or stored.form not in DECODINGS
            or form not in DECODINGS
            or root not in self.decodable
        ):
            known = f"; {', '.join(self.decodable)} can" if self.decodable else ", nor can anything else"
            raise ValueError(f"'{root}' cannot be declared {form} for the environment '{self.name}'{known}")
        again = tuple((n, replace(s, form=form) if n == root else s) for n, s in self.storage)
        return replace(self.with_root(root, _decoded_type(form, nullable=stored.nullable)), storage=again)

    def holding(self, root: str, type_: CelType) -> Environment:
        """This environment with a root that holds values of a type, as a schema describes them, in a column of its name.

        Raises:
            ValueError: for a root that is no payload.
        """
        payloads = (*self.decodable, *([self.payload] if self.payload not in self.decodable else ()))
        if root not in payloads:
            raise ValueError(f"'{root}' has no schema in the environment '{self.name}'; {', '.join(payloads)} can have")
        storage = {**dict(self.storage), root: Storage((root,), optional=self.stored(root).optional)}
        return replace(self.with_root(root, type_), storage=tuple(storage.items()))

    @property
    def decodable(self) -> tuple[str, ...]:
        """The roots whose bytes may be declared to be JSON, text or bytes: those that have their bytes beside them."""
        known = {name for name, _ in self.roots}
        return tuple(name for name, _ in self.roots if f"{name}_bytes" in known)


def is_open(type_: CelType) -> bool:
    """Whether it is a record with fields that are not declared, as attributes are."""
    return isinstance(type_, Record) and type_.others is not None


def _decoded_type(form: Form, *, nullable: bool) -> CelType:
    """The type of a value that is read so: what may be null, too, is of no type that has no null."""
    match form:
        case Form.TEXT:
            return JSON if nullable else STRING
        case Form.BYTES:
            return DYN if nullable else BYTES
        case _:
            return JSON


_SCALARS = {"bool": BOOL, "int": INT, "double": DOUBLE, "string": STRING, "bytes": BYTES, "timestamp": TIMESTAMP}
_SCALARS["json"] = JSON


def schema_type(schema: object, name: str = "data") -> CelType:
    """The type that a user's schema describes.

    A schema is one of the names bool, int, double, string, bytes, timestamp, json; a list with one schema, for lists;
    or a mapping from field name to schema, for objects: `{"order": {"id": "string", "lines": [{"qty": "int"}]}}`.

    Raises:
        ValueError: where the schema is none of these.
    """
    match schema:
        case str() if schema in _SCALARS:
            return _SCALARS[schema]
        case Mapping():
            fields = tuple((str(k), Field(schema_type(v, f"{name}.{k}"))) for k, v in schema.items())
            return Record(name, fields=fields)
        case Sequence() if not isinstance(schema, str) and len(schema) == 1:
            return list_of(schema_type(schema[0], f"{name}[]"))
        case _:
            raise ValueError(f"{name}: not a schema: {schema!r}; one of {', '.join(_SCALARS)}, a list or a mapping")
