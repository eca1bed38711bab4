"""What `tricel run` shows: a bar on standard error while it works, and the counts when it is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table

from tricel.spark_backend.pipeline import RunReport
from tricel.spark_backend.progress import OnProgress, Progress

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


def print_report(report: RunReport) -> None:
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
    console.print(f"{report.read:,} events read = {report.malformed:,} malformed + {report.evaluated:,} evaluated")
    for reason, count in report.reasons:
        console.print(f"  {count:,} malformed: {reason}", markup=False)
    for kind in report.errors[:_SHOWN_ERRORS]:
        where = f" in {kind.subexpression}" if kind.subexpression else ""
        console.print(f"  {kind.count:,} errored: {kind.trigger}: {kind.error}{where}", markup=False)
    if len(report.errors) > _SHOWN_ERRORS:
        console.print(f"  ... and {len(report.errors) - _SHOWN_ERRORS} other kinds of errors, in report.json")
