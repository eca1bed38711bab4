"""The reference pages, written from the rows that the code itself is driven by: `python -m tricel.reference FOLDER`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from tricel.compiler import CODES, DIALECTS, Source, check_filter, parse
from tricel.compiler.dialects.model import Under
from tricel.compiler.environments.known import BY_OPTION
from tricel.compiler.environments.model import Form
from tricel.compiler.functions import ERROR, FAMILIES, Overload
from tricel.compiler.literals import quoted
from tricel.compiler.manifests.validation_options import CHECKS, REFUSED, VALIDATION, Option, json_schema
from tricel.compiler.nodes import Expr
from tricel.compiler.operators import spelling
from tricel.spark_backend.compiled_filter import lower_filter
from tricel.spark_backend.engines import DEFAULT_ENGINE, ENGINES, OWN_ENGINE, Program, prepare
from tricel.spark_backend.sql.capability import Support, capabilities


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: how it is written, its meaning, an example that is a whole filter, and one on an event's data.

    `condition` is when it is native, where it is not so always.
    """

    form: str
    doc: str
    example: str
    on_data: str
    condition: str = ""


MACROS: tuple[Macro, ...] = (
    Macro(
        "has(e.f)",
        "Whether the object has the field. An error where `e` is no object.",
        "has({'a': 1}.a)",
        "has(data.a)",
    ),
    Macro(
        "e.all(x, p)",
        "Whether `p` holds for all elements of a list or keys of a map; one false outweighs errors.",
        "[1, 2].all(x, x > 0)",
        "data.a.all(x, x > 0.0)",
    ),
    Macro(
        "e.exists(x, p)",
        "Whether `p` holds for any element or key; one true outweighs errors.",
        "[1, 2].exists(x, x > 1)",
        "data.a.exists(x, x > 1.0)",
    ),
    Macro(
        "e.exists_one(x, p)",
        "Whether `p` holds for exactly one element or key; an error for any is an error.",
        "[1, 2].exists_one(x, x > 1)",
        "data.a.exists_one(x, x > 1.0)",
    ),
    Macro(
        "e.filter(x, p)",
        "The elements or keys for which `p` holds.",
        "[1, 2].filter(x, x > 1) == [2]",
        "data.a.filter(x, x > 1.0) == [2.0]",
    ),
    Macro(
        "e.map(x, t)",
        "The list of `t` for all elements or keys.",
        "[1, 2].map(x, x + 1) == [2, 3]",
        "data.a.map(x, x + 1.0) == [2.0]",
    ),
    Macro(
        "e.map(x, p, t)",
        "The list of `t` for the elements or keys for which `p` holds.",
        "[1, 2].map(x, x > 1, x + 1) == [3]",
        "data.a.map(x, x > 1.0, x + 1.0) == [2.0]",
    ),
    Macro(
        "e.all(i, v, p)",
        "As `all`, with the index or key and the value.",
        "[1, 2].all(i, v, v == i + 1)",
        "data.a.all(i, v, v > 0.0)",
    ),
    Macro(
        "e.exists(i, v, p)",
        "As `exists`, with the index or key and the value.",
        "[1, 2].exists(i, v, i == 1)",
        "data.a.exists(i, v, v > 0.0)",
    ),
    Macro(
        "e.existsOne(i, v, p)",
        "As `exists_one`, with the index or key and the value.",
        "[1, 2].existsOne(i, v, v == 2)",
        "data.a.existsOne(i, v, v > 0.0)",
    ),
    Macro(
        "e.transformList(i, v, t)",
        "The list of `t` for all pairs; a filter may stand before `t`.",
        "[1, 2].transformList(i, v, v * 2) == [2, 4]",
        "data.a.transformList(i, v, v * 2.0) == [2.0]",
    ),
    Macro(
        "e.transformMap(k, v, t)",
        "The map with `t` in the place of each value; a filter may stand before `t`.",
        "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
        "data.a.transformMap(k, v, v * 2.0) == {'a': 2.0}",
    ),
    Macro(
        "e.transformMapEntry(k, v, t)",
        "The map of the one entry that each `t` is; a filter may stand before `t`.",
        "{'a': 'b'}.transformMapEntry(k, v, {v: k}) == {'b': 'a'}",
        "data.a.transformMapEntry(k, v, {k: v}) == {'a': 2.0}",
    ),
    Macro(
        "e.sortBy(x, t)",
        "The list sorted by `t`, which is of one comparable type.",
        "[2, 1].sortBy(x, x) == [1, 2]",
        "data.a.sortBy(x, x.n)[0] == 1.0",
    ),
    Macro(
        "o.optMap(x, t)",
        "The optional of `t`, absent where `o` is.",
        "optional.of(1).optMap(x, x + 1).value() == 2",
        "data.?a.optMap(x, x + 1.0).orValue(2.0) > 1.0",
        "of a field, with `orValue` after it",
    ),
    Macro(
        "o.optFlatMap(x, t)",
        "The optional that `t` is, absent where `o` is.",
        "optional.of(1).optFlatMap(x, optional.of(x)).value() == 1",
        "data.?a.optFlatMap(x, x.?b).hasValue()",
        "of a field, with `hasValue`, or `orValue` of a literal, after it",
    ),
    Macro(
        "cel.bind(x, e, t)",
        "`t`, in which `x` is the value of `e`, evaluated once.",
        "cel.bind(x, 1, x + x == 2)",
        "cel.bind(x, data.a, x > 1.0 || x < 0.0)",
    ),
    Macro(
        "e.?f, e[?k]",
        "The optional of a field or an element; absent where there is none.",
        "{'a': 1}.?a.hasValue()",
        "data.?a.hasValue()",
        "a field, or a key written out, and where no optional is kept",
    ),
)


