"""How commands end: what they print about what is wrong, and the exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module

import click

from tricel.compiler import Diagnostic

EXIT_FINDINGS = 1
EXIT_FAILURE = 2


def print_diagnostics(diagnostics: tuple[Diagnostic, ...], format_: str, *, err: bool = False) -> None:
    """Prints diagnostics in one of the formats of `compiler.diagnostics`: text, concise, json, github or sarif."""
    if not diagnostics and format_ in ("text", "concise", "github"):
        return
    render: Callable[[tuple[Diagnostic, ...]], str] = import_module(f"tricel.compiler.diagnostics.as_{format_}").render
    click.echo(render(diagnostics), err=err)


def guarded(command: Callable[[], int]) -> None:
    """Ends the process with the command's status; what is wrong outside it is one line, not a traceback."""
    from tricel.spark_backend.failure import RunError

    try:
        status = command()
    except RunError as e:
        print_diagnostics((e.diagnostic,), "text", err=True)
        status = EXIT_FAILURE
    except BrokenPipeError:
        status = 0
    except OSError as e:
        status = failed(e)
    sys.exit(status)


def failed(error: OSError | ValueError, where: str = "") -> int:
    """Prints what the system refused, and of which file; the status to end with."""
    where = where or (str(error.filename) if isinstance(error, OSError) and error.filename else "")
    what = getattr(error, "strerror", None) or error
    click.echo(f"error: {what}: {where}" if where else f"error: {what}", err=True)
    return EXIT_FAILURE
