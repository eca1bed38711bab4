"""What `tricel run` shows: a bar on standard error while it works, and the counts when it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table

from tricel.compiler import Diagnostic
from tricel.spark_backend.files import Inputs
from tricel.spark_backend.progress import OnProgress, Progress
from tricel.spark_backend.reports import RunReport, StreamReport
from tricel.spark_backend.streaming.observers import BatchDone

_SHOWN_ERRORS = 10


@contextmanager
def progress_bar() -> Iterator[OnProgress]:
    """A bar for each step of a run; plain silence where standard error is not a terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("tasks"),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=console, disable=not console.is_terminal) as bars:
        steps: dict[str, int] = {}

        def tell(progress: Progress) -> None:
            if progress.step not in steps:
                steps[progress.step] = int(bars.add_task(progress.step, total=None))
            bars.update(bars.task_ids[steps[progress.step]], completed=progress.done, total=progress.total)

        yield tell


class StreamConsole:
    """What `tricel run --stream` shows on standard error: an `Observer`.

    A line for each batch where it is a terminal, and everywhere what is wrong with triggers that have changed.
    """

    def __init__(self, tell: Callable[[tuple[Diagnostic, ...]], None]) -> None:
        """`tell` prints diagnostics."""
        self._tell = tell
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """One line, terminal or not."""
        self._console.print(text, markup=False)

    def left_out(self, hidden: Sequence[str]) -> None:
        """Warns of files that the stream passes over."""
        warning = Inputs(ignored=tuple(sorted(hidden))).warning
        if warning is not None:
            self._tell((warning,))

    def began(self, total: StreamReport) -> None:
        """Where the stream goes on."""
        if total.batches:
            self._progress(f"going on after batch {total.last}: {total.read:,} events read so far")

    def batch_done(self, done: BatchDone) -> None:
        """The batch in numbers."""
        report = done.report
        errored = sum(t.errored for t in report.triggers)
        bad = f", {report.malformed:,} malformed" if report.malformed else ""
        erred = f", {errored:,} errors" if errored else ""
        counts = f"{report.read:,} events{bad}, {report.written:,} deliveries{erred}"
        self._progress(f"batch {done.number}: {counts}, {done.seconds:.1f} s; {done.total.read:,} events in all")

    def set_taken(self, set_: str, triggers: int) -> None:
        """Which triggers judge from now on."""
        self._progress(f"{triggers:,} triggers, set {set_[:12]}")

    def set_refused(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        """What is wrong with the triggers as they are now."""
        self._tell(diagnostics)
        self.say("the triggers have changed, and are refused: those before go on")

    def warned(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        """Something is worth saying."""
        self._tell(diagnostics)

    def _progress(self, text: str) -> None:
        if self._console.is_terminal:
            self._console.print(text, markup=False)


def print_report(report: RunReport | StreamReport) -> None:
    """The counts, as a table that adds up, on standard output."""
    console = Console(highlight=False)
    table = Table(title="deliveries", title_justify="left")
    table.add_column("trigger", overflow="fold")
    for heading in ("evaluated", "delivered", "filtered", "errored"):
        table.add_column(heading, justify="right")
    for row in report.triggers:
        counts = (row.evaluated, row.delivered, row.filtered, row.errored)
        table.add_row(row.trigger, *(f"{n:,}" for n in counts))
    console.print(table)
    if isinstance(report, StreamReport):
        console.print(f"{report.batches:,} batches")
    console.print(f"{report.read:,} events read = {report.malformed:,} malformed + {report.evaluated:,} evaluated")
    for reason, count in report.reasons:
        console.print(f"  {count:,} malformed: {reason}", markup=False)
    for kind in report.errors[:_SHOWN_ERRORS]:
        where = f" in {kind.subexpression}" if kind.subexpression else ""
        console.print(f"  {kind.count:,} errored: {kind.trigger}: {kind.error}{where}", markup=False)
    if len(report.errors) > _SHOWN_ERRORS:
        console.print(f"  ... and {len(report.errors) - _SHOWN_ERRORS} other kinds of errors, in report.json")
