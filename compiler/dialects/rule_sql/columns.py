"""The columns of a published message, and the paths into them, as CEL."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...nodes import (
    ADD,
    AND,
    EQUALS,
    GREATER_EQUALS,
    IN,
    INDEX,
    MULTIPLY,
    NOT,
    OR,
    SUBTRACT,
    Call,
    Expr,
    Has,
    Ident,
    Lit,
    LitKind,
    Select,
    string,
    walk,
)
from ...source import Span
from .values import FALSE, JSON_KINDS, TRUE, Kind, Value, conj, disj, known, neg

PRESENT = "@present"
"""The test that a message has a column, while a check is translated: CEL has none, and errs for a column that is missing."""
TEXTS = ("id", "topic", "clientid", "username", "peerhost", "peername", "node")
REQUIRED = ("topic", "qos", "retain", "dup")
MAPS = {"client_attrs": "client_attrs", "pub_props": "user_property"}
USER_PROPERTY = "User-Property"
COLUMNS = (*TEXTS, "qos", "payload", "publish_received_at", "event", "flags", "pub_props", "client_attrs", "timestamp")
"""The columns of EMQX's event `message.publish`."""
_TEXT = frozenset({Kind.TEXT})
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "namespace",
        "null",
        "package",
        "return",
        "true",
        "var",
        "void",
        "while",
    ]
)
_EMBEDDED = r"^[ \t\r\n]*[\[{\"]"


def present(root: str, span: Span) -> tuple[Expr, ...]:
    """That a message has a column."""
    return () if root in REQUIRED else (Call(PRESENT, (Ident(root, span=span),), span=span),)


def column(name: str, span: Span) -> Value | None:
    """A column that is read whole; None for one that has parts alone, or that is not known."""
    if name in TEXTS:
        terms = present(name, span)
        return Value(_TEXT, Ident(name, span=span), terms, neg(conj(terms)) if terms else FALSE, defined=TRUE)
    match name:
        case "qos":
            return Value(frozenset({Kind.NUMBER}), Ident(name, span=span), integer=True)
        case "event":
            return known("message.publish", span)
        case "publish_received_at":
            time, terms = Ident(name, span=span), present(name, span)
            seconds = Call(MULTIPLY, (Call("int", (time,)), Lit(LitKind.INT, 1000)))
            millis = Call(ADD, (seconds, Call("getMilliseconds", (), time)))
            return Value(frozenset({Kind.NUMBER}), millis, terms, neg(conj(terms)), integer=True, defined=TRUE)
        case "payload":
            # Text that is no UTF-8 errs, and the check fails.
            return Value(_TEXT, Call("string", (Ident("payload_bytes", span=span),), span=span))
        case _:
            return None


def flag(name: str, span: Span) -> Value | None:
    """One of the flags of a message."""
    return Value(frozenset({Kind.BOOL}), Ident(name, span=span)) if name in ("retain", "dup") else None


def entry(root: str, key: str, span: Span) -> Value:
    """A text of a map of texts."""
    holder = Ident(root, span=span)
    test, value = _member(holder, key, span)
    terms = (*present(root, span), test)
    return Value(_TEXT, value, terms, neg(conj(terms)), defined=TRUE)


def payload(span: Span) -> Value:
    """The payload as JSON. It errs where it is none."""
    return Value(JSON_KINDS, Ident("payload", span=span))


def decoded_payload(span: Span) -> Value:
    """The payload's text, read as JSON where a part of it is asked for: undefined where it is none."""
    root = Ident("payload", span=span)
    test = Call(PRESENT, (root,), span=span)
    return Value(JSON_KINDS, root, (test,), neg(test), defined=TRUE)


def stepped(value: Value, step: str | int, span: Span) -> Value:
    """What a value of JSON holds under a key, or at a position from 1, or from the end. A text that may be JSON is not read."""
    holder = value.expr
    if isinstance(step, str):
        test, found = _member(holder, step, span)
        kind = Kind.MAP
    else:
        kind = Kind.LIST
        size = Call("size", (holder,))
        least = Lit(LitKind.INT, abs(step))
        test = Call(GREATER_EQUALS, (size, least)) if step else FALSE
        at: Expr = Lit(LitKind.INT, step - 1) if step > 0 else Call(SUBTRACT, (size, least))
        found = Call(INDEX, (holder, at), span=span)
    is_kind = Call(EQUALS, (Call("type", (holder,)), Ident(kind.value)))
    is_text = Call(EQUALS, (Call("type", (holder,)), Ident(Kind.TEXT.value)))
    embedded = conj((is_text, Call("matches", (string(_EMBEDDED),), holder)))
    here = conj((is_kind, test))
    undefined = disj((value.undefined, conj((*value.present, neg(here), neg(embedded)))))
    # Here an error for a payload that is no JSON is raised, whether the text is asked for or not.
    defined = conj((value.defined or TRUE, neg(conj((*value.present, embedded)))))
    return Value(JSON_KINDS, found, (*value.present, is_kind, test), undefined, defined=defined)


def _member(holder: Expr, key: str, span: Span) -> tuple[Expr, Expr]:
    if _PLAIN.fullmatch(key) and key not in _RESERVED:
        return Has(holder, key, span=span), Select(holder, key, span=span)
    name = string(key, span)
    return Call(IN, (name, holder), span=span), Call(INDEX, (holder, name), span=span)


@dataclass
class Asked:
    """What of a message must be known to be missing, where no CEL can say so."""

    names: dict[str, Span]


def without_presence(e: Expr, asked: Asked, positive: bool = True) -> Expr:
    """The expression without `PRESENT`: a column that is missing errs where its value is read, and the check fails."""
    match e:
        case Call(function=function, args=(Ident(name=name) as root,)) if function == PRESENT:
            if not positive:
                asked.names.setdefault(name, root.span)
            return Call(EQUALS, (root, root), span=e.span)
        case Call(function=function, args=(inner,), target=None) if function == NOT:
            return Call(NOT, (without_presence(inner, asked, not positive),), span=e.span)
        case Call(function=function, args=args) if function == AND:
            kept = [arg for i, arg in enumerate(args) if not (positive and _read(arg, args[i + 1 :]))]
            return conj(without_presence(arg, asked, positive) for arg in kept)
        case Call(function=function, args=args) if function == OR:
            return disj(without_presence(arg, asked, positive) for arg in args)
        case Call(args=args, target=target):
            below = [*args] if target is None else [target, *args]
            for part in below:  # a condition within a value is in no position of its own
                _refused(part, asked)
            return e
        case _:
            return e


def _refused(e: Expr, asked: Asked) -> None:
    for node in walk(e):
        if isinstance(node, Call) and node.function == PRESENT and isinstance(node.args[0], Ident):
            asked.names.setdefault(node.args[0].name, node.span)


def _read(term: Expr, after: tuple[Expr, ...]) -> bool:
    """Whether a term asks for a column that every message passes only if a later term reads it."""
    if not (isinstance(term, Call) and term.function == PRESENT):
        return False
    return any(
        node == term.args[0]
        for later in after
        if not (isinstance(later, Call) and later.function == OR)
        for node in walk(later)
        if not (isinstance(later, Call) and later.function == PRESENT)
    )
