"""What there is to read, before it is read: names and sizes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from tricel.spark_backend.failure import RunError
from tricel.spark_backend.places.files import Files
from tricel.spark_backend.storage import files
from tricel.spark_backend.storage.files import find_inputs, is_little, sort_inputs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MIB = 1 << 20


def sparse(path: Path, size: int) -> Path:
    """A file of so many bytes, none of them written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)
    return path


@pytest.mark.parametrize(
    ("sizes", "given", "expected"),
    [
        ({"a.jsonl": 15 * MIB}, ".", True),
        ({"a.jsonl": 17 * MIB}, ".", False),
        ({"a.jsonl": 9 * MIB, "b/c.json": 9 * MIB}, ".", False),
        ({"a.jsonl": 9 * MIB, "b/c.json": 9 * MIB}, "*.jsonl", True),
        ({"a.jsonl": 9 * MIB, "b/c.json": 9 * MIB}, "[ab]*", False),
        ({"a.parquet": MIB}, "a.parquet", True),
        ({"a.parquet": 3 * MIB}, "a.parquet", False),
        ({"a.jsonl.gz": 3 * MIB}, ".", False),
        ({"a.jsonl": 1, "b.jsonl": 1}, "{a,b}.jsonl", False),
        ({}, ".", True),
        ({}, "none", False),
    ],
)
def test_little_is_what_is_known_to_be_little(
    tmp_path: Path, sizes: dict[str, int], given: str, expected: bool
) -> None:
    for name, size in sizes.items():
        sparse(tmp_path / name, size)
    assert expected is is_little([tmp_path / given])


@pytest.mark.parametrize("path", ["s3a://bucket/events", "hdfs://h/e", "file:/tmp"])
def test_what_is_elsewhere_is_not_known(path: str) -> None:
    assert not is_little([path])


@pytest.mark.spark
def test_files_are_listed_as_a_query_lists_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [
        "a.jsonl",
        "a b%20c.jsonl",
        "ü\u00a0e\u0301.jsonl",
        "sub dir/z+1#?.jsonl",
        "[g].jsonl",
        "a\tb.json",
        "~.txt",
    ]
    for name in [*names, "_x.jsonl", ".y.jsonl", "_h/q.jsonl", "x._COPYING_"]:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")
    sparse(tmp_path / "empty.jsonl", 0)
    found = find_inputs(spark, [tmp_path])
    assert sorted(names) == sorted(p.removeprefix(f"file:{tmp_path}/") for p in (*found.lines, *found.documents))
    monkeypatch.setattr(files, "_files_here", lambda spark, found: [])
    assert found == find_inputs(spark, [tmp_path])


@pytest.mark.spark
def test_files_without_a_byte_are_nothing_to_read(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no events to read"):
        find_inputs(spark, [sparse(tmp_path / "empty.jsonl", 0)])


@pytest.mark.spark
def test_links_lead_to_each_file_once(spark: SparkSession, tmp_path: Path) -> None:
    events, other = tmp_path / "events", tmp_path / "other"
    (events / "deep").mkdir(parents=True)
    other.mkdir()
    for path in (events / "a.jsonl", events / "deep" / "b.jsonl", other / "c.jsonl", other / "data.bin"):
        path.write_text("{}")
    (events / "loop").symlink_to(events)
    (events / "deep" / "up").symlink_to("..")
    (events / "outside").symlink_to(other)
    (other / "back").symlink_to(events)
    (events / "named.jsonl").symlink_to(other / "data.bin")
    expected = ["a.jsonl", "deep/b.jsonl", "named.jsonl", "outside/c.jsonl"]
    found = find_inputs(spark, [events])
    assert [f"file:{events}/{name}" for name in expected] == sorted(found.lines)
    (told,) = (d for d in found.warnings if d.code == "TRI610")
    assert "3 links lead to what is read already: 'up', 'loop', 'back'" == told.message
    assert find_inputs(spark, [events / "loop"]).lines == found.lines
    with pytest.raises(RunError, match=r"links lead round in circles: '.*/loop', '.*/up'"):
        Files(str(events)).rows(spark)


def test_a_file_of_a_batch_that_has_its_turn_by_itself(tmp_path: Path) -> None:
    """Spark's stream may put the ways to one file into different batches."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "..data").mkdir()
    for name in ("a.jsonl", "b.bin", "..data/c.jsonl"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "deep" / "loop").symlink_to(tmp_path)
    (tmp_path / "b.jsonl").symlink_to(tmp_path / "b.bin")
    (tmp_path / "c.jsonl").symlink_to("..data/c.jsonl")
    for name, read in {
        "a.jsonl": True,
        "deep/loop/a.jsonl": False,
        "deep/loop/deep/loop/a.jsonl": False,
        "b.jsonl": True,
        "c.jsonl": True,
    }.items():
        found = sort_inputs([f"file:{tmp_path}/{name}"], top=str(tmp_path))
        assert (read, () if read else (f"{tmp_path}/deep/loop",)) == (bool(found.lines), found.links), name
    assert ("s3a://x/a.jsonl",) == sort_inputs(["s3a://x/a.jsonl"], top=str(tmp_path)).lines
