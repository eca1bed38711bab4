"""How far a Spark job is, told while it runs."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql import SparkSession

from ..frames import is_classic


@dataclass(frozen=True, slots=True)
class Progress:
    """Tasks done and known of in one step of a run. `total` may grow while Spark plans further stages."""

    step: str
    done: int
    total: int


OnProgress: TypeAlias = Callable[[Progress], None]


@contextmanager
def watched(spark: SparkSession, step: str, tell: OnProgress | None, every: float = 0.2) -> Iterator[None]:
    """Calls `tell` from a thread of its own while the body runs Spark jobs, and once at the end; not on Spark Connect."""
    if tell is None or not is_classic(spark):
        yield
        return
    context = spark.sparkContext
    group = uuid.uuid4().hex
    context.setJobGroup(group, f"tricel: {step}")
    over = threading.Event()
    seen = [0, 0]

    def count() -> tuple[int, int]:
        tracker = context.statusTracker()
        done = total = 0
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            for stage_id in info.stageIds if info else ():
                stage = tracker.getStageInfo(stage_id)
                if stage:
                    done, total = done + stage.numCompletedTasks, total + stage.numTasks
        return done, total

    def watch() -> None:
        while not over.wait(every):
            seen[:] = map(max, seen, count())
            tell(Progress(step, seen[0], seen[1]))

    thread = threading.Thread(target=watch, daemon=True, name="tricel-progress")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
        context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]
    total = max(seen[1], *count(), 1)
    tell(Progress(step, total, total))
