"""The lowering: a checked expression becomes one SQL expression in which NULL is a CEL error.

The walk is exact or it refuses: `NotNative` carries the reason, and the whole conjunct goes to the fallback.
"""

from __future__ import annotations

from typing import assert_never

from tricel.compiler.celtypes import CelType
from tricel.compiler.nodes import (
    Bind,
    Call,
    Comprehension,
    Expr,
    Has,
    Ident,
    ListExpr,
    Lit,
    LitKind,
    MapExpr,
    Message,
    Select,
)

from . import CEL_NULL, Part, Scope, Typed, Written, constant_of
from .context import Context
from .handlers import calls, constructors, selection
from .handlers.comprehensions import comprehension
from .reasons import NotNative, Reason

_LITERAL_TYPES = {kind: CelType(kind.value) for kind in LitKind}


class Lowering(Context):
    """The walk over a checked expression, with the handler of each kind of node."""

    def materialize(self, value: Part) -> Typed:
        """A value that SQL has; a list or map written in the filter is made."""
        return constructors.materialize(self, value) if isinstance(value, Written) else value

    def walk(self, e: Expr, scope: Scope) -> Part:
        """The SQL of one node, by the handler of its kind."""
        match e:
            case Lit():
                return _lit(e)
            case Ident():
                return selection.ident(self, e, scope)
            case Select(optional=True):
                raise NotNative(Reason.OPTIONAL)
            case Select(operand=operand, field=key):
                return selection.member(self, e, operand, key, scope)
            case Has(operand=operand, field=key):
                return selection.has(self, operand, key, scope)
            case Call():
                return calls.call(self, e, scope)
            case Comprehension():
                return comprehension(self, e, scope)
            case ListExpr(items=items):
                if e.optional:
                    raise NotNative(Reason.OPTIONAL)
                return Written(tuple([self.parts(i, scope) for i in items]))
            case MapExpr(entries=entries):
                if any(entry.optional for entry in entries):
                    raise NotNative(Reason.OPTIONAL)
                return constructors.made_map(self, e, scope)
            case Bind():
                return self.let_part(self.parts(e.value, scope), lambda v: self.lower(e.body, {**scope, e.variable: v}))
            case Message():
                raise NotNative(Reason.MESSAGE)
            case _:
                assert_never(e)


def _lit(e: Lit) -> Typed:
    match e.kind, e.value:
        case LitKind.NULL, _:
            return CEL_NULL
        case kind, bool() | int() | float() | str() | bytes() as value:
            return constant_of(value, _LITERAL_TYPES[kind])
        case _:
            raise NotNative(Reason.LITERAL)
