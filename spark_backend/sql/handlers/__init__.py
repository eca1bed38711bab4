"""The kinds of expressions: each handler makes the SQL of one kind, and is given the walk by the context.

With all of them the table of lowerings is whole.
"""

from ..functions import LOWERINGS
from . import calls, comprehensions, extremes, lists, literal_args, selection, sets, topic_filters

__all__ = [
    "LOWERINGS",
    "calls",
    "comprehensions",
    "extremes",
    "lists",
    "literal_args",
    "selection",
    "sets",
    "topic_filters",
]
