"""The command line: the group that the commands are in."""

from __future__ import annotations

import click

from .commands import cluster, convert, examples, filters, spark, union


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="tricel")
def main() -> None:
    """Compile event filters and run them on Apache Spark.

    A filter may be CEL or any form that a Knative Trigger takes. tricel turns it into one CEL expression, checks it,
    and runs it as Spark SQL wherever that means exactly the same.

    Exit status of every command: 0 it is done, 1 a filter or manifest is wrong, 2 the command could not do its work.

    \b
    Write examples to begin with:             tricel examples try-tricel
    Check manifests before they are merged:   tricel lint triggers/
    See the CEL and the SQL of a filter:      tricel compile -e 'ce.type == "order.created"'
    Try a filter on events, without Spark:    tricel eval -e 'data.total > 100.0' < events.jsonl
    Write a filter in another dialect:        tricel convert --to cel --dialect labels -e 'env in (a, b)'
    Run every trigger over stored events:     tricel run --triggers triggers/ --events events/ --out out/
    Tell a source what to send at all:        tricel union triggers/
    Go on with events that arrive:            tricel run --stream --triggers triggers/ --events in/ --out out/
    What a diagnostic means:                  tricel rule TRI204
    Refuse bad filters in a cluster:          tricel webhook --certificate tls.crt --key tls.key
    Give Spark's executors what they need:    tricel bundle --out tricel-bundle.zip
    """


_MODULES = (filters, convert, union, spark, cluster, examples)
for command in [command for module in _MODULES for command in module.COMMANDS]:
    main.add_command(command)
