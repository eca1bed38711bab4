"""tricel: event filters in any dialect, as one CEL expression, on Apache Spark."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

try:
    import_module("tricel.compiler")
except ModuleNotFoundError as e:
    if e.name not in ("tricel.compiler", "tricel.grammar"):
        raise
    raise ImportError("tricel is not installed: run `make demo` or `make dev` in the checkout") from e

from tricel.compiler import CLOUD_EVENT, CompileError, Diagnostic, Environment, Limits, check_filter
from tricel.compiler.limits import DEFAULT
from tricel.spark_backend.engines import DEFAULT_ENGINE
from tricel.spark_backend.lowered import CompiledFilter, Conjunct, lower_filter

from .triggers import CompiledTrigger, load_triggers

__all__ = [
    "CLOUD_EVENT",
    "CompileError",
    "CompiledFilter",
    "CompiledTrigger",
    "Conjunct",
    "Diagnostic",
    "Environment",
    "Limits",
    "compile_filter",
    "load_triggers",
]


def compile_filter(
    filter_: str | Mapping[str, object],
    environment: Environment = CLOUD_EVENT,
    *,
    engine: str = DEFAULT_ENGINE,
    label: str = "<filter>",
    limits: Limits = DEFAULT,
) -> CompiledFilter:
    """Compiles a filter: CEL text, or a mapping as in a Trigger (`attributes`, `expression`, `filters`, `exact`, ...).

    `engine` names what evaluates the parts that Spark cannot; `label` names the text in diagnostics. `limits` bounds
    the filter's size and estimated cost.

    Raises:
        CompileError: where the filter is wrong, with every diagnostic.
    """
    checked, diagnostics = check_filter(filter_, environment, label=label, limits=limits)
    if checked is None:
        raise CompileError(diagnostics)
    return lower_filter(checked, engine=engine)
