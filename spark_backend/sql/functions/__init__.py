"""Native lowerings: one file for each family of functions, one entry for each overload.

Entries that need more than their operands' SQL are handlers, and are made where those are (`../handlers`).
"""

from . import (
    arithmetic,
    containers,
    conversions,
    encoders_ext,
    math_ext,
    ordering,
    strings,
    strings_ext,
    times,
    unlowered,
)
from .registry import LOWERINGS, Handler, Lowering, handles, refusal, takes_finer, walked

__all__ = [
    "LOWERINGS",
    "Handler",
    "Lowering",
    "arithmetic",
    "containers",
    "conversions",
    "encoders_ext",
    "handles",
    "math_ext",
    "ordering",
    "refusal",
    "strings",
    "strings_ext",
    "takes_finer",
    "times",
    "unlowered",
    "walked",
]
