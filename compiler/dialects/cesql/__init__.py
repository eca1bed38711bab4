"""CloudEvents SQL 1.0, as Knative's brokers evaluate it (`filters[].cesql`) and as it is specified (`sql`).

What is read: https://github.com/cloudevents/spec/blob/main/cesql/spec.md. A filter whose evaluation errs does not pass,
so the CEL never errs.
"""

from __future__ import annotations

from functools import partial

from ...diagnostics import errors
from ...documents.document import Place, embedded
from ...limits import MAX_TEXT
from ...nodes import Expr
from ..given import written
from ..model import Dialect, Findings, Schema, Translation, Under
from .logic import negative_normal
from .profiles import KNATIVE, SPECIFICATION, Profile
from .reader import read
from .translate import translate
from .writer import guesses


def to_cel(profile: Profile, place: Place) -> Translation:
    """`type LIKE 'com.%'` as `ce.type.startsWith("com.")`, with the meaning of a profile."""
    findings = Findings()
    if findings.expect_string(place) is None:
        return Translation(None, place.source, tuple(findings.found), profile.name)
    source = embedded(place)
    node, found = read(source)
    expr = None
    if node is not None and not errors(found):
        expr, more = translate(node, source, profile)
        found = (*found, *more)
    return Translation(expr, source, found, profile.name)


def from_cel(profile: Profile, expr: Expr) -> object:
    """A text that means the expression: the CEL of the text is the same, but for where its negations stand."""
    for text in guesses(expr):
        place = written(text)
        again = None if place is None else to_cel(profile, place).expr
        if again is not None and negative_normal(again) == negative_normal(expr):
            return text
    return None


def _schema(inner: Schema) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}


CESQL = Dialect(
    name="cesql",
    to_cel=partial(to_cel, KNATIVE),
    from_cel=partial(from_cel, KNATIVE),
    doc="A CloudEvents SQL expression, as Knative's brokers evaluate it.",
    example="type LIKE 'com.%' AND EXISTS subject",
    page="cesql",
    order=8,
    text=True,
    under=Under.FILTERS,
    knative=True,
    schema=_schema,
    suffix=".cesql",
)
SQL = Dialect(
    name="sql",
    to_cel=partial(to_cel, SPECIFICATION),
    from_cel=partial(from_cel, SPECIFICATION),
    doc="A CloudEvents SQL expression, as the specification has it.",
    example="type LIKE 'com.%' AND EXISTS subject",
    page="cesql",
    text=True,
)
