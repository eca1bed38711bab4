"""The lowering: a checked expression becomes one SQL expression in which NULL is a CEL error.

The walk is exact or it refuses: `NotNative` carries the reason, and the whole conjunct goes to the fallback.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from tricel.compiler import celtypes as t
from tricel.compiler.celtypes import CelType, Record
from tricel.compiler.check import Checked, extension_name
from tricel.compiler.functions import BY_CALL, Overload
from tricel.compiler.nodes import (
    ADD,
    AND,
    CONDITIONAL,
    EQUALS,
    GREATER,
    GREATER_EQUALS,
    IN,
    INDEX,
    LESS,
    LESS_EQUALS,
    NOT,
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
    MapExpr,
    Message,
    Select,
)

from . import access, dynamic, equality, made, membership, special
from .capability import reason_for
from .comprehensions import comprehension
from .jsontext import parsed
from .layout import Held, Layout, Root
from .lowerings import NATIVE
from .reasons import NotNative
from .sparktypes import SparkType, cel_type
from .sql import Sql, boolean, deepest, in_path, joined, literal, name, text_literal

MAX_NESTING = 220
"""Levels of nesting in emitted SQL that Spark's parser takes with its default stack, counted as `Sql.depth` counts."""
MAX_SQL = 1_000_000
"""Characters of SQL that one conjunct may become."""
_LET_DEPTH = 3
_JSON_MEDIA_TYPE = text_literal(r"(?i)\A[^;]*[/+]json[ \t]*(?:;|\z)")
_BARE = frozenset({t.NULL, t.BOOL, t.INT, t.STRING, t.BYTES, t.TIMESTAMP, t.DURATION, t.TYPE})
"""Types whose equality writes each operand once."""
_ADD_LIST = "add_list"
_TYPE_NAMES = {t.TIMESTAMP: "google.protobuf.Timestamp", t.DURATION: "google.protobuf.Duration"}
_ORDERING = frozenset({LESS, LESS_EQUALS, GREATER, GREATER_EQUALS})


