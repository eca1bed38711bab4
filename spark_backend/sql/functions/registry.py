"""The one table of lowerings, keyed by overload id: how each becomes SQL, or why it is left to an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tricel.compiler.nodes import Expr

from .. import Operand, Part, Scope, Typed
from ..context import Context
from ..reasons import NotNative, Reason

Template: TypeAlias = Callable[..., Operand]
Handler: TypeAlias = Callable[[Context, tuple[Expr, ...], Scope], Part]
"""What lowers a call: given its operands as they were written, and the variables that they may name."""
OfParts: TypeAlias = Callable[[Context, Sequence[Part]], Part]
"""What lowers a call, given the values of its operands."""
Finer: TypeAlias = Callable[[Context, Typed], Typed]
"""What lowers a call, given a time or duration to the nanosecond."""


@dataclass(frozen=True, slots=True)
class Lowering:
    """How one overload becomes SQL: by one of `template`, `handler` and `parts`, or by the walk, which knows operators.

    `template` takes the operands as `Typed` and gives the node. `twice` are the operands that it repeats, which are
    bound to a variable unless cheap. `nan`: the double it makes may be NaN. `handler` is what lowers a call all of whose
    overloads have that one, and `parts` what is chosen by the operands' types. `finer` takes an operand in nanoseconds.

    `condition` says in which cases it is native, where it is not in all. `reason` says why it is native in none; there
    may be a handler beside it, which says more.
    """

    template: Template | None = None
    twice: tuple[int, ...] = ()
    nan: bool = True
    handler: Handler | None = None
    parts: OfParts | None = None
    finer: Finer | None = None
    condition: str = ""
    reason: Reason | None = None


LOWERINGS: dict[str, Lowering] = {}


def lowers(*overload_ids: str, twice: tuple[int, ...] = (), nan: bool = True) -> Callable[[Template], Template]:
    """Registers a template for the overloads; each is lowered once.

    Raises:
        ValueError: where an overload has an entry already.
    """

    def add(template: Template) -> Template:
        _enter(overload_ids, Lowering(template, twice, nan))
        return template

    return add


def handles(
    *overload_ids: str, condition: str = "", reason: Reason | None = None, parts: OfParts | None = None
) -> Callable[[Handler], Handler]:
    """Registers a handler for the overloads; `parts` where it can be given values, too.

    Raises:
        ValueError: where an overload has an entry already.
    """

    def add(handler: Handler) -> Handler:
        _enter(overload_ids, Lowering(handler=handler, condition=condition, reason=reason, parts=parts))
        return handler

    return add


def walked(*overload_ids: str, condition: str = "", parts: OfParts | None = None) -> None:
    """Registers overloads of operators, which the walk lowers.

    Raises:
        ValueError: where an overload has an entry already.
    """
    _enter(overload_ids, Lowering(condition=condition, parts=parts))


def left_to_engine(reason: Reason, *overload_ids: str) -> None:
    """Registers overloads that have no native form.

    Raises:
        ValueError: where an overload has an entry already.
    """
    _enter(overload_ids, Lowering(reason=reason))


def takes_finer(*overload_ids: str) -> Callable[[Finer], Finer]:
    """Adds to the entries of overloads what they do with a time or duration to the nanosecond.

    Raises:
        KeyError: where an overload has no entry.
    """

    def add(finer: Finer) -> Finer:
        for overload_id in overload_ids:
            LOWERINGS[overload_id] = replace(LOWERINGS[overload_id], finer=finer)
        return finer

    return add


def refusal(overload_id: str, function: str) -> NotNative:
    """Why a call of the overload is not native: its reason; that it needs its handler; or that it has no entry."""
    found = LOWERINGS.get(overload_id)
    return NotNative(Reason.NO_LOWERING, function) if found is None or found.reason is None else NotNative(found.reason)


def _enter(overload_ids: Sequence[str], lowering: Lowering) -> None:
    for overload_id in overload_ids:
        if overload_id in LOWERINGS:
            raise ValueError(f"{overload_id} is lowered twice")
        LOWERINGS[overload_id] = lowering
