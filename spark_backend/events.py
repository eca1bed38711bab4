"""CloudEvents read into one canonical table, in Spark expressions only. Nothing is lost: what is no event says why.

The rules are those of the CloudEvents 1.0 JSON format. One row per event or per piece of text that is none:

    id, source, specversion, type, subject, datacontenttype, dataschema   STRING
    time         TIMESTAMP
    extensions   MAP<STRING, STRING>   canonical text; an object keeps its JSON text
    data         VARIANT               the JSON value, BINARY for bytes, NULL when absent
    event        STRING                the JSON text of the event, as it was written where there is such a text
    malformed    STRING                NULL, or one of `malformed.REASONS`; every column above is NULL then
    raw          BINARY                the bytes as they were read, only where they are not UTF-8
    file         STRING                where the text came from
"""

from __future__ import annotations

import os
import re
import uuid
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn
from tricel.compiler.diagnostics import Diagnostic

from .failure import RunError
from .files import Inputs, find_inputs, literal
from .frames import takes_unpaired_surrogates
from .jsontext import parsed, refused
from .malformed import (
    CORRUPT,
    DAMAGED_TABLE,
    EXTENSION_ARRAY,
    EXTENSION_NAME,
    EXTENSION_NUMBER,
    NO_EVENTS,
    NOT_BASE64,
    NOT_JSON,
    NOT_OBJECT,
    NOT_TIME,
    NOT_UTF8,
    NOT_VERSION,
    OPTIONAL,
    REQUIRED,
    TWO_DATA,
    empty,
    missing,
    not_string,
)
from .sql import name as quoted
from .sql import text_literal

_KNOWN = (*REQUIRED, *OPTIONAL, "data", "data_base64")

_OFFSET = "([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
_RFC3339 = f"(?s)^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[Tt][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}([.][0-9]{{1,9}})?{_OFFSET}(?!.)"
_YEAR_1, _YEAR_9999 = -62_135_596_800_000_000, 253_402_300_799_999_999
_BASE64 = "(?s)^[A-Za-z0-9+/]*={0,2}(?!.)"
_NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789."

_WITHOUT_IT = "mend it, or put an empty file in its place"
_READ_FAILURE = re.compile(
    r"FAILED_READ_FILE\.(?:NO_HINT|CANNOT_READ_FILE_FOOTER)\].*? while reading file (.*?)\. +"
    "(?:SQLSTATE|Could not read footer)"
)
# A file that could not be opened or fetched may be sound, and its events are not to be given up.
_OUT_OF_REACH = re.compile(
    r"[\w.$]*(?:FileNotFound|NoSuchFile|AccessControl|AccessDenied|Interrupt|Timeout|ClosedChannel|BlockMissing"
    r"|OutOfMemory)\w*\b|java\.net\.|java\.io\.IOException: .*(?:Input/output error|Stale file handle|Too many open files)"
)

T = TypeVar("T")


def read_events(
    spark: SparkSession,
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    format: str = "auto",  # noqa: A002
    warn: Callable[[Diagnostic], None] | None = None,
) -> DataFrame:
    """The events in `paths` as the canonical table (see the module), or a Parquet table as it is.

    `paths` are files, directories (read with all below them) or globs. Format "jsonl" is one event a line; "json" is
    one event or one batch array in a file, or JSON Lines after all; "parquet" is a table with columns id, source and
    type; "auto" goes by the suffix. JSON may be gzipped (.gz). JSON documents are held in memory whole.
    A damaged .gz gives the lines before the damage and one malformed row.
    That files were left out (TRI605) is told to `warn`, or, without it, as a Python warning.

    Raises RunError (TRI601) for missing paths, nothing to read, tables mixed with JSON, a table of something else, and
    Parquet that cannot be read or whose columns have other types from file to file.
    """
    told: list[Diagnostic] = []
    files = find_events(spark, paths, format, warn or told.append)
    for d in told:
        warnings.warn(d.message, stacklevel=2)
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
    warn: Callable[[Diagnostic], None] = lambda d: None,
) -> EventFiles:
    """The files in `paths` as `read_events` takes them; none is opened.

    Raises RunError (TRI601) for missing paths, nothing to read, tables mixed with JSON.
    """
    found = find_inputs(spark, [paths] if isinstance(paths, str | os.PathLike) else list(paths), format)
    if found.warning is not None:
        warn(found.warning)
    if found.tables and (found.lines or found.documents):
        help_ = "read them apart, such as '*.parquet' by itself"
        raise RunError("TRI601", "Parquet and JSON cannot be read together", found.tables[0], help_)
    return EventFiles(spark, found)


