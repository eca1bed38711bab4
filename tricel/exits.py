"""How commands end: what they print about what is wrong, and the exit status.

0    it is done: filters without errors, a run or stream to its end; events may be malformed or err
1    findings: a filter or manifest is wrong (`lint --strict`: or there is a warning)
2    the command could not do its work: wrong options, files, a cluster, Spark, errors under `--on-error fail`,
     or a fault of tricel's own
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TextIO

import click
from click.exceptions import Exit

from tricel.compiler import Diagnostic, Source, errors
from tricel.compiler.diagnostics import as_text
from tricel.compiler.faults import INTERNAL, bounded, internal_error

EXIT_FINDINGS = 1
EXIT_FAILURE = 2
_STYLES: dict[as_text.Part, dict[str, Any]] = {
    as_text.Part.ERROR: {"fg": "red", "bold": True},
    as_text.Part.WARNING: {"fg": "yellow", "bold": True},
    as_text.Part.MESSAGE: {"bold": True},
    as_text.Part.FRAME: {"fg": "blue"},
    as_text.Part.HELP: {"fg": "cyan"},
}


def print_diagnostics(diagnostics: tuple[Diagnostic, ...], format_: str, *, err: bool = False) -> None:
    """Prints diagnostics in one of the formats of `compiler.diagnostics`: text, concise, json, github or sarif.

    Text is in colour on a terminal.
    """
    if not diagnostics and format_ in ("text", "concise", "github"):
        return
    if format_ == "text" and _in_colour(sys.stderr if err else sys.stdout):
        click.echo(as_text.render(diagnostics, lambda text, part: click.style(text, **_STYLES[part])), err=err)
        return
    render: Callable[[tuple[Diagnostic, ...]], str] = import_module(f"tricel.compiler.diagnostics.as_{format_}").render
    click.echo(render(diagnostics), err=err)


def _in_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colours, whose user has not asked for none (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def status_of(diagnostics: tuple[Diagnostic, ...]) -> int:
    """The exit status that diagnostics ask for: a fault of tricel's own is no finding."""
    if any(d.code == INTERNAL for d in diagnostics):
        return EXIT_FAILURE
    return EXIT_FINDINGS if errors(diagnostics) else 0


def guarded(command: Callable[[], int]) -> None:
    """Ends the process with the command's status; what is wrong outside it is one line, not a traceback."""
    from tricel.spark_backend.failure import RunError

    try:
        status = bounded(command, _broken, RunError, OSError, click.ClickException, click.Abort, Exit)
    except RunError as e:
        print_diagnostics((e.diagnostic,), "text", err=True)
        status = EXIT_FAILURE
    except BrokenPipeError:
        status = 0
    except OSError as e:
        status = failed(e)
    sys.exit(status)


def _broken(fault: Exception) -> int:
    print_diagnostics((internal_error(fault, Source("", "tricel")),), "text", err=True)
    return EXIT_FAILURE


def failed(error: OSError | ValueError, where: str = "") -> int:
    """Prints what the system refused, and of which file; the status to end with."""
    where = where or (str(error.filename) if isinstance(error, OSError) and error.filename else "")
    what = getattr(error, "strerror", None) or error
    click.echo(f"error: {what}: {where}" if where else f"error: {what}", err=True)
    return EXIT_FAILURE
