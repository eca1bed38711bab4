"""Files of a run through Spark's own file systems: what there is to read, and the few that are not tables."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from tricel.compiler.diagnostics import Diagnostic
from tricel.compiler.source import NOWHERE, Source

from ..failure import RunError
from ..frames import is_classic
from ..spark_errors import cause, unreadable
from .links import Real, below, each_once, leads_elsewhere

FORMATS = ("auto", "jsonl", "json", "parquet")
_SUFFIXES = {"jsonl": ("jsonl", "ndjson", "txt"), "json": ("json",), "parquet": ("parquet",)}
_TEXT = {suffix for kind in ("jsonl", "json") for suffix in _SUFFIXES[kind]}
_SHOWN = 3
_LITTLE = 16 << 20
"""Bytes of JSON text that are little work."""
_PACKED = 8
"""How much more there is in a byte of Parquet, or of gzip, than in one of JSON text."""
_GLOB = re.compile(r"([\\*?\[\]{}])")


@dataclass(frozen=True, slots=True)
class Inputs:
    """Files to read, by kind: JSON Lines, JSON documents, Parquet; and those that are left out.

    `ignored` are files whose name tells no kind, and hidden ones of a known kind where the file system is local. `links`
    lead to files that are read by another way, and are not followed.
    """

    lines: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """That files were left out, or links were not followed: how many, and the first of them."""
        found = []
        if self.ignored:
            found.append(self._left_out())
        if self.links:
            message = f"{_several(self.links, 'link', 'leads', 'lead')} to what is read already: {_some(self.links)}"
            found.append(Diagnostic("TRI610", message, Source("", self.links[0]), NOWHERE, "each file is read once"))
        return tuple(found)

    def _left_out(self) -> Diagnostic:
        message = f"{_several(self.ignored, 'file', 'is', 'are')} not read: {_some(self.ignored)}"
        help_ = (
            "say which format they have, or rename them: .jsonl, .ndjson, .json or .parquet, without '_' or '.' before, "
            "and without ':'"
        )
        return Diagnostic("TRI605", message, Source("", self.ignored[0]), NOWHERE, help_)


def _several(paths: Sequence[str], what: str, one: str, many: str) -> str:
    return f"{len(paths):,} {what}s {many}" if len(paths) > 1 else f"1 {what} {one}"


def _some(paths: Sequence[str]) -> str:
    names = ", ".join(f"'{path.rsplit('/', 1)[-1]}'" for path in paths[:_SHOWN])
    return f"{names}{', ...' if len(paths) > _SHOWN else ''}"


def find_inputs(spark: SparkSession, paths: Sequence[str | os.PathLike[str]], format: str = "auto") -> Inputs:  # noqa: A002
    """The files under `paths` (files, directories with all below them, globs), each once, sorted.

    With "auto" the suffix says what a file is (.jsonl .ndjson .txt, .json, .parquet; the JSON ones also with .gz).
    Raises RunError (TRI601) for a path that does not exist and when nothing is left to read.
    """
    walked = {p: below(Path(p).resolve()) for p in paths if Path(p).is_dir() and leads_elsewhere(Path(p))}
    files = {f"file:{f}" for found in walked.values() for f in found.files if _has_bytes(f)}
    files.update(_listing(spark, [_pattern(p) for p in paths if p not in walked]))
    links = {link for found in walked.values() for link in found.links}
    found = sort_inputs(files, format, hidden=hidden_below(paths), links=links)
    if not (found.lines or found.documents or found.tables):
        raise nothing_to_read(paths)
    return found


def nothing_to_read(paths: Sequence[str | os.PathLike[str]]) -> RunError:
    """What is said where there is no file of a known kind, or none with a byte in it."""
    help_ = "name files .jsonl, .ndjson, .json (also with .gz) or .parquet, or say which format they have"
    return RunError("TRI601", "there are no events to read here", ", ".join(map(str, paths)), help_)


def is_little(paths: Iterable[str | os.PathLike[str]]) -> bool:
    """Whether there is little to read, and all of it on this host, as far as names and sizes tell."""
    left = _LITTLE
    for file in _local_files(paths):
        if file is None:
            return False
        try:
            size = file.stat().st_size
        except OSError:
            continue
        left -= size if file.suffix[1:] in _TEXT else _PACKED * size
        if left < 0:
            return False
    return True


def _local_files(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Path | None]:
    """The files under the paths; None for one that is not on this host."""
    for given in paths:
        path = os.fspath(given)
        if "://" in path or path.startswith("file:"):
            yield None
        elif Path(path).exists():
            yield from _below(Path(path))
        else:
            found = glob(path)  # Spark's own globs know more signs
            yield from (f for name in found for f in _below(Path(name))) if found else (None,)


def _below(top: Path) -> Iterator[Path]:
    if top.is_dir():
        for folder, _, names in os.walk(top):
            yield from (Path(folder, name) for name in names)
    else:
        yield top


def sort_inputs(
    files: Iterable[str],
    format: str = "auto",  # noqa: A002
    *,
    hidden: Iterable[str] = (),
    links: Iterable[str] = (),
    top: str = "",
) -> Inputs:
    """The files by kind, as `find_inputs` gives them; those that are hidden are left out, and `links` were.

    A local file that several ways lead to, over links, is there once, by the shortest. `top` is a local folder of which
    `files` are some: a file of it that another way leads to is not among them, since it has its turn.
    """
    if format not in FORMATS:
        raise ValueError(f"format is one of {', '.join(FORMATS)}, not {format!r}")
    kinds: dict[str, list[str]] = {"jsonl": [], "json": [], "parquet": [], "": []}
    for path in sorted(files):
        kinds[format if format != "auto" else kind_of(path)].append(path)
    kinds[""] = sorted({*kinds[""], *hidden})
    real, found = Real(), set(links)
    for kind in ("jsonl", "json", "parquet"):
        here = {without_scheme(path): path for path in kinds[kind] if path.startswith("file:")}
        kept, more = each_once(list(here), real, top, lambda path, kind=kind: kind in (format, kind_of(f"file:{path}")))  # type: ignore[misc]
        kinds[kind] = [path for path in kinds[kind] if without_scheme(path) not in here.keys() - set(kept)]
        found |= more
    lines, documents, tables, ignored = (tuple(kinds[k]) for k in ("jsonl", "json", "parquet", ""))
    return Inputs(lines, documents, tables, ignored, tuple(sorted(found)))


def literal(path: str) -> str:
    """`path` so that Spark takes it by the letter and not as a glob."""
    return _GLOB.sub(r"\\\1", path)


def without_scheme(uri: str) -> str:
    """A local file's path, still quoted; Spark writes its URI with one slash or with three. Others stay as they are."""
    return re.sub("^file:/+", "/", uri)


