"""What Spark's executors need of tricel, as files that Spark sends them: an archive of modules, or an environment."""

from __future__ import annotations

import io
import os
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath

PACKAGES = ("tricel", "tricel.compiler", "tricel.grammar", "tricel.k8s", "tricel.spark_backend")
"""Ours: in an editable installation the later ones are not inside the first."""
PURE = {"lark": "lark", "yaml": "pyyaml"}
"""Packages in pure Python that ours import in a worker, and the distributions that they come from."""
NEEDED = ("cel-expr-python", "cel-python", "google-re2", "lark", "pandas", "pyarrow", "pyyaml")
"""Distributions that a worker needs beside Spark's own; theirs come too."""

_KEPT = (".py", ".lark", ".typed")
_LEFT_OUT = ("pandas/tests/", "pyarrow/include/", "pyarrow/tests/")
_OLDEST = (1980, 1, 1, 0, 0, 0)


class NotPackedError(ValueError):
    """Something that an archive must hold is not installed here."""


def write_bundle(out: Path) -> int:
    """Writes a ZIP archive of tricel and of what it imports that is pure Python; gives the number of modules.

    The archive is for `addPyFile`, `--py-files` and `addArtifacts(..., pyfile=True)`. The same installation gives the
    same bytes. Compiled packages are not in it, since Python does not import them from an archive.

    Raises:
        NotPackedError: where a package is not installed.
        OSError: where the file cannot be written.
    """
    files = _ours()
    for package, distribution in PURE.items():
        files |= _modules(package) | _about(distribution)
    with _replacing(out) as target, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _OLDEST)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, content)
    return sum(name.endswith(".py") for name in files)


def write_environment(out: Path, python: str = "") -> int:
    """Writes a gzipped tar archive of an environment for `spark.archives`; gives the number of distributions in it.

    It holds tricel, everything that it needs in a worker, and `bin/python`, a link to `python`: the path that the
    executors have an interpreter at, of this release of Python; empty stands for the path of the one here.

    Raises:
        NotPackedError: where a package is not installed.
        OSError: where a file cannot be read or written.
    """
    interpreter = python or os.path.realpath(sys.executable)
    found = _closure(NEEDED)
    site = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    configuration = f"home = {PurePosixPath(interpreter).parent}\ninclude-system-site-packages = false\n"
    with _replacing(out) as target, tarfile.open(fileobj=target, mode="w:gz", compresslevel=1) as archive:
        _link(archive, "bin/python", interpreter)
        _link(archive, "bin/python3", "python")
        _add(archive, "pyvenv.cfg", configuration.encode())
        for name, content in sorted(_ours().items()):
            _add(archive, f"{site}/{name}", content)
        for distribution in found.values():
            for file in distribution.files or []:
                if ".." in file.parts or "__pycache__" in file.parts or file.as_posix().startswith(_LEFT_OUT):
                    continue
                path = Path(str(file.locate()))
                if path.is_file():
                    archive.add(path, f"{site}/{file.as_posix()}", filter=_anonymous)
    return len(found) + 1


def _ours() -> dict[str, bytes]:
    files = _about("tricel")
    for package in PACKAGES:
        files |= _modules(package)
    return files


def _modules(package: str) -> dict[str, bytes]:
    """The modules and grammars of a package, and of those inside it, by their names in an archive."""
    try:
        root = resources.files(package)
    except ModuleNotFoundError as e:
        raise NotPackedError(f"the package '{package}' is not installed") from e
    return dict(_walk(root, package.replace(".", "/")))


def _walk(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            if entry.name not in ("__pycache__", "examples"):
                yield from _walk(entry, f"{name}/{entry.name}")
        elif entry.name.endswith(_KEPT):
            yield f"{name}/{entry.name}", entry.read_bytes()


def _about(name: str) -> dict[str, bytes]:
    """What says which release it is and under which licence."""
    distribution = _distribution(name)
    folder = f"{name.replace('-', '_')}-{distribution.version}.dist-info"
    files = {f"{folder}/METADATA": (distribution.read_text("METADATA") or "").encode()}
    for file in distribution.files or []:
        if ".dist-info" in file.parts[0] and re.search("LICEN[CS]E|NOTICE|COPYING", file.name, re.IGNORECASE):
            files["/".join((folder, *file.parts[1:]))] = Path(str(file.locate())).read_bytes()
    return files


def _distribution(name: str) -> metadata.Distribution:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError as e:
        raise NotPackedError(f"'{name}' is not installed") from e


def _closure(names: tuple[str, ...]) -> dict[str, metadata.Distribution]:
    """The distributions, and the installed ones among those that they require, by normalised name."""
    found: dict[str, metadata.Distribution] = {}
    left = [(n, True) for n in names]
    while left:
        name, needed = left.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in found:
            continue
        try:
            found[key] = _distribution(name)
        except NotPackedError:
            if needed:
                raise
            continue
        # extras are not asked for; what another platform needs is not installed on this one
        required = [r for r in found[key].requires or [] if "extra ==" not in r]
        left += [(m[0], False) for r in required if (m := re.match(r"[\w.-]+", r))]
    return found


def _link(archive: tarfile.TarFile, name: str, target: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, target
    archive.addfile(entry)


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


@contextmanager
def _replacing(out: Path) -> Iterator[io.BufferedWriter]:
    """A file that takes its place when it is whole."""
    part = out.with_name(f"{out.name}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