@dataclass(frozen=True)
class EventFiles:
    """Files of events, by kind. They may be read again, so a file that turns out to be damaged can be left out.

    With `apart` each kind of file, and each set of columns, is a table by itself, and tables of something else are
    malformed. Otherwise there is one table, beside the rows for what cannot be read, or a RunError.
    """

    spark: SparkSession
    found: Inputs
    apart: bool = False

    def tables(self, *, verified: bool = False) -> tuple[DataFrame, ...]:
        """All that is in the files, as `complete` tables of events: one at least.

        A Parquet file whose footer cannot be read is one malformed row; so is one that is damaged farther in, where
        `verified` is true, which reads every file once more. Otherwise a query over such a file fails (see
        `tells_of_damage`).

        Raises RunError (TRI601): see `read_events`.
        """
        tables, lost = self.parquet(verified=verified) if self.found.tables else ([], {})
        texts = _texts(self.spark, self.found)
        if lost:
            texts.append(_lost_rows(self.spark, lost))
        if not tables and not texts:
            texts.append(parse_lines(_no_texts(self.spark)))
        return (*map(complete, tables), *([_joined(texts)] if texts else ()))

    def parquet(self, *, verified: bool = False) -> tuple[list[DataFrame], dict[str, str]]:
        """The tables in the Parquet files, and why other files give none."""
        files = self.found.tables

        def read(sound: Sequence[str]) -> list[tuple[DataFrame, list[str]]]:
            tables = _merged(self.spark, sound)
            for table, _ in tables if verified else ():
                table.write.format("noop").mode("overwrite").save()
            return tables

        found, damaged = _those_that_can_be_read(files, read)
        lost = dict.fromkeys(damaged, DAMAGED_TABLE)
        tables = []
        for table, names in found or ():
            missing = [name for name in ("id", "source", "type") if name not in table.columns]
            if missing and not self.apart:
                message = f"the table has no column {' and no '.join(repr(m) for m in missing)}"
                help_ = "a table of events has columns named after the CloudEvents attributes"
                raise RunError("TRI601", message, names[0], help_)
            if missing:
                lost |= dict.fromkeys(names, NO_EVENTS)
            else:
                tables.append((table, names[0]))
        if len(tables) > 1 and not self.apart:
            message = "a column of this table has another type than in those before it"
            raise RunError("TRI601", message, tables[1][1], f"read it apart from '{tables[0][1]}'")
        return [table for table, _ in tables], lost


def complete(events: DataFrame) -> DataFrame:
    """`events` with the reader's columns about the text, where a table has none."""
    for name, sql in (("malformed", "CAST(NULL AS STRING)"), ("raw", "CAST(NULL AS BINARY)")):
        if name not in events.columns:
            events = events.withColumn(name, fn.expr(sql))
    if "event" not in events.columns:
        row = [fn.col(quoted(c)) for c in events.columns if c not in ("malformed", "raw")]
        events = events.withColumn("event", fn.to_json(fn.struct(*row)))
    return events if "file" in events.columns else events.withColumn("file", fn.lit(None).cast("string"))


def tells_of_damage(e: BaseException) -> bool:
    """Whether a query failed because a file's content is not what its format says; not where it could not be had."""
    return _read_failure(e) is not None


def _joined(texts: Sequence[DataFrame]) -> DataFrame:
    """Parsed texts as the canonical table."""
    return _canonical(reduce(DataFrame.unionByName, texts))


def _texts(spark: SparkSession, found: Inputs) -> list[DataFrame]:
    """What is in the files of JSON, parsed."""
    zipped = [f for f in (*found.lines, *found.documents) if f.lower().endswith(".gz")]
    _, damaged = _those_that_can_be_read(zipped, lambda sound: _text(spark, sound).agg(fn.count("value")).collect())
    whole = [f for f in found.documents if f not in damaged]
    as_lines = _json_lines(spark, whole)
    documents = [f for f in whole if f not in as_lines]
    lines = [f for f in found.lines if f not in damaged] + sorted(as_lines)
    parts = []
    if lines:
        parts.append(parse_lines(_text(spark, lines)))
    if documents:
        parts.append(_parse_documents(_text(spark, documents, whole=True)))
    if damaged:
        parts.append(parse_lines(_text(spark, sorted(damaged), damaged=True)))
        parts.append(_lost_rows(spark, dict.fromkeys(damaged, CORRUPT)))
    return parts


def _no_texts(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], "value STRING, file STRING")


