"""What Spark could not do, in one line: the innermost cause, for whoever is told of it without a traceback."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from .failure import RunError

SPARK_FAILURES = (PySparkException, Py4JError, ConnectionError)
"""What Spark and its Java process raise, whatever the reason."""
_TRACEBACK = "Traceback (most recent call last):"
_RAISED = re.compile(r"[A-Za-z_][\w.]*: ")
_BEGIN_ANEW = "nothing is left half-written; when the reason is gone, the same command begins anew"
_GO_ON = "the batch is not counted; when the reason is gone, the same command goes on with it"


def run_ended(e: Exception) -> RunError:
    """What ended a batch run, as TRI606."""
    return RunError("TRI606", f"the run cannot go on: {cause(e)}", "run", _BEGIN_ANEW)


def stream_ended(e: Exception) -> RunError:
    """What ended a stream, as TRI606."""
    return RunError("TRI606", f"the stream cannot go on: {cause(e)}", "run --stream", _GO_ON)


def unreadable(e: Exception, place: str) -> RunError:
    """What keeps events from being read at all, as TRI601."""
    help_ = "check the path, and that Spark has what its file system needs"
    return RunError("TRI601", f"this cannot be read: {cause(e)}", place, help_)


def cause(e: Exception) -> str:
    """The innermost cause of one of `SPARK_FAILURES`, in one line: of a failure in a Python worker what it said."""
    if isinstance(e, ConnectionError | Py4JNetworkError):
        return "Spark's Java process has ended"
    *_, said = [str(e), *behind(e, lambda thrown: thrown.getMessage() or thrown.getClass().getName())]
    lines = [line for line in said.splitlines() if line.strip()] or [type(e).__name__]
    raised = [line for line in lines if _RAISED.match(line)] if _TRACEBACK in said else []
    return raised[-1] if raised else lines[0].strip()


def behind(e: BaseException, tell: Callable[[Any], Any]) -> Iterator[str]:
    """What `tell` says of each of Java's exceptions behind one of Python's; nothing where Java is not at hand."""
    thrown: Any = getattr(e, "_origin", None) or getattr(e, "java_exception", None)
    try:
        while thrown is not None:
            yield str(tell(thrown))
            thrown = thrown.getCause()
    except (Py4JError, OSError):  # Java is gone
        return