def pages() -> Mapping[str, str]:
    """The pages by file name."""
    return {
        "dialects.md": dialects_page(),
        "environments.md": environments_page(),
        "functions.md": functions_page(),
        "support.md": support_page(),
        "errors.md": errors_page(),
        "validations.md": validations_page(),
    }


def dialects_page() -> str:
    """Every dialect: where it stands, its meaning, and an example."""
    lines = [
        "# Dialects",
        "",
        "Generated by `make docs`.",
        "Every dialect that a filter may be written in, and the CEL that its example becomes.",
        "The name is what `--dialect` and `compile_filter(..., dialect=...)` take.",
        "*Written*: CEL can be written in the dialect again, where the dialect can say it.",
    ]
    for row in DIALECTS:
        stands = f"`spec.{row.under}`" if row.under not in (Under.SPEC, Under.NOWHERE) else "`spec`"
        where = f"Stands under {stands} of a Trigger." if row.under is not Under.NOWHERE else "Stands in no Trigger."
        shown = row.example if isinstance(row.example, str) else json.dumps(row.example)
        checked, _ = check_filter(shown, dialect=row.name)
        becomes = f"`{checked.cel}`" if checked is not None else "refused"
        more = f"[More](../dialects/{row.page}.md)."
        written = " *Written.*" if row.from_cel is not None else ""
        lines += ["", f"## `{row.name}`", "", row.doc, f"{where}{written}", f"`{shown}` is {becomes}.", more]
    return "\n".join([*lines, ""])


def functions_page() -> str:
    """Every function, operator and macro: signatures, meaning, examples and how it runs."""
    lines = [
        "# Functions",
        "",
        "Generated by `make docs`.",
        "Every overload of every function and operator, then the macros: what it means, what the examples evaluate to, and how it runs on Spark.",
        "*Native* is Spark SQL with exactly CEL's meaning; *fallback* is a CEL engine behind Arrow batches, with the reason.",
    ]
    for family, rows in FAMILIES.items():
        lines += ["", f"## {family[0].upper()}{family[1:]}"]
        for function, same in groupby(rows, key=lambda row: row.function):
            lines += ["", f"### `{spelling(function)}`", "", *(line for row in same for line in _overload(row))]
    lines += ["", "## Macros", ""]
    for macro in MACROS:
        native, reason = _macro_native(macro)
        lines += [f"* `{macro.form}`: {macro.doc}", f"  `{macro.example}` is `true`.", f"  {_runs(native, reason)}"]
    return "\n".join([*lines, ""])


