"""`tricel run` over many events: seconds on one core and on two, and the most memory that its processes held.

The rival is the same run over a tenth of the events: what memory depends on the number of events shows in the ratio.
Both runs over all events must report the same numbers, for each trigger.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _memory import Peak
from fan_out import Report, filter_text

PARTS = 16
"""Files of events."""


def write_events(folder: Path, count: int, types: int) -> None:
    """Events with JSON text, in Parquet, from a process of its own."""
    code = f"""
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
n = "(pmod(xxhash64(id), {types}L))"
body = "concat('{{\\"total\\": ', pmod(xxhash64(id, 1), 1000), ', \\"customer\\": {{\\"tier\\": \\"', elt(1 + pmod(id, 3), 'gold', 'basic', 'new'), '\\"}}, \\"note\\": \\"', repeat('x', 100), '\\"}}')"
spark.range(0, {count}, 1, {PARTS}).selectExpr(
    "CAST(id AS STRING) AS id", f"concat('/shops/', {{n}}, '/x') AS source", "'1.0' AS specversion",
    f"concat('com.example.t', {{n}}, '.created') AS type", "'application/json' AS datacontenttype", f"{{body}} AS data",
).write.parquet({str(folder)!r})
"""
    subprocess.run([sys.executable, "-c", code], check=True, stderr=subprocess.DEVNULL)


def write_triggers(file: Path, count: int) -> None:
    """The mix of `fan_out.py` as manifests."""
    manifests = [
        {
            "apiVersion": "tricel.dev/v1alpha1",
            "kind": "Trigger",
            "metadata": {"name": f"t{i}", "namespace": "bench"},
            "spec": {
                "broker": "b",
                "filter": {"expression": filter_text(i, count)},
                "subscriber": {"uri": "http://x"},
            },
        }
        for i in range(count)
    ]
    file.write_text("---\n".join(json.dumps(m) + "\n" for m in manifests), encoding="utf-8")


def run(triggers: Path, events: Path, out: Path, cores: int) -> tuple[float, Peak, dict[str, object]]:
    """Seconds, memory and the report of one run."""
    tool = Path(sys.executable).parent / "tricel"
    given = ["--triggers", str(triggers), "--events", str(events), "--out", str(out), "--master", f"local[{cores}]"]
    begin, peak = time.perf_counter(), Peak()
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [tool, "run", *given], stdout=log, stderr=log, env={**os.environ, "PYSPARK_PYTHON": sys.executable}
        )
        while process.poll() is None:
            peak.look(process.pid)
            time.sleep(0.2)
        seconds = time.perf_counter() - begin
        if process.returncode:
            log.seek(0)
            sys.exit(log.read()[-3000:])
    return seconds, peak, json.loads((out / "report.json").read_text(encoding="utf-8"))


def main() -> None:
    """Runs and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--triggers", type=int, default=100)
    asked = parser.parse_args()
    shown = Report(
        "events",
        "cores",
        "seconds",
        "events a second",
        "delivered",
        "JVM MiB",
        "Python driver MiB",
        "Python workers MiB",
    )
    took: dict[tuple[int, int], float] = {}
    reports: dict[int, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_triggers(folder / "triggers.yaml", asked.triggers)
        for count, cores in ((asked.events // 10, 2), (asked.events, 2), (asked.events, 1)):
            events = folder / f"events-{count}"
            if not events.exists():
                write_events(events, count, asked.triggers)
            out = folder / f"out-{count}-{cores}"
            seconds, peak, report = run(folder / "triggers.yaml", events, out, cores)
            if report["read"] != count or report["malformed"]:
                sys.exit(
                    f"{count} events were written, and the report says {report['read']}, {report['malformed']} bad"
                )
            if reports.setdefault(count, report) != report:
                sys.exit(f"the reports on one core and on two differ: {reports[count]}, {report}")
            took[count, cores] = seconds
            sizes = [f"{peak.by_name.get(n, 0):,.0f}" for n in ("JVM", "driver", "workers")]
            written = report["written"]
            shown.add(f"{count:,}", str(cores), f"{seconds:.1f}", f"{count / seconds:,.0f}", f"{written:,}", *sizes)
            shutil.rmtree(out)
    print(shown)
    print(f"two cores against one: {took[asked.events, 1] / took[asked.events, 2]:.2f} times as fast")


if __name__ == "__main__":
    main()
