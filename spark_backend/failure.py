"""A run that cannot start or cannot go on, as a diagnostic that the command line prints without a traceback."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import TypeAlias

from tricel.compiler.diagnostics import Diagnostic
from tricel.compiler.source import NOWHERE, Source

Warn: TypeAlias = Callable[[Diagnostic], None]
"""What is told of each warning about events: the command line prints it, a library's user has it from `warn_user`."""


class TricelWarning(UserWarning):
    """Something about events that is worth knowing, and that a call goes on with."""


def warn_user(d: Diagnostic) -> None:
    """The diagnostic as a Python warning, at the line that called tricel."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "tricel":
        level, frame = level + 1, frame.f_back
    text = f"{d.message} ({d.code})" + (f": {d.help}" if d.help else "")
    warnings.warn(text, TricelWarning, stacklevel=level)


def warn_nobody(d: Diagnostic) -> None:
    """For what was told before."""


class RunError(Exception):
    """Something outside the filters is wrong: an input, an output, Java. `diagnostic` says what, and how to mend it."""

    def __init__(self, code: str, message: str, name: str = "", help: str = "") -> None:  # noqa: A002
        super().__init__(f"{message} ({name})" if name else message)
        self.diagnostic = Diagnostic(code, message, Source("", name or "run"), NOWHERE, help)


class FilterError(RunError):
    """A filter erred on an event, and its trigger, or the run, does not go on after an error."""
