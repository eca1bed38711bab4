"""`tricel examples`: triggers, events and deployment manifests to begin with, out of the installed package."""

from __future__ import annotations

import sys
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from ..exits import failed

_FOLDERS = {
    "triggers": ("tricel.examples", "triggers"),
    "events": ("tricel.examples", "events"),
    "deploy": ("tricel.k8s", "deploy"),
}
"""The folders that are written: from which package, and its folder."""


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def examples(folder: Path) -> None:
    """Write example triggers, events, and the manifests of the webhook to a new folder.

    Exit status: 0 they are written, 2 the folder holds something already, or cannot be written.

    \b
      tricel examples try-tricel
      tricel lint try-tricel/triggers
      tricel eval try-tricel/triggers --events try-tricel/events/orders.jsonl
      tricel run --triggers try-tricel/triggers --events try-tricel/events --out out
      kubectl apply -k try-tricel/deploy/crd
    """
    try:
        if folder.is_dir() and any(folder.iterdir()):
            raise FileExistsError(0, "it is not empty", str(folder))
        for name, (package, source) in _FOLDERS.items():
            count = _copy(resources.files(package) / source, folder / name)
            click.echo(f"{folder / name}: {count} files")
    except OSError as e:
        sys.exit(failed(e))


def _copy(source: Traversable, target: Path) -> int:
    """Copies what is in a folder; gives the number of files."""
    target.mkdir(parents=True, exist_ok=True)
    count = 0
    for entry in sorted(source.iterdir(), key=lambda e: e.name):
        if entry.is_dir():
            count += _copy(entry, target / entry.name)
        else:
            (target / entry.name).write_bytes(entry.read_bytes())
            count += 1
    return count


COMMANDS: tuple[click.Command, ...] = (examples,)