def _overload(row: Overload) -> Iterator[str]:
    capability = capabilities()[row.id]
    yield f"* `{signature(row)}`: {row.doc}"
    shown = (f"`{text}` is {_value(value)}" for text, value in row.examples)
    yield f"  {'; '.join(shown)}."
    yield f"  {_runs(capability.support is Support.NATIVE, capability.reason)}"


def _runs(native: bool, reason: str) -> str:
    how = "Native" if native else "Fallback"
    return f"*{how}{': ' + reason if reason else ''}.*"


def _value(value: object) -> str:
    if value is ERROR:
        return "an error"
    return f"`{quoted(value) if isinstance(value, str) else str(value).lower()}`"


def signature(row: Overload) -> str:
    """How an overload is called, with its types: `string.startsWith(string) -> bool`."""
    params = [str(p) for p in row.params]
    match row.function:
        case "_?_:_":
            call = f"{params[0]} ? {params[1]} : {params[2]}"
        case "_[_]" | "_[?_]":
            call = f"{params[0]}[{params[1]}]"
        case "!_" | "-_":
            call = f"{row.function[0]}{params[0]}"
        case name if not name[0].isalpha():
            call = f"{params[0]} {spelling(name)} {params[1]}"
        case name if row.member:
            call = f"{params[0]}.{name}({', '.join(params[1:])})"
        case name:
            call = f"{name}({', '.join(params)})"
    return f"{call} -> {row.result}"


def support_page() -> str:
    """Every overload and macro against what can evaluate it."""
    others = [name for name in ENGINES if name not in (DEFAULT_ENGINE, OWN_ENGINE)]
    header = ["overload", "Spark SQL", DEFAULT_ENGINE, *others, "own evaluator"]
    table = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for family, rows in FAMILIES.items():
        table.append(f"| **{family}** |{' |' * (len(header) - 1)}")
        for row in rows:
            capability = capabilities()[row.id]
            native = capability.support is Support.NATIVE
            sql = "no" if not native else "in part" if capability.reason else "yes"
            table.append(_support_line(f"`{signature(row)}`", sql, [text for text, _ in row.examples], others))
    table.append(f"| **macros** |{' |' * (len(header) - 1)}")
    for macro in MACROS:
        native, reason = _macro_native(macro)
        sql = "no" if not native else "in part" if reason else "yes"
        table.append(_support_line(f"`{macro.form}`", sql, [macro.example], others))
    return "\n".join([_SUPPORT, *table, ""])


_SUPPORT = f"""# Support

Generated by `make docs`.
What evaluates each overload: Spark itself, or one of the engines of the fallback.
*in part*: natively under a condition, which `functions.md` states.
What {DEFAULT_ENGINE} lacks or answers otherwise than CEL goes to our own evaluator by itself.
What cel-python answers otherwise is refused when it is the chosen engine; see `cel_python.md`.
"""


def _support_line(label: str, sql: str, examples: list[str], others: list[str]) -> str:
    engines = [_evaluates(engine, examples) for engine in (DEFAULT_ENGINE, *others)]
    return f"| {label.replace('|', chr(92) + '|')} | {' | '.join((sql, *engines))} | yes |"


def _evaluates(engine: str, examples: list[str]) -> str:
    """Whether the engine takes all of the examples, or some."""
    taken = [isinstance(p := prepare(_expr(e), engine, {}), Program) and p.engine == engine for e in examples]
    return "yes" if all(taken) else "in part" if any(taken) else "no"


def _expr(text: str) -> Expr:
    expr, diagnostics = parse(Source(text))
    if expr is None:
        raise ValueError(f"{text}: {diagnostics[0].message}")
    return expr


def _macro_native(macro: Macro) -> tuple[bool, str]:
    """Whether the macro on an event's data is SQL, and when, or why not."""
    checked, diagnostics = check_filter(macro.on_data)
    if checked is None:
        raise ValueError(f"{macro.on_data}: {diagnostics[0].message}")
    residual = lower_filter(checked).residual
    return not residual, "".join(c.reason for c in residual) or macro.condition


