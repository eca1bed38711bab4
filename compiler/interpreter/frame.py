"""One evaluation: what its names hold, and what it may still do. A compiled expression is a step that takes a frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ..values.cel import CelError, Value

MAX_STEPS = 1_000_000
"""Calls of functions and turns of macros that one evaluation may take."""
MAX_WORK = 2_000_000_000
"""Characters that all steps of one evaluation may read; what else they do is counted in these (see `work`)."""


@dataclass(slots=True)
class Frame:
    """One evaluation: what the roots hold, what the variables hold, and how many steps and how much work are left."""

    roots: Mapping[str, Value]
    variables: list[Value]
    steps: int
    work: int = MAX_WORK

    def step(self) -> None:
        """Takes a step.

        Raises:
            CelError: when there is none left.
        """
        self.steps -= 1
        if self.steps < 0:
            raise CelError("the evaluation takes too many steps")

    def spend(self, work: int) -> None:
        """Does work.

        Raises:
            CelError: when more has been done than one evaluation may do.
        """
        self.work -= work
        if self.work < 0:
            raise CelError("the evaluation reads or makes too much")


Step: TypeAlias = Callable[[Frame], Value]
