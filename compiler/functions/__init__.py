"""The functions of CEL: one row for each overload. The rows drive the checker, the interpreter, the tests and the
reference."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping

from ..celtypes import CelType
from .conversions import CONVERSIONS
from .encoders_ext import ENCODERS_EXT
from .lists_ext import LISTS_EXT
from .math_ext import MATH_EXT
from .model import ERROR, Difference, GoesOver, Literal, Overload, Reads, Size, Steps, TextTest
from .mqtt_ext import MQTT_EXT
from .operators import OPERATORS
from .optionals import OPTIONALS
from .regex_ext import REGEX_EXT
from .sets_ext import SETS_EXT
from .strings import STRINGS
from .strings_ext import STRINGS_EXT
from .times import TIME

__all__ = [
    "ALL",
    "BY_CALL",
    "BY_NAME",
    "ERROR",
    "FAMILIES",
    "LAZY",
    "LENGTHS",
    "NAMESPACES",
    "TEXT_TESTS",
    "Difference",
    "GoesOver",
    "Literal",
    "Overload",
    "Reads",
    "Size",
    "Steps",
    "TextTest",
    "calls_that_give",
    "functions",
]

FAMILIES: Mapping[str, tuple[Overload, ...]] = {
    "operators": OPERATORS,
    "strings and sizes": STRINGS,
    "conversions": CONVERSIONS,
    "times": TIME,
    "optional values": OPTIONALS,
    "strings extension": STRINGS_EXT,
    "math extension": MATH_EXT,
    "lists extension": LISTS_EXT,
    "sets extension": SETS_EXT,
    "regex extension": REGEX_EXT,
    "encoders extension": ENCODERS_EXT,
    "MQTT extension": MQTT_EXT,
}
ALL: tuple[Overload, ...] = tuple(row for family in FAMILIES.values() for row in family)


def _by_call() -> Mapping[tuple[str, bool], tuple[Overload, ...]]:
    table: dict[tuple[str, bool], list[Overload]] = defaultdict(list)
    for row in ALL:
        table[row.function, row.member].append(row)
    return {key: tuple(rows) for key, rows in table.items()}


BY_CALL = _by_call()
"""The overloads of a call, by (function, whether it is a method)."""


def _by_name() -> Mapping[str, tuple[Overload, ...]]:
    table: dict[str, list[Overload]] = defaultdict(list)
    for row in ALL:
        table[row.function].append(row)
    return {name: tuple(rows) for name, rows in table.items()}


BY_NAME = _by_name()
"""The overloads of a function, called or as a method: which it is, the types of dynamic values decide at evaluation."""


def functions(wanted: Callable[[Overload], bool]) -> frozenset[str]:
    """The functions all of whose overloads are wanted."""
    return frozenset(name for name, rows in BY_NAME.items() if all(map(wanted, rows)))


LAZY = functions(lambda row: not row.strict)
"""The functions that may leave operands unevaluated, or absorb their errors."""
LENGTHS = functions(lambda row: row.length)
"""The functions that give the number of parts of their operand."""
TEXT_TESTS: Mapping[str, TextTest] = {row.function: row.test for row in ALL if row.test is not None}
"""The functions that are tests of two texts, and what each asks."""


def calls_that_give(types: Collection[CelType]) -> frozenset[tuple[str, bool]]:
    """The calls whose value is of one of the types, whatever they are given: keys of `BY_CALL`."""
    return frozenset(call for call, rows in BY_CALL.items() if all(row.result in types for row in rows))


NAMESPACES = frozenset(row.function.split(".")[0] for row in ALL if "." in row.function) | {"cel"}
"""What stands before the dot in functions such as `math.greatest`."""
