"""CloudEvents read from files: JSON Lines, JSON documents and Parquet. Nothing is lost: what cannot be read says why."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql.types import StructType
from tricel.compiler.values.malformed import CORRUPT, DAMAGED_TABLE, NO_EVENTS, UNFIT_TABLE

from ..failure import RunError, Warn, warn_nobody, warn_user
from ..frames import expression, takes_unpaired_surrogates
from ..spark_errors import behind
from ..sql import Operand, Sql, column, function, is_not_null, is_null, lambda_, quoted, read_variant
from ..storage.files import Inputs, find_inputs, literal, without_scheme
from .case_conflicts import CaseByCase, SpelledTwiceError, Spellings, case_by_case, spelled_in_two
from .texts import AS_TEXT, canonical, in_a_list, parse_documents, parse_lines, unblank

_NO_CAPITALS = "Spark does not tell capitals, and CEL does"
_WITHOUT_IT = "mend it, or put an empty file in its place"
_READ_FAILURE = re.compile(
    r"FAILED_READ_FILE\.(?:NO_HINT|CANNOT_READ_FILE_FOOTER)\].*? while reading file (.*?)\. +"
    "(?:SQLSTATE|Could not read footer)"
)
# A file that could not be opened or fetched may be sound, and its events are not to be given up.
_OUT_OF_REACH = re.compile(
    r"[\w.$]*(?:FileNotFound|NoSuchFile|AccessControl|AccessDenied|Interrupt|Timeout|ClosedChannel|BlockMissing"
    r"|OutOfMemory|InvalidToken|RemoteException|StandbyException|SdkClient|AWS)\w*\b|javax?\.net\.|org\.apache\.http\.|java\.io\.IOException: "
    r".*(?:Input/output error|Stale file handle|Too many open files|Connection reset|Broken pipe|Filesystem closed)"
)

_WRITTEN = ("trigger", "outcome", "error", "subexpression")
"""Columns that a run adds to events."""
_READER = {"malformed": "string", "raw": "binary", "event": "string", "file": "string"}
"""Columns of the canonical table about the text, with their types: a table may have them already."""

T = TypeVar("T")


def read_events(
    spark: SparkSession,
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    format: str = "auto",  # noqa: A002
    warn: Warn = warn_user,
) -> DataFrame:
    """The events in `paths` as the canonical table (see `texts`), or a Parquet table as it is.

    `paths` are files, directories (read with all below them) or globs. Format "jsonl" is one event a line; "json" is
    one event or one batch array in a file, or JSON Lines after all; "parquet" is a table with columns id, source and
    type; "auto" goes by the suffix. JSON may be gzipped (.gz). JSON documents are held in memory whole.
    A damaged .gz gives the lines before the damage and one malformed row.
    That files were left out (TRI605) is told to `warn`, or, without it, as a TricelWarning.

    Raises RunError (TRI601) for missing paths, nothing to read, tables mixed with JSON, a table of something else, and
    Parquet that cannot be read or whose columns have other types from file to file.
    """
    files = find_events(spark, paths, format, warn)
    if not files.found.tables:
        return files.tables()[0]
    tables, lost = files.parquet()
    if lost:
        raise RunError("TRI601", "the file cannot be read as Parquet", min(lost), _WITHOUT_IT)
    # Files without a byte hold no table, and no event either.
    return tables[0] if tables else _joined([parse_lines(_no_texts(spark))])


def find_events(
    spark: SparkSession,
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    format: str = "auto",  # noqa: A002
    warn: Warn = warn_nobody,
    reader: Reader | None = None,
) -> EventFiles:
    """The files in `paths` as `read_events` takes them; none is opened. `reader` makes events of what is in them.

    Raises RunError (TRI601) for missing paths, nothing to read, tables mixed with JSON.
    """
    found = find_inputs(spark, [paths] if isinstance(paths, str | os.PathLike) else list(paths), format)
    for warning in found.warnings:
        warn(warning)
    if found.tables and (found.lines or found.documents):
        help_ = "read them apart, such as '*.parquet' by itself"
        raise RunError("TRI601", "Parquet and JSON cannot be read together", found.tables[0], help_)
    return EventFiles(spark, found, reader=reader or CLOUD_EVENTS)


def _same(events: DataFrame) -> DataFrame:
    return events


@dataclass(frozen=True)
class Reader:
    """What is made of parsed texts and of tables: CloudEvents, or the events of another environment.

    `of_texts` takes what `parse_lines` gives, `of_table` a table; what both give is then
    `decoded`, where a payload is of a schema. `of_values`, where it is given, takes texts as they are (value STRING,
    file STRING) in place of `of_texts`: lines that are not blank, and whole documents.
    """

    of_texts: Callable[[DataFrame], DataFrame] = canonical
    of_table: Callable[[DataFrame], DataFrame] = _same
    decoded: Callable[[DataFrame], DataFrame] = _same
    of_values: Callable[[DataFrame], DataFrame] | None = None


CLOUD_EVENTS = Reader()


@dataclass(frozen=True)
class EventFiles:
    """Files of events, by kind. They may be read again, so a file that turns out to be damaged can be left out.

    With `apart` each kind of file, and each set of columns, is a table by itself, and tables of something else are
    malformed. Otherwise there is one table, beside the rows for what cannot be read, or a RunError.
    `wanted` are the columns without which a table is something else, and of `either` it has one. `choose` takes what is wanted of a table's rows; it
    sees the columns that the names of folders below `bases` tell, too.
    """

    spark: SparkSession
    found: Inputs
    apart: bool = False
    reader: Reader = CLOUD_EVENTS
    wanted: Sequence[str] = ("id", "source", "type")
    either: Sequence[str] = ()
    choose: Callable[[DataFrame], DataFrame] | None = None
    bases: Sequence[str] = ()

    def tables(self, *, verified: bool = False, reserved: Collection[str] = ()) -> tuple[DataFrame, ...]:
        """All that is in the files, as `complete` tables of events: one at least.

        A Parquet file whose footer cannot be read is one malformed row; so is one that is damaged farther in, where
        `verified` is true, which reads every file once more. Otherwise a query over such a file fails (see
        `tells_of_damage`). `reserved` are columns that this run adds to events, in lower case.

        Raises RunError (TRI601): see `read_events`.
        """
        tables, lost = self.parquet(verified=verified, reserved=reserved) if self.found.tables else ([], {})
        values, parsed = _texts(self.spark, self.found)
        texts = [] if self.reader.of_values else [parse(found) for parse, found in values]
        texts += parsed
        if lost:
            texts.append(_lost_rows(self.spark, lost))
        if not tables and not values and not texts:
            texts.append(parse_lines(_no_texts(self.spark)))
        read = self.reader
        whole = [complete(read.of_table(t), reserved) for t in tables]
        found = [read.of_texts(reduce(DataFrame.unionByName, texts))] if texts else []
        if read.of_values and values:
            raw = (unblank(rows) if parse is parse_lines else rows for parse, rows in values)
            found.append(read.of_values(reduce(DataFrame.unionByName, raw)))
        if found:
            joined = reduce(DataFrame.unionByName, found)
            whole.append(joined if self.choose is None else self.choose(joined))
        return tuple(read.decoded(t) for t in whole)

    def parquet(
        self, *, verified: bool = False, reserved: Collection[str] = ()
    ) -> tuple[list[DataFrame], dict[str, str]]:
        """The tables in the Parquet files, and why other files give none."""
        files = self.found.tables

        def takes(table: DataFrame) -> bool:
            return not self._missing(table) and not (self.apart and _unfit(table, reserved))

        def read(sound: Sequence[str]) -> tuple[list[tuple[DataFrame, list[str]]], dict[str, Spellings]]:
            tables, unfit = _merged(self.spark, sound, takes)
            for table, _ in tables if verified else ():
                table.write.format("noop").mode("overwrite").save()
            return tables, unfit

        found, damaged = _those_that_can_be_read(files, read)
        groups, unfit = found or ([], {})
        if unfit and not self.apart:
            file, twins = next(iter(unfit.items()))
            message = f"two columns of this table have one name, but for capitals: {_both(twins)}"
            raise RunError("TRI601", message, file, f"{_NO_CAPITALS}: rename one of them")
        lost = {**dict.fromkeys(damaged, DAMAGED_TABLE), **dict.fromkeys(unfit, UNFIT_TABLE)}
        tables = []
        for table, names in groups:
            missing = self._missing(table)
            if missing and not self.apart:
                message = f"the table has no column {' and no '.join(repr(m) for m in missing)}"
                help_ = "a table of events has columns named after the CloudEvents attributes"
                raise RunError("TRI601", message, names[0], help_)
            if missing:
                lost |= dict.fromkeys(names, NO_EVENTS)
            elif self.apart and _unfit(table, reserved):
                lost |= dict.fromkeys(names, UNFIT_TABLE)
            else:
                tables.append((self._chosen(table, names), names[0]))
        if len(tables) > 1 and not self.apart:
            _refuse_spellings(tables)
            message = "a column of this table has another type than in those before it"
            raise RunError("TRI601", message, tables[1][1], f"read it apart from '{tables[0][1]}'")
        return [table for table, _ in tables], lost

    def _missing(self, table: DataFrame) -> list[str]:
        missing = [name for name in self.wanted if name not in table.columns]
        return missing or list(self.either[: not set(self.either) & set(table.columns)])

    def _chosen(self, table: DataFrame, files: Sequence[str]) -> DataFrame:
        """The rows of the files that are wanted, with the columns of the table."""
        if self.choose is None:
            return table
        groups: dict[str, list[str]] = {}
        for file in files:
            path = without_scheme(file)
            groups.setdefault(next((b for b in self.bases if path.startswith(f"{b}/")), ""), []).append(file)
        columns = [fn.col(quoted(c)) for c in table.columns]
        parts = []
        for base, group in groups.items():
            reader = self.spark.read.schema(table.schema).options(ignoreCorruptFiles=False, ignoreMissingFiles=False)
            if base:
                reader = reader.option("basePath", base)
            parts.append(self.choose(reader.parquet(*map(literal, group))).select(*columns))
        return reduce(DataFrame.union, parts)


def complete(events: DataFrame, reserved: Collection[str] = ()) -> DataFrame:
    """`events` with the reader's columns about the text, where a table has none.

    Raises RunError (TRI601) for a column that the run would write itself, which `reserved` adds to, in lower case, and
    for one of the reader's of another type.
    """
    unfit = _unfit(events, reserved)
    if unfit:
        message = f"the events have a column '{unfit}', and a run has a use of its own for that name"
        raise RunError("TRI601", message, help="give the column another name")
    for name, sql in (("malformed", "CAST(NULL AS STRING)"), ("raw", "CAST(NULL AS BINARY)")):
        if name not in events.columns:
            events = events.withColumn(name, fn.expr(sql))
    if "event" not in events.columns:
        row = [fn.col(quoted(c)) for c in events.columns if c not in ("malformed", "raw")]
        # Where Spark tells no capitals it takes the place of a column `Event`, which it is no copy of.
        copied = {} if any(c.lower() == "event" for c in events.columns) else {AS_TEXT: True}
        events = events.withColumn("event", fn.to_json(fn.struct(*row)).alias("event", metadata=copied))
    return events if "file" in events.columns else events.withColumn("file", fn.lit(None).cast("string"))


def has_copy(events: DataFrame) -> bool:
    """Whether the column `event` of a `complete` table is the text of the other columns, and no column of its own."""
    return AS_TEXT in events.schema["event"].metadata


def _unfit(table: DataFrame, reserved: Collection[str] = ()) -> str:
    """A column that events in a run cannot have; empty where there is none."""
    for f in table.schema.fields:
        name, type_ = f.name.lower(), f.dataType.typeName()
        if name in _WRITTEN or name in reserved or _READER.get(name, type_) != type_:
            return f.name
    return ""


def tells_of_damage(e: BaseException) -> bool:
    """Whether a query failed because a file's content is not what its format says; not where it could not be had."""
    return _read_failure(e) is not None


