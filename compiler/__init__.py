"""The compiler: filters in any dialect become one checked CEL expression. No Spark, no Kubernetes, no files."""

from .check import Checked, check
from .compile import CheckedFilter, CompileError, check_filter, check_translation
from .diagnostics import CODES, Code, Diagnostic, Severity, errors
from .dialects import Translation
from .environment import CLOUD_EVENT, KAFKA_RECORD, MQTT_MESSAGE, Environment, cloud_event, schema_type
from .manifest import Trigger, duplicate_triggers, read_manifests
from .nodes import Expr, conjuncts
from .parse import parse
from .requirements import Requirements, requirements
from .source import Position, Source, Span
from .unparse import unparse

__all__ = [
    "CLOUD_EVENT",
    "CODES",
    "KAFKA_RECORD",
    "MQTT_MESSAGE",
    "Checked",
    "CheckedFilter",
    "Code",
    "CompileError",
    "Diagnostic",
    "Environment",
    "Expr",
    "Position",
    "Requirements",
    "Severity",
    "Source",
    "Span",
    "Translation",
    "Trigger",
    "check",
    "check_filter",
    "check_translation",
    "cloud_event",
    "conjuncts",
    "duplicate_triggers",
    "errors",
    "parse",
    "read_manifests",
    "requirements",
    "schema_type",
    "unparse",
]
