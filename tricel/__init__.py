"""tricel: event filters in any dialect, as one CEL expression, on Apache Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module, metadata

try:
    import_module("tricel.compiler")
except ModuleNotFoundError as e:
    if e.name not in ("tricel.compiler", "tricel.grammar"):
        raise
    raise ImportError("tricel is not installed: run `make demo` or `make dev` in the checkout") from e

from tricel.compiler import CLOUD_EVENT, CompileError, Diagnostic, Environment, Limits, check_filter
from tricel.compiler.limits import DEFAULT
from tricel.compiler.versions import CURRENT, language_named
from tricel.spark_backend.compiled_filter import CompiledFilter, Conjunct, lower_filter
from tricel.spark_backend.engines import DEFAULT_ENGINE
from tricel.spark_backend.failure import TricelWarning
from tricel.spark_backend.sql.layout import LayoutError
from tricel.triggers import CompiledTrigger, load_triggers

__all__ = [
    "CLOUD_EVENT",
    "CompileError",
    "CompiledFilter",
    "CompiledTrigger",
    "Conjunct",
    "Diagnostic",
    "Environment",
    "LayoutError",
    "Limits",
    "TricelWarning",
    "__version__",
    "compile_filter",
    "load_triggers",
]


try:
    __version__ = metadata.version("tricel")
except metadata.PackageNotFoundError:  # only its modules are here, as in a bundle for executors
    __version__ = "unknown"


def compile_filter(
    filter_: str | Mapping[str, object] | Sequence[object],
    environment: Environment = CLOUD_EVENT,
    *,
    dialect: str | None = None,
    engine: str = DEFAULT_ENGINE,
    label: str = "<filter>",
    limits: Limits = DEFAULT,
    language: str | None = None,
) -> CompiledFilter:
    """Compiles a filter of the `dialect` named; without one, CEL text, or a mapping as in a Trigger.

    Such a mapping has `attributes`, `expression`, `filters`, `exact`, .... With a dialect the filter is what it takes: a
    text, or the value that stands under its name in a Trigger, as data or as YAML or JSON text.
    The `environment` is what the filter may name; in place of a CloudEvent it is the dialect's own, where it has one. `engine` names what
    evaluates the parts that Spark cannot; `label` names the text in diagnostics. `limits` bounds the filter's size and
    estimated cost. `language` is the version of the language, `v1` where it is not named.

    Raises:
        CompileError: where the filter is wrong, with every diagnostic.
        TypeError: where it is neither text nor a mapping (with a dialect, nor a list), or the environment is none.
        ValueError: where there is no such dialect, or no such version of the language, or the dialect is about
            other events.
    """
    if not isinstance(filter_, str | Mapping | (Sequence if dialect is not None else str)):
        raise TypeError(f"compile_filter() takes CEL text or a mapping as in a Trigger, not {type(filter_).__name__}")
    if not isinstance(environment, Environment):
        raise TypeError(f"compile_filter() takes an Environment, such as CLOUD_EVENT, not {type(environment).__name__}")
    for name, value, wanted in (("dialect", dialect, str), ("language", language, str), ("limits", limits, Limits)):
        if (value is not None and not isinstance(value, wanted)) or (value is None and wanted is Limits):
            raise TypeError(f"compile_filter() takes {name} as {wanted.__name__}, not {type(value).__name__}")
    checked, diagnostics = check_filter(
        filter_,
        environment,
        dialect=dialect,
        label=label,
        limits=limits,
        version=CURRENT if language is None else language_named(language),
    )
    if checked is None:
        raise CompileError(diagnostics)
    return lower_filter(checked, engine=engine)
