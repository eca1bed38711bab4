"""Files below local folders, each once: where symbolic links lead to what is there by another way, or round in circles."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Found:
    """Files below a folder by their paths, and the links to folders that were not followed, since they were there already.

    `circles` are those of them that lead to a folder that they are in: whoever follows links finds no end there.
    `broken` are links that lead to nothing, or to themselves.
    """

    files: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    circles: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


def leads_elsewhere(top: Path) -> bool:
    """Whether there is a link to a folder below a local folder."""
    return any(Path(folder, name).is_symlink() for folder, folders, _ in os.walk(top) for name in folders)


def below(top: Path) -> Found:
    """What Spark would list below a local folder, each folder once: by itself rather than over a link."""
    return walked(top, lambda folder, name, is_folder: is_passed_over(name))


def walked(
    top: Path, left_out: Callable[[str, str, bool], bool], refused: Callable[[OSError], None] | None = None
) -> Found:
    """What is below a local folder, each folder once: by itself rather than over a link.

    `left_out` is asked of each name in a folder, with whether it is a folder itself. `refused` is told of folders that
    cannot be read; without it they are passed over.
    """
    found, seen = Found(), set[str]()
    ways: deque[tuple[str, tuple[str, ...]]] = deque([(str(top), ())])
    while ways:
        start, passed = ways.popleft()
        if start != str(top) and os.path.realpath(start) in seen:
            found.links.append(start)
            if any(Path(place).is_relative_to(os.path.realpath(start)) for place in passed):
                found.circles.append(start)
            continue
        for folder, folders, names in os.walk(start, onerror=refused):
            real = os.path.realpath(folder)
            if real in seen:
                folders.clear()
                continue
            seen.add(real)
            folders[:] = sorted(name for name in folders if not left_out(folder, name, True))
            ways += ((os.path.join(folder, n), (*passed, real)) for n in folders if os.path.islink(f"{folder}/{n}"))
            paths = [os.path.join(folder, name) for name in sorted(names) if not left_out(folder, name, False)]
            found.files += filter(os.path.isfile, paths)
            found.broken += (path for path in paths if os.path.islink(path) and not os.path.exists(path))
    return found


def is_passed_over(name: str) -> bool:
    """Whether Spark does not list what has this name."""
    return (name.startswith("_") and "=" not in name) or name.startswith(".") or name.endswith("._COPYING_")


class Real:
    """Where local files are in truth, past all links; folders are remembered."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}

    def of(self, path: str) -> str:
        """The real path of a file."""
        folder, name = os.path.split(path)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        real = os.path.join(self._folders[folder], name)
        return os.path.realpath(real) if os.path.islink(real) else real


def each_once(
    files: Sequence[str], real: Real, top: str = "", fits: Callable[[str], bool] = lambda path: True
) -> tuple[list[str], set[str]]:
    """Local files without those that are there by another way, too, and the links by which they would be.

    `top` is a folder of which `files` are some: one that another way leads to, and that `fits` there, has its own turn.
    """
    ways: dict[str, list[str]] = {}
    for file in files:
        ways.setdefault(real.of(file), []).append(file)
    kept, links = set[str](), set[str]()
    for where, found in ways.items():
        first = min(found, key=lambda f: (len(f), f))
        elsewhere = bool(top) and first != where and _is_visible(where, top) and fits(where)
        if not elsewhere:
            kept.add(first)
        links.update(_link(f, where if elsewhere else first) for f in found if elsewhere or f != first)
    return [f for f in files if f in kept], links


def _is_visible(path: str, top: str) -> bool:
    """Whether Spark comes to a real path when it lists a folder."""
    return Path(path).is_relative_to(top) and not any(map(is_passed_over, Path(path).relative_to(top).parts))


def _link(way: str, other: str) -> str:
    """The first link on a way to a file that is not on the other way to it."""
    path = Path(way)
    steps = (p for p in (*reversed(path.parents), path) if p.is_symlink() and not Path(other).is_relative_to(p))
    return str(next(steps, path))
