"""Whatever has to be said of a function is said, each thing in one place. What is missing names its file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import reduce
from importlib import import_module
from itertools import islice, product
from pathlib import Path
from pkgutil import iter_modules

import pytest
from tricel.compiler import celtypes as t
from tricel.compiler import functions
from tricel.compiler.analysis.sizes import SCALAR, Extent, extent, text_of, wider
from tricel.compiler.functions import ALL, FAMILIES, Overload, Size, Steps
from tricel.compiler.interpreter import IMPLEMENTATIONS, CelError, Value
from tricel.compiler.nodes import Expr, Ident, Lit, LitKind
from tricel.compiler.values.cel import Duration, Optional, Timestamp, Uint
from tricel.spark_backend.sql.handlers import LOWERINGS
from tricel.spark_backend.sql.reasons import Reason

ROOT = Path(__file__).parent.parent
IN_THE_EVALUATOR = frozenset({"logical_and", "logical_or", "conditional", "index_list", "index_map"}) | frozenset(
    {"optional_or_optional", "optional_orValue_value"}
)
"""Overloads that may leave an operand unevaluated, or select."""
EVALUATIONS = {"operators": "operators", "strings": "functions/standard", "conversions": "functions/standard"}
"""Where the overloads of a module are evaluated, but in the one of its own name."""
LOWERED = {
    "operators": "functions/arithmetic",
    "lists_ext": "handlers/lists",
    "sets_ext": "handlers/sets",
    "optionals": "handlers/lists",
    "regex_ext": "functions/unlowered",
    "mqtt_ext": "handlers/topic_filters",
}
"""Where the overloads of a module are lowered, but in the one of its own name."""


def _modules() -> dict[str, str]:
    """The module of each family of overloads."""
    found = {}
    for module in iter_modules(functions.__path__):
        values = vars(import_module(f"{functions.__name__}.{module.name}")).values()
        found |= {family: module.name for family, rows in FAMILIES.items() if any(v is rows for v in values)}
    return found


MODULES = _modules()


def _home(row: Overload) -> str:
    return next(MODULES[family] for family, rows in FAMILIES.items() if row in rows)


def _row_file(row: Overload) -> str:
    return f"compiler/functions/{_home(row)}.py"


def _evaluation_file(row: Overload) -> str:
    return f"compiler/interpreter/{EVALUATIONS.get(_home(row), f'functions/{_home(row)}')}.py"


def _lowering_file(row: Overload) -> str:
    return f"spark_backend/sql/{LOWERED.get(_home(row), f'functions/{_home(row)}')}.py"


def test_every_size_is_said() -> None:
    missing = [f"{_row_file(row)}: {row.id} needs a size" for row in ALL if row.size is Size.UNKNOWN]
    assert [] == missing, "\n".join(missing)


def test_all_steps_are_said() -> None:
    missing = [f"{_row_file(row)}: {row.id} needs steps" for row in ALL if row.steps is Steps.UNKNOWN]
    assert [] == missing, "\n".join(missing)


def test_every_overload_is_evaluated() -> None:
    silent = [row for row in ALL if row.id not in IMPLEMENTATIONS and row.id not in IN_THE_EVALUATOR]
    missing = [f"{_evaluation_file(row)}: {row.id} needs an evaluation" for row in silent]
    assert [] == missing, "\n".join(missing)


def test_every_overload_is_lowered_or_has_its_reason() -> None:
    missing = [
        f"{_lowering_file(row)}: {row.id} needs a lowering, or its reason in spark_backend/sql/functions/unlowered.py"
        for row in ALL
        if row.id not in LOWERINGS
    ]
    assert [] == missing, "\n".join(missing)


def test_every_overload_has_an_example() -> None:
    missing = [f"{_row_file(row)}: {row.id} needs an example" for row in ALL if not row.examples]
    assert [] == missing, "\n".join(missing)


@pytest.mark.parametrize("file_of", [_row_file, _evaluation_file, _lowering_file])
def test_the_files_are_there(file_of: object) -> None:
    assert callable(file_of)
    assert [] == sorted({file_of(row) for row in ALL if not (ROOT / file_of(row)).is_file()})


def test_nothing_is_said_of_what_is_no_overload() -> None:
    ids = {row.id for row in ALL}
    assert set() == (LOWERINGS.keys() | IMPLEMENTATIONS.keys()) - ids
    assert len(ids) == len(ALL)


def test_reasons_have_codes_of_their_own() -> None:
    assert len(Reason) == len({reason.code for reason in Reason}) == len({reason.text for reason in Reason})


WORDS = {t_.name for t_ in (*t.ORDERED, t.TYPE, t.DYN)} | {"equals", "first", "format", "last", "or", "value"}
"""Names of functions that name other things too: types, fields, dialects."""
NAMES = ({row.function for row in ALL} | {row.id for row in ALL}) - WORDS
KNOWN = {
    "compiler/dialects/cesql/writer.py": "how functions are written in another language",
    "compiler/dialects/rule_sql/functions.py": "the functions of another language, by their names there",
    "compiler/schemas/avro.py": "the members of a schema in Avro",
    "compiler/help/names.py": "what people write for a function: a table of mistakes",
    "compiler/nodes.py": "the names of operators",
    "compiler/versions/v1.py": "what a version was released with, which no row can change",
    "compiler/operators.py": "how operators are written",
}
"""Modules with tables by name, and why."""
ROOMS = ("compiler/functions", "compiler/interpreter", "spark_backend/sql/functions")
"""The rows, their evaluations and their lowerings."""


def _tables(text: str) -> Iterator[str]:
    """The names of functions and overloads that are keys or items of what a module writes out."""
    for node in ast.walk(ast.parse(text)):
        items: list[ast.expr | None] = []
        match node:
            case ast.Dict(keys=keys):
                items = [*keys]
            case ast.Set(elts=elts) | ast.List(elts=elts) | ast.Tuple(elts=elts):
                items = [*elts]
        yield from (str(i.value) for i in items if isinstance(i, ast.Constant) and i.value in NAMES)


def test_no_table_by_function_is_elsewhere() -> None:
    found = {}
    for path in sorted(p for top in ("compiler", "spark_backend") for p in (ROOT / top).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(ROOMS) and name not in KNOWN and (names := sorted(set(_tables(path.read_text())))):
            found[name] = names
    assert {} == found, "say it in the functions' rows (compiler/functions)"


@pytest.mark.parametrize("name", KNOWN)
def test_the_tables_that_are_known_are_there(name: str) -> None:
    assert list(_tables((ROOT / name).read_text()))


@pytest.mark.parametrize("text", ['{"startsWith": 1}', 'frozenset({"sort", "x"})', 'f("x" in ("list_join",))'])
def test_tables_are_seen(text: str) -> None:
    assert list(_tables(text))


_TEXTS = ("", "a", "aB,c", "%s-%d", "\u00e9 " * 20, "YQ==")
_VALUES: dict[str, tuple[Value, ...]] = {
    "string": _TEXTS,
    "bytes": tuple(text.encode() for text in _TEXTS),
    "int": (0, 2, 1_000),
    "uint": (Uint(7),),
    "double": (1.5,),
    "bool": (True,),
    "timestamp": (Timestamp(0),),
    "duration": (Duration(1),),
    "list": ([], ["aB,c", "a"], [["a", "b"], ["c" * 40]], [Optional("a"), Optional("b" * 40)]),
    "map": ({}, {"a": "b" * 40}),
    "optional_type": (Optional("a" * 40),),
}
_MOST_CALLS = 400


def _extent(value: Value) -> Extent:
    """How large a value is; what it holds weighs as it does in an event."""
    match value:
        case str() | bytes():
            return text_of(len(value), len(value))
        case list() | dict():
            parts = [_extent(v) for v in (value if isinstance(value, list) else value.values())]
            weight = len(value) + sum(part.weight for part in parts)
            return Extent(len(value), 0, len(value), weight, reduce(wider, parts) if parts else None)
        case Optional():
            return _extent(value.value)
        case _:
            return SCALAR


def _written(value: Value) -> Expr:
    if isinstance(value, str):
        return Lit(LitKind.STRING, value)
    return Lit(LitKind.INT, value) if type(value) is int else Ident("x")


@pytest.mark.parametrize(
    "row", [row for row in ALL if row.result not in t.SHORT and row.id in IMPLEMENTATIONS], ids=lambda row: row.id
)
def test_no_result_is_larger_than_its_row_says(row: Overload) -> None:
    """What the evaluator makes of many operands is within the extent that the row's size gives."""
    choices = [_VALUES.get(p.name, (1, "a" * 40, ["a"])) for p in row.params]
    made = 0
    for args in islice(product(*choices), _MOST_CALLS):
        try:
            found = _extent(IMPLEMENTATIONS[row.id](*args))
        except (CelError, TypeError, AttributeError):  # of other elements than the overload takes
            continue
        made += 1
        most = extent(row.size, tuple(map(_extent, args)), tuple(map(_written, args)))
        larger = found.text > max(most.text, most.weight) or found.count > max(most.count, most.weight)
        assert not larger, f"{_row_file(row)}: {row.id} of {args} is larger than '{row.size}'"
    assert made or not row.params, f"{row.id} was never called"


@pytest.mark.parametrize("row", [row for row in ALL if row.total], ids=lambda row: row.id)
def test_a_total_function_never_errs(row: Overload) -> None:
    """Whatever operands of its types it is given; a pattern that RE2 takes."""
    of_a_parameter = [value for values in _VALUES.values() for value in values]
    choices = [_VALUES.get(p.name, of_a_parameter) for p in row.params]
    if row.pattern is not None:
        choices[row.pattern] = ("", "a", "^(?:a|b)+$", r"\\d", "(?i)É")
    called = [IMPLEMENTATIONS[row.id](*args) for args in islice(product(*choices), 4 * _MOST_CALLS)]
    assert called
