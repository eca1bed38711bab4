"""Options that several commands have."""

from __future__ import annotations

from dataclasses import asdict, replace

import click

from tricel.compiler import Limits
from tricel.compiler.limits import DEFAULT
from tricel.spark_backend.engines import DEFAULT_ENGINE, ENGINES

engine_option = click.option(
    "--engine",
    type=click.Choice(sorted(ENGINES)),
    default=DEFAULT_ENGINE,
    show_default=True,
    help="What evaluates the parts of a filter that Spark cannot.",
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


limit_option = click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=N",
    callback=_limits,
    help="What one filter may be, may cost, and the sizes that its cost is estimated from; may be given several times. "
    "Defaults: " + ", ".join(f"{name}={value}" for name, value in _LIMITS.items()) + ".",
)
