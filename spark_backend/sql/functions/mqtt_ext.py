"""What is asked of MQTT messages."""

from __future__ import annotations

from tricel.compiler.nodes import Expr

from .. import Part, Scope
from ..context import Context
from ..reasons import NotNative, Reason
from .registry import handles


@handles("string_matches_filter_string", condition="a literal topic filter")
def _matches_filter(context: Context, args: tuple[Expr, ...], scope: Scope) -> Part:
    """What is written in the filter has become comparisons by now: see `compiler/rewrites/topics.py`."""
    raise NotNative(Reason.TOPIC_FILTER)