def parse_lines(lines: DataFrame) -> DataFrame:
    """`lines` (value STRING, file STRING), one event in each, parsed once: event, raw, file, members, fault."""
    blank = "trim(BOTH decode(X'20090D0A', 'utf-8') FROM value) <> ''"
    return _parse(lines.where(blank).selectExpr("rtrim(decode(X'0D', 'utf-8'), value) AS value", "file"))


def _text(spark: SparkSession, files: Sequence[str], *, whole: bool = False, damaged: bool = False) -> DataFrame:
    # A carriage return alone is white space in JSON and ends no line.
    reader = spark.read.option("ignoreCorruptFiles", str(damaged).lower())
    names = [literal(f) for f in files]
    texts = reader.text(names, wholetext=True) if whole else reader.text(names, lineSep="\n")
    bom = "startswith(value, decode(X'EFBBBF', 'utf-8'))"
    return texts.selectExpr(
        f"CASE WHEN {bom} THEN substring(value, 2) ELSE value END AS value", "_metadata.file_path AS file"
    )


def _wrapped(text: str, salt: str, *, checked: bool) -> str:
    # try_parse_json ignores what follows a value. In a list whose last element nobody could guess, nothing can follow.
    value = refused(text) if checked else text
    return parsed(f"concat('[', {value}, ',\"{salt}\"]')")


def _parse(texts: DataFrame) -> DataFrame:
    salt = uuid.uuid4().hex
    wrapped = _wrapped("value", salt, checked=takes_unpaired_surrogates(texts.sparkSession))
    read = texts.selectExpr(
        "*", "is_valid_utf8(value) AS utf8", f"CASE WHEN is_valid_utf8(value) THEN {wrapped} END AS v"
    )
    members = "try_variant_get(v, '$[0]', 'map<string,variant>')"
    complete = f"try_variant_get(v, '$[1]', 'string') = '{salt}'"
    split = read.selectExpr("*", f"{complete} AS json", f"CASE WHEN {complete} THEN {members} END AS members")
    return split.selectExpr(
        "CASE WHEN utf8 THEN value ELSE make_valid_utf8(value) END AS event",
        "CASE WHEN NOT utf8 THEN CAST(value AS BINARY) END AS raw",
        "file",
        "members",
        f"CASE WHEN members IS NOT NULL THEN NULL WHEN NOT utf8 THEN {text_literal(NOT_UTF8)}"
        f" WHEN json THEN {text_literal(NOT_OBJECT)} ELSE {text_literal(NOT_JSON)} END AS fault",
    )


def _parse_documents(texts: DataFrame) -> DataFrame:
    salt = uuid.uuid4().hex
    complete = f"try_variant_get(v, '$[1]', 'string') = '{salt}'"
    items = f"CASE WHEN {complete} THEN try_variant_get(v, '$[0]', 'array<variant>') END"
    wrapped = _wrapped("value", salt, checked=takes_unpaired_surrogates(texts.sparkSession))
    read = (
        texts.selectExpr("trim(BOTH decode(X'20090D0A', 'utf-8') FROM value) AS value", "file")
        .where("value <> ''")
        .selectExpr("*", f"CASE WHEN is_valid_utf8(value) THEN {wrapped} END AS v")
        .selectExpr("value", "file", f"{items} AS items")
    )
    batches = (
        read.where("items IS NOT NULL")
        .selectExpr("file", "explode(items) AS item")
        .selectExpr("item", "file", "try_variant_get(item, '$', 'map<string,variant>') AS members")
        .selectExpr(
            "to_json(item) AS event",
            "CAST(NULL AS BINARY) AS raw",
            "file",
            "members",
            f"CASE WHEN members IS NULL THEN {text_literal(NOT_OBJECT)} END AS fault",
        )
    )
    return batches.unionByName(_parse(read.where("items IS NULL").select("value", "file")))


def _text_of(variant: str) -> str:
    """The string in a VARIANT made from JSON, NULL for every other kind: only strings can be had as binary."""
    return f"CAST(try_variant_get({variant}, '$', 'binary') AS STRING)"


def _extension_text(v: str) -> str:
    integer = (
        f"schema_of_variant({v}) = 'BIGINT' AND variant_get({v}, '$', 'bigint') BETWEEN -2147483648 AND 2147483647"
    )
    return (
        f"CASE WHEN try_variant_get({v}, '$', 'binary') IS NOT NULL THEN {_text_of(v)}"
        f" WHEN try_variant_get({v}, '$', 'struct<>') IS NOT NULL THEN to_json({v})"
        f" WHEN try_variant_get({v}, '$', 'array<variant>') IS NOT NULL THEN NULL"
        # From here on it is a scalar, so schema_of_variant has nothing deep to walk.
        f" WHEN schema_of_variant({v}) = 'BOOLEAN' OR {integer} THEN variant_get({v}, '$', 'string') END"
    )


