"""Who is told what a stream does. It is called from two threads: that of the batches, and that which waits for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from tricel.compiler import Diagnostic

from ..reports import RunReport, StreamReport


@dataclass(frozen=True, slots=True)
class BatchDone:
    """A batch that is committed: its number, its account, the stream's so far, and the seconds it took."""

    number: int
    report: RunReport
    total: StreamReport
    seconds: float


class Observer(Protocol):
    """Told what happens in a stream."""

    def began(self, total: StreamReport) -> None:
        """The stream runs, and goes on from this account."""

    def batch_done(self, done: BatchDone) -> None:
        """A batch is committed."""

    def set_taken(self, set_: str, triggers: int) -> None:
        """This many triggers, by the name of their set, judge the batches from now on."""

    def set_refused(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        """Triggers have changed to something that is wrong; those before go on."""

    def warned(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        """Something is worth saying, and stops nothing."""


@dataclass(frozen=True)
class Several:
    """Observers as one."""

    observers: tuple[Observer, ...]

    def began(self, total: StreamReport) -> None:
        """Tells all."""
        for o in self.observers:
            o.began(total)

    def batch_done(self, done: BatchDone) -> None:
        """Tells all."""
        for o in self.observers:
            o.batch_done(done)

    def set_taken(self, set_: str, triggers: int) -> None:
        """Tells all."""
        for o in self.observers:
            o.set_taken(set_, triggers)

    def set_refused(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        """Tells all."""
        for o in self.observers:
            o.set_refused(diagnostics)

    def warned(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        """Tells all."""
        for o in self.observers:
            o.warned(diagnostics)


def several(observers: Iterable[Observer]) -> Several:
    """Any number of observers as one."""
    return Several(tuple(observers))
