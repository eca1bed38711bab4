"""Triggers from files: read, compiled, all problems at once."""

from __future__ import annotations

import sys
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
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
    Span,
    Trigger,
    check_translation,
    duplicate_triggers,
    errors,
    read_manifests,
)
from tricel.compiler.diagnostics import in_order
from tricel.compiler.diagnostics.as_text import visible
from tricel.compiler.dialects import BY_SUFFIX, Dialect, dialect_named
from tricel.compiler.limits import DEFAULT
from tricel.compiler.manifests.filter_file import read_filter_file
from tricel.compiler.manifests.schema_validation import HOCON_SUFFIXES, is_configuration, read_validations
from tricel.compiler.source import NOWHERE
from tricel.compiler.versions import LanguageVersion
from tricel.manifest_files import find
from tricel.spark_backend.compiled_filter import CompiledFilter, in_a_line, lower_filter
from tricel.spark_backend.engines import DEFAULT_ENGINE

STDIN = "-"
_UTF_16 = "this looks like UTF-16, which some shells write with '>': save the file as UTF-8"


@dataclass(frozen=True, repr=False)
class CompiledTrigger:
    """A Trigger and its filter, compiled."""

    manifest: Trigger
    compiled: CompiledFilter

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {visible(self.id)}: {in_a_line(self.compiled.cel)}>"

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

    @property
    def topic(self) -> str:
        """The topic of Kafka that the annotation `tricel.dev/topic` names; empty where it is absent."""
        return self.manifest.topic


def load_triggers(
    *paths: str | Path,
    environment: Environment = CLOUD_EVENT,
    engine: str = DEFAULT_ENGINE,
    limits: Limits = DEFAULT,
    dialect: str | None = None,
) -> tuple[CompiledTrigger, ...]:
    """Compiles every Trigger in the manifests: files, directories (`*.yaml *.yml *.json` below them), or `-` for stdin.

    A file with the suffix of a dialect (`.cel`, `.cesql`, `.labels`), also below a directory, is one filter of it, and a
    Trigger that is called as the file is. With a `dialect` every file that is given is one filter of that dialect.
    `limits` bounds each filter's size and estimated cost.

    Raises:
        CompileError: where any Trigger is wrong, with the diagnostics of all.
        OSError: where a path cannot be read.
        ValueError: where there is no such dialect.
    """
    triggers, diagnostics = read_triggers(paths, environment=environment, engine=engine, limits=limits, dialect=dialect)
    if errors(diagnostics):
        raise CompileError(diagnostics)
    return triggers


def read_triggers(
    paths: Iterable[str | Path],
    *,
    environment: Environment = CLOUD_EVENT,
    engine: str = DEFAULT_ENGINE,
    limits: Limits = DEFAULT,
    target: str = "",
    ignoring: bool = False,
    version: LanguageVersion | None = None,
    dialect: str | None = None,
) -> tuple[tuple[CompiledTrigger, ...], tuple[Diagnostic, ...]]:
    """The Triggers that compile, and every diagnostic in the order of the files, and of the places in a file.

    A file with the suffix of a dialect is one filter of it; with a `dialect` so is every file, and of a folder the files
    with its suffix are read alone.
    With the `target` `knative` what an API server would drop is an error. `ignoring` leaves out of a folder what
    `.gitignore` names. `version` is that of the filter language, in place of the one that each Trigger names.
    """
    manifests, before, names = read_manifest_files(
        paths, target=target, ignoring=ignoring, dialect=dialect, limits=limits
    )
    compiled, every = compile_manifests(
        manifests, before, environment=environment, engine=engine, limits=limits, version=version
    )
    return compiled, in_order(every, names)


def read_manifest_files(
    paths: Iterable[str | Path],
    *,
    target: str = "",
    ignoring: bool = False,
    dialect: str | None = None,
    limits: Limits = DEFAULT,
) -> tuple[tuple[Trigger, ...], tuple[Diagnostic, ...], tuple[str, ...]]:
    """The Triggers in the manifests, what is wrong but for their filters, and the names of the files in their order."""
    manifests: list[Trigger] = []
    diagnostics: list[Diagnostic] = []
    names: list[str] = []
    row = None if dialect is None else dialect_named(dialect)
    for path in paths:
        for text in read_texts(path, ignoring=ignoring, dialect=row):
            found, problems = ((), ()) if text.unreadable else _triggers(text, row, limits, target)
            manifests.extend(found)
            diagnostics.extend((*text.unreadable, *problems))
            names.append(text.source.name)
    return tuple(manifests), tuple(diagnostics), tuple(names)


