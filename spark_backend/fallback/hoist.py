"""What Spark can evaluate of a residual is evaluated by Spark: its values travel, not the columns that they come from.

`data.a.b.matches(p) || ce.type == "x"`, where the pattern is one that only RE2 can run, becomes `h1.matches(p) || h2`;
h1 is the text at `data.a.b` and h2 a bool, both computed natively. A value that errs does not travel, so it is an error
where the engine uses it and absorbed where CEL absorbs it.

Of an object that macros go over with one variable, and that nothing else reads whole, only the keys travel, as a list:
`data.exists(k, k.matches(p))` needs no payload, and events with the same keys are judged once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from tricel.compiler import Checked, Expr, unparse
from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType
from tricel.compiler.nodes import STANDARD, Call, Comprehension, Ident, Select, children, variables, walk, with_children

from ..sql import Sql, Typed, case, cast, function, is_not_null, not_, path_of, struct, variant, when
from ..sql.columns import Documents
from ..sql.handlers import selection
from ..sql.layout import Layout, Root
from ..sql.lower import Lowering
from ..sql.reasons import NotNative
from .activation import Form, Input
from .inputs import payload_inputs

_FORMS: Mapping[CelType, Form] = {
    t.BOOL: Form.BOOL,
    t.STRING: Form.TEXT,
    t.BYTES: Form.BINARY,
    t.INT: Form.INT,
    t.DOUBLE: Form.DOUBLE,
    t.TIMESTAMP: Form.TIME,
    t.JSON: Form.JSON,
}
_WHOLE = (Form.PAYLOAD, Form.JSON, Form.VARIANT)
"""How what may be an object travels whole."""


@dataclass(frozen=True, slots=True)
class Hoisted:
    """A residual over values that travel, and the JSON texts that computing them reads."""

    expr: Expr
    inputs: tuple[Input, ...]
    documents: Documents

    @property
    def nests_lambdas(self) -> bool:
        """Whether in its SQL one lambda may be inside another; each document is bound by one around all values."""
        most = max((i.travels.extent.lambdas for i in self.inputs), default=0)
        return most + len(self.documents) > 1


def hoist(e: Expr, checked: Checked, layout: Layout) -> Hoisted | None:
    """The residual with everything native taken out; None where it still reads a column by itself."""
    walk_ = _Hoist(checked, layout)
    expr = walk_.visit(e, frozenset(), None)
    # what travels whole for another part of the expression needs no keys beside it
    twice = frozenset(r for r in walk_.ranges if any(_name(r, form) in walk_.inputs for form in _WHOLE))
    if twice:
        walk_ = _Hoist(checked, layout, twice)
        expr = walk_.visit(e, frozenset(), None)
    roots = {name for name, _ in checked.environment.roots}
    if any(isinstance(n, Ident) and n.name in roots for n in walk(expr)):
        return None
    return Hoisted(expr, tuple(walk_.inputs.values()), tuple(walk_.documents.items()))


@dataclass
class _Hoist:
    checked: Checked
    layout: Layout
    whole: frozenset[Expr] = frozenset()
    """Ranges of macros that travel whole, because they are read otherwise, too."""
    ranges: set[Expr] = field(default_factory=set)
    """Ranges of macros of which only the keys travel."""
    inputs: dict[str, Input] = field(default_factory=dict)
    documents: dict[str, Sql] = field(default_factory=dict)

    def visit(self, e: Expr, bound: frozenset[str], wanted: CelType | None) -> Expr:
        """`e`, or the name of its value. `wanted`: the only type that its place takes, where that is one type."""
        named = self._named(e, wanted) if self._reads_roots_only(e, bound) else None
        if named is not None:
            return named
        if isinstance(e, Select) and e.optional and self._reads_roots_only(e.operand, bound):
            holder = self._narrowed(e)
            if holder is not None:
                return with_children(e, (holder,))
        keys = self._keys(e, bound)
        inner = bound | variables(e)
        old = children(e)
        new = tuple(
            keys if keys and not i else self.visit(c, inner if i else bound, w)
            for i, (c, w) in enumerate(zip(old, self._wanted(e), strict=True))
        )
        return with_children(e, new) if any(a is not b for a, b in zip(old, new, strict=True)) else e

    def _reads_roots_only(self, e: Expr, bound: frozenset[str]) -> bool:
        names = {n.name for n in walk(e) if isinstance(n, Ident)}
        return not names & bound and any(self.checked.environment.root(n) is not None for n in names)

    def _wanted(self, e: Expr) -> list[CelType | None]:
        """The one type that each operand must have, where a call has one overload."""
        rows = self.checked.overloads.get(e.id, ())
        operands = children(e)
        if isinstance(e, Call) and len(rows) == 1 and len(rows[0].params) == len(operands):
            return [p if p in (t.BOOL, t.STRING, t.DOUBLE) else None for p in rows[0].params]
        return [None] * len(operands)

    def _named(self, e: Expr, wanted: CelType | None) -> Expr | None:
        where = self.layout.roots.get(e.name) if isinstance(e, Ident) else None
        if where is not None and where.is_document and wanted is None:
            return self._named_payload(e, where)
        lowering = Lowering(self.checked, self.layout)
        try:
            value = lowering.materialize(selection.holder_of(lowering, e, {}))
            if value.type == t.JSON and wanted is not None:
                value = lowering.let(value, lambda v: variant.read_as(v, wanted) or v)
        except NotNative:
            return None
        if value.type == t.JSON_LIST:
            value = Typed(cast(value, "VARIANT"), t.JSON, from_json=value.from_json)
        return self._travels(e, lowering, value)

    def _named_payload(self, e: Expr, where: Root) -> Expr:
        """A whole payload, which Spark need not parse for it to travel."""
        name = _name(e, Form.PAYLOAD)
        self.inputs.update((given.field, given) for given in payload_inputs(name, where, self.layout.quirks))
        return Ident(name, id=e.id, span=e.span)

    def _narrowed(self, e: Select) -> Expr | None:
        """The object that an optional selection selects from, with no field but that one."""
        lowering = Lowering(self.checked, self.layout)
        try:
            holder = lowering.materialize(selection.holder_of(lowering, e.operand, {}))
            if holder.type != t.JSON:
                return None
            value = lowering.let(holder, lambda h: _with_one_field(h, e.field))
        except NotNative:
            return None
        return self._travels(e, lowering, value)

    def _keys(self, e: Expr, bound: frozenset[str]) -> Expr | None:
        """What a macro with one variable goes over: of an object the list of its keys, and other values as they are.

        Macros of extensions may tell a map from a list.
        """
        if not isinstance(e, Comprehension) or e.second or e.macro not in STANDARD or e.range in self.whole:
            return None
        if not self._reads_roots_only(e.range, bound):
            return None
        lowering = Lowering(self.checked, self.layout)
        try:
            value = lowering.materialize(selection.holder_of(lowering, e.range, {}))
        except NotNative:
            return None
        if value.type != t.JSON or not (value.cheap or path_of(value.sql)):
            return None  # it would be computed for the keys, and again for what has none
        rest = value.like(when(not_(variant.is_object(value)), value))
        ident = self._travels(e.range, lowering, rest, of="keys")
        if isinstance(ident, Ident):
            given = Input(Form.KEYS, ident.name, function("map_keys", variant.entries(value)))
            self.inputs[given.field] = given
            self.ranges.add(e.range)
        return ident

    def _travels(self, e: Expr, lowering: Lowering, value: Typed, of: str = "") -> Expr | None:
        """The name of a value that Spark computes, or what the engine makes of it; None where it cannot travel."""
        form = _FORMS.get(value.type)
        if form is None:
            return None
        if form is Form.JSON and not value.from_json:
            form = Form.VARIANT
        self.documents.update(lowering.documents)
        name = _name(e, f"{form}{of}")
        for kind in (form, Form.INFINITE) if form is Form.JSON else (form,):
            given = Input(kind, name, _travelling(value, form), value.type)
            self.inputs[given.field] = given
        ident = Ident(name, id=e.id, span=e.span)
        return Call("timestamp", (ident,)) if form is Form.TIME else ident


def _with_one_field(holder: Typed, field: str) -> Typed:
    value = selection.part_of(holder, field)
    one = function("to_variant_object", struct(**{field: value}))
    narrow = case((is_not_null(value), one), otherwise=function("parse_json", "{}"))
    return Typed(when(variant.is_object(holder), narrow), t.JSON, from_json=holder.from_json)


def _name(e: Expr, form: str) -> str:
    """A name that is the same wherever the same value is wanted, so that it travels once for many filters."""
    return "h" + hashlib.sha256(f"{form}:{unparse(e)}".encode()).hexdigest()[:16]


def _travelling(value: Typed, form: Form) -> Sql:
    match form:
        case Form.TEXT:
            return function("try_validate_utf8", value)
        case Form.INT | Form.DOUBLE:
            return cast(value, "STRING")
        case Form.TIME:
            return cast(function("unix_micros", value), "STRING")
        case _:
            return value.sql
