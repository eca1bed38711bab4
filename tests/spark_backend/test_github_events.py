"""The founding proposal's example groups, for GitHub's own events: every dialect delivers the same events."""

from __future__ import annotations

import pytest
from conftest import real_events
from pyspark.sql import DataFrame, SparkSession
from tricel.spark_backend import where
from tricel.spark_backend.events.readers import read_events

from tricel import compile_filter

pytestmark = pytest.mark.spark

TYPE = "com.github.pull_request.opened"
SOURCE = "https://github.com/Codertocat/Hello-World"

GROUPS: dict[str, tuple[int, list[str | dict[str, object]]]] = {
    "single attribute": (
        1,
        [
            {"sourceAndType": {"type": TYPE}},
            {"attributes": {"type": TYPE}},
            {"exact": {"type": TYPE}},
            f'ce.type == "{TYPE}"',
        ],
    ),
    "several attributes": (
        1,
        [
            {"sourceAndType": {"type": TYPE, "source": SOURCE}},
            {"attributes": {"type": TYPE, "source": SOURCE}},
            {"all": [{"exact": {"type": TYPE}}, {"exact": {"source": SOURCE}}]},
            f'ce.type == "{TYPE}" && ce.source == "{SOURCE}"',
        ],
    ),
    "prefix of the source": (
        100,
        [
            {"prefix": {"source": "https://github.com/Codertocat"}},
            'ce.source.startsWith("https://github.com/Codertocat")',
            {"expression": 'ce.source.match("https://github.com/Codertocat*")'},
            'ce.source.matches("^https://github.com/Codertocat.*")',
        ],
    ),
    "boolean expression": (
        2,
        [
            {
                "any": [
                    {"exact": {"type": TYPE}},
                    {"all": [{"prefix": {"type": "com.github.issues"}}, {"suffix": {"source": "World"}}]},
                ]
            },
            f'ce.type == "{TYPE}" || (ce.type.startsWith("com.github.issues") && ce.source.matches("World$"))',
        ],
    ),
    "official and extension": (
        1,
        [
            {"attributes": {"type": TYPE, "repository": "Hello-World"}},
            {"filters": [{"exact": {"type": TYPE}}, {"exact": {"repository": "Hello-World"}}]},
            f'ce.type == "{TYPE}" && ce.repository == "Hello-World"',
        ],
    ),
    "extension with a dotted name": (0, [{"attributes": {"github.repository": "x"}}, 'ce["github.repository"] == "x"']),
    "nested extension": (0, ['ce.repository.name == "proposals"']),
    "string in the data": (
        50,
        ['data.sender.login == "Codertocat"', 'data["sender"]["login"].matches("^Codertocat$")'],
    ),
    "number in the data": (20, ["data.repository.id > 100000000.0", "data.repository.id > 100000000"]),
}


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    """The events, or a skip where they are not at hand."""
    return read_events(spark, [str(real_events())]).cache()


def test_every_event_is_read(events: DataFrame) -> None:
    assert 329 == events.where("malformed IS NULL").count()


@pytest.mark.parametrize("group", GROUPS)
def test_every_dialect_delivers_the_same(events: DataFrame, group: str) -> None:
    least, filters = GROUPS[group]
    delivered = [{r["id"] for r in where(events, compile_filter(f)).select("id").collect()} for f in filters]
    assert len(delivered[0]) >= least
    assert all(ids == delivered[0] for ids in delivered)
