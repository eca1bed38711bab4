"""A bound on the work that a filter does for one event, before any event is seen.

The model is that of cel-go's cost estimator (`checker/cost.go`): a step for each name, selection and call, 10 for a
list, 30 for a map; text is read at 10 characters a step, a pattern weighs a quarter of a step a character for each such
step; a comprehension costs its body, and 2 steps, for each element. Sizes come from literals, from what the filter
builds out of them, and for the event from the assumptions in `Limits`: elements share the size of what holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import assert_never

from .. import celtypes as t
from ..celtypes import CelType, Record
from ..check import Checked
from ..diagnostics import Diagnostic
from ..limits import DEFAULT, Limits
from ..nodes import (
    AND,
    CONDITIONAL,
    INDEX,
    OPTIONAL_INDEX,
    OR,
    Bind,
    Call,
    Comprehension,
    Expr,
    Has,
    Ident,
    ListExpr,
    Lit,
    MacroKind,
    MapExpr,
    Message,
    Select,
    children,
    walk,
)
from ..source import Source
from .sizes import (
    CEILING,
    SCALAR,
    SMALLEST_ELEMENT,
    Extent,
    called,
    capped,
    element_of,
    key_of,
    made_list,
    share_of,
    sorting,
    text_of,
    wider,
)

_LIST, _MAP, _LOOP = 10, 30, 2
_LOOPS = "nest fewer comprehensions, or bound what they go over: comprehensions in one another multiply"


@dataclass(frozen=True, slots=True)
class Cost:
    """Steps for one event: at least `min`, and at most `max` for events within the assumed sizes."""

    min: int
    max: int

    def __add__(self, other: Cost) -> Cost:
        most = self.max + other.max  # the least is never more
        return Cost(self.min + other.min, most) if most <= CEILING else Cost(capped(self.min + other.min), CEILING)

    def __mul__(self, times: tuple[int, int]) -> Cost:
        return Cost(capped(self.min * times[0]), capped(self.max * times[1]))


@dataclass(frozen=True, slots=True)
class Estimate:
    """The cost of a filter, the subexpression that most of it goes to, and the largest value built and where."""

    cost: Cost
    dearest: Expr
    built: int
    builder: Expr


_NOTHING, _STEP = Cost(0, 0), Cost(1, 1)


def estimate(checked: Checked, limits: Limits = DEFAULT) -> Estimate:
    """The cost of a checked filter."""
    run = _Run(checked.types, checked.environment.root, limits)
    cost, _ = run.visit(checked.expr, {})
    return Estimate(cost, _dearest(checked.expr, run.costs), run.built, run.builder or checked.expr)


def cost_of(e: Expr) -> Cost:
    """The cost of a subexpression that reads no event and no variable, whose types need not be known."""
    return _Run({}, lambda _: None, DEFAULT).visit(e, {})[0]


def over_limit(checked: Checked, source: Source, limits: Limits = DEFAULT) -> tuple[Diagnostic, ...]:
    """TRI210 where a filter may cost more, or build more, than the limits allow."""
    found = estimate(checked, limits)
    if found.cost.max > limits.cost:
        message = f"the filter may take {_shown(found.cost.max)} steps for one event; the limit is {limits.cost:,}"
        loops = any(isinstance(node, Comprehension) for node in walk(found.dearest))
        help_ = _LOOPS if loops else "look at fewer or shorter values, or allow it a higher limit"
        return (Diagnostic("TRI210", message, source, found.dearest.span, help_),)
    if found.built > limits.built:
        message = f"the filter may build a value of {_shown(found.built)} characters; the limit is {limits.built:,}"
        help_ = "compare the parts instead of joining them"
        return (Diagnostic("TRI210", message, source, found.builder.span, help_),)
    return ()


def _shown(number: int) -> str:
    return f"over {CEILING:,}" if number >= CEILING else f"{number:,}"


def _dearest(e: Expr, costs: Mapping[int, int]) -> Expr:
    """The innermost subexpression that takes at least two thirds of the cost of each one around it."""
    while True:
        inner = max(children(e), key=lambda c: costs.get(c.id, 0), default=e)
        if inner is e or costs.get(inner.id, 0) * 3 < costs.get(e.id, 0) * 2:
            return e
        e = inner


@dataclass
class _Run:
    """One walk. `costs` holds the greatest cost of each node by its id."""

    types: Mapping[int, CelType]
    root: Callable[[str], CelType | None]
    limits: Limits
    costs: dict[int, int] = field(default_factory=dict)
    built: int = 0
    builder: Expr | None = None

    def visit(self, e: Expr, scope: Mapping[str, Extent]) -> tuple[Cost, Extent]:
        """The cost of evaluating `e`, and how large its value can be."""
        cost, extent = self._visit(e, scope)
        self.costs[e.id] = max(cost.max, self.costs.get(e.id, 0))
        if extent.fresh > self.built:
            self.built, self.builder = extent.fresh, e
        return cost, extent

    def of_type(self, type_: CelType | None, weight: int) -> Extent:
        """A value of the event about which nothing but its type and the size of what holds it is known."""
        limits = self.limits
        text, count = min(weight, limits.assumed_text), max(1, min(weight // 2, limits.assumed_items))
        match type_:
            case None | CelType(name="dyn" | "json"):
                return Extent(0, text, count, weight)
            case Record() | CelType(name="map"):
                return Extent(0, 0, count, weight)
            case CelType(name="list", params=(element,)):
                share = max(SMALLEST_ELEMENT, weight // count)
                return Extent(0, 0, count, weight, self.of_type(element, share))
            case CelType(name="string" | "bytes"):
                return text_of(0, text)
            case CelType(name="optional_type", params=(inner,)):
                return self.of_type(inner, weight)
            case _:
                return SCALAR

    def _visit(self, e: Expr, scope: Mapping[str, Extent]) -> tuple[Cost, Extent]:
        match e:
            case Lit(value=str() | bytes() as value):
                return _NOTHING, text_of(len(value), len(value))
            case Lit():
                return _NOTHING, SCALAR
            case Ident(name=name, absolute=absolute):
                if name in scope and not absolute:
                    return _STEP, scope[name]
                return _STEP, self.of_type(self.types.get(e.id), self.limits.assumed_payload)
            case Select(operand=operand) | Has(operand=operand):
                cost, holder = self.visit(operand, scope)
                return cost + _STEP, SCALAR if isinstance(e, Has) else self._part(e, holder)
            case Call():
                return self._call(e, scope)
            case ListExpr(items=items):
                return self._parts(_LIST, items, (), scope)
            case MapExpr(entries=entries):
                return self._parts(_MAP, tuple(x.value for x in entries), tuple(x.key for x in entries), scope)
            case Message(fields=fields):
                return self._parts(_MAP, tuple(f.value for f in fields), (), scope)
            case Comprehension():
                return self._comprehension(e, scope)
            case Bind(variable=variable, value=value, body=body):
                cost, extent = self.visit(value, scope)
                inner, result = self.visit(body, {**scope, variable: extent})
                return cost + inner, result
            case _:
                assert_never(e)

    def _part(self, e: Expr, holder: Extent) -> Extent:
        """A field or an element of what was built, or of the event."""
        return holder.items if holder.items is not None else self.of_type(self.types.get(e.id), holder.weight)

    def _parts(
        self, base: int, values: tuple[Expr, ...], keys: tuple[Expr, ...], scope: Mapping[str, Extent]
    ) -> tuple[Cost, Extent]:
        cost = Cost(base, base)
        extents: list[list[Extent]] = [[], []]
        for which, parts in enumerate((values, keys)):
            for part in parts:
                more, extent = self.visit(part, scope)
                cost += more
                extents[which].append(extent)
        every = [x for group in extents for x in group]
        weight = capped(len(values) + sum(x.weight for x in every))
        fresh = capped(len(values) + sum(x.fresh for x in every))
        items, names = (reduce(wider, group) if group else None for group in extents)
        return cost, Extent(len(values), 0, len(values), weight, items, names, fresh)

    def _call(self, e: Call, scope: Mapping[str, Extent]) -> tuple[Cost, Extent]:
        name, args = self._callee(e, scope)
        visited = [self.visit(arg, scope) for arg in args]
        cost = _STEP
        for more, _ in visited:
            cost += more
        given = tuple([x for _, x in visited])
        if e.function in (AND, OR):
            return Cost(visited[0][0].min, cost.max), SCALAR
        if e.function == CONDITIONAL:
            test, then, other = (c for c, _ in visited)
            least, most = min(then.min, other.min), max(then.max, other.max)
            return test + Cost(least, most) + _STEP, wider(given[1], given[2])
        if e.function in (INDEX, OPTIONAL_INDEX):
            return cost, self._part(e, given[0])
        steps, extent = called(name, given, args)
        if self.types.get(e.id) in t.SHORT:
            extent = SCALAR
        return cost + Cost(0, capped(steps)), extent

    def _callee(self, e: Call, scope: Mapping[str, Extent]) -> tuple[str, tuple[Expr, ...]]:
        """The name of the function, with its namespace, and all that it is given."""
        if e.target is None:
            return e.function, e.args
        if isinstance(e.target, Ident) and e.target.name not in scope and self.root(e.target.name) is None:
            return f"{e.target.name}.{e.function}", e.args
        return e.function, (e.target, *e.args)

    def _comprehension(self, e: Comprehension, scope: Mapping[str, Extent]) -> tuple[Cost, Extent]:
        cost, held = self.visit(e.range, scope)
        type_ = self.types.get(e.range.id)
        optional = e.macro in (MacroKind.OPT_MAP, MacroKind.OPT_FLAT_MAP)
        low, high = (0, 1) if optional else (held.low if held.items is not None else 0, held.count)
        inner = dict(scope)
        is_map = type_ is not None and (isinstance(type_, Record) or type_.name == "map")
        element = held if optional else self._typed_element(held, type_)
        if e.second:
            inner[e.variable] = key_of(held) if is_map else wider(SCALAR, key_of(held))
            inner[e.second] = element
        else:
            inner[e.variable] = key_of(held) if is_map else element
        each = Cost(_LOOP, _LOOP)
        if e.condition is not None:
            each += self.visit(e.condition, inner)[0]
        body, made = self.visit(e.body, inner)
        each = Cost(each.min, each.max) + (Cost(0, body.max) if e.condition is not None else body)
        least = 0 if e.macro in (MacroKind.ALL, MacroKind.EXISTS) else low
        whole = cost + each * (least, high)
        if e.macro is MacroKind.SORT_BY:
            whole += Cost(0, sorting(made_list(0, high, made)))
        return whole, self._result(e.macro, held, element, made, high)

    def _typed_element(self, held: Extent, type_: CelType | None) -> Extent:
        if held.items is None and type_ is not None and type_.name in ("list", "map") and len(type_.params) > 0:
            return self.of_type(type_.params[-1], share_of(held).weight)
        return element_of(held)

    def _result(self, macro: MacroKind, held: Extent, element: Extent, made: Extent, high: int) -> Extent:
        match macro:
            case MacroKind.ALL | MacroKind.EXISTS | MacroKind.EXISTS_ONE:
                return SCALAR
            case MacroKind.FILTER | MacroKind.SORT_BY:
                return replace(held, low=0, text=0, items=element)
            case MacroKind.MAP | MacroKind.TRANSFORM_LIST:
                return made_list(0, high, made)
            case MacroKind.TRANSFORM_MAP:
                return made_list(0, high, made, key_of(held))
            case MacroKind.TRANSFORM_MAP_ENTRY:
                return made_list(0, capped(high * made.count), element_of(made), key_of(made))
            case MacroKind.OPT_MAP | MacroKind.OPT_FLAT_MAP:
                return made
            case _:
                assert_never(macro)
