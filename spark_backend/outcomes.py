"""Events and triggers as pairs: which filter each event passes, and on which one errs.

Few filters are columns beside the events; many go through the fan-out, whose cost hardly grows with their number.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from .columns import with_outcomes
from .fanout.join import DELIVERED, ERRORED, OUTCOME, TRIGGER, fan_out
from .fanout.plan import Trigger
from .sql import name

FEW = 24
"""Up to so many filters are columns."""


def pairs(events: DataFrame, triggers: Sequence[Trigger]) -> DataFrame:
    """`events` with the columns `trigger` and `outcome`: a row for each filter that passes or errs on the event.

    An event that a filter turns down makes no row, so filtered = evaluated - delivered - errored.
    """
    if len(triggers) > FEW:
        return fan_out(events, triggers, outcomes=True)
    columns = {f"__outcome_{i}": t.compiled for i, t in enumerate(triggers)}
    judged = with_outcomes(events, columns)
    found = [_pair(c, t.id) for c, t in zip(columns, triggers, strict=True)]
    nothing = F.lit(None).cast(f"struct<{TRIGGER}: string, {OUTCOME}: string>")
    each = F.explode(F.array_compact(F.array(*found, nothing))).alias("__pair")
    kept = [F.col(name(c)) for c in events.columns]
    return judged.select(*kept, each).select(*kept, f"__pair.{TRIGGER}", f"__pair.{OUTCOME}")


def _pair(column: str, trigger: str) -> Column:
    value, id_ = F.col(column), F.lit(trigger).alias(TRIGGER)
    delivered, errored = F.lit(DELIVERED).alias(OUTCOME), F.lit(ERRORED).alias(OUTCOME)
    return F.when(value, F.struct(id_, delivered)).when(value.isNull(), F.struct(id_, errored))
