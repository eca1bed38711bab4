"""What filters read, held against what a table has: a column that is missing is told before any event is judged.

Every way to put filters on a table asks here, by `frames.layouts_of`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tricel.compiler import CheckedFilter, Diagnostic, Environment, Expr
from tricel.compiler.analysis.requirements import constant_path
from tricel.compiler.diagnostics.as_text import render
from tricel.compiler.environments.kafka_record import SPARK_COLUMNS
from tricel.compiler.nodes import Has, Ident, Select, walk
from tricel.compiler.source import Span
from tricel.compiler.suggest import did_you_mean, followed, nearest

from .sql.layout import Layout, LayoutError

REQUIRED, OPTIONAL = "TRI608", "TRI609"
_SHOWN = 20
"""Most columns that a message names."""
_OF_KAFKA = (
    "these are the columns of Spark's Kafka source: make columns of the events that 'value' holds first, "
    "or compile the filter for Kafka records"
)


def unread(
    filters: Iterable[CheckedFilter], layouts: Mapping[Environment, Layout], columns: Sequence[str]
) -> tuple[Diagnostic, ...]:
    """A warning (TRI609) for each optional attribute that the filters read and a table of these columns cannot have.

    Raises:
        LayoutError: with a diagnostic (TRI608) for each required attribute, and each other root, that is not there.
    """
    required: dict[str, list[CheckedFilter]] = {}
    optional: dict[str, list[CheckedFilter]] = {}
    for filter_ in filters:
        environment = filter_.checked.environment
        for name, needed in _missing(filter_, environment, layouts[environment]):
            (required if needed else optional).setdefault(name, []).append(filter_)
    if required:
        found = tuple(_told(REQUIRED, name, users, layouts, columns) for name, users in required.items())
        raise LayoutError(render(found), found)
    return tuple(_told(OPTIONAL, name, users, layouts, columns) for name, users in optional.items())


def _missing(filter_: CheckedFilter, environment: Environment, layout: Layout) -> list[tuple[str, bool]]:
    """What a filter reads and the layout does not hold, and whether no event can be without it."""
    needs = filter_.requirements
    found: list[tuple[str, bool]] = []
    for name in sorted(needs.attributes):
        if layout.attributes is not None and layout.attributes.find(name) is None:
            known = environment.attribute(name)
            found.append((name, known is not None and known.required))
    roots = {str(path[0]) for path in needs.paths} - set(layout.roots)
    return [*found, *((root, True) for root in sorted(roots))]


def _told(
    code: str,
    name: str,
    users: Sequence[CheckedFilter],
    layouts: Mapping[Environment, Layout],
    columns: Sequence[str],
) -> Diagnostic:
    first = users[0]
    environment = first.checked.environment
    attributes, root = layouts[environment].attributes, environment.root(name) is not None
    held = attributes if attributes is not None and not root else None
    holder = held.holder if held is not None else ""
    known = sorted(held.columns) if held is not None and holder else list(columns)
    lacks = (
        f"the column '{holder}' has no field '{name}'"
        if holder
        else f"the {environment.words.many} have no column {_columns(environment, name)}"
    )
    if code == OPTIONAL and not holder:
        lacks += " and no map of extensions"
    read = "which the filter reads" if len(users) == 1 else f"which {len(users):,} filters read"
    shown = ", ".join(f"'{c}'" for c in known[:_SHOWN]) + (", ..." if len(known) > _SHOWN else "")
    there = f"{'its fields' if holder else 'the columns'} are {shown}" if known else "there is none at all"
    advice = environment.stored(name).advice if root else ""
    if environment.record and set(columns) >= SPARK_COLUMNS:
        advice = _OF_KAFKA
    advice = advice or did_you_mean(nearest(name, known))
    return Diagnostic(code, f"{lacks}, {read}", first.source, _place(first, name), followed(advice, there))


def _columns(environment: Environment, name: str) -> str:
    """The columns that an attribute or a root may be in."""
    names = environment.stored(name).columns if environment.root(name) is not None else (name,)
    return " and no column ".join(f"'{n}'" for n in names)


def _place(filter_: CheckedFilter, name: str) -> Span:
    """Where the filter reads an attribute, or another root."""
    expr = filter_.checked.expr
    return next((e.span for e in walk(expr) if _reads(e, name, filter_.checked.record.name)), expr.span)


def _reads(e: Expr, name: str, record: str) -> bool:
    base, keys = constant_path(Select(e.operand, e.field) if isinstance(e, Has) else e)
    if not isinstance(base, Ident):
        return False
    return (base.name == record and keys == (name,)) or (base.name == name and not keys)
