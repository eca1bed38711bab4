"""The evaluator: a syntax tree becomes nested Python closures, which evaluate it as often as wanted.

An evaluation error is a `CelError`. It names the innermost expression that erred and is absorbed where CEL absorbs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from ..names import TYPE_NAMES
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
    LitKind,
    MacroKind,
    MapExpr,
    Message,
    Select,
)
from ..values.cel import CelError, TypeValue, Uint, Value, as_key
from .access import has, index, select
from .dispatch import function
from .frame import MAX_STEPS, Frame, Step
from .logic import conditional, is_present, logic, otherwise
from .macros import MACROS, opt_map, turns
from .work import ELEMENT, counts, making, per_element, reading


@dataclass(frozen=True, slots=True)
class Evaluator:
    """A compiled expression."""

    run: Step
    variables: int

    def __call__(self, roots: Mapping[str, Value], max_steps: int = MAX_STEPS) -> Value:
        """The value for what the roots hold.

        Raises:
            CelError: where it is an evaluation error.
        """
        try:
            return self.run(Frame(roots, [None] * self.variables, max_steps))
        except RecursionError:
            raise CelError("the values are nested too deeply") from None


def evaluator(e: Expr) -> Evaluator:
    """The expression, compiled. It need not have been checked; names must be resolved."""
    builder = _Builder()
    return Evaluator(builder.build(e, {}), builder.count)


def evaluate(e: Expr, roots: Mapping[str, Value], max_steps: int = MAX_STEPS) -> Value:
    """The value of an expression.

    Raises:
        CelError: where it is an evaluation error.
    """
    return evaluator(e)(roots, max_steps)


@dataclass(frozen=True, slots=True)
class _Raised:
    """The error of a value that was bound: it is raised where the variable is used."""

    error: CelError


@dataclass
class _Builder:
    """`scope` maps the variables in sight to their places in the frame."""

    count: int = field(default=0)

    def build(self, e: Expr, scope: Mapping[str, int]) -> Step:
        """The closure that evaluates `e`."""
        match e:
            case Lit(kind=kind_, value=value):
                constant = Uint(value) if kind_ is LitKind.UINT and isinstance(value, int) else value
                return lambda _: constant
            case Ident():
                return self._ident(e, scope)
            case Select():
                return _blamed(e, select(self.build(e.operand, scope), e.field, optional=e.optional))
            case Has(operand=operand, field=name):
                holder = self.build(operand, scope)
                return _blamed(e, lambda frame: has(holder(frame), name))
            case Call():
                return self._call(e, scope)
            case ListExpr():
                return _blamed(e, self._list(e, scope))
            case MapExpr():
                return _blamed(e, self._map(e, scope))
            case Message(name=name):
                return _blamed(e, _raising(f"messages cannot be made: '{name}'"))
            case Comprehension():
                return _blamed(e, self._comprehension(e, scope))
            case Bind():
                return self._bind(e, scope)
            case _:
                assert_never(e)

    def _place(self) -> int:
        self.count += 1
        return self.count - 1

    def _ident(self, e: Ident, scope: Mapping[str, int]) -> Step:
        name = e.name
        if name in scope and not e.absolute:
            place = scope[name]

            def variable(frame: Frame) -> Value:
                found = frame.variables[place]
                if type(found) is _Raised:
                    raise _blaming(found.error, e)
                return found

            return variable
        type_value = TypeValue(name) if name in TYPE_NAMES else None

        def root(frame: Frame) -> Value:
            if name in frame.roots:
                return frame.roots[name]
            if type_value is not None:
                return type_value
            raise _blaming(CelError(f"no such attribute: '{name}'"), e)

        return root

    def _call(self, e: Call, scope: Mapping[str, int]) -> Step:
        args = [self.build(a, scope) for a in (e.args if e.target is None else (e.target, *e.args))]
        match e.function:
            case name if name == AND:
                return _blamed(e, logic(args, absorbing=False))
            case name if name == OR:
                return _blamed(e, logic(args, absorbing=True))
            case name if name == CONDITIONAL:
                return _blamed(e, conditional(*args))
            case name if name in (INDEX, OPTIONAL_INDEX):
                return _blamed(e, index(*args, optional=name == OPTIONAL_INDEX))
            case "or" | "orValue" as name if e.target is not None and len(args) == 2:
                return _blamed(e, otherwise(*args, keep=name == "or"))
        call = function(e.function, member=e.target is not None)
        if len(args) == 1:
            return _unary(e, call, *args)
        if len(args) == 2:
            return _binary(e, call, *args)
        read, element = reading(e.function), per_element(e.function)

        def run(frame: Frame) -> Value:
            frame.step()
            values = tuple(arg(frame) for arg in args)
            frame.spend(read(values, frame.work))
            found = call(*values)
            frame.spend(making(element, values, found))
            return found

        return _blamed(e, run)

    def _list(self, e: ListExpr, scope: Mapping[str, int]) -> Step:
        items = [self.build(item, scope) for item in e.items]
        size = len(items) * ELEMENT
        if not e.optional:

            def plain(frame: Frame) -> Value:
                frame.spend(size)
                return [item(frame) for item in items]

            return plain
        marked = [(item, i in e.optional) for i, item in enumerate(items)]

        def build(frame: Frame) -> Value:
            frame.spend(size)
            found = []
            for item, optional in marked:
                value = item(frame)
                if not optional:
                    found.append(value)
                elif is_present(value):
                    found.append(value.value)
            return found

        return build

    def _map(self, e: MapExpr, scope: Mapping[str, int]) -> Step:
        entries = [(self.build(x.key, scope), self.build(x.value, scope), x.optional) for x in e.entries]

        def build(frame: Frame) -> Value:
            frame.spend(len(entries) * ELEMENT)
            found: dict[Value, Value] = {}
            for key, value, optional in entries:
                k, v = as_key(key(frame)), value(frame)
                if k in found:
                    raise CelError("failed with repeated key")
                if not optional:
                    found[k] = v
                elif is_present(v):
                    found[k] = v.value
            return found

        return build

    def _bind(self, e: Bind, scope: Mapping[str, int]) -> Step:
        value, place = self.build(e.value, scope), self._place()
        body = self.build(e.body, {**scope, e.variable: place})

        def bind(frame: Frame) -> Value:
            try:
                frame.variables[place] = value(frame)
            except CelError as error:
                frame.variables[place] = _Raised(error)
            return body(frame)

        return bind

    def _comprehension(self, e: Comprehension, scope: Mapping[str, int]) -> Step:
        range_, place = self.build(e.range, scope), self._place()
        second = self._place() if e.second else None
        inner = {**scope, e.variable: place} | ({e.second: second} if second is not None else {})
        body = self.build(e.body, inner)
        condition = self.build(e.condition, inner) if e.condition is not None else None
        if e.macro in (MacroKind.OPT_MAP, MacroKind.OPT_FLAT_MAP):
            return opt_map(range_, place, body, flat=e.macro is MacroKind.OPT_FLAT_MAP)

        return MACROS[e.macro](turns(range_, condition, place, second), body)


def _blaming(error: CelError, e: Expr) -> CelError:
    """The error, which names the expression unless it names one within it."""
    if error.expr is None:
        error.expr = e
    return error


def _blamed(e: Expr, step: Step) -> Step:
    """The step, whose errors name the expression unless they name one within it."""

    def run(frame: Frame) -> Value:
        try:
            return step(frame)
        except CelError as error:
            _blaming(error, e)
            raise

    return run


def _raising(message: str) -> Step:
    def run(_: Frame) -> Value:
        raise CelError(message)

    return run


# A call of one or two arguments blames by itself: a step around each call is a tenth of the time of a macro's turns.
def _unary(e: Call, call: Callable[..., Value], argument: Step) -> Step:
    read, element = reading(e.function), per_element(e.function)

    def run(frame: Frame) -> Value:
        try:
            frame.step()
            value = argument(frame)
            if counts(value):
                frame.spend(read((value,), frame.work))
            found = call(value)
            if counts(found):
                frame.spend(making(element, (value,), found))
        except CelError as error:
            _blaming(error, e)
            raise
        return found

    return run


def _binary(e: Call, call: Callable[..., Value], first: Step, second: Step) -> Step:
    read, element = reading(e.function), per_element(e.function)

    def run(frame: Frame) -> Value:
        try:
            frame.step()
            a, b = first(frame), second(frame)
            if counts(a) or counts(b):
                frame.spend(read((a, b), frame.work))
            found = call(a, b)
            if found is not True and found is not False and counts(found):
                frame.spend(making(element, (a, b), found))
        except CelError as error:
            _blaming(error, e)
            raise
        return found

    return run
