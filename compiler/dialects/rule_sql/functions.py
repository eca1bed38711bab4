"""The functions of rule SQL that have an exact CEL, and those that have none, each with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from ...nodes import CONDITIONAL, EQUALS, GREATER_EQUALS, IN, INDEX, SUBTRACT, Call, Expr, Lit, LitKind, string
from ...patterns.re2_patterns import refusal
from ...source import Span
from .columns import column, flag, stepped
from .patterns import unsafe, written_for_re2
from .values import (
    FALSE,
    NO_VALUE,
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
    disj,
    known,
    mapped,
    neg,
    negated,
    of_kind,
    sure,
)


class Site(Protocol):
    """Where a function is called."""

    def report(self, code: str, message: str, span: Span, help_: str = "") -> None:
        """Records a problem."""

    def refuse(self, message: str, span: Span, help_: str = "") -> Value:
        """Reports what has no exact CEL."""

    def arithmetic(self, operator: str, left: Any, right: Any, span: Span) -> Any:
        """An operation of two numbers."""


Build: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Function:
    """A function: how many arguments it takes, and its value."""

    least: int
    most: int
    build: Build


def _int(value: int) -> Expr:
    return Lit(LitKind.INT, value)


def _kind_test(*kinds: Kind, undefined: bool = False, whole: bool | None = None) -> Build:
    """Whether a value is of one of the kinds; of numbers, whether it is whole."""

    def build(site: Site, span: Span, value: Any) -> Any:
        def one(v: Value) -> Truth:
            yes: list[Expr] = []
            for kind in kinds:
                if kind not in v.kinds:
                    continue
                terms = (*v.present, *v.guards(kind))
                if whole is not None:
                    is_whole = Call(EQUALS, (Call("math.trunc", (v.expr,)), v.expr))
                    fixed = TRUE if v.integer else FALSE if v.literal is not None else is_whole
                    terms = (*terms, fixed if whole else neg(fixed))
                yes.append(conj(terms))
            found = disj(yes)
            # What raises is neither; within a value it is `not found`.
            inside = conj((*v.present, neg(conj((found,)))))
            gone = v.undefined
            total = sure(v)
            return Truth(
                disj((found, gone if undefined else FALSE)), disj((inside, FALSE if undefined else gone)), total
            )

        return as_value(chosen(value, one))

    return build


def _opposite(build: Build) -> Build:
    def opposite(site: Site, span: Span, value: Any) -> Any:
        def one(v: Value) -> Truth:
            return negated(as_truth(build(site, span, v)))

        return as_value(chosen(value, one))

    return opposite


_IS_NULL = _kind_test(undefined=True)
_IS_NULL_VAR = _kind_test(Kind.NULL, undefined=True)


def _on_text(make: Callable[[Expr], Expr], kind: Kind, *, beyond_ascii: str = "", integer: bool = False) -> Build:
    """A function of a text."""

    def build(site: Site, span: Span, value: Any) -> Any:
        def one(v: Value) -> Value:
            text = of_kind(v, Kind.TEXT)
            if text == NO_VALUE:
                return NO_VALUE
            return Value(frozenset({kind}), make(text.expr), text.present, integer=integer)

        if beyond_ascii:
            site.report("TRI386", beyond_ascii, span, "'tricel rule TRI386' says more")
        return mapped(value, one)

    return build


_LOWER = _on_text(lambda s: Call("lowerAscii", (), s), Kind.TEXT, beyond_ascii="only the letters A to Z change")
_UPPER = _on_text(lambda s: Call("upperAscii", (), s), Kind.TEXT, beyond_ascii="only the letters a to z change")
_STRLEN = _on_text(
    lambda s: Call("size", (s,)),
    Kind.NUMBER,
    beyond_ascii="code points are counted, EMQX counts characters",
    integer=True,
)


def _substr(site: Site, span: Span, value: Any, start: Any, length: Any | None = None) -> Any:
    first = start.literal if isinstance(start, Value) else None
    count = length.literal if isinstance(length, Value) else None
    if not isinstance(first, int) or first < 0 or (length is not None and (not isinstance(count, int) or count < 0)):
        return site.refuse("'substr' needs positions that are written, from 0", span)
    site.report("TRI386", "code points are counted, EMQX counts characters", span, "'tricel rule TRI386' says more")

    def one(v: Value) -> Value:
        text = of_kind(v, Kind.TEXT)
        if text == NO_VALUE:
            return NO_VALUE
        size = Call("size", (text.expr,))

        def at_least(n: int) -> Expr:
            return Call(GREATER_EQUALS, (size, _int(n)))

        whole: Expr = Call("substring", (_int(first),), text.expr)
        if isinstance(count, int):
            cut = Call("substring", (_int(first), _int(first + count)), text.expr)
            whole = Call(CONDITIONAL, (at_least(first + count), cut, whole))
        return Value(text.kinds, Call(CONDITIONAL, (at_least(first), whole, string(""))), text.present)

    return mapped(value, one)


def _concat(site: Site, span: Span, *values: Any) -> Any:
    for v in values:
        if isinstance(v, Value) and Kind.TEXT not in v.kinds and v != NO_VALUE:
            return site.refuse("'concat' of what is no text has no CEL", span)
    joined = mapped(values[0], lambda v: of_kind(v, Kind.TEXT))
    for other in values[1:]:
        joined = site.arithmetic("+", joined, mapped(other, lambda v: of_kind(v, Kind.TEXT)), span)
    return joined


def _regex_match(site: Site, span: Span, value: Any, pattern: Any) -> Any:
    text = pattern.literal if isinstance(pattern, Value) else None
    if not isinstance(text, str):
        return site.refuse("the pattern of 'regex_match' must be written", span)
    reason = unsafe(text)
    if reason:
        return site.refuse(reason, span, "write a plainer pattern")
    re2 = written_for_re2(text)
    wrong = refusal(re2)
    if wrong is not None:
        return site.refuse("CEL has no such pattern: RE2 has no lookaround and no references", span)
    if "." in text or "[^" in text:
        site.report(
            "TRI386", "the pattern is of characters, where EMQX's is of bytes", span, "'tricel rule TRI386' says more"
        )

    def one(v: Value) -> Value:
        subject = of_kind(v, Kind.TEXT)
        if subject == NO_VALUE:
            return NO_VALUE
        return Value(
            frozenset({Kind.BOOL}), Call("matches", (string(re2, span),), subject.expr, span=span), subject.present
        )

    return mapped(value, one)


def _contains(site: Site, span: Span, element: Any, list_: Any) -> Any:
    if not isinstance(element, Value) or element.literal is None:
        return site.refuse("'contains' looks for a value that is written", span)
    if isinstance(element.literal, float) and element.literal.is_integer():
        return site.refuse("whether a number is written with a point is not seen", span)

    def one(v: Value) -> Value:
        found = of_kind(v, Kind.LIST)
        if found == NO_VALUE:
            return NO_VALUE
        return Value(frozenset({Kind.BOOL}), Call(IN, (element.expr, found.expr)), found.present)

    return mapped(list_, one)


def _length(site: Site, span: Span, list_: Any) -> Any:
    def one(v: Value) -> Value:
        found = of_kind(v, Kind.LIST)
        return found if found == NO_VALUE else Value(_NUMBER, Call("size", (found.expr,)), found.present, integer=True)

    return mapped(list_, one)


def _element(position: int | None) -> Build:
    """`nth(n, list)`, `first(list)` and `last(list)`: they raise where there is none."""

    def build(site: Site, span: Span, *args: Any) -> Any:
        at = position if position is not None else args[0].literal if isinstance(args[0], Value) else None
        if not isinstance(at, int) or isinstance(at, bool):
            return site.refuse("'nth' needs a position that is written", span)
        if at == 0 or (position is None and at < 0):
            return NO_VALUE

        def one(v: Value) -> Value:
            found = of_kind(v, Kind.LIST)
            if found == NO_VALUE:
                return NO_VALUE
            size = Call("size", (found.expr,))
            index = _int(at - 1) if at > 0 else Call(SUBTRACT, (size, _int(1)))
            enough = Call(GREATER_EQUALS, (size, _int(abs(at))))
            return Value(frozenset(Kind), Call(INDEX, (found.expr, index)), (*found.present, enough))

        return mapped(args[-1], one)

    return build


def _map_get(site: Site, span: Span, key: Any, map_: Any, default: Any = UNDEFINED) -> Any:
    name = key.literal if isinstance(key, Value) else None
    if not isinstance(name, str):
        return site.refuse("'map_get' needs a key that is written", span)

    def one(v: Value) -> Any:
        found = of_kind(v, Kind.MAP)
        if found == NO_VALUE:
            return NO_VALUE
        inner = stepped(found, name, span)
        if default == UNDEFINED:
            return inner
        rest = default.branches if isinstance(default, Choice) else ((TRUE, default),)
        return Choice(((conj(inner.present), inner), *((conj((inner.undefined, g)), d) for g, d in rest)))

    return mapped(map_, one)


def _rounded(function: str) -> Build:
    def build(site: Site, span: Span, value: Any) -> Any:
        def one(v: Value) -> Value:
            number = of_kind(v, Kind.NUMBER)
            if number == NO_VALUE or number.integer:
                return number
            return Value(_NUMBER, Call(f"math.{function}", (number.expr,)), number.present)

        return mapped(value, one)

    return build


def _abs(site: Site, span: Span, value: Any) -> Any:
    def one(v: Value) -> Value:
        number = of_kind(v, Kind.NUMBER)
        if number == NO_VALUE:
            return NO_VALUE
        if number.literal is not None:
            return known(abs(number.literal)) if isinstance(number.literal, int) else NO_VALUE
        is_whole = () if number.integer else (Call(EQUALS, (Call("math.trunc", (number.expr,)), number.expr)),)
        return Value(_NUMBER, Call("math.abs", (number.expr,)), (*number.present, *is_whole), integer=number.integer)

    return mapped(value, one)


def _mod(site: Site, span: Span, left: Any, right: Any) -> Any:
    return site.arithmetic("mod", left, right, span)


def _topic(site: Site, span: Span, level: Any | None = None) -> Any:
    topic = column("topic", span) or UNDEFINED
    if level is None:
        return topic
    at = level.literal if isinstance(level, Value) else None
    if not isinstance(at, int) or isinstance(at, bool):
        return site.refuse("'topic' needs the number of a level that is written", span)
    if at < 1:
        return NO_VALUE
    levels = Call("split", (string("/"),), topic.expr)
    enough = Call(GREATER_EQUALS, (Call("size", (levels,)), _int(at)))
    return Value(topic.kinds, Call(INDEX, (levels, _int(at - 1)), span=span), (enough,))


def _column(name: str) -> Build:
    return lambda site, span: column(name, span) or UNDEFINED


def _flag(site: Site, span: Span, name: Any) -> Any:
    text = name.literal if isinstance(name, Value) else None
    if not isinstance(text, str):
        return site.refuse("'flag' needs a name that is written", span)
    return flag(text, span) or UNDEFINED


_NUMBER = frozenset({Kind.NUMBER})

FUNCTIONS: dict[str, Function] = {
    "is_null": Function(1, 1, _IS_NULL),
    "is_not_null": Function(1, 1, _opposite(_IS_NULL)),
    "is_null_var": Function(1, 1, _IS_NULL_VAR),
    "is_not_null_var": Function(1, 1, _opposite(_IS_NULL_VAR)),
    "is_str": Function(1, 1, _kind_test(Kind.TEXT)),
    "is_bool": Function(1, 1, _kind_test(Kind.BOOL)),
    "is_num": Function(1, 1, _kind_test(Kind.NUMBER)),
    "is_int": Function(1, 1, _kind_test(Kind.NUMBER, whole=True)),
    "is_float": Function(1, 1, _kind_test(Kind.NUMBER, whole=False)),
    "is_map": Function(1, 1, _kind_test(Kind.MAP)),
    "is_array": Function(1, 1, _kind_test(Kind.LIST)),
    "lower": Function(1, 1, _LOWER),
    "upper": Function(1, 1, _UPPER),
    "strlen": Function(1, 1, _STRLEN),
    "substr": Function(2, 3, _substr),
    "concat": Function(2, 2, _concat),
    "regex_match": Function(2, 2, _regex_match),
    "contains": Function(2, 2, _contains),
    "length": Function(1, 1, _length),
    "nth": Function(2, 2, _element(None)),
    "first": Function(1, 1, _element(1)),
    "last": Function(1, 1, _element(-1)),
    "map_get": Function(2, 3, _map_get),
    "mget": Function(2, 3, _map_get),
    "abs": Function(1, 1, _abs),
    "floor": Function(1, 1, _rounded("floor")),
    "ceil": Function(1, 1, _rounded("ceil")),
    "round": Function(1, 1, _rounded("round")),
    "mod": Function(2, 2, _mod),
    "topic": Function(0, 1, _topic),
    "qos": Function(0, 0, _column("qos")),
    "username": Function(0, 0, _column("username")),
    "peerhost": Function(0, 0, _column("peerhost")),
    "flag": Function(1, 1, _flag),
}
"""The functions that are translated, by name."""


def _refused(code: str, reason: str, names: str) -> dict[str, tuple[str, str]]:
    return dict.fromkeys(names.split(), (code, reason))


REFUSED: dict[str, tuple[str, str]] = {
    **_refused(
        "TRI388",
        "gives another value each time",
        "now_timestamp now_rfc3339 timezone_to_offset_seconds random uuid_v4 uuid_v4_no_hyphen rand_str rand_int msgid",
    ),
    **_refused(
        "TRI383", "needs the schema, which a check of its own type has", "schema_decode schema_encode schema_check"
    ),
    **_refused("TRI383", "is about subscriptions, not about messages", "contains_topic contains_topic_match"),
    **_refused("TRI383", "reads what the broker keeps", "proc_dict_get proc_dict_put kv_store_get kv_store_put getenv"),
    **_refused(
        "TRI383", "reads bits and bytes, which CEL does not", "subbits bitand bitor bitxor bitnot bitsl bitsr bitsize"
    ),
    **_refused(
        "TRI383", "reads terms of Erlang, which CEL has not", "term_encode term_decode sprintf sprintf_s mongo_date"
    ),
    **_refused("TRI383", "reads or writes data within a value, which CEL does not", "json_decode json_encode jq map"),
    **_refused("TRI383", "makes a hash or an encoding, which CEL has not", "md5 sha sha256 hash gzip gunzip zip unzip"),
    **_refused("TRI383", "takes other blanks than CEL's trim", "trim ltrim rtrim"),
    **_refused("TRI383", "depends on how a number is written, which is not seen", "str str_utf8 int float bool"),
    **_refused("TRI383", "is about a part that is no list or text", "payload flags clientid clientip"),
    **_refused(
        "TRI383", "is not translated yet", "coalesce coalesce_ne is_empty tokens split pad replace find reverse"
    ),
    **_refused(
        "TRI383", "is not translated yet", "regex_replace regex_extract ascii map_put mput map_keys map_values sublist"
    ),
    **_refused(
        "TRI383", "is not translated yet", "sqrt power exp log log2 log10 sin cos tan asin acos atan fmod eq rm_prefix"
    ),
}
"""Functions that are refused: the code, and the reason."""

__all__ = ["FUNCTIONS", "REFUSED"]
