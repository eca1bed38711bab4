"""What Spark's Python workers are sent: a function that needs nothing to be unpickled, and says what a worker lacks.

A function of ours that were pickled as it is would be a reference to our modules, and a worker without them would fail
inside Spark's unpickling, before any code of ours could say what to do about it.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from typing import Any

# PySpark looks the names of the annotations up here; as text they bind a worker to no package.
import pandas as pd  # noqa: F401
import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf


def worker_column(
    make: Callable[..., Any],
    given: Sequence[Any],
    columns: Sequence[Column],
    returns: str,
    nothing: pa.DataType | None = None,
) -> Column:
    """The column that `make(*given)` computes of Arrow batches of `columns` in the workers.

    `make` is a function of a module. What it makes is a `batches.Evaluate`, and returns an array of the type `returns`.
    A worker without tricel, what it imports, or the engine fails the query with a RuntimeError that names
    what is missing, the host and the remedy; so does one with another release of tricel.
    With `nothing`, the Arrow type of `returns`, rows before the first that has a value need no tricel: they may be NULL.
    """
    with _this_python():
        return _column(make, given, columns, returns, nothing)


def _column(
    make: Callable[..., Any],
    given: Sequence[Any],
    columns: Sequence[Column],
    returns: str,
    nothing: pa.DataType | None,
) -> Column:
    evaluate = _self_contained(pickle.dumps((make, tuple(given))), _release(), nothing)
    if hasattr(F, "arrow_udf"):
        evaluate.__annotations__ = {"columns": "pa.Array", "return": "pa.Array"}
        return F.arrow_udf(evaluate, returns)(*columns)  # type: ignore[no-any-return]
    evaluate.__annotations__ = {"columns": "pd.Series", "return": "pd.DataFrame" if " " in returns else "pd.Series"}
    return pandas_udf(evaluate, returns)(*columns)  # type: ignore[call-overload, no-any-return]


@contextmanager
def _this_python() -> Iterator[None]:
    """Has the workers of what is made meanwhile run this very Python, where they are on this host and nobody chose theirs.

    Spark takes the first python3 on PATH, which is another one where a script is run by an environment's Python that was
    not activated. What the session is used for besides keeps its own.
    """
    context: Any = SparkContext._active_spark_context
    chosen = context is None or context.pythonExec != "python3" or "PYSPARK_PYTHON" in os.environ
    if chosen or not re.match(r"local(\[|$)", context.master):
        yield
        return
    before, context.pythonExec = context.pythonExec, sys.executable
    try:
        yield
    finally:
        context.pythonExec = before


def _release() -> str:
    """This release of tricel; empty where it is not installed, and only its modules are there."""
    try:
        return metadata.version("tricel")
    except metadata.PackageNotFoundError:
        return ""


def _self_contained(payload: bytes, release: str, nothing: pa.DataType | None = None) -> Callable[..., Any]:
    """The function that travels. It is pickled by value, so that it may use builtins and what it imports, no more."""
    made: list[Any] = []

    def refusal(lacks: str, remedy: str) -> RuntimeError:
        import socket
        import sys

        guides = {
            "bundle": "`tricel bundle --out tricel-bundle.zip` makes what --py-files, addPyFile and addArtifacts take",
            "environment": "`tricel bundle --environment environment.tar.gz` makes an environment with all of it "
            "for spark.archives (compiled packages cannot be imported from --py-files)",
            "release": "give the executors the release of the driver, by `tricel bundle`",
        }
        where = f"host {socket.gethostname()}, Python {sys.version_info[0]}.{sys.version_info[1]} ({sys.executable})"
        return RuntimeError(f"tricel: the executor {lacks}: {where}. {guides[remedy]}")

    def load() -> Any:
        import gc
        import pickle
        from importlib import metadata

        try:
            found = metadata.version("tricel")
        except metadata.PackageNotFoundError:
            found = ""
        if found and release and found != release:
            raise refusal(f"has tricel {found}, the driver {release}", "release")
        try:
            make, given = pickle.loads(payload)
        except AttributeError as e:
            raise refusal(f"has another tricel than the driver ({e})", "release") from None
        from tricel.spark_backend.fallback.batches import answered

        evaluate = make(*given)
        if not gc.get_freeze_count():
            # Spark's worker collects garbage after each task, which takes 45 ms where it looks at all that was imported.
            gc.freeze()
            # And Python itself at each 700 values that were made and are still there, as those of a batch are.
            gc.set_threshold(50_000, *gc.get_threshold()[1:])
        return lambda *columns: answered(evaluate, columns)

    def absent(columns: Any) -> Any:
        """NULL for each row where no column has a value; None where one has."""
        import pandas
        import pyarrow

        if isinstance(columns[0], pandas.Series):
            return None if any(c.notna().any() for c in columns) else pandas.Series([None] * len(columns[0]))
        return None if any(c.null_count < len(c) for c in columns) else pyarrow.nulls(len(columns[0]), nothing)

    def evaluate(*columns):  # type: ignore[no-untyped-def]
        if nothing is not None and (nulls := absent(columns)) is not None:
            return nulls
        try:
            if not made:
                made.append(load())
            return made[0](*columns)
        except ImportError as e:
            module = str(e.name)
            packages = {"re2": "google-re2", "_re2": "google-re2", "celpy": "cel-python", "yaml": "pyyaml"}
            top = module.split(".")[0]
            if not isinstance(e, ModuleNotFoundError):
                lacks, remedy = f"cannot import what it needs ({e})", "environment"
            elif top == "tricel" and module != top:
                lacks, remedy = f"has another tricel than the driver (no module '{module}')", "release"
            else:
                lacks = f"lacks the Python package '{packages.get(top, top.replace('_', '-'))}'"
                remedy = "bundle" if top in ("tricel", "lark", "yaml") else "environment"
        raise refusal(lacks, remedy)

    return evaluate
