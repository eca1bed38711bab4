"""Random CEL filters, as hypothesis strategies: mostly well typed, partly dynamic, up to a depth.

What a filter may name is a `Catalogue`: the paths of a layout by their CEL type. The checker has the last word on what
is a filter, so the productions need only be mostly right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from tricel.compiler.celtypes import CelType
from tricel.compiler.functions import ALL, Overload
from tricel.compiler.literals import quoted
from tricel.spark_backend.sql.capability import Support, capabilities

DEPTH = 6
BOOL, INT, UINT, DOUBLE, STRING, BYTES, TIME, SPAN, DYN = (
    *("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration", "dyn"),
)
LIST, OBJECT = "list", "map"
SCALARS = (BOOL, INT, DOUBLE, STRING, TIME, SPAN, DYN)
ORDERED = (INT, DOUBLE, STRING, TIME, SPAN, BOOL)

TEXTS = (
    "",
    "a",
    "ab",
    "A",
    "true",
    "5",
    "1.5",
    "é",
    "😀",
    "e\u0301",
    "a b",
    " a ",
    "x,y",
    "k",
    "K",
    "ſ",
    "\n",
    "%",
    "'\"",
    "2024-01-02T03:04:05Z",
    "90s",
)
INTS = (
    *("0", "1", "-1", "2", "3", "7", "100", "2147483648"),
    *("-9223372036854775808", "9223372036854775807", "9007199254740993"),
)
LENGTHS = ("3", "0", "-1", "size([1, 2])", "data.a.size()")
DOUBLES = (
    "0.0",
    "-0.0",
    "1.0",
    "1.5",
    "-2.0",
    "100.0",
    "9007199254740992.0",
    "9223372036854775808.0",
    "1e308",
    "5e-324",
)
UINTS = ("0u", "1u", "5u", "18446744073709551615u")
BLOBS = ("b''", "b'a'", "b'\\xff'", "b'\\xc3\\xa9'")
TIMES = (
    "2024-01-02T03:04:05Z",
    "1970-01-01T00:00:00Z",
    "2024-02-29T23:59:59.999999Z",
    "1969-12-31T23:59:59.5Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
)
SPANS = ("0s", "1s", "-1s", "1h", "36h", "0.000001s", "1500ms", "-90m")
PATTERNS = ("a", "^a", "b$", "^ab?$", "[a-c]+", "(?i)a", "\\\\d+", "a|b", ".", "^.$", "", "(a|b)*c", "\\\\bk\\\\b")
PARTS = ("a", "ab", "k", "é", "😀", "5", " ", "%", "[ab]x", "[^a]", "(?:k|K)", "a?", "\\\\s", "x{0,2}", "(?i:k)")
FORMS = (
    *("{0}|{1}", "^({0}|{1})", "({0}|{1})$", "^({0}|{1})$", "^(?:{0}|{1}){2}", "(?i){0}|{1}", "{0}[{1}]|{2}"),
    *("^{0}", "{0}$", "^{0}$", "^{0}|{1}$", "{0}|^{1}", "(?s){0}.{1}", "{0}|{1}|{2}", "^(?:{0}|{1}|{2})$"),
)
"""How parts make a pattern: most become several comparisons of text, joined by OR."""
TOPIC_FILTERS = ("#", "+", "+/#", "/#", "/+", "/s", "+/s", "a", "a/#", "id-0/#", "a/+/#", "$a/#", "é|😀/+")
ZONES = ("UTC", "+01:00", "-08:30", "05:45", "Europe/Berlin")
GETTERS = (
    "FullYear",
    "Month",
    "Date",
    "DayOfMonth",
    "DayOfWeek",
    "DayOfYear",
    "Hours",
    "Minutes",
    "Seconds",
    "Milliseconds",
)
TYPE_NAMES = (BOOL, INT, UINT, DOUBLE, STRING, BYTES, LIST, OBJECT, "null_type", "type", "google.protobuf.Timestamp")

Scope: TypeAlias = Mapping[str, tuple[str, ...]]
T = TypeVar("T")
Production: TypeAlias = "Callable[[_Run, int, Scope], str]"


@dataclass(frozen=True)
class Catalogue:
    """Paths by type, and paths that `has` may test. `lists` gives the type of the elements of a list by its path."""

    paths: Mapping[str, tuple[str, ...]]
    tested: tuple[str, ...]
    lists: Mapping[str, str]
    objects: tuple[str, ...] = ()
    optionals: tuple[str, ...] = ()


DYNAMIC = Catalogue(
    paths={
        STRING: ("ce.id", "ce.source", "ce.type", "ce.subject", "ce.tenant", "ce.prio", "ce.missing", 'ce["flag"]'),
        TIME: ("ce.time",),
        DYN: (
            *("data.n", "data.m", "data.s", "data.u", "data.b", "data.a", "data.o", "data.z", "data.t", "data.o.x"),
            *('data["k y"]', "data.a[0]", "data.a[1]", "data.l", "data.o.o.y", "data", "data.l[0].k", "data.missing"),
        ),
    },
    tested=("ce.subject", "ce.tenant", "ce.time", "data.n", "data.o.x", "data.z", "data.o.o.y", "data.missing"),
    lists={"data.a": DYN, "data.l": DYN, "data.o": DYN, "data.s": DYN},
    objects=("data", "data.o", "data.a", "ce"),
    optionals=(
        *("data.?n", "data.?o.x", "data.?missing", 'data[?"s"]', "optional.none()", "data.o.?x", "ce.?subject"),
        *("data.?o.?o.y", "data.o.?missing.?y", "data.?z", "ce.?missing", 'ce[?"flag"]', "ce.?time", 'data.?u["k y"]'),
        *("data.?missing.or(data.?n)", "data.?o.orValue({}).?x", "data.l[0].?k", "data.?s.optMap(y, y)", "data.?a"),
    ),
)
TYPED = Catalogue(
    paths={
        STRING: ("ce.id", "ce.source", "ce.type", "ce.subject", "ce.tenant", "data.s", "data.o.y", "data.ls[0]"),
        INT: ("ce.prio", "data.i", "data.j", "data.o.x", "data.li[1]", 'data.m["a"]', "data.m.b"),
        DOUBLE: ("ce.ratio", "data.d", "data.ld[0]", "data.lo[0].v"),
        BOOL: ("ce.vip", "data.b"),
        TIME: ("ce.time", "ce.at", "data.t"),
        DYN: ("data.v", "data.v.n", "data.v.s", "data.v.a"),
    },
    tested=("ce.subject", "ce.prio", "ce.ratio", "data.i", "data.s", "data.o", "data.o.x", "data.m.a", "data.t"),
    lists={"data.li": INT, "data.ls": STRING, "data.ld": DOUBLE, "data.v.a": DYN, "data.m": STRING},
    objects=("data.m", "data.v"),
    optionals=(
        *(
            "data.?i",
            "data.?s",
            "data.?o.x",
            "data.?o.?y",
            "data.?m.a",
            'data.m[?"b"]',
            "data.?t",
            "data.?b",
            "data.?d",
        ),
        *("data.?v.n", "data.v.?s", "data.lo[0].?v", "data.?i.or(data.?j)", "ce.?subject", "ce.?prio", "ce.?at"),
    ),
)


def filters(catalogue: Catalogue, depth: int = DEPTH) -> SearchStrategy[str]:
    """Texts of filters. Hypothesis draws the source of randomness, not each choice: so the filters are unlike."""
    return st.randoms(use_true_random=True).map(lambda random: random_filter(random, catalogue, depth))


def random_filter(random: Random, catalogue: Catalogue, depth: int = DEPTH) -> str:
    """The text of one filter."""
    run = _Run(random, catalogue)
    return run.make(BOOL, depth, {}) if run.number(2) else _declared(run, depth, {})


@dataclass
class _Run:
    random: Random
    catalogue: Catalogue
    names: list[str] = field(default_factory=list)

    def pick(self, options: Sequence[T]) -> T:
        return options[self.number(len(options))]

    def number(self, below: int) -> int:
        """A number from 0, below the bound."""
        return self.random.randrange(below)

    def shuffled(self, *options: str) -> list[str]:
        """The options in some order."""
        return self.random.sample(options, len(options))

    def make(self, type_: str, depth: int, scope: Scope) -> str:
        """An expression of the type; what is dynamic stands for any type now and then."""
        if depth <= 0 or self.number(6) == 0:
            return self.leaf(type_, scope)
        if type_ not in (DYN, INT, SPAN, TIME) and self.number(16) == 0:
            return self.make(DYN, depth - 1, scope)
        productions = _PRODUCTIONS[type_]
        return productions[self.number(len(productions))](self, depth - 1, scope)

    def leaf(self, type_: str, scope: Scope) -> str:
        """A path, a variable or a literal."""
        found = (*scope.get(type_, ()), *scope.get(type_, ()), *self.catalogue.paths.get(type_, ()))
        if found and self.number(3):
            return self.pick(found)
        if type_ in (DOUBLE, STRING, BOOL) and self.number(4) == 0:
            return self.pick((*scope.get(DYN, ()), *self.catalogue.paths[DYN]))
        return self.literal(type_)

    def literal(self, type_: str) -> str:
        """A literal, or what is as good as one."""
        match type_:
            case "string":
                return quoted(self.pick(TEXTS))
            case "timestamp":
                return f'timestamp("{self.pick(TIMES)}")'
            case "duration":
                return f'duration("{self.pick(SPANS)}")'
            case "list":
                return self.pick(("[]", "[1, 2]", '["a", "b"]', "[1.0, null]", "[[1], [2]]", '[{"k": 1.0}]'))
            case "map":
                return self.pick(("{}", '{"a": 1, "b": 2}', '{"x": 1.0, "y": "a"}', '{"k": null}'))
            case "dyn":
                return self.pick(self.catalogue.paths[DYN])
            case _:
                return self.pick(
                    {BOOL: ("true", "false"), INT: INTS, UINT: UINTS, DOUBLE: DOUBLES, BYTES: BLOBS}[type_]
                )

    def fresh(self) -> str:
        self.names.append(f"x{len(self.names)}")
        return self.names[-1]

    def some(self, depth: int, scope: Scope, types: Sequence[str] = SCALARS) -> tuple[str, str]:
        """An expression of any of the types, and the type."""
        type_ = self.pick(types)
        return self.make(type_, depth, scope), type_

    def second(self, items: str, element: str, name: str, scope: Scope) -> tuple[str, Scope]:
        """A second variable for a macro over these, and the scope with it and the first, the index or key."""
        second = self.fresh()
        key, value = (STRING, INT) if items.endswith(".m") else (self.pick((INT, INT, STRING)), element)
        return second, _with(_with(scope, key, name), value, second)

    def listed(self, depth: int, scope: Scope) -> tuple[str, str]:
        """A list, and the type of its elements."""
        if self.number(3) == 0:
            path = self.pick(tuple(self.catalogue.lists))
            return path, self.catalogue.lists[path]
        type_ = self.pick((INT, STRING, DOUBLE, DYN))
        match self.number(6):
            case 4 | 5:
                return self.remade(depth, scope)
            case 0:
                return f"{self.make(STRING, depth, scope)}.split({quoted(self.pick((',', '', 'a')))})", STRING
            case 1:
                inner, element = self.listed(depth - 1, scope) if depth > 0 else ("[1, 2, 3]", INT)
                name = self.fresh()
                named = _with(scope, element, name)
                if self.number(4) == 0 and inner not in (*self.catalogue.objects, "data.m"):
                    return f"{inner}.sortBy({name}, {self.make(self.pick(ORDERED), depth - 1, named)})", element
                if inner in self.catalogue.lists and self.number(3) == 0:
                    named = _looked_up(inner, element, name, named)
                return f"{inner}.filter({name}, {self.make(BOOL, depth - 1, named)})", element
            case 2:
                inner, element = self.listed(depth - 1, scope) if depth > 0 else ("[1, 2, 3]", INT)
                name = self.fresh()
                if self.number(3) == 0:
                    second, pair = self.second(inner, element, name, scope)
                    test = f"{self.make(BOOL, depth - 2, pair)}, " if self.number(2) else ""
                    body = self.make(type_, depth - 1, pair)
                    return f"{inner}.transformList({name}, {second}, {test}{body})", type_
                return f"{inner}.map({name}, {self.make(type_, depth - 1, _with(scope, element, name))})", type_
            case _:
                items = ", ".join(self.make(type_, depth - 2, scope) for _ in range(self.number(3) + 1))
                return f"[{items}]", type_

    def remade(self, depth: int, scope: Scope) -> tuple[str, str]:
        """A list made of another by the lists extension, and the type of its elements."""
        if self.number(8) == 0:
            return f"lists.range({self.pick(LENGTHS)})", INT
        items, element = self.listed(depth - 1, scope) if depth > 0 else ("[3, 1, 2, 1]", INT)
        n, m = self.number(3), self.number(4)
        forms: tuple[str, ...] = (
            "reverse()",
            "sort()",
            "sort()",
            "distinct()",
            f"slice({min(n, m)}, {m})",
            f"slice(0, size({items}))",
        )
        if element == DYN:
            forms = (*forms, "flatten()", f"flatten({self.number(3) - 1})")
        return f"{items}.{self.pick(forms)}", element

    def list_of(self, element: str, depth: int, scope: Scope) -> str:
        """A list whose elements are of the type, or now and then what may be no list."""
        paths = tuple(p for p, t in self.catalogue.lists.items() if t == element and p != "data.m")
        if paths and self.number(2):
            return self.pick(paths)
        if self.number(5) == 0:
            return self.pick(self.catalogue.paths[DYN])
        return f"[{', '.join(self.make(element, depth - 2, scope) for _ in range(self.number(3) + 1))}]"

    def argument(self, type_: CelType, element: str, depth: int, scope: Scope) -> str:
        """An argument for a parameter of the type, where a parameter of the signature stands for `element`."""
        match type_.name:
            case "list" if type_.params[0].name == "list":
                return f"[{', '.join(self.list_of(element, depth - 1, scope) for _ in range(self.number(2) + 1))}]"
            case "list":
                inner = type_.params[0]
                return self.list_of(element if inner.is_parameter else inner.name, depth, scope)
            case "map":
                return self.pick((*self.catalogue.objects, self.literal(OBJECT)))
            case "optional_type":
                of = f"optional.of({self.make(element, depth - 1, scope)})"
                return self.pick((*self.catalogue.optionals[:6], of, of, "optional.none()"))
            case "K":
                return self.make(STRING, depth - 2, scope)
            case name:
                return self.make(element if type_.is_parameter else name, depth, scope)


def _with(scope: Scope, type_: str, name: str) -> Scope:
    return {**scope, type_: (*scope.get(type_, ()), name)}


def _looked_up(items: str, element: str, name: str, scope: Scope) -> Scope:
    """The scope of a macro over these with what its variable finds in them: `data.m[k]`."""
    return _with(scope, INT if element != DYN else DYN, f"{items}[{name}]")


def _equality(run: _Run, depth: int, scope: Scope) -> str:
    left, type_ = run.some(depth, scope, (*SCALARS, STRING, DYN, DYN, LIST, OBJECT, BYTES, UINT))
    other = type_ if run.number(3) else run.pick((DYN, INT, DOUBLE, UINT, LIST))
    return f"({left} {run.pick(('==', '!='))} {run.make(other, depth, scope)})"


def _order(run: _Run, depth: int, scope: Scope) -> str:
    left, type_ = run.some(depth, scope, (*ORDERED, BYTES))
    other = run.pick((INT, DOUBLE, UINT)) if type_ in (INT, DOUBLE) else type_
    return f"({left} {run.pick(('<', '<=', '>', '>='))} {run.make(other, depth, scope)})"


def _logic(run: _Run, depth: int, scope: Scope) -> str:
    word = run.pick((" && ", " || "))
    return f"({word.join(run.make(BOOL, depth, scope) for _ in range(run.number(2) + 2))})"


def _not(run: _Run, depth: int, scope: Scope) -> str:
    return f"!{run.make(BOOL, depth, scope)}"


def _choice(type_: str) -> Production:
    def make(run: _Run, depth: int, scope: Scope) -> str:
        a, b = run.make(type_, depth, scope), run.make(type_, depth, scope)
        return f"({run.make(BOOL, depth - 1, scope)} ? {a} : {b})"

    return make


def _bound(type_: str) -> Production:
    def make(run: _Run, depth: int, scope: Scope) -> str:
        value, of = run.some(depth, scope, (*SCALARS, LIST))
        name = run.fresh()
        return f"cel.bind({name}, {value}, {run.make(type_, depth, _with(scope, of, name))})"

    return make


def _has(run: _Run, depth: int, scope: Scope) -> str:
    return f"has({run.pick(run.catalogue.tested)})"


def _member(run: _Run, depth: int, scope: Scope) -> str:
    if run.number(3) == 0:
        key = run.make(run.pick((STRING, STRING, DYN, INT)), depth - 2, scope)
        return f"({key} in {run.pick((*run.catalogue.objects, run.literal(OBJECT)))})"
    items, element = run.listed(depth, scope)
    return f"({run.make(run.pick((element, element, DYN, DOUBLE)), depth, scope)} in {items})"


def _quantified(run: _Run, depth: int, scope: Scope) -> str:
    items, element = run.listed(depth - 1, scope)
    macro, name = run.pick(("all", "exists", "exists_one")), run.fresh()
    inner = _with(scope, element, name)
    match run.number(6):
        case 0 | 1:
            second, inner = run.second(items, element, name, scope)
            return f"{items}.{macro.replace('_o', 'O')}({name}, {second}, {run.make(BOOL, depth, inner)})"
        case 2 if items in run.catalogue.lists:
            return f"{items}.{macro}({name}, {run.make(BOOL, depth, _looked_up(items, element, name, inner))})"
        case _:
            return f"{items}.{macro}({name}, {run.make(BOOL, depth, inner)})"


def _text_test(run: _Run, depth: int, scope: Scope) -> str:
    method = run.pick(("startsWith", "endsWith", "contains", "matches", "matchesFilter"))
    subject = run.make(STRING, depth, scope)
    if method == "matches":
        return f"{subject}.matches({_pattern(run)})"
    if method == "matchesFilter":
        return f"{subject}.matchesFilter({quoted(run.pick(TOPIC_FILTERS))})"
    return f"{subject}.{method}({run.make(STRING, depth - 2, scope)})"


def _pattern(run: _Run) -> str:
    if run.number(2) == 0:
        return f'"{run.pick(PATTERNS)}"'
    form = run.pick(FORMS)
    plain = form == "{0}[{1}]|{2}"
    return '"' + form.format(*(run.pick(PARTS[:6] if plain else PARTS) for _ in range(3))) + '"'


def _matched(run: _Run, depth: int, scope: Scope) -> str:
    """A test of a pattern, most often an operand of a condition: bare, where it must not need parentheses."""
    test = f"{run.leaf(run.pick((STRING, STRING, DYN)), scope)}.matches({_pattern(run)})"
    match run.number(4):
        case 0:
            return f"({run.make(BOOL, depth - 2, scope)} && {test})"
        case 1:
            return f"({test} && {run.make(BOOL, depth - 2, scope)} || {run.make(BOOL, depth - 2, scope)})"
        case 2:
            return f"(!{test} || {test} && {run.make(BOOL, depth - 2, scope)})"
        case _:
            return test


def _typed(run: _Run, depth: int, scope: Scope) -> str:
    return f"(type({run.some(depth, scope)[0]}) == {run.pick(TYPE_NAMES)})"


def _optional(run: _Run, depth: int, scope: Scope) -> str:
    path = run.pick(run.catalogue.optionals)
    match run.number(8):
        case 0:
            return f"{path}.hasValue()"
        case 1:
            return f"({path}.value() == {run.make(DYN, depth, scope)})"
        case 2:
            literal = run.literal(run.pick((STRING, DOUBLE, INT)))
            return f"({path} {run.pick(('==', '!='))} {run.pick(('optional.none()', f'optional.of({literal})'))})"
        case 3 | 4:
            name, other = run.fresh(), run.literal(run.pick((STRING, DOUBLE, BOOL)))
            found = f"{path}.optFlatMap({name}, {name}.?{run.pick(('x', 'k', 'y'))})"
            return f"({found}.orValue({other}) == {run.make(DYN, depth, scope)})"
        case 5:
            name = run.fresh()
            return f"{path}.optMap({name}, {run.make(BOOL, depth - 1, _with(scope, DYN, name))}).orValue(false)"
        case _:
            literal = run.literal(run.pick((STRING, DOUBLE, INT, BOOL)))
            other = run.make(DYN, depth, scope) if run.number(2) else run.literal(run.pick((STRING, DOUBLE, INT)))
            return f"({path}.orValue({literal}) {run.pick(('==', '!=', '<', '>='))} {other})"


def _sets(run: _Run, depth: int, scope: Scope) -> str:
    a, element = run.listed(depth - 1, scope)
    function = run.pick(("contains", "intersects", "equivalent"))
    if run.number(2):
        items = ", ".join(run.make(run.pick((element, element, DYN)), depth - 2, scope) for _ in range(run.number(4)))
        b = f"[{items}]"
    else:
        b, _ = run.listed(depth - 1, scope)
    return f"sets.{function}({', '.join(run.shuffled(f'dyn({a})', f'dyn({b})'))})"


def _end(run: _Run, depth: int, scope: Scope) -> str:
    items, element = run.listed(depth - 1, scope)
    end = f"{items}.{run.pick(('first', 'last'))}()"
    name = run.fresh()
    forms = (
        f"{end}.hasValue()",
        f"({end}.value() == {run.make(element, depth - 1, scope)})",
        f"({end}.orValue({run.make(element, depth - 1, scope)}) == {run.make(element, depth - 1, scope)})",
        f"{end}.optMap({name}, {run.make(BOOL, depth - 1, _with(scope, element, name))}).orValue(true)",
    )
    return run.pick(forms)


def _arithmetic(type_: str, words: Sequence[str]) -> Production:
    def make(run: _Run, depth: int, scope: Scope) -> str:
        return f"({run.make(type_, depth, scope)} {run.pick(words)} {run.make(type_, depth, scope)})"

    return make


def _moved(run: _Run, depth: int, scope: Scope) -> str:
    return f"({run.make(TIME, depth, scope)} {run.pick('+-')} {run.make(SPAN, depth, scope)})"


def _negated(type_: str) -> Production:
    return lambda run, depth, scope: f"-({run.make(type_, depth, scope)})"


def _converted(function: str, types: Sequence[str]) -> Production:
    return lambda run, depth, scope: f"{function}({run.some(depth, scope, types)[0]})"


def _size(run: _Run, depth: int, scope: Scope) -> str:
    match run.number(3):
        case 0:
            return f"size({run.listed(depth, scope)[0]})"
        case 1:
            return f"size({run.make(run.pick((STRING, BYTES, DYN, OBJECT)), depth, scope)})"
        case _:
            return f"{run.make(STRING, depth, scope)}.size()"


def _getter(run: _Run, depth: int, scope: Scope) -> str:
    zone = quoted(run.pick(ZONES)) if run.number(3) == 0 else ""
    return f"{run.make(TIME, depth, scope)}.get{run.pick(GETTERS)}({zone})"


def _length(run: _Run, depth: int, scope: Scope) -> str:
    return f"{run.make(SPAN, depth, scope)}.get{run.pick(('Hours', 'Minutes', 'Seconds', 'Milliseconds'))}()"


def _text(run: _Run, depth: int, scope: Scope) -> str:
    subject, n, m = run.make(STRING, depth, scope), run.number(4), run.number(4)
    other = run.make(STRING, depth - 2, scope)
    forms = (
        *(f"{subject}.substring({n})", f"{subject}.substring({min(n, m)}, {max(n, m)})", f"{subject}.charAt({n})"),
        *(f"{subject}.lowerAscii()", f"{subject}.upperAscii()", f"{subject}.trim()", f"{subject}.reverse()"),
        *(f"{subject}.replace({quoted(run.pick(TEXTS))}, {other})", f"[{subject}, {other}].join({quoted(',')})"),
    )
    return run.pick(forms)


def _found(run: _Run, depth: int, scope: Scope) -> str:
    method = run.pick(("indexOf", "lastIndexOf"))
    return f"{run.make(STRING, depth, scope)}.{method}({quoted(run.pick(TEXTS))})"


def _element(type_: str) -> Production:
    def make(run: _Run, depth: int, scope: Scope) -> str:
        items = ", ".join(run.make(type_, depth - 1, scope) for _ in range(run.number(3) + 1))
        return f"[{items}][{run.make(run.pick((INT, INT, DOUBLE)), depth - 2, scope)}]"

    return make


_OF_DOUBLE = ("ceil", "floor", "round", "trunc", "abs", "sign", "sqrt")
_OF_INTS = ("bitAnd", "bitOr", "bitXor", "bitShiftLeft", "bitShiftRight")


def _of_double(run: _Run, depth: int, scope: Scope) -> str:
    return f"math.{run.pick(_OF_DOUBLE)}({run.make(DOUBLE, depth, scope)})"


def _of_ints(run: _Run, depth: int, scope: Scope) -> str:
    one = run.make(INT, depth, scope)
    if run.number(3) == 0:
        return f"math.{run.pick(('abs', 'sign', 'bitNot'))}({one})"
    return f"math.{run.pick(_OF_INTS)}({one}, {run.make(INT, depth, scope)})"


def _not_finite(run: _Run, depth: int, scope: Scope) -> str:
    return f"math.{run.pick(('isNaN', 'isInf', 'isFinite'))}({run.make(DOUBLE, depth, scope)})"


def _best(type_: str) -> Production:
    def make(run: _Run, depth: int, scope: Scope) -> str:
        numbers = [run.make(type_ if run.number(4) else DYN, depth, scope) for _ in range(run.number(3) + 1)]
        return f"math.{run.pick(('greatest', 'least'))}({', '.join(numbers)})"

    return make


def _bound_below(run: _Run, depth: int, scope: Scope) -> str:
    """A number of either type beside an int, in a comparison."""
    number = run.make(run.pick((DOUBLE, DYN, DYN)), depth, scope)
    best = f"math.{run.pick(('greatest', 'least'))}({number}, {run.pick(INTS)})"
    return f"({best} {run.pick(('==', '!=', '<', '>='))} {run.make(run.pick((DOUBLE, INT, DYN)), depth, scope)})"


def _base64(run: _Run, depth: int, scope: Scope) -> str:
    return f"base64.encode({run.make(BYTES, depth, scope)})"


def _from_base64(run: _Run, depth: int, scope: Scope) -> str:
    if run.number(2):
        return f"base64.decode({run.make(STRING, depth, scope)})"
    return f"base64.decode({run.pick(('YQ', 'YWI=', 'YWJj', 'w6k='))!r} + {_base64(run, depth, scope)})"


def _read_time(run: _Run, depth: int, scope: Scope) -> str:
    """A time put together of a text that is read, so that it is computed and mostly valid."""
    rest = run.pick(("", ".5", ".000001", ".000000001", ".9999999999", ".123456789"))
    zone = run.pick(("Z", "z", "+01:00", "-23:59", "+05:45"))
    day = run.pick(("2024-02-29", "1969-12-31", "0001-01-01", "9999-12-31", "2023-02-29"))
    written = (
        f"{quoted(day + 'T23:59:5')} + string(math.bitAnd({run.make(INT, depth, scope)}, 7)) + {quoted(rest + zone)}"
    )
    return f"timestamp({written})"


def _read_span(run: _Run, depth: int, scope: Scope) -> str:
    unit = run.pick(("ns", "us", "ms", "s", "m", "h", "h1m", ".5h", ".25s1ns"))
    return f"duration(string({run.make(INT, depth, scope)}) + {quoted(unit)})"


def _dynamic(run: _Run, depth: int, scope: Scope) -> str:
    match run.number(5):
        case 0:
            return f"dyn({run.some(depth, scope)[0]})"
        case 1:
            return f"{run.pick(run.catalogue.paths[DYN])}[{run.pick((*INTS[:4], *(quoted(x) for x in ('x', 'k y', 'a'))))}]"
        case 2:
            return f'{{"x": {run.some(depth, scope)[0]}, "y": {run.some(depth, scope)[0]}}}.{run.pick(("x", "y", "z"))}'
        case 3:
            return f"{run.pick(run.catalogue.paths[DYN])}[{run.some(depth, scope, (INT, DOUBLE, STRING, DYN))[0]}]"
        case _:
            return run.leaf(DYN, scope)


_NATIVE_ROWS = tuple(
    row
    for row in ALL
    if capabilities()[row.id].support is Support.NATIVE and row.function not in ("_&&_", "_||_", "!_", "_?_:_", "_==_")
)


def _declared(run: _Run, depth: int, scope: Scope) -> str:
    """A test of what any native overload makes; each is as likely as the others, so that none is left out."""
    row = run.pick(_NATIVE_ROWS)
    element = run.pick((INT, STRING, DOUBLE, DYN))
    return _tested(run, row.result, element, _called(row, _arguments(run, row, element, depth, scope)), depth, scope)


def _arguments(run: _Run, row: Overload, element: str, depth: int, scope: Scope) -> list[str]:
    """Arguments of the overload; those that are native only where they are written out mostly are."""
    made = [run.argument(p, element, depth - 1, scope) for p in row.params]
    if run.number(6) == 0:
        return made
    match row.function:
        case "matches":
            made[1] = _pattern(run)
        case "matchesFilter":
            made[1] = quoted(run.pick(TOPIC_FILTERS))
        case "lists.range":
            made[0] = run.pick(LENGTHS)
        case "timestamp" if row.id == "string_to_timestamp":
            made[0] = run.pick((quoted(run.pick(TIMES)), "ce.subject", "ce.tenant", "data.s"))
        case "duration" if row.id == "string_to_duration":
            made[0] = run.pick((quoted(run.pick(SPANS)), "ce.subject", "ce.tenant", "data.s"))
        case _ if row.id.endswith("_with_tz"):
            made[1] = quoted(run.pick(ZONES))
        case _ if row.member:
            small = [str(run.number(4) - 1) if p.name == INT else a for p, a in zip(row.params, made, strict=True)]
            made = [made[0], *small[1:]]
    return made


def _called(row: Overload, arguments: Sequence[str]) -> str:
    match row.function:
        case "_[_]":
            return f"{arguments[0]}[{arguments[1]}]"
        case "-_":
            return f"-({arguments[0]})"
        case "@in":
            return f"({arguments[0]} in {arguments[1]})"
        case operator if operator.startswith("_"):
            return f"({arguments[0]} {operator.strip('_')} {arguments[1]})"
        case function if row.member:
            return f"{arguments[0]}.{function}({', '.join(arguments[1:])})"
        case function:
            return f"{function}({', '.join(arguments)})"


def _tested(run: _Run, type_: CelType, element: str, made: str, depth: int, scope: Scope) -> str:
    """A bool made of an expression of the type."""
    match type_.name:
        case "bool":
            return made
        case "list":
            name, inner = run.fresh(), type_.params[0]
            of = element if inner.is_parameter else inner.name
            body = run.make(BOOL, depth - 1, _with(scope, of, name))
            forms = (f"({made} == {run.list_of(of, depth - 1, scope)})", f"{made}.exists({name}, {body})")
            return run.pick((*forms, f"({run.make(of, depth - 1, scope)} in {made})"))
        case "optional_type":
            return run.pick((f"{made}.hasValue()", f"({made}.orValue({run.literal(INT)}) == {run.literal(INT)})"))
        case "type":
            return f"({made} == {run.pick(TYPE_NAMES)})"
        case name:
            of = DYN if name == "V" else element if type_.is_parameter else name
            return f"({made} {run.pick(('==', '!=', '<', '>='))} {run.make(of, depth - 1, scope)})"


def _list(run: _Run, depth: int, scope: Scope) -> str:
    return run.listed(depth, scope)[0]


def _object(run: _Run, depth: int, scope: Scope) -> str:
    return f'{{"x": {run.some(depth, scope)[0]}, "y": {run.some(depth, scope)[0]}}}'


_PRODUCTIONS: Mapping[str, tuple[Production, ...]] = {
    BOOL: (
        *(_equality, _equality, _equality, _order, _order, _order, _logic, _logic, _logic, _not, _choice(BOOL)),
        *(_bound(BOOL), _has, _member, _member, _quantified, _quantified, _text_test, _text_test, _typed, _optional),
        *(_matched, _matched),
        *(_optional, _sets, _sets, _end, _not_finite, _bound_below, _bound_below, _converted("bool", (STRING, BOOL))),
        *(_declared, _declared, _declared, _declared, _declared, _declared, _declared, _declared),
    ),
    INT: (
        *(_of_ints, _of_ints, _best(INT)),
        *(_arithmetic(INT, "+-*/%"), _arithmetic(INT, "+-*/%"), _size, _size, _getter, _length, _negated(INT), _found),
        *(_converted("int", (DOUBLE, STRING, INT, TIME, DYN, UINT)), _choice(INT), _element(INT), _bound(INT)),
    ),
    UINT: (_converted("uint", (INT, DOUBLE, STRING)), _arithmetic(UINT, "+-*/%")),
    DOUBLE: (
        *(_of_double, _of_double, _best(DOUBLE)),
        *(_arithmetic(DOUBLE, "+-*/"), _arithmetic(DOUBLE, "+-*/"), _negated(DOUBLE), _choice(DOUBLE)),
        *(_converted("double", (INT, STRING, DOUBLE, DYN, UINT)), _element(DOUBLE), _bound(DOUBLE)),
    ),
    STRING: (
        *(_arithmetic(STRING, "+"), _base64, _text, _text, _text, _choice(STRING), _element(STRING), _bound(STRING)),
        _converted("string", (INT, DOUBLE, BOOL, STRING, TIME, SPAN, DYN, BYTES, UINT)),
    ),
    BYTES: (_from_base64, _converted("bytes", (STRING, BYTES)), _arithmetic(BYTES, "+"), _choice(BYTES)),
    TIME: (_moved, _read_time, _converted("timestamp", (STRING, INT, TIME)), _choice(TIME)),
    SPAN: (
        _read_span,
        _arithmetic(SPAN, "+-"),
        _arithmetic(TIME, "-"),
        _converted("duration", (STRING,)),
        _choice(SPAN),
    ),
    DYN: (_dynamic,),
    LIST: (_list, _list, _arithmetic(LIST, "+")),
    OBJECT: (_object,),
}
