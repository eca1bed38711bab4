"""Columns that differ in capitals only: no value is read under a name that its file does not give it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from filter_sets import Trigger

pytest.importorskip("pyspark")

from pyspark.sql.types import StructType
from spark_settings import set_to
from tricel.compiler.values.malformed import UNFIT_TABLE
from tricel.spark_backend.events.case_conflicts import spelled_in_two
from tricel.spark_backend.events.readers import find_events, read_events
from tricel.spark_backend.failure import RunError, TricelWarning
from tricel.spark_backend.run.pipeline import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from tricel.spark_backend.run.reports import RunReport

SCHEMAS = {
    "columns": (("region STRING", "Region STRING"), ("region", "Region")),
    "one schema": (("id INT, ID INT",), ("id", "ID")),
    "fields": (("d STRUCT<a: INT, b: INT>", "d STRUCT<b: INT, A: INT>"), ("d.a", "d.A")),
    "in a list": (("l ARRAY<STRUCT<x: INT>>", "l ARRAY<STRUCT<X: INT>>"), ("l.[].x", "l.[].X")),
    "in a map": (("m MAP<STRING, STRUCT<x: INT>>", "m MAP<STRING, STRUCT<X: INT>>"), ("m.{}.x", "m.{}.X")),
    "the third": (("a INT", "b INT", "B INT"), ("b", "B")),
    "of two structs": (("d STRUCT<a: INT>, e STRUCT<A: INT>",), None),
    "the same": (("a INT, B INT", "B INT, a INT"), None),
}


@pytest.mark.spark
@pytest.mark.parametrize("case", SCHEMAS)
def test_spelled_in_two(spark: SparkSession, case: str) -> None:
    schemas, expected = SCHEMAS[case]
    found = [StructType.fromDDL(s) for s in schemas]  # by the session's parser
    assert expected == spelled_in_two(*found)


def write(path: Path, first: int, count: int, **more: object) -> None:
    """Events with ids from `first` on, and more columns of one value each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    ids = [str(n) for n in range(first, first + count)]
    columns = {"id": ids, "source": ["s"] * count, "type": ["t"] * count}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns | {name: [value] * count for name, value in more.items()}), path)


def counts(report: RunReport) -> list[tuple[int, int, int]]:
    """Each trigger's delivered, filtered and errored."""
    return [(t.delivered, t.filtered, t.errored) for t in report.triggers]


