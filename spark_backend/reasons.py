"""Why an expression has no native form."""

from __future__ import annotations

UINT = "Spark has no unsigned 64-bit integer"
"""Why what is done with a uint has none."""


class NotNative(Exception):
    """The expression has no exact native form; the text says why, as it is shown to a person."""

    @property
    def reason(self) -> str:
        """The reason, in words."""
        return str(self.args[0])