_FORMS = {
    Form.TYPED: "",
    Form.JSON: "bytes or text of JSON",
    Form.TEXT: "bytes of UTF-8, or text",
    Form.BYTES: "bytes, or text",
    Form.LAST_ENTRIES: "an array of `key` and `value`, or a map",
    Form.ENTRIES: "an array of `key` and `value`",
    Form.MILLISECONDS: "a timestamp, or milliseconds since 1970",
}
"""What a column may hold, other than values of the root's own type."""


def environments_page() -> str:
    """What a filter may name in each environment, and where that is looked for."""
    lines = [
        "# Environments",
        "",
        "Generated by `make docs`.",
        "What a filter may name, by what it is about: the roots, their types, and the columns of a table that hold them.",
        "Of several columns the first that is there counts; a dot selects a field of a struct. `docs/environments.md` says more.",
    ]
    for option, environment in BY_OPTION.items():
        lines += ["", f"## {environment.name}", "", f"`--environment {option}`", ""]
        lines += ["| root | type | meaning | columns |", "|---|---|---|---|"]
        docs = dict(environment.docs)
        for root, type_ in environment.roots:
            stored, shown = environment.stored(root), "attributes" if root == environment.record else str(type_)
            columns = ", ".join(f"`{c}`" for c in stored.columns)
            if environment.attributes is not None and root == environment.record:
                holders = ", ".join(f"`{c}`" for c in environment.attributes.holders)
                columns = f"{holders}, or one for each attribute and `{environment.attributes.others}`"
            is_text = stored.form is Form.JSON and root not in environment.decodable
            held = "text of JSON, or typed" if is_text else _FORMS[stored.form]
            lines.append(f"| `{root}` | {shown} | {docs[root]} | {columns}{': ' + held if held else ''} |")
        record = environment.record_type
        if record is not None:
            lines += ["", "| attribute | type | meaning |", "|---|---|---|"]
            lines += [
                f"| `{n}` | {f.type} | {f.doc} {'Every event has it.' if f.required else ''}".rstrip() + " |"
                for n, f in record.fields
            ]
        if environment.decodable:
            names = " and ".join(f"`{name}`" for name in environment.decodable)
            lines += ["", f"What the bytes of {names} are can be declared: `json`, the default, `text` or `bytes`."]
    return "\n".join([*lines, ""])


def errors_page() -> str:
    """Every diagnostic code."""
    lines = ["# Diagnostics", "", "Generated by `make docs`.", "`tricel rule CODE` prints the same."]
    for code, row in sorted(CODES.items()):
        lines += ["", f"## {code}: {row.title}", "", f"*{row.severity.capitalize()}.* {row.explanation}"]
    return "\n".join([*lines, ""])


def validations_page() -> str:
    """Every option of a message validation, and the JSON schema of a configuration."""
    lines = [
        "# Message validations",
        "",
        "Generated by `make docs`.",
        "The options of EMQX's `schema_validation { validations = [...] }`, which is read as HOCON, JSON or YAML.",
        "Validations are judged in their order: the first failure whose action is not `ignore` ends it, and those behind it count nothing.",
        "A check that errs has failed.",
        "",
        "## A validation",
        "",
        *_options(VALIDATION),
    ]
    for type_, options in CHECKS.items():
        refused = REFUSED.get(type_, "")
        lines += [
            "",
            f"## A check of type `{type_}`",
            "",
            *([f"Refused: {refused}.", ""] if refused else []),
            *_options(options),
        ]
    lines += ["", "## JSON schema", "", "```json", json.dumps(json_schema(), indent=2), "```"]
    return "\n".join([*lines, ""])


def _options(options: Iterable[Option]) -> Iterator[str]:
    yield "| option | value | where absent | meaning |"
    yield "|---|---|---|---|"
    for option in options:
        value = ", ".join(f"`{c}`" for c in option.choices) or str(option.kind)
        inner = "; ".join(
            f"`{o.name}`: {', '.join(f'`{c}`' for c in o.choices)} (`{o.default}`)" for o in option.options
        )
        absent = "an error" if option.required else "" if option.default is None else f"`{json.dumps(option.default)}`"
        doc = f"Out of use: {option.now}." if option.now else option.doc
        yield f"| `{option.name}` | {inner or value} | {absent} | {doc} |"


def main(folder: str) -> None:
    """Writes the pages into a folder."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        Path(folder, name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
