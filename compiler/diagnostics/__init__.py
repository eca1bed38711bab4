"""Diagnostics: the model, the codes, and one renderer for each output format."""

from .codes import CODES, Code
from .model import Diagnostic, Severity, errors, in_order

__all__ = ["CODES", "Code", "Diagnostic", "Severity", "errors", "in_order"]
