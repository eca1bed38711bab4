"""Members of a set of filters, as a run and fan-out take them, and their manifests."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tricel.spark_backend.compiled_filter import CompiledFilter

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
    topic: str = ""

    @property
    def compiled(self) -> CompiledFilter:
        """The filter."""
        return compile_filter(self.text)


def trigger_yaml(name: str, text: str) -> str:
    """A Trigger with a filter in CEL, as YAML."""
    return f"""apiVersion: tricel.dev/v1alpha1
kind: Trigger
metadata: {{name: {name}}}
spec:
  broker: default
  filter: {{expression: {json.dumps(text)}}}
  subscriber: {{uri: http://s}}
"""
