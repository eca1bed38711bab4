"""The environments that there are, by name, and any environment as plain data that outlasts the process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from ..celtypes import CelType, Field, Record
from .cloudevent import CLOUD_EVENT
from .kafka_record import KAFKA_RECORD
from .model import Attributes, Environment, Form, Storage
from .mqtt_message import MQTT_MESSAGE
from .mqtt_session import MQTT_SESSION

KNOWN = {environment.name: environment for environment in (CLOUD_EVENT, KAFKA_RECORD, MQTT_MESSAGE, MQTT_SESSION)}
BY_OPTION = {environment.name.lower().replace(" ", "-"): environment for environment in KNOWN.values()}
"""The same by what the command line calls them."""


def described(environment: Environment) -> object:
    """The environment as plain data, for `from_description`: its name where it is one of those here.

    What such a one says beside the types is not repeated.
    """
    base = KNOWN.get(environment.name, Environment(environment.name, ()))
    if base == environment:
        return environment.name
    roots = [[name, _description(type_)] for name, type_ in environment.roots]
    found: dict[str, object] = {"name": environment.name, "container": environment.container, "roots": roots}
    if environment.attributes != base.attributes:
        found["attributes"] = None if environment.attributes is None else asdict(environment.attributes)
    if environment.payload != base.payload:
        found["payload"] = environment.payload
    if environment.storage != base.storage:
        found["storage"] = [[name, _stored(storage)] for name, storage in environment.storage]
    return found


def from_description(value: Any) -> Environment:
    """The environment that `described` has made this of.

    Raises:
        ValueError: where it is no such thing.
    """
    try:
        match value:
            case str():
                return KNOWN[value]
            case {"name": str(name), "container": str(container), "roots": list(roots)}:
                base = KNOWN.get(name, Environment(name, ()))
                found = replace(base, roots=tuple((n, _described_type(t)) for n, t in roots), container=container)
                return _with_parts(found, value)
    except (LookupError, TypeError, ValueError):
        pass
    raise ValueError(f"not the description of an environment: {value!r}")


def _with_parts(environment: Environment, value: Mapping[str, Any]) -> Environment:
    """The environment with what a description says beside names and types."""
    found = environment
    if "attributes" in value:
        given = value["attributes"]
        attributes = None if given is None else Attributes(tuple(given["holders"]), times=tuple(given["times"]))
        if attributes is not None:
            attributes = replace(attributes, others=str(given["others"]), media_type=str(given["media_type"]))
        found = replace(found, attributes=attributes)
    if "payload" in value:
        found = replace(found, payload=str(value["payload"]))
    if "storage" in value:
        found = replace(found, storage=tuple((name, _described_storage(**row)) for name, row in value["storage"]))
    return found


def _stored(storage: Storage) -> dict[str, object]:
    row = asdict(storage)
    del row["advice"]
    return row | {"columns": list(storage.columns), "form": str(storage.form)}


def _described_storage(columns: list[str], form: str, default: str, nullable: bool, optional: bool) -> Storage:
    return Storage(tuple(columns), Form(form), default, nullable, optional)


def _description(type_: CelType) -> object:
    if isinstance(type_, Record):
        fields = [[n, _description(f.type), f.required] for n, f in type_.fields]
        others = None if type_.others is None else _description(type_.others)
        return {"name": type_.name, "fields": fields, "others": others}
    return {"name": type_.name, "of": [_description(p) for p in type_.params]} if type_.params else type_.name


def _described_type(value: object) -> CelType:
    match value:
        case str():
            return CelType(value)
        case {"name": str(name), "fields": list(fields), "others": others}:
            declared = tuple((n, Field(_described_type(type_), required)) for n, type_, required in fields)
            return Record(name, fields=declared, others=None if others is None else _described_type(others))
        case {"name": str(name), "of": list(params)}:
            return CelType(name, tuple(map(_described_type, params)))
        case _:
            raise TypeError(f"not a type: {value!r}")
