"""Options that several commands have."""

from __future__ import annotations

import click

from tricel.spark_backend.engines import DEFAULT_ENGINE, ENGINES

engine_option = click.option(
    "--engine",
    type=click.Choice(sorted(ENGINES)),
    default=DEFAULT_ENGINE,
    show_default=True,
    help="What evaluates the parts of a filter that Spark cannot.",
)
