"""The extras of an installation: `tricel` alone reads, checks, compiles and evaluates filters; Spark and clusters come apart."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from typing import ParamSpec

from .exits import failed

_P = ParamSpec("_P")

EXTRAS = {
    "spark": ("pyspark", "pyarrow", "pandas", "google.protobuf"),
    "k8s": ("kubernetes", "aiohttp", "cryptography", "prometheus_client"),
}
"""What each extra brings that commands import."""


def lacking(extra: str, what: str) -> str:
    """The line that says which extra `what` needs; empty where that is installed."""
    absent = [module for module in EXTRAS[extra] if not _is_there(module)]
    return f"{what} needs {', '.join(absent)}: pip install 'tricel[{extra}]'" if absent else ""


def _is_there(module: str) -> bool:
    package = module.rpartition(".")[0]
    return (not package or _is_there(package)) and find_spec(module) is not None


def needs(extra: str, what: str) -> Callable[[Callable[_P, None]], Callable[_P, None]]:
    """A command that ends at once, in a line, where the extra is not installed."""

    def around(command: Callable[_P, None]) -> Callable[_P, None]:
        @wraps(command)
        def checked(*args: _P.args, **kwargs: _P.kwargs) -> None:
            if reason := lacking(extra, what):
                sys.exit(failed(ValueError(reason)))
            command(*args, **kwargs)

        return checked

    return around
