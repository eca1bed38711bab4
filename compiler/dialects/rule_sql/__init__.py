"""EMQX's rule SQL, as it stands in the checks of message validations: `SELECT fields [WHERE condition]`.

A check passes where WHERE is true; whatever raises fails it. The CEL is true for the same messages. An evaluation that
errs has failed, too: it does where the payload is no JSON or a column is missing that the check reads.
"""

from __future__ import annotations

from functools import partial

from ...diagnostics import errors
from ...documents.document import Place, embedded
from ...environments.mqtt_message import MQTT_MESSAGE
from ..model import Dialect, Findings, Translation
from .reader import read
from .translate import translate

STRICT, COMPAT = "rule-sql", "rule-sql-compat"


def to_cel(name: str, place: Place) -> Translation:
    """`select * where qos > 0` as `qos > 0`."""
    findings = Findings()
    if findings.expect_string(place) is None:
        return Translation(None, place.source, tuple(findings.found), name)
    source = embedded(place)
    tree, found = read(source)
    expr = None
    if tree is not None and not errors(found):
        expr, more = translate(tree, source, coerce=name == COMPAT)
        found = (*found, *more)
    return Translation(expr, source, found, name)


RULE_SQL = Dialect(
    name=STRICT,
    to_cel=partial(to_cel, STRICT),
    doc="A check of EMQX's rule SQL, without its coercions: values of two types do not pass.",
    example="select * where payload.value > 10",
    page="rule_sql",
    environment=MQTT_MESSAGE,
    text=True,
)
RULE_SQL_COMPAT = Dialect(
    name=COMPAT,
    to_cel=partial(to_cel, COMPAT),
    doc="A check of EMQX's rule SQL, with its coercions.",
    example="select * where payload.value > '10'",
    page="rule_sql",
    environment=MQTT_MESSAGE,
    text=True,
)
