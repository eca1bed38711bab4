"""cel-expr-python, the official C++ CEL.

Its faults are kept from the data: it cuts strings at NUL, it refuses nesting over 32 levels, and it ends an evaluation
in which an optional holds no map and a field of it is selected, though `||` may absorb that error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tricel.compiler import celtypes as t
from tricel.compiler.environments.attributes import NO_RECORD, AttributeRecord
from tricel.compiler.functions import ALL, BY_NAME, LENGTHS, Literal, Size, Steps, calls_that_give, functions
from tricel.compiler.names import TYPE_NAMES
from tricel.compiler.nodes import (
    INDEX,
    OPTIONAL_INDEX,
    STANDARD,
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
    Select,
    children,
    variables,
    walk,
)
from tricel.compiler.values import durations, rfc3339
from tricel.compiler.values.cel import Timestamp

from ..sql.bounds.growth import grows
from .batching import SIZE, Lot
from .loops import repeats
from .model import Failure, GaveUpError

MAX_DATA_DEPTH = 500
"""Levels of lists and maps in a value that is given to the engine."""
MAX_TURNS = 10_000
"""Turns of macros in one evaluation, which the engine ends then."""
_SPENT = "Iteration budget exceeded"


_OPTIONAL_MACROS = frozenset({MacroKind.OPT_MAP, MacroKind.OPT_FLAT_MAP})
_PACKAGES = frozenset(name.split(".")[0] for name in TYPE_NAMES if "." in name)
_ZONE = re.compile(r"(?:[+-]?\d{1,2}:\d{1,2}|(?!Fixed/)[A-Za-z0-9_+/-]+)?", re.ASCII)
"""Time zones that every implementation reads alike: fixed ones, and names."""

_SEARCHES = frozenset(row.function for row in ALL if Steps.SEARCHED in row.steps)
_ALIKE = functions(lambda row: row.cel_expr == ()) | {OPTIONAL_INDEX}
_KEPT = frozenset({Size.CONSTANT, Size.OPERAND, Size.ELEMENT, Size.SUBTEXT, Size.CHARACTER})
_BUILDS = frozenset(row.function for row in ALL if row.size not in _KEPT and row.cel_expr == ())
"""Functions that make a text as long as what they are given; the engine bounds turns, not what they build."""
_UNSIGNED = calls_that_give({t.UINT})
_MAKES_OPTIONAL = frozenset(row.function for row in ALL if row.result.name == "optional_type") | {OPTIONAL_INDEX}
_READS_OPTIONAL = frozenset(
    row.function for row in ALL if row.size is Size.OPERAND and any(p.name == "optional_type" for p in row.params)
)
"""Functions whose value is what an optional holds, or another operand."""


def refuses(expr: Expr, record: AttributeRecord) -> str:
    """Why the engine would answer differently from CEL, or build without bound; empty when it would do neither."""
    if repeats(expr):
        return "it does not bound what the turns of a macro read"
    if grows(expr):
        return "it does not bound what it makes"
    bound = frozenset(name for node in walk(expr) for name in variables(node))
    unsigned = any(map(_is_unsigned, walk(expr)))
    for node in walk(expr):
        match node:
            case MapExpr(entries=entries) if unsigned and _same_number([entry.key for entry in entries]):
                return "it tells an int and a uint of the same number apart where they are keys of one map"
            case ListExpr() | MapExpr() if _copies(node, bound):
                return "it does not bound lists that hold one value more than once"
            case Comprehension(macro=MacroKind.MAP, body=body) if any(map(_builds, walk(body))):
                return "it does not bound what a macro builds"
            case Bind(value=value) if any(map(_builds, walk(value))):
                return "it does not bound what variables build of one another"
            case Call() if reason := _difference(node):
                return reason
            case Call(function=function, args=args) if function in _SEARCHES and not isinstance(args[0], Lit):
                return f"'{function}': its time grows with the product of two texts"
            case Lit(value=str() | bytes() as value) if b"\0" in _bytes(value):
                return "it cuts strings at NUL, and the expression holds one"
            case Ident(name=name) if "." in name and name not in TYPE_NAMES:
                return f"it takes '{name}' for a field"
            case Comprehension(macro=macro, second=second) if second or macro not in STANDARD | _OPTIONAL_MACROS:
                return f"it lacks the macro '{macro}'{' with two variables' if second else ''}"
            case Call(function="!_" | "-_" as sign, args=(Call(function=inner),)) if sign == inner:
                return f"it takes '{sign[0] * 2}' for nothing, whatever follows"
            case Call(function=function, args=(_, key)) if function == OPTIONAL_INDEX and not isinstance(key, Lit):
                return "it has no optional index that is a uint or double"
    if _indexes_optional(expr):
        return "an index into what an optional holds is no error where that is no list or map"
    return "it is given times as text" if record.times and _gives_time(expr, record) else ""


def _is_unsigned(e: Expr) -> bool:
    """Whether uints begin here: an event has none."""
    return (isinstance(e, Lit) and e.kind is LitKind.UINT) or (
        isinstance(e, Call) and (e.function, e.target is not None) in _UNSIGNED
    )


def _same_number(keys: Sequence[Expr]) -> bool:
    """Whether of two keys, where there are uints, one may be an int and the other the uint of the same number."""
    written = [key for key in keys if isinstance(key, Lit)]
    ints = {key.value for key in written if key.kind is LitKind.INT}
    uints = {key.value for key in written if key.kind is LitKind.UINT}
    computed = len(keys) - len(written)
    return not ints.isdisjoint(uints) or computed > 1 or (computed == 1 and bool(ints or uints))


def _difference(e: Call) -> str:
    """Why the engine's answer of the call is not CEL's; empty where it is, as far as its row says."""
    if e.function in _ALIKE:
        return ""
    args = e.args if e.target is None else (e.target, *e.args)
    for row in BY_NAME.get(e.function, ()) or (None,):
        if row is None or row.cel_expr is None:
            return f"it lacks the function '{e.function}'"
        for difference in row.cel_expr if len(row.params) == len(args) else ():
            if difference.unless is None or not _is_read_alike(args[-1], difference.unless):
                return f"'{e.function}': {difference.reason}"
    return ""


def _is_read_alike(e: Expr, what: Literal) -> bool:
    """Whether the engine reads what is written as CEL does: a literal of the right form, to the nanosecond."""
    match e:
        case Lit(value=str() as text):
            match what:
                case Literal.TIME:
                    return rfc3339.nanoseconds(text) is not None
                case Literal.DURATION:
                    found = durations.microseconds(text)
                    return found is not None and found[1]
                case Literal.ZONE:
                    return _ZONE.fullmatch(text) is not None
        case _:
            return isinstance(e, Lit) and what is not Literal.ZONE


def _indexes_optional(expr: Expr) -> bool:
    suspects: set[str] = set()
    for node in walk(expr):  # parents first, so that a variable is known before what is made of it
        match node:
            case Bind(variable=variable, value=value) if _holds_optional(value, suspects):
                suspects.add(variable)
            case Comprehension(range=value) if _holds_optional(value, suspects) and not (
                node.macro in _OPTIONAL_MACROS and _is_of_data(value, suspects)
            ):
                suspects.update(variables(node))
    return any(isinstance(n, Call) and n.function == INDEX and _holds_optional(n.args[0], suspects) for n in walk(expr))


def _holds_optional(e: Expr, suspects: set[str]) -> bool:
    """Whether the value may be an optional, or hold one."""
    match e:
        case Ident(name=name):
            return name in suspects
        case Select(optional=True):
            return True
        case Call(function=function) if function in _MAKES_OPTIONAL:
            return True
        case Call(function=function, target=target, args=args) if (
            function in _READS_OPTIONAL and target and _is_of_data(target, suspects)
        ):
            return any(_holds_optional(a, suspects) for a in args)
        case _:
            return any(_holds_optional(c, suspects) for c in children(e))


def _is_of_data(e: Expr, suspects: set[str]) -> bool:
    """Whether it is selected from a name, so that an optional in it holds data, which holds no optional."""
    while True:
        match e:
            case Select(operand=holder) | Call(function="_[_]" | "_[?_]", args=(holder, _)):
                e = holder
            case _:
                return isinstance(e, Ident) and e.name not in suspects


def _gives_time(e: Expr, record: AttributeRecord, bound: frozenset[str] = frozenset()) -> bool:
    """Whether an attribute that is a time, which the engine is given as text, may be read otherwise than by its name.

    `bound` are the variables of macros around.
    """
    match e:
        case Ident():
            return record.is_it(e, bound)
        case Has(operand=operand) | Select(operand=operand, optional=False) if record.is_it(operand, bound):
            return False
        case Select(operand=operand, optional=True, field=name) if record.is_it(operand, bound):
            return name in record.times
        case Call(function="_[_]", args=(holder, Lit())) if record.is_it(holder, bound):
            return False
        case Call(function="_[?_]", args=(holder, Lit(value=key))) if record.is_it(holder, bound):
            return key in record.times
        case Call(function="@in", args=(key, holder)) if record.is_it(holder, bound):
            return _gives_time(key, record, bound)
        case Call(function=function, args=(holder,), target=None) | Call(function=function, args=(), target=holder) if (
            function in LENGTHS and holder is not None and record.is_it(holder, bound)
        ):
            return False
    inner = bound | variables(e)
    ranged = isinstance(e, Comprehension) and record.is_it(e.range, bound)  # its variable holds names
    parts = enumerate(children(e))
    return any(_gives_time(c, record, inner if i else bound) for i, c in parts if i or not ranged)


def _builds(e: Expr) -> bool:
    """Whether the call may make a long text or list: not where it adds to a number."""
    if not isinstance(e, Call) or e.function not in _BUILDS:
        return False
    return not any(isinstance(a, Lit) and isinstance(a.value, int | float) for a in e.args)


def _copies(e: Expr, bound: frozenset[str]) -> bool:
    """Whether a list or map holds what a variable holds more than once; so may that variable, and so on."""
    named = [n.name for n in walk(e) if isinstance(n, Ident) and n.name in bound]
    return len(set(named)) < len(named)


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


@lru_cache(maxsize=64)
def _environment(roots: frozenset[str]) -> Any:
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_bindings, ext_encoders, ext_math, ext_optional, ext_strings

    extensions = [
        ext_strings.ExtStrings(),
        ext_math.ExtMath(),
        ext_encoders.ExtEncoders(),
        ext_bindings.ExtBindings(),
        ext_optional.ExtOptional(),
    ]
    return cel.NewEnv(variables=dict.fromkeys(sorted(roots), cel.Type.DYN), extensions=extensions)


def compile_text(
    text: str, roots: frozenset[str], record: AttributeRecord = NO_RECORD
) -> Callable[[Mapping[str, Any]], bool | Failure]:
    """An evaluator of CEL text.

    Raises:
        ValueError: where the engine cannot compile it, with its reason.
    """
    try:
        expression = _environment(roots).compile(text, disable_check=True)
    except RuntimeError as e:
        reason = str(e).split("\n")[0].removeprefix("INVALID_ARGUMENT: ").removeprefix("CANCELLED: ")
        raise ValueError(reason.removeprefix("ERROR: <input>:-1:-1: ")) from e

    def evaluate(activation: Mapping[str, Any]) -> bool | Failure:
        try:
            found = expression.eval(data=activation)
        except RuntimeError as e:
            spent = f"a macro takes more than {MAX_TURNS:,} turns"
            raise GaveUpError(spent if _SPENT in str(e) else str(e)) from e
        kind = found.type().name()
        if kind == "BOOL":
            return bool(found.value())
        # Of another value only the kind is asked: `value()` takes a reference from None for each null.
        return Failure(str(found.value()) if kind == "ERROR" else f"the result is {kind.lower()}, not bool")

    return evaluate


def compile_lot(text: str, roots: frozenset[str]) -> Lot | None:
    """A program for several events at once: a list of the expression's outcomes, its variables bound for each.

    A result that is no bool is an error of the whole: `plain_value()` does not survive an optional, nor many nulls.
    None where the engine does not compile it, or would take a variable for part of a type's name.
    """
    if not roots.isdisjoint(_PACKAGES):
        return None
    names = tuple(sorted(root for root in roots if re.search(rf"\b{root}\b", text)))
    values = "values" + "_" * max(map(len, roots), default=0)  # longer than any, so none of them
    results = []
    for i in range(SIZE):
        result = f"({text}) ? true : false"
        for j, name in enumerate(names, i * len(names)):
            result = f"cel.bind({name}, {values}[{j}], {result})"
        results.append(result)
    try:
        return _Lot(
            names, values, _environment(frozenset({values})).compile(f"[{', '.join(results)}]", disable_check=True)
        )
    except RuntimeError:
        return None


@dataclass(frozen=True, slots=True)
class _Lot:
    names: tuple[str, ...]
    values: str
    expression: Any

    def __call__(self, values: Sequence[Any]) -> list[bool] | None:
        """The outcomes; None where there is an error in any."""
        try:
            found = self.expression.eval(data={self.values: values}).plain_value()
        except RuntimeError:
            return None
        return found if isinstance(found, list) else None


def unfit(value: Any) -> str:
    """Why a value must not be given to the engine: NUL in a text or in bytes, or nesting too deep; empty when it may."""
    level: list[Any] = [value]
    for _ in range(MAX_DATA_DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, str):
                if "\0" in item:
                    return "the data holds a NUL character, which the engine cannot compare"
            elif isinstance(item, bytes):
                if b"\0" in item:
                    return "the data holds bytes with a NUL, at which the engine cuts them"
            elif isinstance(item, Timestamp):
                return "the data holds a time, which the engine cannot be given"
            elif isinstance(item, Mapping):
                below.extend(item)
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        if not below:
            return ""
        level = below
    return f"the data is nested deeper than {MAX_DATA_DEPTH} levels"
