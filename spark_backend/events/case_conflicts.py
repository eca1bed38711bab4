"""Columns and fields whose names differ in capitals only. To Spark they are one, and to CEL two.

Where files are read as one table, Spark gives each such column one of its spellings, and the values of all: a filter
would find an attribute, or a field of the payload, under a name that its event does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from ..frames import is_classic
from ..storage.files import literal

_TELLS = "spark.sql.caseSensitive"
_ONE_NAME = "COLUMN_ALREADY_EXISTS"


class Spellings(NamedTuple):
    """Two names, each with the names of what it is in before it, that differ in capitals only."""

    first: str
    second: str


class SpelledTwiceError(Exception):
    """Files that cannot be one table."""

    def __init__(self, spellings: Spellings) -> None:
        super().__init__(str(spellings))
        self.spellings = spellings


def spelled_in_two(*schemas: StructType) -> Spellings | None:
    """The first name in the schemas that has two spellings, be it in one schema or in two of them."""
    seen: dict[tuple[str, ...], tuple[str, ...]] = {}
    for schema in schemas:
        for path in _paths(schema, ()):
            known = seen.setdefault(tuple(name.lower() for name in path), path)
            if known != path:
                return Spellings(".".join(known), ".".join(path))
    return None


def _paths(type_: DataType, within: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Where each name in a type is; a part of a list or map is told by a sign that no spelling changes."""
    match type_:
        case StructType():
            for f in type_.fields:
                yield (*within, f.name)
                yield from _paths(f.dataType, (*within, f.name))
        case ArrayType():
            yield from _paths(type_.elementType, (*within, "[]"))
        case MapType():
            yield from _paths(type_.keyType, (*within, "{key}"))
            yield from _paths(type_.valueType, (*within, "{}"))


@dataclass(frozen=True)
class CaseByCase:
    """Reads Parquet files as tables in which each name is as it is in the files.

    `telling` makes a reader for a session that tells capitals, which gives the schema that the session itself reads
    with; where there is none, each file is asked for its own.
    """

    spark: SparkSession
    telling: Callable[[], DataFrameReader] | None

    def table(self, files: Sequence[str]) -> DataFrame:
        """The files as one table with the columns of all. Every footer is read.

        Raises:
            SpelledTwiceError: where a name has two spellings in the files, and the session does not tell capitals.
        """
        if _tells_capitals(self.spark):
            return _merged(self.spark.read, files)
        if self.telling is None:
            schemas = [self._schema_of_one(file) for file in files]
        else:
            schemas = [_merged(self.telling(), files).schema]
        twins = spelled_in_two(*schemas)
        if twins is not None:
            raise SpelledTwiceError(twins)
        return _merged(self.spark.read, files) if self.telling is None else self.of_schema(schemas[0], files)

    def of_schema(self, schema: StructType, files: Sequence[str]) -> DataFrame:
        """The files as a table of this schema; none is opened."""
        return _parquet(self.spark.read.schema(schema), files)

    def _schema_of_one(self, file: str) -> StructType:
        try:
            return _merged(self.spark.read, [file]).schema
        except PySparkException as e:
            if _ONE_NAME not in str(e):
                raise
            name = str((e.getMessageParameters() or {}).get("columnName", "")).strip("`")
            raise SpelledTwiceError(Spellings(name, name)) from e


@contextmanager
def case_by_case(spark: SparkSession) -> Iterator[CaseByCase]:
    """The reader, with a copy of the session that tells capitals; the session itself is left as it is.

    Servers of old releases make no copies.
    """
    if is_classic(spark):
        java: Any = spark._jsparkSession.cloneSession()
        java.conf().set(_TELLS, "true")

        def reader() -> DataFrameReader:
            made = spark.read
            made._jreader = java.read()
            return made

        yield CaseByCase(spark, reader)
        return
    copy: Any = None
    try:
        copy = getattr(spark, "cloneSession")()  # noqa: B009 - in no release before 4.1
        copy.conf.set(_TELLS, "true")
    except (AttributeError, PySparkException):
        yield CaseByCase(spark, None)
        return
    try:
        yield CaseByCase(spark, lambda: copy.read)
    finally:
        with suppress(PySparkException):
            copy.client.release_session()
        copy.client.close()


def _tells_capitals(spark: SparkSession) -> bool:
    return str(spark.conf.get(_TELLS)).lower() == "true"


def _merged(reader: DataFrameReader, files: Sequence[str]) -> DataFrame:
    read = _parquet(reader.options(mergeSchema=True), files)
    read.schema  # noqa: B018 - Spark Connect reads nothing before it is asked
    return read


def _parquet(reader: DataFrameReader, files: Sequence[str]) -> DataFrame:
    sound = reader.options(ignoreCorruptFiles=False, ignoreMissingFiles=False)
    return sound.parquet(*(literal(f) for f in files))