def _triggers(
    text: ManifestText, dialect: Dialect | None, limits: Limits, target: str
) -> tuple[tuple[Trigger, ...], tuple[Diagnostic, ...]]:
    """The Triggers of a text: that of one filter of the dialect, or of the one of its suffix, or those of manifests.

    A configuration of EMQX has none; its message validations are checked.
    """
    chosen = dialect or text.dialect
    if chosen is None and is_configuration(text.source):
        return (), read_validations(text.source)[1]
    return (
        read_manifests(text.source, target=target) if chosen is None else read_filter_file(text.source, chosen, limits)
    )


def compile_manifests(
    manifests: Iterable[Trigger],
    before: Iterable[Diagnostic],
    *,
    environment: Environment,
    engine: str,
    limits: Limits = DEFAULT,
    version: LanguageVersion | None = None,
) -> tuple[tuple[CompiledTrigger, ...], tuple[Diagnostic, ...]]:
    """The Triggers that compile, and every diagnostic, those from `before` first.

    `version` is that of the filter language, in place of the one that each Trigger names.
    """
    manifests = tuple(manifests)
    diagnostics = [*before, *duplicate_triggers(manifests)]
    compiled = []
    for manifest in manifests:
        trigger, problems = _compile(manifest, environment, engine, limits, version or manifest.version)
        diagnostics.extend(problems)
        if trigger is not None:
            compiled.append(trigger)
    return tuple(compiled), tuple(diagnostics)


def warning_of_none(
    triggers: Sequence[object], diagnostics: Sequence[Diagnostic], paths: Sequence[str]
) -> tuple[Diagnostic, ...]:
    """TRI607 where the manifests at the paths hold no Trigger, not even a wrong one, and none is a configuration."""
    if triggers or errors(tuple(diagnostics)) or any(Path(path).suffix in HOCON_SUFFIXES for path in paths):
        return ()
    help_ = "check the path, and each manifest's apiVersion and kind"
    return (Diagnostic("TRI607", "there is no Trigger here", Source("", ", ".join(paths)), NOWHERE, help_),)


def _compile(
    manifest: Trigger, environment: Environment, engine: str, limits: Limits, version: LanguageVersion
) -> tuple[CompiledTrigger | None, tuple[Diagnostic, ...]]:
    checked, diagnostics = check_translation(manifest.translation, environment, limits=limits, version=version)
    if checked is None:
        return None, diagnostics
    try:
        compiled = lower_filter(checked, engine=engine)
    except CompileError as e:
        return None, e.diagnostics
    return CompiledTrigger(manifest, compiled), compiled.diagnostics


@dataclass(frozen=True)
class ManifestText:
    """One text of manifests, and what keeps it from being read; a warning of a folder has no text.

    `file` is where it is from, None for standard input, and `content` its bytes.
    """

    source: Source
    unreadable: tuple[Diagnostic, ...] = ()
    file: Path | None = None
    content: bytes = b""

    @property
    def dialect(self) -> Dialect | None:
        """The dialect of which it is one filter, by the suffix of its name; None where it has manifests."""
        return BY_SUFFIX.get(Path(self.source.name).suffix)


def read_texts(path: str | Path, *, ignoring: bool = False, dialect: Dialect | None = None) -> Iterator[ManifestText]:
    """Each text at a path: of a file, of the files below a folder, or of standard input for `-`.

    With a `dialect` the files below a folder are those of its filters.

    Raises:
        OSError: where the path cannot be read.
    """
    if str(path) == STDIN:
        content = sys.stdin.buffer.read()
        yield ManifestText(*decoded(content, "<stdin>"), content=content)
        return
    found = find(Path(path), ignoring=ignoring, dialect=dialect)
    for warning in found.warnings:
        yield ManifestText(warning.source, (warning,))
    for file in found.files:
        content = file.read_bytes()
        yield ManifestText(*decoded(content, str(file)), file, content)


def decoded(content: bytes, name: str) -> tuple[Source, tuple[Diagnostic, ...]]:
    """A file's text, and TRI306 at the first byte that is not UTF-8."""
    source = Source(content.decode("utf-8-sig", "replace"), name)
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as e:
        at = len(content[: e.start].decode("utf-8-sig"))
        message = f"not UTF-8: byte 0x{content[e.start]:02X}"
        help_ = _UTF_16 if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "save the file as UTF-8"
        return source, (Diagnostic("TRI306", message, source, Span(at, at + 1), help_),)
    return source, ()
