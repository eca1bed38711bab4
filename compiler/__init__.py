"""The compiler: filters in any dialect become one checked CEL expression. No Spark, no Kubernetes, no files."""

from .analysis.requirements import Requirements, requirements, together
from .check import Checked, check
from .compile import CheckedFilter, CompileError, check_filter, check_translation
from .conversion.convert import Conversion, convert
from .diagnostics import CODES, Code, Diagnostic, Severity, errors
from .dialects import DIALECTS, Dialect, Translation
from .documents.fieldpath import field_of
from .environments.cloudevent import CLOUD_EVENT, cloud_event
from .environments.kafka_record import KAFKA_RECORD, kafka_record
from .environments.model import Environment, schema_type
from .environments.mqtt_message import MQTT_MESSAGE, mqtt_message
from .environments.mqtt_session import MQTT_SESSION
from .limits import Limits
from .manifests.trigger import Trigger, changed_immutable_fields, duplicate_triggers, read_manifests, read_object
from .names import resolve
from .nodes import Expr, conjunction, conjuncts
from .parse import parse
from .rewrites import simplified
from .source import Position, Source, Span
from .union import Union, union
from .unparse import unparse

__all__ = [
    "CLOUD_EVENT",
    "CODES",
    "DIALECTS",
    "KAFKA_RECORD",
    "MQTT_MESSAGE",
    "MQTT_SESSION",
    "Checked",
    "CheckedFilter",
    "Code",
    "CompileError",
    "Conversion",
    "Diagnostic",
    "Dialect",
    "Environment",
    "Expr",
    "Limits",
    "Position",
    "Requirements",
    "Severity",
    "Source",
    "Span",
    "Translation",
    "Trigger",
    "Union",
    "changed_immutable_fields",
    "check",
    "check_filter",
    "check_translation",
    "cloud_event",
    "conjunction",
    "conjuncts",
    "convert",
    "duplicate_triggers",
    "errors",
    "field_of",
    "kafka_record",
    "mqtt_message",
    "parse",
    "read_manifests",
    "read_object",
    "requirements",
    "resolve",
    "schema_type",
    "simplified",
    "together",
    "union",
    "unparse",
]
