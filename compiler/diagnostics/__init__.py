"""Diagnostics: the model, the codes, and one renderer for each output format."""

from .code import Code
from .codes import CODES
from .model import Diagnostic, Severity, errors, in_order

__all__ = ["CODES", "Code", "Diagnostic", "Severity", "errors", "in_order"]
