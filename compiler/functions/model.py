"""An overload: one row that declares a function for one choice of argument types, with every fact about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Flag, IntEnum, StrEnum, auto

from ..celtypes import SCALARS, SHORT, CelType


class Size(StrEnum):
    """How large the value of a call may be. The cost estimate and the bounds of native SQL each have a rule for each."""

    UNKNOWN = "of any size"
    CONSTANT = "short, whatever the operands are"
    OPERAND = "one of the operands, or what it holds"
    ELEMENT = "one element of the first operand"
    SUBTEXT = "part of the first operand, which is a text"
    CHARACTER = "one character"
    RECASED = "a text as long as the first operand"
    WRITTEN = "a scalar as text"
    ENCODED = "a text as bytes"
    PARTS = "a list of parts of the first operand, which is a text"
    SELECTED = "some elements of the first operand, in their order"
    REORDERED = "all parts of the first operand, in another order"
    SUM = "all operands in one"
    RANGE = "an int for each of the first operand"
    FLATTENED = "the elements of the lists in the first operand"
    REPLACED = "the first operand with the second replaced by the third"
    PATTERN_REPLACED = "the first operand with what the second, a pattern, finds replaced by the third"
    FORMATTED = "the first operand with its clauses replaced by values of the second"
    DOUBLED = "twice the first operand"
    JOINED = "the texts of the first operand, with the second between each two"


class Steps(Flag):
    """How much work a call is, as the sum of what it does. Nothing said means that nothing bounds it."""

    UNKNOWN = 0
    ONE = auto()
    """The same for operands of any size."""
    EACH = auto()
    """One for each element of the lists."""
    READ = auto()
    """Each text is read once."""
    AFFIX = auto()
    """Two texts are read as far as the shorter one."""
    ORDERED = auto()
    """Two texts are read until they differ."""
    COMPARED = auto()
    """Two values are compared with all that is in them."""
    MEMBER = auto()
    """The first operand is compared with each element of the second."""
    PAIRED = auto()
    """Each element of the first operand is compared with each of the last."""
    SORTED = auto()
    """The elements of the first operand are sorted."""
    SEARCHED = auto()
    """The second operand is looked for at each place of the first."""
    MATCHED = auto()
    """The second operand, a pattern, is matched at each place of the first."""
    COPIED = auto()
    """The first operand is read and copied."""
    ELEMENTS = auto()
    """One for each element of the first operand."""
    TEXT_MADE = auto()
    """The text of the result is written."""
    PARTS_MADE = auto()
    """The elements of the result are made."""


class Reads(IntEnum):
    """What of the operands the evaluator reads; of several overloads the greatest counts."""

    NOTHING = auto()
    """No more of a large operand than of a small one."""
    SHALLOW = auto()
    """The characters of texts, and the elements of lists and maps, but nothing in those."""
    COMPARED = auto()
    """Two operands of one kind and length, with all that is in them."""
    MEMBER = auto()
    """The elements of the second, with all that is in them where the first is a list or map."""
    DEEP = auto()
    """All that is in the operands."""
    REMADE = auto()
    """Each character, of which something may be made."""


class GoesOver(IntEnum):
    """What Spark does with the parts of an operand, in a macro again in each turn; the greatest counts."""

    ONCE = auto()
    """Each part is read once at most."""
    KEPT = auto()
    """Each part is held, or computed with."""
    KEYED = auto()
    """Each part is made into a key, which is sorted or hashed."""


class TextTest(StrEnum):
    """What a test of two texts asks: what the second is of the first."""

    PREFIX = "prefix"
    SUFFIX = "suffix"
    CONTAINS = "contains"
    MATCHES = "matches"


class Literal(StrEnum):
    """Texts that all evaluators read alike where they are written in the filter."""

    TIME = "a time to the nanosecond"
    DURATION = "a duration to the nanosecond"
    ZONE = "a time zone"


@dataclass(frozen=True, slots=True)
class Difference:
    """Why an engine's answer is not CEL's, or is slow; where `unless` is given, not if the last operand is one of those."""

    reason: str
    unless: Literal | None = None


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function, and what is known of it. The id is the specification's, stable and never reused.

    `params` of a method begin with the target's type. `examples` are (CEL text, value) pairs, where the value is
    what a bool, int, double or string evaluates to, or `ERROR`.

    What a row does not say is taken to be the worst, but for what follows from the types:

    `size` is unknown, so that the call is not native and its filter costs too much; of a result of a short type it is
    constant. `steps` are unknown, so that the filter costs too much; of operands of short types it is one. `reads` is
    all that is in the operands; of scalars, what they are. `goes_over` makes keys of all parts; of scalars, it reads them.
    `pattern` is the operand that is an RE2 pattern, and otherwise none is checked as one; `topic_filter`, one of MQTT. `variadic`: three arguments or
    more are given as one list. `test` is what it asks of two texts, and otherwise nothing is concluded from it. `length`:
    it is the number of parts of its operand. `total`: no operands of its types are an error, where a pattern is one that
    RE2 takes. `cel_expr` are the differences of cel-expr-python's answers, none where they
    are CEL's; None, as for what is not said, where it lacks the function. `cel_python`: cel-python's answers are CEL's.
    """

    id: str
    function: str
    params: tuple[CelType, ...]
    result: CelType
    doc: str
    examples: tuple[tuple[str, object], ...]
    member: bool = False
    strict: bool = True
    size: Size = Size.UNKNOWN
    steps: Steps = Steps.UNKNOWN
    reads: Reads = Reads.DEEP
    goes_over: GoesOver = GoesOver.KEYED
    pattern: int | None = None
    topic_filter: int | None = None
    variadic: bool = False
    test: TextTest | None = None
    length: bool = False
    cel_expr: tuple[Difference, ...] | None = None
    cel_python: bool = False
    total: bool = False

    def __post_init__(self) -> None:
        """What follows from the types."""
        scalars = all(p in SCALARS for p in self.params)
        if self.size is Size.UNKNOWN and self.result in SHORT:
            object.__setattr__(self, "size", Size.CONSTANT)
        if self.steps is Steps.UNKNOWN and all(p in SHORT for p in self.params):
            object.__setattr__(self, "steps", Steps.ONE)
        if scalars and self.reads is Reads.DEEP:
            object.__setattr__(self, "reads", Reads.SHALLOW)
        if scalars and self.goes_over is GoesOver.KEYED:
            object.__setattr__(self, "goes_over", GoesOver.ONCE)


def method(
    id_: str,
    function: str,
    params: tuple[CelType, ...],
    result: CelType,
    doc: str,
    *examples: tuple[str, object],
    size: Size = Size.UNKNOWN,
    steps: Steps = Steps.UNKNOWN,
    reads: Reads = Reads.DEEP,
    goes_over: GoesOver = GoesOver.KEYED,
    cel_expr: tuple[Difference, ...] | None = None,
    total: bool = False,
) -> Overload:
    """The row of a method, whose examples come one after another."""
    return Overload(
        id_,
        function,
        params,
        result,
        doc,
        examples,
        member=True,
        size=size,
        steps=steps,
        reads=reads,
        goes_over=goes_over,
        cel_expr=cel_expr,
        total=total,
    )


def in_cel_expr(rows: Iterable[Overload]) -> tuple[Overload, ...]:
    """The rows of a family that cel-expr-python has, which answers as CEL does where a row says no difference."""
    return tuple(replace(row, cel_expr=()) if row.cel_expr is None else row for row in rows)


class _Error:
    def __repr__(self) -> str:
        return "error"


ERROR = _Error()
"""The value of an example that is an evaluation error."""
