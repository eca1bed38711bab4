"""Triggers from files: read, compiled, all problems at once."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tricel.compiler import (
    CLOUD_EVENT,
    CompileError,
    Diagnostic,
    Environment,
    Limits,
    Source,
    Trigger,
    check_translation,
    duplicate_triggers,
    errors,
    read_manifests,
)
from tricel.compiler.limits import DEFAULT
from tricel.compiler.source import NOWHERE
from tricel.spark_backend.engines import DEFAULT_ENGINE
from tricel.spark_backend.lowered import CompiledFilter, lower_filter

_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
STDIN = "-"


@dataclass(frozen=True)
class CompiledTrigger:
    """A Trigger and its filter, compiled."""

    manifest: Trigger
    compiled: CompiledFilter

    @property
    def id(self) -> str:
        """`namespace/name`, or the name where the manifest has no namespace."""
        return self.manifest.id

    @property
    def on_error(self) -> str:
        """What the manifest asks for where the filter errs: drop, deliver or fail; empty where it asks for nothing."""
        return self.manifest.on_error

    @property
    def destination(self) -> str:
        """The name of the subscriber: its URI, or its reference as kubectl writes it."""
        return self.manifest.destination


def load_triggers(
    *paths: str | Path,
    environment: Environment = CLOUD_EVENT,
    engine: str = DEFAULT_ENGINE,
    limits: Limits = DEFAULT,
) -> tuple[CompiledTrigger, ...]:
    """Compiles every Trigger in the manifests: files, directories (`*.yaml *.yml *.json` below them), or `-` for stdin.

    `limits` bounds each filter's size and estimated cost.

    Raises:
        CompileError: where any Trigger is wrong, with the diagnostics of all.
        OSError: where a path cannot be read.
    """
    triggers, diagnostics = read_triggers(paths, environment=environment, engine=engine, limits=limits)
    if errors(diagnostics):
        raise CompileError(diagnostics)
    return triggers


def read_triggers(
    paths: Iterable[str | Path],
    *,
    environment: Environment = CLOUD_EVENT,
    engine: str = DEFAULT_ENGINE,
    limits: Limits = DEFAULT,
) -> tuple[tuple[CompiledTrigger, ...], tuple[Diagnostic, ...]]:
    """The Triggers that compile, and every diagnostic."""
    manifests: list[Trigger] = []
    diagnostics: list[Diagnostic] = []
    for source in _sources(paths):
        found, problems = read_manifests(source)
        manifests.extend(found)
        diagnostics.extend(problems)
    return compile_manifests(manifests, diagnostics, environment=environment, engine=engine, limits=limits)


def compile_manifests(
    manifests: Iterable[Trigger],
    before: Iterable[Diagnostic],
    *,
    environment: Environment,
    engine: str,
    limits: Limits = DEFAULT,
) -> tuple[tuple[CompiledTrigger, ...], tuple[Diagnostic, ...]]:
    """The Triggers that compile, and every diagnostic, those from `before` first."""
    manifests = tuple(manifests)
    diagnostics = [*before, *duplicate_triggers(manifests)]
    compiled = []
    for manifest in manifests:
        trigger, problems = _compile(manifest, environment, engine, limits)
        diagnostics.extend(problems)
        if trigger is not None:
            compiled.append(trigger)
    return tuple(compiled), tuple(diagnostics)


def warning_of_none(
    triggers: Sequence[CompiledTrigger], diagnostics: Sequence[Diagnostic], paths: Sequence[str]
) -> tuple[Diagnostic, ...]:
    """TRI607 where the manifests at the paths hold no Trigger, not even a wrong one."""
    if triggers or errors(tuple(diagnostics)):
        return ()
    help_ = "check the path, and each manifest's apiVersion and kind"
    return (Diagnostic("TRI607", "there is no Trigger here", Source("", ", ".join(paths)), NOWHERE, help_),)


def _compile(
    manifest: Trigger, environment: Environment, engine: str, limits: Limits
) -> tuple[CompiledTrigger | None, tuple[Diagnostic, ...]]:
    checked, diagnostics = check_translation(manifest.translation, environment, limits=limits)
    if checked is None:
        return None, diagnostics
    try:
        compiled = lower_filter(checked, engine=engine)
    except CompileError as e:
        return None, e.diagnostics
    return CompiledTrigger(manifest, compiled), compiled.diagnostics


def _sources(paths: Iterable[str | Path]) -> Iterator[Source]:
    for path in paths:
        if str(path) == STDIN:
            yield _decoded(sys.stdin.buffer.read(), "<stdin>")
            continue
        for file in manifest_files(Path(path)):
            yield _decoded(file.read_bytes(), str(file))


def manifest_files(path: Path) -> list[Path]:
    """The manifest files at a path, in order: itself, or those below a directory.

    A mounted ConfigMap has its files once more below a directory whose name begins with `..`, which is passed over.
    """
    if path.is_dir():
        found = (f for f in path.rglob("*") if f.suffix in _SUFFIXES and f.is_file())
        return sorted(f for f in found if not any(part.startswith("..") for part in f.relative_to(path).parts))
    return [path]


def _decoded(content: bytes, name: str) -> Source:
    """Bytes that are not UTF-8 become U+FFFD, which no name or syntax has, so the reader reports them in place."""
    return Source(content.decode("utf-8-sig", "replace"), name)
