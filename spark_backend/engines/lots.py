"""Many events for one program, a lot of them in one call of the engine: the call costs it more than most filters do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, Protocol, TypeAlias

from .model import Failure

SIZE = 16
"""Events in one call."""
_WORTH = 1_000
"""Events after which it pays to compile a program for lots, which takes as long as a few hundred calls."""
_TRIED = 8
"""Calls after which it is seen whether they fail too often."""
_TIMED = 4
"""Lots that are evaluated both ways, to see which is sooner: of large values together is not."""

Activation: TypeAlias = Mapping[str, Any]
Evaluate: TypeAlias = Callable[[Activation, "bool | None"], "bool | Failure"]


class Lot(Protocol):
    """A program that evaluates an expression on `SIZE` events at once."""

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that it reads."""
        ...

    def __call__(self, values: Sequence[Any]) -> list[Any] | None:
        """The results, for the values of all names for the first event, for the second, and so on.

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
        self._timed = False

    def __call__(self, given: Sequence[Activation], fit: Sequence[bool | None]) -> list[bool | None]:
        """Each event's outcome, None for an error. `fit` says which may be given to every engine."""
        found: list[bool | None] = [None] * len(given)
        left: set[int] | range = range(len(given))
        lot = self._worthwhile(len(given))
        if lot is not None:
            left = set(left)
            for numbers, outcomes in self._together(lot, given, fit):
                left.difference_update(numbers)
                for i, outcome in zip(numbers, outcomes, strict=True):
                    found[i] = outcome if isinstance(outcome, bool) else None
        for i in left:
            found[i] = self._outcome(given[i], fit[i])
        return found

    def _outcome(self, given: Activation, fit: bool | None) -> bool | None:
        outcome = self._alone(given, fit)
        return outcome if isinstance(outcome, bool) else None

    def _worthwhile(self, events: int) -> Lot | None:
        before, self._seen = self._seen, self._seen + events
        if before <= _WORTH < self._seen:
            self._lot = self._compile()
        return self._lot

    def _is_sooner(self, lot: Lot, events: Sequence[Activation]) -> bool:
        """Whether some events, all of which fit, take less time together than alone: the least of several times."""
        alone, together = [], []
        for start in range(0, len(events) - SIZE + 1, SIZE):
            part = events[start : start + SIZE]
            begin = perf_counter()
            for event in part:
                self._alone(event, True)
            middle = perf_counter()
            lot([event[name] for event in part for name in lot.names])
            alone.append(middle - begin)
            together.append(perf_counter() - middle)
        return min(together) < min(alone)

    def _together(
        self, lot: Lot, given: Sequence[Activation], fit: Sequence[bool | None]
    ) -> Iterator[tuple[list[int], list[Any]]]:
        """The results of lots that have some, with the events' numbers, as long as not a quarter of the lots fail."""
        names = lot.names
        ready = [i for i, g in enumerate(given) if fit[i] and all(name in g for name in names)]
        if not self._timed and len(ready) >= SIZE:
            self._timed = True
            if not self._is_sooner(lot, [given[i] for i in ready[: SIZE * _TIMED]]):
                self._lot = None
                return
        failed = 0
        for tried, start in enumerate(range(0, len(ready) - SIZE + 1, SIZE), 1):
            numbers = ready[start : start + SIZE]
            results = lot([given[i][name] for i in numbers for name in names])
            if results is not None:
                yield numbers, results
                continue
            failed += 1
            if tried >= _TRIED and failed * 4 > tried:
                return
