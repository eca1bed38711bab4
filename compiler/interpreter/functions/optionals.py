"""Optional values. `or` and `orValue`, which may leave their argument unevaluated, are in `evaluate`."""

from __future__ import annotations

from ...values.cel import ABSENT, CelError, Duration, Optional, Timestamp, Value
from ..registry import implements


@implements("optional_of")
def _of(value: Value) -> Optional:
    return Optional(value)


@implements("optional_ofNonZeroValue")
def _of_non_zero(value: Value) -> Optional:
    return ABSENT if _is_zero(value) else Optional(value)


def _is_zero(value: Value) -> bool:
    match value:
        case Timestamp(nanos=nanos) | Duration(nanos=nanos):
            return nanos == 0
        case None | bool() | int() | float() | str() | bytes() | list() | dict():
            return not value
        case _:
            return False


@implements("optional_none")
def _none() -> Optional:
    return ABSENT


@implements("optional_hasValue")
def _has_value(optional: Optional) -> bool:
    return optional.present


@implements("optional_value")
def _value(optional: Optional) -> Value:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


@implements("optional_unwrap", "optional_unwrapOpt")
def _unwrap(items: list[Value]) -> list[Value]:
    if not all(isinstance(item, Optional) for item in items):
        raise CelError("unwrap needs a list of optional values")
    return [item.value for item in items if item.present]
