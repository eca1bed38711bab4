"""What a policy is: to which messages it applies, what it checks, and what becomes of a message that fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from ..documents.document import Place
from ..environments.model import Environment
from ..environments.mqtt_message import MQTT_MESSAGE


class Strategy(StrEnum):
    """How the checks of a policy make one outcome."""

    ALL_PASS = "all_pass"
    ANY_PASS = "any_pass"


class Action(StrEnum):
    """What becomes of a message that fails. `ignore` records the failure and lets the message go on."""

    IGNORE = "ignore"
    DROP = "drop"
    DISCONNECT = "disconnect"

    @property
    def stops(self) -> bool:
        """Whether the message goes no further."""
        return self is not Action.IGNORE


class CheckType(StrEnum):
    """What a check is about."""

    SQL = "sql"
    JSON = "json"
    AVRO = "avro"
    PROTOBUF = "protobuf"
    EXTERNAL_HTTP = "external_http"


class LogLevel(StrEnum):
    """At which level a failure is logged."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"
    INFO = "info"
    DEBUG = "debug"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Check:
    """One check: the text of a condition, or the name of a schema and, for Protobuf, of its message type."""

    type: CheckType
    text: str
    message_type: str = ""
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Policy:
    """One validation. Of two policies the one with the lower `order` is judged first.

    `topics` are topic filters, one of which a message's topic matches where the policy applies to it.
    """

    name: str
    order: int
    topics: tuple[str, ...]
    checks: tuple[Check, ...]
    strategy: Strategy
    on_failure: Action
    log_level: LogLevel = LogLevel.INFO
    enabled: bool = True
    tags: tuple[str, ...] = ()
    description: str = ""
    environment: Environment = field(default=MQTT_MESSAGE, compare=False, repr=False)
