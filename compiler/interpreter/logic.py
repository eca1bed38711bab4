"""What decides which steps are taken: `&&`, `||`, `?:`, and what stands in for an empty optional."""

from __future__ import annotations

from collections.abc import Iterable

from ..values.cel import CelError, Optional, Value, kind
from .frame import Frame, Step


def truth(value: Value) -> bool:
    """The value, which must be a bool.

    Raises:
        CelError: for any other.
    """
    if type(value) is not bool:
        raise CelError(f"no matching overload: '{kind(value)}' where a bool is needed")
    return value


def logic(terms: list[Step], *, absorbing: bool) -> Step:
    """`&&` or `||`."""
    return lambda frame: decided(terms, frame, absorbing=absorbing)


def decided(terms: Iterable[Step], frame: Frame, *, absorbing: bool) -> bool:
    """The outcome of terms of which the absorbing value outweighs an error, wherever it stands."""
    failed: CelError | None = None
    for term in terms:
        try:
            if truth(term(frame)) is absorbing:
                return absorbing
        except CelError as error:
            failed = failed or error
    if failed is not None:
        raise failed
    return not absorbing


def conditional(test: Step, then: Step, other: Step) -> Step:
    """`test ? then : other`."""
    return lambda frame: then(frame) if truth(test(frame)) else other(frame)


def otherwise(target: Step, argument: Step, *, keep: bool) -> Step:
    """`or` (which keeps the optional) and `orValue`."""

    def run(frame: Frame) -> Value:
        found = target(frame)
        if is_present(found):
            return found if keep else found.value
        other = argument(frame)
        if keep:
            is_present(other)
        return other

    return run


def is_present(value: Value) -> bool:
    """Whether an optional holds a value.

    Raises:
        CelError: for what is no optional.
    """
    if type(value) is not Optional:
        raise CelError(f"no matching overload: '{kind(value)}' where an optional value is needed")
    return value.present