def _pattern(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    if "://" in text or text.startswith("file:"):
        return text
    return literal(str(Path(text).resolve())) if Path(text).exists() else text


def kind_of(path: str) -> str:
    """The kind of a file by its name: jsonl, json or parquet; empty where the name tells none."""
    name = path.rsplit("/", 1)[-1].lower().removesuffix(".gz")
    if ":" in name and path.startswith("file:"):  # Hadoop cannot open it
        return ""
    for kind, suffixes in _SUFFIXES.items():
        if name.endswith(tuple(f".{s}" for s in suffixes)) and not (kind == "parquet" and path.lower().endswith(".gz")):
            return kind
    return ""


def hidden_below(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Files of a known kind below the local ones of these paths that Spark passes over because of a name's beginning."""
    found = []
    for top in {Path(p) for p in paths if Path(p).is_dir()}:
        for folder, _, names in os.walk(top):
            inner = Path(folder).relative_to(top).parts
            hidden = any(part.startswith(("_", ".")) for part in inner)
            found += [str(Path(folder, n)) for n in names if kind_of(n) and (hidden or n.startswith(("_", ".")))]
    return found


def _listing(spark: SparkSession, wanted: list[str]) -> list[str]:
    if not wanted:
        return []
    # Only the names are asked for, so no file is opened.
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    try:
        found = reader.load(wanted)
        return _files_here(spark, found) or sorted({row["path"] for row in found.select("path").collect()})
    except AnalysisException as e:
        if e.getCondition() != "PATH_NOT_FOUND":
            raise
        missing = (e.getMessageParameters() or {}).get("path", ", ".join(wanted))
        raise RunError("TRI601", "no such file or directory", missing, "check the path") from None
    except Py4JJavaError as e:  # no such file system, a name or a glob that it does not take
        raise unreadable(e, ", ".join(wanted)) from None


def _files_here(spark: SparkSession, found: DataFrame) -> list[str]:
    """The names that Spark has listed, without a query, which would be the first of the run and take seconds.

    Spark lists files without a byte and passes them over when it reads, so their sizes are asked for here; none where
    there is a file that is not on the driver's host.
    """
    if not is_classic(spark):
        return []
    uris = [without_scheme(uri) for uri in found.inputFiles()]
    if not all(uri.startswith("/") for uri in uris):
        return []
    return sorted(f"file:{path}" for path in map(unquote, uris) if _has_bytes(path))


def _has_bytes(path: str) -> bool:
    try:
        return Path(path).stat().st_size > 0
    except OSError:
        return True


def check_own(names: Collection[str], path: str, known: Collection[str], message: str, writer: str) -> None:
    """Raises RunError (TRI602) where one of the names in a directory is none of `writer`'s; hidden ones are nobody's."""
    foreign = sorted(n for n in names if n not in known and not n.startswith("."))
    if foreign:
        help_ = f"choose another directory: '{foreign[0]}' in it was not written by a {writer}"
        raise RunError("TRI602", message, path, help_)


def in_use(path: str) -> RunError:
    """What is said where a run or a stream has written into a directory before."""
    return RunError("TRI602", "the output directory holds an earlier run", path, "choose another, or overwrite it")


class Directory:
    """A directory on any file system that Spark can reach.

    On a local one no checksums are kept beside its files: a process that ends between the two would leave a file that
    cannot be read.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        jvm: Any = spark._jvm
        context: Any = spark._jsc
        self.spark = spark
        self.path = path.rstrip("/") or "/"
        self._jvm = jvm
        self._path = jvm.org.apache.hadoop.fs.Path(self.path)
        try:
            self._fs = self._path.getFileSystem(context.hadoopConfiguration())
        except Py4JJavaError as e:
            help_ = "choose another directory, or give Spark what its file system needs"
            raise RunError("TRI602", f"the output directory cannot be had: {cause(e)}", self.path, help_) from None
        if jvm.java.lang.Class.forName("org.apache.hadoop.fs.ChecksumFileSystem").isInstance(self._fs):
            self._fs = self._fs.getRawFileSystem()

    @property
    def uri(self) -> str:
        """The directory's full name: absolute, with its file system."""
        return str(self._path.makeQualified(self._fs.getUri(), self._fs.getWorkingDirectory()).toString())

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keeps every other process, and every other run of this one, from holding the directory, which is made.

        The hold ends with the process at the latest, and leaves nothing. A file system that is not local, or that cannot
        lock directories, holds nothing.

        Raises:
            RunError: (TRI602) where another holds it.
        """
        if self._fs.getUri().getScheme() != "file":
            yield
            return
        if self.names() is None:
            self.create()
        full = self._path.makeQualified(self._fs.getUri(), self._fs.getWorkingDirectory())
        handle = os.open(str(full.toUri().getPath()), os.O_RDONLY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                message = "another process writes into the output directory"
                raise RunError("TRI602", message, self.path, "wait for its end, or choose another directory") from None
            except OSError:  # network file systems may lock files only
                pass
            yield
        finally:
            os.close(handle)

    def _child(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._path, name) if name else self._path

    def names(self, within: str = "") -> tuple[str, ...] | None:
        """The names of its entries, or of those of a directory in it; None when there is no such directory."""
        path = self._child(within)
        if not self._fs.exists(path):
            return None
        if not self._fs.getFileStatus(path).isDirectory():
            raise RunError("TRI602", "the output is a file, not a directory", self.path, "choose another directory")
        return tuple(status.getPath().getName() for status in self._fs.listStatus(path))

    def create(self, name: str = "") -> None:
        """Makes the directory, or one in it, and those above it.

        Raises:
            RunError: (TRI602) where that is not allowed, or a file is in the way.
        """
        try:
            why = "" if self._fs.mkdirs(self._child(name)) else "it is not allowed, or there is no such place"
        except Py4JJavaError as e:
            why = cause(e)
        if why:
            message = f"the output directory cannot be made: {why}"
            raise RunError("TRI602", message, str(self._child(name)), "choose a directory that can be written to")

    def delete(self, name: str) -> None:
        """Removes one entry with everything below it, if it is there."""
        self._fs.delete(self._child(name), True)

    def has(self, name: str) -> bool:
        """Whether there is such an entry."""
        return bool(self._fs.exists(self._child(name)))

    def move(self, name: str, to: str) -> None:
        """Renames one entry, which may stand in another; nothing happens where it is not there.

        Raises:
            OSError: where there is an entry of the new name, or the file system cannot rename.
        """
        if not self.has(name):
            return
        if self.has(to) or not self._fs.rename(self._child(name), self._child(to)):
            raise OSError(f"cannot rename '{name}' to '{to}' in {self.path}")

    def read(self, name: str) -> str | None:
        """The text of one UTF-8 file; None where it is not there."""
        if not self.has(name):
            return None
        stream = self._fs.open(self._child(name))
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """Writes one UTF-8 text file, replacing it: whoever reads finds the old text or the new, whole.

        Where the file system does not rename over a file, there is for a moment none.
        """
        folder, _, last = name.rpartition("/")
        new = f"{folder}/.{last}.new" if folder else f".{last}.new"
        stream = self._fs.create(self._child(new), True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        if not self._fs.rename(self._child(new), self._child(name)):
            self.delete(name)
            if not self._fs.rename(self._child(new), self._child(name)):
                raise OSError(f"cannot rename '{new}' to '{name}' in {self.path}")
