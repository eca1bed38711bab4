"""Paths of events and of outputs, looked at before Spark starts, as far as this host can tell.

What is on another file system only Spark can look at, and says the same of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from ..events.encodings import refuse_texts
from ..failure import RunError
from ..storage.files import kind_of, nothing_to_read
from ..storage.links import is_passed_over
from .options import PlaceOptions
from .place import SCHEME, Place, Use

_CONFIGURED = (
    "PYSPARK_GATEWAY_PORT",
    "SPARK_REMOTE",
    "SPARK_HOME",
    "SPARK_CONF_DIR",
    "HADOOP_CONF_DIR",
    "YARN_CONF_DIR",
)
"""Variables that say that Spark is configured elsewhere, where a path without a scheme may be of another file system."""
_GLOB = re.compile(r"[*?\[\]{}\\]")


def check(places: Sequence[Place], options: PlaceOptions, use: Use) -> None:
    """Raises RunError where it is plain that no events can be read (TRI601), or nothing can be written (TRI602)."""
    if use is Use.WRITE:
        for place in places:
            check_output(place.name)
        return
    inputs = []
    for path in (place.name for place in places):
        local = local_path(path)
        if local is None:
            return
        if not os.path.lexists(local):
            if _GLOB.search(path):
                return
            raise RunError("TRI601", "no such file or directory", path, "check the path")
        if not os.access(local, os.R_OK | (os.X_OK if local.is_dir() else 0)):
            raise RunError("TRI601", "this cannot be read: permission denied", path, "check whose it is, and its mode")
        if not local.is_dir() and kind_of(f"file:{local}") in ("jsonl", "json"):
            refuse_texts(options.encoding, path)
        inputs.append(local)
    if use is not Use.STREAM and not any(map(_may_hold_events, inputs)):
        raise nothing_to_read([place.name for place in places])


def check_output(out: str) -> None:
    """Raises RunError (TRI602) where it is plain that nothing can be written to a directory."""
    local = local_path(out)
    if local is None:
        return
    there = next(p for p in (local, *local.parents) if os.path.lexists(p))
    help_ = "choose a directory that can be written to"
    if not there.is_dir():
        if there == local:
            raise RunError("TRI602", "the output is a file, not a directory", out, "choose another directory")
        raise RunError("TRI602", f"the output directory cannot be made: '{there}' is not a directory", out, help_)
    if not os.access(there, os.W_OK | os.X_OK):
        raise RunError("TRI602", f"the output directory cannot be written to: no permission for '{there}'", out, help_)


def names_in(out: str) -> Collection[str] | None:
    """The names in a local directory; None where it is not there, or elsewhere."""
    local = local_path(out)
    return tuple(os.listdir(local)) if local is not None and local.is_dir() else None


def local_path(path: str) -> Path | None:
    """A path on this host, absolute; None for another file system, and where Spark's settings may name one for it."""
    scheme = SCHEME.match(path)
    if scheme is None or os.path.lexists(path):
        return None if any(map(os.environ.get, _CONFIGURED)) else Path(path).absolute()
    if scheme[1].lower() != "file":
        return None
    return Path(re.sub("^file:/*", "/", path))


def _may_hold_events(place: Path) -> bool:
    """Whether there is a file of a known kind, or a link to a folder, which only Spark's listing follows."""
    if not place.is_dir():
        return bool(kind_of(f"file:{place}"))
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if not is_passed_over(name)]
        if any(kind_of(f"file:{folder}/{name}") for name in names if not is_passed_over(name)):
            return True
        if any(os.path.islink(f"{folder}/{name}") for name in folders):
            return True
    return False