def _joined(texts: Sequence[DataFrame]) -> DataFrame:
    """Parsed texts as the canonical table."""
    return canonical(reduce(DataFrame.unionByName, texts))


_Parse = Callable[[DataFrame], DataFrame]


def _texts(spark: SparkSession, found: Inputs) -> tuple[list[tuple[_Parse, DataFrame]], list[DataFrame]]:
    """The texts in the files of JSON, each with what parses them, and the parsed rows of what cannot be read."""
    zipped = [f for f in (*found.lines, *found.documents) if f.lower().endswith(".gz")]
    _, damaged = _those_that_can_be_read(zipped, lambda sound: _text(spark, sound).agg(fn.count("value")).collect())
    whole = [f for f in found.documents if f not in damaged]
    as_lines = _json_lines(spark, whole)
    documents = [f for f in whole if f not in as_lines]
    lines = [f for f in found.lines if f not in damaged] + sorted(as_lines)
    parts: list[tuple[_Parse, DataFrame]] = []
    if lines:
        parts.append((parse_lines, _text(spark, lines)))
    if documents:
        parts.append((parse_documents, _text(spark, documents, whole=True)))
    if not damaged:
        return parts, []
    parts.append((parse_lines, _text(spark, sorted(damaged), damaged=True)))
    return parts, [_lost_rows(spark, dict.fromkeys(damaged, CORRUPT))]