@dataclass
class Lowering:
    """One walk. `documents` are the JSON texts that it reads, each to be parsed once around the result."""

    checked: Checked
    layout: Layout
    documents: dict[str, Sql] = field(default_factory=dict)
    _count: int = 0

    def lower(self, e: Expr, scope: dict[str, Sql]) -> Sql:
        """The SQL of `e`; `scope` holds comprehension variables.

        Raises:
            NotNative: where there is no exact form.
        """
        return self.whole(self.parts(e, scope))

    def whole(self, value: Sql) -> Sql:
        """A value that SQL has; a list or map written in the filter is made."""
        return value if value.items is None else made.whole(self, value)

    def parts(self, e: Expr, scope: dict[str, Sql]) -> Sql:
        """The SQL of `e`, where a list or map written in the filter is left as its parts.

        Raises:
            NotNative: where there is no exact form.
        """
        found = self._lower(e, scope)
        if found.depth > MAX_NESTING:
            raise NotNative("nested deeper than Spark's parser takes")
        if len(found.text) > MAX_SQL:
            raise NotNative("longer than a million characters of SQL")
        return found

    def condition(self, e: Expr, scope: dict[str, Sql]) -> Sql:
        """`e` as BOOLEAN; a dynamic value that is not a bool is an error."""
        return self.boolean(self.lower(e, scope))

    def boolean(self, found: Sql) -> Sql:
        """A value as BOOLEAN."""
        if found.type == t.JSON:
            return self.let(found, lambda v: replace(_read(v, t.BOOL), cheap=False))
        if found.type != t.BOOL:
            return Sql("CAST(NULL AS BOOLEAN)", t.BOOL)
        return found

    def variable(self) -> str:
        """A lambda variable's name that no column has."""
        while True:
            self._count += 1
            fresh = f"v{self._count}"
            if fresh not in self.layout.taken:
                return fresh

    def element(self, items: Sql) -> tuple[str, Sql]:
        """A fresh variable for the elements of a list, and the element that it stands for."""
        variable = self.variable()
        if items.shape is not None and items.shape.element is not None:
            return variable, column(variable, items.shape.element)
        return variable, Sql(variable, items.type.params[0], cheap=True, nan=items.nan, from_json=items.from_json)

    def let(self, value: Sql, body: Callable[[Sql], Sql]) -> Sql:
        """`body` of a value that may then be written many times."""
        if value.cheap:
            return body(value)
        if value.items is not None:
            return self.lets(value.items, lambda items: body(replace(value, items=tuple(items), cheap=True)))
        variable = self.variable()
        inner = self.whole(
            body(replace(value, text=variable, infix=False, joined_by="", cheap=True, path=None, depth=0))
        )
        text = f"get(transform(array({value.text}), {variable} -> {inner.text}), 0)"
        depth = max(value.depth, inner.depth) + _LET_DEPTH
        return replace(
            inner, text=text, infix=False, joined_by="", cheap=False, path=None, depth=depth, truth="", literal=None
        )

    def lets(self, values: Sequence[Sql], body: Callable[[list[Sql]], Sql], only: Sequence[int] | None = None) -> Sql:
        """`let` for several values; `only` names the positions to bind."""
        positions = list(range(len(values))) if only is None else list(only)

        def bind(done: list[Sql], rest: list[int]) -> Sql:
            if not rest:
                return body(done)
            i = rest[0]
            return self.let(done[i], lambda v: bind([*done[:i], v, *done[i + 1 :]], rest[1:]))

        return bind(list(values), positions)

    def document(self, key: str, text: str) -> Sql:
        """The VARIANT that JSON text parses to, by a variable that stands for it."""
        if key not in self.documents:
            self.documents[key] = Sql(text, t.JSON)
        return Sql(document_variable(key), t.JSON, cheap=True, from_json=True)

    def _lower(self, e: Expr, scope: dict[str, Sql]) -> Sql:
        match e:
            case Lit():
                return _lit(e)
            case Ident():
                return self._ident(e, scope)
            case Select(optional=True):
                raise NotNative("optional values")
            case Select(operand=operand, field=key):
                return self._member(e, operand, key, scope)
            case Has(operand=operand, field=key):
                return self._has(operand, key, scope)
            case Call():
                return self._call(e, scope)
            case Comprehension():
                return comprehension(self, e, scope)
            case ListExpr(items=items):
                if e.optional:
                    raise NotNative("optional values")
                return made.made_list([self.parts(i, scope) for i in items])
            case MapExpr(entries=entries):
                if any(entry.optional for entry in entries):
                    raise NotNative("optional values")
                return made.made_map(self, e, scope)
            case Bind():
                return self.let(self.parts(e.value, scope), lambda v: self.lower(e.body, {**scope, e.variable: v}))
            case Message():
                raise NotNative("a message made in the filter")
            case _:
                assert_never(e)

    def _ident(self, e: Ident, scope: dict[str, Sql]) -> Sql:
        if e.name in scope and not e.absolute:
            return scope[e.name]
        if e.name == "ce":
            raise NotNative("all attributes as one map")
        if self.checked.environment.root(e.name) is None:
            return literal(e.name, t.TYPE)
        return self._root(e.name)

    def _root(self, root: str) -> Sql:
        where = self.layout.roots.get(root)
        if where is None:
            raise NotNative(f"the events have no column '{root}'")
        if where.held is Held.JSON_TEXT:
            return self.document(root, body_text(where, checked=self.layout.check_json))
        return column(where.column.text, where.column.type)

    def _member(self, e: Expr, operand: Expr, key: str, scope: dict[str, Sql]) -> Sql:
        if (attribute := extension_name(e)) is not None and "ce" not in scope:
            return self.attribute(attribute)
        return self.field(self._holder(operand, scope), key)

    def _holder(self, operand: Expr, scope: dict[str, Sql]) -> Sql:
        """The value that a field is selected from; an extension's text is read as JSON."""
        attribute = extension_name(operand)
        if attribute in self.checked.json_extensions and "ce" not in scope and attribute is not None:
            text = self.attribute(attribute)
            return self.document(f"ce_{len(attribute)}_{attribute}", parsed(text.text, checked=self.layout.check_json))
        return self.parts(operand, scope)

    def attribute(self, attribute: str) -> Sql:
        """An attribute of the event."""
        if self.layout.attributes is None:
            raise NotNative("the events have no attributes")
        where = self.layout.attributes.find(attribute)
        declared = self.checked.environment.root("ce")
        wanted = declared.field(attribute) if isinstance(declared, Record) else None
        if where is None:
            if wanted is not None and wanted.required:
                raise NotNative(f"the events have no column '{attribute}'")
            type_ = wanted.type if wanted is not None else t.STRING
            return Sql(f"CAST(NULL AS {'TIMESTAMP' if type_ == t.TIMESTAMP else 'STRING'})", type_, cheap=True)
        found = column(where.text, where.type)
        if wanted is not None and found.type != wanted.type:
            raise NotNative(f"'{attribute}' is a {where.type.name} column, to be read as '{wanted.type}'")
        return found

    def field(self, holder: Sql, key: str | int) -> Sql:
        """One field of a value, or one element of a list by a constant index."""
        if holder.items is not None:
            return made.item(self, holder, key)
        if holder.type == t.JSON:
            if in_path(key):
                return holder.at(key)
            if isinstance(key, int):
                return Sql("CAST(NULL AS VARIANT)", t.JSON, cheap=True)
            entries = dynamic.entries(holder)
            return replace(
                holder, text=f"try_element_at({entries}, {text_literal(key)})", path=None, depth=holder.depth + 2
            )
        shape = holder.shape
        if shape is not None and shape.name == "struct" and isinstance(key, str):
            if "${" in key:
                raise NotNative("a field's name that Spark would substitute")
            return column(f"{holder}.{name(key)}", dict(shape.fields)[key], holder.depth)
        if shape is not None and shape.name == "map" and shape.value is not None and isinstance(key, str):
            return column(f"try_element_at({holder.text}, {text_literal(key)})", shape.value, holder.depth + 1)
        if holder.type.name == "list" and isinstance(key, int):
            return self._element(holder, key)
        raise NotNative(f"a field of a value of type '{holder.type}'")

    def _element(self, holder: Sql, index: int) -> Sql:
        text = f"get({holder.text}, {index if 0 <= index < 2**31 else 'CAST(NULL AS INT)'})"
        if holder.shape is not None and holder.shape.element is not None:
            return column(text, holder.shape.element, holder.depth + 1)
        return Sql(text, holder.type.params[0], cheap=holder.cheap, from_json=holder.from_json, depth=holder.depth + 1)

    def _has(self, operand: Expr, key: str, scope: dict[str, Sql]) -> Sql:
        if isinstance(operand, Ident) and operand.name == "ce" and "ce" not in scope:
            return self.has_attribute(key)
        holder = self._holder(operand, scope)
        if holder.items is not None:
            return made.has_key(holder, key)
        if holder.type == t.JSON:
            return self.let(holder, lambda v: self._has_dynamic(v, key))
        if holder.shape is None:
            raise NotNative(f"has() on a value of type '{holder.type}'")

        def test(v: Sql) -> Sql:
            found = self.field(v, key)
            if holder.shape is not None and holder.shape.name == "map":
                present = f"array_contains(map_keys({v}), {text_literal(key)})"
            else:
                present = f"{found} IS NOT NULL"
            return boolean(f"CASE WHEN {v} IS NOT NULL THEN {present} END", (found,))

        return self.let(holder, test)

    def _has_dynamic(self, v: Sql, key: str) -> Sql:
        found = self.field(v, key)
        return boolean(f"CASE WHEN {dynamic.is_object(v)} THEN {found} IS NOT NULL END", (found,))

    def has_attribute(self, attribute: str) -> Sql:
        """Whether the event has the attribute."""
        if self.layout.attributes is None:
            raise NotNative("the events have no attributes")
        where = self.layout.attributes.find(attribute)
        if where is None:
            return literal(False, t.BOOL)
        return boolean(f"{where.text} IS NOT NULL", (), infix=True)

    def _call(self, e: Call, scope: dict[str, Sql]) -> Sql:
        args = e.args if e.target is None else (e.target, *e.args)
        if e.function in (AND, OR):
            terms = [self.condition(a, scope) for a in args]
            return joined("AND" if e.function == AND else "OR", terms)
        if e.function == NOT:
            inner = self.condition(args[0], scope)
            return boolean(f"NOT {inner}", (inner,), infix=True)
        if e.function == CONDITIONAL:
            return self._conditional(*args, scope=scope)
        if e.function == INDEX:
            return self._index(e, args, scope)
        if e.function == OPTIONAL_INDEX:
            raise NotNative("optional values")
        if e.function == IN:
            return membership.contains(self, args[0], args[1], scope)
        rows = self.checked.overloads.get(e.id, ())
        if not rows:
            raise NotNative("a call that was not checked")
        if rows[0].id in special.SPECIAL and len(rows) == 1:
            return special.SPECIAL[rows[0].id](self, args, scope)
        operands = [self.parts(a, scope) for a in args]
        if e.function in (EQUALS, NOT_EQUALS):
            return self._equality(operands, negated=e.function == NOT_EQUALS)
        if e.function == "type":
            return self.let(operands[0], _type_name)
        if e.function == "dyn":
            return operands[0]
        if e.function == "size" and operands[0].items is not None:
            return made.size(operands[0])
        if e.function == ADD and any(o.type.name == "list" for o in operands):
            return self._add_lists(operands)
        operands = [self.whole(o) for o in operands]
        if e.function in _ORDERING:
            operands = _comparable(operands)
        return self._apply(BY_CALL[e.function, e.target is not None], operands)

    def _add_lists(self, operands: list[Sql]) -> Sql:
        return made.concatenated(self, *(_read(o, t.JSON_LIST) if o.type == t.JSON else o for o in operands))

    def _equality(self, operands: list[Sql], *, negated: bool) -> Sql:
        simple = operands[0].type == operands[1].type and operands[0].type in _BARE
        found = self.lets(operands, lambda o: equality.equals(self, *o), [] if simple else None)
        return boolean(f"NOT {found}", (found,), infix=True) if negated else found

    def _conditional(self, test: Expr, then: Expr, other: Expr, *, scope: dict[str, Sql]) -> Sql:
        condition = self.condition(test, scope)
        a, b = self.lower(then, scope), self.lower(other, scope)
        if a.type != b.type:
            a, b = made.as_variant(a), made.as_variant(b)
        if a.shape != b.shape:
            raise NotNative("the two results have different columns' types")

        def choose(c: Sql) -> Sql:
            text = f"CASE WHEN {c.text} THEN {a.text} WHEN NOT {c} THEN {b.text} END"
            json = a.from_json and b.from_json
            return Sql(text, a.type, nan=a.nan or b.nan, from_json=json, depth=deepest((c, a, b)) + 1, shape=a.shape)

        return self.let(condition, choose)

    def _index(self, e: Call, args: tuple[Expr, ...], scope: dict[str, Sql]) -> Sql:
        key = args[1]
        if isinstance(key, Lit) and isinstance(key.value, str):
            return self._member(e, args[0], key.value, scope)
        if isinstance(args[0], Ident) and args[0].name == "ce" and "ce" not in scope:
            raise NotNative("a computed attribute name: attributes differ in type")
        holder = self._holder(args[0], scope)
        if isinstance(key, Lit) and isinstance(key.value, int) and not isinstance(key.value, bool):
            return self.field(holder, key.value)
        return self.lets([holder, self.lower(key, scope)], lambda o: access.computed(self, *o))

    def typed(self, text: str, s: SparkType, depth: int) -> Sql:
        """A part of a typed column as a CEL value."""
        return column(text, s, depth)

    def _apply(self, rows: Sequence[Overload], operands: list[Sql]) -> Sql:
        """The call of whichever overload fits the values: one, or a choice made by the values' kinds."""
        rows = [row for row in rows if _may_take(row, operands)]
        for row in rows:
            if row.id not in NATIVE and row.id != _ADD_LIST:
                raise NotNative(reason_for(row.id))
        if not rows:
            raise NotNative("the columns' types fit no overload")
        if len(rows) == 1:
            return self._one(rows[0], operands)

        def choose(bound: list[Sql]) -> Sql:
            branches = [self._one(row, bound) for row in rows]
            tests = [_fits(row, bound) for row in rows]
            if any(b.type != branches[0].type for b in branches):
                branches = [made.as_variant(b) for b in branches]
            text = " ".join(f"WHEN {test} THEN {b.text}" for test, b in zip(tests, branches, strict=True))
            json, nan = all(b.from_json for b in branches), any(b.nan for b in branches)
            return Sql(f"CASE {text} END", branches[0].type, nan=nan, from_json=json, depth=deepest(branches) + 1)

        return self.lets(operands, choose)

    def _one(self, row: Overload, operands: list[Sql]) -> Sql:
        if row.id == _ADD_LIST:
            return self._add_lists(operands)
        lowering = NATIVE[row.id]
        given = [_convert(o, p) for o, p in zip(operands, row.params, strict=True)]

        def emit(bound: list[Sql]) -> Sql:
            text = lowering.template(*bound)
            truth = _number_test(row, operands)
            return Sql(
                text,
                row.result,
                infix=lowering.infix,
                nan=lowering.nan,
                depth=deepest(bound) + lowering.depth,
                truth=truth,
            )

        written_once = row.params == (t.DOUBLE, t.DOUBLE)
        repeated = [i for i in lowering.twice if not written_once or given[i].nan]
        return self.lets(given, emit, repeated)


