"""Native lowerings: one file for each family of functions, one template for each overload."""

from . import arithmetic, containers, conversions, encoders_ext, math_ext, ordering, strings, strings_ext, times
from .registry import NATIVE, Lowering

__all__ = [
    "NATIVE",
    "Lowering",
    "arithmetic",
    "containers",
    "conversions",
    "encoders_ext",
    "math_ext",
    "ordering",
    "strings",
    "strings_ext",
    "times",
]
