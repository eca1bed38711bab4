"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click
from click.core import ParameterSource

from tricel.compiler import DIALECTS, Environment, Limits
from tricel.compiler.dialects import dialect_named
from tricel.compiler.environments.known import BY_OPTION
from tricel.compiler.environments.model import DECODINGS, Form
from tricel.compiler.limits import DEFAULT
from tricel.compiler.manifests.trigger_rules import TARGETS
from tricel.compiler.versions import LANGUAGES
from tricel.spark_backend.engines import DEFAULT_ENGINE, ENGINES, OWN_ENGINE, is_installed
from tricel.spark_backend.failure import RunError
from tricel.spark_backend.payload_schemas import FORMATS, PayloadSchema, declaration, with_schema

from ..exits import EXIT_FAILURE, print_diagnostics

_Command = TypeVar("_Command", bound=Callable[..., Any])


def repeatable(*names: str, help: str, **more: Any) -> Callable[[_Command], _Command]:  # noqa: A002
    """An option that may be given several times, and whose help says so."""
    return click.option(*names, multiple=True, help=f"{help.rstrip('.')}; may be given several times.", **more)


def _engine(context: click.Context, option: click.Parameter, name: str) -> str:
    if context.get_parameter_source("engine") is not ParameterSource.DEFAULT and not is_installed(name):
        raise click.BadParameter(f"{name} is not installed: pip install 'tricel[spark]'")
    return name


def _engine_option(default: str, help_: str) -> Callable[[_Command], _Command]:
    choice = click.Choice(sorted(ENGINES))
    return click.option("--engine", type=choice, default=default, show_default=True, callback=_engine, help=help_)


engine_option = _engine_option(DEFAULT_ENGINE, "What evaluates the parts of a filter that Spark cannot.")
evaluator_option = _engine_option(OWN_ENGINE, "What evaluates the filters.")


class DialectName(click.Choice[str]):
    """One of the dialects' names; for another one, what was probably meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, where there is such a dialect."""
        try:
            return dialect_named(str(value)).name
        except ValueError as e:
            self.fail(str(e), param, ctx)


expression_option = click.option(
    "-e", "--expression", metavar="TEXT", help="One filter instead of manifests: CEL, or what --dialect takes."
)
dialect_option = click.option(
    "--dialect",
    type=DialectName([row.name for row in DIALECTS]),
    help="What the filter of -e is written in, default: cel, or of each file, in place of what its suffix says. Of a "
    "dialect that is no text it is YAML or JSON.",
)
target_option = click.option(
    "--target",
    type=click.Choice(TARGETS),
    help="What the manifests are applied to: what an API server drops from a Knative Trigger is then an error.",
)
_CLOUD_EVENT = next(iter(BY_OPTION))


def chosen_environment(name: str, decodings: tuple[str, ...], *, bytes_read: bool = True) -> Environment:
    """The environment of an expression, with what its bytes are declared to be.

    A schema is read from its file; with `bytes_read` false there is no use for one. What is wrong with it ends the process.
    """
    environment = BY_OPTION[name]
    declared: set[str] = set()
    for text in decodings:
        root, _, form = text.partition("=")
        schema = schema_of(form)
        if schema is None and not environment.decodable:
            others = " or ".join(option for option, other in BY_OPTION.items() if other.decodable)
            raise click.UsageError(f"--decode needs --environment {others}")
        if root in declared:
            raise click.UsageError(f"--decode {text!r}: '{root}' is declared twice")
        declared.add(root)
        if schema is None and form not in DECODINGS:
            forms = ", ".join((*DECODINGS, *(f"{f}:FILE" for f in FORMATS)))
            raise click.UsageError(f"--decode {text!r} is not NAME=FORM; the forms are {forms}")
        if schema is not None and not bytes_read:
            raise click.UsageError(f"--decode {text!r}: lines of JSON are read as they are, not by a schema")
        try:
            if schema is None:
                environment = environment.decoded(root, Form(form))
            else:
                environment = with_schema(environment, root, schema)
        except ValueError as e:
            raise click.UsageError(f"--decode {text!r}: {e}") from None
        except RunError as e:
            _end(e)
    return environment


def chosen_schemas(decodings: tuple[str, ...]) -> tuple[tuple[str, PayloadSchema], ...]:
    """The schemas that are declared, by root."""
    found = ((root, schema_of(form)) for root, _, form in (text.partition("=") for text in decodings))
    return tuple((root, schema) for root, schema in found if schema is not None)


def schema_of(form: str) -> PayloadSchema | None:
    """The schema that a form names, from its file; None for a form that is none. What is wrong with it ends the process."""
    try:
        described = declaration(form)
        if described is None:
            return None
        try:
            content = Path(described.file).read_bytes()
        except OSError as e:
            message = f"the schema cannot be read: {e.strerror}"
            raise RunError("TRI624", message, described.file, "check the path") from None
        return PayloadSchema(described.format, content, described.detail, described.file)
    except RunError as e:
        _end(e)


def _end(e: RunError) -> NoReturn:
    print_diagnostics((e.diagnostic,), "text", err=True)
    raise SystemExit(EXIT_FAILURE) from None


def environment_options(command: _Command) -> _Command:
    """The options that say what an expression is about."""
    about = click.option(
        "--environment",
        type=click.Choice(list(BY_OPTION)),
        default=_CLOUD_EVENT,
        show_default=True,
        help="What filters are about, unless they say it themselves.",
    )
    decode = repeatable(
        "--decode",
        "decodings",
        metavar="NAME=FORM",
        help="What the bytes of a root are: json, the default, text or bytes, as in value=text; or of a schema: "
        "avro:FILE, avro+single-object:FILE, avro+confluent:FILE#ID, protobuf:FILE#MESSAGE",
    )
    return about(decode(command))


language_option = click.option(
    "--language-version",
    "language",
    type=click.Choice(tuple(LANGUAGES)),
    help="Take every filter as one of this version of the language, to see what would change.",
)
_LIMITS = {name.replace("_", "-"): value for name, value in asdict(DEFAULT).items()}
_ONLY_LESS = ("text", "depth", "nodes")
"""What the parser itself is bounded by."""


def _limits(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> Limits:
    limits = DEFAULT
    for text in given:
        name, separator, value = text.partition("=")
        if name not in _LIMITS or not separator:
            raise click.BadParameter(f"{text!r} is not NAME=N; the names are {', '.join(_LIMITS)}")
        if not (value.isascii() and value.isdecimal() and 0 < len(value) <= 18 and int(value)):
            raise click.BadParameter(f"{text!r}: a limit is a whole number from 1")
        if name in _ONLY_LESS and int(value) > _LIMITS[name]:
            raise click.BadParameter(f"{text!r}: at most {_LIMITS[name]}")
        limits = replace(limits, **{name.replace("-", "_"): int(value)})
    return limits


limit_option = repeatable(
    "--limit",
    "limits",
    metavar="NAME=N",
    callback=_limits,
    help="What one filter may be, may cost, and the sizes that its cost is estimated from (defaults: "
    + ", ".join(f"{name}={value}" for name, value in _LIMITS.items())
    + ")",
)
