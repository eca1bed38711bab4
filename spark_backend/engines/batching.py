"""Many events for one program, a lot of them in one call of the engine: the call costs it more than most filters do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from .model import Failure

SIZE = 16
"""Events in one call."""
_WORTH = 1_000
"""Events after which it pays to compile a program for lots, which takes as long as a few hundred calls."""
_TRIED = 8
"""Calls after which it is seen whether they fail too often."""
_MOST_MEMBERS = 64
"""Members of a value, on its two upper levels, over which it is given to the engine sooner alone."""
_LONGEST = 20_000
"""Characters of a text, over which it is given to the engine sooner alone."""

Activation: TypeAlias = Mapping[str, Any]
Evaluate: TypeAlias = Callable[[Activation, "bool | None"], "bool | Failure"]


class Lot(Protocol):
    """A program that evaluates an expression on `SIZE` events at once."""

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that it reads."""
        ...

    def __call__(self, values: Sequence[Any]) -> list[bool] | None:
        """The outcomes, for the values of all names for the first event, for the second, and so on.

        None where one of the events has no result, and none of the others' is known.
        """
        ...


class Lots:
    """The outcomes of a program on many events; made once in each process. Both ways have the same outcomes."""

    def __init__(self, alone: Evaluate, compile_lot: Callable[[], Lot | None]) -> None:
        """`alone` evaluates one event, `compile_lot` makes what evaluates several, None where the engine cannot."""
        self._alone = alone
        self._compile = compile_lot
        self._seen = 0
        self._lot: Lot | None = None

    def __call__(self, given: Sequence[Activation], fit: Sequence[bool | None]) -> list[bool | None]:
        """Each event's outcome, None for an error. `fit` says which may be given to every engine."""
        lot = self._worthwhile(len(given))
        together = {} if lot is None else self._together(lot, given, fit)
        return [
            together[i] if i in together else self._outcome(g, f)
            for i, (g, f) in enumerate(zip(given, fit, strict=True))
        ]

    def _outcome(self, given: Activation, fit: bool | None) -> bool | None:
        outcome = self._alone(given, fit)
        return outcome if isinstance(outcome, bool) else None

    def _worthwhile(self, events: int) -> Lot | None:
        before, self._seen = self._seen, self._seen + events
        if before <= _WORTH < self._seen:
            self._lot = self._compile()
        return self._lot

    def _together(self, lot: Lot, given: Sequence[Activation], fit: Sequence[bool | None]) -> Mapping[int, bool]:
        """The outcomes, by the events' numbers, of lots that have some, as long as not a quarter of the lots fail."""
        found: dict[int, bool] = {}
        names, wanted = lot.names, frozenset(lot.names)
        ready = [
            i for i, g in enumerate(given) if fit[i] and g.keys() >= wanted and all(_is_small(g[n]) for n in names)
        ]
        failed = 0
        for tried, start in enumerate(range(0, len(ready) - SIZE + 1, SIZE), 1):
            numbers = ready[start : start + SIZE]
            results = lot([given[i][name] for i in numbers for name in names])
            if results is not None:
                found.update(zip(numbers, results, strict=True))
                continue
            failed += 1
            if tried >= _TRIED and failed * 4 > tried:
                break
        return found


def _is_small(value: Any) -> bool:
    """Whether events with such values take less time together: what a lot is made of is copied."""
    match value:
        case str() | bytes():
            return len(value) <= _LONGEST
        case dict() | list():
            left = _MOST_MEMBERS - len(value)
            if left < 0:
                return False
            for member in value.values() if isinstance(value, dict) else value:
                if isinstance(member, dict | list):
                    left -= len(member)
                elif isinstance(member, str) and len(member) > _LONGEST:
                    return False
            return left >= 0
        case _:
            return True
