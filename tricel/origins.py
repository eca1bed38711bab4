"""Where a stream's triggers come from: files that are looked at again, or a cluster that is followed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tricel.cluster_triggers import ClusterChoice
from tricel.compiler import CLOUD_EVENT, Environment, Limits
from tricel.compiler.limits import DEFAULT
from tricel.manifest_files import find
from tricel.spark_backend.engines import DEFAULT_ENGINE
from tricel.spark_backend.run.streaming.origins import Loaded
from tricel.trigger_watch import TriggerWatch
from tricel.triggers import read_triggers, warning_of_none


@dataclass
class FileOrigin:
    """Manifests in files and folders: a `TriggerOrigin`. They are read when a file's times or size have changed, and
    compiled when its content has."""

    paths: Sequence[str]
    engine: str = DEFAULT_ENGINE
    limits: Limits = DEFAULT
    environment: Environment = CLOUD_EVENT
    _looks: tuple[object, ...] | None = None
    _content: str = ""

    def poll(self) -> Loaded | None:
        """All triggers, where a file has changed, come or gone; None where none has.

        Raises:
            OSError: where a path is not there or cannot be read.
        """
        files = [file for path in self.paths for file in find(Path(path)).files]
        looks = tuple(_look(file) for file in files)
        if looks == self._looks:
            return None
        digest = hashlib.sha256()
        for file in files:
            digest.update(f"{file}\0".encode(errors="surrogateescape") + hashlib.sha256(file.read_bytes()).digest())
        content = digest.hexdigest()
        if content == self._content:
            self._looks = looks
            return None
        # A file that changes while it is read has another look the next time.
        triggers, diagnostics = read_triggers(
            self.paths, environment=self.environment, engine=self.engine, limits=self.limits
        )
        loaded = Loaded(triggers, diagnostics + warning_of_none(triggers, diagnostics, self.paths))
        self._looks, self._content = looks, content
        return loaded


def _look(file: Path) -> tuple[object, ...]:
    s = file.stat()
    return str(file), s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns


@dataclass
class ClusterOrigin:
    """The Triggers of a cluster, followed from a thread of its own: a `TriggerOrigin`.

    Each stands by itself: where one no longer compiles, what it was goes on, and the others change as they will.
    """

    choice: ClusterChoice
    engine: str = DEFAULT_ENGINE
    limits: Limits = DEFAULT
    environment: Environment = CLOUD_EVENT
    watch: TriggerWatch | None = None
    _version: int = 0

    def poll(self) -> Loaded | None:
        """All triggers, where the cluster has told of a change; the first call waits for it to tell what there is.

        Raises:
            OSError: where the cluster cannot be asked, or could not be since the last call.
        """
        if self.watch is None:
            self.watch = TriggerWatch(*self.choice.connect(), self.engine, self.limits, environment=self.environment)
            self.watch.start()
        now = None
        while now is None:
            now = self.watch.changed(self._version, 1.0 if self._version == 0 else 0.0)
            if now is None and self._version:
                return None
        self._version = now.version
        if now.broken:
            raise OSError(f"the cluster cannot be followed: {now.broken}")
        return Loaded(now.triggers, now.diagnostics, apart=True)
