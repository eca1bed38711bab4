"""The checker: names, overloads and types, gradually.

What is known before evaluation is checked before evaluation; a value that is dynamic (`dyn`, or the JSON value of
`data`) may stand anywhere one of its possible types may. Every problem is collected; findings go into side tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import assert_never

import re2

from . import celtypes as t
from .celtypes import CelType, Record
from .diagnostics import Diagnostic
from .environment import Environment
from .functions import BY_CALL, Overload
from .nodes import (
    ADD,
    AND,
    CONDITIONAL,
    EQUALS,
    IN,
    INDEX,
    NOT_EQUALS,
    OPTIONAL_INDEX,
    OR,
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
from .operators import spelling
from .source import Source
from .suggest import closest, did_you_mean
from .unify import compatible, join, match_overload, never_equal

_LITERAL_TYPES = {kind: CelType(kind.value) for kind in LitKind}
_TYPE_NAMES = frozenset({"bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"})


@dataclass(frozen=True)
class Checked:
    """An expression with what the checker learnt, keyed by node id.

    `json_extensions` names the extension attributes that the expression selects into: their text is read as JSON.
    """

    expr: Expr
    environment: Environment
    types: Mapping[int, CelType]
    overloads: Mapping[int, tuple[Overload, ...]]
    json_extensions: frozenset[str]
    diagnostics: tuple[Diagnostic, ...]

    def type_of(self, e: Expr) -> CelType:
        """The static type of a node."""
        return self.types[e.id]


def check(expr: Expr, environment: Environment, source: Source) -> Checked:
    """Checks a filter: every name, every call, and that the result can be bool. Node ids must be unique."""
    run = _Run(environment, source)
    result = run.visit(expr, {})
    if not compatible(t.BOOL, result):
        run.report(
            "TRI207", expr, f"a filter must be bool, this is '{result}'", "compare it with something, or use has()"
        )
    run.report_mixed_extensions()
    return Checked(expr, environment, run.types, run.overloads, frozenset(run.json_extensions), tuple(run.diagnostics))


def extension_name(e: Expr) -> str | None:
    """The attribute that `ce.name` or `ce["name"]` reads; None for any other expression."""
    match e:
        case Select(operand=Ident(name="ce"), field=name):
            return name
        case Call(function="_[_]", args=(Ident(name="ce"), Lit(kind=LitKind.STRING, value=str(name)))):
            return name
        case _:
            return None


@cache
def _pattern_error(pattern: str) -> str:
    """What RE2 says against a pattern; empty when it accepts it."""
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except (re2.error, UnicodeError) as e:
        text = e.args[0]
        return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    return ""


@dataclass
class _Run:
    environment: Environment
    source: Source
    types: dict[int, CelType] = field(default_factory=dict)
    overloads: dict[int, tuple[Overload, ...]] = field(default_factory=dict)
    json_extensions: dict[str, Expr] = field(default_factory=dict)
    text_extensions: dict[str, Expr] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def report(self, code: str, at: Expr, message: str, help_: str = "") -> CelType:
        """Records a problem; the type of what is wrong is unknown, so that one problem is reported once."""
        self.diagnostics.append(Diagnostic(code, message, self.source, at.span, help_))
        return t.DYN

    def report_mixed_extensions(self) -> None:
        for name in self.json_extensions.keys() & self.text_extensions.keys():
            self.report(
                "TRI209",
                self.json_extensions[name],
                f"extension '{name}' is used as text in one place and as a JSON object in another",
                "select into it everywhere, or nowhere",
            )

    def visit(self, e: Expr, scope: Mapping[str, CelType]) -> CelType:
        """The type of `e`, recorded."""
        found = self._type(e, scope)
        self.types[e.id] = found
        name = extension_name(e)
        if name is not None and "ce" not in scope and found == t.STRING:
            self.text_extensions.setdefault(name, e)
        return found

    def _type(self, e: Expr, scope: Mapping[str, CelType]) -> CelType:
        match e:
            case Lit(kind=kind):
                return _LITERAL_TYPES[kind]
            case Ident():
                return self._ident(e, scope)
            case Select():
                if e.optional:
                    return self._optional(e)
                return self._member(e, e.operand, e.field, scope)
            case Has():
                self._member(e, e.operand, e.field, scope, required=False)
                return t.BOOL
            case Call(function=function) if function == OPTIONAL_INDEX:
                return self._optional(e)
            case Call():
                return self._call(e, scope)
            case ListExpr():
                if e.optional:
                    self._optional(e)
                return t.list_of(self._joined(e.items, scope))
            case MapExpr():
                if any(entry.optional for entry in e.entries):
                    self._optional(e)
                keys = self._joined(tuple(entry.key for entry in e.entries), scope)
                return t.map_of(keys, self._joined(tuple(entry.value for entry in e.entries), scope))
            case Message(name=name):
                return self.report(
                    "TRI205", e, f"messages cannot be made in a filter: '{name}'", "compare the fields one by one"
                )
            case Comprehension():
                return self._comprehension(e, scope)
            case _:
                assert_never(e)

    def _optional(self, e: Expr) -> CelType:
        return self.report("TRI206", e, "optional values are not supported yet", "test with has() before you select")

    def _joined(self, items: tuple[Expr, ...], scope: Mapping[str, CelType]) -> CelType:
        types = [self.visit(item, scope) for item in items]
        return join(types) if types else t.DYN

    def _ident(self, e: Ident, scope: Mapping[str, CelType]) -> CelType:
        found = scope.get(e.name) if not e.absolute else None
        found = found or self.environment.root(e.name)
        if found is not None:
            return found
        if e.name in _TYPE_NAMES:
            return t.TYPE
        return self.report("TRI201", e, f"unknown name '{e.name}'", self._rooted(e.name, scope))

    def _rooted(self, name: str, scope: Mapping[str, CelType]) -> str:
        """Help for an unknown name: the root it was probably meant under, or the nearest known name."""
        known = [*scope, *(n for n, _ in self.environment.roots)]
        near = closest(name, known)
        if near:
            return did_you_mean(near)
        for root, type_ in self.environment.roots:
            if isinstance(type_, Record) and any(name == known_field for known_field, _ in type_.fields):
                return did_you_mean(f"{root}.{name}")
        for root, type_ in self.environment.roots:
            if type_ == t.JSON:
                return did_you_mean(f"{root}.{name}")
        return f"a filter on a {self.environment.name} may name {', '.join(known)}"

    def _member(
        self, e: Expr, operand: Expr, name: str, scope: Mapping[str, CelType], *, required: bool = True
    ) -> CelType:
        holder = self.visit(operand, scope)
        if holder == t.STRING and (attribute := extension_name(operand)) and "ce" not in scope:
            declared = dict(self._context_fields())
            if attribute not in declared:
                self.text_extensions.pop(attribute, None) if self.text_extensions.get(attribute) is operand else None
                self.json_extensions.setdefault(attribute, operand)
                return t.JSON
        return self._field(e, holder, name, required=required)

    def _context_fields(self) -> tuple[tuple[str, t.Field], ...]:
        ce = self.environment.root("ce")
        return ce.fields if isinstance(ce, Record) else ()

    def _field(self, e: Expr, holder: CelType, name: str, *, required: bool) -> CelType:
        match holder:
            case Record():
                found = holder.field(name)
                if found is None:
                    near = closest(name, [n for n, _ in holder.fields])
                    return self.report("TRI202", e, f"'{holder}' has no field '{name}'", did_you_mean(near))
                return found.type
            case CelType(name="map", params=(key, value)):
                if compatible(t.STRING, key) or compatible(key, t.STRING):
                    return value
                return self.report("TRI202", e, f"'{holder}' has no string keys, hence no field '{name}'")
            case CelType(name="dyn" | "json"):
                return holder
            case _:
                verb = "has() needs an object" if not required else f"no field '{name}'"
                return self.report("TRI202", e, f"a value of type '{holder}' has no fields: {verb}")

    def _call(self, e: Call, scope: Mapping[str, CelType]) -> CelType:
        args = e.args if e.target is None else (e.target, *e.args)
        types = tuple(self.visit(arg, scope) for arg in args)
        if e.function in (AND, OR):
            return self._logic(e, args, types)
        if e.function == INDEX and isinstance(types[0], Record):
            return self._record_index(e, types[0], args[1])
        if e.function == IN and isinstance(types[1], Record):
            types = (types[0], t.map_of(t.STRING, t.DYN))
        rows = BY_CALL.get((e.function, e.target is not None), ())
        if not rows:
            return self._unknown_function(e)
        matched = [(row, result) for row in rows if (result := match_overload(row, types)) is not None]
        self._warnings(e, args, types)
        if not matched:
            return self._no_overload(e, rows, types)
        self.overloads[e.id] = tuple(row for row, _ in matched)
        if e.function == CONDITIONAL:
            return join(types[1:])
        return join([result for _, result in matched])

    def _logic(self, e: Call, args: tuple[Expr, ...], types: tuple[CelType, ...]) -> CelType:
        for arg, type_ in zip(args, types, strict=True):
            if not compatible(t.BOOL, type_):
                self.report("TRI204", arg, f"'{spelling(e.function)}' needs bool, this is '{type_}'")
        self.overloads[e.id] = BY_CALL[e.function, False]
        return t.BOOL

    def _record_index(self, e: Call, record: Record, key: Expr) -> CelType:
        if isinstance(key, Lit) and isinstance(key.value, str):
            return self._field(e, record, key.value, required=True)
        if not compatible(t.STRING, self.types[key.id]):
            return self.report("TRI204", key, f"'{record}' has string keys, this is '{self.types[key.id]}'")
        return t.DYN

    def _unknown_function(self, e: Call) -> CelType:
        names = sorted({name for name, _ in BY_CALL if name[0].isalpha()})
        as_other = (e.function, e.target is None) in BY_CALL
        if as_other:
            form = f"x.{e.function}(...)" if e.target is None else f"{e.function}(...)"
            return self.report("TRI203", e, f"'{e.function}' is not called this way", f"write {form}")
        return self.report("TRI203", e, f"unknown function '{e.function}'", did_you_mean(closest(e.function, names)))

    def _no_overload(self, e: Call, rows: tuple[Overload, ...], types: tuple[CelType, ...]) -> CelType:
        shown = ", ".join(map(str, types))
        message = f"no overload of '{spelling(e.function)}' for ({shown})"
        return self.report("TRI204", e, message, _overload_help(e, rows, types))

    def _warnings(self, e: Call, args: tuple[Expr, ...], types: tuple[CelType, ...]) -> None:
        if e.function in (EQUALS, NOT_EQUALS) and never_equal(*types):
            outcome = "false" if e.function == EQUALS else "true"
            help_ = "an extension attribute is text: put the value in quotes" if t.STRING in types else ""
            self.report("TRI250", e, f"'{types[0]}' never equals '{types[1]}': this is always {outcome}", help_)
        if e.function == IN and types[1].name == "list" and never_equal(types[0], types[1].params[0]):
            self.report("TRI250", e, f"'{types[0]}' never equals '{types[1].params[0]}': this is always false")
        if e.function == "matches" and isinstance(pattern := args[-1], Lit) and isinstance(pattern.value, str):
            problem = _pattern_error(pattern.value)
            if problem:
                self.report(
                    "TRI208",
                    pattern,
                    f"not an RE2 pattern: {problem}",
                    "see RE2's syntax: no look-around, no back-references",
                )

    def _comprehension(self, e: Comprehension, scope: Mapping[str, CelType]) -> CelType:
        range_ = self.visit(e.range, scope)
        if range_.name == "list":
            element = range_.params[0]
        elif isinstance(range_, Record) or range_.name == "map":
            element = t.STRING if isinstance(range_, Record) else range_.params[0]
        elif t.is_dynamic(range_):
            element = range_
        else:
            element = self.report("TRI204", e.range, f"'{e.macro}' needs a list or a map, this is '{range_}'")
        inner = {**scope, e.variable: element}
        if e.condition is not None:
            self._needs_bool(e.condition, self.visit(e.condition, inner), e.macro)
        body = self.visit(e.body, inner)
        match e.macro:
            case MacroKind.ALL | MacroKind.EXISTS | MacroKind.EXISTS_ONE:
                self._needs_bool(e.body, body, e.macro)
                return t.BOOL
            case MacroKind.FILTER:
                self._needs_bool(e.body, body, e.macro)
                return t.list_of(element)
            case MacroKind.MAP:
                return t.list_of(body)
            case _:
                assert_never(e.macro)

    def _needs_bool(self, e: Expr, type_: CelType, macro: MacroKind) -> None:
        if not compatible(t.BOOL, type_):
            self.report("TRI204", e, f"'{macro}' needs a bool for each element, this is '{type_}'")


def _overload_help(e: Call, rows: tuple[Overload, ...], types: tuple[CelType, ...]) -> str:
    """How to mend a call that no overload takes."""
    if t.JSON in types and (t.INT in types or t.UINT in types):
        return "JSON numbers are double: write 1.0 instead of 1, or convert with int(...)"
    if {t.INT, t.DOUBLE} <= set(types):
        return "int and double do not mix: write 1.0 instead of 1, or convert with double(...)"
    if t.STRING in types and e.function == ADD:
        return "convert with string(...)"
    signatures = [f"({', '.join(map(str, row.params))})" for row in rows]
    return f"it takes {' or '.join(signatures[:4])}" + (", ..." if len(signatures) > 4 else "")
