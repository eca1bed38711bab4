"""The checker: names, overloads and types, gradually.

What is known before evaluation is checked before evaluation; a value that is dynamic (`dyn`, or the JSON value of
`data`) may stand anywhere one of its possible types may. Every problem is collected; findings go into side tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import assert_never

from . import celtypes as t
from .celtypes import CelType, Record
from .diagnostics import Diagnostic, Severity
from .environments.attributes import AttributeRecord, record_of
from .environments.model import Environment
from .functions import BY_CALL, Overload
from .help.names import after, function_help, root_help, type_help
from .names import TYPE_NAMES
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
    children,
)
from .operators import spelling
from .patterns.written import texts_that_are_wrong
from .source import Source
from .suggest import closest, did_you_mean
from .unify import compatible, join, matching, never_equal
from .versions import CURRENT, LanguageVersion, later

_MACRO_LIKE = 3
"""Operands of `x.any(i, ...)`: of an unknown macro the variable is none of what is wrong."""
_LITERAL_TYPES = {kind: CelType(kind.value) for kind in LitKind}


@dataclass(frozen=True)
class Checked:
    """An expression with what the checker learnt, keyed by node id.

    `json_extensions` names the extension attributes that the expression selects into: their text is read as JSON.
    `constants` are the outermost calls and selections of which all operands are constants.
    """

    expr: Expr
    environment: Environment
    types: Mapping[int, CelType]
    overloads: Mapping[int, tuple[Overload, ...]]
    json_extensions: frozenset[str]
    diagnostics: tuple[Diagnostic, ...]
    constants: tuple[Expr, ...] = ()
    version: LanguageVersion = CURRENT

    def type_of(self, e: Expr) -> CelType:
        """The static type of a node."""
        return self.types[e.id]

    @cached_property
    def record(self) -> AttributeRecord:
        """The record of attributes, of which selections are attributes of the event."""
        return record_of(self.environment)


def check(
    expr: Expr,
    environment: Environment,
    source: Source,
    wanted: CelType = t.BOOL,
    version: LanguageVersion = CURRENT,
) -> Checked:
    """Checks an expression: every name, every call, and that the result can be `wanted`. Node ids must be unique.

    Functions and macros are those of a version of the language.

    Names must be resolved (see `names.resolve`).
    """
    run = _Run(environment, source, record_of(environment), version)
    result = run.visit(expr, {})
    if not compatible(wanted, result):
        run.report(
            "TRI207", expr, f"a filter must be bool, this is '{result}'", "compare it with something, or use has()"
        )
    run.report_mixed_extensions()
    return Checked(
        expr,
        environment,
        run.types,
        run.overloads,
        frozenset(run.json_extensions),
        tuple(run.diagnostics),
        tuple(run.constants.values()),
        version,
    )


@dataclass
class _Run:
    environment: Environment
    source: Source
    record: AttributeRecord
    version: LanguageVersion
    types: dict[int, CelType] = field(default_factory=dict)
    overloads: dict[int, tuple[Overload, ...]] = field(default_factory=dict)
    json_extensions: dict[str, Expr] = field(default_factory=dict)
    text_extensions: dict[str, Expr] = field(default_factory=dict)
    constants: dict[int, Expr] = field(default_factory=dict)
    questioned: set[tuple[str, str]] = field(default_factory=set)
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
        found = t.shallow(self._type(e, scope))
        found = t.DYN if found == t.FREE else found
        self.types[e.id] = t.settled(found)
        name = self.record.attribute(e, scope)
        if name is not None and found == t.STRING:
            self.text_extensions.setdefault(name, e)
        return found

    def _type(self, e: Expr, scope: Mapping[str, CelType]) -> CelType:
        match e:
            case Lit(kind=kind):
                return _LITERAL_TYPES[kind]
            case Ident():
                return self._ident(e, scope)
            case Select():
                found = self._member(e, e.operand, e.field, scope)
                if not isinstance(e.operand, Ident):
                    self._constant(e, (e.operand,))
                return t.optional_of(found) if e.optional or self._is_optional(e.operand) else found
            case Has():
                self._member(e, e.operand, e.field, scope, required=False)
                return t.BOOL
            case Call(function=function) if function in (INDEX, OPTIONAL_INDEX):
                return self._index(e, scope)
            case Call():
                return self._call(e, scope)
            case ListExpr(items=items, optional=optional):
                return t.list_of(self._joined(items, scope, optional))
            case MapExpr(entries=entries):
                optional = frozenset(i for i, entry in enumerate(entries) if entry.optional)
                keys = self._joined(tuple(entry.key for entry in entries), scope)
                return t.map_of(keys, self._joined(tuple(entry.value for entry in entries), scope, optional))
            case Message(name=name):
                return self.report(
                    "TRI205", e, f"messages cannot be made in a filter: '{name}'", "compare the fields one by one"
                )
            case Comprehension():
                return self._comprehension(e, scope)
            case Bind(variable=variable, value=value, body=body):
                return self.visit(body, {**scope, variable: self.visit(value, scope)})
            case _:
                assert_never(e)

    def _is_optional(self, e: Expr) -> bool:
        return self.types[e.id].name == "optional_type"

    def _joined(
        self, items: tuple[Expr, ...], scope: Mapping[str, CelType], optional: frozenset[int] = frozenset()
    ) -> CelType:
        """The type that covers the items, those at the positions `optional` by the value that they may hold."""
        types = [self.visit(item, scope) for item in items]
        for i in optional:
            types[i] = self._held(items[i], "'?'")
        return join(types) if types else t.FREE

    def _held(self, e: Expr, what: str) -> CelType:
        """The type of the value in an optional; a report for what is no optional."""
        type_ = self.types[e.id]
        if type_.name == "optional_type":
            return type_.params[0]
        if type_ == t.DYN:
            return t.DYN
        return self.report("TRI204", e, f"{what} needs an optional value, this is '{type_}'", "write optional.of(...)")

    def _ident(self, e: Ident, scope: Mapping[str, CelType]) -> CelType:
        found = scope.get(e.name) if not e.absolute else None
        found = found or self.environment.root(e.name)
        if found is not None:
            return found
        if e.name in TYPE_NAMES:
            return t.TYPE
        help_ = root_help(e.name, after(self.source.text, e.span.end), self.environment, scope)
        return self.report("TRI201", e, f"unknown name '{e.name}'", help_)

    def _member(
        self, e: Expr, operand: Expr, name: str, scope: Mapping[str, CelType], *, required: bool = True
    ) -> CelType:
        holder = self.visit(operand, scope)
        attribute = self.record.attribute(operand, scope) if holder == t.STRING else None
        if attribute and attribute not in dict(self._context_fields()):
            self.text_extensions.pop(attribute, None) if self.text_extensions.get(attribute) is operand else None
            self.json_extensions.setdefault(attribute, operand)
            self._selected_into(e, attribute, name)
            return t.JSON
        return self._field(e, holder, name, required=required)

    def _selected_into(self, e: Expr, attribute: str, name: str) -> None:
        """TRI256 for a name that people give to a part of an event, which as an attribute is an extension's."""
        root = self.environment.words.aliases.get(attribute)
        if root is not None:
            message = f"'{name}' is selected from the JSON in an extension attribute called '{attribute}'"
            own = root == self.record.name
            what = f"attributes are selected from '{root}' itself" if own else f"the payload is '{root}'"
            self.report("TRI256", e, message, f"{what}: {did_you_mean(f'{root}.{name}')}")

    def _attribute(self, e: Expr, name: str, type_: CelType) -> CelType:
        """The type of an attribute that is not declared, and what there is to say about its name: warnings once."""
        found = self.environment.words.problem(name)
        if found is None or (found.code, name) in self.questioned:
            return type_
        likely = found.likely
        if likely and likely == self.environment.payload:
            likely = ".".join((likely, *after(self.source.text, e.span.end)))
        elif self.record.name not in re.findall(r"\w+", self.source.text[e.span.start : e.span.end]):
            likely = likely.removeprefix(f"{self.record.name}.")  # a key of a dialect, or beside `in`
        self.report(found.code, e, found.message, did_you_mean(likely))
        if self.diagnostics[-1].severity is Severity.ERROR:
            return t.DYN
        self.questioned.add((found.code, name))
        return type_

    def _context_fields(self) -> tuple[tuple[str, t.Field], ...]:
        record = self.environment.record_type
        return () if record is None else record.fields

    def _field(self, e: Expr, holder: CelType, name: str, *, required: bool) -> CelType:
        match holder:
            case Record():
                found = holder.declared(name)
                if found is None and holder.others is not None:
                    return self._attribute(e, name, holder.others)
                if found is None:
                    near = closest(name, [n for n, _ in holder.fields])
                    return self.report("TRI202", e, f"'{holder}' has no field '{name}'", did_you_mean(near))
                return found.type
            case CelType(name="map", params=(key, value)):
                if compatible(t.STRING, key) or compatible(key, t.STRING):
                    return value
                return self.report("TRI202", e, f"'{holder}' has no string keys, hence no field '{name}'")
            case CelType() if t.is_dynamic(holder):
                return holder
            case CelType(name="optional_type", params=(held,)):
                return self._field(e, held, name, required=required)
            case _:
                verb = "has() needs an object" if not required else f"no field '{name}'"
                return self.report("TRI202", e, f"a value of type '{holder}' has no fields: {verb}")

    def _call(self, e: Call, scope: Mapping[str, CelType]) -> CelType:
        args = e.args if e.target is None else (e.target, *e.args)
        if len(args) == _MACRO_LIKE and e.target is not None and (e.function, True) not in BY_CALL:
            scope = {**scope, **{arg.name: t.DYN for arg in e.args[:1] if isinstance(arg, Ident)}}
        types = tuple(self.visit(arg, scope) for arg in args)
        self._constant(e, args)
        if e.function in (AND, OR):
            return self._logic(e, args, types)
        if e.function == IN and isinstance(types[1], Record):
            if isinstance(args[0], Lit) and types[1].others is not None:
                self._record_index(args[0], types[1], args[0])
            types = (types[0], t.map_of(t.STRING, t.DYN))
        return self._overload(e, args, types)

    def _index(self, e: Call, scope: Mapping[str, CelType]) -> CelType:
        """`x[k]` and `x[?k]`; of an optional the value that it may hold is indexed."""
        holder, key = (self.visit(arg, scope) for arg in e.args)
        self._constant(e, e.args)
        optional = e.function == OPTIONAL_INDEX or holder.name == "optional_type"
        held = holder.params[0] if holder.name == "optional_type" else holder
        if isinstance(held, Record):
            found = self._record_index(e, held, e.args[1])
        else:
            found = self._overload(replace(e, function=INDEX), e.args, (held, key))
        return t.optional_of(found) if optional else found

    def _overload(self, e: Call, args: tuple[Expr, ...], types: tuple[CelType, ...]) -> CelType:
        """The type of a call that is not `&&` or `||`, whose overloads it records."""
        rows = BY_CALL.get((e.function, e.target is not None), ())
        if not rows:
            return self._unknown_function(e)
        every = matching(e.function, e.target is not None, types)
        matched = [found for found in every if found[0].id in self.version.overloads]
        if every and not matched:
            return self._of_later_version(e, f"'{spelling(e.function)}'", every[0][0].id)
        self._warnings(e, args, types)
        if not matched:
            return self._no_overload(e, rows, types)
        self.overloads[e.id] = tuple(row for row, _ in matched)
        if e.function == CONDITIONAL:
            return join(types[1:])
        return join([result for _, result in matched])

    def _constant(self, e: Expr, operands: tuple[Expr, ...]) -> None:
        """Notes a constant, in place of those that it is made of."""
        for operand in operands:
            if not self._is_constant(operand):
                return
        for operand in operands:
            self._take_up(operand)
        self.constants[e.id] = e

    def _is_constant(self, e: Expr) -> bool:
        match e:
            case Ident():
                return False
            case Lit():
                return True
            case ListExpr() | MapExpr():
                return all(map(self._is_constant, children(e)))
            case _:
                return e.id in self.constants

    def _take_up(self, e: Expr) -> None:
        """Forgets the constants in an operand of a larger one."""
        if self.constants.pop(e.id, None) is None and isinstance(e, ListExpr | MapExpr):
            for part in children(e):
                self._take_up(part)

    def _logic(self, e: Call, args: tuple[Expr, ...], types: tuple[CelType, ...]) -> CelType:
        for arg, type_ in zip(args, types, strict=True):
            if not compatible(t.BOOL, type_):
                self.report("TRI204", arg, f"'{spelling(e.function)}' needs bool, this is '{type_}'")
        self.overloads[e.id] = BY_CALL[e.function, False]
        return t.BOOL

    def _record_index(self, e: Expr, record: Record, key: Expr) -> CelType:
        if isinstance(key, Lit) and isinstance(key.value, str):
            return self._field(e, record, key.value, required=True)
        if not compatible(t.STRING, self.types[key.id]):
            return self.report("TRI204", key, f"'{record}' has string keys, this is '{self.types[key.id]}'")
        return t.DYN

    def _of_later_version(self, e: Expr, what: str, name: str) -> CelType:
        """Reports what the filter's version of the language does not have."""
        version = later(self.version, name)
        help_ = (
            f"a Trigger names it: 'languageVersion: {version}' in its spec" if version else "no later version has it"
        )
        return self.report("TRI213", e, f"{what} is not of version '{self.version.name}' of the language", help_)

    def _unknown_function(self, e: Call) -> CelType:
        as_other = (e.function, e.target is None) in BY_CALL
        if as_other:
            form = f"x.{e.function}(...)" if e.target is None else f"{e.function}(...)"
            return self.report("TRI203", e, f"'{e.function}' is not called this way", f"write {form}")
        help_ = function_help(e.function, method=e.target is not None)
        return self.report("TRI203", e, f"unknown function '{e.function}'", help_)

    def _no_overload(self, e: Call, rows: tuple[Overload, ...], types: tuple[CelType, ...]) -> CelType:
        shown = ", ".join(map(str, types))
        message = f"no overload of '{spelling(e.function)}' for ({shown})"
        args = e.args if e.target is None else (e.target, *e.args)
        help_ = type_help(args, self.environment) if t.TYPE in types else ""
        return self.report("TRI204", e, message, help_ or _overload_help(e, rows, types))

    def _warnings(self, e: Call, args: tuple[Expr, ...], types: tuple[CelType, ...]) -> None:
        if e.function in (EQUALS, NOT_EQUALS) and never_equal(*types):
            outcome = "false" if e.function == EQUALS else "true"
            help_ = "an extension attribute is text: put the value in quotes" if t.STRING in types else ""
            help_ = type_help(args, self.environment) if t.TYPE in types else help_
            self.report("TRI250", e, f"'{types[0]}' never equals '{types[1]}': this is always {outcome}", help_)
        if e.function == IN and types[1].name == "list" and never_equal(types[0], types[1].params[0]):
            help_ = type_help(args[:1], self.environment) if t.TYPE in types else ""
            self.report("TRI250", e, f"'{types[0]}' never equals '{types[1].params[0]}': this is always false", help_)
        self.diagnostics += texts_that_are_wrong(e.function, args, self.source)

    def _comprehension(self, e: Comprehension, scope: Mapping[str, CelType]) -> CelType:
        range_ = self.visit(e.range, scope)
        if e.macro.value not in self.version.macros:
            return self._of_later_version(e, f"the macro '{e.macro}'", e.macro.value)
        if e.macro in (MacroKind.OPT_MAP, MacroKind.OPT_FLAT_MAP):
            held = self._held(e.range, f"'{e.macro}'")
            body = self.visit(e.body, {**scope, e.variable: held})
            return t.optional_of(body if e.macro is MacroKind.OPT_MAP else self._held(e.body, f"'{e.macro}'"))
        key, element = self._ranged(e, range_)
        inner = {**scope, e.variable: key, e.second: element} if e.second else {**scope, e.variable: element}
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
            case MacroKind.MAP | MacroKind.TRANSFORM_LIST:
                return t.list_of(body)
            case MacroKind.TRANSFORM_MAP:
                return t.map_of(key, body)
            case MacroKind.TRANSFORM_MAP_ENTRY:
                if body.name != "map" and not t.is_dynamic(body):
                    self.report("TRI204", e.body, f"'{e.macro}' needs a map of one entry, this is '{body}'")
                return body if body.name == "map" else t.map_of(t.DYN, t.DYN)
            case MacroKind.SORT_BY:
                return t.list_of(element)
            case _:
                assert_never(e.macro)

    def _ranged(self, e: Comprehension, range_: CelType) -> tuple[CelType, CelType]:
        """The types of the index or key, and of the element that a macro's variables take.

        One variable takes a list's elements or a map's keys; with two, the second takes the elements or the values.
        """
        if range_.name == "list":
            return t.INT, range_.params[0]
        if e.macro is MacroKind.SORT_BY and not t.is_dynamic(range_):
            return t.INT, self.report("TRI204", e.range, f"'{e.macro}' needs a list, this is '{range_}'")
        if isinstance(range_, Record):
            return t.STRING, (t.DYN if e.second else t.STRING)
        if range_.name == "map":
            return range_.params[0], range_.params[1 if e.second else 0]
        if t.is_dynamic(range_):
            return t.DYN, range_
        return t.DYN, self.report("TRI204", e.range, f"'{e.macro}' needs a list or a map, this is '{range_}'")

    def _needs_bool(self, e: Expr, type_: CelType, macro: MacroKind) -> None:
        if not compatible(t.BOOL, type_):
            self.report("TRI204", e, f"'{macro}' needs a bool for each element, this is '{type_}'")


def _overload_help(e: Call, rows: tuple[Overload, ...], types: tuple[CelType, ...]) -> str:
    """How to mend a call that no overload takes."""
    if t.JSON in types and (t.INT in types or t.UINT in types):
        return "JSON numbers are double: write 1.0 instead of 1, or convert with int(...)"
    if {t.INT, t.DOUBLE} <= set(types):
        return "int and double do not mix: write 1.0 instead of 1, or convert with double(...)"
    if e.function == IN and types[1] == t.STRING:
        return 'a list is written in brackets: x in ["a", "b"]; for a part of a text write y.contains(x)'
    if t.STRING in types and e.function == ADD:
        return "convert with string(...)"
    signatures = [f"({', '.join(map(str, row.params))})" for row in rows]
    return f"it takes {' or '.join(signatures[:4])}" + (", ..." if len(signatures) > 4 else "")