def _timestamp(text: str) -> str:
    """RFC 3339 text as a TIMESTAMP, whatever the session's time zone; NULL when it is none or no year 1 to 9999."""
    utc = f"lower(right({text}, 1)) = 'z'"
    local = f"upper(left({text}, length({text}) - CASE WHEN {utc} THEN 1 ELSE 6 END))"
    minutes = f"(60 * try_cast(left(right({text}, 5), 2) AS BIGINT) + try_cast(right({text}, 2) AS BIGINT))"
    sign = f"CASE left(right({text}, 6), 1) WHEN '-' THEN -60000000L ELSE 60000000L END"
    offset = f"CASE WHEN {utc} THEN 0L ELSE {sign} * {minutes} END"
    instant = f"unix_micros(try_cast(concat({local}, 'Z') AS TIMESTAMP)) - ({offset})"
    return f"CASE WHEN {text} RLIKE '{_RFC3339}' THEN {instant} END"


def _canonical(texts: DataFrame) -> DataFrame:
    salt = uuid.uuid4().hex
    checked = takes_unpaired_surrogates(texts.sparkSession)
    known = ", ".join(f"'{k}'" for k in _KNOWN)
    strings = (*REQUIRED, *OPTIONAL, "data_base64")
    # A null member is an absent one.
    looked_up = texts.selectExpr(
        "event",
        "raw",
        "file",
        "fault",
        *(f"CASE WHEN NOT is_variant_null(members['{n}']) THEN members['{n}'] END AS {n}_v" for n in _KNOWN),
        f"map_filter(members, (k, v) -> k NOT IN ({known}) AND NOT is_variant_null(v)) AS others",
    )
    typed = looked_up.selectExpr(
        "*",
        *(f"{_text_of(f'{name}_v')} AS {name}" for name in strings),
        f"transform_values(others, (k, v) -> {_extension_text('v')}) AS extensions",
    )
    media = "lower(trim(substring_index(datacontenttype, ';', 1)))"
    json_media = f"datacontenttype IS NULL OR endswith({media}, '/json') OR endswith({media}, '+json')"
    bytes_ = f"CASE WHEN data_base64 RLIKE '{_BASE64}' AND length(data_base64) % 4 = 0 THEN unbase64(data_base64) END"
    decoded = typed.selectExpr(
        "*",
        f"{_timestamp('time')} AS micros",
        f"{bytes_} AS bytes",
        f"{json_media} AS json_media",
    )
    payload_text = "CAST(bytes AS STRING)"
    wrapped = _wrapped(payload_text, salt, checked=checked)
    decoded = decoded.selectExpr(
        "*",
        f"CASE WHEN json_media AND is_valid_utf8({payload_text}) THEN {wrapped} END AS payload",
        f"{_reason(salt)} AS malformed",
    )
    is_json = f"try_variant_get(payload, '$[1]', 'string') = '{salt}'"
    data = (
        f"CASE WHEN data_v IS NOT NULL THEN data_v WHEN {is_json} THEN variant_get(payload, '$[0]', 'variant')"
        " ELSE CAST(bytes AS VARIANT) END"
    )
    columns = {
        **{name: name for name in ("id", "source", "specversion", "type", "subject", "datacontenttype", "dataschema")},
        "time": "timestamp_micros(micros)",
        "extensions": "extensions",
        "data": data,
    }
    return decoded.selectExpr(
        *(f"CASE WHEN malformed IS NULL THEN {sql} END AS {name}" for name, sql in columns.items()),
        "event",
        "malformed",
        "raw",
        "file",
    )


