"""A HOCON text as it is written, before substitutions: what each key was given, one value after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from ..source import Span
from .document import Scalar


@dataclass(eq=False, slots=True)
class Item:
    """One value that a key is given; `inside` is the item whose value holds it, None at the root."""

    key: Scalar
    inside: Item | None
    value: Node

    def around(self) -> Iterator[Item]:
        """This item and those that hold it, outwards."""
        item: Item | None = self
        while item is not None:
            yield item
            item = item.inside


@dataclass(eq=False, slots=True)
class Slot:
    """All that a key is given, in order; each item with its number."""

    numbers: dict[Item, int] = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)

    def add(self, item: Item) -> None:
        """Appends an item."""
        self.numbers[item] = len(self.items)
        self.items.append(item)


@dataclass(eq=False, slots=True)
class Fields:
    """An object."""

    slots: dict[str, Slot]
    span: Span

    def slot(self, name: str) -> Slot:
        """The slot of a key, made where there is none."""
        found = self.slots.get(name)
        if found is None:
            found = self.slots[name] = Slot()
        return found


@dataclass(eq=False, slots=True)
class Elements:
    """A list."""

    nodes: list[Node]
    span: Span


@dataclass(eq=False, slots=True)
class Reference:
    """`${path}`, or `${?path}`, which may be absent. `owner` is the item whose value has it."""

    path: tuple[str, ...]
    optional: bool
    span: Span
    owner: Item | None


@dataclass(eq=False, slots=True)
class Earlier:
    """What the key of an item had before it: the left side of `+=`."""

    owner: Item
    span: Span


@dataclass(eq=False, slots=True)
class Joined:
    """Values that are written one after another and make one; before each the white space that precedes it."""

    parts: list[tuple[str, Node]]
    span: Span


Node: TypeAlias = Scalar | Fields | Elements | Reference | Earlier | Joined
