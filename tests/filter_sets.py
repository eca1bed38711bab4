"""Members of a set of filters, as a run and fan-out take them."""

from __future__ import annotations

from dataclasses import dataclass

from tricel.spark_backend.lowered import CompiledFilter

from tricel import compile_filter


@dataclass(frozen=True)
class Named:
    """A compiled filter with a name."""

    id: str
    compiled: CompiledFilter


@dataclass(frozen=True)
class Trigger:
    """A trigger with a filter in CEL."""

    id: str
    text: str
    on_error: str = ""
    destination: str = "http://sink.example/"

    @property
    def compiled(self) -> CompiledFilter:
        """The filter."""
        return compile_filter(self.text)
