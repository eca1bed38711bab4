"""The cases that a test runs by default, where all of them are for the nightly run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def sample(cases: Sequence[T], share: int) -> list[T]:
    """One case of so many, spread evenly; with `TRICEL_SAMPLE=all`, as in the nightly run, all of them.

    Another number in `TRICEL_SAMPLE` than 0 begins that many cases later: as many numbers as `share` see all cases.
    """
    turn = os.environ.get("TRICEL_SAMPLE") or "0"
    return list(cases) if turn == "all" else list(cases[int(turn) % share :: share])