def _reason(salt: str) -> str:
    """The first rule that an event breaks, or NULL."""
    rules = [("fault IS NOT NULL", "fault")]

    def rule(condition: str, reason: str) -> None:
        rules.append((condition, text_literal(reason)))

    for name in REQUIRED:
        rule(f"{name}_v IS NULL", missing(name))
        rule(f"{name} IS NULL", not_string(name))
        rule(f"{name} = ''", empty(name))
        if name == "specversion":
            rule("specversion <> '1.0'", NOT_VERSION)
    for name in OPTIONAL:
        rule(f"{name}_v IS NOT NULL AND {name} IS NULL", not_string(name))
    rule(f"time IS NOT NULL AND (micros IS NULL OR micros NOT BETWEEN {_YEAR_1} AND {_YEAR_9999})", NOT_TIME)
    names = f"translate(array_join(map_keys(others), ''), '{_NAME_CHARACTERS}', '')"
    rule(f"{names} <> '' OR array_contains(map_keys(others), '')", EXTENSION_NAME)
    # array_contains is NULL when it finds nothing and there is a NULL: here, a value that is no extension attribute.
    refused = f"array_contains(map_values(extensions), '{salt}') IS NULL"
    array = "exists(map_values(others), v -> try_variant_get(v, '$', 'array<variant>') IS NOT NULL)"
    rule(f"CASE WHEN {refused} THEN {array} END", EXTENSION_ARRAY)
    rule(refused, EXTENSION_NUMBER)
    rule("data_v IS NOT NULL AND data_base64_v IS NOT NULL", TWO_DATA)
    rule("data_base64_v IS NOT NULL AND bytes IS NULL", NOT_BASE64)
    return "CASE " + " ".join(f"WHEN {condition} THEN {reason}" for condition, reason in rules) + " END"


def _merged(spark: SparkSession, files: Sequence[str]) -> list[tuple[DataFrame, list[str]]]:
    """The files as one table with the columns of all, or as many as there are sets of columns that do not go together.

    Every footer is read. Files without a byte are in no table.
    """

    def table(some: Sequence[str]) -> DataFrame:
        read = spark.read.option("mergeSchema", "true").parquet(*(literal(f) for f in some))
        read.schema  # noqa: B018 - Spark Connect reads nothing before it is asked
        return read

    def nothing(e: Exception) -> bool:
        return "UNABLE_TO_INFER_SCHEMA" in str(e)

    try:
        return [(table(files), list(files))]
    except (PySparkException, Py4JJavaError) as e:
        if nothing(e):
            return []
        if "CANNOT_MERGE_SCHEMAS" not in str(e):
            raise
    alike: dict[str, list[str]] = {}
    for file in files:
        try:
            alike.setdefault(table([file]).schema.json(), []).append(file)
        except (PySparkException, Py4JJavaError) as e:
            if not nothing(e):
                raise
    return [(table(group), group) for group in alike.values()]


def _json_lines(spark: SparkSession, documents: list[str]) -> set[str]:
    """Those of `documents` that are neither one event nor one batch, but have a line that is a JSON object."""
    if not documents:
        return set()
    salt = uuid.uuid4().hex
    checked = takes_unpaired_surrogates(spark)
    an_object = f"try_variant_get({_wrapped('line', salt, checked=checked)}, '$[0]', 'struct<>') IS NOT NULL"
    lines = _text(spark, documents, whole=True).where(
        f"try_variant_get({_wrapped('value', salt, checked=checked)}, '$[1]', 'string') IS NULL"
        f" AND exists(split(value, decode(X'0A', 'utf-8')), line -> {an_object})"
    )
    found = {_plain(row["file"]) for row in lines.select("file").collect()}
    return {d for d in documents if _plain(d) in found}


def _those_that_can_be_read(files: Sequence[str], read: Callable[[list[str]], T]) -> tuple[T | None, set[str]]:
    """What `read` gives for the files that it can read, and the damaged others, found by reading. None for no file."""
    damaged: set[str] = set()
    while sound := [f for f in files if f not in damaged]:
        try:
            return read(sound), damaged
        except (PySparkException, Py4JJavaError) as e:
            named = _read_failure(e)
            culprits = {f for f in sound if named and _plain(f) == _plain(named)}
            if not culprits:
                raise
            damaged |= culprits
    return None, damaged


def _read_failure(e: BaseException) -> str | None:
    """The file whose content made a query fail; None where it failed otherwise, or the file could not be had."""
    causes = [str(e), *_causes(e)]
    found = next(filter(None, map(_READ_FAILURE.search, causes)), None)
    if found is None or any(map(_OUT_OF_REACH.match, causes[1:])):
        return None
    return found[1]


def _causes(e: BaseException) -> Iterable[str]:
    """Each of Java's exceptions behind one of Python's, as text; none where Java is not at hand."""
    thrown: Any = getattr(e, "_origin", None) or getattr(e, "java_exception", None)
    try:
        while thrown is not None:
            yield str(thrown.toString())
            thrown = thrown.getCause()
    except (Py4JError, OSError):  # Java is gone
        return


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


def _plain(uri: str) -> str:
    """One spelling for a file that Spark names in several ways."""
    return re.sub("^file:/+", "/", unquote(uri))
