"""What a stream remembers, so that a batch that is done again, after whatever ended the process, is done once.

In the output directory:

    stream.json                    the stream's name, and where its checkpoint is
    delivered|errors|quarantine/batch=<n>/...    what the batch wrote, as a batch run lays it out
    batches/<n>.json               the batch is committed: its account, without the triggers it had nothing for
    report.json                    the account of all committed batches
    names.json                     as of a batch run, of all batches
    staging/<attempt>/             the batch that is being written

In the checkpoint:

    stream.json                    the stream's name and its source
    query/                         Spark's own
    sets/<hash>.json               every set of triggers that judged a batch
    intents/<n>.json               the set that the batch was begun with

A batch is written into staging, and counted. Then staging/ready.json is written, by one step: from there on the batch
will be committed as it is. Each of its directories is moved to its place by one step, and ready.json becomes
batches/<n>.json. A process that ends before ready.json leaves nothing outside staging; one that ends after it has its
moves finished by the next. Each attempt has a directory of its own: what Java still writes after Python was killed
belongs to no batch. The file system must rename a directory in one step, as local ones and HDFS do.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pyspark.sql import SparkSession
from tricel.compiler import CompileError

from ...failure import RunError
from ...fanout.join import DELIVERED
from ...places.model import QUARANTINE, Addressee, BatchName, Sink, Staged
from ...storage.files import Directory, check_own, in_use
from ...storage.folders import Folders
from ..delivery import ERRORS, NAMES, publish, write_names
from ..pipeline import IN_USE, OURS, REPORT, STAGING
from ..reports import RunReport, StreamReport, added, empty_stream, run_report, stream_report
from .sets import TriggerSet, addressed, hash_of, ids_of, restored

BATCHES, IDENTITY, CHECKPOINT, WITH_EVENT = "batches", "stream.json", "_checkpoint", "with_event"
QUERY, SETS, INTENTS = "query", "sets", "intents"
_READY = f"{STAGING}/ready.json"
_RESTORE = "restore it, or overwrite the output and its checkpoint"
_OF_A_STREAM = (*OURS, BATCHES, IDENTITY, CHECKPOINT)
_OF_A_CHECKPOINT = (IDENTITY, QUERY, SETS, INTENTS)


@dataclass
class Ledger:
    """The memory of one stream. Its methods are called by one thread at a time."""

    out: Directory
    checkpoint: Directory
    total: StreamReport
    sink: Sink
    stream: str
    """The stream's own name."""
    _attempt: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def staging(self) -> str:
        """The full path of the directory that a batch is written into."""
        return f"{self.out.path}/{STAGING}/{self._attempt}"

    @property
    def query(self) -> str:
        """The full path of Spark's own checkpoint."""
        return f"{self.checkpoint.path}/{QUERY}"

    def committed(self, batch: int) -> bool:
        """Whether there is nothing left to do for a batch."""
        return self.out.has(f"{BATCHES}/{batch}.json")

    def intended(self, batch: int, current: TriggerSet) -> TriggerSet | None:
        """The set that a batch was begun with, which may be the current one; None where it was not begun.

        Raises:
            RunError: (TRI606) where the set cannot be had any more.
            CompileError: where this release refuses a filter of it.
        """
        value = _value(self.checkpoint, f"{INTENTS}/{batch}.json")
        if value is None:
            return None
        hash_ = str(value["set"])
        if hash_ == current.hash:
            return current
        text = self._set(hash_)
        try:
            return restored(text)
        except CompileError:
            raise
        except ValueError as e:
            help_ = "go on with the release of tricel that began the batch"
            raise RunError("TRI606", f"this release cannot read {e}", self.checkpoint.path, help_) from None

    def begin(self, batch: int, set_: TriggerSet) -> None:
        """Writes down that a batch is judged by this set, and makes room for what it writes."""
        if not self.checkpoint.has(f"{SETS}/{set_.hash}.json"):
            self.checkpoint.create(SETS)
            self.checkpoint.write(f"{SETS}/{set_.hash}.json", set_.text)
        self.checkpoint.create(INTENTS)
        self.checkpoint.write(f"{INTENTS}/{batch}.json", json.dumps({"set": set_.hash}))
        self.out.delete(STAGING)

    def unbegin(self, batch: int) -> None:
        """Forgets the set of a batch of which nothing is written, so that mended triggers may judge it."""
        self.checkpoint.delete(f"{INTENTS}/{batch}.json")

    def abandon(self) -> None:
        """Removes what a batch left that failed; nothing, where it will be committed."""
        if not self.out.has(_READY):
            self.out.delete(STAGING)

    def commit(self, batch: int, set_: TriggerSet, report: RunReport, folders: Folders) -> None:
        """The batch that is staged becomes a part of the output and of the account."""
        told = {t.trigger: t for t in report.triggers if t.delivered or t.errored}
        deliver = tuple(id_ for id_ in report.deliver if id_ in told)
        brief = replace(report, triggers=tuple(told.values()), deliver=deliver)
        value = {
            "batch": batch,
            "set": set_.hash,
            "attempt": self._attempt,
            **asdict(brief),
            "reasons": dict(report.reasons),
        }
        staged = self._staged(batch, self._attempt, set_.triggers)
        self.sink.prepare(staged)
        self.out.create(STAGING)
        write_names(self.out, folders)
        self.out.write(_READY, json.dumps(value, ensure_ascii=False) + "\n")
        self._publish(staged, again=False)
        self._account(batch, brief, set_.hash, [t.id for t in set_.triggers])

    def recover(self) -> None:
        """Finishes what an earlier process began to commit, and brings the account up to date."""
        ready = _value(self.out, _READY)
        if ready is not None:
            triggers = () if self.sink.folder else addressed(self._set(str(ready["set"])))
            self._publish(self._staged(int(ready["batch"]), str(ready["attempt"]), triggers), again=True)
        self.out.delete(STAGING)
        while (value := _value(self.out, f"{BATCHES}/{self.total.last + 1}.json")) is not None:
            set_ = str(value["set"])
            self._account(int(value["batch"]), run_report(value), set_, ids_of(self._set(set_)))
        for name in self.checkpoint.names(INTENTS) or ():
            number = name.partition(".")[0]
            if not number.isdigit() or int(number) <= self.total.last:
                self.checkpoint.delete(f"{INTENTS}/{name}")

    def check(self) -> None:
        """That the output and Spark's own checkpoint are of one time: else Spark would do batches again that are
        committed, so that what it reads in them is dropped, or go on behind batches that the output has lost.

        Raises:
            RunError: (TRI602) where they are not.
        """
        begun, done = self._newest("offsets"), self._newest("commits")
        if not done <= self.total.last <= begun:
            message = f"the output ends with batch {self.total.last}, and the checkpoint does not"
            raise RunError("TRI602", message, self.checkpoint.path, "restore both as they were, or overwrite them")

    def _newest(self, log: str) -> int:
        """The number of the newest batch in one of Spark's logs, -1 where there is none."""
        names = self.checkpoint.names(f"{QUERY}/{log}") or ()
        return max((int(name) for name in names if name.isdigit()), default=-1)

    def _staged(self, batch: int, attempt: str, triggers: Sequence[Addressee]) -> Staged:
        name = BatchName(self.stream, batch)
        return Staged(self.out.spark, self.out, f"{STAGING}/{attempt}", triggers, name, f"batch={batch}")

    def _publish(self, staged: Staged, *, again: bool) -> None:
        publish(self.sink, staged, again=again)
        self.out.create(BATCHES)
        self.out.move(_READY, f"{BATCHES}/{staged.batch.number}.json")
        self.out.delete(STAGING)

    def _account(self, batch: int, report: RunReport, set_: str, triggers: Sequence[str]) -> None:
        self.total = added(self.total, batch, report, triggers, set_)
        self.out.write(REPORT, self.total.to_json())
        self.checkpoint.delete(f"{INTENTS}/{batch}.json")

    def _set(self, hash_: str) -> str:
        """The text of a set."""
        text = self.checkpoint.read(f"{SETS}/{hash_}.json")
        if text is None:
            raise RunError("TRI606", f"the checkpoint has lost the set of triggers {hash_[:12]}", self.checkpoint.path)
        if hash_of(text) != hash_:
            raise RunError("TRI606", f"the set of triggers {hash_[:12]} is damaged", self.checkpoint.path, _RESTORE)
        return text


