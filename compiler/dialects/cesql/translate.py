"""CloudEvents SQL to CEL. Each subexpression becomes a value and the conditions under which it does not err."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ...diagnostics import Diagnostic
from ...limits import MAX_DEPTH, MAX_NODES
from ...nodes import (
    ADD,
    DIVIDE,
    EQUALS,
    GREATER,
    GREATER_EQUALS,
    IN,
    LESS,
    LESS_EQUALS,
    MODULO,
    MULTIPLY,
    NEGATE,
    NOT,
    NOT_EQUALS,
    SUBTRACT,
    Expr,
    ListExpr,
    Lit,
    LitKind,
    children,
    string,
)
from ...nodes import Call as CelCall
from ...source import Source, Span
from ...suggest import closest, did_you_mean
from ...values.rfc3339 import microseconds
from ..predicates import TIME, attribute, has_attribute, is_required
from .arithmetic import bounded, result_range
from .functions import FUNCTIONS
from .like import like_test
from .logic import (
    INT_MAX,
    INT_MIN,
    TRUTHS,
    Leaf,
    OutgrownError,
    Terms,
    Truth,
    constant,
    defined,
    every,
    known_value,
    negated,
    no,
    passing,
    some,
    yes,
)
from .profiles import Profile
from .tree import Attribute, Binary, Call, Exists, Group, In, Like, Literal, Logic, Node, Unary, ungrouped
from .values import (
    TRUTH,
    Instant,
    Int,
    Text,
    Value,
    integer,
    literal,
    never,
    relation,
    to_int,
    to_text,
    to_truth,
)

_NAME = re.compile(r"[a-z0-9]+", re.ASCII)
_LONGEST_NAME = 20
_COMPARED = {
    "<": (LESS, GREATER_EQUALS),
    "<=": (LESS_EQUALS, GREATER),
    ">": (GREATER, LESS_EQUALS),
    ">=": (GREATER_EQUALS, LESS),
}
"""Comparisons, and their opposites."""
_MIRRORED = {LESS: GREATER, LESS_EQUALS: GREATER_EQUALS, GREATER: LESS, GREATER_EQUALS: LESS_EQUALS}
_ARITHMETIC = {"+": ADD, "-": SUBTRACT, "*": MULTIPLY, "/": DIVIDE, "%": MODULO}


def translate(node: Node, source: Source, profile: Profile) -> tuple[Expr | None, tuple[Diagnostic, ...]]:
    """The CEL that is true where the expression is true and does not err; None where it is refused."""
    run = _Run(source, profile)
    try:
        value = run.value(node)
        if not isinstance(value, TRUTH):
            run.not_a_condition(ungrouped(node), value)
        expr = passing(value) if isinstance(value, TRUTH) else None
        if expr is not None:
            run.measure(expr, node.span)
    except OutgrownError:
        run.outgrown(node.span, f"{MAX_DEPTH} levels")
        return None, tuple(run.found)
    run.found.sort(key=lambda d: (d.span.start, d.span.end))
    return (None if any(d.severity == "error" for d in run.found) else expr), tuple(run.found)


@dataclass
class _Run:
    """One translation. `sizes` holds how large and how deep each CEL expression is, and keeps it alive."""

    source: Source
    profile: Profile
    found: list[Diagnostic] = field(default_factory=list)
    sizes: dict[int, tuple[Expr, int, int]] = field(default_factory=dict)
    names: int = 0

    def report(self, code: str, message: str, span: Span, help_: str = "") -> None:
        self.found.append(Diagnostic(code, message, self.source, span, help_))

    def fresh(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def only_ascii(self, span: Span) -> None:
        message = "only the letters A to Z change: CEL knows no case of other letters"
        self.report("TRI366", message, span, "'tricel rule TRI366' says more")

    def outgrown(self, span: Span, limit: str) -> None:
        """Reports a limit, once."""
        if not any(d.code == "TRI102" for d in self.found):
            help_ = "make several filters of it, under 'all' or 'any'"
            self.report("TRI102", f"the filter as CEL has more than {limit}", span, help_)

    def measure(self, e: Expr, span: Span) -> tuple[int, int]:
        """The parts and levels of an expression, shared parts counted as often as they are written.

        Raises:
            OutgrownError: where they are more than a filter may have.
        """
        known = self.sizes.get(id(e))
        if known is None:
            below = [self.measure(child, span) for child in children(e)]
            size, depth = 1 + sum(n for n, _ in below), 1 + max((d for _, d in below), default=0)
            known = self.sizes[id(e)] = (e, size, depth)
            if size > MAX_NODES or depth > MAX_DEPTH:
                self.outgrown(span, f"{MAX_NODES:,} parts" if size > MAX_NODES else f"{MAX_DEPTH} levels")
                raise OutgrownError
        return known[1:]

    def value(self, node: Node) -> Value:
        """A subexpression, whose parts are measured."""
        made = self._value(node)
        parts: Terms
        match made:
            case Leaf(ok=ok):
                parts = (*ok, made.yes, made.no)
            case Int() | Text() | Instant():
                parts = (*made.ok, made.expr)
            case _:
                parts = ()
        for part in parts:
            self.measure(part, node.span)
        return made

    def _value(self, node: Node) -> Value:
        match node:
            case Group(inner=inner):
                return self.value(inner)
            case Literal(value=bool(known)):
                return constant(known)
            case Literal(value=int(number), span=span):
                return integer(number, span)
            case Literal(value=text, span=span):
                return Text((), string(str(text), span))
            case Attribute(name=name, span=span):
                return self._attribute(name, span)
            case Exists(name=name, at=at):
                return self._exists(name, at)
            case Unary(operator="NOT", operand=operand):
                return negated(self.truth(operand))
            case Unary():
                return self._minus(node)
            case Logic(operator=operator, operands=operands):
                return self._logic(node, operator, operands)
            case Binary(operator=operator, left=left, right=right):
                self._not_before(left, node.span, operator)
                if operator in _ARITHMETIC:
                    return self._arithmetic(operator, self.number(left), self.number(right), node.span)
                if operator in _COMPARED:
                    return self._compared(operator, self.number(left), self.number(right), node.span)
                return self._equal(node, operator == "=")
            case Like():
                return self._like(node)
            case In():
                return self._in(node)
            case Call():
                return self._call(node)

    # Casts that name what is wrong.

    def truth(self, node: Node) -> Truth:
        return self._cast(self.value(node), "truth", node.span)  # type: ignore[return-value]

    def number(self, node: Node) -> Int:
        return self._cast(self.value(node), "int", node.span)  # type: ignore[return-value]

    def text(self, node: Node) -> Text:
        return self._cast(self.value(node), "text", node.span)  # type: ignore[return-value]

    def _cast(self, value: Value, kind: str, span: Span) -> Value:
        if isinstance(value, Instant):
            message = "'time' is an instant here, and has no one text"
            help_ = "compare it by =, != or IN with times in quotes; CEL has more: ce.time > timestamp('...')"
            self.report("TRI338", message, span, help_)
            return never(kind, span)
        casts: dict[str, Callable[..., Value | None]] = {"truth": to_truth, "int": to_int, "text": to_text}
        made = casts[kind](value, span)
        if made is None:
            shown = self.source.text[span.start : span.end]
            shown = shown if len(shown) <= 40 else shown[:37] + "..."
            self.errs(f"{shown} is never {'an Integer' if kind == 'int' else 'a Boolean'}", span)
            return never(kind, span)
        return made

    def errs(self, message: str, span: Span, help_: str = "") -> None:
        """Says that a subexpression errs on every event."""
        self.report("TRI365", message, span, help_ or "an error ends the evaluation, and the event does not pass")

    # Attributes.

    def _attribute(self, name: str, span: Span) -> Value:
        folded = self._name(name, span)
        guard = () if is_required(folded) else (has_attribute(folded, span),)
        kind = Instant if folded == TIME else Text
        return kind(guard, attribute(folded, span))

    def _exists(self, name: str, at: Span) -> Truth:
        folded = self._name(name, at)
        if is_required(folded):
            return constant(True)
        test = has_attribute(folded, at)
        return Leaf((), test, CelCall(NOT, (test,), span=at))

    def _name(self, name: str, span: Span) -> str:
        """The attribute that is named, in lower case; reports a name that no attribute has."""
        folded = name.lower()
        if folded == "data":
            help_ = "a CEL expression sees it: filter.expression: data.field == ..."
            self.report("TRI335", "'data' is the payload, which CloudEvents SQL does not see", span, help_)
        elif not _NAME.fullmatch(folded):
            plain = re.sub(r"[^a-z0-9]", "", folded)
            message = f"'{name[:40]}' is no name of an attribute, which has letters and digits alone"
            self.report("TRI333", message, span, did_you_mean(plain[:40]))
        elif len(folded) > _LONGEST_NAME:
            message = (
                f"attribute name '{folded}' has more than {_LONGEST_NAME} characters, which CloudEvents advises against"
            )
            self.report("TRI334", message, span, "producers and brokers may refuse or cut such a name")
        return folded

    # Operators.

    def _logic(self, node: Logic, operator: str, operands: tuple[Node, ...]) -> Truth:
        last = operands[-1]
        if isinstance(last, Logic):
            text = self.source.text[last.span.start : last.span.end]
            inner = text if len(text) <= 60 else f"{text[:57]}..."
            message = f"{operator} and {last.operator} have one precedence: this is ... {operator} ({inner})"
            self.report("TRI363", message, node.span, "write the parentheses that you mean")
        truths = [self.truth(operand) for operand in operands]
        match operator:
            case "AND":
                return every(truths)
            case "OR":
                return some(truths)
            case _:
                joined = truths[0]
                for truth in truths[1:]:
                    joined = self._same(joined, truth, node.span, False)
                return joined

    def _same(self, left: Truth, right: Truth, span: Span, equal: bool) -> Truth:
        """That two truth values are equal, or that they are not."""
        for one, other in ((right, left), (left, right)):
            known = known_value(one)
            if known is not None:
                return other if known is equal else negated(other)
        values = (yes(left), yes(right))
        same, different = CelCall(EQUALS, values, span=span), CelCall(NOT_EQUALS, values, span=span)
        leaf = Leaf((*defined(left), *defined(right)), same, different)
        for part in (*leaf.ok, same):
            self.measure(part, span)
        return leaf if equal else negated(leaf)

    def _minus(self, node: Unary) -> Int:
        number = self.number(node.operand)
        known = literal(number)
        if isinstance(known, int) and known > INT_MIN:
            return integer(-known, node.span)
        negative = CelCall(NEGATE, (number.expr,), span=node.span)
        return bounded(Int(number.ok, negative, -number.high, -number.low), self.profile, node.span)

    def _arithmetic(self, operator: str, left: Int, right: Int, span: Span) -> Int:
        ok = (*left.ok, *right.ok)
        if operator in "/%" and right.low <= 0 <= right.high:
            if literal(right) == 0:
                self.errs("division by zero", span)
                return never("int", span)  # type: ignore[return-value]
            ok = (*ok, relation(NOT_EQUALS, right.expr, Lit(LitKind.INT, 0, span=span), span))
        low, high = result_range(operator, left, right)
        known = low if low == high and literal(left) is not None and literal(right) is not None else None
        if known is not None and INT_MIN <= known <= INT_MAX:
            return integer(known, span)
        return bounded(
            Int(ok, CelCall(_ARITHMETIC[operator], (left.expr, right.expr), span=span), low, high), self.profile, span
        )

    def _compared(self, operator: str, left: Int, right: Int, span: Span) -> Truth:
        function, opposite = _COMPARED[operator]
        if literal(left) is not None and literal(right) is None:
            left, right = right, left
            function, opposite = _MIRRORED[function], _MIRRORED[opposite]
        pair = (left.expr, right.expr)
        return Leaf((*left.ok, *right.ok), relation(function, *pair, span), relation(opposite, *pair, span))

    def _equal(self, node: Binary, equal: bool) -> Truth:
        left, right, span = self.value(node.left), self.value(node.right), node.span
        if isinstance(left, Instant) or isinstance(right, Instant):
            subject, other = (left, node.right) if isinstance(left, Instant) else (right, node.left)
            same = self._at_times(subject, (other,), span)
        elif isinstance(right, TRUTH):
            return self._same(self._cast(left, "truth", node.left.span), right, span, equal)  # type: ignore[arg-type]
        else:
            kind = "int" if isinstance(right, Int) else "text"
            same = self._equality(self._cast(left, kind, node.left.span), right, span)  # type: ignore[arg-type]
        return same if equal else negated(same)

    def _equality(self, left: Int | Text, right: Int | Text, span: Span) -> Truth:
        """That two numbers, or two texts, are equal."""
        one, other = literal(left), literal(right)
        for text, value in ((left, other), (right, one)):
            if isinstance(text, Text) and isinstance(text.cast_from, TRUTH) and isinstance(value, str):
                return self._spelled(text.cast_from, value)
        pair = (right.expr, left.expr) if one is not None else (left.expr, right.expr)
        return Leaf((*left.ok, *right.ok), relation(EQUALS, *pair, span), relation(NOT_EQUALS, *pair, span))

    def _spelled(self, truth: Truth, text: str) -> Truth:
        """That the text of a truth value is `text`."""
        if text in TRUTHS:
            return truth if text == TRUTHS[0] else negated(truth)
        never_so = constant(False)
        return Leaf(defined(truth), never_so.yes, never_so.no)

    def _at_times(self, subject: Value, others: tuple[Node, ...], span: Span) -> Truth:
        """That `time` is one of the instants, each written as a text."""
        wanted: list[Expr] = []
        for other in others:
            node = ungrouped(other)
            if not isinstance(node, Literal) or not isinstance(node.value, str):
                message = "'time' is an instant, and is compared with times in quotes alone"
                self.report("TRI338", message, other.span, "write a time such as '2024-05-01T12:30:00Z'")
            elif microseconds(node.value) is None:
                help_ = "write a time such as '2024-05-01T12:30:00Z', with a zone"
                self.report("TRI337", f"'{node.value[:60]}' is not an RFC 3339 time", node.span, help_)
            else:
                text = string(node.value, node.span)
                wanted.append(CelCall("timestamp", (text,), span=node.span))
        if len(wanted) < len(others) or not isinstance(subject, Instant):
            return never("truth", span)  # type: ignore[return-value]
        return _one_of(subject, wanted, span)

    def _like(self, node: Like) -> Truth:
        self._not_before(node.left, node.span, "LIKE")
        text = self.text(node.left)
        match, no_match = like_test(text.expr, str(node.pattern.value), node.span, node.pattern.span)
        leaf = Leaf(text.ok, match, no_match)
        return negated(leaf) if node.negated else leaf

    def _in(self, node: In) -> Truth:
        self._not_before(node.left, node.span, "IN")
        left = self.value(node.left)
        if isinstance(left, Instant):
            found = self._at_times(left, node.items, node.span)
        else:
            kind = "truth" if isinstance(left, TRUTH) else "int" if isinstance(left, Int) else "text"
            items = [self._cast(self.value(item), kind, item.span) for item in node.items]
            found = self._among(left, items, node.span)
        return negated(found) if node.negated else found

    def _among(self, left: Value, items: list[Value], span: Span) -> Truth:
        """That a value is one of others of its own type."""
        if isinstance(left, TRUTH):
            tests = [self._same(left, item, span, True) for item in items]  # type: ignore[arg-type]
        elif isinstance(left, Instant) or (all(literal(item) is not None for item in items) and literal(left) is None):
            wanted = list(dict.fromkeys(item.expr for item in items))  # type: ignore[union-attr]
            return _one_of(left, wanted, span)
        else:
            tests = [self._equality(left, item, span) for item in items]  # type: ignore[arg-type]
        if self.profile.stops_in_sets:
            return some(tests)
        ok = tuple(term for test in tests for term in defined(test))
        if not ok:
            return some(tests)
        if isinstance(left, TRUTH) or literal(left) is not None:
            joined = some(Leaf((), yes(test), no(test)) for test in tests)
            return Leaf(ok, yes(joined), no(joined))
        found = _one_of(left, [item.expr for item in items], span)  # type: ignore[union-attr]
        return Leaf(ok, found.yes, found.no)

    def _call(self, node: Call) -> Value:
        row = FUNCTIONS.get(node.name)
        if row is None:
            help_ = did_you_mean(closest(node.name, FUNCTIONS)) or f"there are {', '.join(FUNCTIONS)}"
            self.report("TRI361", f"there is no function '{node.name[:60]}'", node.at, help_)
            return Leaf((), *_nothing())
        least, most = row.arity
        if not least <= len(node.args) <= (most if most is not None else len(node.args)):
            wanted = f"{least}" if most == least else f"{least} or {most}" if most else f"{least} or more"
            message = f"'{row.name}' takes {wanted} argument{'' if wanted == '1' else 's'}, here are {len(node.args)}"
            self.report("TRI361", message, node.span if node.args else node.at)
            return never(row.result, node.span)
        args: list[Value] = []
        for i, arg in enumerate(node.args):
            kind = row.parameters[i] if i < len(row.parameters) else row.more
            value = self.value(arg)
            if kind == "any" and not isinstance(value, Instant):
                args.append(value)
            else:
                args.append(self._cast(value, "text" if kind == "any" else kind, arg.span))
        return row.build(self, node.span, *args)

    # What is said of the whole.

    def _not_before(self, left: Node, span: Span, operator: str) -> None:
        """Warns where NOT takes only the left operand."""
        if isinstance(left, Unary) and left.operator == "NOT":
            inner = left.operand.span
            taken = self.source.text[inner.start : inner.end]
            after = self.source.text[left.span.end : span.end]
            whole = f"NOT ({taken}{after})"
            message = f"NOT binds tighter than {operator}: this is (NOT {taken[:40]}) {operator} ..."
            self.report("TRI364", message, left.span, f"write {whole}" if len(whole) <= 80 else "write NOT (...)")

    def not_a_condition(self, node: Node, value: Value) -> None:
        """Reports a filter whose value is a number or a text."""
        kind = "an Integer" if isinstance(value, Int) else "a String"
        shown = self.source.text[node.span.start : node.span.end]
        help_ = "compare it, as in type = 'order.created'"
        if isinstance(node, Attribute):
            help_ = f"write EXISTS {shown}, BOOL({shown}), or compare it: {shown} = 'x'"
        elif len(shown) <= 40:
            help_ = f"compare it, as in {shown} = {1 if isinstance(value, Int) else repr('x')}"
        self.report("TRI362", f"a filter is true or false, and this is {kind}", node.span, help_)


def _nothing() -> tuple[Expr, Expr]:
    known = constant(False)
    return known.yes, known.no


def _one_of(subject: Int | Text | Instant, wanted: list[Expr], span: Span) -> Leaf:
    if len(wanted) == 1:
        pair = (subject.expr, wanted[0])
        return Leaf(subject.ok, CelCall(EQUALS, pair, span=span), CelCall(NOT_EQUALS, pair, span=span))
    test = CelCall(IN, (subject.expr, ListExpr(tuple(wanted), span=span)), span=span)
    return Leaf(subject.ok, test, CelCall(NOT, (test,), span=span))
