"""A run that cannot start or cannot go on, as a diagnostic that the command line prints without a traceback."""

from __future__ import annotations

from tricel.compiler.diagnostics import Diagnostic
from tricel.compiler.source import NOWHERE, Source


class RunError(Exception):
    """Something outside the filters is wrong: an input, an output, Java. `diagnostic` says what, and how to mend it."""

    def __init__(self, code: str, message: str, name: str = "", help: str = "") -> None:  # noqa: A002
        super().__init__(f"{message} ({name})" if name else message)
        self.diagnostic = Diagnostic(code, message, Source("", name or "run"), NOWHERE, help)


class FilterError(RunError):
    """A filter erred on an event, and its trigger, or the run, does not go on after an error."""