def open_ledger(
    spark: SparkSession,
    out: str,
    checkpoint: str | None,
    source: str,
    written: Mapping[str, str],
    *,
    with_event: bool,
    overwrite: bool,
    sink: Sink,
) -> Ledger:
    """The memory of the stream from a source into a directory: a new one, or that of the stream which ended there.

    `sink` is where pairs are delivered to; one that is no folder is another place than `out`. `written` is how its output is written (its format, its partition), which a stream does not change. Nor does it
    `with_event`, which is that of `pipeline.run`: files of one folder have the same columns. Before there was this
    choice all Parquet was written with the event. With `overwrite` a stream or run that was there is removed first, and nothing else. Without a checkpoint it is
    in the output.

    Raises:
        RunError: (TRI602) where the output or the checkpoint is in use by something else, or one is there without the
            other.
    """
    if not sink.folder:
        written = {**written, "sink": sink.name}
    target = Directory(spark, out)
    memory = Directory(spark, checkpoint or f"{target.path}/{CHECKPOINT}")
    if overwrite:
        _remove(target, memory)
    ours, theirs = _identity(target), _identity(memory)
    if theirs is None:
        _check_own_memory(memory)
    if ours is None:
        _check_unused(target)
    begun = bool(memory.names(f"{QUERY}/offsets"))
    if ours is None and theirs is not None and (begun or theirs["out"] != target.uri):
        raise _of_another(memory, theirs)
    if ours is not None and theirs is None:
        help_ = f"give the stream's own (it is in {ours['checkpoint']}), or overwrite the output"
        raise RunError("TRI602", "the checkpoint is not that of the stream in the output directory", memory.path, help_)
    if ours is None:
        ours = theirs = _new(target, memory, source, {**written, WITH_EVENT: with_event})
    assert theirs is not None
    if ours["stream"] != theirs["stream"]:
        raise _of_another(memory, theirs)
    names = dict.fromkeys((*written, "sink"))
    for what, had, now in (("source", theirs["source"], source), *((n, ours.get(n), written.get(n)) for n in names)):
        if had != now:
            help_ = f"go on with '{had}', or choose another output"
            raise RunError("TRI602", f"the stream in the output directory has another {what}", target.path, help_)
    had_event = ours.get(WITH_EVENT, written["format"] == "parquet")
    if had_event != with_event:
        help_ = f"go on {'with' if had_event else 'without'} --with-event, or choose another output"
        message = "the stream in the output directory writes other columns of what is delivered"
        raise RunError("TRI602", message, target.path, help_)
    ledger = Ledger(target, memory, _account_of(target) or empty_stream(written["format"]), sink, ours["stream"])
    ledger.recover()
    ledger.check()
    return ledger


