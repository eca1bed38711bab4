"""CEL as the text of a label selector."""

from __future__ import annotations

from ..nodes import EQUALS, GREATER, IN, LESS, NOT, Call, Expr, ListExpr, Lit, LitKind, conjunction, conjuncts
from .inverse import guard_of
from .predicates import named

_LARGEST = str(2**63 - 1)


def _up_to(digits: str) -> str:
    """A pattern of as many digits, of which the number is at most this one."""
    first, rest = digits[0], digits[1:]
    if not rest:
        return f"[0-{first}]"
    anything = f"[0-9]{{{len(rest)}}}"
    less = f"[0-{int(first) - 1}]{anything}|" if first > "0" else ""
    return f"(?:{less}{first}{_up_to(rest)})"


WHOLE_NUMBER = f"^(?:[-+]?(?:0+|0*(?:[1-9][0-9]{{0,17}}|[1-8][0-9]{{18}}|9{_up_to(_LARGEST[1:])}))|-0*{2**63})$"
"""The pattern of what is compared as a number, which is what `strconv.ParseInt` of Go takes for one of 64 bits."""
_SIGNS = {GREATER: ">", LESS: "<"}
_ALWAYS = conjunction(())


def selector_of(expr: Expr) -> str | None:
    """`expr` as a selector; None where a part of it is no requirement."""
    if expr == _ALWAYS:
        return ""
    found: list[str] = []
    left = conjuncts(expr)
    while left:
        taken = next((n for n in (3, 2, 1) if len(left) >= n and _requirement(left[:n]) is not None), 0)
        one = _requirement(left[:taken]) if taken else None
        if one is None:
            return None
        found.append(one)
        left = left[taken:]
    return ",".join(found)


def _requirement(terms: tuple[Expr, ...]) -> str | None:
    """The requirement that the terms together are: a guard, and what it guards."""
    match terms:
        case (Call(function=function, args=(inner,)),) if function == NOT:
            return _denied(conjuncts(inner))
        case (only,):
            return guard_of(only) or _set(only)
        case (guard, *tests):
            key = guard_of(guard)
            found = _set(tests[0]) if len(tests) == 1 and key is not None else None
            found = found or _compared(tuple(tests) if key is not None else terms)
            return found if found is not None and (key is None or _key(tests[-1]) == key) else None
        case _:
            return None


def _denied(terms: tuple[Expr, ...]) -> str | None:
    key = guard_of(terms[0])
    if key is not None and len(terms) == 1:
        return f"!{key}"
    one = _set(terms[-1])
    guards = terms[:-1]
    if one is None or not (guards == () or (len(guards) == 1 and key == _key(terms[-1]))):
        return None
    name = _key(terms[-1]) or ""
    rest = one[len(name) :]
    return f"{name} not{rest.lstrip()}" if rest.startswith(" in ") else f"{name}!{rest}"


def _set(e: Expr) -> str | None:
    """`k=v` or `k in (v, w)`."""
    match e:
        case Call(function=function, args=(left, Lit(value=str(value)))) if function == EQUALS and named(left):
            return f"{named(left)}={value}"
        case Call(function=function, args=(left, ListExpr(items=items))) if function == IN and named(left):
            values = [item.value for item in items if isinstance(item, Lit) and isinstance(item.value, str)]
            return f"{named(left)} in ({','.join(values)})" if values and len(values) == len(items) else None
        case _:
            return None


def _compared(terms: tuple[Expr, ...]) -> str | None:
    """`k>v` or `k<v`, of the test that it is a number and the comparison."""
    match terms:
        case (
            Call(function="matches", args=(Lit(value=str(pattern)),)),
            Call(args=(_, Lit(value=int(value))), function=sign) as last,
        ):
            return f"{_key(last)}{_SIGNS[sign]}{value}" if pattern == WHOLE_NUMBER and sign in _SIGNS else None
        case _:
            return None


def _key(e: Expr) -> str | None:
    """The attribute that a test is about."""
    match e:
        case Call(args=(Call(function="int", args=(inner,)), Lit(kind=LitKind.INT))) | Call(args=(inner, _)):
            return named(inner)
        case _:
            return None