def _no_texts(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], "value STRING, file STRING")


def _text(spark: SparkSession, files: Sequence[str], *, whole: bool = False, damaged: bool = False) -> DataFrame:
    # A carriage return alone is white space in JSON and ends no line.
    reader = spark.read.options(ignoreCorruptFiles=damaged, ignoreMissingFiles=False)
    names = [literal(f) for f in files]
    texts = reader.text(names, wholetext=True) if whole else reader.text(names, lineSep="\n")
    bom = "startswith(value, decode(X'EFBBBF', 'utf-8'))"
    return texts.selectExpr(
        f"CASE WHEN {bom} THEN substring(value, 2) ELSE value END AS value", "_metadata.file_path AS file"
    )


def _merged(
    spark: SparkSession, files: Sequence[str], takes: Callable[[DataFrame], bool]
) -> tuple[list[tuple[DataFrame, list[str]]], dict[str, Spellings]]:
    """The tables in the files, each with its files, and the files that are no table to Spark, with the names they spell
    in two ways.

    There is one table with the columns of all, where that can be had and `takes` takes it, and otherwise one for each
    set of columns, so that a file is not lost for what another one has. Every footer is read. Files without a byte are
    in none.
    """
    with case_by_case(spark) as read:
        try:
            whole = read.table(files)
            if len(files) == 1 or takes(whole):
                return [(whole, list(files))], {}
        except SpelledTwiceError as e:
            if len(files) == 1:
                return [], {files[0]: e.spellings}
        except (PySparkException, Py4JJavaError) as e:
            if _no_schema(e):
                return [], {}
            if "CANNOT_MERGE_SCHEMAS" not in str(e):
                raise
        return _apart(read, files)


