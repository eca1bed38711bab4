"""The command `convert`: filters in another dialect, alone or in the manifests that hold them."""

from __future__ import annotations

from codecs import BOM_UTF8
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tricel.compiler import DIALECTS, Diagnostic, Limits, convert
from tricel.compiler.conversion.convert import SIMPLEST, targets
from tricel.compiler.conversion.manifests import convert_manifests, forms_of_triggers
from tricel.compiler.diagnostics import in_order
from tricel.compiler.dialects import BY_SUFFIX
from tricel.compiler.documents.spelling import Spelling

from ..exits import EXIT_FINDINGS, guarded, print_diagnostics, status_of
from ..file_edits import patch, write_in_place
from ..triggers import ManifestText, read_texts, warning_of_none
from .options import dialect_option, expression_option, limit_option


@dataclass(frozen=True, slots=True)
class _Target(click.ParamType[str]):
    """A dialect that filters are written in, or `simplest`; for another one, what was probably meant."""

    name: str = "dialect"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            targets(str(value))
        except ValueError as e:
            self.fail(str(e), param, ctx)
        return str(value)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "DIALECT"


_NAMES = ", ".join(row.name for row in DIALECTS if row.from_cel is not None)


@click.command(name="convert")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--to", required=True, type=_Target(), help=f"What to write filters in: {_NAMES}; or {SIMPLEST}.")
@expression_option
@dialect_option
@click.option("--write", is_flag=True, help="Change the manifests, instead of showing the change.")
@limit_option
def convert_command(
    paths: tuple[str, ...], to: str, expression: str | None, dialect: str | None, write: bool, limits: Limits
) -> None:
    """Write filters in another dialect: any to CEL, and CEL to the simplest dialect that can say it.

    A filter is rewritten only where both forms are shown to mean the same: the same value on every event, and an error
    on the same ones. A part that the dialect cannot say is pointed at, with a dialect that can. `simplest` is the
    first of attributes, exact, prefix, suffix, labels, filters and CEL that can say the filter.

    Of manifests only the bytes of a filter change: comments, quotes, the order of keys and line ends stay. Without
    --write the change is shown as a patch. Of a folder, what `.gitignore` names is left out. Standard input is `-`;
    with --write the new text goes to standard output.

    With -e, or with --dialect for files that hold a filter each, the result goes to standard output.

    Exit status: 0 there is nothing to change, or it is done; 1 there are changes to be written, or a filter is wrong
    or cannot be said (the others are converted), 2 a file cannot be read or written.

    \b
      tricel convert --to attributes -e 'ce.type == "order.created"'
      tricel convert --to cel --dialect labels -e 'env in (prod, test), !canary'
      tricel convert --to cel --dialect labels selector.txt
      tricel convert --to simplest triggers/
      tricel convert --to cel --write triggers/ more.yaml
      kubectl get triggers -o yaml | tricel convert --to filters --write - | kubectl apply -f -
    """
    if bool(paths) == (expression is not None):
        raise click.UsageError("give either paths, or -e with a filter")
    filters = expression is not None or dialect is not None or all(Path(path).suffix in BY_SUFFIX for path in paths)
    if write and filters:
        raise click.UsageError("--write is about manifests: a filter by itself goes to standard output")
    if filters:
        guarded(lambda: _filters(paths, expression, to, dialect, limits))
    try:
        forms_of_triggers(to)
    except ValueError as e:
        raise click.UsageError(str(e)) from None
    guarded(lambda: _manifests(paths, to, write, limits))


def _filters(paths: tuple[str, ...], expression: str | None, to: str, dialect: str | None, limits: Limits) -> int:
    """Converts filters that stand by themselves."""
    given = [] if expression is None else [("<expression>", expression, dialect)]
    found: list[Diagnostic] = []
    for text in (text for path in paths for text in read_texts(path, ignoring=True)):
        found.extend(text.unreadable)
        if not text.unreadable:
            own = text.dialect.name if dialect is None and text.dialect is not None else dialect
            given.append((text.source.name, text.source.text.rstrip("\r\n"), own))
    for name, filter_, own in given:
        result, problems = convert(filter_, to=to, dialect=own or "cel", label=name, limits=limits)
        found.extend(problems)
        if result is not None:
            value = result.value
            click.echo(value if isinstance(value, str) else "\n".join(Spelling().block(value)))
            if to == SIMPLEST:
                click.echo(f"dialect: {result.dialect}", err=True)
    print_diagnostics(in_order(found, [name for name, *_ in given]), "text", err=True)
    return status_of(tuple(found))


def _manifests(paths: tuple[str, ...], to: str, write: bool, limits: Limits) -> int:
    found: list[Diagnostic] = []
    triggers: list[str] = []
    names: list[str] = []
    converted = files = 0
    for text in (text for path in paths for text in read_texts(path, ignoring=True)):
        names.append(text.source.name)
        found.extend(text.unreadable)
        if text.unreadable or text.dialect is not None:
            continue
        done = convert_manifests(text.source, to=to, limits=limits)
        found.extend(done.diagnostics)
        triggers.extend(done.triggers)
        converted += done.converted
        files += bool(done.converted)
        if write:
            _write(text, done.text)
        elif done.converted:
            click.echo(patch(text.source.name, text.source.text, done.text), nl=False)
    diagnostics = in_order((*found, *warning_of_none(triggers, found, paths)), names)
    print_diagnostics(diagnostics, "text", err=True)
    left = len(triggers) - converted
    what = "converted" if write else "to convert"
    click.echo(f"{converted} filters {what} in {files} files, {left} left as they are", err=True)
    return status_of(diagnostics) or (EXIT_FINDINGS if converted and not write else 0)


def _write(text: ManifestText, after: str) -> None:
    """Writes a text where it came from, with the mark of UTF-8 that it began with; a file that stays is not touched."""
    if text.file is None:
        click.echo(after, nl=False)
    elif after != text.source.text:
        mark = BOM_UTF8 if text.content.startswith(BOM_UTF8) else b""
        write_in_place(text.file, text.content, mark + after.encode())


COMMANDS: tuple[click.Command, ...] = (convert_command,)
