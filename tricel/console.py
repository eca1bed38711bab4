"""What `tricel run` shows: a bar on standard error while it works, and the counts when it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table

from tricel.account import Account
from tricel.compiler import Diagnostic
from tricel.compiler.diagnostics.as_text import cells, visible
from tricel.spark_backend.run.progress import OnProgress, Progress
from tricel.spark_backend.run.reports import RunReport, StreamReport
from tricel.spark_backend.run.streaming.observers import BatchDone
from tricel.spark_backend.storage.files import Inputs

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
        found = Inputs(ignored=tuple(sorted(hidden))).warnings
        if found:
            self._tell(found)

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


def print_report(report: RunReport | StreamReport, account: Account | None = None) -> None:
    """The counts on standard output: a table that adds up; where that is no terminal, lines that nothing wraps or cuts.

    With an `account` it is JSON, everywhere.
    """
    if account is not None:
        click.echo(account.told(report), nl=False)
        return
    console = Console(highlight=False)
    headings = ("trigger", "evaluated", "delivered", "filtered", "errored")
    rows = [(visible(t.trigger), t.evaluated, t.delivered, t.filtered, t.errored) for t in report.triggers]
    if not console.is_terminal:
        for line in (*_aligned([headings, *(tuple(map(str, row)) for row in rows)]), *_sums(report)):
            click.echo(line)
        return
    table = Table(title="deliveries", title_justify="left")
    table.add_column(headings[0], overflow="fold")
    for heading in headings[1:]:
        table.add_column(heading, justify="right")
    for name, *counts in rows:
        table.add_row(escape(name), *(f"{n:,}" for n in counts))
    console.print(table)
    for line in _sums(report):
        console.print(line, markup=False)


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Rows as lines, their first column flush left and the others flush right."""
    name, *counts = (max(map(cells, column)) for column in zip(*rows, strict=True))
    for first, *others in rows:
        padded = first + " " * (name - cells(first))
        yield "  ".join([padded, *(text.rjust(width) for text, width in zip(others, counts, strict=True))])


def _sums(report: RunReport | StreamReport) -> Iterator[str]:
    """What is told below the table, in lines."""
    if isinstance(report, StreamReport):
        yield f"{report.batches:,} batches"
    yield f"{report.read:,} events read = {report.malformed:,} malformed + {report.evaluated:,} evaluated"
    for reason, count in report.reasons:
        yield f"  {count:,} malformed: {reason}"
    for kind in report.errors[:_SHOWN_ERRORS]:
        where = f" in {kind.subexpression}" if kind.subexpression else ""
        yield visible(f"  {kind.count:,} errored: {kind.trigger}: {kind.error}{where}")
    if len(report.errors) > _SHOWN_ERRORS:
        yield f"  ... and {len(report.errors) - _SHOWN_ERRORS} other kinds of errors, in report.json"
