"""The options of a message validation as data: what the reader checks, its JSON schema and its page are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..policies.model import Action, CheckType, LogLevel, Strategy

NAME = "[0-9A-Za-z][-0-9A-Za-z_]*"
"""How a validation is called, as an RE2 pattern."""
LONGEST_NAME = 254
ROOTS = ("schema_validation", "message_validation")
"""The root of a configuration: EMQX's, and that of the document which proposed it."""


class Kind(StrEnum):
    """What kind of value an option takes."""

    TEXT = "text"
    TEXTS = "texts"
    TEXT_OR_TEXTS = "text or texts"
    BOOLEAN = "boolean"
    OBJECT = "object"
    CHECKS = "checks"


@dataclass(frozen=True, slots=True)
class Option:
    """One option. `now` is what took the place of one that is out of use, `default` what holds where it is absent."""

    name: str
    kind: Kind
    doc: str
    required: bool = False
    choices: tuple[str, ...] = ()
    default: Any = None
    options: tuple[Option, ...] = ()
    now: str = ""


LEVELS = tuple(LogLevel)

VALIDATION = (
    Option("name", Kind.TEXT, f"The name: a letter or digit, then letters, digits, `_` and `-`, up to {LONGEST_NAME}; each once.", required=True),
    Option("tags", Kind.TEXTS, "Words for people.", default=[]),
    Option("description", Kind.TEXT, "What it is for.", default=""),
    Option("enable", Kind.BOOLEAN, "Whether it is judged; one that is not matches nothing.", default=True),
    Option("topics", Kind.TEXT_OR_TEXTS, "Topic filters; it applies to messages whose topic matches one of them.", required=True),
    Option("strategy", Kind.TEXT, "Whether all checks or any of them must pass.", required=True, choices=tuple(Strategy)),
    Option("failure_action", Kind.TEXT, "What becomes of a message that fails; `ignore` lets it go on, `disconnect` drops it, too.", required=True, choices=tuple(Action)),
    Option("log_failure", Kind.OBJECT, "How a failure is logged.", options=(Option("level", Kind.TEXT, "The level of the log.", choices=LEVELS, default="info"),)),
    Option("checks", Kind.CHECKS, "What is checked, in order.", required=True),
    Option("log_failure_at", Kind.TEXT, "The level of the log.", choices=LEVELS, now="log_failure { level = ... }"),
    Option("type", Kind.TEXT, "What the entry is.", choices=("validation",), now="nothing: every entry of 'validations' is one"),
)  # fmt: skip
"""The options of one validation."""

_TYPE = Option("type", Kind.TEXT, "What is checked.", required=True, choices=tuple(CheckType))
_SCHEMA = Option("schema", Kind.TEXT, "The name of a schema in the registry.", required=True)

CHECKS: dict[CheckType, tuple[Option, ...]] = {
    CheckType.SQL: (_TYPE, Option("sql", Kind.TEXT, "`SELECT ... WHERE ...` without `FROM`; it passes where the condition holds.", required=True)),
    CheckType.JSON: (_TYPE, _SCHEMA),
    CheckType.AVRO: (_TYPE, _SCHEMA),
    CheckType.PROTOBUF: (_TYPE, _SCHEMA, Option("message_type", Kind.TEXT, "The name of the message type in the schema.", required=True)),
    CheckType.EXTERNAL_HTTP: (_TYPE, _SCHEMA),
}  # fmt: skip
"""The options of a check, by its type."""
REFUSED = {
    CheckType.EXTERNAL_HTTP: "it asks a service for each message, and its answer is no function of the message",
}
"""The types that are refused, with the reason."""


def json_schema() -> dict[str, Any]:
    """The JSON schema (2020-12) of a configuration with the options in use."""
    entry = _object(VALIDATION)
    validations = {"type": "object", "required": ["validations"], "properties": {"validations": {"type": "array", "items": entry}}, "additionalProperties": False}  # fmt: skip
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": [ROOTS[0]],
        "properties": {ROOTS[0]: validations},
    }


def _object(options: Iterable[Option]) -> dict[str, Any]:
    used = [option for option in options if not option.now]
    required = [option.name for option in used if option.required]
    schema = {"type": "object", "properties": {o.name: _schema(o) for o in used}, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def _schema(option: Option) -> dict[str, Any]:
    said: dict[str, Any] = {"description": option.doc}
    if option.default is not None:
        said["default"] = option.default
    text: dict[str, Any] = {"type": "string"}
    texts = {"type": "array", "items": text}
    match option.kind:
        case Kind.TEXT if option.choices:
            return {**said, "enum": [str(choice) for choice in option.choices]}
        case Kind.TEXT if option.name == "name":
            return {**said, **text, "pattern": f"^{NAME}$", "maxLength": LONGEST_NAME}
        case Kind.TEXT:
            return {**said, **text}
        case Kind.TEXTS:
            return {**said, **texts}
        case Kind.TEXT_OR_TEXTS:
            return {**said, "anyOf": [text, {**texts, "minItems": 1, "uniqueItems": True}]}
        case Kind.BOOLEAN:
            return {**said, "type": "boolean"}
        case Kind.OBJECT:
            return {**said, **_object(option.options)}
        case Kind.CHECKS:
            return {**said, "type": "array", "minItems": 1, "items": {"oneOf": _checks()}}


def _checks() -> list[dict[str, Any]]:
    found = []
    for type_, options in CHECKS.items():
        if type_ not in REFUSED:
            schema = _object(options)
            schema["properties"] = {**schema["properties"], "type": {"const": str(type_)}}
            found.append(schema)
    return found
