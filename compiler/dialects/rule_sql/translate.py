"""Rule SQL to CEL: SELECT is evaluated first, then WHERE, which sees the names that SELECT gives."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ...diagnostics import Diagnostic
from ...limits import MAX_DEPTH, MAX_NODES
from ...nodes import ADD, DIVIDE, EQUALS, MULTIPLY, NOT_EQUALS, SUBTRACT, Expr, Lit, LitKind, children, string
from ...nodes import Call as CelCall
from ...patterns.topic_filters import is_filter, pattern_of
from ...source import Source, Span
from ...suggest import closest, did_you_mean
from .columns import (
    COLUMNS,
    MAPS,
    USER_PROPERTY,
    Asked,
    column,
    decoded_payload,
    entry,
    flag,
    payload,
    stepped,
    without_presence,
)
from .compare import LARGEST, compared, identical, one_of
from .functions import FUNCTIONS, REFUSED
from .tree import (
    Arithmetic,
    Call,
    Case,
    Comparison,
    In,
    Items,
    Literal,
    Logic,
    Negative,
    Node,
    Not,
    Path,
    Range,
    Select,
)
from .values import (
    FALSE,
    JSON_KINDS,
    NO_VALUE,
    RAISES,
    TRUE,
    UNDEFINED,
    Any,
    Choice,
    Kind,
    Truth,
    Value,
    as_truth,
    as_value,
    chosen,
    conj,
    constant,
    disj,
    every,
    known,
    mapped,
    neg,
    negated,
    of_kind,
    some,
    sure,
)

_CEL = {"+": ADD, "-": SUBTRACT, "*": MULTIPLY, "/": DIVIDE}
EXACT = 2**53
"""Whole numbers up to this one are exact as doubles."""


def translate(tree: Select, source: Source, *, coerce: bool) -> tuple[Expr | None, tuple[Diagnostic, ...]]:
    """The CEL that is true where the check passes; None where it is refused."""
    run = Run(source, coerce)
    truths = [run.selected(one.value, one.alias) for one in tree.fields if one.value is not None]
    if tree.where is not None:
        truths.append(run.condition(tree.where))
    truth = every([*truths, constant(True)]) if truths else constant(True)
    expr = conj((truth.yes,))
    run.measure(expr, tree.span)
    asked = Asked({})
    if not any(d.severity == "error" for d in run.found):
        expr = without_presence(expr, asked)
    for name, span in asked.names.items():
        message = f"whether a message has no '{name}' cannot be asked, and it decides here"
        run.report("TRI389", message, span, f"compare it without NOT: {name} != 'x'")
    if expr == FALSE and not run.found:
        run.report("TRI384", "the check passes for no message", tree.span)
    run.found.sort(key=lambda d: (d.span.start, d.span.end))
    found = tuple(dict.fromkeys(run.found))
    return (None if any(d.severity == "error" for d in found) else expr), found


@dataclass
class Run:
    """One translation."""

    source: Source
    coerce: bool
    found: list[Diagnostic] = field(default_factory=list)
    aliases: dict[str, tuple[Node, Any]] = field(default_factory=dict)
    hidden: dict[str, Path] = field(default_factory=dict)
    outgrown: bool = False

    def report(self, code: str, message: str, span: Span, help_: str = "") -> None:
        """Records a problem."""
        self.found.append(Diagnostic(code, message, self.source, span, help_))

    def refuse(self, message: str, span: Span, help_: str = "") -> Value:
        """Reports what has no exact CEL."""
        self.report("TRI383", message, span, help_)
        return NO_VALUE

    def never(self, message: str, span: Span, help_: str = "") -> Truth:
        """Warns of a condition that raises for every message."""
        self.report("TRI384", f"{message}: in EMQX it raises, and the check fails", span, help_)
        return RAISES

    def shown(self, span: Span) -> str:
        """The text there, on one line, or how it begins."""
        text = " ".join(self.source.text[span.start : span.end].split())
        return text if len(text) <= 40 else text[:37] + "..."

    def measure(self, e: Expr, span: Span) -> None:
        """Reports a limit, once."""
        stack, count, deepest = [(e, 1)], 0, 0
        while stack and count <= MAX_NODES:
            node, depth = stack.pop()
            count, deepest = count + 1, max(deepest, depth)
            stack.extend((child, depth + 1) for child in children(node))
        if (count > MAX_NODES or deepest > MAX_DEPTH) and not self.outgrown:
            self.outgrown = True
            limit = f"{MAX_NODES:,} parts" if count > MAX_NODES else f"{MAX_DEPTH} levels"
            self.report("TRI102", f"the check as CEL has more than {limit}", span, "make several checks of it")

    # SELECT.

    def selected(self, node: Node, alias: Path | None) -> Truth:
        """That a field of SELECT does not raise. Its name is known from then on."""
        value = self.value(node)
        if alias is not None and alias.steps:
            self.hidden[alias.name] = alias
        elif alias is not None and alias.name in COLUMNS:
            self.refuse(
                f"'{alias.name}' is a column, and is given to another value", alias.span, "give it another name"
            )
        elif alias is not None:
            self.aliases[alias.name] = (node, value)
        elif isinstance(node, Path) and node.steps and node.name != "payload":
            self.hidden[node.name] = node
        elif isinstance(node, Path) and node.steps:
            self.hidden["payload"] = node
        return _sure(value)

    # Conditions.

    def condition(self, node: Node) -> Truth:
        """A condition of WHERE or WHEN."""
        truth = self._condition(node)
        self.measure(truth.yes, node.span)
        return RAISES if self.outgrown else truth

    def _condition(self, node: Node) -> Truth:
        match node:
            case Logic(operator=operator, operands=operands):
                truths = [self.condition(operand) for operand in operands]
                return every(truths) if operator == "AND" else some(truths)
            case Not(operand=operand):
                return self._not(operand, node.span)
            case In(negated=True):
                taken = self.shown(node.left.span)
                return self.never("NOT IN has no meaning", node.span, f"write {taken} != a AND {taken} != b")
            case In(left=left, items=items):
                return self._in(self.value(left), [self.value(item) for item in items], node)
            case Comparison() | Call():
                return as_truth(self.value(node))
            case Literal(value=bool(value)):
                return constant(value)
            case Path():
                help_ = f"write {self.shown(node.span)} = true"
                return self.never(f"'{self.shown(node.span)}' alone is no condition", node.span, help_)
            case _:
                return self.never(f"'{self.shown(node.span)}' is no condition", node.span, "compare it")

    def _not(self, operand: Node, span: Span) -> Truth:
        if isinstance(operand, Logic | Not | In):
            word = operand.operator if isinstance(operand, Logic) else "NOT" if isinstance(operand, Not) else "IN"
            return self.never(f"NOT of {word}", span, "move NOT to the comparisons: NOT a = 1 OR NOT b = 2")
        value = self.value(operand)

        def one(v: Value) -> Truth:
            if v.truth is not None:
                return negated(v.truth)
            truth = as_truth(v)
            others = [(*v.present, neg(conj(v.guards(Kind.BOOL))))] if len(v.kinds) > 1 else []
            if Kind.BOOL not in v.kinds:
                others = [v.present]
            return Truth(truth.no, disj((truth.yes, v.undefined, *(conj(terms) for terms in others))), truth.total)

        return chosen(value, one)

    def _in(self, left: Any, items: list[Any], node: In) -> Truth:
        for item, part in zip(items, node.items, strict=True):
            if isinstance(item, Value) and isinstance(item.literal, float) and item.literal.is_integer():
                self.refuse(
                    f"whether a number is written {self.shown(part.span)} is not seen", part.span, "write = for IN"
                )
        literals = [item for item in items if isinstance(item, Value) and item.literal is not None]
        if len({next(iter(item.kinds)) for item in literals}) > 1:
            self.report("TRI387", "IN compares with values of several types, and coerces none", node.span)
        if literals and len(literals) == len(items) and isinstance(left, Value) and left.literal is None:
            return one_of(left, literals)
        tests = [identical(left, item) for item in items]
        values = [*([left] if isinstance(left, Choice) or not left.literal else []), *items]
        sure = every([_sure(v) for v in values] + [constant(True)])
        yes, no = disj(test.yes for test in tests), conj(test.no for test in tests)
        return every([sure, Truth(yes, no, sure.total)])

    # Values.

    def value(self, node: Node) -> Any:
        """The value of an expression."""
        if self.outgrown:
            return NO_VALUE
        match node:
            case Literal(value=literal, span=span):
                return self._literal(literal, span)
            case Path():
                return self._path(node)
            case Comparison():
                return as_value(self._compared(node))
            case Arithmetic(operator=operator, left=left, right=right, span=span):
                return self.arithmetic(operator, self.value(left), self.value(right), span)
            case Negative(operand=Literal(value=number), span=span) if not isinstance(number, bool | str):
                return self._literal(-number, span)
            case Negative(operand=operand, span=span):
                zero = Literal(0, span)
                return self.arithmetic("-", self.value(zero), self.value(operand), span)
            case Call():
                return self._call(node)
            case Case():
                return self._case(node)
            case Items() | Range():
                return self.refuse("a list has no CEL here", node.span, "write IN (a, b), or a comparison for each")
            case _:
                self.never(f"'{self.shown(node.span)}' is no value", node.span)
                return NO_VALUE

    def _literal(self, value: bool | int | float | str, span: Span) -> Value:
        if not isinstance(value, bool | str) and abs(value) >= LARGEST:
            return self.refuse(f"the number {self.shown(span)} is beyond 10^18", span)
        return known(value, span)

    def _path(self, path: Path) -> Any:
        name, steps, span = path.name, path.steps, path.span
        if any(isinstance(step, Path) for step in steps):
            return self.refuse("a position that another value holds has no CEL", span, "write the position")
        plain = tuple(step for step in steps if not isinstance(step, Path))
        hidden = self.hidden.get(name)
        if hidden is not None and hidden != path and not (name == "payload" and steps):
            return self.refuse(
                f"'{self.shown(hidden.span)}' in SELECT hides the rest of '{name}'", span, "give it a name: AS x"
            )
        if name in self.aliases:
            return self._alias(name, plain, span)
        if name == "payload" and plain:
            return self._steps(payload(span), plain, span)
        if name == "timestamp":
            self.report(
                "TRI388", "'timestamp' is when the check is asked, not of the message", span, "use publish_received_at"
            )
            return NO_VALUE
        if name == "flags" and len(plain) == 1:
            return flag(str(plain[0]), span) or UNDEFINED
        if name == "client_attrs" and len(plain) == 1 and isinstance(plain[0], str):
            return entry(MAPS[name], plain[0], span)
        if name == "pub_props" and len(plain) == 2 and plain[0] == USER_PROPERTY and isinstance(plain[1], str):
            return entry(MAPS[name], plain[1], span)
        found = column(name, span)
        if found is not None and not plain:
            return found
        if name in COLUMNS:
            return self.refuse(
                f"'{self.shown(span)}' has no CEL", span, _COLUMN_HELP.get(name, "read the column itself")
            )
        likely = did_you_mean(closest(name, [*COLUMNS, *self.aliases]))
        self.report(
            "TRI385",
            f"there is no column '{name[:60]}', so it is undefined",
            span,
            likely or _TRUTH_HELP.get(name.lower(), ""),
        )
        return UNDEFINED

    def _alias(self, name: str, steps: tuple[str | int, ...], span: Span) -> Any:
        node, value = self.aliases[name]
        if not steps:
            return value
        if isinstance(node, Path) and node.name == "payload" and not node.steps:
            return self._steps(decoded_payload(span), steps, span)
        return mapped(
            value, lambda v: self._steps(v, steps, span) if v.kinds == JSON_KINDS else self._no_parts(name, span)
        )

    def _no_parts(self, name: str, span: Span) -> Value:
        return self.refuse(f"'{name}' is no part of the payload, and has no parts", span)

    def _steps(self, value: Value, steps: tuple[str | int, ...], span: Span) -> Value:
        for step in steps:
            value = stepped(value, step, span)
        return value

    # Operators.

    def _compared(self, node: Comparison) -> Truth:
        left, right = self.value(node.left), self.value(node.right)
        if node.operator == "=~":
            return self._topic(left, right, node)
        self._mixed(left, right, node.span)
        return compared(node.operator, left, right, coerce=self.coerce)

    def _mixed(self, left: Any, right: Any, span: Span) -> None:
        if isinstance(left, Choice) or isinstance(right, Choice) or left.kinds & right.kinds:
            return
        if {NO_VALUE, UNDEFINED} & {left, right}:
            return
        kinds = " and ".join(_WORDS[next(iter(v.kinds))] if len(v.kinds) == 1 else "a value" for v in (left, right))
        if self.coerce:
            self.report("TRI387", f"{kinds} are compared, and one is coerced", span)
        else:
            self.report(
                "TRI387",
                f"{kinds} are compared, so the check fails",
                span,
                "the dialect 'rule-sql-compat' coerces as EMQX does",
            )

    def _topic(self, left: Any, right: Any, node: Comparison) -> Truth:
        filter_ = right.literal if isinstance(right, Value) else None
        if not isinstance(filter_, str) or not is_filter(filter_):
            self.refuse("=~ needs a topic filter that is written", node.right.span, "write topic =~ 't/#'")
            return RAISES

        def one(v: Value) -> Truth:
            text = of_kind(v, Kind.TEXT)
            test = CelCall("matches", (string(pattern_of(filter_), node.span),), text.expr, span=node.span)
            no = disj((conj((*text.present, neg(test))), v.undefined))
            return Truth(conj((*text.present, test)), no, sure(v) and len(v.kinds) == 1) if text != NO_VALUE else RAISES

        return chosen(left, one)

    def arithmetic(self, operator: str, left: Any, right: Any, span: Span) -> Any:
        """`+ - * /`, of whole numbers `div` and `mod`; `+` joins texts, and with coercion a text and a whole number."""
        return mapped(left, lambda a: mapped(right, lambda b: self._operation(operator, a, b, span)))

    def _operation(self, operator: str, left: Value, right: Value, span: Span) -> Any:
        numbers = self._numbers(operator, of_kind(left, Kind.NUMBER), of_kind(right, Kind.NUMBER), span)
        if operator != "+":
            return numbers
        branches = [self._joined(of_kind(left, Kind.TEXT), of_kind(right, Kind.TEXT))]
        if self.coerce:
            branches.append(self._joined(of_kind(left, Kind.TEXT), _digits(of_kind(right, Kind.NUMBER))))
            branches.append(self._joined(_digits(of_kind(left, Kind.NUMBER)), of_kind(right, Kind.TEXT)))
        made = [v for v in (numbers, *branches) if v != NO_VALUE]
        if not made:
            return NO_VALUE
        return made[0] if len(made) == 1 else Choice(tuple((conj(v.present), v) for v in made))

    def _joined(self, left: Value, right: Value) -> Value:
        if NO_VALUE in (left, right):
            return NO_VALUE
        if isinstance(left.literal, str) and isinstance(right.literal, str):
            return known(left.literal + right.literal)
        return Value(left.kinds, CelCall(ADD, (left.expr, right.expr)), (*left.present, *right.present))

    def _numbers(self, operator: str, left: Value, right: Value, span: Span) -> Value:
        if NO_VALUE in (left, right):
            return NO_VALUE
        present = (*left.present, *right.present)
        if operator in ("div", "mod"):
            left, right = whole(left), whole(right)
            present = (*left.present, *right.present, CelCall(NOT_EQUALS, (right.expr, Lit(LitKind.INT, 0))))
            expr = CelCall(DIVIDE if operator == "div" else "_%_", (left.expr, right.expr), span=span)
            return Value(left.kinds, expr, present, integer=True)
        a, b = as_double(left), as_double(right)
        if operator == "/":
            present = (*present, CelCall(NOT_EQUALS, (b, Lit(LitKind.DOUBLE, 0.0))))
        expr = CelCall(_CEL[operator], (a, b), span=span)
        return Value(left.kinds, expr, (*present, CelCall("math.isFinite", (expr,))))

    def _case(self, node: Case) -> Any:
        branches: list[tuple[Expr, Value]] = []
        before: tuple[Expr, ...] = ()
        subject = None if node.subject is None else self.value(node.subject)
        total = True
        for when, then in node.whens:
            truth = self._when(subject, when)
            value = self.value(then)
            branches.extend(_under((*before, truth.yes), value))
            before = (*before, truth.no)
            total = total and truth.total and _sure(value).total
        last = UNDEFINED if node.otherwise is None else self.value(node.otherwise)
        branches.extend(_under(before, last))
        return Choice(tuple(branches), total and _sure(last).total)

    def _when(self, subject: Any | None, when: Node) -> Truth:
        if subject is None:
            return self.condition(when)
        return every([_sure(subject), identical(subject, self.value(when))])

    def _call(self, node: Call) -> Any:
        name = node.name.removeprefix("emqx_rule_funcs.")
        if name in REFUSED:
            code, reason = REFUSED[name]
            self.report(code, f"'{name}' {reason}", node.at)
            return NO_VALUE
        row = FUNCTIONS.get(name)
        if row is None:
            help_ = did_you_mean(closest(name, FUNCTIONS)) or f"there are {', '.join(FUNCTIONS)}"
            self.report("TRI382", f"there is no function '{name[:60]}' that has a CEL", node.at, help_)
            return NO_VALUE
        if not row.least <= len(node.args) <= row.most:
            wanted = f"{row.least}" if row.least == row.most else f"{row.least} to {row.most}"
            self.report("TRI382", f"'{name}' takes {wanted} argument(s), here are {len(node.args)}", node.span)
            return NO_VALUE
        return row.build(self, node.span, *(self.value(arg) for arg in node.args))


_COLUMN_HELP = {"flags": "there are flags.retain and flags.dup", "pub_props": "there is pub_props.'User-Property'.key"}
_TRUTH_HELP = {"true": "the literal is written true", "false": "the literal is written false"}
_WORDS = {Kind.NUMBER: "a number", Kind.TEXT: "a text", Kind.BOOL: "a truth value"}


def _defined(value: Value) -> Truth:
    """That a value does not raise."""
    if not value.present:
        return constant(True)
    if value == UNDEFINED or value.defined == TRUE:
        return constant(True)
    return Truth(value.defined or disj((conj(value.present), value.undefined)), FALSE)


def _sure(value: Any) -> Truth:
    """That a value does not raise, in whichever branch."""
    return constant(True) if isinstance(value, Choice) and value.total else chosen(value, _defined)


def _under(guards: tuple[Expr, ...], value: Any) -> list[tuple[Expr, Value]]:
    branches = value.branches if isinstance(value, Choice) else ((TRUE, value),)
    return [(conj((*guards, guard)), branch) for guard, branch in branches]


def as_double(number: Value) -> Expr:
    """A number as a double."""
    if isinstance(number.literal, int):
        return Lit(LitKind.DOUBLE, float(number.literal), span=number.expr.span)
    return CelCall("double", (number.expr,)) if number.integer else number.expr


def whole(number: Value) -> Value:
    """A number as a whole one; it raises for a fraction, and beyond 2^53."""
    if number == NO_VALUE or number.integer:
        return number
    if isinstance(number.literal, float) and math.isfinite(number.literal):
        return NO_VALUE
    truncated = CelCall("math.trunc", (number.expr,))
    small = CelCall("_<_", (CelCall("math.abs", (number.expr,)), Lit(LitKind.DOUBLE, float(EXACT))))
    is_whole = CelCall(EQUALS, (truncated, number.expr))
    return Value(number.kinds, CelCall("int", (number.expr,)), (*number.present, small, is_whole), integer=True)


def _digits(number: Value) -> Value:
    """The text of a whole number."""
    made = whole(number)
    if made == NO_VALUE:
        return NO_VALUE
    if isinstance(made.literal, int):
        return known(str(made.literal))
    return Value(frozenset({Kind.TEXT}), CelCall("string", (made.expr,)), made.present)