def document_variable(key: str) -> str:
    """The variable that stands for a parsed JSON text."""
    return (
        "doc" if key == "data" else "doc_" + "".join(c if c.isascii() and c.isalnum() else f"_{ord(c):x}_" for c in key)
    )


def body_text(where: Root, *, checked: bool = False) -> str:
    """The SQL that parses an event's payload: JSON by its media type or in its absence, else a string.

    A media type is JSON when its subtype is `json` or ends with `+json` (CloudEvents JSON format 1.0.2, section 3.1).
    `checked` is that of `parsed`.
    """
    text = where.column.text
    plain = f"collate({text}, 'UTF8_BINARY')" if checked and where.column.type.collated else text
    value = parsed(plain, checked=checked)
    if where.media_type is None:
        return value
    is_json = f"{where.media_type} IS NULL OR {where.media_type} = 'application/json'"
    is_json += f" OR rlike({where.media_type}, {_JSON_MEDIA_TYPE})"
    return f"CASE WHEN {is_json} THEN {value} ELSE CAST({text} AS VARIANT) END"


def column(text: str, s: SparkType, depth: int = 0) -> Sql:
    """A typed column, or a field of one, as a CEL value."""
    type_ = cel_type(s)
    match s.name:
        case "byte" | "short" | "integer":
            return Sql(f"CAST({text} AS BIGINT)", type_, cheap=True, depth=depth + 1)
        case "float" | "decimal":
            return Sql(f"CAST({text} AS DOUBLE)", type_, cheap=True, depth=depth + 1, nan=s.name == "float")
        case "string" if s.collated:
            return Sql(f"collate({text}, 'UTF8_BINARY')", type_, cheap=True, depth=depth + 1)
        case "array":
            whole = f"CASE WHEN array_size(array_compact({text})) = array_size({text}) THEN {text} END"
            return Sql(whole, type_, cheap=True, depth=depth + 3, shape=s)
        case "struct":
            return Sql(text, type_, cheap=True, depth=depth, shape=s)
        case "map":
            present = f"map_filter({text}, (k, v) -> v IS NOT NULL)"
            return Sql(present, type_, cheap=True, depth=depth + 2, shape=s)
        case _:
            if type_ == t.DYN:
                raise NotNative(f"a column of type {s.name}")
            return Sql(text, type_, cheap=True, depth=depth)