LOWER, UPPER = "ce.region == 'eu'", "ce.Region == 'eu'"
FILES: dict[str, tuple[dict[str, Any], dict[str, Any], str, str, tuple[str, str]]] = {
    "attributes": (
        {"region": "eu"},
        {"Region": "eu"},
        "has(ce.region) && ce.region == 'eu'",
        "has(ce.Region) && ce.Region == 'eu'",
        ("'Region'", "'region'"),
    ),
    "fields of the payload": (
        {"data": {"region": "eu"}, "n": 1},
        {"data": {"Region": "eu"}, "n": 2},
        "has(ce.n) && ce.n == 1",
        "has(ce.n) && ce.n == 2",
        ("'data.Region'", "'data.region'"),
    ),
}


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:the events have no column '[rR]egion'")  # each table lacks what the other has
@pytest.mark.parametrize("case", FILES)
def test_files_that_spell_a_column_in_two_ways(spark: SparkSession, tmp_path: Path, case: str) -> None:
    lower, upper, reads_lower, reads_upper, names = FILES[case]
    folder = tmp_path / "in"
    write(folder / "a.parquet", 0, 10, **lower)
    write(folder / "b.parquet", 10, 5, **upper)
    found = find_events(spark, folder)
    with pytest.raises(RunError) as e:
        run(spark, [], found, str(tmp_path / "out"))
    told = e.value.diagnostic
    assert "TRI601" == told.code
    assert all(name in told.message for name in names)
    assert told.source.name.endswith("b.parquet")
    assert "a.parquet" in told.help
    assert "apart" in told.help
    with pytest.raises(RunError, match=names[0]):
        read_events(spark, folder)
    triggers = [Trigger("lower", reads_lower), Trigger("upper", reads_upper)]
    report = run(spark, triggers, replace(found, apart=True), str(tmp_path / "out"))
    assert (15, 0) == (report.read, report.malformed)
    assert [(10, 5, 0), (5, 10, 0)] == counts(report)
    written = spark.read.option("mergeSchema", "false")
    for trigger, columns in (("lower", lower), ("upper", upper)):
        table = written.parquet(str(tmp_path / "out" / "delivered" / f"trigger={trigger}"))
        assert [columns] == [r.asDict(recursive=True) for r in table.select(*columns).distinct().collect()]
        assert set(columns) < set(table.columns)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"region": "eu", "Region": "us"}, "'region' and 'Region'"),
        ({"data": {"a": 1, "A": 2}}, "'data.[aA]' and 'data.[aA]'"),
        ({"data": {"l": [{"a": 1, "A": 2}]}}, "'data.l"),
    ],
    ids=["columns", "fields", "fields in a list"],
)
def test_one_file_that_has_both(spark: SparkSession, tmp_path: Path, columns: dict[str, Any], names: str) -> None:
    folder = tmp_path / "in"
    write(folder / "a.parquet", 0, 10, **columns)
    with pytest.raises(RunError, match=names) as e:
        read_events(spark, folder)
    assert ("TRI601", True) == (e.value.diagnostic.code, e.value.diagnostic.source.name.endswith("a.parquet"))
    assert "rename" in e.value.diagnostic.help
    write(folder / "b.parquet", 10, 5, region="eu")
    apart = replace(find_events(spark, folder), apart=True)
    report = run(spark, [Trigger("lower", LOWER)], apart, str(tmp_path / "out"))
    assert (6, 1, ((UNFIT_TABLE, 1),)) == (report.read, report.malformed, report.reasons)
    assert [(5, 0, 0)] == counts(report)


@pytest.mark.spark
def test_a_session_that_tells_capitals_reads_both(spark: SparkSession, tmp_path: Path) -> None:
    """And one that does not is left as it is."""
    write(tmp_path / "in" / "a.parquet", 0, 10, region="eu")
    write(tmp_path / "in" / "b.parquet", 10, 5, Region="eu")
    setting = "spark.sql.caseSensitive"
    with set_to(spark, {setting: "true"}):
        triggers = [Trigger("lower", f"has(ce.region) && {LOWER}"), Trigger("upper", f"has(ce.Region) && {UPPER}")]
        report = run(spark, triggers, find_events(spark, tmp_path / "in"), str(tmp_path / "out"))
    assert [(10, 5, 0), (5, 10, 0)] == counts(report)
    read_events(spark, tmp_path / "in" / "a.parquet")
    assert "false" == spark.conf.get(setting)


@pytest.mark.spark
def test_a_server_that_copies_no_session(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file is asked for its schema."""
    from tricel.spark_backend.events import case_conflicts

    class Old:
        """A session as that of a server of an old release."""

        def __init__(self, session: SparkSession) -> None:
            self.read, self.conf = session.read, session.conf

    def old(session: SparkSession) -> Any:
        return original(Old(session))  # type: ignore[arg-type]

    original = case_conflicts.case_by_case
    monkeypatch.setattr("tricel.spark_backend.events.readers.case_by_case", old)
    folder = tmp_path / "in"
    write(folder / "a.parquet", 0, 10, region="eu")
    assert 10 == read_events(spark, folder).count()
    write(folder / "b.parquet", 10, 5, Region="eu")
    write(folder / "c.parquet", 20, 5, Region="eu", region="eu")
    apart = replace(find_events(spark, folder), apart=True)
    with pytest.warns(TricelWarning, match="no column 'region'.*did you mean 'Region'"):
        report = run(spark, [Trigger("lower", f"has(ce.region) && {LOWER}")], apart, str(tmp_path / "out"))
    assert (16, 1, [(10, 5, 0)]) == (report.read, report.malformed, counts(report))
