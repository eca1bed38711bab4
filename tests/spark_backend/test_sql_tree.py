"""The SQL tree and its one renderer: Spark's parser reads in the text the tree that it was written from."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession
from spark_trees import Parser, written
from tricel.spark_backend import sql
from tricel.spark_backend.sql import Sql, Variable

from tricel import compile_filter

BACKEND = Path(__file__).resolve().parents[2] / "spark_backend"
INFIX = ("+", "-", "*", "/", "%", "div", "&", "|", "^", "=", "<=>", "<>", "<", "<=", ">", ">=")
LEAVES = (
    *(sql.column("a"), sql.column("b`c"), sql.literal(5), sql.literal(-5), sql.literal(-(2**63)), sql.literal(1.5)),
    *(sql.literal(-2.5), sql.literal(-0.0), sql.literal("x y"), sql.literal("it's"), sql.literal(True)),
    *(
        sql.integer(-3),
        sql.integer(7),
        sql.decimal(-12),
        sql.decimal("0.001"),
        sql.literal(b"\x00"),
        sql.null("BIGINT"),
    ),
)


def random_tree(rng: Random, depth: int, around: tuple[Variable, ...] = ()) -> Sql:
    """A tree of any nodes in any places; most make no sense to Spark but for its parser."""

    def part(more: tuple[Variable, ...] = ()) -> Sql:
        return random_tree(rng, depth - rng.randint(1, 2), (*around, *more))

    if depth <= 0:
        return rng.choice((*LEAVES, *around))
    match rng.randrange(12):
        case 0 | 1:
            return sql.operator(rng.choice(("AND", "OR")), *(part() for _ in range(rng.randint(2, 5))))
        case 2 | 3 | 4:
            return sql.operator(rng.choice(INFIX), part(), part())
        case 5:
            return sql.operator(rng.choice(("NOT", "-", "~", "IS NULL", "IS NOT NULL")), part())
        case 6:
            return sql.operator(rng.choice(("IN", "NOT IN")), *(part() for _ in range(rng.randint(2, 4))))
        case 7:
            return sql.between(part(), part(), part())
        case 8:
            branches = [(part(), part()) for _ in range(rng.randint(1, 3))]
            return sql.case(*branches, otherwise=rng.choice((None, part())), subject=rng.choice((None, part())))
        case 9:
            return rng.choice((sql.cast, sql.try_cast))(part(), rng.choice(("STRING", "DECIMAL(24,0)")))
        case 10:
            one, two = sql.variable(), sql.variable()
            bound = rng.choice(((one,), (one, two)))
            return sql.function("transform", part(), sql.bound(bound, part(bound)))
        case _:
            return sql.function(rng.choice(("f", "get", "concat")), *(part() for _ in range(rng.randint(0, 3))))


def test_spark_reads_the_tree_that_was_written(spark: SparkSession) -> None:
    parser, rng = Parser(spark), Random(20)
    wrong = []
    for _ in range(1_500):
        tree = random_tree(rng, rng.randint(1, 5))
        text = sql.render(tree)
        if (read := parser.read(text)) != written(tree):
            wrong.append((text, read, written(tree)))
    assert sorted(wrong, key=lambda w: len(w[0]))[:3] == []


def test_a_condition_has_no_more_parentheses_than_it_needs() -> None:
    a, b, c = (sql.column(name) for name in "abc")
    shown = {
        "`a` + `b` > `c` AND `b` IS NULL": (a + b > c) & sql.is_null(b),
        "`a` - (`b` - `c`)": a - (b - c),
        "`a` - `b` - `c`": a - b - c,
        "`a` = `b` OR (`b` = `c` AND `c`)": sql.equal(a, b) | (sql.equal(b, c) & c),
        "`a` AND (`b` OR `c`) AND `a`": a & (b | c) & a,
        "NOT (`a` = `b`)": ~sql.equal(a, b),
        "(`a` = `b`) IS NOT NULL": sql.is_not_null(sql.equal(a, b)),
        "(NOT `a`) = `b`": sql.equal(~a, b),
        "`a` IN (1L, `b` AND `c`)": sql.is_in(a, [1, b & c]),
        "- (- `a`)": sql.operator("-", -a),
        "f(`a` OR `b`)": sql.function("f", a | b),
    }
    assert list(shown) == [sql.render(tree) for tree in shown.values()]


@pytest.mark.parametrize(("inner", "index"), [("array", 0), ("array", 1), ("reverse", 0), ("map_values", 2)])
def test_lines_change_nothing_but_white_space(inner: str, index: int) -> None:
    long = sql.column("c" * 200)
    each = sql.function("transform", sql.function(inner, long), sql.lambda_(lambda v: sql.is_null(v)))
    tree = sql.get(each, index)
    assert re.sub(r"\s", "", sql.render(tree)) == re.sub(r"\s", "", sql.render(tree, lines=True))


def test_lines_change_nothing_of_random_trees() -> None:
    rng = Random(21)
    for _ in range(400):
        tree = random_tree(rng, rng.randint(3, 6))
        assert re.sub(r"\s", "", sql.render(tree)) == re.sub(r"\s", "", sql.render(tree, lines=True))


def test_variables_are_named_apart_from_columns_and_from_those_around_them() -> None:
    inner = sql.lambda_(lambda x: sql.function("exists", x, sql.lambda_(lambda y: sql.equal(x, y))))
    tree = sql.function("exists", sql.column("V1"), inner)
    assert "exists(`V1`, v1 -> exists(v1, v2 -> v1 = v2))" == sql.render(tree)
    assert "exists(`V1`, v2 -> exists(v2, v3 -> v2 = v3))" == sql.render(tree, frozenset({"v1"}))


def test_what_differs_in_variables_alone_is_equal() -> None:
    def all_over(name: str, more: Sql) -> Sql:
        return sql.function("forall", sql.column(name), sql.lambda_(lambda x: sql.equal(x, more)))

    assert all_over("a", sql.literal(1)) == all_over("a", sql.literal(1))
    assert hash(all_over("a", sql.literal(1))) == hash(all_over("a", sql.literal(1)))
    assert all_over("a", sql.literal(1)) != all_over("a", sql.literal(1.0))
    assert all_over("a", sql.variable()) != all_over("a", sql.variable())
    assert sql.literal(0.0) != sql.literal(-0.0)
    assert sql.literal(True) != sql.literal(1)


@pytest.mark.parametrize("depth", range(6))
def test_the_extent_is_that_of_the_text(depth: int) -> None:
    rng = Random(depth)
    for _ in range(100):
        tree = random_tree(rng, depth)
        text = sql.render(tree)
        assert len(text) / 2 - 20 <= tree.extent.length <= 2 * len(text) + 20, text
        assert _parentheses(text) <= tree.extent.depth + 1, text
        assert text.count("->") == tree.extent.lambdas


def _parentheses(text: str) -> int:
    """The most parentheses in one another."""
    deepest = open_ = 0
    for sign in re.sub(r"'[^']*'|`(?:[^`]|``)*`", "", text):
        open_ += (sign == "(") - (sign == ")")
        deepest = max(deepest, open_)
    return deepest


TREE = {f"sql/{name}.py" for name in ("__init__", "facts", "forms", "render", "tree", "typed")}
"""The tree itself, and its renderer."""
QUERIES = {
    *(f"events/{name}.py" for name in ("encodings", "formats", "kafka_binding", "mqtt_messages", "packed", "payloads")),
    *("events/readers.py", "events/texts.py", "run/delivery.py", "run/pipeline.py", "run/session.py"),
    *(f"places/{name}.py" for name in ("files", "kafka", "kafka_records", "rows", "tables")),
}
"""Modules whose own queries over their own columns are texts that hold nothing else."""
RENDERING = {
    *(f"events/{name}.py" for name in ("kafka_binding", "mqtt_messages", "packed")),
    "compiled_filter.py",
    "events/texts.py",
    "fanout/planning/plan.py",
    "frames.py",
}
"""Modules that need the text: for Spark, for people, to put keys in order."""
SQL_TEXT = re.compile(r"\b(AND|OR|NOT|CASE|WHEN|THEN|ELSE|CAST|BETWEEN|IS NULL|IN)\b| -> | (<>|[=<>+*/-]) ")


def parsed_modules() -> Iterator[tuple[str, ast.Module]]:
    """The modules that write SQL by the tree."""
    for path in sorted(BACKEND.rglob("*.py")):
        name = path.relative_to(BACKEND).as_posix()
        if name not in TREE | QUERIES:
            yield name, ast.parse(path.read_text())


def test_no_module_writes_sql_but_the_renderer() -> None:
    found = []
    for name, tree in parsed_modules():
        docs = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
        raised = {id(c) for n in ast.walk(tree) if isinstance(n, ast.Raise) for c in ast.walk(n)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in docs | raised:
                continue
            sign = node.value in {"AND", "OR", "NOT", "IN", "NOT IN", "BETWEEN"}
            if not sign and not node.value.startswith("-- ") and SQL_TEXT.search(node.value):
                found.append(f"{name}:{node.lineno}: {node.value!r}")
    assert found == []


def test_few_modules_ask_for_the_text() -> None:
    asking = {
        name
        for name, tree in parsed_modules()
        for n in ast.walk(tree)
        if isinstance(n, ast.ImportFrom) and n.level and "render" in {a.name for a in n.names}
    }
    assert asking <= RENDERING


def test_what_is_computed_twice_is_bound_and_what_is_only_read_is_written_again() -> None:
    read = compile_filter('ce.subject != "" ? ce.id == "a" : ce.id == "b"')
    computed = compile_filter('ce.id.matches("a.*b") ? ce.id == "a" : ce.id == "b"')
    assert (False, True) == ("transform" in read.native_sql, "transform" in computed.native_sql)
