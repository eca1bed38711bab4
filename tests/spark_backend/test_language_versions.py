"""Two versions of the language in one fan-out, and in a stream that is restored."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from tricel.compiler.versions import NEXT, V1
from tricel.spark_backend import fan_out
from tricel.spark_backend.run.streaming.sets import restored, set_of

from tricel import load_triggers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MANIFESTS = """\
apiVersion: tricel.dev/v1alpha1
kind: Trigger
metadata: {name: before}
spec:
  broker: b
  filter: {sourceAndType: {type: a}}
  subscriber: {uri: http://x/}
---
apiVersion: tricel.dev/v1alpha1
kind: Trigger
metadata: {name: after}
spec:
  broker: b
  languageVersion: next
  filter: {attributes: {type: a}}
  subscriber: {uri: http://x/}
"""


def test_two_versions_run_beside_each_other(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(MANIFESTS)
    triggers = load_triggers(tmp_path)
    assert {"before": V1, "after": NEXT} == {t.id: t.compiled.checked.checked.version for t in triggers}
    events = spark.createDataFrame([("1", "/s", "a"), ("2", "/s", "b")], "id STRING, source STRING, type STRING")
    found = sorted((r.id, r.trigger) for r in fan_out(events, triggers).collect())
    assert [("1", "after"), ("1", "before")] == found


def test_a_set_that_is_restored_keeps_the_versions(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(MANIFESTS)
    text = set_of(load_triggers(tmp_path), "drop").text
    assert text.count('"language": "next"') == 1
    again = restored(text)
    assert [NEXT, V1] == [t.compiled.checked.checked.version for t in again.triggers]
    assert text == again.text
    with pytest.raises(ValueError, match="there is no version 'v9'"):
        restored(text.replace('"next"', '"v9"'))
