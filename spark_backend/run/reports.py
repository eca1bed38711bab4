"""The account of a run: what became of the events, in numbers that must add up."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

MOST_ERRORS = 1000
"""Kinds of errors that a report names."""
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class TriggerCounts:
    """Outcomes of one trigger. `evaluated = delivered + filtered + errored`, whatever is done with errors."""

    trigger: str
    evaluated: int
    delivered: int
    filtered: int
    errored: int

    def __post_init__(self) -> None:
        if self.evaluated != self.delivered + self.filtered + self.errored:
            raise ArithmeticError(f"the outcomes of trigger {self.trigger!r} do not add up: {self}")


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """How many events a trigger's filter erred on in one way."""

    trigger: str
    error: str
    subexpression: str
    count: int


@dataclass(frozen=True, slots=True)
class RunReport:
    """The account of a run. `read = malformed + evaluated`; `written` is the number of events in all outputs.

    `deliver` names the triggers whose outputs hold their errored events, too.
    """

    read: int
    malformed: int
    evaluated: int
    reasons: tuple[tuple[str, int], ...]
    triggers: tuple[TriggerCounts, ...]
    errors: tuple[ErrorCount, ...]
    written: int
    deliver: tuple[str, ...]
    format: str

    def __post_init__(self) -> None:
        _check_events(self)
        deliver = set(self.deliver)
        passed = sum(t.delivered + (t.errored if t.trigger in deliver else 0) for t in self.triggers)
        if self.written != passed:
            raise ArithmeticError(f"{passed} events passed a filter and {self.written} were written")

    def to_json(self, before: Mapping[str, Any] = _NOTHING) -> str:
        """The report as JSON text, after members that it does not have itself."""
        members = {**before, **asdict(self), "reasons": dict(self.reasons)}
        return json.dumps(members, indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class StreamReport:
    """The account of a stream: the sum over its batches, of which `last` is the newest (-1 before the first).

    A trigger's counts cover the batches in which it was there, so its `evaluated` may be less than the stream's.
    `errors` names the most frequent kinds; those that were rare in every batch may be missing from a long account.
    """

    batches: int
    last: int
    read: int
    malformed: int
    evaluated: int
    reasons: tuple[tuple[str, int], ...]
    triggers: tuple[TriggerCounts, ...]
    errors: tuple[ErrorCount, ...]
    written: int
    format: str
    set: str

    def __post_init__(self) -> None:
        _check_events(self)
        delivered, errored = (sum(t.delivered for t in self.triggers), sum(t.errored for t in self.triggers))
        if not delivered <= self.written <= delivered + errored:
            raise ArithmeticError(f"{delivered} events passed a filter and {self.written} were written")

    def to_json(self, before: Mapping[str, Any] = _NOTHING) -> str:
        """As that of a run, in one line: it is written anew after every batch."""
        triggers = [_row(t) for t in self.triggers]
        errors = [_row(e) for e in self.errors]
        members = {name: getattr(self, name) for name in self.__dataclass_fields__}
        told = {**before, **members, "reasons": dict(self.reasons), "triggers": triggers, "errors": errors}
        return json.dumps(told) + "\n"


def empty_stream(format: str) -> StreamReport:  # noqa: A002
    """The account of a stream before its first batch."""
    return StreamReport(0, -1, 0, 0, 0, (), (), (), 0, format, "")


def added(total: StreamReport, number: int, batch: RunReport, triggers: Iterable[str], set_: str) -> StreamReport:
    """`total` with one batch more, in which these triggers were evaluated.

    A trigger of the batch that its report does not name passed and failed nothing.
    """
    told = {t.trigger: t for t in batch.triggers}
    rows = {t.trigger: t for t in total.triggers}
    for id_ in triggers:
        delivered, errored = (told[id_].delivered, told[id_].errored) if id_ in told else (0, 0)
        old = rows.get(id_) or TriggerCounts(id_, 0, 0, 0, 0)
        evaluated, delivered, errored = (
            old.evaluated + batch.evaluated,
            old.delivered + delivered,
            old.errored + errored,
        )
        rows[id_] = TriggerCounts(id_, evaluated, delivered, evaluated - delivered - errored, errored)
    kinds = Counter({(e.trigger, e.error, e.subexpression): e.count for e in total.errors})
    kinds.update({(e.trigger, e.error, e.subexpression): e.count for e in batch.errors})
    reasons = Counter(dict(total.reasons))
    reasons.update(dict(batch.reasons))
    most = sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0]))[:MOST_ERRORS]
    return StreamReport(
        batches=total.batches + 1,
        last=number,
        read=total.read + batch.read,
        malformed=total.malformed + batch.malformed,
        evaluated=total.evaluated + batch.evaluated,
        reasons=tuple(sorted(reasons.items())),
        triggers=tuple(rows[id_] for id_ in sorted(rows)),
        errors=tuple(ErrorCount(*kind, count) for kind, count in most),
        written=total.written + batch.written,
        format=total.format,
        set=set_,
    )


def run_report(value: Mapping[str, Any]) -> RunReport:
    """A RunReport from what its JSON holds."""
    return RunReport(**_members(value), deliver=tuple(value["deliver"]))


def stream_report(value: Mapping[str, Any]) -> StreamReport:
    """A StreamReport from what its JSON holds."""
    return StreamReport(**_members(value), **{name: value[name] for name in ("batches", "last", "set")})


def _members(value: Mapping[str, Any]) -> dict[str, Any]:
    """The members that both reports have."""
    return {
        **{name: value[name] for name in ("read", "malformed", "evaluated", "written", "format")},
        "reasons": tuple((reason, count) for reason, count in value["reasons"].items()),
        "triggers": tuple(TriggerCounts(**t) for t in value["triggers"]),
        "errors": tuple(ErrorCount(**e) for e in value["errors"]),
    }


def _row(row: TriggerCounts | ErrorCount) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__dataclass_fields__}


def _check_events(report: RunReport | StreamReport) -> None:
    read = report.malformed + report.evaluated
    if report.read != read or report.malformed != sum(count for _, count in report.reasons):
        raise ArithmeticError(f"the events do not add up: {report}")
