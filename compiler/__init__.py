"""The compiler: filters in any dialect become one checked CEL expression. No Spark, no Kubernetes, no files."""

from .check import Checked, check
from .compile import CheckedFilter, CompileError, check_filter, check_translation
from .diagnostics import CODES, Code, Diagnostic, Severity, errors
from .dialects import Translation
from .environment import CLOUD_EVENT, KAFKA_RECORD, MQTT_MESSAGE, Environment, cloud_event, schema_type
from .fieldpath import field_of
from .limits import Limits
from .manifest import Trigger, changed_immutable_fields, duplicate_triggers, read_manifests, read_object
from .names import resolve
from .nodes import Expr, conjunction, conjuncts
from .parse import parse
from .requirements import Requirements, requirements, together
from .rewrites import simplified
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
    "Limits",
    "Position",
    "Requirements",
    "Severity",
    "Source",
    "Span",
    "Translation",
    "Trigger",
    "changed_immutable_fields",
    "check",
    "check_filter",
    "check_translation",
    "cloud_event",
    "conjunction",
    "conjuncts",
    "duplicate_triggers",
    "errors",
    "field_of",
    "parse",
    "read_manifests",
    "read_object",
    "requirements",
    "resolve",
    "schema_type",
    "simplified",
    "together",
    "unparse",
]
