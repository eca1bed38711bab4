"""The process that Spark forks its Python workers from, with the modules that every worker of ours loads.

A plain one has loaded nothing, so that each worker would spend most of a second on it, and there is one for each task
and each step that Python has in a query.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

from pyspark.daemon import manager

_LOADED = (
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "pandas",
    "pyarrow",
    "tricel.spark_backend.run.explain_errors",
    "tricel.spark_backend.fallback.evaluation",
)


def main() -> None:
    """Runs Spark's own daemon."""
    for module in _LOADED:
        with suppress(ImportError):  # the worker that needs it says so
            import_module(module)
    manager()


if __name__ == "__main__":
    main()