_MIRRORED = {LESS: ">", LESS_EQUALS: ">=", GREATER: "<", GREATER_EQUALS: "<="}


def _number_test(row: Overload, operands: list[Sql]) -> str:
    """The `truth` of an ordering between a dynamic value and a number written in the filter."""
    if row.function not in _ORDERING or row.params != (t.DOUBLE, t.DOUBLE):
        return ""
    a, b = operands
    if a.type == t.JSON and b.literal is not None:
        return dynamic.double_holds(a, f"{row.function.strip('_')} {b.text}")
    if b.type == t.JSON and a.literal is not None:
        return dynamic.double_holds(b, f"{_MIRRORED[row.function]} {a.text}")
    return ""


def _comparable(operands: list[Sql]) -> list[Sql]:
    """Two numbers to be ordered, in one type; anything else as it is."""
    return list(equality.comparable(*operands))


def _lit(e: Lit) -> Sql:
    match e.kind, e.value:
        case LitKind.NULL, _:
            return Sql("parse_json('null')", t.NULL, cheap=True)
        case LitKind.BYTES, bytes() as value:
            return Sql(f"X'{value.hex()}'", t.BYTES, cheap=True, literal=value)
        case kind, bool() | int() | float() | str() as value:
            return literal(value, CelType(kind.value))
        case _:
            raise NotNative("this literal")