def _identity(directory: Directory) -> dict[str, Any] | None:
    return None if directory.names() is None else _value(directory, IDENTITY)


def _value(directory: Directory, name: str) -> dict[str, Any] | None:
    """What a file of a stream holds, None where it is not there.

    Raises:
        RunError: (TRI606) where a machine that went down, or a hand, has damaged it.
    """
    try:
        text = directory.read(name)
        value = None if text is None else json.loads(text)
    except ValueError:
        value = ()
    if value is not None and not isinstance(value, dict):
        raise RunError("TRI606", f"the stream's '{name}' is damaged", directory.path, _RESTORE)
    return value


def _account_of(target: Directory) -> StreamReport | None:
    """The account of a stream, None where there is none that can be read: the batches have theirs."""
    try:
        return stream_report(json.loads(target.read(REPORT) or ""))
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def _new(target: Directory, memory: Directory, source: str, written: Mapping[str, object]) -> dict[str, Any]:
    """Writes the stream's name, last of all into the output: without it nothing has begun."""
    value = {
        "stream": uuid.uuid4().hex,
        "source": source,
        **written,
        "out": target.uri,
        "checkpoint": memory.uri,
    }
    for directory in (memory, target):
        directory.create()
        directory.write(IDENTITY, json.dumps(value, indent=2) + "\n")
    return value


def _of_another(memory: Directory, identity: Mapping[str, Any]) -> RunError:
    help_ = f"its output is {identity['out']}"
    return RunError("TRI602", "the checkpoint belongs to another stream", memory.path, help_)


def _check_own(target: Directory) -> None:
    check_own(target.names() or (), target.path, _OF_A_STREAM, IN_USE, "stream")


def _check_own_memory(memory: Directory) -> None:
    check_own(memory.names() or (), memory.path, _OF_A_CHECKPOINT, "the checkpoint is in use", "stream")


def _check_unused(target: Directory) -> None:
    _check_own(target)
    if any(n not in (CHECKPOINT, STAGING) and not n.startswith(".") for n in target.names() or ()):
        raise in_use(target.path)


def _remove(target: Directory, memory: Directory) -> None:
    """Removes an earlier stream or run, its name last: one that is killed in between is removed by the next."""
    _check_own(target)
    of_memory = _identity(memory)
    if of_memory is not None and of_memory["out"] != target.uri:
        raise _of_another(memory, of_memory)
    _check_own_memory(memory)
    for name in (QUERY, SETS, INTENTS, IDENTITY):
        memory.delete(name)
    for name in (CHECKPOINT, REPORT, NAMES, DELIVERED, ERRORS, QUARANTINE, STAGING, BATCHES, IDENTITY):
        target.delete(name)
