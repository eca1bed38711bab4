"""`filter.expression`: CEL text, and the macro `match(glob)` of the founding proposal, which CEL does not have."""

from __future__ import annotations

import re
from dataclasses import replace

from ..diagnostics import Diagnostic
from ..documents.document import Place, embedded
from ..limits import MAX_TEXT
from ..nodes import EQUALS, Call, Expr, Lit, LitKind, conjunction, string, transform
from ..parse import parse
from ..source import Source
from ..unparse import unparse
from .model import Dialect, Findings, Schema, Translation, Under, within
from .predicates import quote_pattern


def to_cel(place: Place) -> Translation:
    """The parsed expression. Its spans are in the expression's own text, which knows its place in the file."""
    findings = Findings()
    text = findings.expect_string(place)
    if text is None:
        return Translation(None, place.source, tuple(findings.found), "expression")
    if not text.strip():
        help_ = "write a CEL expression, or remove 'expression' to deliver every event"
        findings.report("TRI332", place, f"'{place.path}' is empty", help_)
        return Translation(None, place.source, tuple(findings.found), "expression")
    source = embedded(place)
    parsed, diagnostics = parse(source)
    if parsed is None:
        return Translation(None, source, diagnostics, "expression")
    expr, more = expand_match(parsed, source)
    return Translation(expr, source, (*diagnostics, *more), "expression")


def narrowed(translation: Translation, place: Place) -> Translation:
    """A filter joined by `&&` to the expression at a place outside it. Beside another expression it is refused."""
    if translation.dialect == "expression":
        findings = Findings()
        message = f"'{place.path}' stands beside 'filter.expression'"
        findings.report("TRI330", place, message, "keep one; '&&' joins them")
        return replace(translation, expr=None, diagnostics=(*translation.diagnostics, *findings.found))
    more = to_cel(place)
    found = (*translation.diagnostics, *more.diagnostics)
    if translation.expr is None or more.expr is None:
        return replace(translation, expr=None, diagnostics=found)
    if translation.expr == conjunction(()):
        return replace(more, diagnostics=found)
    at = place.value.span
    outside = within(more, place.source, at)
    joined = None if outside is None else conjunction((translation.expr, outside), at)
    return replace(translation, expr=joined, diagnostics=found)


def expand_match(expr: Expr, source: Source) -> tuple[Expr | None, tuple[Diagnostic, ...]]:
    """`x.match("glob")` as the simplest CEL with that meaning; None when an argument is not one string literal.

    In a glob `*` is any run of characters and `?` is one character; everything else stands for itself.
    """
    if "match" not in source.text:
        return expr, ()
    found: list[Diagnostic] = []

    def change(e: Expr) -> Expr:
        if not isinstance(e, Call) or e.function != "match" or e.target is None:
            return e
        match e.args:
            case (Lit(kind=LitKind.STRING, value=str(glob)) as literal,):
                return _glob(e, e.target, glob, literal)
            case _:
                message = "'match' takes one glob, written as a string literal"
                help_ = 'write x.match("prefix*"), or use matches(), which takes any pattern'
                found.append(Diagnostic("TRI342", message, source, e.span, help_))
                return e

    expanded = transform(expr, change)
    return (None if found else expanded), tuple(found)


def _glob(call: Call, subject: Expr, glob: str, literal: Lit) -> Expr:
    body = glob.strip("*")
    if "*" in body or "?" in body:
        pattern = "".join({"*": ".*", "?": "."}.get(c, quote_pattern(c)) for c in re.sub(r"\*+", "*", glob))
        return Call("matches", (string(f"(?s)^{pattern}$", literal.span),), subject, span=call.span)
    text = string(body, literal.span)
    match glob.startswith("*"), glob.endswith("*"):
        case False, False:
            return Call(EQUALS, (subject, text), span=call.span)
        case True, False:
            return Call("endsWith", (text,), subject, span=call.span)
        case True, True if body:
            return Call("contains", (text,), subject, span=call.span)
        case _:
            return Call("startsWith", (text,), subject, span=call.span)


def _schema(inner: Schema) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}


ROW = Dialect(
    name="expression",
    to_cel=to_cel,
    from_cel=unparse,
    doc="A CEL expression over `ce`, the attributes, and `data`, the payload.",
    example='ce.type == "order.created" && data.total > 100.0',
    page="knative",
    any_environment=True,
    text=True,
    order=10,
    under=Under.FILTER,
    instead="write 'apiVersion: {version}', or give it in the annotation '{annotation}'",
    schema=_schema,
)
