"""The table of native lowerings, keyed by overload id."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

Template: TypeAlias = Callable[..., str]


@dataclass(frozen=True, slots=True)
class Lowering:
    """How one overload becomes SQL.

    `template` takes the operands as `Sql` and gives the text; in an f-string an operand is safe to embed.
    `twice` are the operands that the text repeats, which are bound to a variable unless cheap. `infix`: the text
    needs parentheses as an operand. `nan`: the double it makes may be NaN. `depth`: the levels of nesting it adds.
    """

    template: Template
    twice: tuple[int, ...] = ()
    infix: bool = False
    nan: bool = True
    depth: int = 1


NATIVE: dict[str, Lowering] = {}


def lowers(
    *overload_ids: str, twice: tuple[int, ...] = (), infix: bool = False, nan: bool = True, depth: int = 1
) -> Callable[[Template], Template]:
    """Registers a template for the overloads; each is lowered once.

    Raises:
        ValueError: where an overload has a lowering already.
    """

    def add(template: Template) -> Template:
        for overload_id in overload_ids:
            if overload_id in NATIVE:
                raise ValueError(f"{overload_id} is lowered twice")
            NATIVE[overload_id] = Lowering(template, twice, infix, nan, depth)
        return template

    return add
