"""How long it takes to convert the filters of 200 manifests, in memory: read, written anew, and shown to mean the same.

The rival, in the same run, is the bare round trip of ruamel.yaml, which keeps comments: it reads each text and writes it
again, and converts nothing. Both are asked whether what is no filter came back byte by byte.
"""

from __future__ import annotations

import io
import statistics
import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table
from ruamel.yaml import YAML
from tricel.compiler import Source
from tricel.compiler.conversion.manifests import convert_manifests

COUNT, ROUNDS = 200, 5
FILTERS = (
    "filter:\n    attributes:\n      type: com.example.order.created\n      source: '/shop/{n}'  # one shop",
    "filter:\n    sourceAndType: {{type: 'order.{n}', source: /shop}}",
    "filters:\n  - exact:\n      type: order.{n}\n  - any:  # either\n    - prefix: {{source: /shop}}\n    - suffix: {{subject: .png}}",
    "filters: [{{not: {{exact: {{type: 'a{n}'}}}}}}]",
)
BEFORE = """# trigger number {n}
apiVersion: tricel.dev/v1alpha1
kind: Trigger
metadata:
  name: orders-{n}
  labels: {{team:   shop, "tier": 'web'}}   # as it is
spec:
  broker: default
  """
AFTER = """

  # where to
  subscriber:
      ref: {apiVersion: v1, kind: Service, name: "orders"}
  delivery: {retry: 3}
"""


def texts() -> list[tuple[str, str, str]]:
    """What stands before each filter, the filter, and what stands after it."""
    return [(BEFORE.format(n=n), FILTERS[n % len(FILTERS)].format(n=n), AFTER) for n in range(COUNT)]


def tricel(text: str) -> str:
    """The text with its filter in CEL."""
    done = convert_manifests(Source(text, "t.yaml"), to="cel")
    assert (done.converted, done.diagnostics) == (1, ())
    return done.text


def round_trip(text: str) -> str:
    """The rival: the text, read and written."""
    yaml = YAML()
    yaml.preserve_quotes = True
    out = io.StringIO()
    yaml.dump(yaml.load(text), out)
    return out.getvalue()


def measured(convert: Callable[[str], str]) -> tuple[float, int]:
    """The seconds for all texts, and of how many all but the filter came back as it was."""
    begin = time.perf_counter()
    new = [convert(before + filter_ + after) for before, filter_, after in texts()]
    taken = time.perf_counter() - begin
    kept = sum(t.startswith(b) and t.endswith(a) for t, (b, _, a) in zip(new, texts(), strict=True))
    return taken, kept


def main() -> None:
    """Measures both by turns and prints the table."""
    runs = [(measured(tricel), measured(round_trip)) for _ in range(ROUNDS)]
    ours, theirs = (statistics.median(run[n][0] for run in runs) for n in (0, 1))
    table = Table("200 manifests", "seconds", "ratio", "the rest as it was")
    table.add_row("tricel: converted to CEL, and compared", f"{ours:.2f}", f"{ours / theirs:.2f}", f"{runs[0][0][1]}")
    table.add_row("ruamel.yaml: round trip", f"{theirs:.2f}", "1.00", f"{runs[0][1][1]}")
    Console().print(table)


if __name__ == "__main__":
    main()
