"""Where a stream's triggers come from: files, a cluster. They are asked again and again, so asking must be cheap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tricel.compiler import Diagnostic, errors

if TYPE_CHECKING:
    from ..delivery import Filter


@dataclass(frozen=True, slots=True)
class Loaded:
    """The triggers that compile, as they are now, and everything that was found wrong with them.

    `apart` is whether each stands by itself, so that a wrong one does not keep the others from being taken up.
    """

    triggers: Sequence[Filter]
    diagnostics: tuple[Diagnostic, ...] = ()
    apart: bool = False

    @property
    def sound(self) -> bool:
        """Whether they may be taken up: all, or none of them."""
        return self.apart or not errors(self.diagnostics)


class TriggerOrigin(Protocol):
    """A place that triggers are kept, and changed, in."""

    def poll(self) -> Loaded | None:
        """All triggers, where they may have changed since the last call, and at the first; None where they have not.

        Raises:
            OSError: where it cannot be asked. It is not a change.
        """
