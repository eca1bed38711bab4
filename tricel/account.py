"""What a report tells beside its counts: which release ran when, for how long, on what, and with which filters."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from tricel.spark_backend.run.reports import RunReport, StreamReport
from tricel.triggers import CompiledTrigger


@dataclass
class Account:
    """The circumstances of one run, which begins when this is made and ends when it is first told.

    `triggers` and `events` are the inputs as they were given.
    """

    triggers: Sequence[str]
    events: Sequence[str]
    filters: Iterable[CompiledTrigger] = ()
    start: datetime = field(default_factory=lambda: datetime.now(UTC))
    _began: float = field(default_factory=time.monotonic)
    _duration: float | None = None

    def told(self, report: RunReport | StreamReport) -> str:
        """A report as JSON text, with the circumstances before its counts; the same one is told alike each time."""
        if self._duration is None:
            self._duration = round(time.monotonic() - self._began, 3)
        return report.to_json(
            {
                "version": version("tricel"),
                "start": self.start.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "duration": self._duration,
                "inputs": {"triggers": list(self.triggers), "events": list(self.events)},
                "filters": [_filter(t) for t in self.filters],
            }
        )


def _filter(trigger: CompiledTrigger) -> dict[str, Any]:
    manifest = trigger.manifest
    line = manifest.source.position(manifest.span.start).line
    return {"trigger": trigger.id, "cel": trigger.compiled.cel, "from": f"{manifest.source.name}:{line}"}
