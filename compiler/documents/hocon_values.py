"""HOCON with its substitutions made: each key's last value, objects merged, and what is written together joined.

Substitutions are looked up as they are met, each in the whole document, so that one may name what comes later. One that
leads to the key which it helps to define takes what that key had before (HOCON, "Self-Referential Substitutions").
What they repeat is counted against a limit, and so is how many lead to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ..diagnostics import Diagnostic
from ..source import Source, Span
from .document import MAX_ALIASED, MAX_DEPTH, Mapping, Scalar, Sequence, Value
from .hocon_tree import Earlier, Elements, Fields, Item, Joined, Node, Reference, Slot

MAX_CHAIN = 50
"""How many substitutions may lead to each other."""
MAX_REPEATED = 1_000_000
"""How many characters substitutions may join to longer texts."""

_Reduced: TypeAlias = Scalar | Fields | Elements | None
"""A value whose outermost part is known; None where there is none."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A value with all of its parts, how many they are, and how deep."""

    value: Value
    size: int = 1
    depth: int = 0


class TooLargeError(Exception):
    """Ends the reading of a text that grows too far."""

    def __init__(self, at: Span, message: str, help_: str) -> None:
        super().__init__(message)
        self.at, self.message, self.help = at, message, help_


class Substitution:
    """The substitutions of one document. `written` is how many values it has."""

    def __init__(self, source: Source, root: Fields | Elements, written: int) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []
        self._root = root
        self._values: dict[tuple[Slot, int], _Reduced] = {}
        self._made: dict[Fields | Elements, _Made] = {}
        self._active: dict[Item, tuple[Slot, int]] = {}
        self._open: set[Fields | Elements] = set()
        self._chain = 0
        self._budget = MAX_ALIASED + 3 * written
        self._characters = MAX_REPEATED

    def value(self) -> Value:
        """The whole document.

        Raises:
            TooLargeError: where it grows too far.
        """
        return self._made_of(self._root, self._root.span).value

    def _report(self, code: str, at: Span, message: str, help_: str) -> None:
        self.diagnostics.append(Diagnostic(code, message, self.source, at, help_))

    def _made_of(self, node: Scalar | Fields | Elements, at: Span) -> _Made:
        if isinstance(node, Scalar):
            return _Made(node)
        known = self._made.get(node)
        if known is None and node in self._open:
            self._report("TRI392", at, "a substitution leads back to the value that it is in", "name another value")
            return _Made(Scalar(None, "", at))
        if len(self._open) + (known.depth if known else 1) > MAX_DEPTH:
            raise TooLargeError(at, f"more than {MAX_DEPTH} levels of nesting", "flatten the document")
        if known is not None:
            self._spend(known.size, at)
            return known
        self._open.add(node)
        made = self._made[node] = self._mapping(node) if isinstance(node, Fields) else self._sequence(node)
        self._open.remove(node)
        return made

    def _mapping(self, fields: Fields) -> _Made:
        entries: list[tuple[Scalar, Value]] = []
        size, depth = 1, 0
        for slot in fields.slots.values():
            reduced = self._value_of(slot, len(slot.items))
            if reduced is not None:
                key = slot.items[-1].key
                made = self._made_of(reduced, key.span)
                entries.append((key, made.value))
                size, depth = size + made.size, max(depth, made.depth)
        return _Made(Mapping(tuple(entries), fields.span), size, depth + 1)

    def _sequence(self, elements: Elements) -> _Made:
        items: list[Value] = []
        size, depth = 1, 0
        for node in elements.nodes:
            reduced = self._reduced(node)
            if reduced is not None:
                made = self._made_of(reduced, node.span)
                items.append(made.value)
                size, depth = size + made.size, max(depth, made.depth)
        return _Made(Sequence(tuple(items), elements.span), size, depth + 1)

    def _value_of(self, slot: Slot, upto: int) -> _Reduced:
        """What a key has after its first `upto` items: the last of them, merged with objects before it."""
        key = (slot, upto)
        if key not in self._values:
            self._values[key] = self._folded(slot, upto)
        return self._values[key]

    def _folded(self, slot: Slot, upto: int) -> _Reduced:
        objects: list[Fields] = []
        for number in range(upto - 1, -1, -1):
            item = slot.items[number]
            self._active[item] = (slot, number)
            reduced = self._reduced(item.value)
            del self._active[item]
            if isinstance(reduced, Fields):
                objects.append(reduced)
            elif reduced is not None:
                return self._merged(objects[::-1]) if objects else reduced
        return self._merged(objects[::-1]) if objects else None

    def _merged(self, objects: list[Fields]) -> Fields:
        """One object of several, each of which adds to the slots of those before it."""
        if len(objects) == 1:
            return objects[0]
        merged = Fields({}, objects[-1].span)
        ours: set[str] = set()
        for each in objects:
            self._spend(len(each.slots), each.span)
            for name, slot in each.slots.items():
                found = merged.slots.get(name)
                if found is None:
                    merged.slots[name] = slot
                    continue
                if name not in ours:
                    ours.add(name)
                    found = merged.slots[name] = _copy(found.items)
                self._spend(len(slot.items), each.span)
                for item in slot.items:
                    found.add(item)
        return merged

    def _reduced(self, node: Node) -> _Reduced:
        match node:
            case Scalar() | Fields() | Elements():
                return node
            case Reference():
                return self._chained(lambda: self._found(node), node.span)
            case Earlier():
                return self._chained(lambda: self._value_of(*self._active[node.owner]), node.span)
            case Joined():
                return self._joined(node)

    def _chained(self, find: Callable[[], _Reduced], at: Span) -> _Reduced:
        self._chain += 1
        if self._chain > MAX_CHAIN:
            message = f"more than {MAX_CHAIN} substitutions lead to each other"
            raise TooLargeError(at, message, "write the values out")
        found = find()
        self._chain -= 1
        return found

    def _found(self, reference: Reference) -> _Reduced:
        around = () if reference.owner is None else tuple(reference.owner.around())
        current: _Reduced = self._root
        for number, name in enumerate(reference.path, 1):
            slot = current.slots.get(name) if isinstance(current, Fields) else None
            if slot is None:
                return self._absent(reference)
            is_last, upto = number == len(reference.path), len(slot.items)
            for item in around:
                if item in slot.numbers and (is_last or item in self._active):
                    upto = slot.numbers[item]
            if any(slot.numbers.get(item, upto) < upto for item in self._active):
                message = f"the substitution of '{_written(reference.path)}' leads back to itself"
                self._report("TRI392", reference.span, message, "name another value")
                return Scalar(None, "", reference.span)
            current = self._value_of(slot, upto)
            if current is None and upto < len(slot.items) and is_last and not reference.optional:
                message = f"'{_written(reference.path)}' has no value before this one"
                self._report("TRI392", reference.span, message, "write '${?' for a value that may be absent")
                return Scalar(None, "", reference.span)
        if isinstance(current, Scalar):
            self._spend(1, reference.span)
        return current

    def _absent(self, reference: Reference) -> _Reduced:
        name = _written(reference.path)
        if reference.optional:
            message = f"nothing in the document is called '{name}', so that it is taken for absent"
            self._report("TRI393", reference.span, message, "environment variables are not read: write the value out")
            return None
        message = f"nothing in the document is called '{name}', and environment variables are not read"
        self._report("TRI391", reference.span, message, "write the value out")
        return Scalar(None, "", reference.span)

    def _joined(self, joined: Joined) -> _Reduced:
        parts = [(gap, self._reduced(node)) for gap, node in joined.parts]
        present = [part for _, part in parts if part is not None]
        if not present:
            return None
        objects = [part for part in present if isinstance(part, Fields)]
        lists = [part for part in present if isinstance(part, Elements)]
        if len(objects) == len(present):
            return self._merged(objects)
        if len(lists) == len(present):
            return self._one_list(lists, joined.span)
        if objects or lists:
            kinds = " and ".join(_kinds(present))
            message = f"{kinds} are not joined to one value"
            self._report("TRI390", joined.span, message, "separate them by a comma or a line break")
            return Scalar(None, "", joined.span)
        text = "".join(gap + (part.text if isinstance(part, Scalar) else "") for gap, part in parts)
        if any(isinstance(node, Reference) for _, node in joined.parts):
            self._characters -= len(text)
            if self._characters < 0:
                message = f"substitutions repeat more than {MAX_REPEATED} characters"
                raise TooLargeError(joined.span, message, "write the values out")
        return Scalar(text, text, joined.span)

    def _one_list(self, lists: list[Elements], at: Span) -> Elements:
        if len(lists) == 1:
            return lists[0]
        nodes: list[Node] = []
        for each in lists:
            self._spend(len(each.nodes), at)
            nodes.extend(each.nodes)
        return Elements(nodes, at)

    def _spend(self, count: int, at: Span) -> None:
        self._budget -= count
        if self._budget < 0:
            raise TooLargeError(at, f"substitutions repeat more than {MAX_ALIASED} values", "write the values out")


def _copy(items: Iterable[Item]) -> Slot:
    slot = Slot()
    for item in items:
        slot.add(item)
    return slot


def _written(path: tuple[str, ...]) -> str:
    return ".".join(path)


def _kinds(parts: Iterable[Scalar | Fields | Elements]) -> list[str]:
    names = {Scalar: "a text", Fields: "an object", Elements: "a list"}
    return list(dict.fromkeys(names[type(part)] for part in parts))
