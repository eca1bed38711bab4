"""What a diagnostic code means."""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """What a code means, for `tricel rule` and the reference."""

    severity: str
    title: str
    explanation: str
