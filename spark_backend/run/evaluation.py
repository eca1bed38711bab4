"""Events and triggers as pairs: which filter each event passes, and on which one errs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

from pyspark.sql import Column, DataFrame

from ..failure import Warn, warn_user
from ..fanout.join import Prepared, fan_out
from ..fanout.planning.plan import Trigger
from .explain_errors import ErrorContext, Explainer

T = TypeVar("T", bound=Trigger, covariant=True)


@dataclass
class Judge(Generic[T]):
    """One set of filters, for any number of tables: what is planned for one is not planned again for the next.

    `warn` is told of attributes that filters read and no event of a table can have (TRI609).
    """

    triggers: Sequence[T]
    warn: Warn = warn_user
    _prepared: dict[str, Prepared] = field(default_factory=dict, repr=False)

    def pairs(self, events: DataFrame) -> DataFrame:
        """`events` with the columns `trigger` and `outcome`: a row for each filter that passes or errs on the event.

        An event that a filter turns down makes no row, so filtered = evaluated - delivered - errored.
        """
        kept = dict.fromkeys((t.id for t in self.triggers), "drop")  # what becomes of an error is not said here
        return fan_out(events, self.triggers, on_error=kept, outcomes=True, prepared=self._prepared, warn=self.warn)

    def evidence(self, pairs: DataFrame) -> ErrorContext:
        """What the filters read of the pairs' events, by which an error may be explained when their query is over."""
        return self._explainer.evidence(pairs)

    def explained(self, pairs: DataFrame, errored: Column) -> DataFrame:
        """`pairs` with the columns `error` and `subexpression`, for those where `errored` is true."""
        return self._explainer.explained(pairs, errored)

    def explained_by(self, pairs: DataFrame, evidence: ErrorContext, text: Column) -> DataFrame:
        """`pairs`, all of which erred, with the same columns; `text` holds the evidence of each."""
        return self._explainer.explained_by(pairs, evidence, text)

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer({t.id: t.compiled for t in self.triggers})