def _apart(read: CaseByCase, files: Sequence[str]) -> tuple[list[tuple[DataFrame, list[str]]], dict[str, Spellings]]:
    """The files as one table for each set of columns."""
    unfit: dict[str, Spellings] = {}
    alike: dict[str, tuple[StructType, list[str]]] = {}
    for file in files:
        try:
            schema = read.table([file]).schema
        except SpelledTwiceError as e:
            unfit[file] = e.spellings
        except (PySparkException, Py4JJavaError) as e:
            if not _no_schema(e):
                raise
        else:
            alike.setdefault(schema.json(), (schema, []))[1].append(file)
    return [(read.of_schema(schema, group), group) for schema, group in alike.values()], unfit


def _no_schema(e: Exception) -> bool:
    return "UNABLE_TO_INFER_SCHEMA" in str(e)


def _refuse_spellings(tables: Sequence[tuple[DataFrame, str]]) -> None:
    """Raises RunError (TRI601) where a column, or a field of one, is spelled in two ways; `tables` have a file each."""
    for i, (table, file) in enumerate(tables):
        for before, other in tables[:i]:
            twins = spelled_in_two(before.schema, table.schema)
            if twins:
                message = f"'{twins.second}' in this table is '{twins.first}' in another"
                help_ = f"{_NO_CAPITALS}: spell it as in '{other}', or read the two apart"
                raise RunError("TRI601", message, file, help_)


def _both(twins: Spellings) -> str:
    return " and ".join(f"'{name}'" for name in dict.fromkeys(twins))


def _json_lines(spark: SparkSession, documents: list[str]) -> set[str]:
    """Those of `documents` that are neither one event nor one batch, but have a line that is a JSON object."""
    if not documents:
        return set()
    salt = uuid.uuid4().hex
    checked = takes_unpaired_surrogates(spark)

    def is_object(line: Operand) -> Sql:
        return is_not_null(read_variant(in_a_list(line, salt, checked=checked), "struct<>", (0,)))

    value = column("value")
    no_document = is_null(read_variant(in_a_list(value, salt, checked=checked), "string", (1,)))
    an_object = function("exists", function("split", value, "\n"), lambda_(is_object))
    lines = _text(spark, documents, whole=True).where(expression(no_document & an_object))
    found = {unquote(without_scheme(row["file"])) for row in lines.select("file").collect()}
    return {d for d in documents if without_scheme(d) in found}


def _those_that_can_be_read(files: Sequence[str], read: Callable[[list[str]], T]) -> tuple[T | None, set[str]]:
    """What `read` gives for the files that it can read, and the damaged others, found by reading. None for no file."""
    damaged: set[str] = set()
    while sound := [f for f in files if f not in damaged]:
        try:
            return read(sound), damaged
        except (PySparkException, Py4JJavaError) as e:
            named = _read_failure(e)
            path = without_scheme(named or "")
            culprits = {f for f in sound if without_scheme(f) in (path, unquote(path))}  # some messages quote it
            if not culprits:
                raise
            damaged |= culprits
    return None, damaged


def _read_failure(e: BaseException) -> str | None:
    """The file whose content made a query fail; None where it failed otherwise, or the file could not be had."""
    causes = [str(e), *behind(e, lambda thrown: thrown.toString())]
    found = next(filter(None, map(_READ_FAILURE.search, causes)), None)
    if found is None or any(map(_OUT_OF_REACH.match, causes[1:])):
        return None
    return found[1]


def _lost_rows(spark: SparkSession, files: Mapping[str, str]) -> DataFrame:
    """One row for each file, with the reason why it, or the rest of it, is not read."""
    rows = spark.createDataFrame(sorted(files.items()), "file STRING, fault STRING")
    return rows.selectExpr(
        "CAST(NULL AS STRING) AS event",
        "CAST(NULL AS BINARY) AS raw",
        "file",
        "CAST(NULL AS MAP<STRING, VARIANT>) AS members",
        "fault",
    )
