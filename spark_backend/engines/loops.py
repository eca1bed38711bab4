"""What the turns of a macro may do again and again: an engine that counts turns alone does not bound it.

A turn that reads its own element reads, with all others, no more than the data. A turn that reads something as long as
the data, as in `data.list.all(x, x in data.list)`, reads the data as often as there are turns.
"""

from __future__ import annotations

from tricel.compiler import celtypes as t
from tricel.compiler.functions import ALL, Size, Steps, calls_that_give, functions
from tricel.compiler.nodes import (
    ADD,
    EQUALS,
    IN,
    NOT_EQUALS,
    OPTIONAL_INDEX,
    Bind,
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Lit,
    MacroKind,
    MapExpr,
    Select,
    children,
    walk,
)

_QUICK = functions(lambda row: row.steps & (Steps.ONE | Steps.AFFIX | Steps.ORDERED) == row.steps) | {OPTIONAL_INDEX}
"""Functions that take no longer for a long text or list, or read it as quickly as memory is read."""
_OPTIONAL = frozenset({MacroKind.OPT_MAP, MacroKind.OPT_FLAT_MAP})
_PASSED = frozenset({Size.UNKNOWN, Size.OPERAND, Size.ELEMENT, Size.SELECTED})
_PASSING = frozenset(row.function for row in ALL if row.size in _PASSED)
"""Functions whose value may be what they are given, or hold it."""
_NUMBERS = calls_that_give(t.NUMBERS | {t.BOOL})


def repeats(e: Expr, own: frozenset[str] = frozenset(), *, looped: bool = False) -> bool:
    """Whether a macro in `e` reads, again in each turn, what may be as long as the data.

    `own` are the variables that hold another part of the data in each turn; `looped`: `e` is in a macro.
    """
    match e:
        case Comprehension(macro=macro) if macro not in _OPTIONAL:
            fresh = not looped or _names(e.range) <= own
            inner = frozenset({e.variable} | ({e.second} if e.second else set())) if fresh else frozenset[str]()
            parts = (e.body,) if e.condition is None else (e.condition, e.body)
            if macro is MacroKind.MAP and _passes(e.body, inner):
                return True  # what goes over its list reads that again in each turn
            return repeats(e.range, own, looped=looped) or any(repeats(p, inner, looped=True) for p in parts)
        case Comprehension(range=value, variable=variable, body=body) | Bind(value=value, variable=variable, body=body):
            kept = own | {variable} if looped and _names(value) <= own else own - {variable}
            return repeats(value, own, looped=looped) or repeats(body, kept, looped=looped)
        case Call() if looped and _is_long(e, own):
            return True
        case MapExpr(entries=entries) if looped and not all(_names(x.key) <= own for x in entries):
            return True
        case _:
            return any(repeats(c, own, looped=looped) for c in children(e))


def _is_long(e: Call, own: frozenset[str]) -> bool:
    args = e.args if e.target is None else (e.target, *e.args)
    if e.function in _QUICK:
        return False
    if e.function in (EQUALS, NOT_EQUALS) and any(map(_is_short, args)):
        return False
    if e.function == ADD and any(_is_short(a) and not _is_text(a) for a in args):
        return False
    if e.function == IN and isinstance(args[1], ListExpr) and all(isinstance(i, Lit) for i in args[1].items):
        return False
    return not all(_names(a) <= own for a in args)


def _passes(e: Expr, own: frozenset[str]) -> bool:
    """Whether the value may be, or hold, what is no part of the turn's element, as it is."""
    match e:
        case Ident() | Select() | Call(function="_[_]" | "_[?_]"):
            return not _names(e) <= own
        case Bind(value=value, variable=variable, body=body):
            return _passes(value, own) or _passes(body, own | {variable})
        case Call(function="_?_:_", args=(_, *branches)):
            return any(_passes(b, own) for b in branches)
        case Call(function=function) if function not in _PASSING:
            return False
        case Comprehension() | Lit():
            return False  # its own turns are looked at by themselves
        case _:
            return any(_passes(c, own) for c in children(e))


def _is_short(e: Expr) -> bool:
    """Whether the value is a constant, or a number or a bool for certain: what is compared with it is not read."""
    return isinstance(e, Lit) or (isinstance(e, Call) and (e.function, e.target is not None) in _NUMBERS)


def _is_text(e: Expr) -> bool:
    return isinstance(e, Lit) and isinstance(e.value, str | bytes)


def _names(e: Expr) -> frozenset[str]:
    return frozenset(n.name for n in walk(e) if isinstance(n, Ident))
