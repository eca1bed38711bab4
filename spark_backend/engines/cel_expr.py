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

from tricel.compiler import durations, rfc3339
from tricel.compiler.functions import FAMILIES
from tricel.compiler.interpreter.values import Timestamp
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
    MacroKind,
    MapExpr,
    Select,
    children,
    variables,
    walk,
)

from ..growth import grows
from .loops import repeats
from .lots import SIZE, Lot
from .model import Failure, GaveUpError

MAX_DATA_DEPTH = 500
"""Levels of lists and maps in a value that is given to the engine."""
MAX_TURNS = 10_000
"""Turns of macros in one evaluation, which the engine ends then."""
_SPENT = "Iteration budget exceeded"


_OPTIONAL_MACROS = frozenset({MacroKind.OPT_MAP, MacroKind.OPT_FLAT_MAP})
_LACKS = frozenset(row.function for name in ("lists", "sets", "regex") for row in FAMILIES[f"{name} extension"])
_DIFFERS = {
    "format": "it writes doubles with six digits",
    "split": "it splits an empty text into one part",
    "math.greatest": "it takes NaN for a number to compare",
    "math.least": "it takes NaN for a number to compare",
    "base64.decode": "it decodes text that is not base64",
    "matches": "it compiles the pattern again for every event",
    "substring": "it refuses an end that is the end of the text",
}
"""Functions that the engine answers otherwise than the language's definition, or slowly, each with the difference."""
_LENIENT = {
    "timestamp": "it reads texts that are not of RFC 3339: blanks, single digits, offsets without a colon",
    "duration": "it keeps fractions of a nanosecond",
}
"""Functions that the engine answers otherwise for some texts, each with the difference."""
_FIELDS = frozenset(row.function for row in FAMILIES["times"])
_PACKAGES = frozenset(name.split(".")[0] for name in TYPE_NAMES if "." in name)
_ZONE = re.compile(r"(?:[+-]?\d{1,2}:\d{1,2}|(?!Fixed/)[A-Za-z0-9_+/-]+)?", re.ASCII)
"""Time zones that every implementation reads alike: fixed ones, and names."""

_SEARCHES = frozenset({"contains", "indexOf", "lastIndexOf", "replace"})
_BUILDS = frozenset(
    {"_+_", "join", "replace", "lowerAscii", "upperAscii", "reverse", "string", "bytes", "base64.encode"}
)
"""Functions that make a text as long as what they are given; the engine bounds turns, not what they build."""


def refuses(expr: Expr) -> str:
    """Why the engine would answer differently from CEL, or build without bound; empty when it would do neither."""
    if repeats(expr):
        return "it does not bound what the turns of a macro read"
    if grows(expr):
        return "it does not bound what it makes"
    bound = frozenset(name for node in walk(expr) for name in variables(node))
    for node in walk(expr):
        match node:
            case ListExpr() | MapExpr() if _copies(node, bound):
                return "it does not bound lists that hold one value more than once"
            case Comprehension(macro=MacroKind.MAP, body=body) if any(map(_builds, walk(body))):
                return "it does not bound what a macro builds"
            case Bind(value=value) if any(map(_builds, walk(value))):
                return "it does not bound what variables build of one another"
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
            case Call(function="timestamp" | "duration" as function, args=(argument,)) if not _is_read(
                function, argument
            ):
                return f"'{function}': {_LENIENT[function]}"
            case Call(function=function, target=target, args=(zone,)) if target and _is_odd_zone(function, zone):
                return f"'{function}': it reads texts that are no time zone"
            case Call(function=function, args=(_, key)) if function == OPTIONAL_INDEX and not isinstance(key, Lit):
                return "it has no optional index that is a uint or double"
            case Call(function=function) if function in _LACKS:
                return f"it lacks the function '{function}'"
            case Call(function=function) if function in _DIFFERS:
                return f"'{function}': {_DIFFERS[function]}"
    if _indexes_optional(expr):
        return "an index into what an optional holds is no error where that is no list or map"
    return "it is given times as text" if _gives_time(expr) else ""


def _is_read(function: str, argument: Expr) -> bool:
    """Whether the engine reads a time or duration as CEL does: a literal of the right form, to the nanosecond."""
    match argument:
        case Lit(value=str() as text) if function == "timestamp":
            return rfc3339.nanoseconds(text) is not None
        case Lit(value=str() as text):
            found = durations.microseconds(text)
            return found is not None and found[1]
        case _:
            return isinstance(argument, Lit)


def _is_odd_zone(function: str, zone: Expr) -> bool:
    if function not in _FIELDS:
        return False
    return not isinstance(zone, Lit) or not isinstance(zone.value, str) or _ZONE.fullmatch(zone.value) is None


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
        case Call(function="value" | "orValue", target=target, args=args) if target and _is_of_data(target, suspects):
            return any(_holds_optional(a, suspects) for a in args)
        case Call(function=function) if function == OPTIONAL_INDEX or function.startswith("optional."):
            return True
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


def _gives_time(e: Expr, bound: bool = False) -> bool:
    """Whether the event's time, which the engine is given as text, may be read otherwise than by `ce.time`.

    `bound`: `ce` is a macro's variable here.
    """
    match e:
        case Ident():
            return _is_event(e, bound)
        case Has(operand=operand) | Select(operand=operand, optional=False) if _is_event(operand, bound):
            return False
        case Select(operand=operand, optional=True, field=name) if _is_event(operand, bound):
            return name == "time"
        case Call(function="_[_]", args=(holder, Lit())) if _is_event(holder, bound):
            return False
        case Call(function="_[?_]", args=(holder, Lit(value=key))) if _is_event(holder, bound):
            return key == "time"
        case Call(function="@in", args=(key, holder)) if _is_event(holder, bound):
            return _gives_time(key, bound)
        case Call(function="size", args=(holder,), target=None) | Call(function="size", args=(), target=holder) if (
            holder is not None and _is_event(holder, bound)
        ):
            return False
    inner = bound or "ce" in variables(e)
    ranged = isinstance(e, Comprehension) and _is_event(e.range, bound)  # its variable holds names
    parts = enumerate(children(e))
    return any(_gives_time(c, inner if i else bound) for i, c in parts if i or not ranged)


def _is_event(e: Expr, bound: bool) -> bool:
    return isinstance(e, Ident) and e.name == "ce" and (e.absolute or not bound)


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


def compile_text(text: str, roots: frozenset[str]) -> Callable[[Mapping[str, Any]], bool | Failure]:
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
    """Why a value must not be given to the engine: NUL in a text, or nesting too deep; empty when it may."""
    level: list[Any] = [value]
    for _ in range(MAX_DATA_DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, str):
                if "\0" in item:
                    return "the data holds a NUL character, which the engine cannot compare"
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