def _may_take(row: Overload, operands: list[Sql]) -> bool:
    return len(operands) == len(row.params) and all(map(_fit, operands, row.params))


def _fit(o: Sql, wanted: CelType) -> bool:
    if wanted.is_parameter:
        return True
    if o.type == t.JSON:
        return wanted in t.JSON_KINDS or wanted.name in ("list", "map")
    return o.type == wanted or (o.type.name == wanted.name and wanted.name in ("list", "map"))


def _fits(row: Overload, operands: list[Sql]) -> str:
    """Whether the values are of the kinds that the overload takes; TRUE or FALSE."""
    tests = [_is_kind(o, p) for o, p in zip(operands, row.params, strict=True) if o.type == t.JSON]
    return " AND ".join(tests)


def _is_kind(v: Sql, wanted: CelType) -> str:
    if wanted.name in ("list", "map"):
        return dynamic.is_list(v) if wanted.name == "list" else dynamic.is_object(v)
    return f"{_read(v, wanted)} IS NOT NULL"


def _convert(o: Sql, wanted: CelType) -> Sql:
    return _read(o, wanted) if o.type == t.JSON else o


def _read(v: Sql, wanted: CelType) -> Sql:
    found = dynamic.read_as(v, wanted)
    if found is None:
        raise NotNative(f"a dynamic value as '{wanted}'")
    return found


def _type_name(v: Sql) -> Sql:
    """`type(v)`, by name."""
    if v.type == t.JSON:
        return Sql(dynamic.type_name(v), t.TYPE, depth=v.depth + 2)
    known = "map" if isinstance(v.type, Record) else _TYPE_NAMES.get(v.type, v.type.name)
    return made.when_certain([v], literal(known, t.TYPE))
