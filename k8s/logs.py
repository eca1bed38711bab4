"""Log lines as JSON, one object a line: time, level, message and named fields. No filter, event or secret is in one."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime


class JsonFormatter(logging.Formatter):
    """Renders a record; its fields are what the caller gives as `extra={"fields": {...}}`.

    Of an exception only the type and the places in our code are written, since its text may quote what was reviewed.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line of ASCII JSON."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage() if not record.exc_info else record.msg,
        }
        line.update(getattr(record, "fields", {}))
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            line["at"] = _places(record.exc_info[1])
        return json.dumps(line)


def write_json_logs(level: int = logging.INFO) -> None:
    """Sends every log record to standard error as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # A line tells neither the thread, the process nor the calling line, so none is looked up for each of them.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None  # as the manual of logging says, under "Optimization"
    # What the HTTP library says of a bad request quotes it.
    logging.getLogger("aiohttp").setLevel(logging.CRITICAL)


def _places(error: BaseException | None) -> list[str]:
    found = []
    trace = error.__traceback__ if error is not None else None
    while trace is not None:
        found.append(f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}")
        trace = trace.tb_next
    return found[-8:]
