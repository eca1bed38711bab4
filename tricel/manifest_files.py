"""The manifest files of a folder, and those of single filters, each once: links followed, and what git ignores left out where that is asked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tricel.compiler import Diagnostic, Source
from tricel.compiler.dialects import BY_SUFFIX, Dialect
from tricel.compiler.manifests.schema_validation import HOCON_SUFFIXES
from tricel.compiler.source import NOWHERE
from tricel.spark_backend.storage.links import walked

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_SUFFIXES = frozenset({".yaml", ".yml", ".json", *HOCON_SUFFIXES, *BY_SUFFIX})
_GIT = ".git"


@dataclass(frozen=True)
class Found:
    """Manifest files in order, and warnings of links that are not followed."""

    files: tuple[Path, ...]
    warnings: tuple[Diagnostic, ...] = ()


def find(path: Path, *, ignoring: bool = False, dialect: Dialect | None = None) -> Found:
    """The manifest files at a path: itself, or those below a folder, each once by whatever links it is reached.

    Files of single filters, which have the suffix of a dialect, are among them; with a `dialect`, its own files alone.

    A mounted ConfigMap has its files once more below a folder whose name begins with `..`, which is passed over, as
    `.git` is. With `ignoring` so is what the `.gitignore` files of the folder, of those below it and of those above it
    in the same repository name; a folder that they name itself is read all the same, since it was asked for.

    Raises:
        OSError: where a folder cannot be read.
    """
    if not path.is_dir():
        return Found((path,))
    suffixes = _SUFFIXES if dialect is None else {dialect.suffix} - {""}

    def wanted(file: str) -> bool:
        return Path(file).suffix in suffixes

    ignored = _IgnoredBelow(path)

    def left_out(folder: str, name: str, is_folder: bool) -> bool:
        if name == _GIT or name.startswith(".."):
            return True
        entry = Path(folder, name)
        return ignoring and entry.exists() and _is_ignored(entry, is_folder, ignored.within(Path(folder)))

    found = walked(path, left_out, _refused)
    back = (_not_followed(link, "leads back to a folder that it is in") for link in found.circles)
    broken = (_not_followed(link, "leads to nothing, or to itself") for link in found.broken if wanted(link))
    return Found(_each_once(filter(wanted, found.files)), (*back, *broken))


def _refused(error: OSError) -> None:
    raise error


def _each_once(files: Iterable[str]) -> tuple[Path, ...]:
    """The files in order, each by itself rather than by a link."""
    by_identity: dict[tuple[int, int], Path] = {}
    for file in sorted(map(Path, files), key=Path.is_symlink):
        status = file.stat()
        by_identity.setdefault((status.st_dev, status.st_ino), file)
    return tuple(sorted(by_identity.values()))


def _not_followed(link: str, what: str) -> Diagnostic:
    """TRI307 about a link."""
    message = f"the link to '{os.readlink(link)}' {what}, and is not followed"
    return Diagnostic("TRI307", message, Source("", str(Path(link))), NOWHERE, "remove it, or mend it")


@dataclass(frozen=True)
class _Ignored:
    """One `.gitignore`: its patterns, and the folder that they are relative to."""

    folder: Path
    spec: GitIgnoreSpec

    def verdict(self, path: Path, is_folder: bool) -> bool | None:
        """Whether the path is named (True), excepted (False), or not spoken of."""
        relative = Path(os.path.abspath(path)).relative_to(self.folder).as_posix()
        return self.spec.check_file(f"{relative}/" if is_folder else relative).include


@dataclass
class _IgnoredBelow:
    """What the `.gitignore` files name in the folders below one."""

    top: Path
    _known: dict[Path, tuple[_Ignored, ...]] = field(default_factory=dict)

    def within(self, folder: Path) -> tuple[_Ignored, ...]:
        """Those that speak of what is in a folder, the uppermost first."""
        if folder not in self._known:
            around = _above(self.top) if folder == self.top else self.within(folder.parent)
            self._known[folder] = (*around, *_patterns(Path(os.path.abspath(folder))))
        return self._known[folder]


def _is_ignored(path: Path, is_folder: bool, ignored: tuple[_Ignored, ...]) -> bool:
    """As git takes it: the nearest `.gitignore` that speaks of the path decides."""
    verdicts = (each.verdict(path, is_folder) for each in reversed(ignored))
    return next((v for v in verdicts if v is not None), False)


def _above(path: Path) -> tuple[_Ignored, ...]:
    """The `.gitignore` files above a folder, up to that of its repository, the uppermost first."""
    here = Path(os.path.abspath(path))
    folders = list(_up_to_the_repository(here))
    found = tuple(ignored for folder in reversed(folders[1:]) for ignored in _patterns(folder))
    inside = [*folders[:-1]]
    return () if any(_is_ignored(each, True, _for(each, found)) for each in inside) else found


def _for(path: Path, ignored: tuple[_Ignored, ...]) -> tuple[_Ignored, ...]:
    return tuple(each for each in ignored if each.folder in path.parents)


def _up_to_the_repository(path: Path) -> Iterator[Path]:
    """The folder and those above it, ending with the one that holds `.git`; itself alone where none does."""
    above = [path, *path.parents]
    top = next((n for n, folder in enumerate(above) if (folder / _GIT).exists()), 0)
    yield from above[: top + 1]


def _patterns(folder: Path) -> Iterator[_Ignored]:
    file = folder / ".gitignore"
    if file.is_file():
        from pathspec import GitIgnoreSpec  # of no use to Spark's workers, which may lack it

        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        yield _Ignored(folder, GitIgnoreSpec.from_lines(lines))
