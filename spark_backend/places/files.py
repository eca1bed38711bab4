"""Files: a source is a folder, a file or a glob of them; a sink is a folder."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from tricel.compiler import MQTT_MESSAGE

from ..events.encodings import chosen_encoding, refuse_texts
from ..events.readers import EventFiles, find_events
from ..failure import RunError, Warn
from ..fanout.join import DELIVERED, OUTCOME
from ..spark_errors import SPARK_FAILURES, unreadable
from ..storage.files import hidden_below, literal, sort_inputs, without_scheme
from ..storage.links import below, leads_elsewhere
from .model import PAIRS, Staged, Told
from .options import DEFAULT, PlaceOptions, Rate
from .place import Place
from .rows import chosen, reader_of

# Spark's source otherwise passes over files that come late: more than a week older than the newest it has seen.
_MAX_AGE = "36500d"
_SCHEMA = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"


_GLOB = re.compile(r"[*?\[{]")


@dataclass(frozen=True)
class Files:
    """A folder, or a glob, that files are put into: all that `read_events` reads. A file must be moved in, whole.

    Spark streams the names of new files, and those of a batch are read as a batch run reads them.
    """

    path: str
    rate: Rate = DEFAULT.rate
    more: Sequence[str] = ()
    """Other paths that a batch run reads with it."""
    options: PlaceOptions = DEFAULT

    @property
    def name(self) -> str:
        """The absolute path, where it is a local one; else what was given."""
        return str(Path(self.path).resolve()) if Path(self.path).exists() else self.path

    @property
    def stores(self) -> frozenset[str]:
        """Nothing: files are told by their places."""
        return frozenset()

    def holds(self, path: str) -> bool:
        """Whether it is the folder or below it, or the glob names it or one above; not where Spark passes it over."""
        if "://" in path or "://" in self.path:
            return f"{path}/".startswith(f"{self.path.rstrip('/')}/")
        here = Path(path.removeprefix("file:")).resolve()
        if not Path(self.path).exists():
            return any(fnmatch(str(p), str(Path(self.path).absolute())) for p in (here, *here.parents))
        inner = here.relative_to(self.name).parts if here.is_relative_to(self.name) else ("_",)
        return not any(part.startswith(("_", ".")) for part in inner)

    def batch(self, spark: SparkSession, warn: Warn) -> EventFiles:
        """The files that are there."""
        paths = [self.path, *self.more]
        return self._chosen(find_events(spark, paths, warn=warn), paths)

    def _chosen(self, events: EventFiles, paths: Sequence[str]) -> EventFiles:
        """What is wanted of the events."""
        where, about = self.options.where, self.options.environment
        if not about.record:
            texts = (*events.found.lines, *events.found.documents)
            if texts and about.name != MQTT_MESSAGE.name:
                help_ = "give Parquet files, a table or Kafka, or leave out --environment"
                raise RunError("TRI601", f"{about.words.many} are not read from JSON text", texts[0], help_)
            events = replace(events, wanted=())
        encoding = chosen_encoding(self.options.encoding)
        if encoding is not None:
            for text in (*events.found.lines, *events.found.documents)[:1]:
                refuse_texts(encoding.name, text)
            events = replace(events, wanted=(), either=encoding.columns)
        events = replace(events, reader=reader_of(self.options))
        if where:
            events = replace(events, choose=lambda rows: chosen(rows, where), bases=[_base(path) for path in paths])
        return events

    def rows(self, spark: SparkSession) -> DataFrame:
        """The names of files; none is opened."""
        options = {"recursiveFileLookup": "true", "maxFileAge": _MAX_AGE, **self.rate.options()}
        path = literal(self.name) if Path(self.path).exists() else self.path
        self._refuse_circles()
        try:
            return spark.readStream.format("binaryFile").schema(_SCHEMA).options(**options).load(path).select("path")
        except SPARK_FAILURES as e:
            if isinstance(e, AnalysisException) and e.getCondition() == "PATH_NOT_FOUND":
                raise RunError("TRI601", "no such folder", self.path, "make it, or check the path") from None
            raise unreadable(e, self.path) from None

    def _refuse_circles(self) -> None:
        """Raises RunError (TRI601) where Spark would list the folder without end: each of several circles in each other."""
        top = Path(self.name)
        circles = below(top).circles if top.is_dir() and leads_elsewhere(top) else []
        if len(circles) > 1:
            names = ", ".join(f"'{name}'" for name in circles[:3])
            message = f"links lead round in circles: {names}"
            raise RunError("TRI601", message, self.path, "remove them: Spark follows each within each")

    def events(self, spark: SparkSession, batch: DataFrame, observer: Told) -> EventFiles:
        """What is in the batch's files, each kind by itself. Files whose names tell no format are told of, and left."""
        top = self.name if Path(self.path).is_dir() else ""
        found = sort_inputs((row["path"] for row in batch.collect()), top=top)
        if found.warnings:
            observer.warned(found.warnings)
        return self._chosen(EventFiles(spark, found, apart=True), [self.path])

    def hidden(self, own: Collection[str] = ()) -> list[str]:
        """Files there now that Spark passes over because of a name's beginning; not those below the places `own`."""
        places = [Path(place).resolve() for place in own if "://" not in place]
        found = hidden_below([self.path])
        return [f for f in found if not any(Path(f).resolve().is_relative_to(p) for p in places)]


@dataclass(frozen=True)
class Folder:
    """A folder that deliveries are files in, beside the account."""

    folder: str

    @property
    def name(self) -> str:
        """The folder's path."""
        return self.folder

    @property
    def stores(self) -> frozenset[str]:
        """Nothing: files are told by their places."""
        return frozenset()

    @property
    def with_record(self) -> bool:
        """False: files hold events."""
        return False

    def check(self, spark: SparkSession) -> None:
        """Nothing: the run makes the folder, and says where it cannot."""

    def prepare(self, staged: Staged) -> None:
        """Nothing: files of any columns stand beside each other."""

    def publish(self, staged: Staged, *, again: bool) -> None:
        """Moves what is staged to its place, by one step; what was moved before is left as it is."""
        move(staged, f"{PAIRS}/{OUTCOME}={DELIVERED}", DELIVERED)


def move(staged: Staged, name: str, to: str) -> None:
    """Moves one staged directory to `to`, or to the batch's in it, by one step; nothing where it is not there."""
    if staged.directory.has(f"{staged.path}/{name}"):
        if staged.within:
            staged.directory.create(to)
        staged.directory.move(f"{staged.path}/{name}", f"{to}/{staged.within}" if staged.within else to)


def source(places: Sequence[Place], options: PlaceOptions) -> Files:
    """The files at the places."""
    first, *others = (place.name for place in places)
    return Files(first, options.rate, tuple(others), options)


def _base(path: str) -> str:
    """The folder from which on the names of folders tell columns: what of the path stands before a glob."""
    top = path if _GLOB.search(path) is None or Path(path).exists() else _GLOB.split(path)[0].rpartition("/")[0]
    return top.rstrip("/") if "://" in top else without_scheme(f"file:{Path(without_scheme(top)).resolve()}")


def sink(place: Place, options: PlaceOptions) -> Folder:
    """The folder."""
    return Folder(place.name)
