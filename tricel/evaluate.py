"""Filters over JSON Lines, without Spark: events from files or standard input, compressed or not."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO, cast

from tricel.compiler import CLOUD_EVENT, CompileError, Diagnostic, Environment
from tricel.compiler.diagnostics.as_text import visible
from tricel.compiler.event_lines import read_line
from tricel.compiler.values.cloudevents import Event, is_blank
from tricel.compiler.values.malformed import CORRUPT
from tricel.spark_backend.compiled_filter import CompiledFilter
from tricel.spark_backend.engines import Refusal
from tricel.spark_backend.fallback.activation import Activation, Job, Runner
from tricel.spark_backend.fallback.jobs import UNKNOWN, explaining_job, failure_of, job_of

STDIN = "-"
_GZIP = b"\x1f\x8b"
_TOLD = 10
"""How many lines of each kind are told of by themselves."""


@dataclass
class EvaluationCounts:
    """What became of the lines: read = matched + filtered + errored + malformed."""

    matched: int = 0
    filtered: int = 0
    errored: int = 0
    malformed: int = 0

    def __str__(self) -> str:
        """One line for people."""
        read = self.matched + self.filtered + self.errored + self.malformed
        return (
            f"{read} events read: {self.matched} matched, {self.filtered} filtered, "
            f"{self.errored} errored, {self.malformed} malformed"
        )


@dataclass(frozen=True, slots=True)
class Line:
    """One line of events, without its line break; `damaged` where the file cannot be read any further."""

    file: str
    number: int
    content: bytes
    damaged: bool = False

    def __str__(self) -> str:
        """Where it is: `file:line`."""
        return f"{visible(self.file)}:{self.number}"


@dataclass
class Troubles:
    """Tells of lines that have no outcome: of the first of each kind as they come, of the others how many there were."""

    tell: Callable[[str], None]
    _seen: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, line: Line, reason: str) -> None:
        """One more line of a kind."""
        self._seen[kind] = self._seen.get(kind, 0) + 1
        if self._seen[kind] <= _TOLD:
            self.tell(f"{line}: {kind}: {visible(reason)}")

    def end(self) -> None:
        """There are no more lines."""
        for kind, count in self._seen.items():
            if count > _TOLD:
                self.tell(f"... and {count - _TOLD:,} other lines: {kind}")


def read_lines(paths: Sequence[str]) -> Iterator[Line]:
    """The lines of files, one after the other; `-` is standard input. What begins as gzip does is decompressed.

    Raises:
        OSError: where a file cannot be opened or read; before the first line where one is not there.
    """
    for path in paths:
        if path != STDIN:
            os.stat(path)
    for path in paths:
        name = "<stdin>" if path == STDIN else path
        number = 0
        with _opened(path) as stream:
            try:
                for number, content in enumerate(stream, 1):
                    yield Line(name, number, content.rstrip(b"\r\n"))
            except (EOFError, gzip.BadGzipFile, zlib.error):
                yield Line(name, number + 1, b"", damaged=True)


def evaluate_lines(
    filters: Sequence[tuple[str, CompiledFilter]],
    engine: str,
    lines: Iterable[Line],
    emit: Callable[[bytes], None],
    tell: Callable[[str], None],
    environment: Environment = CLOUD_EVENT,
) -> EvaluationCounts:
    """Emits each line whose event any of the filters matches, and tells of those that are malformed or that erred.

    `filters` have their names and are about events of the environment. An event that none matches and one errs on is errored.

    Raises:
        CompileError: where the engine cannot evaluate a filter; nothing is emitted then.
    """
    runners = [Runner(_job(f, engine)) for _, f in filters]
    counts, troubles = EvaluationCounts(), Troubles(tell)
    for line in lines:
        if is_blank(line.content) and not line.damaged:
            continue
        event = CORRUPT if line.damaged else read_line(line.content, environment)
        if not isinstance(event, Event):
            counts.malformed += 1
            troubles.add("malformed", line, str(event))
            continue
        outcomes = [run(event.activation) for run in runners]
        if True in outcomes:
            counts.matched += 1
            emit(line.content)
        elif None in outcomes:
            counts.errored += 1
            troubles.add("evaluation error", line, _why(*filters[outcomes.index(None)], event.activation))
        else:
            counts.filtered += 1
    troubles.end()
    return counts


def _why(name: str, compiled: CompiledFilter, given: Activation) -> str:
    """Why a filter erred on an event, and where in it."""
    failure = failure_of(explaining_job(compiled), given)
    text = "the engine gives no reason" if failure is UNKNOWN else failure.text
    where = f" in {failure.subexpression}" if failure.subexpression else ""
    return f"{text}{where}" + (f" (trigger '{name}')" if name else "")


def _job(compiled: CompiledFilter, engine: str) -> Job:
    found = job_of(compiled, (compiled.checked.checked.expr,), engine)
    if isinstance(found, Refusal):
        message = f"{engine} cannot evaluate this: {found.reason}"
        source, span = compiled.checked.source, compiled.checked.checked.expr.span
        raise CompileError((Diagnostic("TRI401", message, source, span, "choose another engine"),))
    return found


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    if path == STDIN:
        yield _decompressed(sys.stdin.buffer)
        return
    with open(path, "rb") as file:
        yield _decompressed(file)


def _decompressed(stream: BinaryIO) -> BinaryIO:
    head = stream.read(len(_GZIP))
    whole = cast("BinaryIO", io.BufferedReader(_Rejoined(head, stream)))
    return cast("BinaryIO", gzip.GzipFile(fileobj=whole)) if head == _GZIP else whole


class _Rejoined(io.RawIOBase):
    """A stream of which some bytes have been read, from its beginning. It gives what there is, and waits for no more."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        content = self._head or self._rest.read1(len(buffer))  # type: ignore[attr-defined]
        self._head = b""
        buffer[: len(content)] = content
        return len(content)
