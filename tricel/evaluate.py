"""Filters over a stream of JSON Lines, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tricel.spark_backend.activation import Job, Runner
from tricel.spark_backend.engines import Refusal
from tricel.spark_backend.envelope import Event, is_blank, read_event
from tricel.spark_backend.jobs import job_of
from tricel.spark_backend.lowered import CompiledFilter


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


def evaluate_lines(
    filters: Sequence[CompiledFilter], engine: str, lines: Iterable[bytes], emit: Callable[[bytes], None]
) -> EvaluationCounts:
    """Emits each line whose event any of the filters matches. An event that none matches and one errs on is errored."""
    runners = [Runner(_job(f, engine)) for f in filters]
    counts = EvaluationCounts()
    for line in lines:
        if is_blank(line):
            continue
        event = read_event(line)
        if not isinstance(event, Event):
            counts.malformed += 1
            continue
        outcomes = [run(event.activation) for run in runners]
        if True in outcomes:
            counts.matched += 1
            emit(line)
        elif None in outcomes:
            counts.errored += 1
        else:
            counts.filtered += 1
    return counts


def _job(compiled: CompiledFilter, engine: str) -> Job:
    found = job_of(compiled, (compiled.checked.checked.expr,), engine)
    if isinstance(found, Refusal):
        raise ValueError(found.reason)
    return found
